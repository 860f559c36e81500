"""Prediction intervals: their quantiles, and calibrations in model files."""

import json

import numpy as np
import pytest

from bneuralt import BNeuralTRegressor, load_model
from bneuralt.files import ModelFileError
from bneuralt.model.intervals import Calibration, calibrated_interval

X = np.random.default_rng(0).normal(size=(60, 2))


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.json"
    model = BNeuralTRegressor(conformal=0.5, max_epochs=2, n_weights=15, random_state=0)
    model.fit(X, X[:, 0]).save(path)
    return path.read_text()


@pytest.mark.parametrize(
    ("key", "change", "message"),
    [
        ("weight", lambda w: [0.0, *w[1:]], "a positive weight for each row"),
        ("weight", lambda w: [*w[1:], -1.0], "a positive weight for each row"),
        ("weight", lambda w: w[1:], "a positive weight for each row"),
        ("weight", lambda w: [], "is not a list of finite numbers"),
        ("weight", lambda w: ["x", *w[1:]], "is not a list of finite numbers"),
        ("residuals", lambda r: r[1:], "must have 1 residuals"),
        ("residuals", lambda r: [[1e999], *r[1:]], "finite|not a"),
    ],
)
def test_damaged_calibrations(content, tmp_path, key, change, message):
    data = json.loads(content)
    data["calibration"][key] = change(data["calibration"][key])
    path = tmp_path / "model.json"
    path.write_text(json.dumps(data).replace("Infinity", "1e999"))
    with pytest.raises(ModelFileError, match=message):
        load_model(path)


def test_an_intact_calibration_gives_the_same_intervals(content, tmp_path):
    path = tmp_path / "model.json"
    path.write_text(content)
    loaded = load_model(path)
    low, high = loaded.predict_interval(X, 0.8).T
    assert (low <= high).all()


@pytest.mark.parametrize(
    ("coverage", "levels"), [(0.9, (5, 95)), (0.5, (25, 75)), (0.7, (15, 85)), (0.92, (5, 95))]
)
def test_intervals_lie_between_the_quantiles_that_leave_out_as_much_below_as_above(
    coverage, levels
):
    percents = np.arange(5.0, 100.0, 5.0)
    exact = Calibration(np.zeros((50, percents.size)), np.ones(50))
    values, spread = percents[np.newaxis], np.ones((1, percents.size))
    ends = calibrated_interval(values, spread, exact, coverage, percents / 100)
    assert ends.ravel().tolist() == list(levels)


def test_intervals_of_quantiles_are_as_wide_as_the_held_out_rows_require():
    """Conformalized quantile regression (Romano, Patterson and Candes, 2019), written out."""
    rng = np.random.default_rng(0)
    quantiles, target = np.array([0.1, 0.5, 0.9]), rng.normal(size=99)
    predicted = np.sort(rng.normal(size=(99, 3)), axis=1)
    calibration = Calibration(target[:, np.newaxis] - predicted, np.ones(99))
    scores = sorted(
        max(low - t, t - high) for (low, _, high), t in zip(predicted, target, strict=True)
    )
    reach = scores[79]  # 80 of 99 rows, and of 100 with the new one
    new = np.array([[-9.0, 0.0, 9.0]])
    ends = calibrated_interval(new, np.ones((1, 3)), calibration, 0.8, quantiles)
    np.testing.assert_allclose(ends.ravel(), [-9.0 - reach, 9.0 + reach])
