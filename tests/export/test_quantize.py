"""Integer models: estimators that differ from their originals by no more than they say."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from bneuralt import (
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    QuantizedClassifier,
)
from bneuralt.export.activation_forms import activation_form
from bneuralt.export.integer import FORMATS
from bneuralt.export.integer.curve_tables import shared_tables
from bneuralt.tree import NeuralTree
from bneuralt.tree.activations import NAMES
from tests.helpers.strategies import activations
from tests.helpers.tables import DIABETES, IRIS
from tests.tools.compare_c import excesses


@pytest.mark.parametrize("dtype", ["int16", "int8"])
def test_bounds_hold_and_are_not_far_off(dtype):
    ratios = excesses(range(2000, 2025), 100, dtype)
    assert (ratios >= 1).all()
    assert np.median(ratios) < 10


@pytest.mark.parametrize("dtype", ["int16", "int8"])
def test_errors_of_leaves_with_the_same_feature_can_cancel(dtype):
    """Two almost linear nodes, one of which is subtracted from the other."""
    X = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    model = BNeuralTRegressor(max_epochs=1, dtype="float64", random_state=0, scale="standard")
    model.fit(X, X[:, 0])
    bounds, activation = [], [NAMES.index(name) for name in ("linear", "tanh", "tanh")]
    for second in (0, 1):
        weights = [0.0, 0.0, 0.0, 1.0, -1.0, 0.3, 0.27]
        tree = NeuralTree(2, 1, [-1, 0, 0], activation, [1, 2], [0, second], weights)
        model.model_ = model.model_.in_raw_units().with_trees([tree])
        rounded = model.quantize(dtype)
        bounds.append(rounded.error_bound_)
        assert np.abs(rounded.predict(X) - model.predict(X)).max() <= bounds[-1]
    assert bounds[0] < 0.95 * bounds[1]


@pytest.mark.parametrize("dtype", ["int16", "int8"])
def test_sums_cannot_overflow(dtype):
    """The largest sum of any node, whatever the inputs are, fits its type."""
    from tests.helpers.random_models import random_model

    format = FORMATS[dtype]
    for seed in range(15):
        integer = random_model(seed)[0].quantize(dtype).integer_model_
        for tree in integer.trees:
            stack = []
            for node in tree.nodes:
                reach = abs(node.bias)
                reach += sum(abs(weight) * stack.pop() for weight in node.children)
                groups = {}
                for i, weight in node.leaves:  # of the inputs of a category, one is not 0
                    group = integer.inputs.group[i]
                    groups.setdefault(group if group >= 0 else -i - 1, []).append(abs(weight))
                reach += sum(max(group) * (format.top + 1) for group in groups.values())
                assert reach <= format.top_sum
                assert 0 < node.scale < 2**format.bits
                weights = [*node.children, *(weight for _, weight in node.leaves)]
                assert max(map(abs, weights)) <= format.top
                if not node.is_output:
                    ends = tree._value(node, np.array([-reach, reach]))
                    stack.append(format.top if node.kind == "bell" else np.abs(ends).max())


@pytest.mark.parametrize("dtype", ["int16", "int8"])
@pytest.mark.parametrize("kind", ["tanh", "bell"])
def test_errors_of_tables_are_those_stated(dtype, kind):
    table = shared_tables(FORMATS[dtype])[kind]
    top = FORMATS[dtype].top
    t = np.arange(0, 2 * table.limit, 7)
    for low, high in (
        (0, 100),
        (50, table.limit),
        (0, 2 * table.limit),
        (table.limit, 2 * table.limit),
    ):
        inside = t[(t >= low) & (t <= high)]
        coarse = table.coarse(inside) / top - table.exact(inside)
        least, most = table.errors(low, high, fine=False)
        assert least <= coarse.min() and coarse.max() <= most
        least, most = table.errors(-high, -low, fine=False)
        mirrored = -coarse if kind == "tanh" else coarse
        assert least <= mirrored.min() and mirrored.max() <= most


@given(activations(), st.floats(-20, 20))
@settings(max_examples=100, deadline=None)
def test_every_activation_has_one_of_three_forms(activation, z):
    tree = NeuralTree(
        1, 1, [-1], [activation.code], [0], [0], [0.0, 1.0], np.array(activation.numbers)
    )
    form = activation_form(activation.expression)
    t = form.gain * z + form.shift
    value = {
        "tanh": np.tanh(t),
        "bell": 2 * np.exp(-min(t * t, 700)) - 1,
        "pieces": t if t > 0 else form.slope * t,
    }[form.kind]
    assert np.isclose(form.offset + form.unit * value, tree.forward([z])[0], atol=1e-9)


# -- estimators ---------------------------------------------------------------------------


def test_quantized_models_are_estimators():
    X, y = IRIS
    model = QuantizedClassifier(BNeuralTClassifier(max_epochs=30, random_state=0), "int8")
    assert cross_val_score(clone(model), X, y, cv=3).min() > 0.9
    fitted = model.fit(X, y)
    assert np.array_equal(fitted.predict(X), fitted.estimator_.quantize("int8").predict(X))
    shares = fitted.predict_proba(X)
    assert np.allclose(shares.sum(axis=1), 1, atol=1e-3)
    assert np.array_equal(shares * 2**15, np.rint(shares * 2**15))


def test_labels_are_those_of_the_model():
    X, y = IRIS
    clf = BNeuralTClassifier(random_state=0).fit(X, np.array(["a", "b", "c"])[y])
    assert clf.quantize("int16").score(X, clf.predict(X)) > 0.98
    several = BNeuralTClassifier(random_state=0).fit(X, np.eye(3, dtype=int)[y])
    assert several.quantize("int16").score(X, several.predict(X)) > 0.95


def test_regression_in_original_units():
    X, y = DIABETES
    for model in (
        BNeuralTRegressor(random_state=0, max_epochs=20),
        BNeuralForestRegressor(n_estimators=3, random_state=0, max_epochs=20),
        BNeuralTRegressor(random_state=0, max_epochs=20, loss="poisson"),
        BNeuralTRegressor(random_state=0, max_epochs=20, loss="quantile", quantiles=(0.9, 0.1)),
    ):
        fitted = model.fit(X, y)
        rounded = fitted.quantize("int16")
        predictions, expected = rounded.predict(X), fitted.predict(X)
        assert predictions.shape == expected.shape
        assert np.abs(predictions - expected).max() < 0.01 * np.std(y)
        if predictions.ndim == 2:
            assert (predictions[:, 0] >= predictions[:, 1]).all()


def test_values_outside_of_the_training_range_are_clipped():
    X, y = IRIS
    rounded = BNeuralTClassifier(random_state=0, max_epochs=5).fit(X, y).quantize()
    far, end = X.copy(), X.copy()
    far[:, 2], end[:, 2] = 1e30, X[:, 2].max()
    assert np.array_equal(rounded.predict_proba(far), rounded.predict_proba(end))


def test_models_without_a_range_need_rows(tmp_path):
    X, y = IRIS
    model = BNeuralTClassifier(random_state=0, max_epochs=5).fit(X, y)
    expected = model.quantize().predict_proba(X)
    encoder = replace(model.encoder_, ranges=None)
    model.model_ = replace(model.model_, encoder=encoder)
    with pytest.raises(ValueError, match="has no ranges"):
        model.quantize()
    with pytest.raises(ValueError, match="has no ranges"):
        model.to_c(tmp_path / "m.h", dtype="int8")
    assert np.array_equal(model.quantize(X=X).predict_proba(X), expected)
    model.to_c(tmp_path / "m.h", dtype="int8", X=X, y=y)


def test_unknown_dtype():
    X, y = IRIS
    clf = BNeuralTClassifier(random_state=0, max_epochs=1).fit(X, y)
    with pytest.raises(ValueError, match="dtype='int4'"):
        clf.quantize("int4")
    with pytest.raises(ValueError, match="dtype='int4'"):
        QuantizedClassifier(clf, "int4").fit(X, y)
