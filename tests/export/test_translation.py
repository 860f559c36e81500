"""Every operation, activation, link and kind of column is the same in every language."""

import importlib
import json
from inspect import signature

import numpy as np
import pandas as pd
import pytest

from bneuralt import BNeuralTRegressor, NeuralTree
from bneuralt.export import javascript, python, sql
from bneuralt.expressions import (
    NUMBER,
    OPERATIONS,
    OUTPUTS,
    Expression,
    Lookup,
    absolute,
    constant,
    date_part,
    evaluate,
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
from bneuralt.expressions.operations import DATE_PARTS, NUMERIC, Operation
from bneuralt.model import Model
from bneuralt.tables.columns import Column, as_frame
from bneuralt.tables.encoder import TableEncoder
from bneuralt.tables.features import KINDS, Input, NumberFeature
from bneuralt.training.losses import LOSSES, Pinball, get_loss, shares
from bneuralt.tree.activations import NAMES, get_activation
from tests.helpers.compiled import Compiled
from tests.helpers.fitted_models import random_table
from tests.helpers.quick import cases, grid
from tests.helpers.runners import RUNNERS, available
from tests.helpers.strategies import draw_activation

RTOL = ATOL = 1e-12

_Z = variable("z")


#: Compilers take a second for each model: `test_compiled` has many operations in one.
INTERPRETED = [name for name, runner in RUNNERS.items() if not isinstance(runner, Compiled)]


@pytest.fixture(scope="module", params=INTERPRETED)
def runner(request):
    with available(request.param) as runner:
        yield runner


def identity(k, activation="linear", scale=1.0):
    """A tree whose outputs are an activation of its inputs."""
    activation = get_activation(activation)
    phi = activation.values
    return NeuralTree(
        k,
        k,
        [-1] * k,
        [activation.code] * k,
        range(k),
        range(k),
        [0.0] * k + [scale] * k,
        activation_parameters=[*phi] * k if phi else None,
    )


def described(tree, link=OUTPUTS, encoder=None, task="numbers", n_trees=1, averages="outputs"):
    """A model of equal trees."""
    encoder = encoder or TableEncoder((NumberFeature(0.0),) * tree.n_inputs)
    classes = None if task == "numbers" else tuple("abcdefgh"[: tree.n_outputs])
    return Model("test", encoder, (tree,) * n_trees, task, link, averages, classes=classes)


def assert_agrees(runner, model, rows, rtol=RTOL, places=slice(None)):
    """Compare predictions with those of the evaluator, for columns that are all numbers."""
    outputs = model.outputs(np.asarray(rows, dtype=float))
    with np.errstate(all="ignore"):
        expected = model.predictions(outputs)
    frame = pd.DataFrame(rows, columns=[c.name for c in model.columns])
    labels, values = runner.predict(model, frame, places)
    finite = np.clip(expected[:, places], -1e300, 1e300)
    np.testing.assert_allclose(np.clip(values, -1e300, 1e300), finite, rtol=rtol, atol=ATOL)
    if model.task == "classes":
        clear = np.ptp(np.sort(expected)[:, -2:], axis=1) > 1e-9
        assert clear.any()
        positions = model.decisions(outputs)[clear]
        assert labels[clear].tolist() == np.array(model.classes)[positions].tolist()


def normal_rows(seed, n_rows=20, k=3):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(size=(n_rows, k)) * 3, np.eye(k), -np.eye(k), [[0.0] * k]])


# -- operations ---------------------------------------------------------------------------

#: What keeps arguments where an operation is defined and harmless, in random expressions.
DOMAINS = {
    "sqrt": lambda a: sqrt(1 + absolute(a)),
    "log": lambda a: log(1 + square(a)),
    "exp": lambda a: exp(tanh(a)),
    "divide": lambda a, b: a / (1 + absolute(b)),
}


def numeric_expression(name, *arguments):
    return DOMAINS[name](*arguments) if name in DOMAINS else Expression(name, arguments)


def arity(name):
    return len(signature(OPERATIONS[name].slopes).parameters)


#: Vector expressions with each operation of numbers and vectors.
VECTORS = {
    "constant": OUTPUTS + constant(2.5),
    "variable": OUTPUTS,
    **{
        name: numeric_expression(name, *[OUTPUTS, 0.5 - OUTPUTS][: arity(name)]) for name in NUMERIC
    },
    "greater": select(greater(OUTPUTS, 0.5), OUTPUTS, -2.0 * OUTPUTS),
    "select": select(
        greater(OUTPUTS, largest(OUTPUTS) - 1), 1.0, select(greater(0, OUTPUTS), 2, 3)
    ),
    "largest": OUTPUTS - largest(2 * OUTPUTS),
    "total": OUTPUTS * total(square(OUTPUTS)),
    "ordered": ordered(OUTPUTS, [2, 0, 1]),
}

_TABLE = Lookup(("a", "it's", "3", "1"), (1.0, 2.0, 2.0, 4.0), 7.0, 8.0)

#: Expressions of cells with each operation that reads them or has to do with missing values.
CELLS = {
    "number": NUMBER,
    "is_missing": select(is_missing(NUMBER), 1.0, 0.0),
    "if_missing": sqrt(maximum(if_missing(NUMBER, 3.0), 0.0)),
    "lookup": lookup(_TABLE),
    **{f"date_part {part}": if_missing(date_part(part), -1.0) for part in DATE_PARTS},
}

CELL_VALUES = {
    "number": [1.5, -2.0, 0.0, None, 1e20],
    "lookup": ["a", " it's ", "3", "3.0", "1", "unknown", None, "NA", "none"],
    "date_part": [
        pd.Timestamp("2024-02-29 23:59"),
        pd.Timestamp("1999-01-01"),
        None,
        pd.Timestamp("2000-03-01 05:00"),
    ],
}


def test_examples_have_every_operation():
    assert {*VECTORS, *(name.split()[0] for name in CELLS)} == OPERATIONS.keys()


@pytest.mark.parametrize("name", VECTORS)
def test_operations_on_numbers(runner, name):
    assert_agrees(runner, described(identity(3), VECTORS[name]), normal_rows(0))


class FormulaFeature:
    """A column whose input is an expression."""

    kind, n_inputs, passes_numbers, drawn = "number", 1, False, [True]

    def __init__(self, expression):
        self.expression = expression

    def inputs(self, name, limits=None):
        return [Input("", name, self.expression, None, None)]


def predict_cells(runner, expression, values):
    """Return what an expression of a cell is elsewhere, and according to the evaluator."""
    model = described(identity(1), encoder=TableEncoder((FormulaFeature(expression),)))
    frame = pd.DataFrame({"x0": values})
    _, predictions = runner.predict(model, frame)
    table = as_frame(frame)  # None for numbers without gaps
    column = Column("number", frame["x0"].to_numpy()) if table is None else table.columns[0]
    return predictions[:, 0], evaluate(expression, {}, column)


@pytest.mark.parametrize("name", CELLS)
def test_operations_on_cells(runner, name):
    kind = name.split()[0]
    values = CELL_VALUES.get(kind, CELL_VALUES["number"])
    if name == "number":  # nothing stands for a missing one
        values = [value for value in values if value is not None]
    results, expected = predict_cells(runner, CELLS[name], values)
    np.testing.assert_allclose(results, expected, rtol=RTOL)


@pytest.mark.parametrize(
    "expression",
    [NUMBER, minimum(NUMBER, 3.0), maximum(3.0, 2.0 * NUMBER), NUMBER - 1],
    ids=["itself", "smaller", "larger", "sum"],
)
def test_a_missing_value_without_a_mean_is_an_error_or_null(runner, expression):
    if runner.name in sql.DIALECTS:
        assert np.isnan(predict_cells(runner, expression, [1.5, None])[0]).tolist() == [False, True]
    else:
        with pytest.raises((ValueError, RuntimeError), match="value 0 is missing"):
            predict_cells(runner, expression, [1.5, None])


def random_expression(rng, depth):
    if depth == 0 or rng.random() < 0.15:
        return OUTPUTS if rng.random() < 0.7 else constant(rng.choice([-2.0, -1.0, 0.5, 1.0, 3.0]))
    name = rng.choice([*NUMERIC, "select", "largest", "total"])
    if name == "select":
        a, b, c, d = (random_expression(rng, depth - 1) for _ in range(4))
        return select(greater(a, b), tanh(c), d)
    if name in ("largest", "total"):
        return Expression(name, (tanh(random_expression(rng, depth - 1) + 0.1 * OUTPUTS),))
    parts = (tanh(random_expression(rng, depth - 1)) for _ in range(arity(name)))
    if rng.random() < 0.5:
        parts = (random_expression(rng, depth - 1) for _ in range(arity(name)))
    return numeric_expression(name, *parts)


@pytest.mark.parametrize("seed", range(cases(12, quick=6)))
def test_random_expressions(runner, seed):
    """Parentheses are where they are needed, and values that are used twice have one name."""
    rng = np.random.default_rng(seed)
    link = 0.1 * OUTPUTS + random_expression(rng, 5)
    assert_agrees(runner, described(identity(3), link), normal_rows(seed) / 3, rtol=1e-9)


@pytest.mark.parametrize("k", [1, 2, 101])  # longer sums and choices are divided
def test_vectors_of_any_length(runner, k):
    power = exp(OUTPUTS - largest(OUTPUTS))
    model, rows = described(identity(k), power / total(power)), normal_rows(k, 5, k)[:9]
    assert_agrees(runner, model, rows, places=slice(0, None, max(1, k - 1)))


# -- registries ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_activations(runner, name):
    activation = draw_activation(np.random.default_rng(len(name)), name)
    rows = [*normal_rows(1), [1e170, -1e170, 1e100], [800.0, -800.0, 1e-200], [1e-9, -1e-5, 0.01]]
    assert_agrees(runner, described(identity(3, activation)), rows)


FORMULAS = [_Z / (1 + absolute(_Z)), sqrt(1 + square(_Z)) - _Z * sigmoid(-_Z), constant(0.5)]


@pytest.mark.parametrize("formula", FORMULAS, ids=["softsign", "mixed", "constant"])
def test_activations_of_any_formula(runner, formula, monkeypatch):
    formulas = property(lambda tree: [formula] * tree.parent.size)
    monkeypatch.setattr(NeuralTree, "node_expressions", formulas)
    rows = normal_rows(3)
    model = described(identity(3, "tanh"))
    frame = pd.DataFrame(rows, columns=[c.name for c in model.columns])
    expected = evaluate(formula, {"z": rows}) * np.ones_like(rows)
    np.testing.assert_allclose(runner.predict(model, frame)[1], expected, rtol=RTOL, atol=ATOL)


def test_outputs_that_use_no_column(runner):
    assert_agrees(runner, described(identity(3, scale=0.0)), normal_rows(3))


LINKS = {
    **{
        f"{name} {task}": (get_loss(name).link(task), task)
        for name in LOSSES
        for task in get_loss(name).traits.tasks
    },
    "quantiles": (Pinball((0.9, 0.1, 0.5)).link("numbers"), "numbers"),
    "shares": (shares(1e-30), "classes"),
}


@grid(name=LINKS, n_trees=[1, 3], averages=["outputs", "predictions"])
def test_links(runner, name, n_trees, averages):
    link, task = LINKS[name]
    model = described(identity(3), link, task=task, n_trees=n_trees, averages=averages)
    assert_agrees(runner, model, normal_rows(2))


def test_columns_of_every_kind(runner):
    """The outputs are the inputs of the trees."""
    rng = np.random.default_rng(4)
    X = random_table(rng, "texts", 80)
    encoder = BNeuralTRegressor(max_epochs=1, random_state=0).fit(X, np.arange(80.0)).encoder_
    assert {type(feature) for feature in encoder.features} == set(KINDS)
    model = described(identity(encoder.n_inputs), encoder=encoder)
    rows = random_table(rng, "texts", 60, extreme=True)
    with pytest.warns(UserWarning):  # unseen values
        expected = model.encode(rows)
    np.testing.assert_allclose(runner.predict(model, rows)[1], expected, rtol=RTOL, atol=ATOL)


# -- readable code ------------------------------------------------------------------------


def test_templates_are_plain_data():
    tables = [python.TEMPLATES, javascript.TEMPLATES]
    tables += [dialect.templates for dialect in sql.DIALECTS.values()]
    for table in tables:
        assert json.loads(json.dumps(table)) == {name: list(pair) for name, pair in table.items()}


def test_code_has_no_needless_parentheses():
    power = exp(OUTPUTS - largest(OUTPUTS))
    code = python.to_python(described(identity(2), power / total(power)))
    assert "p0 = exp0 / sum0\n    p1 = exp1 / sum0\n" in code
    tree = NeuralTree(2, 1, [-1], [0], [0, 0], [0, 1], [0.5, 2.0, -1.5])
    assert "o0 = 0.5 + 2.0 * i0 - 1.5 * i1\n" in python.to_python(described(tree))


def test_an_operation_takes_one_line_of_a_language(runner, monkeypatch):
    """The value of an operation is one entry of a table in each printer."""
    if runner.name in sql.DIALECTS:
        table = sql.DIALECTS[runner.name].templates
    else:
        module = {"chromium": "javascript"}.get(runner.name, runner.name)
        table = importlib.import_module(f"bneuralt.export.{module}").TEMPLATES
    monkeypatch.setitem(OPERATIONS, "cube", Operation(lambda a: a**3))
    monkeypatch.setitem(table, "cube", ("product", "{0:sign} * {0:sign} * {0:sign}"))
    link = Expression("cube", (OUTPUTS,))
    assert_agrees(runner, described(identity(2), link), normal_rows(5, k=2))
    monkeypatch.delitem(table, "cube")
    with pytest.raises(ValueError, match="has no template for the operation 'cube'"):
        assert_agrees(runner, described(identity(2), link), normal_rows(5, k=2))


@pytest.mark.parametrize("number", [5e-324, -1e-310, 1.7e308, -1.7e308])
def test_numbers_at_the_ends_of_the_range(runner, number):
    """They are read, and what databases cannot compute has the limits that are documented."""
    model = described(identity(1, "tanh", scale=0.5))
    frame = pd.DataFrame({model.columns[0].name: [number, 0.25]})
    expected = np.tanh(0.5 * frame.to_numpy())
    np.testing.assert_allclose(runner.predict(model, frame)[1], expected, rtol=RTOL, atol=ATOL)
