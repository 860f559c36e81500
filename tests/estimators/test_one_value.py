"""A fitted estimator has one model: the old one or the new one, whatever happens in `fit`."""

from __future__ import annotations

import pickle
import signal
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris

import bneuralt
from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    load_model,
)
from bneuralt.warnings import RelativeWeightWarning
from tests.helpers.quick import cases

FAST = {"max_epochs": 3, "n_weights": 60, "random_state": 0}
CLASSIFIERS = [BNeuralTClassifier, BNeuralForestClassifier]
REGRESSORS = [BNeuralTRegressor, BNeuralForestRegressor]
IRIS = load_iris(return_X_y=True)
ATTRIBUTES = (
    *("classes_", "n_features_in_", "feature_names_in_", "encoder_", "recipe_", "n_iter_"),
    *("oob_score_", "calibration_", "compaction_", "multilabel_", "n_outputs_", "target_names_"),
)


def small(cls, **parameters):
    forest = {"n_estimators": 2} if "Forest" in cls.__name__ else {}
    return cls(**{**FAST, **forest, **parameters})


def table(seed, n_classes, n_columns, n_rows=40):
    """Return a table of random numbers with labels of their own."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    labels = np.array([f"{'abc'[seed % 3]}{i}" for i in range(n_classes)])
    y = labels[np.argsort(np.argsort(X[:, 0])) * n_classes // n_rows]
    return X, y


def snapshot(model):
    """Return what a user can see of a fitted model."""
    return {name: repr(getattr(model, name, None)) for name in ATTRIBUTES}


def fails(model, step, X, y):
    """Fit so that a step of `fit` raises an error."""
    arguments = {"X": X.copy(), "y": y}
    bad = clone(model)
    if step == "cell":
        arguments["X"][3, 0] = np.inf
    elif step == "weight":
        arguments["sample_weight"] = np.zeros(len(X))
    elif step == "validation":
        arguments |= {"X_val": np.hstack([X, X]), "y_val": y}
    elif step == "constraint":
        model.set_params(monotonic_cst=[5] * X.shape[1])
    elif step == "parameter":
        model.set_params(max_epochs=-1)
    elif step == "recipe":
        model.set_params(max_weights=2, n_weights=60)
    elif step == "callback":
        arguments["callback"] = lambda state: 1 / 0
    with pytest.raises((ValueError, TypeError, ZeroDivisionError)):
        model.fit(**arguments)
    model.set_params(**bad.get_params(deep=False))


STEPS = ("cell", "weight", "validation", "constraint", "parameter", "recipe", "callback")
actions = st.lists(
    st.tuples(
        st.sampled_from(("fit", "set", "compact", *STEPS)),
        st.integers(0, 5),
        st.integers(2, 3),
        st.integers(1, 3),
    ),
    min_size=1,
    max_size=5,
)


@pytest.mark.parametrize("cls", CLASSIFIERS)
@settings(deadline=None, max_examples=15)
@given(actions)
def test_a_model_is_the_old_one_or_the_new_one(cls, steps):
    model, last, expected = small(cls), None, None
    for action, seed, n_classes, n_columns in steps:
        X, y = table(seed, n_classes, n_columns)
        if action == "fit":
            model.fit(X, y)
            last = X
            expected = clone(model).fit(X, y)
        elif action == "set":
            model.set_params(interaction_cst="no_interactions", class_weight="balanced")
            model.set_params(interaction_cst=None, class_weight=None)
        elif action == "compact":
            if last is not None:
                before, target = model.model_, model.predict(last)
                if np.unique(target).size == len(model.classes_):
                    model.compact(last, target, max_weights=20, cv=None)
                assert model.model_ is before
        else:
            fails(model, action, X, y)
        assert hasattr(model, "model_") == (expected is not None)
        if expected is not None:
            assert snapshot(model) == snapshot(expected)
            np.testing.assert_array_equal(model.predict_proba(last), expected.predict_proba(last))
            np.testing.assert_array_equal(model.predict(last), expected.predict(last))


class Injected(Exception):
    """Raised inside of `fit` by a test."""


def fit_with_failure(model, X, y, fail_at, failure):
    """Fit, and raise an error or Ctrl-C in a function of the package that `fit` enters.

    `fail_at` is the number of the call; the number of calls so far is returned.
    """
    package, n_calls = str(Path(bneuralt.__file__).parent), 0

    def count(frame, event, _):
        nonlocal n_calls
        if event == "call" and frame.f_code.co_filename.startswith(package):
            n_calls += 1
            if n_calls == fail_at and frame.f_code.co_name[0] != "<":
                sys.setprofile(None)
                raise failure

    sys.setprofile(count)
    try:
        model.fit(X, y)
    finally:
        sys.setprofile(None)
    return n_calls


@pytest.mark.parametrize("failure", [Injected, KeyboardInterrupt])
@pytest.mark.parametrize("cls", [*CLASSIFIERS, *REGRESSORS])
@settings(max_examples=cases(12, quick=5))
@given(
    place=st.floats(0, 1),
    options=st.sampled_from([{"max_epochs": 20}, {"early_stopping": "refit"}]),
)
def test_a_failure_at_any_call_of_fit_leaves_a_whole_model(cls, failure, place, options):
    (X, y), (X2, y2) = table(0, 2, 3, 70), table(1, 3, 2, 70)
    if cls in REGRESSORS:
        y, y2 = X[:, 0], X2[:, 1]
    model = small(cls, **options)
    n_calls = fit_with_failure(clone(model), X2, y2, None, failure)
    old, new = clone(model).fit(X, y), clone(model).fit(X2, y2)
    model.fit(X, y)
    before = model.model_
    try:
        fit_with_failure(model, X2, y2, 1 + int(place * (n_calls - 1)), failure)
    except failure:
        assert failure is KeyboardInterrupt or model.model_ is before
    whole, rows = (old, X) if model.model_ is before else (new, X2)
    assert model.n_features_in_ == whole.n_features_in_
    assert repr(getattr(model, "classes_", None)) == repr(getattr(whole, "classes_", None))
    assert model.predict(rows).shape == whole.predict(rows).shape
    if model.model_ is before:
        np.testing.assert_array_equal(model.predict(rows), whole.predict(rows))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_labels_are_not_mixed_by_a_failed_refit(cls, tmp_path):
    X, y = table(0, 2, 3)
    model = small(cls).fit(X, np.where(y == y[0], "cat", "dog"))
    before = model.predict(X)
    bad = X.copy()
    bad[0, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        model.fit(bad, np.where(y == y[0], "yes", "no"))
    np.testing.assert_array_equal(model.predict(X), before)
    assert set(before) == {"cat", "dog"} == set(model.classes_)
    with pytest.raises(ValueError, match="infinity"):
        model.fit(bad, table(0, 3, 3)[1])
    assert model.predict_proba(X).shape == (40, 2)
    model.save(tmp_path / "model.json")
    np.testing.assert_array_equal(load_model(tmp_path / "model.json").predict(X), before)


def test_parameters_that_change_after_a_fit_change_no_prediction():
    X, y = load_diabetes(return_X_y=True)
    model = small(BNeuralTRegressor).fit(X, y)
    before = model.predict(X)
    model.set_params(loss="poisson", interaction_cst="pairwise", quantiles=[0.1], scale=None)
    np.testing.assert_array_equal(model.predict(X), before)
    quantiles = small(BNeuralTRegressor, loss="quantile", quantiles=(0.2, 0.8)).fit(X, y)
    before = quantiles.predict(X)
    quantiles.set_params(quantiles=(0.1, 0.5, 0.9))
    np.testing.assert_array_equal(quantiles.predict(X), before)


def test_out_of_bag_scores_are_those_of_the_last_fit():
    X, y = IRIS
    model = small(BNeuralForestClassifier, bootstrap=True).fit(X, y)
    assert 0 <= model.oob_score_ <= 1
    assert model.oob_decision_function_.shape == (150, 3)
    assert not hasattr(model.compact(X, y, max_weights=60, cv=None), "oob_score_")
    model.set_params(bootstrap=False).fit(X, y)
    assert not hasattr(model, "oob_score_")


def test_out_of_bag_scores_of_noise_are_those_of_noise():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), rng.integers(0, 2, 300)
    settings = {"n_estimators": 5, "bootstrap": True, "random_state": 0, "max_epochs": 60}
    model = BNeuralForestClassifier(warm_start=True, **settings).fit(X, y)
    order = rng.permutation(300)
    X2, y2 = X[order][:250], y[order][:250]
    model.set_params(n_estimators=10).fit(X2, y2)
    assert model.oob_score_ < 0.65  # old trees have seen these rows, and do not count
    known = ~np.isnan(model.oob_decision_function_[:, 0])
    votes = model.oob_decision_function_[known].argmax(axis=1)
    assert abs((votes == y2[known]).mean() - model.oob_score_) < 1e-12


@pytest.mark.parametrize("weights", [None, "counts"])
def test_out_of_bag_predictions_have_the_order_of_the_table(weights):
    X, y = load_diabetes(return_X_y=True)
    weight = None if weights is None else np.arange(442) % 3.0
    model = BNeuralForestRegressor(n_estimators=8, bootstrap=True, max_epochs=30, random_state=0)
    model.fit(X, y, sample_weight=weight)
    predicted = model.oob_prediction_
    assert predicted.shape == y.shape
    if weight is not None:
        assert np.isnan(predicted[weight == 0]).all()
    known = ~np.isnan(predicted)
    assert np.corrcoef(predicted[known], y[known])[0, 1] > 0.4


@pytest.mark.parametrize("cls", [*CLASSIFIERS, *REGRESSORS])
def test_ctrl_c_keeps_the_old_model_or_what_is_finished(cls):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = X[:, 0] > 0 if cls in CLASSIFIERS else X[:, 0]
    model = small(cls).fit(X[:50], y[:50])
    old = model.model_
    model.set_params(max_epochs=2_000_000, n_jobs=1)
    timer = threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert time.monotonic() - start < 100
    assert model.model_ is old or model.n_iter_ > 0
    np.isfinite(model.predict_proba(X) if cls in CLASSIFIERS else model.predict(X)).all()


def test_one_attribute_is_set_by_a_fit():
    model = small(BNeuralTClassifier)
    before = set(vars(model))
    model.fit(*IRIS)
    assert set(vars(model)) - before == {"model_"}
    with pytest.raises(AttributeError):
        model.model_.trees = ()


def test_an_argument_of_other_libraries_is_named():
    with pytest.raises(TypeError, match="'eval_set': use X_val and y_val"):
        small(BNeuralTClassifier).fit(*IRIS, eval_set=[IRIS])


# -- weights ------------------------------------------------------------------------------


def weighted_table():
    import pandas as pd

    rng, n = np.random.default_rng(0), 300
    X = pd.DataFrame(
        {
            "number": np.where(rng.random(n) < 0.05, -999.0, rng.normal(size=n)),
            "gaps": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "shop": rng.choice(["a", "b", "c", "d"], n),
        }
    )
    y = ((X["shop"] == "a") ^ X["gaps"].isna()).to_numpy()
    return X, y, rng


def fitted_with(weight, cls=BNeuralTClassifier, **parameters):
    X, y, _ = weighted_table()
    if cls in REGRESSORS:
        y = y.astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = cls(random_state=0, max_epochs=20, **parameters).fit(X, y, sample_weight=weight)
        return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


@pytest.mark.parametrize("factor", [1 / 300, 1e-6, 1e6, 2.0**-20, 2.0**20])
def test_equal_weights_are_no_weights(factor):
    np.testing.assert_array_equal(fitted_with(np.full(300, factor)), fitted_with(None))


@pytest.mark.parametrize("factor", [2.0**-20, 2.0**20])
@pytest.mark.parametrize("cls", [BNeuralTClassifier, BNeuralForestRegressor])
def test_a_factor_of_all_weights_changes_nothing(cls, factor):
    weight = np.random.default_rng(1).uniform(0.1, 3.0, 300)
    options = {"n_estimators": 2} if cls is BNeuralForestRegressor else {}
    expected = fitted_with(weight, cls, **options)
    np.testing.assert_array_equal(fitted_with(factor * weight, cls, **options), expected)


def test_intervals_count_rows_and_not_weights():
    X, y = load_diabetes(return_X_y=True)
    model = BNeuralTRegressor(conformal=0.2, max_epochs=20, random_state=0)
    plain = model.fit(X, y).predict_interval(X)
    tiny = model.fit(X, y, sample_weight=np.full(442, 1 / 442)).predict_interval(X)
    np.testing.assert_array_equal(tiny, plain)


def test_large_whole_weights_are_relative_and_said_to_be():
    X, y = load_diabetes(return_X_y=True)
    weight = np.random.default_rng(0).integers(500, 1500, 442)
    model = BNeuralTRegressor(max_epochs=5, random_state=0)
    with pytest.warns(RelativeWeightWarning, match="relative weights"):
        model.fit(X, y, sample_weight=weight)
    assert model.recipe_.n_weights == BNeuralTRegressor(max_epochs=5).fit(X, y).recipe_.n_weights


def test_small_whole_weights_are_rows():
    X, y = load_diabetes(return_X_y=True)
    weight = np.arange(442) % 4
    by_weight = small(BNeuralTRegressor).fit(X, y, sample_weight=weight)
    repeated = np.repeat(np.arange(442), weight)
    by_rows = small(BNeuralTRegressor).fit(X[repeated], y[repeated])
    np.testing.assert_array_equal(by_weight.predict(X), by_rows.predict(X))
