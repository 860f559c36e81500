"""What estimators train: rows, weights, starts and settings of each tree."""

from types import SimpleNamespace

import numpy as np
import pytest

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralTClassifier,
    Growth,
    TrainingSettings,
)
from bneuralt.fitting import recipe, train
from bneuralt.fitting.canonical import canonical_rows
from bneuralt.fitting.capacity import MIN_EPOCHS
from bneuralt.fitting.train import TreeFit
from bneuralt.fitting.weights import RowWeights
from bneuralt.training import train_many
from tests.helpers.tables import IRIS


@pytest.fixture
def recorded(monkeypatch):
    """The jobs that estimators give to the core, with their results; there are no trials."""
    jobs = []
    monkeypatch.setattr(recipe, "MAX_ROWS_FOR_TRIAL", 0)

    def record(given, *arguments, **more):
        asked = list(given)
        results = train_many(asked, *arguments, **more)
        jobs.extend(zip(asked, results, strict=True))
        return results

    monkeypatch.setattr(train, "train_many", record)
    return jobs


def distinct_rows(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    return X, (X[:, 0] > 0).astype(int)


def test_partial_fit_goes_on_with_the_optimizer_and_in_another_order(recorded):
    X, y = IRIS
    clf = BNeuralTClassifier(random_state=0, growth=Growth(max_depth=2))
    for _ in range(3):
        clf.partial_fit(X, y, classes=[0, 1, 2])
    (first, one), (second, two), (third, _) = recorded
    assert first.optimizer_state is None
    n_updates = -(-len(first.rows if first.rows is not None else canonical(X, y)) // 16)
    for job, before in ((second, one), (third, two)):
        assert job.tree == before.tree
        assert job.optimizer_state.step == before.optimizer_state.step
        np.testing.assert_array_equal(job.optimizer_state.values, before.optimizer_state.values)
    assert third.optimizer_state.step == 2 * n_updates
    assert len({first.seed, second.seed, third.seed}) == 3


def canonical(X, y, weight=None):
    weight = np.ones(len(X)) if weight is None else weight
    return canonical_rows(X, y.astype(np.int32), RowWeights.of(weight))


@pytest.mark.parametrize("bootstrap", [False, True])
def test_every_tree_of_a_forest_draws_rows_of_its_own(bootstrap, recorded):
    X, y = distinct_rows(80)
    forest = BNeuralForestClassifier(
        n_estimators=4,
        bootstrap=bootstrap,
        max_samples=None if bootstrap else 0.5,
        max_epochs=1,
        random_state=0,
        growth=Growth(max_depth=2),
    )
    forest.fit(X, y)
    drawn = [tuple(job.rows.tolist()) for job, _ in recorded]
    assert len(drawn) == len(set(drawn)) == 4
    if not bootstrap:
        assert {len(rows) for rows in drawn} == {40}
        assert all(job.sample_weight is None for job, _ in recorded)


def test_rows_that_are_drawn_several_times_count_several_times(recorded):
    X, y = distinct_rows(80)
    forest = BNeuralForestClassifier(
        n_estimators=3, bootstrap=True, max_epochs=1, random_state=0, growth=Growth(max_depth=2)
    )
    forest.fit(X, y)
    for (job, _), member in zip(recorded, forest.estimators_, strict=True):
        draws = np.random.default_rng([0, member.random_state]).integers(80, size=80)
        times = np.bincount(draws, minlength=80)
        np.testing.assert_array_equal(np.unique(job.rows), np.flatnonzero(times))
        total = np.bincount(job.rows, job.sample_weight, minlength=80)
        np.testing.assert_allclose(total / total.sum(), times / 80)


def test_the_out_of_bag_score_counts_rows_by_their_weights():
    X, y = distinct_rows(120)
    noisy = np.where(np.arange(120) % 3 == 0, 1 - y, y)
    weight = np.where(np.arange(120) % 3 == 0, 10.5, 1.5)  # whole ones would be copies of rows
    forest = BNeuralForestClassifier(
        n_estimators=4, bootstrap=True, max_epochs=5, random_state=0, growth=Growth(max_depth=2)
    )
    forest.fit(X, noisy, sample_weight=weight)
    rows = canonical(X, noisy, weight)
    votes = np.zeros((120, 2))
    for member in forest.estimators_:
        draws = np.random.default_rng([0, member.random_state]).integers(120, size=120)
        unseen = np.setdiff1d(np.arange(120), draws)
        votes[unseen] += member.predict_proba(rows.X[unseen])
    judged = votes.any(axis=1)
    right = votes[judged].argmax(axis=1) == rows.y[judged]
    expected = np.average(right, weights=rows.weight[judged])
    assert abs(expected - right.mean()) > 0.02
    assert forest.oob_score_ == pytest.approx(expected)


def fit_of(*results, select="epoch"):
    settings = TrainingSettings(select=select)
    return TreeFit([], None, None, settings, 0, None, None, results=list(results))


def outcome(losses, status="completed", best_epoch=None):
    losses = np.array(losses)
    history = {"train_loss": losses, "val_loss": losses}
    return SimpleNamespace(status=status, history=history, best_epoch=best_epoch)


def test_starts_are_compared_at_their_best_epoch_also_if_it_is_the_first():
    # the last losses would prefer the second start
    assert fit_of(outcome([0.1, 0.9], best_epoch=0), outcome([0.6, 0.2], best_epoch=1)).best == 0


def test_a_start_that_diverged_is_ranked_last():
    diverged = outcome([0.1, 0.01], status="diverged")
    assert fit_of(diverged, outcome([0.9, 0.8]), select=None).best == 1
    assert fit_of(outcome([0.9, 0.8]), diverged, select=None).best == 0


def test_starts_of_a_single_epoch_are_compared():
    assert fit_of(outcome([0.9]), outcome([0.1]), select=None).best == 1
    assert fit_of(outcome([]), outcome([0.1]), select=None).best == 1  # stopped before the first


def test_a_tree_is_done_when_all_its_starts_are():
    done, cut_short = outcome([0.1]), outcome([0.1], status="interrupted")
    assert fit_of(done, done).is_done
    assert not fit_of(done, cut_short).is_done
    assert not fit_of(done, None).is_done
    assert not fit_of().is_done


def test_a_refit_for_one_epoch_is_a_refit(recorded):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 3)), rng.integers(0, 2, 100)  # there is nothing to learn
    for seed in range(30):
        recorded.clear()
        clf = BNeuralTClassifier(
            early_stopping="refit",
            learning_rate=0.5,
            max_epochs=4,
            random_state=seed,
            growth=Growth(max_depth=2),
            training=TrainingSettings(patience=2),
        )
        clf.fit(X, y)
        if clf.best_epoch_ == 0:
            break
    assert clf.best_epoch_ == 0
    assert len(recorded) == 2 and clf.n_iter_ == 1


@pytest.mark.parametrize(("n_rows", "batch_size"), [(999, 16), (1000, 32)])
def test_batches_are_large_from_a_thousand_rows_on(n_rows, batch_size, recorded):
    BNeuralTClassifier(max_epochs=1, random_state=0, growth=Growth(max_depth=2)).fit(
        *distinct_rows(n_rows)
    )
    assert [job.settings.batch_size for job, _ in recorded] == [batch_size]


def test_weights_make_examples(recorded):
    X, y = distinct_rows(300)
    clf = BNeuralTClassifier(random_state=0, growth=Growth(max_depth=2))
    clf.fit(X, y, sample_weight=np.full(300, 4.0))
    ((job, result),) = recorded
    assert len(job.rows) == 1200 and job.settings.batch_size == 32
    assert result.n_epochs == max(MIN_EPOCHS["classifier"], round(30_000 / 1200))
    assert job.sample_weight is None
