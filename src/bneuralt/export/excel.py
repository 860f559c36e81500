"""Models as a workbook: a form for one row, and a sheet with one formula for each value."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from typing import Any

from bneuralt import __version__
from bneuralt.export.printer import ARITHMETIC, Code, Printer, Template
from bneuralt.export.program import Program, Reading, Statement, weighted_sum
from bneuralt.expressions import variable
from bneuralt.expressions.operations import EXP_LIMIT
from bneuralt.model import Model
from bneuralt.tables.columns import MISSING_TEXTS

__all__ = ["TEMPLATES", "to_excel"]

_EXP = f"EXP(MAX(MIN({{0}},{EXP_LIMIT:g}),-{EXP_LIMIT:g}))"

#: Operation -> formula. A missing value is an empty text.
TEMPLATES: dict[str, Template] = {
    **ARITHMETIC,
    "greater": ("atom", "IFERROR({0:sum}>{1:sum},FALSE)"),
    "minimum": ("atom", "MIN({0},{1})"),
    "maximum": ("atom", "MAX({0},{1})"),
    "absolute": ("atom", "ABS({0})"),
    "square": ("atom", "POWER({0},2)"),
    "sqrt": ("atom", "SQRT({0})"),
    "exp": ("atom", _EXP),
    "log": ("atom", "LN({0})"),
    "tanh": ("atom", "TANH({0})"),
    "sigmoid": ("product", f"1/(1+1/{_EXP})"),
    "is_missing": ("atom", "ISTEXT({0})"),
    "if_missing": ("atom", "IF(ISTEXT({0}),{1},{0})"),
    "select": ("atom", "IF({0},{1},{2})"),
    "largest": ("atom", "MAX({0})"),
    "ordered": ("atom", "SMALL(({0}),{value}+1)"),
    **{
        f"date_part {part}": ("atom", f'IF(ISTEXT({{0}}),"",{formula})')
        for part, formula in {
            "year": "YEAR({0})",
            "month": "MONTH({0})",
            "day": "DAY({0})",
            "weekday": "WEEKDAY({0},2)-1",
            "hour": "HOUR({0})",
            "elapsed": "INT({0})-25569+HOUR({0})/24",
        }.items()
    },
}

#: Terms of a sum, and characters of a text, that a formula can have.
MAX_TERMS, MAX_TEXT = 100, 255
#: Characters of a formula.
MAX_FORMULA = 8192


class _Excel(Printer):
    templates = TEMPLATES

    def number(self, value: float) -> Code:
        if not math.isfinite(value):
            raise ValueError(f"the model has the number {value}, which Excel does not have")
        text = repr(float(value)).removesuffix(".0").upper()
        return Code(text, "sign" if text[0] == "-" else "atom")

    def member(self, text: Code, texts: Sequence[str]) -> str:
        return f"OR(EXACT({text},{{{','.join(map(self.text, texts))}}}))"

    def table(self, text: Code, numbers: Mapping[str, float], unknown: float) -> Code:
        texts = ";".join(map(self.text, numbers))
        values = ";".join(map(self.number, numbers.values()))
        is_equal = f"EXACT({text},{{{texts}}})"
        found = f"SUMPRODUCT({is_equal}*{{{values}}})"
        formula = f"IF(SUMPRODUCT(--{is_equal})>0,{found},{self.number(unknown)})"
        if len(formula) > MAX_FORMULA:
            raise ValueError(
                f"a column has {len(numbers):,} values with a number of their own, and a formula "
                f"of Excel has at most {MAX_FORMULA:,} characters: use another target, such as "
                "to_python, or fit with categorical_features={column: 'values'}"
            )
        return Code(formula)

    def text(self, value: str) -> str:
        if len(value) > MAX_TEXT or "\x00" in value:
            raise ValueError(f"the text {value!r:.60} is too long for a formula of Excel")
        return '"' + value.replace('"', '""') + '"'

    def read(self, reading: Reading, cell: str) -> str:
        """Return the formula that reads a cell of the form."""
        words = ",".join(map(self.text, [*sorted(MISSING_TEXTS), "none", *reading.gaps]))
        is_gap = f"OR(LOWER(TRIM({cell}))={{{words}}})"
        if reading.kind == "text":
            return (
                f'IF(ISLOGICAL({cell}),IF({cell},"True","False"),IF({is_gap},"",'
                f'IF(OR(LEFT({cell},1)=" ",RIGHT({cell},1)=" "),TRIM({cell}),{cell}&"")))'
            )
        truth = f"IF(ISLOGICAL({cell}),IF({cell},1,0),NA())" if reading.kind != "date" else "NA()"
        return f'IF(ISNUMBER({cell}),{cell},IF({is_gap},"",{truth}))'


def to_excel(model: Model, *, contributions: bool = False) -> Any:
    """Write a model as a workbook; see `ExportMethods.to_excel`."""
    try:
        from openpyxl import Workbook
        from openpyxl.styles import Font, PatternFill
    except ImportError as error:
        raise ImportError("to_excel needs the package openpyxl: pip install openpyxl") from error
    program, printer = Program.of(model, contributions=contributions, has_functions=False), _Excel()
    book: Any = Workbook()
    form, sheet = book.active, book.create_sheet("model")
    form.title = "form"
    book.properties.creator = f"bneuralt {__version__}"
    form.append(["column", "value", "problem"])
    columns = program.model.columns
    names: dict[str, Code] = {}

    def add(name: str, formula: str, comment: str = "") -> None:
        sheet.append([_plain(name), f"={formula}", _plain(comment)])
        names[name] = Code(f"$B${sheet.max_row}")

    sheet.append(["name", "value", "meaning"])
    for i, column in enumerate(columns):
        form.append([_plain(column.name)])
        form.cell(i + 2, 2).fill = PatternFill("solid", fgColor="FFF2CC")
    for reading in program.readings:
        cell = f"form!$B${reading.column + 2}"
        add(reading.name, printer.read(reading, cell), reading.title)
        kind = {"date": "date", "text": "text"}.get(reading.kind, "number")
        problem = f'=IF(ISNA(model!{names[reading.name]}),"a {kind} is needed","")'
        form.cell(reading.column + 2, 3).value = problem
    for statement in program.body:
        for part in _pieces(statement):
            formula: str = printer.scalar(part.value, names)
            if part.required:
                formula = f"IF(ISTEXT({formula}),NA(),{formula})"
            add(part.name, formula, part.comment)
    results = list(zip(program.model.output_names, program.predictions, strict=True))
    form.append([])
    form.append(["prediction", None, None])
    if program.model.task == "classes":
        form.cell(form.max_row, 2).value = "=" + _label(printer, program, names)
    for name, value in results:
        form.append([_plain(name), f"=model!{printer.scalar(value, names)}"])
    for row, target in zip(program.contributions, _targets(program), strict=False):
        form.append([])
        form.append([f"contributions{target}"])
        for column, value in zip(columns, row, strict=True):
            is_name = value.operation == "variable"
            code = printer.scalar(value, names)
            form.append([_plain(column.name), f"={'model!' * is_name}{code}"])
    for cell in (*form[1], *sheet[1]):
        cell.font = Font(bold=True)
    form.column_dimensions["A"].width, sheet.column_dimensions["C"].width = 40, 60
    return book


def _targets(program: Program) -> list[str]:
    if len(program.contributions) == 1:
        return [""]
    return [f" to {name}" for name in program.model.output_names]


def _plain(text: str) -> str:
    """Return a text that is no formula, without characters that a workbook cannot have."""
    shown = "".join(c if c.isprintable() else " " for c in text)
    return f"'{shown}" if shown[:1] in ("=", "+", "-", "@") else shown


def _pieces(statement: Statement) -> list[Statement]:
    """Return a statement, with long sums in several."""
    value = statement.value
    if value.operation != "weighted_sum" or len(value.arguments) <= MAX_TERMS:
        return [statement]
    bias, *weights = value.value
    terms = list(zip(weights, value.arguments, strict=True))
    parts = [
        Statement(
            f"{statement.name} part {i // MAX_TERMS}", weighted_sum(0.0, terms[i : i + MAX_TERMS])
        )
        for i in range(0, len(terms), MAX_TERMS)
    ]
    total = weighted_sum(bias, [(1.0, variable(part.name)) for part in parts])
    return [*parts, Statement(statement.name, total, statement.comment, statement.required)]


def _label(printer: _Excel, program: Program, names: dict[str, Code]) -> str:
    """Return the formula of the predicted class."""
    labels = [printer.text(name) for name in program.model.output_names]
    scores = [f"model!{printer.scalar(score, names)}" for score in program.scores]
    if program.is_log_odds:
        return f"IF({scores[0]}>0,{labels[1]},{labels[0]})"
    best = f"MAX({','.join(scores)})"
    code = labels[-1]
    for score, label in reversed(list(zip(scores[:-1], labels, strict=False))):
        code = f"IF({score}={best},{label},{code})"
    return code


def file_of(book: Any) -> bytes:
    """Return a workbook as the content of a file."""
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()
