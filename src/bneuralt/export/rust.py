"""Models as a Rust module without dependencies."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from bneuralt.export.printer import ARITHMETIC, Code, LinePrinter, Template, checked_name
from bneuralt.export.program import Forest, Function, Program, Reading
from bneuralt.export.static_languages import date_places, facts, named_columns
from bneuralt.model import Model

__all__ = ["TEMPLATES", "to_rust"]

#: Operation -> Rust code.
TEMPLATES: dict[str, Template] = {
    **ARITHMETIC,
    **{name: ("atom", f"f64::{name}({{0}})") for name in ("sqrt", "tanh")},
    **{name: ("atom", f"{name}({{0}})") for name in ("square", "exp", "sigmoid")},
    **{name: ("atom", f"{name}({{0}}, {{1}})") for name in ("minimum", "maximum", "if_missing")},
    "absolute": ("atom", "f64::abs({0})"),
    "log": ("atom", "f64::ln({0})"),
    "is_missing": ("atom", "f64::is_nan({0})"),
    "select": ("choice", "if {0} {{ {1} }} else {{ {2} }}"),
    "largest": ("atom", "largest(&[{0}])"),
    "ordered": ("atom", "ordered(&[{0}], {value})"),
    **date_places("{0}[{}]"),
}

_RESERVED = """
    abstract as async await become box break const continue crate do dyn else enum extern false
    final fn for if impl in let loop macro match mod move mut override priv pub ref return self Self
    static struct super trait true try type typeof union unsafe unsized use virtual where while
    yield
"""


class _Rust(LinePrinter):
    language, helpers, templates = "Rust", "rust.rs", TEMPLATES
    constants = "c[{}]"

    def member(self, text: Code, texts: Sequence[str]) -> str:
        return f"{self.texts(texts)[1:]}.contains(&{text}.as_str())"

    def table(self, text: Code, numbers: Mapping[str, float], unknown: float) -> Code:
        pairs = ", ".join(f"({self.text(key)}, {self.number(x)})" for key, x in numbers.items())
        return Code(f"find(&{text}, &[{pairs}], {self.number(unknown)})")

    def text(self, value: str | bool) -> str:
        code = json.dumps(value, ensure_ascii=False)
        return re.sub(r"\\u([0-9a-f]{4})|\\([bf])", _escaped, code)

    def texts(self, values: Sequence[str]) -> str:
        return f"&[{', '.join(map(self.text, values))}]"

    def assignment(self, name: str, value: str) -> str:
        return f"let {name} = {value};"

    def read(self, reading: Reading) -> str:
        gaps = [] if reading.kind == "text" else [self.texts(reading.gaps)]
        settings = [self.text(value) for value in reading.settings]
        title = [] if reading.kind == "text" else [self.text(reading.title)]
        arguments = ", ".join([f"row[{reading.column}]", *title, *settings, *gaps])
        return f"{reading.kind}({arguments}){'?' if title else ''}"

    def head(self, function: Function) -> str:
        if function.name.startswith("curve"):
            is_used = len(function.parameters) > 1
            return f"fn {function.name}(z: f64, {'' if is_used else '_'}c: &[f64]) -> f64 {{"
        parameters = ", ".join(f"{name}: f64" for name in function.parameters)
        return f"fn {function.name}({parameters}) -> [f64; {len(function.results)}] {{"

    def requirement(self, name: str, message: str) -> str:
        return f'if {name}.is_nan() {{ return Err("{message}".to_string()); }}'

    def forest(self, arguments: Sequence[Code], table: Forest) -> str:
        shape, numbers = (
            ", ".join(map(str, table.shape)),
            ", ".join(map(self.number, table.numbers)),
        )
        functions = ", ".join(f"({f.name}, {len(f.parameters) - 1})" for f in table.functions)
        return f"forest(&[{', '.join(arguments)}], &[{shape}], &[{numbers}], &[{functions}])"


def _escaped(match: re.Match[str]) -> str:
    return f"\\u{{{match[1]}}}" if match[1] else {"b": "\\u{8}", "f": "\\u{c}"}[match[2]]


def to_rust(model: Model, *, name: str = "predict", contributions: bool = False) -> str:
    """Write a model as a Rust module; see `ExportMethods.to_rust`."""
    checked_name(name, _RESERVED, "a Rust function", "[a-z_][a-z0-9_]*")
    printer = _Rust()
    program = Program.of(model, contributions=contributions, most_nodes=printer.most_nodes)
    values = [printer.scalar(value) for value in program.predictions]
    n_columns, k = len(program.model.columns), len(values)
    fields, results = [f"pub values: [f64; {k}]"], [f"values: [{', '.join(values)}]"]
    if program.model.task == "classes":
        scores = [printer.scalar(score) for score in program.scores]
        place = f"usize::from({scores[0]} > 0.0)"
        if not program.is_log_odds:
            place = f"first_largest(&[{', '.join(scores)}])"
        fields += ["pub class: usize", "pub label: &'static str"]
        results += [f"class: {place}", f"label: NAMES[{place}]"]
    if program.contributions:
        fields.append(f"pub contributions: [[f64; {n_columns}]; {len(program.contributions)}]")
        rows = (f"[{', '.join(map(printer.scalar, row))}]" for row in program.contributions)
        results.append(f"contributions: [{', '.join(rows)}]")
    wrong = f'return Err(format!("{{}} values, not {n_columns}", row.len()));'
    body = [
        f"pub fn {name}(row: &[Cell]) -> Result<Prediction, String> {{",
        f"    if row.len() != {n_columns} {{ {wrong} }}",
        *printer.body(program),
        f"    Ok(Prediction {{ {', '.join(results)} }})",
        "}",
    ]
    functions = printer.functions(program)
    helpers = printer.with_helpers("\n".join(["Cell", *body, *functions]))
    constants = [f"/// Names of the outputs.\npub const NAMES: [&str; {k}] = "
                 f"{printer.texts(program.model.output_names)[1:]};"]  # fmt: skip
    if any("MISSING" in helper for helper in helpers):
        missing = printer.missing_texts()[1:]
        constants.append(f"const MISSING: [&str; {missing.count(',') + 1}] = {missing};")
    if any("Curve" in helper for helper in helpers):
        constants.append("type Curve = (fn(f64, &[f64]) -> f64, usize);")
    about = "\n".join(f"/// {line}" for line in named_columns(program))
    result = "/// A prediction: probabilities or numbers.\n#[derive(Clone, Debug)]\n"
    result += "pub struct Prediction {\n" + "".join(f"    {field},\n" for field in fields) + "}"
    blocks = [facts("//! ", program), *constants, result, *helpers, *functions]
    return "\n\n".join([*blocks, about + "\n" + "\n".join(body)]) + "\n"
