"""Inputs that integer code computes from whole numbers."""

import subprocess

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bneuralt import BNeuralForestRegressor, BNeuralTClassifier, BNeuralTRegressor
from bneuralt.export.integer.number_units import MOST_PRODUCT, TOP, _whole_line
from bneuralt.lines import ClampedLine

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)) * [1.0, 1e4, 1e-4, 1.0] + [0.0, 1e6, 0.0, 0.0]
Y = np.abs(X[:, 0]) + np.minimum(X[:, 1] - 1e6, 5e3) / 1e4 + 1e4 * X[:, 2]
SENTINELS = np.where(RNG.random(X.shape) < 0.1, -999999.0, X)
GAPS = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-O1"]
SANITIZERS = ["-fsanitize=undefined,address", "-fno-sanitize-recover=all"]

sizes = st.floats(1e-6, 1e6)


@given(
    ends=st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=5, unique=True).map(sorted),
    heights=st.lists(st.floats(-100, 100), min_size=4, max_size=4),
    number=st.tuples(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6)),
    value=st.tuples(st.floats(-100, 100), sizes),
    top=st.sampled_from([127, 32767]),
)
def test_no_product_or_sum_exceeds_32_bits(ends, heights, number, value, top):
    lines = [
        ClampedLine(low, height / (high - low), min(height, 0.0), max(height, 0.0))
        for low, high, height in zip(ends[:-1], ends[1:], heights, strict=False)
        if abs(height) > 1e-9 and high - low > 1e-3
    ]
    whole = _whole_line(lines, number, value, top)
    for factor, constant, shift, most, sign in whole.terms:
        assert 0 <= factor <= TOP
        assert abs(constant) <= MOST_PRODUCT
        assert 0 <= shift <= 28
        assert most >= 0
        assert sign in (-1, 1)
        assert TOP * factor + abs(constant) < 2**31
    x = np.array([-TOP, 0, TOP])
    assert (np.abs(whole(x, top)) <= top).all()


def run(model, table, tmp_path, dtype):
    """The output of the program that `main=True` writes, as numbers, with sanitizers."""
    model.to_c(tmp_path / "m.c", dtype=dtype, main=True)
    subprocess.run(
        ["gcc", *FLAGS, *SANITIZERS, "m.c", "m_main.c", "-o", "m", "-lm"], cwd=tmp_path, check=True
    )
    rows = "\n".join(
        ",".join("" if np.isnan(x) else repr(x) for x in row) for row in table.tolist()
    )
    result = subprocess.run(["./m"], cwd=tmp_path, input=rows, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return [line.split(",") for line in result.stdout.splitlines()[1:]]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["int8", "int16"])
@pytest.mark.parametrize("table", [X, GAPS, SENTINELS], ids=["numbers", "gaps", "sentinels"])
@pytest.mark.parametrize("is_bent", [False, True], ids=["ramps", "bent"])
@pytest.mark.parametrize(
    "model",
    [
        BNeuralTRegressor(random_state=0),
        BNeuralTRegressor(scale="standard", ramps=8, random_state=0),
        BNeuralForestRegressor(n_estimators=2, random_state=1),
    ],
    ids=["tree", "standard", "forest"],
)
def test_code_computes_ramps_of_columns(model, is_bent, table, dtype, tmp_path):
    model = type(model)(**model.get_params(deep=False)).fit(table, Y)
    model = model.simplify() if is_bent else model
    rounded = model.quantize(dtype)
    integers = rounded.integer_model_
    assert integers.inputs.numbers
    code = model.to_c(tmp_path / "row.h", dtype=dtype)
    n_gaps = sum(len(f.sentinels) > 0 and f.has_gaps for f in model.encoder_.features)
    assert f"ROW_N_FEATURES {4 + n_gaps}" in code
    rows = np.vstack([table, 3.0 * table])
    written = np.array(run(model, rows, tmp_path, dtype), dtype=float)[:, 0]
    np.testing.assert_array_equal(written, rounded.predict(rows))
    inside = np.abs(rounded.predict(table) - model.predict(table)).max()
    assert inside <= rounded.error_bound_


def test_classes_and_flat_columns(tmp_path):
    table = np.column_stack([X, np.full(len(X), 7.0)])
    model = BNeuralTClassifier(random_state=0).fit(table, Y > 1.0)
    lines = run(model, table, tmp_path, "int8")
    expected = model.quantize("int8").predict_proba(table)
    np.testing.assert_array_equal(np.array([line[1:] for line in lines], dtype=float), expected)


def test_one_ramp_needs_no_arithmetic(tmp_path):
    """The feature is the ramp itself, whose range is that of the column in between."""
    x = RNG.uniform(0, 100, (400, 1))
    model = BNeuralTRegressor(n_weights=3, ramps=4, random_state=0).fit(x, x[:, 0])
    (leaf,) = model.encoder_.inputs_of(0)[1:2]
    tree = model.tree_.with_leaf_inputs(np.full(model.tree_.n_leaves, leaf), model.tree_.parameters)
    model = model._with_model(model.model_.in_raw_units().with_trees([tree]))
    rounded = model.quantize("int8")
    assert not rounded.integer_model_.inputs.numbers
    code = model.to_c(tmp_path / "m.h", dtype="int8")
    assert "M_N_FEATURES 1" in code and "m_line" not in code
    written = np.array(run(model, x, tmp_path, "int8"), dtype=float)[:, 0]
    np.testing.assert_array_equal(written, rounded.predict(x))
