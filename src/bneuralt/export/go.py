"""Models as a Go package without dependencies."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence

from bneuralt.export.printer import ARITHMETIC, Code, LinePrinter, Template, checked_name
from bneuralt.export.program import Forest, Function, Program
from bneuralt.export.static_languages import date_places, facts, named_columns
from bneuralt.model import Model

__all__ = ["TEMPLATES", "to_go"]

#: Operation -> Go code.
TEMPLATES: dict[str, Template] = {
    **ARITHMETIC,
    **{name: ("atom", f"math.{name.title()}({{0}})") for name in ("sqrt", "log", "tanh")},
    **{name: ("atom", f"{name}({{0}})") for name in ("square", "sigmoid", "largest")},
    "minimum": ("atom", "math.Min({0}, {1})"),
    "maximum": ("atom", "math.Max({0}, {1})"),
    "absolute": ("atom", "math.Abs({0})"),
    "exp": ("atom", "limitedExp({0})"),
    "is_missing": ("atom", "math.IsNaN({0})"),
    "if_missing": ("atom", "ifMissing({0}, {1})"),
    "select": ("atom", "choose({0}, {1}, {2})"),
    "ordered": ("atom", "ordered({value}, {0})"),
    **date_places("{0}[{}]"),
}

_RESERVED = """
    break case chan const continue default defer else fallthrough for func go goto if import
    interface map package range return select struct switch type var Prediction Names
"""


class _Go(LinePrinter):
    language, helpers, templates = "Go", "go.go", TEMPLATES
    indent, end, constants, vector = "\t", " ", "c[{}]", "[]float64{{{}}}"

    def number(self, value: float) -> Code:
        if math.isfinite(value):
            return super().number(value)
        return Code(
            "math.NaN()" if math.isnan(value) else f"math.Inf({'1' if value > 0 else '-1'})"
        )

    def member(self, text: Code, texts: Sequence[str]) -> str:
        return f"isIn({text}, {self.texts(texts)})"

    def table(self, text: Code, numbers: Mapping[str, float], unknown: float) -> Code:
        values = self.vector.format(", ".join(map(self.number, numbers.values())))
        texts = f"[]string{{{self.texts(list(numbers))}}}"
        return Code(f"find({text}, {texts}, {values}, {self.number(unknown)})")

    def text(self, value: str | bool) -> str:
        return json.dumps(value, ensure_ascii=False)

    def texts(self, values: Sequence[str]) -> str:
        return ", ".join(map(self.text, values))

    def assignment(self, name: str, value: str) -> str:
        return f"{name} := {value}"

    def head(self, function: Function) -> str:
        if function.name.startswith("curve"):
            return f"func {function.name}(z float64, c []float64) float64 {{"
        return f"func {function.name}({', '.join(function.parameters)} float64) []float64 {{"

    def requirement(self, name: str, message: str) -> str:
        return f'if math.IsNaN({name}) {{ panic(fmt.Errorf("{message}")) }}'

    def forest(self, arguments: Sequence[Code], table: Forest) -> str:
        inputs, numbers = (
            self.vector.format(", ".join(values))
            for values in (arguments, map(self.number, table.numbers))
        )
        functions = ", ".join(f"{{{len(f.parameters) - 1}, {f.name}}}" for f in table.functions)
        shape = f"[]int{{{', '.join(map(str, table.shape))}}}"
        return f"forest({inputs}, {shape}, {numbers}, []curve{{{functions}}})"


def to_go(model: Model, *, name: str = "Predict", contributions: bool = False) -> str:
    """Write a model as a Go package; see `ExportMethods.to_go`."""
    checked_name(name, _RESERVED, "a Go function")
    printer = _Go()
    program = Program.of(model, contributions=contributions, most_nodes=printer.most_nodes)
    values = printer.vector.format(", ".join(map(printer.scalar, program.predictions)))
    fields, results = ["Values []float64"], [f"Values: {values}"]
    if program.model.task == "classes":
        scores = ", ".join(map(printer.scalar, program.scores))
        place = f"firstLargest({'0, ' * program.is_log_odds}{scores})"
        fields += ["Class int", "Label string"]
        results += [f"Class: {place}", f"Label: Names[{place}]"]
    if program.contributions:
        rows = (f"{{{', '.join(map(printer.scalar, row))}}}" for row in program.contributions)
        fields.append("Contributions [][]float64")
        results.append(f"Contributions: [][]float64{{{', '.join(rows)}}}")
    n = len(program.model.columns)
    body = [
        f"func {name}(row ...any) (result Prediction, err error) {{",
        "\tdefer func() {",
        "\t\tif problem, isError := recover().(error); isError {",
        "\t\t\terr = problem",
        "\t\t}",
        "\t}()",
        f"\tif len(row) != {n} {{",
        f'\t\treturn result, fmt.Errorf("%d values, not {n}", len(row))',
        "\t}",
        *printer.body(program),
        f"\treturn Prediction{{{', '.join(results)}}}, nil",
        "}",
    ]
    functions = printer.functions(program)
    helpers = printer.with_helpers("\n".join([*body, *functions]))
    fields_text = "".join(f"\t{field}\n" for field in fields)
    blocks = [
        "// Names of the outputs.\n"
        f"var Names = []string{{{printer.texts(program.model.output_names)}}}",
        f"// Prediction has probabilities or numbers.\ntype Prediction struct {{\n{fields_text}}}",
    ]
    if any("missing" in helper for helper in helpers):
        blocks.append(f"var missing = []string{{{printer.missing_texts()}}}")
    if any("curve" in helper for helper in helpers):
        blocks.append(
            "type curve struct {\n\tnConstants int\n\tformula func(float64, []float64) float64\n}"
        )
    lines = named_columns(program)
    comment = "\n".join(f"// {line}" for line in [f"{name} r{lines[0][1:]}", *lines[1:]])
    blocks += [*helpers, *functions, comment + "\n" + "\n".join(body)]
    code = "\n\n".join(blocks)
    packages = ("fmt", "math", "regexp", "sort", "strconv", "strings", "time")
    used = "".join(f'\t"{p}"\n' for p in packages if re.search(rf"\b{p}\.[A-Z]", code))
    return f"{facts('// ', program)}\npackage model\n\nimport (\n{used})\n\n{code}\n"
