"""Trees of the paper's rules: those of the published runs, as `NeuralTree.random` draws them."""

from hashlib import sha256

import numpy as np
import pytest

from bneuralt.tree import NeuralTree
from bneuralt_paper.experiments.definitions import parse_experiment
from bneuralt_paper.experiments.neural_trees import draw_tree

#: Hashes of the trees of 50 seeds, as they were drawn for the published runs.
PUBLISHED = {
    ("B-S-ESy-p4-R", 1): "6057525750afcfd6",
    ("B-S-ESy-p4-R", 3): "539ee2083e1a7feb",
    ("B-R-ESn-G", 1): "b4641fcacaa60f6d",
    ("B-R-ESn-G", 3): "250f88d7f6008c54",
    ("B-S-ESy-p9-D", 3): "a6a656a383526a5e",
}


@pytest.mark.parametrize(("name", "n_outputs"), PUBLISHED)
def test_trees_are_those_of_the_published_runs(name: str, n_outputs: int) -> None:
    experiment, drawn = parse_experiment(name), sha256()
    for seed in range(50):
        drawn.update(draw_tree(experiment, 7, n_outputs, seed).to_json().encode())
    assert drawn.hexdigest().startswith(PUBLISHED[name, n_outputs])


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_sizes_are_distributed_as_those_of_random_trees(n_outputs: int) -> None:
    experiment = parse_experiment("B-S-ESy-p4-R")
    rule = (experiment.max_depth, experiment.max_children, experiment.leaf_probability)
    ours, others = np.array(
        [
            (
                draw_tree(experiment, 7, n_outputs, seed).size,
                NeuralTree.random(
                    7, n_outputs, *rule, rule="paper", init="uniform", random_state=seed
                ).size,
            )
            for seed in range(600)
        ]
    ).T
    spread = np.hypot(ours.std(), others.std()) / np.sqrt(len(ours))
    assert abs(ours.mean() - others.mean()) < 4 * spread
