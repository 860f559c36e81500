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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bneuralt.export.nodes import nodes_of
from bneuralt.export.shares_of_columns import contribution_codes, is_difference
from bneuralt.export.spellings import missing_spellings
from bneuralt.export.translation import (
    ARITHMETIC,
    Case,
    Cell,
    Code,
    Define,
    Template,
    Translator,
    may_be_missing,
    occurrences,
)
from bneuralt.expressions import Expression, absolute, maximum, minimum, variable
from bneuralt.expressions.operations import CELLS, EXP_LIMIT
from bneuralt.model import Model
from bneuralt.tree import NeuralTree

__all__ = ["DIALECTS", "Dialect", "to_sql"]

#: Code that is nested deeper becomes a column of a layer. The parser of SQLite has a stack of 100
#: symbols, and needs 3 to 8 of them for each level.
MOST_NESTED = 8
#: Width of the lines.
WIDTH = 96
#: Larger contributions are errors in some databases.
LARGEST = 1e300

_A, _B = variable("a"), variable("b")


@dataclass(frozen=True)
class Dialect:
    """A database.

    Attributes
    ----------
    templates : dict
        Operation -> code; ``{cell}`` is the name of a column.
    quote : str
        Around names.
    text : str
        Name of the type of texts.
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
    quote: str = '"'
    text: str = "TEXT"
    fence: str = ""
    most_characters: int = 0
    most_columns: int = 0
    has_booleans: bool = True
    escapes: bool = False


def _absent(text: str) -> str:
    """Return the condition that a text stands for a missing value."""
    listed = ", ".join(f"'{spelling}'" for spelling in missing_spellings())
    return f"LOWER({text}) IN ({listed}) OR {text} = 'None'"


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


def _standard(double: str) -> dict[str, Template]:
    """Return the operations of databases with strict types, numbers of which have this one."""
    parts = {
        "year": "EXTRACT(YEAR FROM {0})",
        "month": "EXTRACT(MONTH FROM {0})",
        "day": "EXTRACT(DAY FROM {0})",
        "weekday": "(EXTRACT(ISODOW FROM {0}) - 1)",
        "hour": "EXTRACT(HOUR FROM {0})",
        "elapsed": "FLOOR(EXTRACT(EPOCH FROM {0}) / 3600) / 24e0",
    }
    number = f"CAST({{cell}} AS {double})"
    return {
        **_functions("GREATEST", "LEAST"),
        "infinity": ("atom", f"CAST('Infinity' AS {double})"),
        "number": ("atom", f"NULLIF({number}, CAST('NaN' AS {double}))"),
        **{
            f"date_part {part}": (
                "atom",
                f"CAST({code.format('CAST({cell} AS TIMESTAMP)')} AS {double})",
            )
            for part, code in parts.items()
        },
    }


#: Columns of numbers can have texts in SQLite, such as the empty cells of an imported CSV file, and
#: to convert them is no error.
_SQLITE: dict[str, Template] = {
    **_functions("MAX", "MIN"),
    "infinity": ("atom", "9e999"),
    "number": (
        "atom",
        f"CASE WHEN TYPEOF({{cell}}) = 'text' AND ({_absent('TRIM({cell})')}) THEN NULL "
        "ELSE CAST({cell} AS REAL) END",
    ),
    "date_part year": ("atom", "CAST(STRFTIME('%Y', {cell}) AS REAL)"),
    "date_part month": ("atom", "CAST(STRFTIME('%m', {cell}) AS REAL)"),
    "date_part day": ("atom", "CAST(STRFTIME('%d', {cell}) AS REAL)"),
    "date_part weekday": (
        "atom",
        "CAST((CAST(STRFTIME('%w', {cell}) AS INTEGER) + 6) % 7 AS REAL)",
    ),
    "date_part hour": ("atom", "CAST(STRFTIME('%H', {cell}) AS REAL)"),
    "date_part elapsed": (
        "sum",
        "JULIANDAY(DATE({cell})) - 2440587.5e0 + STRFTIME('%H', {cell}) / 24e0",
    ),
}

#: Databases by name. SQLite silently reads a name in double quotes that is no column as a text, but
#: not a name in backticks.
DIALECTS = {
    "sqlite": Dialect(
        _SQLITE,
        quote="`",
        fence=" LIMIT 1",
        most_characters=1_000_000,
        most_columns=2000,
        has_booleans=False,
    ),
    "postgresql": Dialect(
        _standard("DOUBLE PRECISION"), fence=" OFFSET 0", most_columns=1600, escapes=True
    ),
    "duckdb": Dialect(_standard("DOUBLE"), text="VARCHAR"),
}


def to_sql(
    model: Model, dialect: str = "sqlite", of: Any = None, contributions: bool = False
) -> str:
    """Write a model as one SQL expression, or as several; see `ExportMethods.to_sql`."""
    if dialect not in DIALECTS:
        raise ValueError(f"dialect={dialect!r} is unknown: use one of {', '.join(DIALECTS)}")
    position = _position(model, of)
    query = _Query(model.simplified(), DIALECTS[dialect])
    text = query.contributions(position) if contributions else query.expression(position)
    limit = DIALECTS[dialect].most_characters
    if limit and len(text) > limit:
        raise ValueError(
            f"the expression has {len(text):,} characters, and {dialect} reads statements of at "
            f"most {limit:,}: use fewer or smaller trees"
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


class _Query(Translator):
    """The layers of one expression.

    Attributes
    ----------
    model : Model
    dialect : Dialect
    prefix : str
        Prefix of the names of results, which no column name starts with.
    layers : list of dict
        Name -> code of each column of a layer.
    layer_of : dict
        Name -> position of its layer.
    """

    most_terms = 4

    def __init__(self, model: Model, dialect: Dialect) -> None:
        self.model, self.dialect = model, dialect
        self.templates = dialect.templates
        self.prefix = "b_"
        while any(c.name.casefold().startswith(self.prefix) for c in model.columns):
            self.prefix += "_"
        self.layers: list[dict[str, Code]] = []
        self.layer_of: dict[str, int] = {}

    def expression(self, position: int | None) -> str:
        """Return the prediction of an output, or of the class if the position is None."""
        self._inputs()
        trees = [self._tree(t, tree) for t, tree in enumerate(self.model.trees)]
        if position is None and self.model.decides_by_outputs:
            return self._nested(self._first_largest(trees[0]))
        predictions = self._predictions(trees)
        if position is not None:
            return self._nested(predictions[position])
        return self._nested(self._first_largest(self._columns("p", predictions)))

    def contributions(self, position: int | None) -> str:
        """Return the contribution of each column to an output, with a name for each."""
        self._inputs()
        nodes: list[dict[int, tuple[Code, Code]]] = [{} for _ in self.model.trees]
        trees = [self._tree(t, tree, nodes[t]) for t, tree in enumerate(self.model.trees)]
        means = self.means(trees) if len(trees) == 1 else self._columns("m", self.means(trees))
        rows = contribution_codes(
            self, self.model, nodes, means, lambda i: Code(f"{self.prefix}i{i}"), self.define
        )
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

    def _nested(self, result: str) -> str:
        """Return the layers, and a result that is computed from the last one."""
        missing = [
            f"{self.prefix}i{i} IS NULL"
            for i in self.model.used_inputs
            if may_be_missing(self.model.inputs[i].expression)
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

    def _check_columns(self, n_columns: int) -> None:
        limit = self.dialect.most_columns
        if limit and n_columns > limit:
            raise ValueError(
                f"the model needs {n_columns:,} intermediate results, and the database allows "
                f"{limit:,} columns: use fewer or smaller trees"
            )

    # -- parts ---------------------------------------------------------------------------

    def _inputs(self) -> None:
        used = set(self.model.used_inputs.tolist())
        for column in self.model.columns:
            if not used.isdisjoint(column.inputs):
                name = Code(identifier(column.name, self.dialect.quote))
                cell = Cell.of_column(column, dict.fromkeys(CELLS, name).__getitem__)
                for i, expression in zip(column.inputs, column.expressions, strict=True):
                    if i in used:
                        self.define(f"i{i}", self.scalar(expression, {}, cell))
        if not used:
            self.define("i", self.number(0.0))

    def _tree(
        self, t: int, tree: NeuralTree, nodes: dict[int, tuple[Code, Code]] | None = None
    ) -> list[Code]:
        """Return the outputs of a tree; with `nodes`, enter sum and value of each node there."""
        codes: dict[int, Code] = {}
        for node in nodes_of(tree):
            j, expression = node.position, node.activation
            terms = [(weight, Code(f"{self.prefix}i{i}")) for weight, i in node.leaves]
            terms += [(weight, codes.pop(child)) for weight, child in node.children]
            z = self.weighted_sum(node.bias, terms)
            if nodes is not None or occurrences(expression, "z") > 1:
                z = self.define(f"z{t}_{j}", z)
            codes[j] = self.bounded(self.scalar(expression, {"z": z}))
            if nodes is not None:
                codes[j] = self.define(f"h{t}_{j}", codes[j])
                nodes[j] = z, codes[j]
        return [self.define(f"o{t}_{j}", codes[j]) for j in range(tree.n_outputs)]

    def _predictions(self, trees: Sequence[Sequence[Code]]) -> list[Code]:
        if self.model.averages == "outputs":
            means = self.means(trees)
            if len(trees) > 1:
                means = self._columns("m", means)
            return self._linked(means)
        return self.means([self._linked(outputs) for outputs in trees])

    def _linked(self, outputs: Sequence[Code]) -> list[Code]:
        values = self.vector(self.model.link, {"outputs": outputs}, self.define)
        return values * (len(outputs) // len(values))

    def _first_largest(self, names: Sequence[Code]) -> str:
        labels = [self._label(c) for c in self.model.classes or range(len(names))]
        cases = []
        for j, name in enumerate(names[:-1]):
            wins = " AND ".join(f"{name} >= {other}" for other in names[j + 1 :])
            cases.append(f"WHEN {wins} THEN {labels[j]}")
        return f"CASE {' '.join(cases)} ELSE {labels[-1]} END"

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

    def lookup(self, cell: Code, cases: Sequence[Case], unknown: float) -> Code:
        value = f"TRIM(CAST({cell} AS {self.dialect.text}))"
        is_missing = f"{cell} IS NULL OR {_absent(value)}"
        code = []
        if not any(case.is_missing for case in cases):
            code.append(f"WHEN {is_missing} THEN {self.number(unknown)}")
        for case in sorted(cases, key=lambda case: not case.is_missing):
            conditions = [is_missing] * case.is_missing
            if case.texts:
                listed = ", ".join(self._string(text) for text in case.texts)
                conditions.append(f"{value} IN ({listed})")
            code.append(f"WHEN {' OR '.join(conditions)} THEN {self.number(case.number)}")
        return Code(f"CASE {' '.join(code)} ELSE {self.number(unknown)} END")

    def ordered(self, values: Sequence[Code], places: Sequence[int], define: Define) -> list[Code]:
        names = self._columns("v", values)
        return [self._ranked(names, place) for place in places]

    def limited_product(self, a: Code, b: Code) -> Code:
        largest = LARGEST / maximum(absolute(_B), 1.0)
        limited = minimum(maximum(_A, -largest), largest) * _B
        return self.scalar(limited, {"a": a, "b": b})

    def bounded(self, code: Code) -> Code:
        return self.define("n", code) if nesting(code) > MOST_NESTED else code

    def _operate(self, expression: Expression, *parts: Code) -> Code:
        code = super()._operate(expression, *parts)
        if expression.operation in ("minimum", "maximum") and may_be_missing(expression):
            gaps = " OR ".join(f"{part:sum} IS NULL" for part in parts)  # LEAST would ignore them
            return Code(f"CASE WHEN {gaps} THEN NULL ELSE {code} END")
        return code

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
