"""Searches for structures that are trained, watched, stopped and continued."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bneuralt.evolve.checkpoint import CheckpointError, read_checkpoint, write_checkpoint
from bneuralt.evolve.memetic import Fold, MemeticSearch, MemeticSettings, TrainingRows
from bneuralt.evolve.operators import Space
from bneuralt.evolve.pareto import non_dominated
from bneuralt.evolve.search_loop import run_search
from bneuralt.training import TrainingSettings
from tests.helpers.search_checks import (
    check_that_interrupted_steps_have_not_happened,
    check_that_it_goes_on_from_any_state,
    check_that_it_improves,
    finished,
    plain,
)

X = np.random.default_rng(0).uniform(-1, 1, (120, 3)).astype(np.float32)
Y = X[:, 0] * X[:, 1]


def dominates(one, other):
    """Return whether one Pareto-dominates the other."""
    return np.all(one <= other) and np.any(one < other)


@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_the_front_is_what_nothing_dominates(seed, n_objectives):
    figures = np.random.default_rng(seed).integers(0, 5, (20, n_objectives)).astype(float)
    front = non_dominated(figures)
    for i, figure in enumerate(figures):
        is_dominated = any(dominates(other, figure) for other in figures)
        has_earlier_twin = any((other == figure).all() for other in figures[:i])
        assert (i in front) == (not is_dominated and not has_earlier_twin)


def memetic_search(n_threads=1):
    rows = np.arange(len(X), dtype=np.int32)
    folds = [Fold(rows[rows % 3 != i], None, rows[rows % 3 == i], None) for i in range(3)]
    data = TrainingRows(X, Y, Fold(None, None), folds, n_threads=n_threads)
    training = TrainingSettings(loss="squared_error", max_epochs=4, leaf_moves=1)
    space = Space(3, max_depth=3, min_children=1, max_weights=25, scale=1.0, n_copies=4)
    settings = MemeticSettings(10, 4, 0.4, training, 8)
    return MemeticSearch(space, data, settings, np.random.default_rng(5))


def test_a_search_improves_and_does_not_depend_on_threads():
    check_that_it_improves(memetic_search)


def test_a_search_goes_on_from_any_of_its_states():
    check_that_it_goes_on_from_any_state(memetic_search)


def test_a_step_that_is_interrupted_has_not_happened():
    check_that_interrupted_steps_have_not_happened(memetic_search, TrainingRows, "train")


def test_the_trained_front_has_a_tree_for_each_size():
    front = finished(memetic_search()).front()
    weights = [candidate.n_weights for candidate in front]
    losses = [candidate.loss for candidate in front]
    assert weights == sorted(set(weights)) and max(weights) <= 25
    assert losses == sorted(losses, reverse=True)


def test_a_search_ends_after_its_last_step():
    search = memetic_search()
    run_search(search)
    assert search.n_done == search.n_steps
    run_search(search)
    assert search.n_done == search.n_steps


def test_progress_is_reported_and_can_end_a_search():
    told = []
    search = memetic_search()
    run_search(search, lambda state: told.append(state) or len(told) == 2)
    assert [state.n_done for state in told] == [1, 2]
    assert all(
        state.n_steps == memetic_search().n_steps and state.seconds_left >= 0 for state in told
    )
    assert told[-1].error <= told[0].error
    error, n_weights = search.figures()
    assert (told[-1].error, told[-1].n_weights) == (error, n_weights)
    assert 0 <= told[0].seconds <= told[1].seconds


# -- checkpoints --------------------------------------------------------------------------


def test_a_checkpoint_is_read_back(tmp_path):
    path = tmp_path / "search.json"
    assert read_checkpoint(path, {"table": "a"}) is None
    search = memetic_search()
    run_search(search, lambda state: state.n_done == 2, path, {"table": "a"})
    restored = memetic_search()
    restored.restore(read_checkpoint(path, {"table": "a"}))
    assert restored.n_done == 2
    assert plain(finished(restored)) == plain(finished(memetic_search()))
    content = json.loads(path.read_text())
    assert (content["format"], content["version"]) == ("bneuralt-search", 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text[: len(text) // 2], "cannot be continued"),
        (lambda text: "", "cannot be continued"),
        (lambda text: text.replace("bneuralt-search", "other"), "cannot be continued"),
        (lambda text: text.replace('"version": 1', '"version": 99'), "cannot be continued"),
        (lambda text: text.replace('"a"', '"b"'), "on another table"),
        (lambda text: text.replace('"depth": 3', '"depth": 4'), "depth=4, not 3"),
        (lambda text: "[1, 2]", "cannot be continued"),
        (lambda text: "\udcff", "not a bneuralt-search file"),
    ],
)
def test_a_wrong_checkpoint_is_refused_and_left_alone(tmp_path, change, message):
    path = tmp_path / "search.json"
    identity = {"table": "a", "depth": 3}
    write_checkpoint(path, identity, {"n_done": 1})
    damaged = change(path.read_text()).encode(errors="surrogateescape")
    path.write_bytes(damaged)
    with pytest.raises(CheckpointError, match=message) as raised:
        read_checkpoint(path, identity)
    assert "search.json" in str(raised.value)
    assert path.read_bytes() == damaged
