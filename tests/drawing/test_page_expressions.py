"""Expressions on the page: each operation, activation and link computes what Python computes."""

import json

import numpy as np
import pytest

from bneuralt.drawing import pages
from bneuralt.drawing.page_data import to_lists
from bneuralt.drawing.view import cells as cell_values
from bneuralt.expressions import evaluate
from bneuralt.model import ModelColumn
from bneuralt.tables.columns import Frame
from bneuralt.training.losses import LINKS, LOSSES, TASKS, shares
from bneuralt.tree.activations import ACTIVATIONS, EXPRESSIONS
from tests.helpers.expression_samples import (
    CELL_EXPRESSIONS,
    NUMBERS,
    VECTORS,
    cells,
    number_values,
)

N_ROWS = 60
#: JSON has no numbers that are not finite.
SPECIAL = {"NaN": np.nan, "Infinity": np.inf, "-Infinity": -np.inf}


def run(browser, expression, names, rows, column=None, has_vectors=False):
    """Return the value of an expression for each row, as the page computes it."""
    categories = () if column is None else tuple(column["categories"])
    lists = to_lists(expression, categories)
    script = f"""{pages._joined("../../model/cells", "cells", "expressions")}
    const special = {{ NaN: NaN, Infinity: Infinity, "-Infinity": -Infinity }};
    const options = {{ column: {json.dumps(column)}, hasVectors: {json.dumps(has_vectors)} }};
    const value = compile({json.dumps(lists)}, {json.dumps(names)}, options);
    const read = (x) => (Array.isArray(x) ? x.map(read) : x in special ? special[x] : x);
    const shown = (x) => (Array.isArray(x) ? x.map(shown) : Number.isFinite(x) ? x : String(x));
    return {json.dumps(rows)}.map((row) => shown(value(row.map(read))))"""
    values = browser.run(script)
    return np.array([[SPECIAL.get(x, x) for x in np.atleast_1d(row)] for row in values], float)


def plain(values):
    return [x if np.isfinite(x) else str(x).replace("nan", "NaN") for x in values]


@pytest.mark.parametrize("name", NUMBERS)
def test_operations_on_numbers(browser, name):
    values = number_values(np.random.default_rng(0), N_ROWS)
    with np.errstate(all="ignore"):
        expected = np.broadcast_to(evaluate(NUMBERS[name], values), N_ROWS).astype(float)
    rows = list(zip(plain(values["a"]), plain(values["b"]), strict=True))
    results = run(browser, NUMBERS[name], ["a", "b"], rows)[:, 0]
    np.testing.assert_allclose(results, expected, rtol=1e-14, atol=1e-300)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(browser, name):
    rng = np.random.default_rng(1)
    parameters = [parameter.name for parameter in ACTIVATIONS[name].entry.parameters]
    values = {"z": rng.normal(0, 5, N_ROWS)}
    values |= {parameter: rng.uniform(0.2, 2, N_ROWS) for parameter in parameters}
    rows = [list(row) for row in zip(*values.values(), strict=True)]
    results = run(browser, EXPRESSIONS[name], list(values), rows)[:, 0]
    np.testing.assert_allclose(
        results, evaluate(EXPRESSIONS[name], values), rtol=1e-13, atol=1e-300
    )


@pytest.mark.parametrize("name", CELL_EXPRESSIONS)
def test_operations_on_cells(browser, name):
    kind, expression = CELL_EXPRESSIONS[name]
    cell = cells(np.random.default_rng(2), kind, N_ROWS)
    described = ModelColumn("x", None, range(1), (expression,))
    column = {"categories": described.categories, "day_first": described.day_first}
    rows = [[value] for value in cell_values(Frame([cell]), 0)]
    results = run(browser, expression, [], rows, column)[:, 0]
    expected = evaluate(expression, {}, cell.as_text() if kind == "code" else cell)
    np.testing.assert_allclose(results, expected, rtol=1e-14)


def links():
    yield from VECTORS.items()
    yield from LINKS.items()
    yield "shares", shares(1e-30)
    for name, loss in LOSSES.items():
        for task in TASKS:
            yield f"{name}, {task}", loss().link(task)


@pytest.mark.parametrize(("name", "link"), list(links()), ids=lambda x: str(x)[:30])
def test_links(browser, name, link):
    outputs = np.random.default_rng(3).normal(0, 3, (N_ROWS, 3))
    rows = [[row] for row in outputs.tolist()]
    results = run(browser, link, ["outputs"], rows, has_vectors=True)
    expected = evaluate(link, {"outputs": outputs})
    np.testing.assert_allclose(results, expected, rtol=1e-13, atol=1e-300)
