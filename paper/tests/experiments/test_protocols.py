"""Which rows are used for training, selection and scores; baselines under both protocols."""

import time
from dataclasses import FrozenInstanceError, replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bneuralt_paper.datasets import load_dataset
from bneuralt_paper.experiments.baselines import (
    CLASSIFICATION_ONLY,
    LABELS,
    make_estimator,
    run_baseline,
)
from bneuralt_paper.experiments.definitions import parse_experiment
from bneuralt_paper.experiments.protocols import (
    PROTOCOLS,
    Outcome,
    Problem,
    derive_seed,
    get_protocol,
)

PAPER, HONEST = PROTOCOLS["paper"], PROTOCOLS["honest"]


def numbered(n: int, task: str = "classification") -> Problem:
    """Return a problem whose first input is the index of the row."""
    rng = np.random.default_rng(n)
    X = np.column_stack([np.arange(n), rng.normal(size=n), np.full(n, 3.0)])
    if task == "regression":
        return Problem("numbered", task, X, rng.normal(size=n) * 7 + 20, 0)
    return Problem("numbered", task, X, np.arange(n, dtype=np.int32) % 2, 2)


def row_numbers(problem: Problem, protocol, run: int, selects: bool) -> dict[str, list[int]]:
    """Return which rows a partition provides, identified by the first input."""
    partition = protocol.partition(problem, run)
    scored: list[np.ndarray] = []

    def predict(X):
        scored.append(X)
        return np.zeros(len(X), dtype=int)

    monitored = partition.monitored_rows(selects)
    X, _ = partition.training_rows(selects)
    partition.score(predict, selects)
    parts = {"training": X, "test": scored[0]}
    if monitored is not None:
        parts["monitored"] = monitored[0]
    # Scaling keeps the order of values, so that the ranks of the rows are their indices.
    values = np.unique(np.concatenate(list(parts.values()))[:, 0])
    return {name: np.searchsorted(values, x[:, 0]).tolist() for name, x in parts.items()}


@given(st.integers(20, 300), st.integers(0, 50))
def test_paper_rows(n: int, run: int) -> None:
    rows = row_numbers(numbered(n), PAPER, run, selects=True)
    assert sorted(rows["training"] + rows["test"]) == list(range(n))
    assert len(rows["training"]) == int(0.8 * n)
    assert rows["monitored"] == rows["test"]


@given(st.integers(20, 300), st.integers(0, 50))
def test_honest_rows(n: int, run: int) -> None:
    selects = row_numbers(numbered(n), HONEST, run, selects=True)
    together = selects["training"] + selects["monitored"] + selects["test"]
    assert sorted(together) == list(range(n))
    without = row_numbers(numbered(n), HONEST, run, selects=False)
    assert "monitored" not in without
    assert sorted(without["training"] + without["test"]) == list(range(n))
    assert without["test"] == selects["test"]


def test_splits_depend_on_the_run_alone() -> None:
    paper = row_numbers(numbered(100), PAPER, 3, False)
    honest = row_numbers(numbered(100), HONEST, 3, False)
    other_task = row_numbers(numbered(100, "regression"), PAPER, 3, False)
    assert paper["test"] == honest["test"] == other_task["test"]
    assert paper["test"] != row_numbers(numbered(100), PAPER, 4, False)["test"]


@given(st.integers(0, 1000))
def test_seeds_differ_by_purpose(run: int) -> None:
    purposes = ("split", "structure", "training", "model")
    assert len({derive_seed(run, purpose) for purpose in purposes}) == 4


@pytest.mark.parametrize("run", range(5))  # in some, the test rows have the extremes
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_paper_scales_by_all_rows_and_honest_by_training_rows(task: str, run: int) -> None:
    problem = numbered(60, task)
    for protocol in PROTOCOLS.values():
        partition = protocol.partition(problem, run)
        seen = []
        partition.score(lambda X, seen=seen: seen.append(X) or np.zeros(len(X)), False)
        X_train, y_train = partition.training_rows(False)
        fitted = np.concatenate([X_train, seen[0]]) if protocol is PAPER else X_train
        np.testing.assert_allclose(fitted.min(axis=0), 0, atol=1e-15)
        np.testing.assert_allclose(fitted.max(axis=0), [1, 1, 0], atol=1e-15)
        if task == "regression" and protocol is HONEST:
            assert (y_train.min(), y_train.max()) == (0, 1)


def test_honest_test_rows_can_be_used_once_only() -> None:
    partition = HONEST.partition(numbered(50), 0)
    partition.score(lambda X: np.zeros(len(X)), True)
    with pytest.raises(RuntimeError, match="have been used"):
        partition.score(lambda X: np.zeros(len(X)), True)


def test_scores() -> None:
    problem = numbered(50)
    scores = PAPER.partition(problem, 0).score(lambda X: np.zeros(len(X)), True)
    assert scores.validation is None
    assert HONEST.partition(problem, 0).score(lambda X: np.zeros(len(X)), True).validation >= 0
    regression = PAPER.partition(numbered(50, "regression"), 0)
    _, y = regression.monitored_rows(True)
    assert regression.score(lambda X: np.full(len(X), y.mean()), True).test == pytest.approx(0)


def test_both_describe_their_selection() -> None:
    assert "test rows" in PAPER.describe()["selection"] and "TEST rows" in PAPER.__doc__
    assert "validation" in HONEST.describe()["selection"]
    with pytest.raises(ValueError, match="'fair'"):
        get_protocol("fair")


def test_labels_become_class_indices() -> None:
    record = SimpleNamespace(
        name="x", task="classification", X=[[1], [2], [3]], y=["b", "a", "b"], checksum="0"
    )
    problem = Problem.from_dataset(record)
    assert problem.y.tolist() == [1, 0, 1] and problem.n_classes == 2


@pytest.mark.parametrize("name", sorted(LABELS))
def test_baselines_run_under_both_protocols(name: str) -> None:
    for dataset, least in (("iris", 0.5), ("diabetese", -2.0)):
        problem = Problem.from_dataset(load_dataset(dataset))
        problem = replace(problem, X=problem.X[::3], y=problem.y[::3])
        if problem.task == "regression" and name in CLASSIFICATION_ONLY:
            with pytest.raises(ValueError, match="no regressor"):
                make_estimator(name, problem.task, 0)
            continue
        for protocol in PROTOCOLS.values():
            outcome = run_baseline(parse_experiment(name), protocol.partition(problem, 0), 0)
            again = run_baseline(parse_experiment(name), protocol.partition(problem, 0), 0)
            assert least < outcome.scores.test <= 1
            assert outcome.scores.test == again.scores.test
            assert (outcome.size is not None) == (name in ("DT", "RF"))


@pytest.mark.parametrize("n", [20, 101])
def test_shares_of_the_rows(n: int) -> None:
    n_training = int(0.8 * n)
    for protocol, n_fit in ((PAPER, n_training), (HONEST, int(0.8 * n_training))):
        selects = row_numbers(numbered(n), protocol, 1, selects=True)
        assert len(selects["training"]) == n_fit
        assert len(selects["test"]) == n - n_training
        if protocol is HONEST:
            assert len(selects["monitored"]) == n_training - n_fit
            # the rows to fit are the first of the training rows
            all_rows = protocol.partition(numbered(n), 1).training_rows(False)[0]
            part = protocol.partition(numbered(n), 1).training_rows(True)[0]
            np.testing.assert_array_equal(part, all_rows[:n_fit])


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_each_score_is_that_of_its_rows(task: str) -> None:
    problem = numbered(70, task)

    def predict(X):
        return (X[:, 1] > 0.4).astype(int) if task == "classification" else X[:, 1]

    def score(rows) -> float:
        X, y = rows
        if task == "classification":
            return float(np.mean(predict(X) == y))
        return float(1 - np.sum((predict(X) - y) ** 2) / np.sum((y - y.mean()) ** 2))

    for protocol in PROTOCOLS.values():
        for selects in (False, True):
            partition = protocol.partition(problem, 2)
            scores = partition.score(predict, selects)
            assert scores.train == pytest.approx(score(partition.training_rows(selects)))
            if protocol is PAPER:
                assert scores.validation is None
                assert scores.test == pytest.approx(score(partition.monitored_rows(selects)))
            elif selects:
                assert scores.validation == pytest.approx(score(partition.monitored_rows(True)))
            else:
                assert scores.validation is None


def test_paper_test_rows_can_be_used_again() -> None:
    partition = PAPER.partition(numbered(50), 0)
    first, second = (partition.score(lambda X: np.zeros(len(X)), True) for _ in range(2))
    assert first.test == second.test


def test_the_time_of_a_prediction_is_the_shortest_of_several_for_one_row() -> None:
    pauses = iter([0.3, 0.0, 0.3])

    def predict(X):
        time.sleep(next(pauses, 0.0))
        return np.zeros(len(X))

    partition = PAPER.partition(numbered(500), 0)
    assert 0 < partition.score(predict, False).predict_seconds < 0.3 / 100


def test_r2_of_a_constant_target_is_undefined() -> None:
    rows = np.arange(20.0)[:, np.newaxis]
    problem = Problem("constant", "regression", rows, np.full(20, 7.0), 0)
    scores = PAPER.partition(problem, 0).score(lambda X: np.ones(len(X)), False)
    assert np.isnan([scores.train, scores.test]).all()


def test_targets_of_a_regression_stay_numbers() -> None:
    record = SimpleNamespace(name="x", task="regression", X=[[1], [2]], y=[3, 4], checksum="0")
    problem = Problem.from_dataset(record)
    assert problem.y.dtype == np.float64 and problem.y.tolist() == [3, 4]
    assert problem.n_classes == 0 and problem.checksum == "0"


def test_seeds_of_trees_differ_by_data_set() -> None:
    assert derive_seed(1, "structure", "iris") != derive_seed(1, "structure", "wine")
    assert derive_seed(1, "split") != derive_seed(2, "split")


def test_only_the_paper_follows_the_authors_program() -> None:
    assert PAPER.follows_authors_program and not HONEST.follows_authors_program


def test_problems_and_results_do_not_change() -> None:
    problem = numbered(20)
    scores = PAPER.partition(problem, 0).score(lambda X: np.zeros(len(X)), False)
    for value in (problem, scores, Outcome(0, scores, 1.0)):
        with pytest.raises(FrozenInstanceError):
            value.seed = None
    # a problem is itself only: tables are not compared
    assert problem == problem and problem != numbered(20) and len({problem, numbered(20)}) == 2
    partition = PAPER.partition(problem, 0)
    assert partition == partition and partition != PAPER.partition(problem, 0)


def test_columns_that_are_constant_in_the_training_rows_keep_their_unit() -> None:
    problem = numbered(50)
    _, test = np.split(np.random.default_rng(derive_seed(0, "split")).permutation(50), [40])
    problem.X[test[0], 2] = 8.0  # 3 elsewhere
    seen = []
    partition = HONEST.partition(problem, 0)
    partition.score(lambda X: seen.append(X) or np.zeros(len(X)), False)
    assert seen[0][0, 2] == 5.0 and not partition.training_rows(False)[0][:, 2].any()
