"""More targets: several outputs, losses, quantiles, prediction intervals, several labels."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_multilabel_classification
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import mean_pinball_loss, r2_score
from sklearn.model_selection import cross_val_predict
from sklearn.utils.estimator_checks import parametrize_with_checks

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    EvolvedTreeRegressor,
    load_model,
)
from bneuralt.files import ModelFileError
from bneuralt.model.intervals import Calibration, calibrated_interval, weighted_quantile
from bneuralt.training.losses import Huber
from tests.helpers.flat import flat
from tests.helpers.tables import DIABETES

X, y = DIABETES
Y = np.c_[y, 1000 * X[:, 2] + 5, -y / 100]
FAST = {"max_epochs": 20, "random_state": 0}


def tree(**parameters):
    return flat(BNeuralTRegressor, **{**FAST, "n_init": 1, **parameters})


def forest(**parameters):
    return flat(BNeuralForestRegressor, **{**FAST, "n_estimators": 4, **parameters})


both = pytest.mark.parametrize("make", [tree, forest])


@parametrize_with_checks(
    [
        BNeuralTRegressor(loss="absolute_error", max_epochs=30),
        BNeuralTRegressor(loss="huber", max_epochs=30),
        BNeuralForestRegressor(n_estimators=2, bootstrap=True, max_epochs=30),
    ]
)
def test_estimator_checks(estimator, check):
    check(estimator)


# -- several outputs ----------------------------------------------------------------------


@both
def test_several_targets_are_learnt_by_one_model(make):
    model = make(max_epochs=60).fit(X, Y)
    predicted = model.predict(X)
    assert predicted.shape == Y.shape
    assert (r2_score(Y, predicted, multioutput="raw_values") > [0.4, 0.9, 0.4]).all()
    assert model.score(X, Y) == pytest.approx(r2_score(Y, predicted))
    frame = make(max_epochs=60).fit(X, pd.DataFrame(Y))
    np.testing.assert_array_equal(frame.predict(X), predicted)


def test_the_scale_of_one_target_does_not_matter_to_the_others():
    wide = Y * [1, 1e6, 1e-6] + [0, -1e7, 3]
    predicted = tree(max_epochs=60).fit(X, wide).predict(X)
    assert (r2_score(wide, predicted, multioutput="raw_values") > [0.4, 0.9, 0.4]).all()


def test_a_constant_among_the_targets_is_predicted_as_it_is():
    predicted = tree().fit(X, np.c_[y, np.full(len(y), 7.0)]).predict(X)
    assert (predicted[:, 1] == 7.0).all()


def test_several_sigmoid_outputs():
    model = tree(output_activation="sigmoid", max_epochs=60).fit(X, Y)
    low, high = Y.min(axis=0), Y.max(axis=0)
    predicted = model.predict(X)
    assert (predicted > low - 1e-3 * (high - low)).all()
    assert (predicted < high + 1e-3 * (high - low)).all()
    assert model.score(X, Y) > 0.4


def test_order_and_copies_of_rows_with_several_targets_do_not_matter():
    order = np.random.default_rng(0).permutation(len(y))
    expected = tree().fit(X, Y).predict(X)
    np.testing.assert_array_equal(tree().fit(X[order], Y[order]).predict(X), expected)
    twice = tree().fit(np.r_[X, X[:5]], np.r_[Y, Y[:5]])
    weight = np.r_[np.full(5, 2.0), np.ones(len(y) - 5)]
    np.testing.assert_array_equal(
        twice.predict(X), tree().fit(X, Y, sample_weight=weight).predict(X)
    )


def test_rows_that_differ_in_the_last_target_only_are_different_rows():
    table, targets = np.zeros((2, 1)), np.array([[1.0, 2.0], [1.0, 4.0]])
    np.testing.assert_allclose(tree().fit(table, targets).predict(table), [[1, 3], [1, 3]])


def test_a_single_column_is_a_plain_target():
    with pytest.warns(DataConversionWarning):
        model = tree().fit(X, y[:, np.newaxis])
    np.testing.assert_array_equal(model.predict(X), tree().fit(X, y).predict(X))


def test_several_targets_with_validation_rows_and_partial_fit():
    model = tree(early_stopping=True).fit(X, Y)
    assert model.best_epoch_ is not None and model.history_["val_score"].size == model.n_iter_
    model = tree(early_stopping="refit").fit(X[:300], Y[:300], X_val=X[300:], y_val=Y[300:])
    assert model.predict(X).shape == Y.shape
    with pytest.raises(ValueError, match="y_val has 1 columns, the model was trained with 3"):
        tree(early_stopping=True).fit(X, Y, X_val=X, y_val=y)
    model = tree().partial_fit(X, Y).partial_fit(X, Y)
    assert model.n_iter_ == 2 and model.predict(X).shape == Y.shape
    with pytest.raises(ValueError, match="y has 2 columns, the model was trained with 3"):
        model.partial_fit(X, Y[:, :2])


def test_warm_starts_with_several_targets():
    model = tree(warm_start=True).fit(X, Y)
    before = model.history_["train_loss"][-1]
    assert model.fit(X, Y).history_["train_loss"][-1] < before


# -- losses -------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("loss", ["absolute_error", "huber", Huber(delta=0.3)])
def test_outliers_do_little_to_robust_losses(make, loss):
    rng = np.random.default_rng(0)
    table = rng.normal(size=(600, 2))
    truth = table @ [1.0, -1.0]
    wrong = truth + np.where(rng.random(600) < 0.1, 40.0, 0.0)
    error = {
        kind: np.abs(make(loss=kind).fit(table, wrong).predict(table) - truth).mean()
        for kind in (loss, "squared_error")
    }
    assert error[loss] < 0.4 * error["squared_error"]


@both
def test_poisson_predicts_positive_means(make):
    rng = np.random.default_rng(0)
    table = rng.uniform(-1, 1, (1500, 2))
    mean = 50 * np.exp(1.5 * table[:, 0] - table[:, 1])
    model = make(loss="poisson").fit(table, rng.poisson(mean))
    predicted = model.predict(table)
    assert (predicted > 0).all()
    assert np.abs(np.log(predicted / mean)).mean() < 0.1
    assert model.score(table, mean) > 0.9


@both
def test_targets_that_a_loss_cannot_take(make):
    with pytest.raises(ValueError, match="y has the value -2: loss='poisson' needs targets that"):
        make(loss="poisson").fit(X, y - y.min() - 2)
    with pytest.raises(ValueError, match="y is 0 in all rows"):
        make(loss="poisson").fit(X, 0 * y)
    with pytest.raises(ValueError, match="loss='quantile' takes a single target, y has 3 columns"):
        make(loss="quantile").fit(X, Y)
    with pytest.raises(ValueError, match="needs linear output nodes"):
        make(loss="poisson", output_activation="sigmoid").fit(X, y)
    with pytest.raises(ValueError, match="loss='huber' is for regressors"):
        BNeuralTClassifier(loss="huber").fit(X, y > 100)


# -- quantiles ----------------------------------------------------------------------------


@both
def test_quantiles_never_cross(make):
    quantiles = (0.9, 0.05, 0.5, 0.51, 0.49, 0.95)
    model = make(loss="quantile", quantiles=quantiles, max_epochs=3).fit(X, y)
    rows = np.random.default_rng(0).normal(0, 1, (2000, X.shape[1]))
    predicted = model.predict(rows)
    assert predicted.shape == (2000, 6)
    assert (np.diff(predicted[:, np.argsort(quantiles)]) >= 0).all()
    # the outputs of the trees do cross, and sorting them costs nothing
    outputs = model.model_.outputs(model.model_.encode(X)).mean(axis=0)
    assert (np.diff(outputs[:, np.argsort(quantiles)]) < 0).any()

    def cost(values):
        return sum(mean_pinball_loss(y, values[:, k], alpha=q) for k, q in enumerate(quantiles))

    assert cost(model.predict(X)) <= cost(outputs) + 1e-9


def test_quantiles_are_quantiles():
    rng = np.random.default_rng(0)
    table = rng.uniform(-1, 1, (3000, 1))
    target = table[:, 0] + (0.5 + 0.4 * table[:, 0]) * rng.normal(size=3000)
    model = tree(loss="quantile", quantiles=[0.1, 0.5, 0.9]).fit(table, target)
    shares = (target[:, np.newaxis] <= model.predict(table)).mean(axis=0)
    np.testing.assert_allclose(shares, [0.1, 0.5, 0.9], atol=0.03)
    assert 0 < model.score(table, target) < 1
    assert model.history_["train_score"][-1] == pytest.approx(model.score(table, target), abs=0.03)


@pytest.mark.parametrize("quantiles", [0.3, [0.3], np.array([0.3])])
def test_one_quantile_is_one_number(quantiles):
    model = tree(loss="quantile", quantiles=quantiles).fit(X, y)
    assert model.predict(X).shape == y.shape
    assert (y <= model.predict(X)).mean() == pytest.approx(0.3, abs=0.05)


@pytest.mark.parametrize(
    "quantiles", [1.5, 0, (0.1, 1.0), [], [[0.5]], "half", [np.nan], [0.5] * 65]
)
def test_quantiles_that_are_none(quantiles):
    with pytest.raises(ValueError, match="quantiles"):
        tree(loss="quantile", quantiles=quantiles).fit(X, y)


def test_quantile_models_work_with_cross_validation():
    predicted = cross_val_predict(tree(loss="quantile"), X, y, cv=3)
    assert predicted.shape == (len(y), 3) and (np.diff(predicted) >= 0).all()


# -- intervals ----------------------------------------------------------------------------


def noisy(seed, n_rows=400):
    rng = np.random.default_rng(seed)
    table = rng.uniform(-1, 1, (n_rows, 2))
    return table, table[:, 0] + (0.3 + 0.5 * np.abs(table[:, 1])) * rng.standard_t(4, n_rows)


@pytest.mark.parametrize(
    "model",
    [
        tree(conformal=0.5, max_epochs=5),
        tree(conformal=200, loss="quantile", max_epochs=5),
        tree(conformal=0.5, loss="quantile", quantiles=0.5, max_epochs=5),
        forest(conformal=0.5, n_estimators=2, max_epochs=5),
        forest(bootstrap=True, n_estimators=15, max_epochs=5),
    ],
    ids=["tree", "quantiles", "median", "forest", "out of bag"],
)
@pytest.mark.parametrize("coverage", [0.9, 0.6])
def test_intervals_cover_what_they_promise(model, coverage):
    shares = []
    for seed in range(12):
        fitted = clone(model).set_params(random_state=seed).fit(*noisy(seed))
        table, target = noisy(1000 + seed)
        low, high = fitted.predict_interval(table, coverage).T
        assert (low <= high).all()
        shares.append(np.mean((low <= target) & (target <= high)))
    # 200 calibration rows each: the standard deviation of this mean is about .01
    assert np.mean(shares) == pytest.approx(coverage, abs=0.035)


def test_intervals_of_quantiles_are_wider_where_the_noise_is():
    table, target = noisy(0, 3000)
    model = tree(conformal=0.3, loss="quantile", max_epochs="auto").fit(table, target)
    calm, wild = model.predict_interval([[0.0, 0.0], [0.0, 1.0]])
    assert np.ptp(wild) > 1.3 * np.ptp(calm)


def test_intervals_of_counts_are_wider_where_the_mean_is_higher_and_not_negative():
    rng = np.random.default_rng(0)
    table = rng.uniform(-1, 1, (2000, 1))
    target = rng.poisson(np.exp(1 + 2 * table[:, 0]))
    model = tree(conformal=0.3, loss="poisson").fit(table, target)
    few, many = model.predict_interval([[-1.0], [1.0]])
    assert few[0] == 0.0 and np.ptp(many) > 2 * np.ptp(few)


def test_intervals_of_several_targets():
    model = tree(conformal=0.3).fit(X, Y)
    ends = model.predict_interval(X)
    assert ends.shape == (len(y), 2, 3)
    inside = ((ends[:, 0] <= Y) & (ends[:, 1] >= Y)).mean(axis=0)
    assert (inside > 0.8).all()


def test_rows_to_calibrate_on_are_not_trained_on():
    target = y + np.random.default_rng(0).normal(size=len(y))  # no two residuals are equal
    held = tree(conformal=0.25).fit(X, target)
    n_held = round(0.25 * len(y))
    assert held.calibration_.residuals.shape == (n_held, 1)
    # residuals of the rows held out: those rows can be changed without a change of the tree
    residual = held.calibration_.residuals[:, 0]
    off = (target - held.predict(X))[:, np.newaxis]
    is_held = np.isclose(off, residual, rtol=0, atol=1e-9).any(axis=1)
    assert is_held.sum() == n_held
    alone = tree().fit(X[~is_held], target[~is_held])
    np.testing.assert_array_equal(alone.predict(X), held.predict(X))


def test_warm_starts_do_not_train_on_rows_to_calibrate_on():
    rng, held_out = np.random.RandomState(0), []
    model = tree(conformal=0.25, warm_start=True, random_state=rng)
    for _ in range(2):
        residual = model.fit(X, y).calibration_.residuals[:, 0]
        off = (y - model.predict(X))[:, np.newaxis]
        held_out.append(np.isclose(off, residual, rtol=1e-9, atol=1e-9).any(axis=1))
    np.testing.assert_array_equal(*held_out)


def test_a_weight_of_two_is_two_rows_to_calibrate_on():
    values, ones = np.zeros((1, 1)), np.ones((1, 1))
    twice = Calibration(np.array([[1.0], [1.0], [2.0], [3.0], [4.0]]), np.ones(5))
    once = Calibration(np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([2.0, 1.0, 1.0, 1.0]))
    for coverage in (0.2, 0.4, 0.6, 0.8):
        np.testing.assert_array_equal(
            calibrated_interval(values, ones, twice, coverage),
            calibrated_interval(values, ones, once, coverage),
        )


def test_weighted_quantiles_are_those_of_repeated_values():
    rng = np.random.default_rng(0)
    values, times = rng.normal(size=30), rng.integers(1, 5, 30)
    for q in (0.01, 0.25, 0.5, 0.99):
        expected = np.quantile(np.repeat(values, times), q, method="inverted_cdf")
        assert weighted_quantile(values, times.astype(float), q) == expected


def test_intervals_that_cannot_be_had():
    with pytest.raises(ValueError, match=r"fit it with conformal=0.2.*bootstrap=True"):
        tree().fit(X, y).predict_interval(X)
    model = tree(conformal=20).fit(X, y)
    with pytest.raises(ValueError, match=r"coverage=0.99 needs 99 rows to calibrate on, .* 20"):
        model.predict_interval(X, 0.99)
    for coverage in (0, 1, -0.5, 90):
        with pytest.raises(ValueError, match="coverage must be between 0 and 1"):
            model.predict_interval(X, coverage)
    with pytest.raises(TypeError, match="coverage must be a number"):
        model.predict_interval(X, "0.9")
    with pytest.raises(ValueError, match=r"conformal=442 leaves 0 of 442 rows"):
        tree(conformal=442).fit(X, y)
    with pytest.raises(ValueError, match=r"partial_fit gets a part of it"):
        tree(conformal=0.2).partial_fit(X, y)


def test_mapie_takes_our_regressors():
    mapie = pytest.importorskip("mapie.regression", reason="MAPIE is not installed")
    table, target = noisy(0, 900)
    for model in (tree(), forest()):
        conformal = mapie.SplitConformalRegressor(model, confidence_level=0.9, prefit=False)
        conformal.fit(table[:300], target[:300]).conformalize(table[300:600], target[300:600])
        _, ends = conformal.predict_interval(table[600:])
        low, high = ends[:, 0, 0], ends[:, 1, 0]
        covered = np.mean((low <= target[600:]) & (target[600:] <= high))
        assert covered == pytest.approx(0.9, abs=0.06)


# -- several labels -----------------------------------------------------------------------

LABELS = make_multilabel_classification(400, n_features=12, random_state=0)


@pytest.mark.parametrize(
    "model",
    [
        BNeuralTClassifier(**FAST),
        BNeuralForestClassifier(**FAST, n_estimators=3, bootstrap=True),
        flat(
            BNeuralTClassifier,
            **FAST,
            loss="squared_error",
            scale="minmax",
            output_activation="sigmoid",
        ),
    ],
    ids=["tree", "forest", "squared error"],
)
def test_several_labels(model, tmp_path):
    table, labels = LABELS
    model = clone(model).fit(table[:300], labels[:300])
    shares = model.predict_proba(table)
    assert shares.shape == labels.shape and (shares > 0).all() and (shares < 1).all()
    np.testing.assert_array_equal(model.predict(table), shares > 0.5)
    np.testing.assert_array_equal(model.predict(table), model.decision_function(table) > 0)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(table)), shares, rtol=1e-6)
    right = np.mean(model.predict(table[300:]) == labels[300:])
    assert right > np.maximum(labels.mean(axis=0), 1 - labels.mean(axis=0)).mean() + 0.02
    other = clone(model).fit(table[:300], sparse.csr_array(labels[:300]))
    np.testing.assert_array_equal(other.predict_proba(table), shares)
    model.save(tmp_path / "model.json")
    np.testing.assert_array_equal(load_model(tmp_path / "model.json").predict_proba(table), shares)


def test_probabilities_of_labels_are_independent_of_each_other():
    table, labels = load_iris().data, np.ones((150, 2), dtype=int)
    labels[:, 1] = load_iris().target == 0
    shares = BNeuralTClassifier(**FAST).fit(table, labels).predict_proba(table)
    assert (shares[:, 0] > 0.9).all()  # all rows have the first label
    assert ((shares[:, 1] > 0.5) == labels[:, 1]).all()


def test_labels_with_partial_fit_and_validation_rows():
    table, labels = LABELS
    model = BNeuralTClassifier(**FAST).partial_fit(table, labels, classes=range(5))
    assert model.partial_fit(table, labels).predict(table).shape == labels.shape
    stopped = BNeuralTClassifier(early_stopping=True, **FAST).fit(table, labels)
    assert 0.5 < stopped.history_["val_score"].max() <= 1
    with pytest.raises(ValueError, match="y has 4 columns, the model was trained with 5"):
        model.partial_fit(table, labels[:, :4])
    with pytest.raises(ValueError, match="y has 1 columns, the model was trained with 5"):
        model.partial_fit(table, labels[:, 0])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"class_weight": "balanced"}, "class_weight='balanced' is for rows of one class each"),
        ({"loss": "squared_error"}, "needs output_activation='sigmoid'"),
        ({"monotonic_cst": [1] + [0] * 11}, "monotonic_cst needs two classes, y has 5 columns"),
    ],
)
def test_settings_that_do_not_go_with_several_labels(parameters, message):
    with pytest.raises(ValueError, match=message):
        flat(BNeuralTClassifier, **FAST, **parameters).fit(*LABELS)


# -- files --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        tree(loss="quantile", quantiles=(0.1, 0.9), conformal=0.2),
        forest(loss="poisson", bootstrap=True),
        tree(loss=Huber(delta=0.2), monotonic_cst=[0, 0, 1] + [0] * 7),
    ],
    ids=["quantile", "poisson", "huber"],
)
def test_files_hold_all_that_predicting_needs(model, tmp_path):
    model = clone(model).fit(X, y)
    model.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.get_params() == model.get_params()
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    if model.calibration_ is not None:
        np.testing.assert_array_equal(loaded.predict_interval(X), model.predict_interval(X))
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == (tmp_path / "model.json").read_text()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"n_columns":1', '"n_columns":0', '"targets" is'),
        ('"multilabel":false', '"multilabel":1', '"targets" is'),
        ('"weight":[', '"weight":[-1.0,', "calibration"),
        ('"weight":[1.0', '"weight":[0.0', "positive weight"),
        ('"residuals":[', '"residuals":["x",', "finite numbers"),
    ],
)
def test_files_that_are_not_right(old, new, message, tmp_path):
    model = tree(loss="quantile", quantiles=(0.1, 0.9), conformal=20).fit(X, y)
    path = tmp_path / "model.json"
    model.save(path)
    text = path.read_text().replace(": ", ":").replace(", ", ",")
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ModelFileError, match=message):
        load_model(path)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("loss", {"name": "pinball", "quantiles": [0.1, 9]}, '"loss".*quantiles'),
        ("loss", {"name": "pinball", "quantiles": [0.1]}, "has 2 outputs, the model needs 1"),
        ("loss", {"name": "cross_entropy", "label_smoothing": 0.0}, "not one of numbers"),
        ("constraints", [1, 2], '"constraints"'),
        ("constraints", {"bmi": 1}, '"constraints"'),
    ],
)
def test_files_whose_loss_or_constraints_are_not_right(key, value, message, tmp_path):
    path = tmp_path / "model.json"
    tree(loss="quantile", quantiles=(0.1, 0.9)).fit(X, y).save(path)
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    with pytest.raises(ModelFileError, match=message):
        load_model(path)


def test_settings_of_a_file_are_those_of_the_next_fit(tmp_path):
    path = tmp_path / "model.json"
    model = tree(loss="poisson").fit(X, y)
    model.save(path)
    content = json.loads(path.read_text())
    content["settings"]["loss"] = "squared_error"
    path.write_text(json.dumps(content))
    loaded = load_model(path)
    assert loaded.loss == "squared_error"
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    model.set_params(loss="squared_error")
    np.testing.assert_array_equal(model.predict(X), loaded.predict(X))


@pytest.mark.parametrize("n_columns", [2**31, 2**32 + 1])
@pytest.mark.parametrize(
    "kind", [BNeuralTClassifier, BNeuralTRegressor, BNeuralForestRegressor, EvolvedTreeRegressor]
)
def test_targets_of_too_many_columns_are_refused_before_they_are_read(kind, n_columns):
    wide = np.broadcast_to(0.0, (len(X), n_columns))
    with pytest.raises(ValueError, match=f"y has {n_columns} columns, and a model predicts at"):
        kind().fit(X, wide)
