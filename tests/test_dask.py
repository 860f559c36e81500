"""Forests over the workers of a Dask cluster, on the partitions that each of them holds."""

import os
import pickle
import signal
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import bneuralt
from tests.helpers.block_tables import sales

distributed = pytest.importorskip("distributed")
dd = pytest.importorskip("dask.dataframe")
da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")

from bneuralt.dask import BNeuralForestClassifier, BNeuralForestRegressor  # noqa: E402
from bneuralt.estimators import cluster as cluster_module  # noqa: E402

SALES = sales(6000)
COLUMNS = ["size", "age", "shop", "sold", "rooms"]
FAST = {"n_estimators": 4, "n_weights": 60, "max_epochs": 5, "random_state": 0}


OPTIONS = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}


@pytest.fixture(scope="module")
def client():
    with distributed.LocalCluster(**OPTIONS) as cluster, distributed.Client(cluster) as client:
        yield client


def persisted():
    frame = dd.from_pandas(SALES, npartitions=6).persist()
    distributed.wait(frame)
    return frame


@pytest.fixture(scope="module")
def frame(client):
    return persisted()


@pytest.mark.parametrize(
    ("kind", "target"), [(BNeuralForestRegressor, "price"), (BNeuralForestClassifier, "kind")]
)
def test_a_forest_over_partitions_is_an_ordinary_forest(client, frame, kind, target, tmp_path):
    X, y = SALES[COLUMNS], SALES[target]
    model = kind(**FAST).fit(frame[COLUMNS], frame[target])
    local_type = getattr(bneuralt, kind.__name__)
    expected = local_type(**FAST).fit(X, y)
    assert model.score(X, y) > expected.score(X, y) - 0.03
    assert model.score(frame[COLUMNS], frame[target]) == pytest.approx(model.score(X, y))
    assert model.encoder_ == expected.encoder_  # all rows are in the sample
    assert model.target_names_ == (target,) and len(model.feature_importances_) == 5
    predicted = model.predict(frame[COLUMNS])
    assert isinstance(predicted, dd.Series)
    assert predicted.compute().tolist() == model.predict(X).tolist()
    local = model.to_local()
    assert type(local) is local_type and local.predict(X).tolist() == model.predict(X).tolist()
    model.save(tmp_path / "model.json")
    loaded = bneuralt.load_model(tmp_path / "model.json")
    assert type(loaded) is local_type
    assert loaded.predict(X).tolist() == model.predict(X).tolist()
    assert model.explain(X.head(3)) is not None and "def " in model.to_python()
    copy = pickle.loads(pickle.dumps(model.set_params(client=client)))
    assert copy.client is None and copy.predict(X).tolist() == model.predict(X).tolist()
    assert clone(model).client is client
    if kind is BNeuralForestClassifier:
        shares = model.predict_proba(frame[COLUMNS]).compute()
        assert shares.columns.tolist() == model.classes_.tolist()
        np.testing.assert_allclose(shares, model.predict_proba(X))


def test_arrays_weights_and_the_client_of_the_constructor(client):
    rng = np.random.default_rng(0)
    X = rng.random((2000, 4))
    y, weight = X[:, 0] > X[:, 1], np.where(X[:, 2] > 0.5, 1.0, 0.0)
    X_dask = da.from_array(X, chunks=(500, 2))
    y_dask, weight_dask = (da.from_array(each, chunks=500) for each in (y, weight))
    model = BNeuralForestClassifier(**FAST, client=client).fit(X_dask, y_dask, weight_dask)
    assert model.classes_.tolist() == [False, True] and model.score(X_dask, y_dask) > 0.95
    np.testing.assert_array_equal(model.predict(X_dask).compute(), model.predict(X))
    np.testing.assert_allclose(model.predict_proba(X_dask).compute(), model.predict_proba(X))
    assert model.encoder_.ranges[2][0] > 0.5
    again = BNeuralForestClassifier(**FAST, client=client).fit(X, y, weight)
    assert again.score(X, y) > 0.95


def test_a_client_that_is_not_the_default_one():
    options = {**OPTIONS, "n_workers": 1, "processes": False}
    with (
        distributed.LocalCluster(**options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        frame = client.persist(dd.from_pandas(SALES, npartitions=2))
        model = BNeuralForestRegressor(**FAST, client=client).fit(frame[COLUMNS], frame["price"])
        assert model.score(frame[COLUMNS], frame["price"]) > 0.8


def transferred(client):
    """Return the number of bytes that workers got from each other."""
    logs = client.run(lambda dask_worker: list(dask_worker.transfer_incoming_log))
    return sum(entry["total"] for log in logs.values() for entry in log)


def test_rows_do_not_move_between_workers(client, frame):
    size = SALES[COLUMNS].memory_usage(deep=True).sum()
    distributed.wait(client.persist(frame))
    before = transferred(client)
    BNeuralForestRegressor(**FAST).fit(frame[COLUMNS], frame["price"])
    assert transferred(client) - before < 0.2 * size


def test_each_tree_is_trained_on_partitions_of_one_worker(client, frame, monkeypatch):
    monkeypatch.setattr(cluster_module, "ROWS_PER_TREE", 2000)
    X, y = frame[COLUMNS], frame["price"]
    parts = cluster_module._Cluster(client, X, y, None)
    held = parts.held
    assert sorted(i for numbers in held.values() for i in numbers) == list(range(6))
    for numbers in held.values():
        drawn = {tuple(parts._drawn(numbers, seed)) for seed in range(20)}
        assert all(set(each) <= set(numbers) and len(each) <= 2 for each in drawn)
        assert len(drawn) > 1 or len(numbers) <= 2


def kill_a_worker(cluster):
    worker = next(iter(cluster.workers.values()))
    os.kill(worker.pid, signal.SIGKILL)


@pytest.mark.parametrize("phase", ["loading", "_held", "summarize", "train", "during"])
def test_a_killed_worker_costs_time_only(monkeypatch, phase):
    with distributed.LocalCluster(**OPTIONS) as cluster, distributed.Client(cluster) as client:
        fit_and_kill(monkeypatch, phase, cluster, client)


def fit_and_kill(monkeypatch, phase, cluster, client):
    """Fit a forest while a worker is killed."""
    frame, model = persisted(), BNeuralForestRegressor(**FAST, client=client)
    if phase == "during":
        submit, n_calls = cluster_module._Cluster._submit, []

        def submit_and_kill(self, worker, function, *arguments):
            task = submit(self, worker, function, *arguments)
            n_calls.append(function)
            if len(n_calls) == 8:  # the training of some trees has begun
                time.sleep(0.2)
                kill_a_worker(cluster)
            return task

        monkeypatch.setattr(cluster_module._Cluster, "_submit", submit_and_kill)
    elif phase == "loading":
        delayed_parts = cluster_module._delayed_parts

        def kill_before(collection, name):
            if name == "y":
                kill_a_worker(cluster)
            return delayed_parts(collection, name)

        monkeypatch.setattr(cluster_module, "_delayed_parts", kill_before)
    else:
        method = getattr(cluster_module._Cluster, phase)

        def kill_first(self, *arguments):
            kill_a_worker(cluster)
            return method(self, *arguments)

        monkeypatch.setattr(cluster_module._Cluster, phase, kill_first)
    model.fit(frame[COLUMNS], frame["price"])
    assert len(model.estimators_) == 4
    assert model.score(SALES[COLUMNS], SALES["price"]) > 0.8


def test_empty_partitions_have_no_rows(client):
    parts = [SALES[:0], SALES[:3000], SALES[3000:3000], SALES[3000:]]
    frame = dd.from_map(lambda part: part, parts, meta=SALES[:0])
    model = BNeuralForestClassifier(**FAST).fit(frame[COLUMNS], frame["kind"])
    assert model.predict(frame[COLUMNS]).compute().shape == (6000,)
    assert model.predict_proba(frame[COLUMNS]).compute().shape == (6000, 3)


def test_what_is_wrong_is_named(client, frame):
    X, y, model = frame[COLUMNS], frame["price"], BNeuralForestRegressor(**FAST)
    for parameters, name in (({"conformal": 0.2}, "conformal"), ({"warm_start": True}, "warm_st")):
        with pytest.raises(ValueError, match=name):
            BNeuralForestRegressor(**{**FAST, **parameters}).fit(X, y)
    with pytest.raises(ValueError, match="X_val is not possible"):
        model.fit(X, y, X_val=X)
    with pytest.raises(TypeError, match="y is a Series, and X is a Dask collection"):
        model.fit(X, SALES["price"])
    with pytest.raises(ValueError, match="y is missing"):
        model.fit(X)
    of_others = dd.from_map(lambda i: SALES["price"][i * 3000 : (i + 1) * 3000], range(2))
    with pytest.raises(ValueError, match="X has 6 partitions, y or sample_weight has another"):
        model.fit(X, of_others)
    other = dd.from_map(lambda n: SALES["price"][:n], [1000] * 5 + [999], meta=SALES["price"][:0])
    with pytest.raises(ValueError, match="partition 5 of y has 999 rows, that of X has 1000"):
        model.fit(X, other)
    gap = SALES["price"].where(SALES.index != 4500)
    with pytest.raises(ValueError, match="partition 4 of y has missing values"):
        model.fit(X, dd.from_pandas(gap, npartitions=6))
    texts = [SALES[:3000], SALES[3000:].assign(rooms="many")]
    mixed = dd.from_map(lambda part: part, texts, meta=SALES[:0], enforce_metadata=False)
    with pytest.raises(ValueError, match="column 'rooms' has"):
        model.fit(mixed[COLUMNS], mixed["price"])
    with pytest.raises(ValueError, match="n_estimators"):
        BNeuralForestRegressor(n_estimators=0).fit(X, y)


def test_predictions_keep_the_index(client):
    frame = SALES.set_index(pd.Index([f"row {i}" for i in range(len(SALES))]))
    model = bneuralt.BNeuralForestRegressor(**FAST).fit(SALES[COLUMNS], SALES["price"])
    cluster_model = BNeuralForestRegressor(**FAST)
    vars(cluster_model).update(vars(model))
    predicted = cluster_model.predict(dd.from_pandas(frame[COLUMNS], npartitions=3, sort=False))
    assert predicted.compute().index.tolist() == frame.index.tolist()


def test_columns_of_one_frame_are_aligned_however_dask_plans_them(client, tmp_path):
    """Dask joins small files if few of their columns are read: y has fewer partitions than X."""
    wide = pd.concat([SALES, *(SALES[["size"]].add_suffix(f"_{i}") for i in range(12))], axis=1)
    for i in range(8):
        wide.iloc[i * 700 : (i + 1) * 700].to_parquet(tmp_path / f"{i}.parquet", index=False)
    table = dd.read_parquet(tmp_path)
    X, y = table.drop(columns=["price", "kind"]), table.price
    assert X.optimize().npartitions != y.optimize().npartitions
    model = BNeuralForestRegressor(**FAST).fit(X, y)
    weighted = BNeuralForestRegressor(**FAST).fit(X, y, sample_weight=table.rooms)
    both = BNeuralForestRegressor(**FAST).fit(X, table[["price", "size"]])
    local = wide.iloc[:5600]
    names = list(X.columns)
    assert model.score(local[names], local["price"]) > 0.8
    assert weighted.score(local[names], local["price"]) > 0.8
    assert both.predict(local[names]).shape == (5600, 2)
    other = dd.from_map(lambda i: SALES[["price"]].iloc[i * 100 : i * 100 + 100], range(3)).price
    with pytest.raises(ValueError, match="divide them in the same way, or take them from one"):
        BNeuralForestRegressor(**FAST).fit(X, other)


def test_targets_with_divisions_are_aligned_by_the_index(client, frame):
    X, y, model = frame[COLUMNS], frame["price"], BNeuralForestRegressor(**FAST)
    model.fit(X, y.repartition(npartitions=2))
    assert model.score(SALES[COLUMNS], SALES["price"]) > 0.9
    shifted = SALES["price"].set_axis(SALES.index + 3)
    for other in (SALES["price"][:5000], shifted):
        with pytest.raises(ValueError, match="of y has missing values"):
            model.fit(X, dd.from_pandas(other, npartitions=2))


@pytest.mark.parametrize("quantiles", [0.9, [0.1, 0.9]])
def test_quantiles_are_scored_as_by_the_ordinary_forest(client, frame, quantiles):
    model = BNeuralForestRegressor(**FAST, loss="quantile", quantiles=quantiles)
    model.fit(frame[COLUMNS], frame["price"])
    expected = model.to_local().score(SALES[COLUMNS], SALES["price"])
    assert model.score(frame[COLUMNS], frame["price"]) == pytest.approx(expected)


def test_columns_of_one_frame_with_texts_of_numbers(client, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "price": [f"{x:,.2f} EUR" for x in 4000 * rng.random(240)],
            "opens": [f"{h:02d}:30" for h in rng.integers(6, 12, 240)],
            "y": rng.integers(0, 2, 240),
        }
    )
    for i in range(24):  # which Dask joins where few columns are read
        table.iloc[10 * i : 10 * i + 10].to_parquet(tmp_path / f"{i:02d}.parquet", index=False)
    d = dd.read_parquet(tmp_path)
    X, y = table.drop(columns="y"), table["y"]
    model = BNeuralForestClassifier(**FAST).fit(d.drop(columns="y"), d.y)
    assert model.encoder_ == bneuralt.BNeuralForestClassifier(**FAST).fit(X, y).encoder_
    predicted = model.predict(d.drop(columns="y"))
    assert predicted.dtype == y.dtype and predicted.compute().tolist() == model.predict(X).tolist()
    assert model.score(d.drop(columns="y"), d.y) == model.score(X, y)


def test_targets_with_units_are_numbers(client):
    frame = pd.DataFrame({"a": np.linspace(0, 9, 90)})
    frame["y"] = [f"{1000 * a:,.2f} EUR" for a in frame["a"]]
    d = dd.from_pandas(frame, npartitions=3)
    model = BNeuralForestRegressor(n_estimators=2, random_state=0).fit(d[["a"]], d["y"])
    assert model.score(d[["a"]], d["y"]) > 0.9


def test_arrays_with_other_chunks_are_divided_as_those_of_X(client):
    X = np.random.default_rng(0).normal(size=(90, 2))
    arrays = da.from_array(X, chunks=(30, 2)), da.from_array(X[:, 0], chunks=40)
    model = BNeuralForestRegressor(n_estimators=2, random_state=0).fit(*arrays)
    assert model.score(*arrays) > 0.5


def test_an_empty_partition_has_empty_predictions(client):
    X = SALES[COLUMNS].head(300)
    y = SALES[["price", "size"]].head(300).set_axis(["a", "b"], axis=1)
    parts = [X.iloc[:200], X.iloc[:0], X.iloc[200:]]
    model = BNeuralForestRegressor(**FAST).fit(X, y)
    predicted = model.predict(dd.from_delayed([dask.delayed(part) for part in parts], meta=X))
    assert predicted.compute().to_numpy().tolist() == model.predict(X).tolist()
