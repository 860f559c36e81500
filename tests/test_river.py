"""Neural trees in streams: the interface of river, and what happens to unexpected examples."""

import pickle
import warnings

import numpy as np
import pytest

river = pytest.importorskip("river", reason="river is not installed")
from river import checks, metrics  # noqa: E402

from benchmarks.drift import Frozen, aging_sensor, models, part_errors, prequential_errors  # noqa: E402
from bneuralt import BNeuralTClassifier  # noqa: E402
from bneuralt.river import NeuralTreeClassifier, NeuralTreeRegressor  # noqa: E402

SMALL = {"grace_period": 30, "n_weights": 30, "n_epochs": 5, "seed": 0}

CHECKS = [
    pytest.param(model, check, id=f"{type(model).__name__}-{i}-{check.__name__}")
    for model in (NeuralTreeClassifier(seed=0), NeuralTreeRegressor(seed=0))
    for i, check in enumerate(checks.yield_checks(model))
]


@pytest.mark.filterwarnings("ignore:the (feature|label)")
@pytest.mark.parametrize(("model", "check"), CHECKS)
def test_checks_of_river(model, check):
    check(model.clone())


def rows(n, seed=0):
    """Rows of two numbers and a text, and the label or number that follows from them."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        a, b, word = rng.normal(), rng.normal(), str(rng.choice(["red", "green"]))
        yield {"a": a, "b": b, "word": word}, a + (1 if word == "red" else -1)


def labelled(n, seed=0):
    """The same with labels."""
    for x, y in rows(n, seed):
        yield x, "high" if y > 0 else "low"


def learnt(model, examples):
    for x, y in examples:
        model.learn_one(x, y)
    return model


def test_numbers_and_texts_are_learnt():
    model = learnt(NeuralTreeClassifier(seed=0), labelled(600))
    accuracy = metrics.Accuracy()
    for x, y in labelled(200, seed=1):
        accuracy.update(y, model.predict_one(x))
    assert accuracy.get() > 0.9
    regressor = learnt(NeuralTreeRegressor(seed=0), rows(600))
    error = metrics.MAE()
    for x, y in rows(200, seed=1):
        error.update(y, regressor.predict_one(x))
    assert error.get() < 0.3


def test_predictions_before_the_tree_is_drawn():
    model = NeuralTreeClassifier(**SMALL)
    assert model.predict_proba_one({"a": 1.0}) == {} and model.predict_one({"a": 1.0}) is None
    for label in ("x", "x", "y"):
        model.learn_one({"a": 1.0}, label)
    assert model.predict_proba_one({"a": 1.0}) == {"x": 2 / 3, "y": 1 / 3}
    assert model.estimator is None
    known = NeuralTreeClassifier(labels=("x", "y"), **SMALL)
    assert known.predict_proba_one({}) == {"x": 0.5, "y": 0.5}
    regressor = NeuralTreeRegressor(**SMALL)
    assert regressor.predict_one({"a": 1.0}) == 0.0
    learnt(regressor, [({"a": 0.0}, 1.0), ({"a": 0.0}, 2.0)])
    assert regressor.predict_one({"a": 1.0}) == 1.5


def test_the_tree_waits_for_a_second_label():
    model = learnt(NeuralTreeClassifier(**SMALL), [({"a": float(i)}, "x") for i in range(100)])
    assert model.estimator is None
    model.learn_one({"a": 1.0}, "y")
    assert isinstance(model.estimator, BNeuralTClassifier)
    assert set(model.predict_proba_one({"a": 1.0})) == {"x", "y"}


def test_new_features_and_labels_are_ignored_with_one_warning_each():
    model = learnt(NeuralTreeClassifier(**SMALL), labelled(60))
    twin = learnt(NeuralTreeClassifier(**SMALL), labelled(60))
    x, _ = next(labelled(1))
    with pytest.warns(UserWarning, match="the feature 'new' is new and is ignored"):
        model.learn_one({**x, "new": 1.0}, "high")
    with pytest.warns(UserWarning, match="the label 'other' is new and is ignored"):
        model.learn_one(x, "other")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.learn_one({**x, "new": 1.0}, "low")
        model.learn_one(x, "other")
        learnt(twin, [(x, "high"), (x, "low")])
    shares = model.predict_proba_one(x)
    assert shares.pop("other") == 0.0
    assert shares == twin.predict_proba_one(x)


def test_features_that_vanish_are_missing_values():
    model = learnt(NeuralTreeRegressor(**SMALL), rows(60))
    x, _ = next(rows(1))
    missing = model.predict_one({"b": x["b"]})
    assert missing == model.predict_one({**x, "a": np.nan, "word": None})
    assert np.isfinite(missing)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ({"a": np.inf}, 1.0, "the feature 'a' is inf"),
        ({"a": "tall"}, 1.0, "the feature 'a' is the text 'tall', and was a number"),
        ({"a": 1.0}, np.nan, "y=nan is not a finite number"),
        ({"a": 1.0}, "1", "y='1' is not a finite number"),
        ({"a": 1.0}, None, "y=None is not a finite number"),
    ],
)
def test_bad_examples_are_refused_and_nothing_is_lost(x, y, message):
    model = learnt(NeuralTreeRegressor(**SMALL), rows(60))
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=message):
        model.learn_one(x, y)
    assert pickle.dumps(model) == before


def test_bad_labels_are_refused():
    for label in (None, np.nan):
        with pytest.raises(ValueError, match="is not a label"):
            NeuralTreeClassifier().learn_one({"a": 1.0}, label)


@pytest.mark.parametrize("name", ["grace_period", "n_epochs", "batch_size"])
def test_parameters_are_checked(name):
    with pytest.raises(ValueError, match=f"{name}=0 must be"):
        NeuralTreeRegressor(**{name: 0})
    with pytest.raises(ValueError, match="two or more different labels"):
        NeuralTreeClassifier(labels=("x", "x"))


def test_memory_does_not_grow():
    # A model keeps the hashes of at most 512 rows.
    model = learnt(NeuralTreeRegressor(batch_size=1, **SMALL), rows(600))
    before = len(pickle.dumps(model))
    learnt(model, rows(300))
    assert len(pickle.dumps(model)) < before + 200


def test_the_tree_of_a_stream_can_go_on_in_c(tmp_path):
    model = learnt(NeuralTreeRegressor(**SMALL), [(x, y) for x, y in rows(60)])
    code = model.estimator.to_c(tmp_path / "sensor.h", learning="rmsprop", dtype="float")
    assert "int sensor_update(const float *x, float y, float rate)" in code


def test_a_sensor_that_ages():
    """The short version of the example in docs/streams.md."""
    examples = aging_sensor(2500)
    errors = part_errors(prequential_errors(NeuralTreeRegressor(seed=0), examples))
    frozen = part_errors(prequential_errors(Frozen(seed=0), examples))
    mean = part_errors(prequential_errors(models()["mean so far"], examples))
    assert errors["aged"] < 0.5 * frozen["aged"]
    assert errors["all"] < 0.5 * min(frozen["all"], mean["all"])


def test_numbers_beyond_those_of_the_first_examples_are_learnt():
    rng = np.random.default_rng(0)
    model = NeuralTreeRegressor(seed=0)
    for i in range(3000):
        x = i / 400 + rng.normal()  # the first hundred are around 0, the last around 7
        model.learn_one({"x": x}, x)
    assert model.predict_one({"x": 8.0}) - model.predict_one({"x": 6.0}) > 0.5
