"""Behaviours that no other test noticed the loss of, found by changing the code on purpose."""

import os
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_iris
from strategies import draw_rows, draw_tree

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralTClassifier,
    Growth,
    NeuralTree,
    TrainingSettings,
    reference,
    train,
)
from bneuralt.estimators import fitting
from bneuralt.estimators.canonical import canonical_rows
from bneuralt.estimators.fitting import TreeFit
from bneuralt.files import ModelFileError, parse_json, write_atomically
from bneuralt.training import TrainingDiverged, TrainingJob, epoch_order, gradient, train_many
from bneuralt.training.losses import CrossEntropy

IRIS = load_iris(return_X_y=True)


@pytest.fixture
def recorded(monkeypatch):
    """The jobs that estimators give to the core, with their results."""
    jobs = []

    def record(given, *arguments, **more):
        asked = list(given)
        results = train_many(asked, *arguments, **more)
        jobs.extend(zip(asked, results, strict=True))
        return results

    monkeypatch.setattr(fitting, "train_many", record)
    return jobs


def distinct_rows(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    return X, (X[:, 0] > 0).astype(int)


# -- partial_fit -----------------------------------------------------------------------------


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
    return canonical_rows(X, y.astype(np.int32), weight)


# -- forests ---------------------------------------------------------------------------------


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


# -- the best of several ---------------------------------------------------------------------


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


def worse_with_every_epoch(n_outputs=2):
    """A training whose first epoch is the best: it unlearns what it starts with."""
    rng = np.random.default_rng(0)
    tree = draw_tree(rng, n_outputs, n_inputs=3)
    X = rng.normal(size=(40, 3))
    y = tree.forward(X).argmax(axis=1)
    return tree, X, (y + 1) % n_outputs, X, y


def test_the_first_epoch_may_be_the_best():
    tree, X, y, X_val, y_val = worse_with_every_epoch()
    how = TrainingSettings(select="epoch", max_epochs=5, schedule="constant")
    result = train(tree, X, y, settings=how, validation=(X_val, y_val))
    assert result.best_epoch == 0 and result.best_epoch is not None
    once = TrainingSettings(max_epochs=1, schedule="constant")
    assert result.tree == train(tree, X, y, settings=once).tree


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


# -- settings of a fit -----------------------------------------------------------------------


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
    assert result.n_epochs == max(type(clf)._fewest_epochs, round(30_000 / 1200))
    assert job.sample_weight is None


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("part", [0, 1])
def test_scaling_must_be_finite(part, bad):
    tree = draw_tree(np.random.default_rng(0), 2, n_inputs=3)
    scaling = [np.zeros(3), np.ones(3)]
    scaling[part][1] = bad
    with pytest.raises(ValueError, match="not finite"):
        train(tree, np.ones((4, 3)), [0, 1, 0, 1], settings=TrainingSettings(),
              input_scaling=tuple(scaling))  # fmt: skip


# -- figures ---------------------------------------------------------------------------------


def log_probabilities(out):
    shifted = out - out.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])
def test_the_value_of_the_smoothed_loss(smoothing):
    rng = np.random.default_rng(1)
    tree = draw_tree(rng, 4)
    X, y = draw_rows(rng, tree, 37)
    wanted = (1 - smoothing) * np.eye(4)[y] + smoothing / 4
    expected = -(wanted * log_probabilities(tree.forward(X))).sum(axis=1).mean()
    assert gradient(tree, X, y, loss=CrossEntropy(smoothing))[0] == pytest.approx(expected)


@pytest.mark.parametrize("batch_size", [1, 7, None])
def test_losses_and_errors_are_weighted_means(batch_size):
    rng = np.random.default_rng(3)
    tree = draw_tree(rng, 3)
    X, y = draw_rows(rng, tree, 70)
    weight, val_weight = rng.uniform(0.1, 5, 70), rng.uniform(0.1, 5, 70)
    # a rate so small that the weights stay as they are
    how = TrainingSettings(max_epochs=1, learning_rate=1e-13, optimizer="gd", batch_size=batch_size)
    history = train(tree, X, y, settings=how, sample_weight=weight,
                    validation=(X, y, val_weight)).history  # fmt: skip
    out = tree.forward(X)
    losses = -log_probabilities(out)[np.arange(70), y]
    errors = out.argmax(axis=1) != y
    for kind, weights in (("train", weight), ("val", val_weight)):
        for name, figures in (("loss", losses), ("error", errors)):
            found, expected = history[f"{kind}_{name}"][0], np.average(figures, weights=weights)
            assert found == pytest.approx(expected, rel=1e-6), (kind, name)
            assert abs(expected - figures.mean()) > 1e-4


def test_validation_rows_are_those_that_were_chosen():
    rng = np.random.default_rng(3)
    tree = draw_tree(rng, 3)
    X, y = draw_rows(rng, tree, 70)
    chosen, weight = np.array([3, 60, 8, 9, 33]), np.array([1.0, 2.0, 5.0, 1.0, 0.5])
    how = TrainingSettings(max_epochs=1)
    job = TrainingJob(tree, how, 0, rows=np.arange(20, 50), validation_rows=chosen,
                      validation_weight=weight)  # fmt: skip
    (result,) = train_many([job], X, y)
    out = result.tree.forward(X[chosen])
    losses = -log_probabilities(out)[np.arange(5), y[chosen]]
    wrong = out.argmax(axis=1) != y[chosen]
    assert result.history["val_loss"][0] == pytest.approx(np.average(losses, weights=weight))
    assert result.history["val_error"][0] == pytest.approx(np.average(wrong, weights=weight))


# -- selection and divergence ----------------------------------------------------------------


@pytest.mark.parametrize("monitor", ["loss", "error"])
def test_the_monitored_figure_selects_and_the_first_of_equals_wins(monitor):
    n_differ = n_ties = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        tree = draw_tree(rng, 2, n_inputs=4)
        X, y = draw_rows(rng, tree, 40)
        X_val, y_val = draw_rows(rng, tree, 30)
        how = TrainingSettings(select="epoch", monitor=monitor, max_epochs=12)
        result = train(tree, X, y, settings=how, validation=(X_val, y_val))
        loss, error = result.history["val_loss"], result.history["val_error"]
        watched = loss if monitor == "loss" else error
        assert result.best_epoch == watched.argmin()
        out = result.tree.forward(X_val)
        assert (out.argmax(axis=1) != y_val).mean() == pytest.approx(error[result.best_epoch])
        n_differ += loss.argmin() != error.argmin()
        n_ties += np.count_nonzero(watched == watched.min()) > 1
    assert n_differ > 3
    if monitor == "error":
        assert n_ties > 3


@pytest.mark.parametrize("batch_size", [1, 5])
def test_the_repeated_first_row_counts_in_the_schedule_but_not_in_the_score(batch_size):
    rng = np.random.default_rng(0)
    tree = draw_tree(rng, 2)
    X, y = draw_rows(rng, tree, 10)
    common = {"optimizer": "rmsprop", "learning_rate": 0.02, "schedule": "cosine",
              "batch_size": batch_size}  # fmt: skip
    how = TrainingSettings(**common, max_epochs=3, repeat_first_row=True)
    result = train(tree, X, y, settings=how, seed=9)
    n = 10 // batch_size + 1
    done = np.arange(1, 4) * n
    np.testing.assert_allclose(
        result.history["learning_rate"], 0.01 * (1 + np.cos(np.pi * done / (3 * n))), atol=1e-15
    )
    if batch_size == 1:
        order = [[*epoch_order(9, e, 10).tolist(), 0] for e in range(3)]
        expected = reference.train(tree, X, y, order=order, loss="cross_entropy", **common)
        np.testing.assert_allclose(result.tree.parameters, expected.parameters, atol=1e-10)
    # the first row is by far the worst: counted once more, it would be seen
    still = TrainingSettings(optimizer="gd", learning_rate=1e-13, batch_size=batch_size,
                             max_epochs=1, repeat_first_row=True)  # fmt: skip
    X[0] *= 50
    losses = -log_probabilities(tree.forward(X))[np.arange(10), y]
    found = train(tree, X, y, settings=still, seed=9).history["train_loss"][0]
    assert found == pytest.approx(losses.mean(), rel=1e-6)


def test_after_a_divergence_the_weights_are_those_of_the_last_good_epoch():
    rng = np.random.default_rng(0)
    tree = NeuralTree.random(4, 1, activation="relu", output_activation="linear", random_state=3)
    X, y = draw_rows(rng, tree, 60)
    common = {"loss": "squared_error", "optimizer": "gd", "schedule": "constant"}
    for rate in np.geomspace(1e-3, 1, 30):
        how = TrainingSettings(**common, learning_rate=rate, batch_size=None, max_epochs=200)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TrainingDiverged)
            result = train(tree, X * 10, y, settings=how)
        if result.status == "diverged" and result.n_epochs > 1:
            break
    assert result.status == "diverged" and result.n_epochs > 1
    fewer = TrainingSettings(**common, learning_rate=rate, batch_size=None,
                             max_epochs=result.n_epochs)  # fmt: skip
    until_then = train(tree, X * 10, y, settings=fewer)
    assert until_then.status == "completed"
    assert result.tree == until_then.tree and result.tree != tree


# -- files -----------------------------------------------------------------------------------


def test_files_are_on_the_disk_before_they_replace_others(tmp_path, monkeypatch):
    calls = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(
        os, "fsync", lambda file: (calls.append(("fsync", os.fstat(file).st_size)), fsync(file))
    )
    monkeypatch.setattr(
        os, "replace", lambda *paths: (calls.append(("replace", 0)), replace(*paths))
    )
    write_atomically(tmp_path / "file", "content")
    assert calls[:2] == [("fsync", 7), ("replace", 0)]
    assert (tmp_path / "file").read_text() == "content"


def test_no_file_stays_open(tmp_path):
    folder = "/proc/self/fd"
    if not os.path.isdir(folder):
        pytest.skip("needs /proc")
    write_atomically(tmp_path / "file", "content")
    before = len(os.listdir(folder))
    for _ in range(5):
        write_atomically(tmp_path / "file", "content")
    assert len(os.listdir(folder)) == before


def test_nesting_is_counted_from_where_brackets_open():
    for n_levels in (20, 21):
        inner = n_levels - 1
        text = "[" + "[], {}, " * 30 + "[" * inner + "]" * inner + "]"
        if n_levels == 20:
            assert len(parse_json(text)) == 61
        else:
            with pytest.raises(ModelFileError, match="nested more than 20 levels"):
                parse_json(text)
