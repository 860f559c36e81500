"""Many trees in one call: the results of training each alone, whatever the number of threads."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from bneuralt import NeuralTree, TrainingSettings, _core, forward_many
from bneuralt.training import (
    OptimizerState,
    TrainingDiverged,
    TrainingInterrupted,
    TrainingJob,
    train,
    train_many,
)
from bneuralt.training.losses import CrossEntropy, Huber, Pinball
from bneuralt.training.optimizers import OPTIMIZERS
from bneuralt.tree import mean_forward
from bneuralt.tree.activations import NAMES
from tests.helpers.strategies import INSTRUCTION_SETS, draw_activation, seeds

THREADS = (1, 2, 3, 8)

#: Losses whose jobs may be trained together, with the number of outputs.
GROUPS = (
    (("cross_entropy", CrossEntropy(label_smoothing=0.2), "squared_error"), 3, "labels"),
    (("cross_entropy",), 2, "labels"),
    (("squared_error", "absolute_error", Huber(delta=0.3)), 1, "values"),
    (("squared_error", Huber(delta=2.0)), 4, "values"),
    ((Pinball([0.1, 0.5, 0.8]),), 3, "one value"),
    (("poisson",), 2, "counts"),
)


# -- random problems -------------------------------------------------------------------------


def draw_target(rng, kind, n_outputs, n_rows):
    if kind == "labels":
        return rng.integers(0, n_outputs, n_rows)
    if kind == "counts":
        return rng.poisson(1.0, (n_rows, n_outputs)).astype(float)
    return rng.normal(size=n_rows if kind == "one value" or n_outputs == 1 else (n_rows, n_outputs))


def draw_scaling(rng, size):
    return rng.normal(size=size), rng.uniform(0.5, 2.0, size)


class Problem:
    """A table, and jobs on it that have little in common."""

    def __init__(self, rng, n_jobs=20):
        self.losses, self.n_outputs, self.kind = GROUPS[rng.integers(len(GROUPS))]
        self.n_inputs, self.n_rows = int(rng.integers(1, 7)), int(rng.integers(2, 90))
        dtype = rng.choice([np.float64, np.float32])
        self.X = rng.normal(size=(self.n_rows, self.n_inputs)).astype(dtype)
        if rng.integers(4) == 0:
            self.X = rng.integers(0, 4, self.X.shape).astype(np.uint8)
        self.y = draw_target(rng, self.kind, self.n_outputs, self.n_rows)
        self.weight = rng.uniform(0.1, 2.0, self.n_rows) if rng.integers(2) else None
        self.scaling = draw_scaling(rng, self.n_inputs) if rng.integers(2) else None
        self.validation = None
        if rng.integers(2):
            n = int(rng.integers(1, 80))
            X_val = rng.normal(size=(n, self.n_inputs))
            self.validation = X_val, draw_target(rng, self.kind, self.n_outputs, n)
            if rng.integers(2):
                self.validation = *self.validation, rng.uniform(0.1, 2.0, n)
        self.jobs = [self.draw_job(rng) for _ in range(n_jobs)]

    def draw_job(self, rng):
        loss = self.losses[rng.integers(len(self.losses))]
        needs_linear = str(loss).startswith("CrossEntropy") or loss in ("cross_entropy", "poisson")
        names = list(rng.choice(NAMES, int(rng.integers(1, 4)), replace=False))
        tree = NeuralTree.random(
            self.n_inputs,
            self.n_outputs,
            int(rng.integers(1, 4)),
            int(rng.integers(2, 5)),
            activation=[draw_activation(rng, name) for name in names],
            output_activation="linear" if needs_linear else str(rng.choice(["linear", "tanh"])),
            train_activations=bool(rng.integers(2)),
            max_size=60,
            init_scale=1.0,
            dtype=rng.choice([np.float64, np.float32]),
            random_state=rng,
        )
        options = {}
        if rng.integers(2):
            size = int(rng.integers(1, 2 * self.n_rows))
            options["rows"] = rng.integers(0, self.n_rows, size)
            if rng.integers(2):
                options["sample_weight"] = rng.uniform(0.1, 2.0, size)
        elif rng.integers(2):
            options["sample_weight"] = rng.uniform(0.1, 2.0, self.n_rows)
        n_judged = self.n_rows if self.validation is None else len(self.validation[0])
        if rng.integers(2):
            size = int(rng.integers(1, 70))
            options["validation_rows"] = rng.integers(0, n_judged, size)
            if rng.integers(2):
                options["validation_weight"] = rng.uniform(0.1, 2.0, size)
        elif self.validation is not None and rng.integers(2):
            options["validation_weight"] = rng.uniform(0.1, 2.0, n_judged)
        if rng.integers(3) == 0:
            options["input_scaling"] = draw_scaling(rng, self.n_inputs)
        if self.kind in ("values", "one value") and rng.integers(2):
            n_targets = 1 if self.y.ndim == 1 else self.y.shape[1]
            options["target_scaling"] = draw_scaling(rng, n_targets)
        has_validation = "validation_rows" in options or self.validation is not None
        select = rng.choice([None, "epoch", "update"]) if has_validation else None
        how = TrainingSettings(
            loss=loss,
            optimizer=rng.choice(list(OPTIMIZERS)),
            learning_rate=float(rng.choice([0.003, 0.02])),
            schedule=str(rng.choice(["constant", "cosine"])),
            weight_decay=float(rng.choice([0.0, 0.1])),
            clip_norm=rng.choice([None, 0.5]),
            batch_size=None if rng.integers(5) == 0 else int(rng.choice([1, 2, 7, 16, 17, 64])),
            max_epochs=int(rng.integers(0, 5)),
            select=select,
            monitor=str(rng.choice(["loss", "error"])),
            patience=2 if select == "epoch" and rng.integers(2) else None,
            repeat_first_row=bool(rng.integers(4) == 0),
        )
        if rng.integers(3) == 0:
            n = how.optimizer.n_state * tree.n_parameters
            values = rng.uniform(0.0, 0.1, n).astype(tree.dtype)
            options["optimizer_state"] = OptimizerState(values, int(rng.integers(1, 50)))
        return TrainingJob(tree, how, int(rng.integers(2**63)), **options)

    @property
    def together(self):
        """Arguments of `train_many`."""
        return {
            "X": self.X,
            "y": self.y,
            "sample_weight": self.weight,
            "validation": self.validation,
            "input_scaling": self.scaling,
        }

    def alone(self, job, **options):
        """Train a job by itself, on rows that are taken out of the table beforehand."""
        X, y, weight, validation = self.X, self.y, self.weight, self.validation
        if job.target_scaling is not None:
            offset, factor = job.target_scaling
            y = (y - offset) * factor
            if validation is not None:
                validation = validation[0], (validation[1] - offset) * factor, *validation[2:]
        held_out = None
        if validation is not None or job.validation_rows is not None:
            X_val, y_val, *rest = (X, y) if validation is None else validation
            rows = slice(None) if job.validation_rows is None else job.validation_rows
            w_val = (
                job.validation_weight
                if not rest or job.validation_weight is not None
                else rest[0][rows]
            )
            held_out = (
                (X_val[rows], y_val[rows]) if w_val is None else (X_val[rows], y_val[rows], w_val)
            )
        if job.rows is not None:
            X, y = X[job.rows], y[job.rows]
            weight = None if weight is None else weight[job.rows]
        if job.sample_weight is not None:
            weight = job.sample_weight
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TrainingDiverged)
            return train(
                job.tree,
                X,
                y,
                settings=job.settings,
                seed=job.seed,
                sample_weight=weight,
                validation=held_out,
                input_scaling=job.input_scaling or self.scaling,
                optimizer_state=job.optimizer_state,
                **options,
            )


def assert_same(result, expected):
    """Every bit of two results is the same; only their times may differ."""
    assert (result.status, result.n_epochs, result.best_epoch) == (
        expected.status,
        expected.n_epochs,
        expected.best_epoch,
    )
    assert result.tree.dtype == expected.tree.dtype
    assert result.tree.parameters.tobytes() == expected.tree.parameters.tobytes()
    assert result.optimizer_state.step == expected.optimizer_state.step
    state, expected_state = result.optimizer_state.values, expected.optimizer_state.values
    assert state.tobytes() == expected_state.tobytes()
    for name, column in expected.history.items():
        np.testing.assert_array_equal(result.history[name], column)


# -- together is alone -----------------------------------------------------------------------


@given(seed=seeds)
@settings(max_examples=25)  # of 20 jobs each
def test_together_is_alone(seed):
    problem = Problem(np.random.default_rng(seed))
    expected = [problem.alone(job) for job in problem.jobs]
    for n_threads in THREADS:
        results = train_many(problem.jobs, **problem.together, n_threads=n_threads)
        for result, one_alone in zip(results, expected, strict=True):
            assert_same(result, one_alone)


@pytest.mark.parametrize("engine", INSTRUCTION_SETS)
def test_together_is_alone_with_every_instruction_set(engine):
    if engine not in _core.engines():
        pytest.skip(f"this processor has no {engine}")
    before = _core.engine()
    _core.use_engine(engine)
    try:
        problem = Problem(np.random.default_rng(5), n_jobs=60)
        results = train_many(problem.jobs, **problem.together, n_threads=2)
        for result, job in zip(results, problem.jobs, strict=True):
            assert_same(result, problem.alone(job))
    finally:
        _core.use_engine(before)


def test_a_job_that_gets_several_threads_is_the_same():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 5)), rng.normal(size=2000)
    tree = NeuralTree.random(5, output_activation="linear", random_state=0)
    how = TrainingSettings(loss="squared_error", max_epochs=2, batch_size=500)
    jobs = [TrainingJob(tree, how, seed=i, rows=np.arange(i, 2000)) for i in range(2)]
    for n_threads in THREADS:
        for i, result in enumerate(train_many(jobs, X, y, n_threads=n_threads)):
            assert_same(
                result, train(tree, X[i:], y[i:], settings=how, seed=i, n_threads=n_threads)
            )


def test_no_jobs():
    assert train_many([], np.ones((2, 1)), [0.0, 1.0]) == []


def test_results_can_be_pickled():
    problem = Problem(np.random.default_rng(3), n_jobs=5)
    for result in train_many(problem.jobs, **problem.together):
        assert_same(pickle.loads(pickle.dumps(result)), result)


# -- stopping --------------------------------------------------------------------------------


def simple_jobs(n_jobs, max_epochs=5, n_rows=60, batch_size=16, **options):
    """Jobs of one kind, with a table: easy to say what should come of them."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(n_rows, 4)), rng.integers(0, 3, n_rows)
    how = TrainingSettings(max_epochs=max_epochs, batch_size=batch_size, **options)
    trees = [
        NeuralTree.random(4, 3, 2, 3, output_activation="linear", random_state=i) for i in range(20)
    ]
    jobs = [TrainingJob(trees[i % 20], how, seed=i) for i in range(n_jobs)]
    return jobs, X, y


def assert_untouched(result, job):
    assert (result.status, result.n_epochs) == ("interrupted", 0)
    assert result.tree == job.tree


@pytest.mark.parametrize("n_threads", THREADS)
def test_a_callback_stops_one_job_only(n_threads):
    jobs, X, y = simple_jobs(12)
    seen = []

    def stop_job_5(state):
        seen.append((state.job, state.epoch))
        return state.job == 5 and state.epoch == 2

    results = train_many(jobs, X, y, n_threads=n_threads, callback=stop_job_5)
    assert [result.status for result in results] == ["completed"] * 5 + ["callback"] + [
        "completed"
    ] * 6
    assert results[5].n_epochs == 3
    expected = [(job, epoch) for job in range(12) for epoch in range(3 if job == 5 else 5)]
    assert sorted(seen) == expected
    for i, (job, result) in enumerate(zip(jobs, results, strict=True)):
        if i != 5:
            assert_same(result, train(job.tree, X, y, settings=job.settings, seed=i))


@pytest.mark.parametrize("n_threads", THREADS)
def test_a_callback_sees_the_tree_of_its_job(n_threads):
    jobs, X, y = simple_jobs(6)
    last = {}
    results = train_many(
        jobs, X, y, n_threads=n_threads, callback=lambda state: last.update({state.job: state.tree})
    )
    assert [last[i] == result.tree for i, result in enumerate(results)] == [True] * 6


@pytest.mark.parametrize("n_threads", THREADS)
@pytest.mark.parametrize("with_callback", [False, True])
def test_progress_is_called_once_for_each_job(n_threads, with_callback):
    jobs, X, y = simple_jobs(15)
    seen = {}

    def note(i, result):
        assert i not in seen and threading.current_thread() is threading.main_thread()
        seen[i] = result

    callback = (lambda state: False) if with_callback else None
    results = train_many(jobs, X, y, n_threads=n_threads, progress=note, callback=callback)
    assert sorted(seen) == list(range(15))
    for i, result in enumerate(results):
        assert_same(seen[i], result)


@pytest.mark.parametrize("n_threads", THREADS)
@pytest.mark.parametrize("with_callback", [False, True])
def test_progress_may_stop_the_rest(n_threads, with_callback):
    jobs, X, y = simple_jobs(40, max_epochs=100)
    seen = []

    def stop_after_three(i, result):
        seen.append(i)
        return len(seen) == 3

    callback = (lambda state: False) if with_callback else None
    results = train_many(
        jobs, X, y, n_threads=n_threads, progress=stop_after_three, callback=callback
    )
    assert len(seen) == 3
    done = [i for i, result in enumerate(results) if result.status == "completed"]
    assert set(seen) <= set(done) and len(done) < 40
    if n_threads == 1:
        assert done == [0, 1, 2]
    for i, (job, result) in enumerate(zip(jobs, results, strict=True)):
        if i in done:
            assert_same(result, train(job.tree, X, y, settings=job.settings, seed=i))
        else:
            assert result.status == "interrupted"
    assert_untouched(results[-1], jobs[-1])


class InterruptedCore:
    """The core, with a signal some time after a training has begun."""

    def __init__(self, delay):
        self.timer = threading.Timer(delay, signal.raise_signal, [signal.SIGINT])

    def __getattr__(self, name):
        return getattr(_core, name)

    def train(self, *arguments):
        self.timer.start()
        result = _core.train(*arguments)
        self.timer.cancel()  # a training that ends before the signal fails the test, not the run
        self.timer.join()
        return result


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("kind", ["short", "long", "callback", "progress"])
def test_ctrl_c_gives_what_is_done(n_threads, kind, monkeypatch):
    # short jobs are over before they look for signals themselves
    n_jobs, n_epochs, delay = (100, 15_000, 0.2) if kind == "long" else (1000, 400, 0.1)
    jobs, X, y = simple_jobs(n_jobs, n_epochs)
    with monkeypatch.context() as patch:
        patch.setattr("bneuralt.training.trainer._core", InterruptedCore(delay))
        with pytest.raises(TrainingInterrupted, match="interrupted") as caught:
            train_many(
                jobs, X, y, n_threads=n_threads,
                callback=(lambda state: False) if kind == "callback" else None,
                progress=(lambda i, result: False) if kind == "progress" else None,
            )  # fmt: skip
    results = caught.value.results
    assert caught.value.result is results[0] and len(results) == n_jobs
    done = [i for i, result in enumerate(results) if result.status == "completed"]
    # a slow machine may not finish a single long job in time
    assert (0 if kind == "long" else 1) <= len(done) < n_jobs
    for i in [*done[:2], *done[-2:]]:
        assert_same(results[i], train(jobs[i].tree, X, y, settings=jobs[i].settings, seed=i))
    assert {result.status for result in results} <= {"completed", "interrupted", "callback"}
    assert_untouched(results[-1], jobs[-1])
    twin = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(twin, TrainingInterrupted) and len(twin.results) == n_jobs


@pytest.mark.parametrize("n_threads", THREADS)
@pytest.mark.parametrize("hook", ["callback", "progress"])
def test_errors_of_hooks_are_raised_and_end_the_training(n_threads, hook):
    jobs, X, y = simple_jobs(200, max_epochs=20)
    calls = []

    def fail(*arguments):
        calls.append(arguments)
        if len(calls) == 7:
            raise ZeroDivisionError("in the hook")

    with pytest.raises(ZeroDivisionError, match="in the hook"):
        train_many(jobs, X, y, n_threads=n_threads, **{hook: fail})
    assert len(calls) == 7


@pytest.mark.parametrize("n_threads", THREADS)
def test_diverging_jobs_do_not_disturb_others(n_threads):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)) * 100, rng.normal(size=60)
    calm = TrainingSettings(loss="squared_error", max_epochs=5)
    wild = TrainingSettings(loss="squared_error", optimizer="gd", learning_rate=1e6, max_epochs=5)
    trees = [
        NeuralTree.random(4, activation="relu", output_activation="linear", random_state=i)
        for i in range(10)
    ]
    jobs = [TrainingJob(tree, wild if i % 2 else calm, i) for i, tree in enumerate(trees)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # that some diverged is in their status
        results = train_many(jobs, X, y, n_threads=n_threads)
    assert [result.status for result in results] == ["completed", "diverged"] * 5
    for i, result in enumerate(results):
        assert np.isfinite(result.tree.parameters).all()
        if i % 2 == 0:
            assert_same(result, train(trees[i], X, y, settings=calm, seed=i))


# -- jobs that are refused -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"rows": []}, ValueError, "rows is empty"),
        ({"rows": np.zeros(0, dtype=int)}, ValueError, "rows is empty"),
        ({"rows": [0, 60]}, ValueError, r"rows\[1\] is 60, rows run from 0 to 59"),
        ({"rows": [-1, 0]}, ValueError, r"rows\[0\] is -1, rows run from 0 to 59"),
        ({"rows": [0, 2**32]}, ValueError, r"rows\[1\] is 4294967296"),
        ({"rows": [0.0, 1.0]}, TypeError, r"rows must be positions \(integers\), got dtype float"),
        ({"rows": np.ones(60, dtype=bool)}, TypeError, "rows must be positions .* bool"),
        ({"rows": [[0, 1]]}, ValueError, "rows must have one dimension, it has 2"),
        ({"validation_rows": [60]}, ValueError, r"validation_rows\[0\] is 60"),
        ({"validation_rows": []}, ValueError, "validation_rows is empty"),
        ({"sample_weight": np.ones(59)}, ValueError, "sample_weight has 59 entries, X has 60 rows"),
        (
            {"rows": [0, 1], "sample_weight": np.ones(60)},
            ValueError,
            "sample_weight has 60 entries, the job has 2 rows",
        ),
        (
            {"rows": [0, 1], "sample_weight": [1.0, -1.0]},
            ValueError,
            r"sample_weight\[1\] is -1.0; weights cannot be negative",
        ),
        ({"sample_weight": np.full(60, np.nan)}, ValueError, r"sample_weight\[0\] is nan"),
        (
            {"validation_rows": [1], "validation_weight": [1.0, 2.0]},
            ValueError,
            "validation_weight has 2 entries, the job has 1 rows",
        ),
        ({"input_scaling": (np.zeros(3), 1.0)}, ValueError, "input_scaling needs one offset"),
        ({"input_scaling": (0.0, np.inf)}, ValueError, "input_scaling: factor has a value"),
        ({"seed": -1}, ValueError, "seed is -1"),
        ({"seed": 0.5}, TypeError, "seed must be a whole number"),
        ({"optimizer_state": OptimizerState(np.zeros(3), 1)}, ValueError, "optimizer_state has 3"),
        ({"settings": TrainingSettings(select="epoch")}, ValueError, "selection needs validation"),
        ({"settings": TrainingSettings(loss="poisson")}, ValueError, "poisson.* needs values"),
        (
            {"tree": NeuralTree.random(4, 3, output_activation="sigmoid")},
            ValueError,
            "needs linear output nodes",
        ),
        (
            {"tree": NeuralTree.random(5, 3, output_activation="linear")},
            ValueError,
            "X has 4 features, but the tree has 5 inputs",
        ),
        (
            {"tree": NeuralTree.random(4, 2, output_activation="linear")},
            ValueError,
            "y has the label 2, but classes run from 0 to 1",
        ),
    ],
)
def test_jobs_that_cannot_be_done_are_refused(change, error, message):
    jobs, X, y = simple_jobs(3)
    fields = {"tree": jobs[1].tree, "settings": jobs[1].settings, **change}
    with pytest.raises(error, match=message) as caught:
        train_many([jobs[0], TrainingJob(**fields), jobs[2]], X, y)
    if "rows" in message:
        assert str(caught.value).startswith("job 1: ")


@pytest.mark.parametrize("n_threads", [0, -1, 1.5, True, 2**40])
def test_numbers_of_threads_that_make_no_sense_are_refused(n_threads):
    jobs, X, y = simple_jobs(2)
    with pytest.raises((TypeError, ValueError), match="n_threads"):
        train_many(jobs, X, y, n_threads=n_threads)
    with pytest.raises((TypeError, ValueError), match="n_threads"):
        forward_many([job.tree for job in jobs], X, n_threads=n_threads)


# -- threads ---------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs Linux's /proc")
@pytest.mark.parametrize(("n_jobs", "batch_size"), [(64, 16), (2, None)])
def test_threads_are_never_more_than_processors(n_jobs, batch_size):
    jobs, X, y = simple_jobs(n_jobs, 100_000, n_rows=3000, batch_size=batch_size)
    counts, over = [], threading.Event()

    def count():
        while not over.wait(0.01):
            counts.append(len(os.listdir("/proc/self/task")))

    before = len(os.listdir("/proc/self/task"))
    counter = threading.Thread(target=count)
    counter.start()
    ends = time.perf_counter() + 0.2
    train_many(jobs, X, y, n_threads=5000, callback=lambda state: time.perf_counter() > ends)
    over.set()
    counter.join()
    # the counter itself, and one for each processor, of which one may be the caller
    assert max(counts) <= before + 1 + _core.available_processors()


# -- the outputs of many trees ---------------------------------------------------------------


def draw_trees(rng, n_trees, n_inputs, n_outputs, dtype):
    return [
        NeuralTree.random(
            n_inputs, n_outputs, int(rng.integers(1, 4)), 4, max_size=200,
            activation=[draw_activation(rng, name) for name in NAMES], output_activation="linear",
            dtype=dtype, random_state=rng,
        )
        for _ in range(n_trees)
    ]  # fmt: skip


@given(seed=seeds)
@settings(max_examples=25)
def test_outputs_of_many_trees_are_those_of_each(seed):
    rng = np.random.default_rng(seed)
    n_inputs, k = int(rng.integers(1, 7)), int(rng.integers(1, 5))
    trees = draw_trees(
        rng, int(rng.integers(1, 9)), n_inputs, k, rng.choice([np.float64, np.float32])
    )
    X = rng.normal(size=(int(rng.integers(0, 200)), n_inputs)).astype(
        rng.choice([np.float64, np.float32])
    )
    outputs = np.stack([tree.forward(X) for tree in trees])
    probabilities = np.stack([tree.probabilities(X) for tree in trees])
    mean, mean_probability = mean_forward(trees, X), mean_forward(trees, X, softmax=True)
    np.testing.assert_allclose(mean, outputs.mean(axis=0, dtype=float), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(
        mean_probability, probabilities.mean(axis=0, dtype=float), rtol=1e-6, atol=1e-7
    )
    for n_threads in THREADS:
        values = forward_many(trees, X, n_threads=n_threads)
        assert values.dtype == trees[0].dtype and values.tobytes() == outputs.tobytes()
        assert mean_forward(trees, X, n_threads).tobytes() == mean.tobytes()
        assert (
            mean_forward(trees, X, n_threads, softmax=True).tobytes() == mean_probability.tobytes()
        )


def test_the_mean_of_trees_of_both_dtypes():
    rng = np.random.default_rng(0)
    trees = [draw_trees(rng, 1, 3, 2, dtype)[0] for dtype in (np.float64, np.float32) * 3]
    X = rng.normal(size=(50, 3))
    expected = np.mean([tree.forward(X).astype(float) for tree in trees], axis=0)
    np.testing.assert_allclose(mean_forward(trees, X, 2), expected, rtol=1e-12, atol=1e-13)
    with pytest.raises(TypeError, match="differ in their dtype"):
        forward_many(trees, X)


def test_trees_that_do_not_go_together_are_refused():
    trees = [NeuralTree.random(3, 2, random_state=0), NeuralTree.random(3, 3, random_state=0)]
    with pytest.raises(ValueError, match="differ in their number of outputs"):
        forward_many(trees, np.ones((2, 3)))
    with pytest.raises(ValueError, match="X has 4 features, but the tree has 3 inputs"):
        forward_many(trees[:1], np.ones((2, 4)))
    with pytest.raises(ValueError, match="tree"):
        forward_many([], np.ones((2, 3)))
