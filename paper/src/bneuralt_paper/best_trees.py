"""The best trees of the paper's protocol, trained again, for a drawing."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from bneuralt.tree import NeuralTree
from bneuralt_paper.experiments.definitions import BNeuralTExperiment, parse_experiment
from bneuralt_paper.experiments.neural_trees import run_bneuralt
from bneuralt_paper.experiments.protocols import Problem, get_protocol
from bneuralt_paper.images.result_files import DrawnTree
from bneuralt_paper.reporting.run_results import Results

__all__ = ["best_trees"]

_EXPERIMENT = "B-S-ESy-p4-R"


def best_trees(
    results: Results,
    problems: Iterable[Problem],
    report: Callable[[str], object] = lambda text: None,
) -> list[DrawnTree]:
    """Train the run with the best test score of each data set again, and return the structures.

    A run whose score differs from that in `results` is an error: the program has changed since.
    """
    protocol, experiment = get_protocol("paper"), parse_experiment(_EXPERIMENT)
    assert isinstance(experiment, BNeuralTExperiment)
    trees = []
    for problem in problems:
        scores = results.runs("paper", _EXPERIMENT, problem.name)["test_score"].astype(float)
        run = int(scores.idxmax())
        outcome = run_bneuralt(experiment, protocol, protocol.partition(problem, run), run)
        if abs(outcome.scores.test - scores[run]) > 1e-6:
            raise ValueError(
                f"run {run} of {_EXPERIMENT} on {problem.name} now has the score "
                f"{outcome.scores.test:.6f}, not {scores[run]:.6f}: compute the runs again"
            )
        assert outcome.tree_json is not None
        tree = NeuralTree.from_json(outcome.tree_json)
        trees.append(
            DrawnTree(
                problem.name, tree.n_outputs, tree.parent.tolist(), tree.leaf_parent.tolist(),
                round(1 - outcome.scores.test, 6),
            )
        )  # fmt: skip
        report(problem.name)
    return trees
