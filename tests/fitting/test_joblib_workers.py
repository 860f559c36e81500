"""Forests over the workers of a joblib backend: the same trees as in one process."""

import os
import signal

import numpy as np
import pytest
from joblib import parallel_config

from bneuralt import BNeuralForestClassifier, BNeuralForestRegressor
from bneuralt.fitting.splits import TinyDataWarning
from tests.helpers.flat import flat

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 6))
Y = X[:, 0] * X[:, 1] + X[:, 2]


def classifier(**parameters):
    fast = {"n_estimators": 6, "n_weights": 60, "max_epochs": 3, "random_state": 0}
    return flat(BNeuralForestClassifier, **{**fast, **parameters})


def assert_same_trees(forest, expected):
    assert len(forest.estimators_) == len(expected.estimators_)
    for one, other in zip(forest.estimators_, expected.estimators_, strict=True):
        assert one.tree_ == other.tree_
        for name, figures in other.history_.items():
            np.testing.assert_array_equal(one.history_[name], figures)


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
        yield cluster


# -- Dask ---------------------------------------------------------------------------------


def test_a_hundred_trees_over_a_dask_cluster(cluster):
    expected = classifier(n_estimators=100).fit(X, Y > 0)
    with parallel_config("dask"):
        forest = classifier(n_estimators=100).fit(X, Y > 0)
    assert_same_trees(forest, expected)


def test_a_killed_dask_worker_costs_time_only(cluster):
    killed = []

    def kill_a_worker(state):
        if not killed:
            killed.append(next(iter(cluster.workers.values())).pid)
            os.kill(killed[0], signal.SIGKILL)

    expected = classifier(n_estimators=20).fit(X, Y > 0)
    with parallel_config("dask"):
        forest = classifier(n_estimators=20).fit(X, Y > 0, callback=kill_a_worker)
    assert killed
    assert_same_trees(forest, expected)


# -- other backends -----------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading"])
def test_all_backends_give_the_same_trees(backend):
    parameters = {"bootstrap": True, "max_features": 3}
    weight = RNG.integers(0, 3, len(Y))
    forests = [
        flat(
            BNeuralForestRegressor,
            n_estimators=3,
            n_weights=60,
            max_epochs=3,
            conformal=0.2,
            random_state=0,
            **parameters,
        )
        for _ in range(2)
    ]
    forests[0].fit(X, Y, weight, X_val=X[:50], y_val=Y[:50])
    with parallel_config(backend, n_jobs=2):
        forests[1].fit(X, Y, weight, X_val=X[:50], y_val=Y[:50])
    assert_same_trees(forests[1], forests[0])
    assert forests[1].oob_score_ == forests[0].oob_score_
    np.testing.assert_array_equal(forests[1].predict_interval(X), forests[0].predict_interval(X))


class KillsItsWorker:
    """A sampler of leaves that ends the process it is first used in, if that is a worker."""

    def __init__(self, mark):
        self.mark, self.main = mark, os.getpid()

    def __call__(self, rng, leaf_parent, parent, n_inputs):
        if os.getpid() != self.main and not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return rng.integers(n_inputs, size=leaf_parent.size)


def test_a_killed_process_costs_time_only(tmp_path):
    sampler = KillsItsWorker(tmp_path / "killed")
    expected = classifier(feature_sampling=sampler).fit(X, Y > 0)
    with (
        parallel_config("loky", n_jobs=2),
        pytest.warns(RuntimeWarning, match=r"LokyBackend failed .*trees are trained again"),
    ):
        forest = classifier(feature_sampling=sampler).fit(X, Y > 0)
    assert sampler.mark.exists()
    assert_same_trees(forest, expected)


def test_errors_and_warnings_of_workers_reach_the_user():
    with parallel_config("loky", n_jobs=2):
        with pytest.raises(ValueError, match="max_features cannot be combined"):
            classifier(max_features=2, feature_sampling=KillsItsWorker).fit(X, Y > 0)
        with pytest.warns(TinyDataWarning, match="20 rows are too few"):
            classifier(early_stopping=True).fit(X[:20], Y[:20] > 0)


def test_a_callback_stops_the_forest():
    with parallel_config("loky", n_jobs=2):
        forest = classifier(n_estimators=20).fit(X, Y > 0, callback=lambda state: state.n_done == 3)
    assert len(forest.estimators_) == 3
    assert_same_trees(forest, classifier(n_estimators=3).fit(X, Y > 0))


def test_more_trees_are_added_by_workers():
    expected = classifier(n_estimators=5).fit(X, Y > 0)
    with parallel_config("loky", n_jobs=2):
        forest = classifier(n_estimators=2, warm_start=True).fit(X, Y > 0)
        forest.set_params(n_estimators=5).fit(X, Y > 0)
    assert_same_trees(forest, expected)
