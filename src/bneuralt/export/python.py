"""Models as one Python function without imports."""

from __future__ import annotations

import builtins
import keyword
import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from bneuralt import __version__
from bneuralt.export.printer import (
    ARITHMETIC,
    Code,
    LinePrinter,
    Template,
    checked_name,
    comment_text,
)
from bneuralt.export.program import Function, Program
from bneuralt.expressions import Expression
from bneuralt.model import Model

__all__ = ["TEMPLATES", "to_python"]

#: Operation -> Python code. The first of two values that are equal or not comparable is the result
#: of min and max.
TEMPLATES: dict[str, Template] = {
    **ARITHMETIC,
    **{name: ("atom", f"{name}({{0}})") for name in ("square", "sqrt", "exp", "log", "tanh")},
    "minimum": ("atom", "min({0}, {1})"),
    "maximum": ("atom", "max({0}, {1})"),
    "absolute": ("atom", "abs({0})"),
    "sigmoid": ("atom", "sigmoid({0})"),
    "is_missing": ("atom", "is_missing({0})"),
    "if_missing": ("atom", "if_missing({0}, {1})"),
    "select": ("choice", "{1:comparison} if {0:comparison} else {2:comparison}"),
    "date_part": ("atom", '{0}["{value}"]'),
    "largest": ("atom", "max({0})"),
    "ordered": ("atom", "sorted([{0}])[{value}]"),
}


class _Python(LinePrinter):
    language, helpers, templates = "Python", "python.txt", TEMPLATES
    end, comment = "", "  # "

    def number(self, value: float) -> Code:
        return super().number(value) if math.isfinite(value) else Code(f'float("{value}")')

    def member(self, text: Code, texts: Sequence[str]) -> str:
        return f"{text} in {{{', '.join(map(repr, texts))}}}"

    def table(self, text: Code, numbers: Mapping[str, float], unknown: float) -> Code:
        entries = ", ".join(f"{key!r}: {self.number(x)}" for key, x in numbers.items())
        return Code(f"{{{entries}}}.get({text}, {self.number(unknown)})")

    def text(self, value: str | bool) -> str:
        return repr(value)

    def operation(self, expression: Expression, parts: Sequence[Code]) -> Code:
        # A missing value must come first, see the note on templates.
        if expression.operation in ("minimum", "maximum") and expression.arguments[0].is_constant:
            parts = parts[::-1]
        return super().operation(expression, parts)

    def assignment(self, name: str, value: str) -> str:
        return f"{name} = {value}"

    def head(self, function: Function) -> str:
        return f"def {function.name}({', '.join(function.parameters)}):"

    def requirement(self, name: str, message: str) -> str:
        return f'if {name} != {name}: raise ValueError("{message}")'


def to_python(model: Model, *, name: str = "predict", contributions: bool = False) -> str:
    """Write a model as one Python function without imports; see `ExportMethods.to_python`."""
    reserved = " ".join([*keyword.kwlist, *dir(builtins)])
    checked_name(name, reserved, "a Python function", r"[^\W\d]\w*")
    printer = _Python()
    program = Program.of(model, contributions=contributions, most_nodes=printer.most_nodes)
    body = "\n".join([*printer.body(program), f"    return {_result(printer, program)}"])
    functions = printer.functions(program)
    helpers = printer.with_helpers("\n".join([body, *functions]))
    if any("MISSING" in helper for helper in helpers):
        helpers.insert(0, f"MISSING = {printer.missing_texts()}")
    blocks = [textwrap.indent(block, "    ") for block in [*helpers, *functions]]
    columns = [f"    {i}: {comment_text(c.name)}" for i, c in enumerate(program.model.columns)]
    head = [
        f"# Written by bneuralt {__version__}.",
        f"def {name}(row):",
        '    """Return the prediction for one row, a sequence of the values of these columns:',
        "",
        *columns,
        '    """',
    ]
    return "\n".join(head) + "\n" + "\n\n".join([*blocks, body]) + "\n"


def _result(printer: _Python, program: Program) -> str:
    """Return what the function returns."""
    values = [printer.scalar(value) for value in program.predictions]
    listed = f"({', '.join(values)}{',' * (len(values) == 1)})"
    rows = [f"[{', '.join(map(printer.scalar, row))}]" for row in program.contributions]
    parts = [rows[0] if len(rows) == 1 else f"[{', '.join(rows)}]"] if rows else []
    if program.model.task == "classes":
        labels = tuple(map(_label, program.labels))
        scores = [printer.scalar(score) for score in program.scores]
        place = f"{scores[0]} > 0.0"
        if not program.is_log_odds:
            vector = f"[{', '.join(scores)}]"
            place = f"{vector}.index(max({vector}))"
        parts = [f"{labels!r}[{place}]", listed, *parts]
    elif program.model.task == "labels":
        parts = [f"tuple(int(p > 0.5) for p in {listed})", listed, *parts]
    else:
        parts = [values[0] if len(values) == 1 else listed, *parts]
    return ", ".join(parts)


def _label(label: Any) -> Any:
    return label if isinstance(label, (bool, int, float, str)) else str(label)
