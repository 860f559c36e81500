"""Columns with numbers that are hard to use: a fit, or one sentence."""

import warnings

import numpy as np
import pandas as pd
import pytest

from bneuralt import BNeuralForestClassifier, BNeuralTClassifier, BNeuralTRegressor
from bneuralt.fitting.large_integers import RoundedIntegersWarning
from bneuralt.tables.value_warnings import SentinelWarning

N_ROWS = 300
Z = np.sort(np.random.default_rng(0).normal(size=N_ROWS))
OTHER = np.random.default_rng(1).normal(size=N_ROWS)
Y = (Z > 0) + 0.5 * (Z > 1)

#: Columns that say what y is, and the r2 that they allow.
USEFUL = {
    "two values": (np.where(Z > 0, 3.0, 5.0), 0.85),
    "two values far from each other": (np.where(Z > 0, 1e300, -1e300), 0.85),
    "two numbers that look like sentinels": (np.where(Z > 0, -999.0, 999999.0), 0.85),
    "tiny": (Z * 1e-300, 0.9),
    "huge": (Z * 1e300, 0.9),
    "30 decades": (10.0 ** (5 * Z), 0.85),
    "half precision": (Z.astype(np.float16), 0.9),
    "whole numbers at 2**52": (2**52 + np.arange(N_ROWS), 0.9),
}
#: Columns that say nothing.
USELESS = {
    "one value": np.full(N_ROWS, 7.0),
    "all cells are sentinels": np.full(N_ROWS, -999.0),
    "zeros and one outlier": np.where(np.arange(N_ROWS) == 3, 1e9, 0.0),
    "differences below all numbers": np.where(OTHER > 0, 5e-324, 0.0),
    "all missing": np.full(N_ROWS, np.nan),
}
INFINITE = {
    "one": np.where(np.arange(N_ROWS) == 41, np.inf, Z),
    "both": np.where(np.abs(Z) > 1.5, np.copysign(np.inf, Z), Z),
    "all": np.full(N_ROWS, np.inf),
}


def table(column, is_frame):
    if is_frame:
        return pd.DataFrame({"other": OTHER, "c": column})
    return np.column_stack([OTHER, np.asarray(column, dtype=np.float64)])


@pytest.fixture(params=[True, False], ids=["frame", "array"])
def is_frame(request):
    return request.param


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", USEFUL)
def test_useful_columns_are_used(name, is_frame):
    column, score = USEFUL[name]
    X = table(column, is_frame)
    assert BNeuralTRegressor(random_state=0).fit(X, Y).score(X, Y) > score
    classifier = BNeuralTClassifier(random_state=0, max_epochs=30).fit(X, Y > 0.5)
    # the expected share of the linear part is too large for steps: 0.978 without it
    assert classifier.score(X, Y > 0.5) > (0.94 if name == "30 decades" else 0.97)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", USELESS)
def test_columns_that_say_nothing_do_no_harm(name, is_frame):
    X = table(USELESS[name], is_frame)
    X_both = np.column_stack([np.asarray(X), Z])
    model = BNeuralTRegressor(random_state=0).fit(X_both, Y)
    assert model.score(X_both, Y) > 0.9
    forest = BNeuralForestClassifier(n_estimators=2, max_epochs=5, random_state=0).fit(X, Y > 0.5)
    assert np.isfinite(forest.predict_proba(X)).all()


@pytest.mark.parametrize("name", INFINITE)
def test_infinite_cells_are_refused_with_column_and_row(name, is_frame):
    with pytest.raises(ValueError, match=r"infinity.*finite") as caught:
        BNeuralTRegressor().fit(table(INFINITE[name], is_frame), Y)
    text = str(caught.value)
    assert ("column 'c'" if is_frame else "column 1") in text
    assert f"row {np.argmin(np.isfinite(INFINITE[name]))}" in text


def test_a_column_of_sentinels_with_a_few_numbers_is_named(is_frame):
    column = np.where(np.arange(N_ROWS) % 60 == 0, Z, -999.0)
    with pytest.warns(SentinelWarning, match=r"-999 in 295 rows"):
        BNeuralTRegressor(max_epochs=2).fit(table(column, is_frame), Y)


def test_quartiles_that_coincide_leave_the_rest_of_the_column(is_frame):
    column = np.where(np.abs(Z) > 0.8, Z, 0.0)
    X = table(column, is_frame)
    target = np.where(column > 0.0, 1.0, 0.0)
    assert BNeuralTRegressor(random_state=0).fit(X, target).score(X, target) > 0.95


@pytest.mark.parametrize("column", [2**60 + np.arange(N_ROWS), 2**53 + np.arange(N_ROWS)])
@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_whole_numbers_that_become_the_same_are_named(column, dtype):
    frame = pd.DataFrame({"other": OTHER, "c": column.astype(dtype)})
    with pytest.warns(RoundedIntegersWarning, match="column 'c'") as caught:
        BNeuralTRegressor(max_epochs=2).fit(frame, Y)
    assert caught[0].filename == __file__
    with pytest.warns(RoundedIntegersWarning, match="column 'x1'"):
        BNeuralTRegressor(max_epochs=2).fit(
            np.column_stack([np.arange(N_ROWS), column]).astype(dtype), Y
        )


def test_images_have_no_ramps():
    pixels = np.random.default_rng(0).integers(0, 256, size=(100, 20), dtype=np.uint8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = BNeuralTClassifier(max_epochs=2).fit(pixels, pixels[:, 0] > 127)
    assert model.encoder_.lines is None
    assert len(model.encoder_.inputs) == 20
