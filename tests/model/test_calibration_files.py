"""Calibrations of intervals in model files are checked when they are read."""

import json

import numpy as np
import pytest

from bneuralt import BNeuralTRegressor, load_model
from bneuralt.files import ModelFileError

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
