"""Models as one SQL expression.

The expression is a scalar subquery over the columns of the row, so that it can stand wherever an
expression can::

    SELECT id, <expression> AS risk FROM customers

It consists of layers, each a common table expression that reads the one before. A value that is
used more than once is a column of a layer, and so is one whose code is nested deep, because
databases limit the depth of expressions. Layers have a LIMIT or OFFSET where the database
would otherwise copy their expressions to every use.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bneuralt.export.contributions import is_difference
from bneuralt.export.printer import ARITHMETIC, Code, Printer, Template
from bneuralt.export.program import Program, Reading
from bneuralt.expressions import Expression
from bneuralt.expressions.operations import EXP_LIMIT
from bneuralt.model import Model
from bneuralt.tables.columns import MISSING_TEXTS

__all__ = ["DIALECTS", "Dialect", "to_sql"]

#: Code that is nested deeper becomes a column of a layer. The parser of SQLite has a stack of 100
#: symbols, and needs 3 to 8 of them for each level.
MOST_NESTED = 8
#: Width of the lines.
WIDTH = 96
#: A column has many values from here on: a message advises to keep them in a table.
MANY_VALUES = 1_000
#: Rows of a statement that fills the table of values.
ROWS_OF_INSERT = 500

#: A number, and the two kinds of dates, as regular expressions without backslashes.
_NUMBER = "^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$"
_TIME = "([ T]([01]?[0-9]|2[0-3]):[0-5][0-9]"
_YEAR = "([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])"
_ISO = f"^{_YEAR}[-/]([0-9]{{1,2}})[-/]([0-9]{{1,2}}){_TIME}.*)?$"
_LOCAL = f"^([0-9]{{1,2}})[./-]([0-9]{{1,2}})[./-]{_YEAR}{_TIME}(:[0-5][0-9])?)?$"


@dataclass(frozen=True)
class Dialect:
    """A database.

    Attributes
    ----------
    templates : dict
        Operation -> code.
    readers : dict
        What is read of a cell ("word", "number", "amount", "text", "date") -> code of the steps,
        each of which may refer to those before it by ``{1}``, ``{2}``, ... and to the cell, or for
        other readers than "word" the word, by ``{0}``. ``{wrong}`` is the start of an error
        message, and ``{cell}`` the cell.
    quote : str
        Around names.
    fence : str
        Clause that prevents the database from copying the expressions of a layer to every use.
    most_characters : int
        Length of the longest statement, 0 for no limit.
    most_columns : int
        Largest number of columns of a table, 0 for no limit.
    has_booleans : bool
        Whether there is a type of truth values.
    escapes : bool
        Whether a backslash in a text may have a meaning.
    """

    templates: Mapping[str, Template]
    readers: Mapping[str, Sequence[str]]
    quote: str = '"'
    fence: str = ""
    most_characters: int = 0
    most_columns: int = 0
    has_booleans: bool = True
    escapes: bool = False


def _functions(greatest: str, least: str) -> dict[str, Template]:
    """Return the operations that differ by the names of two functions at most."""
    exp = f"{least}({greatest}({{0}}, -{EXP_LIMIT}e0), {EXP_LIMIT}e0)"
    return {
        **ARITHMETIC,
        "minimum": ("atom", f"{least}({{0}}, {{1}})"),
        "maximum": ("atom", f"{greatest}({{0}}, {{1}})"),
        "absolute": ("atom", "ABS({0})"),
        # Numbers that are too large or too small for a square are errors in some databases.
        "square": ("atom", f"POWER({least}({greatest}(ABS({{0}}), 1e-150), 1e150), 2)"),
        "sqrt": ("atom", "SQRT({0})"),
        "exp": ("atom", f"EXP({exp})"),
        "log": ("atom", "LN({0})"),
        "tanh": ("atom", "TANH({0})"),
        "sigmoid": ("product", f"1e0 / (1e0 + EXP(-{exp}))"),
        "is_missing": ("comparison", "{0:sum} IS NULL"),
        "if_missing": ("atom", "COALESCE({0}, {1})"),
        "select": ("atom", "CASE WHEN {0} THEN {1} ELSE {2} END"),
        "largest": ("atom", f"{greatest}({{0}})"),
    }


def _choice(*cases: str, otherwise: str) -> str:
    return f"CASE {' '.join(f'WHEN {case}' for case in cases)} ELSE {otherwise} END"


#: A cell that is missing is NULL.
_WORD = _choice("LOWER({1}) IN ({missing}) OR {1} = 'None' THEN NULL", otherwise="{1}")
_TRUTH = ("LOWER({0}) = 'true' THEN 1e0", "LOWER({0}) = 'false' THEN 0e0")


def _standard(
    double: str, text: str, is_text: str, trim: str, match: str, group: str, error: str
) -> dict[str, Any]:
    """Return templates and readers of databases with strict types and regular expressions.

    Parameters
    ----------
    double : str
        Type of numbers.
    text, is_text, trim : str
        Templates of a cell as text, of the condition that it is one, and of a text without blanks
        around it.
    match, group : str
        Templates of the condition that a text matches a pattern, and of one of its groups.
    error : str
        Template of an error with a message, as a value of a type.
    """
    parts = {
        "year": "EXTRACT(YEAR FROM {0})",
        "month": "EXTRACT(MONTH FROM {0})",
        "day": "EXTRACT(DAY FROM {0})",
        "weekday": "(EXTRACT(ISODOW FROM {0}) - 1)",
        "hour": "EXTRACT(HOUR FROM {0})",
        "elapsed": "FLOOR(EXTRACT(EPOCH FROM {0}) / 3600) / 24e0",
    }

    def wrong(kind: str, type: str) -> str:
        return error.format(f"{{wrong}} || {{0}} || ' is not a {kind}'", type)

    def date(pattern: str, *groups: int) -> str:
        year, month, day = (group.format("{0}", pattern, i) for i in groups)
        hour = group.format("{0}", pattern, 5)
        hour = f"COALESCE(CAST(NULLIF({hour}, '') AS INTEGER), 0)"
        days = ", ".join(f"CAST({part} AS INTEGER)" for part in (year, month, day))
        return f"{match.format('{0}', pattern)} THEN MAKE_TIMESTAMP({days}, {hour}, 0, 0e0)"

    iso, local = (pattern.replace("{", "{{").replace("}", "}}") for pattern in (_ISO, _LOCAL))
    infinity = f"CAST('Infinity' AS {double})"
    # Databases raise an error where a product is too large, or too small.
    limited = (
        "CASE WHEN {1} IS NULL THEN NULL WHEN ABS({1}) < 1e-200 THEN 0e0 "
        "ELSE LEAST(GREATEST({1}, -1e200), 1e200) END"
    )
    number = _choice(
        "{0} IS NULL THEN NULL",
        *_TRUTH,
        f"{match.format('{0}', _NUMBER)} AND ABS(CAST({{0}} AS {double})) < {infinity} "
        f"THEN CAST({{0}} AS {double})",
        otherwise=wrong("number", double),
    )
    dates = {
        order: _choice(
            "{0} IS NULL THEN NULL",
            date(iso, 1, 2, 3),
            date(local, *groups),
            otherwise=wrong("date", "TIMESTAMP"),
        )
        for order, groups in (("date", (3, 1, 2)), ("date day first", (3, 2, 1)))
    }
    return {
        "templates": {
            **_functions("GREATEST", "LEAST"),
            "infinity": ("atom", infinity),
            **{
                f"date_part {part}": ("atom", f"CAST({code} AS {double})")
                for part, code in parts.items()
            },
        },
        "readers": {
            "word": (trim.format(text), _WORD),
            "number": (number, limited),
            "amount": (
                _choice(f"{is_text} THEN {wrong('number', double)}", otherwise=number),
                limited,
            ),
            "text": ("COALESCE(REGEXP_REPLACE({0}, '^([+-]?[0-9]+)[.]0*$', {group}), '')",),
            **{order: (code,) for order, code in dates.items()},
        },
    }


_BLANKS = "CHR(9) || CHR(10) || CHR(11) || CHR(12) || CHR(13) || ' ' || CHR(160)"

#: Columns of numbers can have texts in SQLite, such as the empty cells of an imported CSV file.
#: There are no regular expressions, and an error with a message is a wrong path of JSON.
_SQLITE_ERROR = "JSON_EXTRACT('{{{{}}}}', {{wrong}} || {{0}} || ' is not a {}')"
_SQLITE_NUMBER = (
    "{0} IS NULL THEN NULL",
    "TYPEOF({cell}) IN ('real', 'integer') THEN CAST({cell} AS REAL)",
)
_SQLITE_READERS: dict[str, tuple[str, ...]] = {
    "word": ("TRIM(CAST({0} AS TEXT), CHAR(9, 10, 11, 12, 13, 32, 160))", _WORD),
    "number": (
        _choice(
            *_SQLITE_NUMBER,
            *_TRUTH,
            # a text is converted for a comparison only if it is a number
            "CAST({0} AS NUMERIC) = {0} AND ABS({0}) < 9e999 THEN CAST({0} AS REAL)",
            otherwise=_SQLITE_ERROR.format("number"),
        ),
    ),
    "amount": (_choice(*_SQLITE_NUMBER, otherwise=_SQLITE_ERROR.format("number")),),
    "text": (
        "CASE WHEN {0} GLOB '*[0-9].*' AND RTRIM({0}, '0') LIKE '%.' "
        "AND SUBSTR({0}, 2) NOT GLOB '*[^0-9.]*' AND {0} NOT GLOB '[^0-9+-]*' "
        "THEN RTRIM(RTRIM({0}, '0'), '.') ELSE COALESCE({0}, '') END",
    ),
    **{
        order: (
            "SUBSTR({0}, 1, INSTR(REPLACE({0}, 'T', ' ') || ' ', ' ') - 1)",
            "SUBSTR({0}, LENGTH({1}) + 2)",
            "REPLACE(REPLACE({1}, '/', '-'), '.', '-')",
            "SUBSTR({3}, 1, INSTR({3}, '-') - 1)",
            "SUBSTR({3}, INSTR({3}, '-') + 1)",
            "SUBSTR({5}, 1, INSTR({5}, '-') - 1)",
            "SUBSTR({5}, INSTR({5}, '-') + 1)",
            "CASE WHEN LENGTH({4}) = 4 THEN PRINTF('%04d-%02d-%02d', {4}, {6}, {7}) "
            f"ELSE PRINTF('%04d-%02d-%02d', {{7}}, {month}, {day}) END",
            "{4} || {6} || {7} NOT GLOB '*[^0-9]*' "
            "AND LENGTH({4}) + LENGTH({7}) BETWEEN 5 AND 6 AND LENGTH({6}) BETWEEN 1 AND 2 "
            "AND (LENGTH({4}) = 4 AND {1} NOT LIKE '%.%' AND LENGTH({7}) > 0 "
            "OR LENGTH({7}) = 4 AND LENGTH({4}) > 0) "
            "AND DATE(JULIANDAY({8})) = {8} AND {8} > '0001'",
            "LENGTH({0}) = LENGTH({1}) OR ({2} GLOB '[0-9]:[0-5][0-9]*' "
            "OR {2} GLOB '[01][0-9]:[0-5][0-9]*' OR {2} GLOB '2[0-3]:[0-5][0-9]*') "
            "AND (LENGTH({4}) = 4 OR SUBSTR({2}, INSTR({2}, ':') + 3) = '' "
            "OR SUBSTR({2}, INSTR({2}, ':') + 3) GLOB ':[0-5][0-9]')",
            "CASE WHEN {0} IS NULL THEN NULL WHEN {9} AND ({10}) THEN {8} || ' ' "
            "|| PRINTF('%02d:00', SUBSTR({2}, 1, INSTR({2} || ':', ':') - 1)) "
            f"ELSE {_SQLITE_ERROR.format('date')} END",
        )
        for order, month, day in (("date", "{4}", "{6}"), ("date day first", "{6}", "{4}"))
    },
}

_SQLITE: dict[str, Template] = {
    **_functions("MAX", "MIN"),
    "infinity": ("atom", "9e999"),
    "date_part year": ("atom", "CAST(STRFTIME('%Y', {0}) AS REAL)"),
    "date_part month": ("atom", "CAST(STRFTIME('%m', {0}) AS REAL)"),
    "date_part day": ("atom", "CAST(STRFTIME('%d', {0}) AS REAL)"),
    "date_part weekday": ("atom", "CAST((CAST(STRFTIME('%w', {0}) AS INTEGER) + 6) % 7 AS REAL)"),
    "date_part hour": ("atom", "CAST(STRFTIME('%H', {0}) AS REAL)"),
    "date_part elapsed": ("sum", "JULIANDAY(DATE({0})) - 2440587.5e0 + STRFTIME('%H', {0}) / 24e0"),
}

#: Databases by name. SQLite silently reads a name in double quotes that is no column as a text, but
#: not a name in backticks. JSON has dates in one format, whatever the settings of PostgreSQL are.
DIALECTS = {
    "sqlite": Dialect(
        _SQLITE,
        _SQLITE_READERS,
        quote="`",
        fence=" LIMIT 1",
        most_characters=1_000_000,
        most_columns=2000,
        has_booleans=False,
    ),
    "postgresql": Dialect(
        **_standard(
            "DOUBLE PRECISION",
            "TO_JSON({0}) #>> '{{}}'",
            "{0} IS NOT NULL AND CAST(PG_TYPEOF({cell}) AS TEXT) LIKE ANY ('{{text,char%}}')",
            f"BTRIM({{}}, {_BLANKS})",
            "{} ~ '{}'",
            "(REGEXP_MATCH({}, '{}'))[{}]",
            "CAST({} AS {})",
        ),
        fence=" OFFSET 0",
        most_columns=1600,
        escapes=True,
    ),
    "duckdb": Dialect(
        **_standard(
            "DOUBLE",
            "CAST({0} AS VARCHAR)",
            "{0} IS NOT NULL AND TYPEOF({cell}) = 'VARCHAR'",
            f"TRIM({{}}, {_BLANKS})",
            "REGEXP_MATCHES({}, '{}')",
            "REGEXP_EXTRACT({}, '{}', {})",
            "ERROR({})",
        )
    ),
}


def to_sql(
    model: Model,
    *,
    dialect: str = "sqlite",
    of: Any = None,
    contributions: bool = False,
    table: str | None = None,
    create: bool = False,
) -> str:
    """Write a model as one SQL expression, or as several; see `ExportMethods.to_sql`."""
    if dialect not in DIALECTS:
        raise ValueError(f"dialect={dialect!r} is unknown: use one of {', '.join(DIALECTS)}")
    if create and table is None:
        raise ValueError("create=True needs the name of the table to create: give table=")
    position = _position(model, of)
    program = Program.of(
        model,
        contributions=contributions,
        output=-1 if position is None else position,
        has_functions=False,
    )
    query = _Query(program, DIALECTS[dialect], table)
    text = query.contributions(position) if contributions else query.expression()
    if table is not None and not query.lookups:
        raise ValueError(
            f"table={table!r:.60} is for columns of many values, and the model has none: omit it"
        )
    if create:
        return query.statements()
    limit = DIALECTS[dialect].most_characters
    if limit and len(text) > limit:
        advice = "a table for columns of many values (table=), or " * any(
            len(column.categories) > MANY_VALUES and table is None for column in model.columns
        )
        raise ValueError(
            f"the expression has {len(text):,} characters, and {dialect} reads statements of at "
            f"most {limit:,}: use {advice}fewer or smaller trees"
        )
    return text


def _position(model: Model, of: Any) -> int | None:
    """Return the position of the requested output, None for the predicted class."""
    names = model.output_names
    if of is None:
        if model.task == "classes":
            return None
        if model.n_outputs == 1:
            return 0
        listed = ", ".join(names[:5])
        raise ValueError(f"the model predicts several {model.task}: choose one by of= ({listed})")
    values = names if model.classes is None else model.classes
    for k, (value, name) in enumerate(zip(values, names, strict=True)):
        if (type(value) is type(of) and value == of) or name == str(of):
            return k
    listed = ", ".join(repr(value) for value in values[:5])
    raise ValueError(f"of={of!r} is not an output of the model: they are {listed}")


# -- literals and names -------------------------------------------------------------------


def string(text: str, escapes: bool = False) -> str:
    """Return a text as a literal.

    Examples
    --------
    >>> string("it's")
    "'it''s'"
    """
    if "\x00" in text:
        raise ValueError(f"{text!r:.60} has a character of code 0, which SQL cannot express")
    quoted = "'" + text.replace("'", "''") + "'"
    if escapes and "\\" in text:  # independent of standard_conforming_strings
        return "E" + quoted.replace("\\", "\\\\")
    return quoted


def identifier(name: str, quote: str) -> str:
    """Return the name of a column.

    Examples
    --------
    >>> identifier('a"b', '"')
    '"a""b"'
    """
    if "\x00" in name or not name:
        raise ValueError(f"column {name!r:.60} has a name that SQL cannot express: rename it")
    return quote + name.replace(quote, quote * 2) + quote


def nesting(code: str) -> int:
    """Return the depth of nesting of code.

    Examples
    --------
    >>> nesting("a + (b * (c + d)) / EXP(e)"), nesting("CASE WHEN a THEN b ELSE (c) END")
    (2, 3)
    """
    depth = deepest = 0
    for mark in re.findall(r"[()]|\bCASE\b|\bEND\b", code):
        depth += {"(": 1, ")": -1, "CASE": 2, "END": -2}[mark]
        deepest = max(deepest, depth)
    return deepest


def wrapped(code: str, indent: str) -> list[str]:
    r"""Return code in lines of at most `WIDTH` characters, as far as texts and names allow it.

    Examples
    --------
    >>> wrapped("a + 'b  c',\nd", "  ")
    ["  a + 'b  c',", '  d']
    """
    lines: list[str] = []
    for token in re.findall(r"\n|(?:'[^']*'|`[^`]*`|\"[^\"]*\"|[^\s'`\"])+", code):
        if token == "\n" or not lines:
            lines.append(indent)
        if token != "\n":
            if len(lines[-1]) + len(token) >= WIDTH and lines[-1].strip():
                lines.append(f"{indent}  ")
            lines[-1] += token if not lines[-1].strip() else f" {token}"
    return lines


# -- the expression -----------------------------------------------------------------------


class _Query(Printer):
    """The layers of one expression.

    Attributes
    ----------
    program : Program
    dialect : Dialect
    prefix : str
        Prefix of the names of results, which no column name starts with.
    codes : dict
        Name of a value -> its column, or its code if it is used once.
    layers : list of dict
        Name -> code of each column of a layer.
    layer_of : dict
        Name -> position of its layer.
    value_table : str or None
        A table that has the numbers of texts; None if they are in the expression.
    lookups : list of dict
        Text -> number, of each input that is read from this table.
    """

    most_terms = 4

    def __init__(self, program: Program, dialect: Dialect, value_table: str | None) -> None:
        self.program, self.dialect, self.model = program, dialect, program.model
        self.value_table = value_table and identifier(value_table, dialect.quote)
        self.lookups: list[Mapping[str, float]] = []
        self.templates = dialect.templates
        self.prefix = "b_"
        while any(c.name.casefold().startswith(self.prefix) for c in self.model.columns):
            self.prefix += "_"
        self.layers: list[dict[str, Code]] = []
        self.layer_of: dict[str, int] = {}
        self.codes: dict[str, Code] = {}
        results = [*program.predictions, *program.scores]
        results += [value for row in program.contributions for value in row]
        uses = Counter[str]()
        for value in [*(s.value for s in program.body), *results]:
            uses.update(_variables(value))
        for reading in program.readings:
            self.codes[reading.name] = self._reading(reading)
        #: Values that may be NULL.
        self.gaps = {reading.name for reading in program.readings if reading.kind != "text"}
        for statement in program.body:
            name, code = statement.name, self.scalar(statement.value, self.codes)
            self.gaps |= {name} if self._is_missing(statement.value) else set()
            is_input = statement.required or re.fullmatch(r"i\d+", name)
            is_long = uses[name] > 1 or is_input
            self.codes[name] = self.define(name, code) if is_long else self.bounded(code)
        if not self.layers:
            self.define("i", self.number(0.0))

    def expression(self) -> str:
        """Return the prediction of an output, or of the class."""
        if self.program.predictions:
            return self._nested(self.scalar(self.program.predictions[0], self.codes))
        scores = self._columns("p", [self.scalar(s, self.codes) for s in self.program.scores])
        labels = [self._label(label) for label in self.program.labels]
        if self.program.is_log_odds:
            return self._nested(
                f"CASE WHEN {scores[0]} > 0e0 THEN {labels[1]} ELSE {labels[0]} END"
            )
        cases = []
        for j, name in enumerate(scores[:-1]):
            wins = " AND ".join(f"{name} >= {other}" for other in scores[j + 1 :])
            cases.append(f"WHEN {wins} THEN {labels[j]}")
        return self._nested(f"CASE {' '.join(cases)} ELSE {labels[-1]} END")

    def contributions(self, position: int | None) -> str:
        """Return the contribution of each column to an output, with a name for each."""
        rows = [[self.scalar(v, self.codes) for v in row] for row in self.program.contributions]
        if is_difference(self.model):  # of a class, by default the second, against the other
            if position == 0:
                rows = [[self.expand("negate", code) for code in rows[0]]]
            position = 0
        if position is None:
            listed = ", ".join(map(repr, (self.model.classes or ())[:5]))
            raise ValueError(f"contributions are to one score: choose a class by of= ({listed})")
        columns = []
        for column, code in zip(self.model.columns, rows[position], strict=True):
            name = identifier(f"contribution of {column.name}", self.dialect.quote)
            columns.append(f"{self._nested(code) if self._names(code) else code} AS {name}")
        return ",\n".join(columns)

    def statements(self) -> str:
        """Return the statements that create and fill the table of values."""
        name = self.value_table
        columns = "input INTEGER NOT NULL, value TEXT NOT NULL, number DOUBLE PRECISION NOT NULL"
        rows = [
            f"({i}, {self._string(text)}, {self.number(x)})"
            for i, numbers in enumerate(self.lookups)
            for text, x in numbers.items()
        ]
        starts = range(0, len(rows), ROWS_OF_INSERT)
        parts = [",\n".join(rows[i : i + ROWS_OF_INSERT]) for i in starts]
        filled = [f"INSERT INTO {name} VALUES\n{part};" for part in parts]
        created = f"CREATE TABLE {name} ({columns}, PRIMARY KEY (input, value));"
        return "\n".join([created, *filled])

    def define(self, name: str, code: Code) -> Code:
        """Make a value a column of the first layer in which its operands are available."""
        layer = 1 + max((self.layer_of[used] for used in self._names(code)), default=-1)
        name = f"{self.prefix}{name}"
        if name in self.layer_of:
            name = f"{name}_{len(self.layer_of)}"
        self.layer_of[name] = layer
        if layer == len(self.layers):
            self.layers.append({})
        self.layers[layer][name] = code
        return Code(name)

    def _columns(self, name: str, codes: Sequence[Code]) -> list[Code]:
        return [self.define(f"{name}{j}", code) for j, code in enumerate(codes)]

    def _names(self, code: str) -> set[str]:
        """Return the results that code refers to."""
        return set(re.findall(rf"\b{self.prefix}\w+", code)) & self.layer_of.keys()

    def _reading(self, reading: Reading) -> Code:
        """Add the steps that read a cell; amounts and times must be numbers."""
        kind = "amount" if reading.kind == "clock" else reading.kind
        if kind == "date" and reading.settings[0]:
            kind = "date day first"
        cell = Code(identifier(reading.title, self.dialect.quote))
        missing = [*sorted(MISSING_TEXTS), *(text.lower() for text in reading.gaps)]
        names = {
            "missing": ", ".join(map(self._string, missing)),
            "wrong": self._string(f"column {reading.title}: "),
            "group": self._string("\\1"),
            "cell": cell,
        }
        for steps in (self.dialect.readers["word"], self.dialect.readers[kind]):
            codes = [cell]
            for step in steps:
                text = step.format(*codes, **names)
                codes.append(self.define(f"c{reading.column}", Code(text)))
            cell = codes[-1]
        return cell

    def _nested(self, result: str) -> str:
        """Return the layers, and a result that is computed from the last one."""
        missing = [
            f"{self.prefix}{statement.name} IS NULL"
            for statement in self.program.body
            if statement.required
        ]
        if missing:  # GREATEST would make a number of them
            result = f"CASE WHEN {' OR '.join(missing)} THEN NULL ELSE {result} END"
        tables: list[str] = []
        needed, last = self._names(result), len(self.layers) - 1
        for depth in range(last, -1, -1):
            layer = self.layers[depth]
            columns = [f"{code} AS {name}" for name, code in layer.items() if name in needed]
            kept = sorted(needed - layer.keys())
            self._check_columns(len(columns) + len(kept))
            needed = set(kept).union(*(self._names(layer[name]) for name in needed & layer.keys()))
            columns = [", ".join(kept), *columns] if kept else columns or ["0"]
            lines = ["SELECT", *wrapped(",\n".join(columns), "  ")]
            if depth:
                lines.append(f"FROM {self.prefix}layer{depth - 1}")
            if self.dialect.fence:
                lines.append(self.dialect.fence.strip())
            query = "\n".join(f"    {line}" for line in lines)
            tables.insert(0, f"  {self.prefix}layer{depth} AS (\n{query}\n  )")
        layers = ",\n".join(tables)
        shown = "\n".join(wrapped(result, "    "))
        return f"(\n  WITH\n{layers}\n  SELECT\n{shown}\n  FROM {self.prefix}layer{last}\n)"

    def _check_columns(self, n: int) -> None:
        limit = self.dialect.most_columns
        if limit and n > limit:
            raise ValueError(
                f"the expression has {n:,} values at a time, and the database has at most "
                f"{limit:,} columns in a table: use fewer or smaller trees"
            )

    def _label(self, label: Any) -> str:
        if isinstance(label, bool):
            return str(label).upper() if self.dialect.has_booleans else str(int(label))
        if isinstance(label, int):
            return str(label)
        return self.number(label) if isinstance(label, float) else self._string(str(label))

    # -- operations ----------------------------------------------------------------------

    def number(self, value: float) -> Code:
        """Return a number with an exponent; some databases read others as decimal numbers."""
        if math.isnan(value):
            return Code("NULL")
        if math.isinf(value):
            infinity = self.expand("infinity")
            return infinity if value > 0 else self.expand("negate", infinity)
        text = repr(float(value))
        level = "sign" if text[0] == "-" else "atom"
        return Code(text if "e" in text else f"{text}e0", level)

    def member(self, text: Code, texts: Sequence[str]) -> str:
        return f"{text} IN ({', '.join(map(self._string, texts))})"

    def table(self, text: Code, numbers: Mapping[str, float], unknown: float) -> Code:
        if self.value_table is not None:
            if numbers not in self.lookups:
                self.lookups.append(numbers)
            row = f"input = {self.lookups.index(numbers)} AND value = {text}"
            number = f"SELECT number FROM {self.value_table} WHERE {row}"
            return Code(f"COALESCE(({number}), {self.number(unknown)})")
        cases = (f"WHEN {self._string(key)} THEN {self.number(x)}" for key, x in numbers.items())
        return Code(f"CASE {text} {' '.join(cases)} ELSE {self.number(unknown)} END")

    def bounded(self, code: Code) -> Code:
        return self.define("n", code) if nesting(code) > MOST_NESTED else code

    def operation(self, expression: Expression, parts: Sequence[Code]) -> Code:
        if expression.operation == "ordered":
            return self._ranked(self._columns("v", parts), expression.value)
        if expression.operation == "divide" and not expression.arguments[1].is_constant:
            # A choice between values may become a column for each of them.
            parts = [parts[0], Code(f"NULLIF({parts[1]}, 0e0)")]
        code = super().operation(expression, parts)
        if expression.operation in ("minimum", "maximum") and self._is_missing(expression):
            gaps = " OR ".join(f"{part:sum} IS NULL" for part in parts)  # LEAST would ignore them
            return Code(f"CASE WHEN {gaps} THEN NULL ELSE {code} END")
        return code

    def _is_missing(self, expression: Expression) -> bool:
        """Return whether a value may be NULL."""
        if expression.operation == "variable":
            return expression.value in self.gaps
        skipped = {"is_missing": 1, "if_missing": 1, "select": 1}.get(expression.operation, 0)
        return any(map(self._is_missing, expression.arguments[skipped:]))

    def _ranked(self, names: Sequence[Code], rank: int) -> Code:
        """Return the value of a rank, which is its number of smaller values."""
        cases = []
        for j, name in enumerate(names):
            smaller = [f"CASE WHEN {other} {'<=' if i < j else '<'} {name} THEN 1 ELSE 0 END"
                       for i, other in enumerate(names) if i != j]  # fmt: skip
            cases.append(f"WHEN {' + '.join(smaller) or '0'} = {rank} THEN {name}")
        return Code(f"CASE {' '.join(cases)} END")

    def _string(self, text: str) -> str:
        return string(text, self.dialect.escapes)


def _variables(expression: Expression) -> list[str]:
    """Return the variables of an expression, as often as they occur."""
    if expression.operation == "variable":
        return [expression.value]
    return [name for part in expression.arguments for name in _variables(part)]
