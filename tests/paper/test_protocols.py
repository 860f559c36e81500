"""Which rows are learned from, watched and judged; and the baselines that run under both."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bneuralt.datasets.loading import load_dataset
from bneuralt.paper.experiments.baselines import (
    CLASSIFICATION_ONLY,
    LABELS,
    make_estimator,
    run_baseline,
)
from bneuralt.paper.experiments.grid import parse
from bneuralt.paper.experiments.protocols import PROTOCOLS, Problem, derive_seed, get_protocol

PAPER, HONEST = PROTOCOLS["paper"], PROTOCOLS["honest"]


def numbered(n: int, task: str = "classification") -> Problem:
    """A problem whose rows can be told apart: the first input is the row's number."""
    rng = np.random.default_rng(n)
    X = np.column_stack([np.arange(n), rng.normal(size=n), np.full(n, 3.0)])
    if task == "regression":
        return Problem("numbered", task, X, rng.normal(size=n) * 7 + 20, 0)
    return Problem("numbered", task, X, np.arange(n, dtype=np.int32) % 2, 2)


def row_numbers(problem: Problem, protocol, run: int, choosing: bool) -> dict[str, list[int]]:
    """Which rows a partition hands out, found by the input that is the row's number."""
    partition = protocol.partition(problem, run)
    judged: list[np.ndarray] = []

    def predict(X):
        judged.append(X)
        return np.zeros(len(X), dtype=int)

    watched = partition.watch(choosing)
    X, _ = partition.learn(choosing)
    partition.judge(predict, choosing)
    parts = {"learn": X, "test": judged[0]}
    if watched is not None:
        parts["watch"] = watched[0]
    # Scaling keeps the order of values, so ranks among all handed-out rows are row numbers.
    values = np.unique(np.concatenate(list(parts.values()))[:, 0])
    return {name: np.searchsorted(values, x[:, 0]).tolist() for name, x in parts.items()}


@given(st.integers(20, 300), st.integers(0, 50))
def test_paper_rows(n: int, run: int) -> None:
    rows = row_numbers(numbered(n), PAPER, run, choosing=True)
    assert sorted(rows["learn"] + rows["test"]) == list(range(n))
    assert len(rows["learn"]) == int(0.8 * n)
    assert rows["watch"] == rows["test"]


@given(st.integers(20, 300), st.integers(0, 50))
def test_honest_rows(n: int, run: int) -> None:
    choosing = row_numbers(numbered(n), HONEST, run, choosing=True)
    together = choosing["learn"] + choosing["watch"] + choosing["test"]
    assert sorted(together) == list(range(n))
    not_choosing = row_numbers(numbered(n), HONEST, run, choosing=False)
    assert "watch" not in not_choosing
    assert sorted(not_choosing["learn"] + not_choosing["test"]) == list(range(n))
    assert not_choosing["test"] == choosing["test"]


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


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_paper_scales_by_all_rows_and_honest_by_training_rows(task: str) -> None:
    problem = numbered(60, task)
    for protocol in PROTOCOLS.values():
        partition = protocol.partition(problem, 0)
        seen = []
        partition.judge(lambda X, seen=seen: seen.append(X) or np.zeros(len(X)), False)
        X_train, y_train = partition.learn(False)
        fitted = np.concatenate([X_train, seen[0]]) if protocol is PAPER else X_train
        np.testing.assert_allclose(fitted.min(axis=0), 0, atol=1e-15)
        np.testing.assert_allclose(fitted.max(axis=0), [1, 1, 0], atol=1e-15)
        if task == "regression" and protocol is HONEST:
            assert (y_train.min(), y_train.max()) == (0, 1)


def test_honest_test_rows_can_be_used_once_only() -> None:
    partition = HONEST.partition(numbered(50), 0)
    partition.judge(lambda X: np.zeros(len(X)), True)
    with pytest.raises(RuntimeError, match="used before"):
        partition.judge(lambda X: np.zeros(len(X)), True)


def test_scores() -> None:
    problem = numbered(50)
    scores = PAPER.partition(problem, 0).judge(lambda X: np.zeros(len(X)), True)
    assert scores.validation is None
    assert HONEST.partition(problem, 0).judge(lambda X: np.zeros(len(X)), True).validation >= 0
    regression = PAPER.partition(numbered(50, "regression"), 0)
    _, y = regression.watch(True)
    assert regression.judge(lambda X: np.full(len(X), y.mean()), True).test == pytest.approx(0)


def test_both_say_what_selection_means() -> None:
    assert "test rows" in PAPER.describe()["selection"] and "TEST rows" in PAPER.__doc__
    assert "validation" in HONEST.describe()["selection"]
    with pytest.raises(ValueError, match="'fair'"):
        get_protocol("fair")


def test_labels_become_class_numbers() -> None:
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
            with pytest.raises(ValueError, match="no form for regression"):
                make_estimator(name, problem.task, 0)
            continue
        for protocol in PROTOCOLS.values():
            outcome = run_baseline(parse(name), protocol.partition(problem, 0), 0)
            again = run_baseline(parse(name), protocol.partition(problem, 0), 0)
            assert least < outcome.scores.test <= 1
            assert outcome.scores.test == again.scores.test
            assert (outcome.size is not None) == (name in ("DT", "RF"))
