"""Expressions that have every operation, and values for their variables."""

from __future__ import annotations

import inspect

import numpy as np

from bneuralt.expressions import (
    NUMBER,
    OUTPUTS,
    Expression,
    Lookup,
    absolute,
    constant,
    date_part,
    exp,
    greater,
    if_missing,
    is_missing,
    largest,
    log,
    lookup,
    maximum,
    minimum,
    ordered,
    select,
    sigmoid,
    sqrt,
    square,
    tanh,
    total,
    variable,
)
from bneuralt.expressions.operations import DATE_PARTS, NUMERIC, OPERATIONS
from bneuralt.tables.columns import Column

A, B = variable("a"), variable("b")


def arity(operation):
    """How many arguments a numeric operation has."""
    return len(inspect.signature(NUMERIC[operation].slopes).parameters)


#: Expressions of the variables a and b, by name: each numeric operation, and combinations.
NUMBERS = {
    **{name: Expression(name, (A, B)[: arity(name)]) for name in NUMERIC},
    "constant": constant(0.25) * A,
    "variable": A,
    "greater": select(greater(A, B), A, 0.5),
    "is_missing": select(is_missing(A), 1.0, B),
    "select": select(greater(A, 0.0), sqrt(absolute(A)), square(B)),
    "if_missing": if_missing(A, 2.0),
    "softsign": A / (1.0 + absolute(A)),
    "bell": exp(-square((A - 1.0) / 0.5)),
    "steps": sigmoid(8.0 * A) + minimum(maximum(B, -1.0), 1.0),
    "scaled": tanh(0.3 * A) / 0.3 - log(1.0 + square(B)),
}

#: Vector expressions of `OUTPUTS`.
VECTORS = {
    "largest": OUTPUTS - largest(OUTPUTS),
    "total": OUTPUTS / total(square(OUTPUTS) + 1.0),
    "ordered": ordered(OUTPUTS, (2, 0, 1)),
    "middle": OUTPUTS - ordered(OUTPUTS, (1,)),
    "ordered twice": ordered(OUTPUTS, (2, 0, 1)) + ordered(square(OUTPUTS), (0, 1, 2)),
    "square": square(OUTPUTS),
    "exp": exp(OUTPUTS),
}

TEXTS = ("red", "it's", "ü", "7")
_TABLE = Lookup(TEXTS[:3], (1.0, -2.0, 0.5), 0.25, 4.0)
_CODES = Lookup(("0", "1.5", "-3"), (1.0, -2.0, 0.5), 0.25, 4.0)

#: Expressions of a cell, and the kind of column that has such cells.
CELL_EXPRESSIONS = {
    "number": ("number", NUMBER),
    "filled": ("number", sqrt(maximum(if_missing(NUMBER, 3.0), 0.0))),
    "gap": ("number", select(is_missing(NUMBER), 1.0, 0.0)),
    "clipped": ("number", minimum(maximum(if_missing(NUMBER, 0.5), -1.0), 1.0)),
    "lookup": ("text", lookup(_TABLE)),
    "changed lookup": ("text", square(lookup(_TABLE)) - 1.0),
    "codes": ("code", lookup(_CODES)),
    **{part: ("date", if_missing(date_part(part), 2.5)) for part in DATE_PARTS},
    "date gap": ("date", select(is_missing(date_part("month")), 1.0, 0.0)),
}


def operations_of(expression):
    """The operations of an expression."""
    return {expression.operation}.union(*map(operations_of, expression.arguments))


ALL = [*NUMBERS.values(), *VECTORS.values(), *(e for _, e in CELL_EXPRESSIONS.values())]
assert set().union(*map(operations_of, ALL)) == set(OPERATIONS), "an operation has no sample"


def number_values(rng, n_rows, with_gaps=True):
    """Values of the variables a and b: usual and large ones, zeros, and gaps."""
    values = {}
    for name in "ab":
        column = rng.normal(size=n_rows) * rng.choice([1.0, 1.0, 30.0, 1e4], n_rows)
        column[rng.random(n_rows) < 0.05] = 0.0
        if with_gaps and name == "a":
            column[rng.random(n_rows) < 0.05] = np.nan
        values[name] = column
    return values


def cells(rng, kind, n_rows):
    """A column of cells: of numbers, texts, texts that are numbers, or dates; some are missing."""
    gaps = rng.random(n_rows) < 0.1
    if kind == "text":
        codes = rng.integers(0, len(TEXTS), n_rows)
        return Column("text", np.where(gaps, -1, codes).astype(np.int32), TEXTS)
    if kind == "date":
        seconds = rng.integers(-(10**10), 10**10, n_rows).astype("timedelta64[s]")
        dates = np.datetime64("1970-01-01", "s") + seconds
        return Column("date", np.where(gaps, np.datetime64("NaT", "s"), dates))
    numbers = rng.normal(size=n_rows) if kind == "number" else rng.choice([0, 1.5, -3, 9], n_rows)
    return Column("number", np.where(gaps, np.nan, np.float32(numbers).astype(float)))
