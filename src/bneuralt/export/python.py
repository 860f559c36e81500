"""Models as one Python function without imports."""

from __future__ import annotations

import builtins
import keyword
import math
from collections.abc import Iterator, Sequence
from typing import Any

from bneuralt import __version__
from bneuralt.export.statements import StatementTranslator, comment_text
from bneuralt.export.translation import ARITHMETIC, Case, Code, Define, Template
from bneuralt.expressions import Expression
from bneuralt.expressions.operations import EXP_LIMIT
from bneuralt.model import Model

__all__ = ["TEMPLATES", "to_python"]

#: Operation -> Python code. The first of two values that are equal or not comparable is the result
#: of min and max.
TEMPLATES: dict[str, Template] = {
    **ARITHMETIC,
    "minimum": ("atom", "min({0}, {1})"),
    "maximum": ("atom", "max({0}, {1})"),
    "absolute": ("atom", "abs({0})"),
    "square": ("atom", "square({0})"),
    "sqrt": ("atom", "sqrt({0})"),
    "exp": ("atom", "exp({0})"),
    "log": ("atom", "log({0})"),
    "tanh": ("atom", "tanh({0})"),
    "sigmoid": ("atom", "sigmoid({0})"),
    "is_missing": ("atom", "is_missing({0})"),
    "if_missing": ("atom", "if_missing({0}, {1})"),
    "select": ("choice", "{1:comparison} if {0:comparison} else {2:comparison}"),
    "number": ("atom", "{cell}"),
    "date_part": ("atom", '{cell}["{value}"]'),
    "largest": ("atom", "max({0})"),
}

# exp is a power of e; its argument is limited as in the core, so that the result is finite.
_HELPERS = {
    "square": """
    def square(z):
        return z * z
""",
    "sqrt": """
    def sqrt(z):
        return z ** 0.5 if z >= 0.0 else float("nan")
""",
    "exp": f"""
    def exp(z):
        return 2.718281828459045 ** max(min(z, {EXP_LIMIT}), -{EXP_LIMIT})
""",
    "log": """
    def log(z):
        if not 0.0 < z < float("inf"):
            return z if z > 0.0 else float("-inf") if z == 0.0 else float("nan")
        above, below = z.as_integer_ratio()
        power = above.bit_length() - below.bit_length()
        z /= 2.0 ** power
        if z > 1.4142135623730951:
            z, power = z / 2.0, power + 1
        elif z < 0.7071067811865476:
            z, power = z * 2.0, power - 1
        z = (z - 1.0) / (z + 1.0)
        series = sum(z ** k / k for k in range(23, 0, -2))
        return power * 0.6931471805599453 + 2.0 * series
""",
    "sigmoid": """
    def sigmoid(z):
        return 1.0 / (1.0 + exp(-z))
""",
    "tanh": """
    def tanh(z):
        if abs(z) < 0.02:
            s = z * z
            return z * (1.0 - s * (1.0 / 3.0 - s * (2.0 / 15.0 - s * 17.0 / 315.0)))
        e = exp(-2.0 * abs(z))
        return (1.0 - e) / (1.0 + e) if z > 0.0 else (e - 1.0) / (1.0 + e)
""",
    "is_missing": """
    def is_missing(value):
        return value != value
""",
    "if_missing": """
    def if_missing(value, default):
        return default if value != value else value
""",
    "number": """
    def number(value):
        if value is None or value != value:
            return float("nan")
        if isinstance(value, str) and (value.strip().lower() in MISSING or value == "None"):
            return float("nan")
        return float(value)
""",
    "text": """
    def text(value):
        if value is None or value != value:
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        value = str(value).strip()
        return None if value.lower() in MISSING or value == "None" else value
""",
    "date": """
    def date(value):
        if isinstance(value, str) and (value.strip().lower() in MISSING or value == "None"):
            value = None
        if value is None or value != value:
            parts = ("year", "month", "day", "weekday", "hour", "elapsed")
            return dict.fromkeys(parts, float("nan"))
        if isinstance(value, str):
            day, _, time = value.strip().replace("T", " ").partition(" ")
            year, month, day = (int(part) for part in day.replace("/", "-").split("-"))
            hour = int(time.partition(":")[0] or 0)
        else:
            year, month, day, hour = value.year, value.month, value.day, getattr(value, "hour", 0)
        shifted = year - (month < 3)
        days = (365 * shifted + shifted // 4 - shifted // 100 + shifted // 400
                + (153 * ((month + 9) % 12) + 2) // 5 + day - 719469)
        return {"year": year, "month": month, "day": day, "weekday": (days + 3) % 7,
                "hour": hour, "elapsed": days + hour / 24}
""",
}


class _Python(StatementTranslator):
    templates = TEMPLATES
    helpers = _HELPERS
    indent = "    "

    def number(self, value: float) -> Code:
        if not math.isfinite(value):
            return Code(f'float("{value}")')
        text = repr(float(value))
        return Code(text, "sign" if text[0] == "-" else "atom")

    def lookup(self, cell: Code, cases: Sequence[Case], unknown: float) -> Code:
        code = self.number(unknown)
        for case in reversed(cases):
            listed = ["None"] * case.is_missing + [repr(text) for text in case.texts]
            choice = f"{self.number(case.number)} if {cell} in {{{', '.join(listed)}}} else {code}"
            code = Code(choice, "choice")
        return code

    def ordered(self, values: Sequence[Code], places: Sequence[int], define: Define) -> list[Code]:
        name = define("ordered", Code(f"sorted({self.vector_of(values)})"))
        return [Code(f"{name}[{place}]") for place in places]

    def _operate(self, expression: Expression, *parts: Code) -> Code:
        # A missing value must come first, see the note on templates.
        if expression.operation in ("minimum", "maximum") and expression.arguments[0].is_constant:
            parts = parts[::-1]
        return super()._operate(expression, *parts)

    def assignment(self, name: str, value: str, comment: str = "") -> str:
        return f"{name} = {value}" + (f"  # {comment}" if comment else "")

    def function(self, name: str, parameters: Sequence[str], body: Sequence[str]) -> list[str]:
        lines = [f"def {name}({', '.join(parameters)}):", *(f"    {line}" for line in body)]
        return [self.indent + line for line in lines]

    def requirement(self, name: str, message: str) -> list[str]:
        return [f"if {name} != {name}:", f'    raise ValueError("{message}")']


def to_python(model: Model, name: str = "predict", contributions: bool = False) -> str:
    """Write a model as one Python function without imports; see `ExportMethods.to_python`."""
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError(f"name={name!r} is not a name that a Python function can have")
    if hasattr(builtins, name):
        raise ValueError(f"name={name!r} is a function of Python itself: choose another one")
    model = model.simplified()
    lines = [f"# Written by bneuralt {__version__}.", f"def {name}(row):", *_docstring(model)]
    after = list(_result(model, contributions))
    return "\n".join([*lines, *_Python().body(model, [], after, contributions), ""])


def _docstring(model: Model) -> Iterator[str]:
    yield '    """Return the prediction for one row, a sequence of the values of these columns:'
    yield ""
    for i, column in enumerate(model.columns):
        yield f"    {i}: {comment_text(column.name)}"
    yield '    """'


def _result(model: Model, contributions: bool) -> Iterator[str]:
    more = ", contributions" if contributions else ""
    if model.task == "classes":
        by = "outputs" if model.decides_by_outputs else "predictions"
        labels = tuple(map(_label, model.classes or range(model.n_outputs)))
        yield f"    return {labels!r}[{by}.index(max({by}))], tuple(predictions){more}"
    elif model.task == "labels":
        yield f"    return tuple(int(p > 0.5) for p in predictions), tuple(predictions){more}"
    else:
        values = "predictions[0]" if model.n_outputs == 1 else "tuple(predictions)"
        yield f"    return {values}{more}"


def _label(label: Any) -> Any:
    return label if isinstance(label, (bool, int, float, str)) else str(label)
