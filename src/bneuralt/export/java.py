"""Models as a Java class without dependencies."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence

from bneuralt.export.printer import ARITHMETIC, Code, LinePrinter, Template, checked_name
from bneuralt.export.program import Forest, Function, Program
from bneuralt.export.static_languages import check_size, date_places, facts, named_columns
from bneuralt.model import Model

__all__ = ["TEMPLATES", "to_java"]

#: Operation -> Java code.
TEMPLATES: dict[str, Template] = {
    **ARITHMETIC,
    **{name: ("atom", f"Math.{name}({{0}})") for name in ("sqrt", "log", "tanh")},
    **{name: ("atom", f"{name}({{0}})") for name in ("square", "exp", "sigmoid", "largest")},
    "minimum": ("atom", "Math.min({0}, {1})"),
    "maximum": ("atom", "Math.max({0}, {1})"),
    "absolute": ("atom", "Math.abs({0})"),
    "is_missing": ("atom", "Double.isNaN({0})"),
    "if_missing": ("atom", "ifMissing({0}, {1})"),
    "select": ("choice", "{0:comparison} ? {1:comparison} : {2:comparison}"),
    "ordered": ("atom", "ordered({value}, {0})"),
    **date_places("{0}[{}]"),
}

_RESERVED = """
    abstract assert boolean break byte case catch char class const continue default do double else
    enum extends final finally float for goto if implements import instanceof int interface long
    native new package private protected public return short static strictfp super switch
    synchronized this throw throws transient try void volatile while true false null var record
    yield sealed permits String Object Math Double Integer Number Curve Prediction
"""

#: Characters of a text in a class file.
MAX_TEXT = 20_000


class _Java(LinePrinter):
    language, helpers, templates = "Java", "java.java", TEMPLATES
    vector, constants = "new double[] {{{}}}", "c[{}]"

    def number(self, value: float) -> Code:
        if math.isfinite(value):
            return super().number(value)
        names = {math.inf: "POSITIVE_INFINITY", -math.inf: "NEGATIVE_INFINITY"}
        return Code(f"Double.{names.get(value, 'NaN')}")

    def member(self, text: Code, texts: Sequence[str]) -> str:
        return f"isIn({text}, {self.texts(texts)})"

    def table(self, text: Code, numbers: Mapping[str, float], unknown: float) -> Code:
        words = (f"{len(key.encode('utf-16-le')) // 2} {key}{x!r} " for key, x in numbers.items())
        parts = [""]
        for word in words:
            if len(parts[-1]) + len(word) > MAX_TEXT:
                parts.append("")
            parts[-1] += word
        return Code(f"find({text}, {self.number(unknown)}, {self.texts(parts)})")

    def text(self, value: str | bool) -> str:
        return json.dumps(value)

    def texts(self, values: Sequence[str]) -> str:
        return ", ".join(map(self.text, values))

    def assignment(self, name: str, value: str) -> str:
        word = next((w for w in ("text", "date", "p_", "trees") if name.startswith(w)), "")
        kind = {"text": "String", "date": "double[]", "p_": "double[]", "trees": "double[]"}
        return f"final {kind.get(word, 'double')} {name} = {value};"

    def head(self, function: Function) -> str:
        if function.name.startswith("curve"):
            return f"static double {function.name}(double z, double[] c) {{"
        parameters = ", ".join(f"double {name}" for name in function.parameters)
        return f"static double[] {function.name}({parameters}) {{"

    def requirement(self, name: str, message: str) -> str:
        wrong = f'throw new IllegalArgumentException("{message}");'
        return f"if (Double.isNaN({name})) {wrong}"

    def forest(self, arguments: Sequence[Code], table: Forest) -> str:
        shape, numbers = map(self._pieces, (table.shape, map(self.number, table.numbers)))
        functions = ", ".join(
            f"new Curve({len(f.parameters) - 1}, Curves::{f.name})" for f in table.functions
        )
        inputs = self.vector.format(", ".join(arguments))
        tables = f"integers({shape}), numbers({numbers}), new Curve[] {{{functions}}}"
        return f"forest({inputs}, {tables}, {table.n_values}, {table.n_stacked})"

    def _pieces(self, values: Iterable[object]) -> str:
        """Return numbers as texts, because a class file has no long tables."""
        lines = textwrap.wrap(" ".join(map(str, values)), MAX_TEXT, break_on_hyphens=False)
        return ", ".join(f'"{line}"' for line in lines)


def to_java(model: Model, *, name: str = "Model", contributions: bool = False) -> str:
    """Write a model as a Java class; see `ExportMethods.to_java`."""
    checked_name(name, _RESERVED, "a Java class")
    printer = _Java()
    program = Program.of(model, contributions=contributions, most_nodes=printer.most_nodes)
    check_size(program, "Java")
    values = printer.vector.format(", ".join(map(printer.scalar, program.predictions)))
    fields, results = ["double[] values"], [values]
    if program.model.task == "classes":
        scores = [printer.scalar(score) for score in program.scores]
        place = f"{scores[0]} > 0.0 ? 1 : 0"
        if not program.is_log_odds:
            place = f"firstLargest({', '.join(scores)})"
        fields, results = (
            [*fields, "int position", "String label"],
            [*results, place, f"NAMES[{place}]"],
        )
    if program.contributions:
        rows = (f"{{{', '.join(map(printer.scalar, row))}}}" for row in program.contributions)
        fields.append("double[][] contributions")
        results.append(f"new double[][] {{{', '.join(rows)}}}")
    n = len(program.model.columns)
    wrong = f'throw new IllegalArgumentException(row.length + " values, not {n}");'
    body = [
        "public static Prediction predict(Object... row) {",
        f"    if (row.length != {n}) {wrong}",
        *printer.body(program),
        f"    return new Prediction({', '.join(results)});",
        "}",
    ]
    functions = printer.functions(program)
    helpers = printer.with_helpers("\n".join([*body, *functions]))
    names = printer.texts(program.model.output_names)
    blocks = [
        f"/** Names of the outputs. */\npublic static final String[] NAMES = {{{names}}};",
        "/** A prediction: probabilities or numbers. */\n"
        f"public record Prediction({', '.join(fields)}) {{}}",
    ]
    if any("MISSING" in helper for helper in helpers):
        blocks.append(f"static final String[] MISSING = {{{printer.missing_texts()}}};")
    if any("Curve" in helper for helper in helpers):
        blocks.append(_CURVE.replace("Curves", name))
    comment = "\n".join(["/**", *(f" * {line}" for line in named_columns(program)), " */"])
    code = "\n".join(body).replace("Curves::", f"{name}::")
    blocks += [*helpers, *functions, f"{comment}\n{code}"]
    inner = textwrap.indent("\n\n".join(blocks), "    ")
    return f"{facts('// ', program)}\npublic final class {name} {{\n{inner}\n}}\n"


_CURVE = """\
interface Formula { double of(double z, double[] c); }
record Curve(int nConstants, Formula formula) {
    double apply(double z, double[] c) { return formula.of(z, c); }
}"""
