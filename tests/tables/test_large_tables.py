"""Tables too large to be copied: in files, in blocks, with the same results as in memory."""

import tracemalloc

import numpy as np
import pytest
from numpy.lib.format import open_memmap

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    TrainingSettings,
    arrays,
)
from bneuralt.tables.columns import as_frame
from bneuralt.tables.encoder import learn_encoder
from bneuralt.training import epoch_order
from tests.helpers.needs import needs

N_ROWS, N_COLUMNS = 20_000, 100
# Without ramps: statistics of a thousand rows of all inputs would be larger than the table.
ESTIMATORS = [
    BNeuralTClassifier(n_weights=50, ramps=0, max_epochs=2, random_state=0),
    BNeuralTRegressor(n_weights=50, ramps=0, max_epochs=2, random_state=0),
    BNeuralForestClassifier(
        n_estimators=2, n_weights=50, ramps=0, max_epochs=2, bootstrap=True, random_state=0
    ),
    BNeuralForestRegressor(
        n_estimators=2, n_weights=50, ramps=0, max_epochs=2, conformal=0.2, random_state=0
    ),
]


@pytest.fixture
@needs("slow")
def every_table_is_large(monkeypatch):
    monkeypatch.setattr(arrays, "LARGEST_COPY", 2**17)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Write a table of 8 MB, sorted by its target, with the target."""
    folder = tmp_path_factory.mktemp("large")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_ROWS, N_COLUMNS), dtype=np.float32)
    X = X[np.argsort(X[:, 0] + X[:, 1])]
    for name, values in {"X": X, "y": (X[:, 0] + X[:, 1]).astype(np.float64)}.items():
        out = open_memmap(folder / f"{name}.npy", "w+", values.dtype, values.shape)
        out[:] = values
    return folder


def load(files):
    return tuple(np.load(files / f"{name}.npy", mmap_mode="r") for name in "Xy")


def target_for(estimator, y):
    return y > 0 if "Classifier" in type(estimator).__name__ else y


# -- the order of rows --------------------------------------------------------------------


@pytest.mark.parametrize(("n_rows", "block_rows"), [(10_007, 10), (640, 10), (641, 10), (5, 1)])
def test_windows_of_whole_blocks_are_shuffled(n_rows, block_rows):
    order = epoch_order(3, 1, n_rows, block_rows)
    assert sorted(order.tolist()) == list(range(n_rows))
    n_blocks = [
        len(set((order[i : i + 64 * block_rows] // block_rows).tolist()))
        for i in range(0, n_rows, 64 * block_rows)
    ]
    assert max(n_blocks) <= 65  # the short last block may let a window begin within a block
    assert not np.array_equal(order, epoch_order(3, 2, n_rows, block_rows))


def test_one_block_is_a_shuffle_of_all_rows():
    assert np.array_equal(epoch_order(3, 1, 50, 50), epoch_order(3, 1, 50))
    assert np.array_equal(epoch_order(3, 1, 50, 1000), epoch_order(3, 1, 50))


def test_block_rows_are_checked():
    with pytest.raises(ValueError, match="block_rows is 0, it must be a whole number from 1"):
        TrainingSettings(block_rows=0)


# -- arrays in files ----------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_a_file_is_fitted_without_a_copy(estimator, files, every_table_is_large):
    X, y = load(files)
    target = target_for(estimator, y)
    tracemalloc.start()
    estimator.fit(X, target)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.75 * X.nbytes
    in_file = estimator.predict(X)
    in_memory = estimator.fit(np.array(X), np.array(target)).predict(np.array(X))
    np.testing.assert_array_equal(in_file, in_memory)
    assert estimator.score(X, target) > 0.9


def test_small_tables_do_not_depend_on_where_they_are(files):
    X, y = load(files)
    fits = [BNeuralTRegressor(max_epochs=1, random_state=0).fit(*pair) for pair in ((X, y),)]
    fits.append(BNeuralTRegressor(max_epochs=1, random_state=0).fit(np.array(X), np.array(y)))
    assert fits[0].tree_ == fits[1].tree_


def test_rows_of_weight_0_are_not_used(files, every_table_is_large):
    X, y = load(files)
    target, weight = np.array(y), np.ones(N_ROWS)
    target[::2], weight[::2] = 1e6, 0.0
    model = BNeuralTRegressor(n_weights=50, max_epochs=2, random_state=0)
    assert model.fit(X, target, weight).score(X, y) > 0.9


# -- encoded tables -----------------------------------------------------------------------


def test_gaps_are_filled_in_a_file(files, every_table_is_large):
    X, y = load(files)
    X = np.array(X)
    X[::7, 3] = np.nan
    encoder = learn_encoder(X)
    encoded = encoder.encode(X)
    assert isinstance(encoded, np.memmap)
    assert np.array_equal(encoded, np.concatenate([encoder.encode(X[:10]), encoder.encode(X[10:])]))
    model = BNeuralTRegressor(n_weights=50, max_epochs=2, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9


def test_infinity_is_found_in_any_block(files, every_table_is_large):
    X, y = load(files)
    X = np.array(X)
    X[0, 0], X[15_000, 3] = np.nan, np.inf
    with pytest.raises(ValueError, match=r"column 3 of X has infinity in row 15000"):
        BNeuralTRegressor(random_state=0).fit(X, y)


def test_arrow_files_are_read_in_blocks(files, tmp_path, every_table_is_large):
    pa = pytest.importorskip("pyarrow")
    X, y = load(files)
    names = [f"x{j}" for j in range(N_COLUMNS)]
    table = pa.table({name: np.ascontiguousarray(X[:, j]) for j, name in enumerate(names)})
    with pa.OSFile(str(tmp_path / "X.arrow"), "wb") as out, pa.ipc.new_file(out, table.schema) as w:
        w.write_table(table, max_chunksize=3_000)
    with pa.memory_map(str(tmp_path / "X.arrow")) as source:
        mapped = pa.ipc.open_file(source).read_all()
        model = BNeuralTRegressor(n_weights=50, scale="standard", max_epochs=2, random_state=0)
        tracemalloc.start()
        model.fit(mapped, y)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 0.75 * X.nbytes
        assert model.feature_names_in_.tolist() == names
        predicted = model.predict(mapped)
    same = BNeuralTRegressor(n_weights=50, scale="standard", max_epochs=2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(predicted, same.predict(X))


@pytest.mark.parametrize("n_bytes", [2**10, 2**30])
def test_arrow_columns_of_all_kinds(n_bytes, monkeypatch):
    pa = pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    monkeypatch.setattr(arrays, "LARGEST_COPY", n_bytes)
    monkeypatch.setattr("bneuralt.tables.encoder.BLOCK_BYTES", 700)
    n = 200
    frame = pd.DataFrame(
        {
            "whole": pd.array([None if i % 9 == 0 else i for i in range(n)], dtype="Int64"),
            "text": ["red", "green", None, "blue", " green"] * (n // 5),
            "yes": [bool(i % 3) for i in range(n)],
            "day": pd.date_range("2024-01-01", periods=n, freq="D"),
        }
    )
    chunks = [pa.Table.from_pandas(part) for part in (frame[:70], frame[70:])]
    read = as_frame(pa.concat_tables(chunks))
    encoder = learn_encoder(as_frame(frame), names=read.names)
    assert learn_encoder(read, names=read.names) == encoder
    np.testing.assert_array_equal(encoder.encode(read), encoder.encode(as_frame(frame)))
    rows = np.array([3, 1, 150])
    taken = encoder.encode(read.take(rows))
    np.testing.assert_array_equal(taken, encoder.encode(as_frame(frame).take(rows)))


def test_a_table_of_the_largest_size_is_still_copied():
    assert not arrays.is_large(arrays.LARGEST_COPY)
    assert arrays.is_large(arrays.LARGEST_COPY + 1)
