"""Tasks: runs that are computed together, by one worker."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bneuralt_paper.experiments.baselines import run_baseline
from bneuralt_paper.experiments.definitions import (
    BaselineExperiment,
    BNeuralTExperiment,
    EvolvedExperiment,
    MLPExperiment,
    parse_experiment,
)
from bneuralt_paper.experiments.evolved_trees import run_evolved
from bneuralt_paper.experiments.mlp import run_mlp
from bneuralt_paper.experiments.neural_trees import run_bneuralt
from bneuralt_paper.experiments.protocols import Outcome, Problem, get_protocol
from bneuralt_paper.running.store import Key

__all__ = ["Task", "execute"]


@dataclass(frozen=True)
class Task:
    """Runs of one experiment on one problem that are computed together."""

    protocol: str
    experiment: str
    problem: Problem
    runs: tuple[int, ...]

    @property
    def keys(self) -> list[Key]:
        """The keys of the runs."""
        return [Key(self.protocol, self.experiment, self.problem.name, run) for run in self.runs]

    @property
    def cost_per_run(self) -> float:
        """The approximate cost of one run relative to other tasks, to estimate the time left."""
        n = len(self.problem.X)
        kind = parse_experiment(self.experiment).kind
        if kind == "bneuralt" or self.experiment == "GP":
            return float(n * n)
        return {"mlp": 100.0, "evolved": 4000.0}.get(kind, 10.0) * n

    def restricted_to(self, keys: Iterable[Key]) -> Task:
        """Return a task with only the runs that have the given keys."""
        runs = tuple(key.run for key in keys)
        return Task(self.protocol, self.experiment, self.problem, runs)


def execute(task: Task) -> list[Outcome]:
    """Compute the runs of a task.

    Examples
    --------
    >>> from bneuralt_paper import load_dataset
    >>> task = Task("honest", "DT", Problem.from_dataset(load_dataset("iris")), (0,))
    >>> (outcome,) = execute(task)
    >>> 0.8 < outcome.scores.test <= 1
    True
    """
    experiment, protocol = parse_experiment(task.experiment), get_protocol(task.protocol)
    partitions = [protocol.partition(task.problem, run) for run in task.runs]
    if isinstance(experiment, MLPExperiment):
        return run_mlp(experiment, partitions, task.runs)
    pairs = zip(partitions, task.runs, strict=True)
    if isinstance(experiment, BNeuralTExperiment):
        return [run_bneuralt(experiment, protocol, partition, run) for partition, run in pairs]
    if isinstance(experiment, EvolvedExperiment):
        return [run_evolved(experiment, partition, run) for partition, run in pairs]
    assert isinstance(experiment, BaselineExperiment)
    return [run_baseline(experiment, partition, run) for partition, run in pairs]
