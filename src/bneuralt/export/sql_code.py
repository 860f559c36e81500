"""Fitted models as one SQL expression.

The expression is a scalar subquery over the columns of the row, so that it can stand wherever an
expression can::

    SELECT id, <expression> AS risk FROM customers

It consists of layers, each a common table expression that the next one reads: the inputs of the
trees, their outputs, the combination of these. A node is used once, by its parent, so that a tree
could be one nested sum; but databases limit how deep expressions are nested, so every third level
of a tree is a column of a layer, and so is the sum of a leaky ReLU, which is needed twice. Layers
have a LIMIT or OFFSET where the database would otherwise copy their expressions to every use.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from bneuralt.export.nodes import Node, nodes_of
from bneuralt.export.plan import Plan, PlanColumn, make_plan
from bneuralt.export.spellings import category_entries, missing_spellings, spellings
from bneuralt.tables.features import CategoryFeature, DateFeature

__all__ = ["DIALECTS", "to_sql"]

#: Arguments of exp are limited to this, as in the core: some databases treat larger ones as errors.
EXP_LIMIT = 708.0

#: How many levels of a tree are nested in one expression.
MOST_NESTED = 3


@dataclass(frozen=True)
class Dialect:
    """What differs between databases.

    Attributes
    ----------
    quote : str
        Around names.
    double, text : str
        Names of types.
    greatest, least : str
        Names of functions of several numbers.
    not_a_number : str
        How to write the number that counts as missing; empty if there is none.
    fence : str
        What keeps the expressions of a layer from being copied to every use.
    parts : dict
        Parts of a date, which is ``{0}``.
    most_characters : int
        The longest statement, 0 if there is no limit to mind.
    most_columns : int
        Of a table.
    has_texts_of_numbers : bool
        Whether columns of numbers can have texts, such as the empty cells of an imported CSV file,
        and converting them is no error.
    """

    quote: str
    double: str
    text: str
    greatest: str
    least: str
    not_a_number: str
    fence: str
    parts: dict[str, str]
    most_characters: int
    most_columns: int
    has_texts_of_numbers: bool = False


_EXTRACT = {
    "year": "EXTRACT(YEAR FROM {0})",
    "month": "EXTRACT(MONTH FROM {0})",
    "weekday": "(EXTRACT(ISODOW FROM {0}) - 1)",
    "hour": "EXTRACT(HOUR FROM {0})",
}

#: Databases by name. SQLite takes a name in double quotes that is no column for a text, and tells
#: nobody; in backticks it does not.
DIALECTS = {
    "sqlite": Dialect(
        quote="`",
        double="REAL",
        text="TEXT",
        greatest="MAX",
        least="MIN",
        not_a_number="",
        fence=" LIMIT 1",
        parts={
            "year": "CAST(STRFTIME('%Y', {0}) AS INTEGER)",
            "month": "CAST(STRFTIME('%m', {0}) AS INTEGER)",
            "weekday": "((CAST(STRFTIME('%w', {0}) AS INTEGER) + 6) % 7)",
            "hour": "CAST(STRFTIME('%H', {0}) AS INTEGER)",
        },
        most_characters=1_000_000,
        most_columns=2000,
        has_texts_of_numbers=True,
    ),
    "postgresql": Dialect(
        quote='"',
        double="DOUBLE PRECISION",
        text="TEXT",
        greatest="GREATEST",
        least="LEAST",
        not_a_number="CAST('NaN' AS DOUBLE PRECISION)",
        fence=" OFFSET 0",
        parts={
            part: code.replace("{0}", "CAST({0} AS TIMESTAMP)") for part, code in _EXTRACT.items()
        },
        most_characters=0,
        most_columns=1600,
    ),
    "duckdb": Dialect(
        quote='"',
        double="DOUBLE",
        text="VARCHAR",
        greatest="GREATEST",
        least="LEAST",
        not_a_number="CAST('NaN' AS DOUBLE)",
        fence="",
        parts={
            part: code.replace("{0}", "CAST({0} AS TIMESTAMP)") for part, code in _EXTRACT.items()
        },
        most_characters=0,
        most_columns=0,
    ),
}


def to_sql(model: Any, dialect: str = "sqlite", of: Any = None) -> str:
    """Write a fitted model as one SQL expression.

    Parameters
    ----------
    model : estimator
        A fitted tree or forest of this library.
    dialect : {"sqlite", "postgresql", "duckdb"}
        The database. SQLite needs its mathematical functions, which most builds have.
    of : optional
        What the expression computes. By default the predicted class or number. A label of the
        model: the probability of that class. For several numbers: the name of one of them (``y0``,
        ``y1``; ``q0.05`` for a quantile).

    Returns
    -------
    str
        The expression. It refers to the columns by the names in training (``x0``, ``x1``, ... if
        there were none), as numbers, texts, and dates; NULL is a missing value. Names are quoted.

    Raises
    ------
    ValueError
        The dialect or `of` is unknown, a name cannot be written, or the model is too large for
        the database.

    Examples
    --------
    >>> import sqlite3
    >>> from sklearn.datasets import load_diabetes
    >>> from bneuralt import BNeuralTRegressor, to_sql
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = BNeuralTRegressor(max_epochs=20, random_state=0).fit(X, y)
    >>> database = sqlite3.connect(":memory:")
    >>> _ = X.to_sql("patients", database)
    >>> found = database.execute(f"SELECT {to_sql(model)} FROM patients").fetchall()
    >>> bool(abs(found[0][0] - model.predict(X)[0]) < 1e-3)
    True
    """
    if dialect not in DIALECTS:
        raise ValueError(f"dialect={dialect!r} is unknown: use one of {', '.join(DIALECTS)}")
    plan = make_plan(model)
    text = _Writer(plan, DIALECTS[dialect]).expression(_position(plan, of))
    limit = DIALECTS[dialect].most_characters
    if limit and len(text) > limit:
        raise ValueError(
            f"the expression has {len(text):,} characters, and {dialect} reads statements of at "
            f"most {limit:,}: use fewer or smaller trees"
        )
    return text


def _position(plan: Plan, of: Any) -> int | None:
    """Return which output is wanted, None for the predicted class."""
    if of is None:
        if plan.task == "classes":
            return None
        if plan.n_outputs == 1:
            return 0
        what = "labels" if plan.task == "labels" else "numbers"
        listed = ", ".join(plan.output_names[:5])
        raise ValueError(f"the model predicts several {what}: choose one by of= ({listed})")
    known = plan.output_names if plan.classes is None else plan.classes
    for k, (value, name) in enumerate(zip(known, plan.output_names, strict=True)):
        if (type(value) is type(of) and value == of) or name == str(of):
            return k
    listed = ", ".join(repr(value) for value in known[:5])
    raise ValueError(f"of={of!r} is not an output of the model: they are {listed}")


# -- literals and names -------------------------------------------------------------------


def number(value: float) -> str:
    """Return a number, with an exponent: without one, it is a decimal number to some databases."""
    text = repr(float(value))
    return text if "e" in text else f"{text}e0"


def term(value: float) -> str:
    """Return a number that may follow an operator."""
    return number(value) if value >= 0 and str(value)[0] != "-" else f"({number(value)})"


def string(text: str, postgres: bool = False) -> str:
    """Return a text as a literal.

    Examples
    --------
    >>> string("it's")
    "'it''s'"
    """
    if "\x00" in text:
        raise ValueError(f"{text!r:.60} has a character of code 0, which SQL cannot express")
    quoted = "'" + text.replace("'", "''") + "'"
    if postgres and "\\" in text:  # independent of standard_conforming_strings
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


def balanced(terms: Sequence[str]) -> str:
    """Return the sum of terms, as nested pairs: databases limit how deep expressions may be."""
    if len(terms) <= 4:
        return " + ".join(terms)
    half = len(terms) // 2
    return f"({balanced(terms[:half])}) + ({balanced(terms[half:])})"


# -- the expression -----------------------------------------------------------------------


@dataclass
class _Writer:
    plan: Plan
    dialect: Dialect
    layers: list[list[tuple[str, str]]] = field(default_factory=list)

    @cached_property
    def prefix(self) -> str:
        """What begins the name of no column, so that names of results cannot be columns."""
        prefix = "b_"
        while any(column.name.casefold().startswith(prefix) for column in self.plan.columns):
            prefix += "_"
        return prefix

    def expression(self, position: int | None) -> str:
        plan, k = self.plan, self.plan.n_outputs
        self.layers = [self._inputs()]
        for t, _ in enumerate(plan.trees):
            self._tree(t)
        n = len(plan.trees)
        means = self._means(range(n))
        if position is not None and plan.combine != "sort":
            return self._nested(self._link(means[position]))
        self.layers.append([(f"{self.prefix}m{j}", means[j]) for j in range(k)])
        names = [f"{self.prefix}m{j}" for j in range(k)]
        if plan.combine == "sort":
            assert position is not None
            return self._nested(self._ranked(names, plan.order[position]))
        if plan.argmax_of_outputs:
            self.layers[-1] = [(f"{self.prefix}m{j}", f"{self.prefix}o0_{j}") for j in range(k)]
        assert plan.classes is not None
        return self._nested(self._first_largest(names, plan.classes))

    def _nested(self, result: str) -> str:
        """Return the layers, and a result that is computed from the last one."""
        tables, before = [], ""
        for depth, layer in enumerate(self.layers):
            columns = ", ".join(f"{code} AS {name}" for name, code in layer)
            source = f"SELECT *, {columns} FROM {before}" if before else f"SELECT {columns}"
            before = f"{self.prefix}layer{depth}"
            tables.append(f"{before} AS ({source}{self.dialect.fence})")
        n_columns, limit = sum(map(len, self.layers)), self.dialect.most_columns
        if limit and n_columns > limit:
            raise ValueError(
                f"the model needs {n_columns:,} intermediate results, and the database allows "
                f"{limit:,} columns: use fewer or smaller trees"
            )
        unknown = [
            f"{self.prefix}i{column.inputs[0]} IS NULL"
            for column in self.plan.columns
            if not isinstance(column.feature, CategoryFeature | DateFeature)
            and column.feature.mean is None
            and any(name == f"{self.prefix}i{column.inputs[0]}" for name, _ in self.layers[0])
        ]
        if unknown:  # GREATEST would make a number of them
            result = f"CASE WHEN {' OR '.join(unknown)} THEN NULL ELSE {result} END"
        return f"(WITH {', '.join(tables)} SELECT {result} FROM {before})"

    # -- inputs ---------------------------------------------------------------------------

    def _inputs(self) -> list[tuple[str, str]]:
        used = {int(i) for tree in self.plan.trees for i in tree.leaf_input}
        found = [
            (f"{self.prefix}i{i}", code)
            for column in self.plan.columns
            if not used.isdisjoint(column.inputs)
            for i, code in zip(column.inputs, self._column(column), strict=True)
            if i in used
        ]
        return found or [(f"{self.prefix}i", "0")]

    def _column(self, column: PlanColumn) -> Iterable[str]:
        name, feature = identifier(column.name, self.dialect.quote), column.feature
        if isinstance(feature, CategoryFeature):
            yield from self._category(name, feature)
            return
        if isinstance(feature, DateFeature):
            for part, mean in zip(feature.parts, feature.means, strict=True):
                value = f"CAST({self.dialect.parts[part].format(name)} AS {self.dialect.double})"
                yield f"COALESCE({value}, {number(mean)})"
            gap = f"{self.dialect.parts['year'].format(name)} IS NULL"
        else:
            value = f"CAST({name} AS {self.dialect.double})"
            if self.dialect.not_a_number:
                value = f"NULLIF({value}, {self.dialect.not_a_number})"
            if self.dialect.has_texts_of_numbers:
                is_gap = f"TYPEOF({name}) = 'text' AND ({_absent(f'TRIM({name})')})"
                value = f"CASE WHEN {is_gap} THEN NULL ELSE {value} END"
            yield value if feature.mean is None else f"COALESCE({value}, {number(feature.mean)})"
            gap = f"{value} IS NULL"
        if feature.has_gaps:
            yield f"CASE WHEN {gap} THEN 1e0 ELSE 0e0 END"

    def _category(self, name: str, feature: CategoryFeature) -> Iterable[str]:
        value = f"TRIM(CAST({name} AS {self.dialect.text}))"
        table, unknown, missing = category_entries(feature)
        is_missing = f"{name} IS NULL OR {_absent(value)}"
        for k in range(feature.n_columns):
            cases = [f"WHEN {is_missing} THEN {number(table[missing][k])}"]
            for i, category in enumerate(feature.categories):
                if table[i][k] != table[unknown][k]:
                    texts = ", ".join(
                        self._string(s) for s in spellings(category, feature.categories)
                    )
                    cases.append(f"WHEN {value} IN ({texts}) THEN {number(table[i][k])}")
            yield f"CASE {' '.join(cases)} ELSE {number(table[unknown][k])} END"

    def _string(self, text: str) -> str:
        return string(text, self.dialect is DIALECTS["postgresql"])

    # -- trees ----------------------------------------------------------------------------

    def _tree(self, t: int) -> None:
        """Add the outputs of a tree to the layers, after those of the sums that it needs."""
        tree = self.plan.trees[t]
        codes: dict[int, str] = {}
        heights: dict[int, int] = {}  # levels that are nested in a code
        layers: dict[int, int] = {}  # the first layer in which a code may stand
        for node in nodes_of(tree):
            height = 1 + max((heights.pop(child) for _, child in node.children), default=0)
            layer = max([1, *(layers.pop(child) for _, child in node.children)])
            total, j = self._sum(node, codes), node.position
            if node.activation == "leaky_relu":
                self._put(layer, f"{self.prefix}z{t}_{j}", total)
                total, height, layer = f"{self.prefix}z{t}_{j}", 1, layer + 1
            codes[j] = self._activated(node, total, is_output=j < tree.n_outputs)
            if height == MOST_NESTED and j >= tree.n_outputs:
                self._put(layer, f"{self.prefix}n{t}_{j}", codes[j])
                codes[j], height, layer = f"{self.prefix}n{t}_{j}", 0, layer + 1
            heights[j], layers[j] = height, layer
        for j in range(tree.n_outputs):
            self._put(layers[j], f"{self.prefix}o{t}_{j}", codes[j])

    def _put(self, layer: int, name: str, code: str) -> None:
        while len(self.layers) <= layer:
            self.layers.append([])
        self.layers[layer].append((name, code))

    def _sum(self, node: Node, codes: dict[int, str]) -> str:
        terms = [number(node.bias)]
        terms += [f"{term(weight)} * {self.prefix}i{i}" for weight, i in node.leaves]
        terms += [f"{term(weight)} * {codes.pop(child)}" for weight, child in node.children]
        return balanced(terms)

    def _activated(self, node: Node, z: str, is_output: bool) -> str:
        name, phi, d = node.activation, node.parameters, self.dialect
        # Shares of classes may all be close to 0, which takes the exact form; it is nested deeper.
        sigmoid = self._sigmoid if is_output else _sigmoid_by_tanh
        if name == "linear":
            return f"({z})"
        if name == "relu":
            return f"{d.greatest}({z}, 0e0)"
        if name == "leaky_relu":
            return f"CASE WHEN {z} > 0 THEN {z} ELSE {term(phi[0])} * {z} END"
        if name == "tanh":
            return f"TANH({z})"
        if name == "sigmoid":
            return sigmoid(z)
        if name == "linear_sigmoid":
            return f"({term(phi[0])} * {sigmoid(z)} + {term(phi[1])})"
        if name == "linear_tanh":
            return f"({term(phi[0])} * TANH({z}) + {term(phi[1])})"
        if name == "bipolar":
            return f"(TANH({term(phi[0])} * ({z})) / {term(phi[0])})"
        if name == "unipolar":
            a = number(2 * abs(phi[0]))
            return f"({a} * {sigmoid(f'{a} * ({z})')})"
        if name == "gaussian":
            # limited first, since the square of a large number is an error in some databases
            limit = number(EXP_LIMIT**0.5)
            distance = f"{d.least}(ABS(({z} - {term(phi[0])}) / {term(phi[1])}), {limit})"
            return f"EXP(-POWER({distance}, 2))"
        raise ValueError(f"activation {name!r} cannot be written in SQL")

    # -- the prediction -------------------------------------------------------------------

    def _means(self, trees: range) -> list[str]:
        """Return what all trees together say of each output."""
        k = self.plan.n_outputs
        per_tree = [self._combined([f"{self.prefix}o{t}_{j}" for j in range(k)]) for t in trees]
        if len(trees) == 1:
            return per_tree[0]
        count = number(len(trees))
        return [f"({balanced([values[j] for values in per_tree])}) / {count}" for j in range(k)]

    def _combined(self, outputs: list[str]) -> list[str]:
        d = self.dialect
        if self.plan.combine == "softmax":
            powers = {own: [self._exp(f"{o} - {own}") for o in outputs if o != own]
                      for own in outputs}  # fmt: skip
            return [f"1e0 / ({balanced(['1e0', *powers[own]])})" for own in outputs]
        if self.plan.combine == "shares":
            shares = [f"{d.greatest}({o}, {number(self.plan.smallest)})" for o in outputs]
            return [f"{share} / ({balanced(shares)})" for share in shares]
        if self.plan.combine == "sigmoid":
            return [self._sigmoid(o) for o in outputs]
        if self.plan.combine == "clip":
            return [f"{d.least}({d.greatest}({o}, 0e0), 1e0)" for o in outputs]
        return outputs

    def _exp(self, z: str) -> str:
        limit = number(EXP_LIMIT)
        return f"EXP({self.dialect.least}({self.dialect.greatest}({z}, -{limit}), {limit}))"

    def _sigmoid(self, z: str) -> str:
        return f"(1e0 / (1e0 + {self._exp(f'-({z})')}))"

    def _link(self, mean: str) -> str:
        return self._exp(mean) if self.plan.combine == "exp" else mean

    def _ranked(self, names: list[str], rank: int) -> str:
        """Return the value with so many smaller ones."""
        cases = []
        for j, own in enumerate(names):
            smaller = [f"CASE WHEN {o} {'<=' if i < j else '<'} {own} THEN 1 ELSE 0 END"
                       for i, o in enumerate(names) if i != j]  # fmt: skip
            cases.append(f"WHEN {' + '.join(smaller)} = {rank} THEN {own}")
        return f"CASE {' '.join(cases)} END"

    def _first_largest(self, names: list[str], classes: Sequence[Any]) -> str:
        cases = []
        for j, own in enumerate(names[:-1]):
            wins = " AND ".join(f"{own} >= {o}" for o in names[j + 1 :])
            cases.append(f"WHEN {wins} THEN {self._label(classes[j])}")
        return f"CASE {' '.join(cases)} ELSE {self._label(classes[-1])} END"

    def _label(self, label: Any) -> str:
        if isinstance(label, bool):
            if self.dialect is DIALECTS["sqlite"]:
                return str(int(label))
            return str(label).upper()
        if isinstance(label, int):
            return str(label)
        return number(label) if isinstance(label, float) else self._string(str(label))


def _absent(text: str) -> str:
    """Return the condition that a text stands for a missing value."""
    listed = ", ".join(string(spelling) for spelling in missing_spellings())
    return f"LOWER({text}) IN ({listed}) OR {text} = 'None'"


def _sigmoid_by_tanh(z: str) -> str:
    return f"(0.5e0 * TANH(0.5e0 * ({z})) + 0.5e0)"
