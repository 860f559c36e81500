"""Models as one JavaScript function without dependencies, for browsers and Node."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from bneuralt import __version__
from bneuralt.export.statements import StatementTranslator, comment_text
from bneuralt.export.translation import ARITHMETIC, Case, Code, Define, Template
from bneuralt.expressions.operations import EXP_LIMIT
from bneuralt.model import Model

__all__ = ["TEMPLATES", "to_javascript"]

#: Operation -> JavaScript code.
TEMPLATES: dict[str, Template] = {
    **ARITHMETIC,
    "minimum": ("atom", "Math.min({0}, {1})"),
    "maximum": ("atom", "Math.max({0}, {1})"),
    "absolute": ("atom", "Math.abs({0})"),
    "square": ("atom", "square({0})"),
    "sqrt": ("atom", "Math.sqrt({0})"),
    "exp": ("atom", "exp({0})"),
    "log": ("atom", "Math.log({0})"),
    "tanh": ("atom", "Math.tanh({0})"),
    "sigmoid": ("atom", "sigmoid({0})"),
    "is_missing": ("atom", "Number.isNaN({0})"),
    "if_missing": ("atom", "ifMissing({0}, {1})"),
    "select": ("choice", "{0:comparison} ? {1:comparison} : {2:comparison}"),
    "number": ("atom", "{cell}"),
    "date_part": ("atom", "{cell}.{value}"),
    "largest": ("atom", "Math.max({0})"),
}

_HELPERS = {
    "square": """
  function square(z) {
    return z * z;
  }
""",
    "exp": f"""
  function exp(z) {{
    return Math.exp(Math.min(Math.max(z, -{EXP_LIMIT:g}), {EXP_LIMIT:g}));
  }}
""",
    "sigmoid": """
  function sigmoid(z) {
    return 1 / (1 + exp(-z));
  }
""",
    "ifMissing": """
  function ifMissing(value, other) {
    return Number.isNaN(value) ? other : value;
  }
""",
    "isGap": """
  function isGap(value) {
    if (value === null || value === undefined || Number.isNaN(value)) return true;
    if (typeof value !== "string") return false;
    return MISSING.includes(value.trim().toLowerCase()) || value.trim() === "None";
  }
""",
    "number": """
  function number(value) {
    if (isGap(value)) return NaN;
    const result = typeof value === "object" ? NaN : Number(value);
    if (Number.isNaN(result)) throw new TypeError(`${String(value)} is not a number`);
    return result;
  }
""",
    "text": """
  function text(value) {
    if (isGap(value)) return null;
    if (typeof value === "boolean") return value ? "True" : "False";
    return (Number.isInteger(value) ? BigInt(value) : String(value)).toString().trim();
  }
""",
    "date": """
  function date(value) {
    if (isGap(value)) {
      return { year: NaN, month: NaN, day: NaN, weekday: NaN, hour: NaN, elapsed: NaN };
    }
    let parts = [];
    if (value instanceof Date) {
      parts = [value.getFullYear(), value.getMonth() + 1, value.getDate(), value.getHours()];
    } else {
      const match = /^\\s*(\\d+)[-/](\\d+)[-/](\\d+)(?:[T ](\\d+))?/.exec(value) || [];
      parts = match.slice(1).map((part) => Number(part || 0));
    }
    if (parts.length < 4 || parts.some(Number.isNaN)) throw new TypeError(`${value} is not a date`);
    const [year, month, day, hour] = parts;
    const shifted = month < 3 ? year - 1 : year;
    const leaps = Math.floor(shifted / 4) - Math.floor(shifted / 100) + Math.floor(shifted / 400);
    const ofYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day;
    const days = 365 * shifted + leaps + ofYear - 719469;
    const weekday = (((days + 3) % 7) + 7) % 7;
    return { year, month, day, weekday, hour, elapsed: days + hour / 24 };
  }
""",
}

#: Names that a function cannot have, or that the code uses.
_RESERVED = """
    arguments await break case catch class const continue debugger default delete do else enum eval
    export extends false finally for function if implements import in instanceof interface let new
    null package private protected public return static super switch this throw true try typeof var
    void while with yield undefined NaN Infinity Array BigInt Date Math Number String Symbol
    TypeError module row
"""


class _JavaScript(StatementTranslator):
    templates = TEMPLATES
    helpers = _HELPERS
    indent = "  "
    end = ";"

    def number(self, value: float) -> Code:
        if not math.isfinite(value):
            names = {math.inf: "Infinity", -math.inf: "-Infinity"}
            return Code(names.get(value, "NaN"), "sign")
        text = re.sub(r"\.0$", "", repr(float(value)))
        return Code(text, "sign" if text[0] == "-" else "atom")

    def lookup(self, cell: Code, cases: Sequence[Case], unknown: float) -> Code:
        code = self.number(unknown)
        for case in reversed(cases):
            listed = json.dumps([None] * case.is_missing + case.texts)
            choice = f"{listed}.includes({cell}) ? {self.number(case.number)} : {code}"
            code = Code(choice, "choice")
        return code

    def ordered(self, values: Sequence[Code], places: Sequence[int], define: Define) -> list[Code]:
        name = define("ordered", Code(f"{self.vector_of(values)}.sort((a, b) => a - b)"))
        return [Code(f"{name}[{place}]") for place in places]

    def assignment(self, name: str, value: str, comment: str = "") -> str:
        return f"const {name} = {value};" + (f" // {comment}" if comment else "")

    def function(self, name: str, parameters: Sequence[str], body: Sequence[str]) -> list[str]:
        head = f"function {name}({', '.join(parameters)}) {{"
        return [self.indent + line for line in [head, *(f"  {line}" for line in body), "}"]]

    def requirement(self, name: str, message: str) -> list[str]:
        return [f'if (Number.isNaN({name})) throw new TypeError("{message}");']


def to_javascript(model: Model, name: str = "predict", contributions: bool = False) -> str:
    """Write a model as one JavaScript function; see `ExportMethods.to_javascript`."""
    if not re.fullmatch(r"[A-Za-z_$][A-Za-z0-9_$]*", name) or name in _RESERVED.split():
        raise ValueError(f"name={name!r} is not a name that a JavaScript function can have")
    model = model.simplified()
    after = list(_result(model, contributions))
    body = _JavaScript().body(model, list(_row(model)), after, contributions)
    lines = [*_comment(model), f"function {name}(row) {{", *body, "}"]
    if model.task != "numbers":
        lines.append(f"{name}.classes = {_labels(model)};")
    lines.append(
        f'if (typeof module !== "undefined" && module.exports) module.exports = {{ {name} }};'
    )
    return "\n".join([*lines, ""])


def _comment(model: Model) -> Iterator[str]:
    yield f"// Written by bneuralt {__version__}."
    yield "// Returns the prediction for one row: an array of the values of these columns, or an"
    yield "// object that has them by name."
    for i, column in enumerate(model.columns):
        yield f"// {i}: {comment_text(column.name)}"


def _row(model: Model) -> Iterator[str]:
    names = json.dumps([column.name for column in model.columns])
    n = len(model.columns)
    yield '  if (typeof row[Symbol.iterator] !== "function") {'
    yield f"    row = {names}.map((name) => {{"
    yield "      if (!(name in row)) throw new TypeError(`the row has no column ${name}`);"
    yield "      return row[name];"
    yield "    });"
    yield "  }"
    yield f"  if (row.length !== {n}) throw new TypeError(`${{row.length}} values, not {n}`);"


def _result(model: Model, contributions: bool) -> Iterator[str]:
    more = ", contributions" if contributions else ""
    if model.task == "classes":
        by = "outputs" if model.decides_by_outputs else "predictions"
        yield f"  const label = {_labels(model)}[{by}.indexOf(Math.max(...{by}))];"
        yield f"  return {{ label, probabilities: predictions{more} }};"
    elif model.task == "labels":
        yield "  const labels = predictions.map((p) => (p > 0.5 ? 1 : 0));"
        yield f"  return {{ labels, probabilities: predictions{more} }};"
    else:
        values = "predictions[0]" if model.n_outputs == 1 else "predictions"
        yield f"  return {f'{{ prediction: {values}{more} }}' if contributions else values};"


def _labels(model: Model) -> str:
    return json.dumps([_label(label) for label in model.classes or range(model.n_outputs)])


def _label(label: Any) -> Any:
    """Return a label, as text where JavaScript has no equal value."""
    is_exact = not isinstance(label, int) or abs(label) < 2**53
    return label if isinstance(label, (bool, int, float, str)) and is_exact else str(label)
