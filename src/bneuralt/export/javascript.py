"""Models as one JavaScript function without dependencies, for browsers and Node."""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
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
from bneuralt.model import Model

__all__ = ["TEMPLATES", "to_javascript"]

#: Operation -> JavaScript code.
TEMPLATES: dict[str, Template] = {
    **ARITHMETIC,
    **{name: ("atom", f"Math.{name}({{0}})") for name in ("sqrt", "log", "tanh")},
    "minimum": ("atom", "Math.min({0}, {1})"),
    "maximum": ("atom", "Math.max({0}, {1})"),
    "absolute": ("atom", "Math.abs({0})"),
    "square": ("atom", "square({0})"),
    "exp": ("atom", "exp({0})"),
    "sigmoid": ("atom", "sigmoid({0})"),
    "is_missing": ("atom", "Number.isNaN({0})"),
    "if_missing": ("atom", "ifMissing({0}, {1})"),
    "select": ("choice", "{0:comparison} ? {1:comparison} : {2:comparison}"),
    "date_part": ("atom", "{0}.{value}"),
    "largest": ("atom", "Math.max({0})"),
    "ordered": ("atom", "[{0}].sort((a, b) => a - b)[{value}]"),
}

#: Names that a function cannot have, or that the code uses.
_RESERVED = """
    arguments await break case catch class const continue debugger default delete do else enum eval
    export extends false finally for function if implements import in instanceof interface let new
    null package private protected public return static super switch this throw true try typeof var
    void while with yield undefined NaN Infinity Array BigInt Date JSON Math Number RegExp String
    Symbol TypeError module row
"""


class _JavaScript(LinePrinter):
    language, helpers, templates = "JavaScript", "javascript.js model/cells.js", TEMPLATES
    indent, reader = "  ", "read{1}"

    def number(self, value: float) -> Code:
        if not math.isfinite(value):
            names = {math.inf: "Infinity", -math.inf: "-Infinity"}
            return Code(names.get(value, "NaN"), "sign")
        text = re.sub(r"\.0$", "", repr(float(value)))
        return Code(text, "sign" if text[0] == "-" else "atom")

    def member(self, text: Code, texts: Sequence[str]) -> str:
        return f"{self.texts(texts)}.includes({text})"

    def table(self, text: Code, numbers: Mapping[str, float], unknown: float) -> Code:
        entries = ", ".join(f"[{self.text(key)}, {self.number(x)}]" for key, x in numbers.items())
        return Code(f"(new Map([{entries}]).get({text}) ?? {self.number(unknown)})")

    def text(self, value: Any) -> str:
        return json.dumps(value).replace("<", "\\u003c")  # which could end a script element

    def assignment(self, name: str, value: str) -> str:
        return f"const {name} = {value};"

    def head(self, function: Function) -> str:
        return f"function {function.name}({', '.join(function.parameters)}) {{"

    def requirement(self, name: str, message: str) -> str:
        return f'if (Number.isNaN({name})) throw new TypeError("{message}");'


def to_javascript(model: Model, *, name: str = "predict", contributions: bool = False) -> str:
    """Write a model as one JavaScript function; see `ExportMethods.to_javascript`."""
    checked_name(name, _RESERVED, "a JavaScript function", "[A-Za-z_$][A-Za-z0-9_$]*")
    printer = _JavaScript()
    program = Program.of(model, contributions=contributions, most_nodes=printer.most_nodes)
    result = [*_result(printer, program)]
    body = "\n".join([*_row(printer, program), *printer.body(program), *result])
    functions = printer.functions(program)
    helpers = printer.with_helpers("\n".join([body, *functions]))
    blocks = [textwrap.indent(block, "  ") for block in [*helpers, *functions]]
    columns = [f"// {i}: {comment_text(c.name)}" for i, c in enumerate(program.model.columns)]
    lines = [
        f"// Written by bneuralt {__version__}.",
        "// Returns the prediction for one row: an array of the values of these columns, or an",
        "// object that has them by name.",
        *columns,
        f"function {name}(row) {{",
        "\n\n".join([*blocks, body]),
        "}",
    ]
    if model.task != "numbers":
        lines.append(f"{name}.classes = {_labels(printer, program)};")
    exported = f"module.exports = {{ {name} }}"
    lines += [f'if (typeof module !== "undefined" && module.exports) {exported};', ""]
    return "\n".join(lines)


def _row(printer: _JavaScript, program: Program) -> Iterator[str]:
    names = printer.texts([column.name for column in program.model.columns])
    n = len(program.model.columns)
    yield '  if (typeof row[Symbol.iterator] !== "function") {'
    yield f"    row = {names}.map((name) => {{"
    yield "      if (!(name in row)) throw new TypeError(`the row has no column ${name}`);"
    yield "      return row[name];"
    yield "    });"
    yield "  }"
    yield f"  if (row.length !== {n}) throw new TypeError(`${{row.length}} values, not {n}`);"


def _result(printer: _JavaScript, program: Program) -> Iterator[str]:
    def vector(values: Any) -> str:
        return f"[{', '.join(map(printer.scalar, values))}]"

    rows, more = [vector(row) for row in program.contributions], ""
    if rows:
        more = ", contributions"
        listed = rows[0] if len(rows) == 1 else f"[{', '.join(rows)}]"
        yield f"  const contributions = {listed};"
    yield f"  const predictions = {vector(program.predictions)};"
    if program.model.task == "classes":
        place = f"{printer.scalar(program.scores[0])} > 0 ? 1 : 0"
        if not program.is_log_odds:
            yield f"  const scores = {vector(program.scores)};"
            place = "scores.indexOf(Math.max(...scores))"
        yield f"  const label = {_labels(printer, program)}[{place}];"
        yield f"  return {{ label, probabilities: predictions{more} }};"
    elif program.model.task == "labels":
        yield "  const labels = predictions.map((p) => (p > 0.5 ? 1 : 0));"
        yield f"  return {{ labels, probabilities: predictions{more} }};"
    else:
        values = "predictions[0]" if program.model.n_outputs == 1 else "predictions"
        yield f"  return {f'{{ prediction: {values}{more} }}' if rows else values};"


def _labels(printer: _JavaScript, program: Program) -> str:
    return printer.text([_label(label) for label in program.labels])


def _label(label: Any) -> Any:
    """Return a label, as text where JavaScript has no equal value."""
    is_exact = not isinstance(label, int) or abs(label) < 2**53
    return label if isinstance(label, (bool, int, float, str)) and is_exact else str(label)
