"""Proofs of monotone effects: what they claim, and what follows from expressions."""

from dataclasses import replace

import numpy as np
import pytest

from bneuralt import BNeuralTRegressor, Growth, NeuralTree
from bneuralt.explaining import check_monotonic
from bneuralt.expressions import (
    NUMBER,
    OUTPUTS,
    Lookup,
    absolute,
    constant,
    date_part,
    differs,
    direction,
    exp,
    greater,
    if_missing,
    is_missing,
    lookup,
    maximum,
    minimum,
    ordered,
    select,
    square,
)
from bneuralt.model import Model
from bneuralt.tables.encoder import TableEncoder
from tests.helpers.sample_models import SampleFeature

FAST = {"max_epochs": 15, "random_state": 0}
rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (300, 4))
y = np.exp(X[:, 0]) - X[:, 1] + np.sin(4 * X[:, 2]) + rng.normal(0, 0.3, 300)
CONSTRAINTS = [1, -1, 0, 0]


def test_proofs_list_the_paths():
    model = BNeuralTRegressor(monotonic_cst=CONSTRAINTS, **FAST).fit(X, y)
    tree, proof = model.tree_, model.check_monotonic()
    for feature in proof.features:
        assert len(feature.paths) == np.sum(
            model.encoder_.groups[tree.leaf_input] == feature.feature
        )
        for path in feature.paths:
            assert path.nodes[0] == tree.leaf_parent[path.leaf] and path.nodes[-1] == 0
            assert len(path.weights) == len(path.nodes)
            assert path.sign == np.sign(np.prod(np.sign(path.weights)))
    assert {path.sign for path in proof[0].paths} <= {0, 1}
    assert str(proof).splitlines()[1].startswith("x1: decreasing (")
    assert "constraint -1 holds" in str(proof)


def test_proofs_of_models_without_constraints():
    linear = BNeuralTRegressor(growth=Growth(max_depth=0, max_children=4), random_state=0)
    linear.fit(X[:, :2], y)
    proof = linear.check_monotonic()
    assert proof.holds and not proof.constrained
    assert [feature.direction for feature in proof.features] == [1, -1]
    bumps = BNeuralTRegressor(growth=Growth(activation="gaussian"), **FAST).fit(X, y)
    proof = bumps.check_monotonic()
    assert proof[0].direction is None
    assert "unknown" in str(proof) and "not proven" in str(proof)
    assert None in {path.sign for path in proof[0].paths}


def test_a_broken_promise_is_noticed():
    model = BNeuralTRegressor(monotonic_cst=CONSTRAINTS, **FAST).fit(X, y)
    model.set_params(monotonic_cst=[-1, -1, 0, 0])
    assert model.check_monotonic().holds  # parameters are those of the next fit
    model.model_ = replace(model.model_, constraints=(-1, -1, 0, 0))
    proof = model.check_monotonic()
    assert not proof.holds and not proof[0].holds and proof[1].holds
    assert "DOES NOT HOLD" in str(proof)


def test_columns_that_become_several_inputs():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "word": rng.choice(["red", "green", "blue"], 200),
            "gaps": np.where(rng.random(200) < 0.2, np.nan, rng.normal(size=200)),
            "number": rng.normal(size=200),
        }
    )
    target = table.gaps.fillna(3) - table.number + (table.word == "red")
    model = BNeuralTRegressor(**FAST, monotonic_cst={"gaps": 1, "number": -1}).fit(table, target)
    proof = model.check_monotonic()
    assert proof.holds and len(proof.features) == 3
    assert proof["gaps"].direction == 1 and proof["number"].direction == -1
    assert proof["word"].direction is None
    names = model.encoder_.input_names
    for path in proof["gaps"].paths:
        name = names[model.tree_.leaf_input[path.leaf]]
        assert name == "gaps" or name.startswith("gaps from ")
        assert path.sign in (0, 1)
    steps = np.linspace(-3, 3, 50)
    for column, sign in (("gaps", 1), ("number", -1)):
        for i in range(5):
            rows = table.iloc[[i] * 50].assign(**{column: steps})
            assert (np.diff(model.predict(rows)) * sign >= -1e-6).all()


@pytest.mark.parametrize(
    ("link", "directions"),
    [
        (OUTPUTS, [1, -1]),
        (exp(OUTPUTS), [1, -1]),
        (1.0 - OUTPUTS, [-1, 1]),
        (ordered(exp(OUTPUTS), [0]), [1, -1]),
        (square(OUTPUTS), [None, None]),
    ],
)
def test_the_direction_of_the_link_counts(link, directions):
    tree = NeuralTree(2, 1, [-1], [0], [0, 0], [0, 1], [0.5, 2.0, -1.0])
    proof = check_monotonic(replace(Model.of_tree(tree), link=link))
    assert [feature.direction for feature in proof.features] == directions


@pytest.mark.parametrize(
    ("expression", "sign"),
    [
        (NUMBER, 1),
        (if_missing(NUMBER, 3.0), 1),
        (minimum(maximum(2 - if_missing(NUMBER, 3.0), 0.0), 1.0), -1),
        (select(is_missing(NUMBER), 1.0, 0.0), 0),
        (select(is_missing(NUMBER), 5.0, exp(NUMBER)), 1),
        (square(NUMBER), None),
        (lookup(Lookup(("a", "b"), (0.0, 1.0), 0.5, 0.5)), None),
        (if_missing(date_part("month"), 6.5), None),
        (constant(1.0), 0),
        (select(differs(NUMBER, 9.0), NUMBER, 3.0), 1),
        (select(greater(NUMBER, 9.0), NUMBER, 3.0), None),
        (select(greater(NUMBER, 0.0), NUMBER, -NUMBER), None),
        (select(greater(absolute(NUMBER - 9.0), 1.0), NUMBER, 3.0), None),
    ],
    ids=lambda value: getattr(value, "operation", value),
)
def test_directions_of_inputs(expression, sign):
    assert direction(expression).sign == sign


@pytest.mark.parametrize("weight", [-2.0, 2.0])
def test_nothing_is_proven_of_inputs_that_rise_and_fall(weight):
    tree = NeuralTree(1, 1, [-1], [0], [0], [0], [0.5, weight])
    encoder = TableEncoder((SampleFeature("number", (square(NUMBER),)),), ("cell",))
    model = Model("sample", encoder, (tree,), "numbers", OUTPUTS)
    assert [feature.direction for feature in check_monotonic(model).features] == [None]
