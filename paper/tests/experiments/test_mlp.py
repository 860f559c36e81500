"""The MLP experiments: stopping, curves, and scores near the paper's.

`test_mlp_kernel.py` compares the training with a simple implementation.
"""

from dataclasses import replace

import numpy as np
import pytest

from bneuralt_paper.datasets import load_dataset
from bneuralt_paper.experiments.definitions import MLPExperiment, parse_experiment
from bneuralt_paper.experiments.mlp import initial_parameters, run_mlp
from bneuralt_paper.experiments.protocols import Problem, derive_seed, get_protocol


def test_initial_weights_are_glorot_uniform() -> None:
    start = initial_parameters(0, 20, 100, 3)
    limit = np.sqrt(6 / 120)
    assert np.abs(start["W1"]).max() <= limit
    assert np.std(start["W1"]) == pytest.approx(limit / np.sqrt(3), rel=0.05)
    assert not np.any(start["b1"]) and not np.any(start["b2"])


def short(name: str, **changes) -> MLPExperiment:
    experiment = parse_experiment(name)
    assert isinstance(experiment, MLPExperiment)
    return replace(experiment, **changes)


def train(experiment, problem, runs, protocol="paper"):
    partitions = [get_protocol(protocol).partition(problem, run) for run in runs]
    return run_mlp(experiment, partitions, runs)


@pytest.fixture(scope="module")
def iris() -> Problem:
    return Problem.from_dataset(load_dataset("iris"))


@pytest.mark.parametrize("name", ["M-S-ESy-Rn-L-D", "M-S-ESn-Rn-L-Dr-D", "M-S-ESu-Rn-L-N"])
def test_a_run_does_not_depend_on_the_runs_beside_it(iris: Problem, name: str) -> None:
    experiment = short(name, max_epochs=10)
    together = train(experiment, iris, [0, 1, 2, 3, 4])
    for runs in ([3], [4, 1]):
        for run, outcome in zip(runs, train(experiment, iris, runs), strict=True):
            assert outcome.curves == together[run].curves
            assert outcome.scores.test == together[run].scores.test
            assert outcome.seed == derive_seed(run, "training", "iris")


def test_patience_stops_each_run_by_its_own_curve(iris: Problem) -> None:
    experiment = short("M-S-ESy-Rn-M", patience=5, max_epochs=60)
    outcomes = train(experiment, iris, range(5))
    assert len({o.epochs for o in outcomes}) > 1
    for outcome in outcomes:
        monitored = np.array(outcome.curves["val_loss"])
        assert len(monitored) == outcome.epochs
        best = int(np.argmin(monitored))
        assert outcome.epochs == min(best + 1 + experiment.patience, experiment.max_epochs)
        # The weights of the best epoch are scored.
        assert outcome.scores.test == pytest.approx(1 - outcome.curves["val_error"][best])


def test_selection_by_error_keeps_the_best_weights(iris: Problem) -> None:
    by_epoch = train(short("M-S-ESe-Rn-L-D", max_epochs=30), iris, range(5))
    by_update = train(short("M-S-ESu-Rn-L-D", max_epochs=30), iris, range(5))
    for epoch, update in zip(by_epoch, by_update, strict=True):
        assert epoch.epochs == 30
        assert epoch.curves == update.curves
        assert epoch.scores.test == pytest.approx(1 - min(epoch.curves["val_error"]))
        assert update.scores.test >= epoch.scores.test


def test_honest_runs_without_selection_monitor_nothing(iris: Problem) -> None:
    (outcome,) = train(short("M-S-ESn-Rn-L-D", max_epochs=3), iris, [0], "honest")
    assert set(outcome.curves) == {"train_loss", "train_error"}
    (outcome,) = train(short("M-S-ESy-Rn-L-D", max_epochs=3), iris, [0], "honest")
    assert set(outcome.curves) == {"train_loss", "train_error", "val_loss", "val_error"}
    assert outcome.weights == 803
    assert outcome.scores.validation == pytest.approx(
        1 - outcome.curves["val_error"][int(np.argmin(outcome.curves["val_loss"]))]
    )


@pytest.mark.parametrize(("dataset", "published"), [("iris", 0.977), ("wine", 0.985)])
def test_scores_are_near_those_of_table_2(dataset: str, published: float) -> None:
    problem = Problem.from_dataset(load_dataset(dataset))
    outcomes = train(parse_experiment("M-S-ESy-Rn-L-M"), problem, range(5))
    assert np.mean([o.scores.test for o in outcomes]) == pytest.approx(published, abs=0.03)
