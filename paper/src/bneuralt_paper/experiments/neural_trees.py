"""BNeuralT as in the paper: a random tree, generated and trained by the paper's rules."""

from __future__ import annotations

import time
import warnings

import numpy as np

from bneuralt.training import TrainingDiverged, TrainingSettings, train
from bneuralt.training.optimizers import Adam, Optimizer, PaperAdam, get_optimizer
from bneuralt.tree import NeuralTree
from bneuralt.tree.activations import activation_code
from bneuralt_paper._typing import Array, FloatArray
from bneuralt_paper.experiments.definitions import BNeuralTExperiment
from bneuralt_paper.experiments.protocols import Outcome, Partition, Protocol, derive_seed

__all__ = ["draw_tree", "paper_tree", "run_bneuralt", "training_settings"]


def training_settings(experiment: BNeuralTExperiment, protocol: Protocol) -> TrainingSettings:
    """Return the training settings of an experiment under a protocol.

    Only the paper's protocol reproduces two peculiarities of the authors' program: its Adam does
    not count steps, and each epoch ends with an additional update on row 0.

    Examples
    --------
    >>> from bneuralt_paper.experiments.definitions import parse_experiment
    >>> from bneuralt_paper.experiments.protocols import get_protocol
    >>> training_settings(parse_experiment("B-S-ESy-p4-D"), get_protocol("honest")).optimizer
    Adam(beta1=0.9, beta2=0.9, epsilon=1e-08)
    """
    optimizer: Optimizer = get_optimizer(experiment.optimizer)
    if experiment.optimizer == "adam":
        optimizer = PaperAdam() if protocol.follows_authors_program else Adam(beta2=0.9)
    return TrainingSettings(
        loss="squared_error",
        optimizer=optimizer,
        learning_rate=experiment.learning_rate,
        schedule="constant",
        batch_size=1,
        max_epochs=experiment.max_epochs,
        select="update" if experiment.early_stopping else None,
        monitor="error",
        repeat_first_row=protocol.follows_authors_program,
    )


def draw_tree(
    experiment: BNeuralTExperiment, n_inputs: int, n_outputs: int, seed: int
) -> NeuralTree:
    """Draw the tree of a run by the paper's rules.

    Examples
    --------
    >>> draw_tree(BNeuralTExperiment("rmsprop"), n_inputs=4, n_outputs=3, seed=0).n_outputs
    3
    """
    return paper_tree(
        n_inputs,
        n_outputs,
        experiment.max_depth,
        experiment.max_children,
        experiment.leaf_probability,
        activation=experiment.activation,
        seed=seed,
    )


def paper_tree(
    n_inputs: int,
    n_outputs: int,
    max_depth: int = 5,
    max_children: int = 5,
    leaf_probability: float = 0.4,
    *,
    activation: str = "sigmoid",
    seed: int,
) -> NeuralTree:
    """Draw a tree by the paper's rules, with the random numbers of the published runs.

    A tree grows level by level. A node has 2 to m - 1 children, which are leaves with probability
    `leaf_probability`, and always below `max_depth`; all weights are uniform on [0, 1].
    `NeuralTree.random` draws from the same distribution with other random numbers.

    Parameters
    ----------
    n_inputs, n_outputs, max_depth, max_children, leaf_probability, activation
        See `NeuralTree.random`.
    seed : int

    Examples
    --------
    >>> paper_tree(4, 3, seed=0).n_outputs
    3
    """
    rng = np.random.default_rng(seed)
    level = np.arange(n_outputs)
    parents, leaf_parents = [np.full(n_outputs, -1)], []
    for depth in range(int(n_outputs > 1), max_depth + 1):
        child_parent = np.repeat(level, rng.integers(2, max_children, level.size))
        is_leaf = np.ones(child_parent.size, dtype=bool)
        if depth < max_depth:
            is_leaf = rng.random(child_parent.size) < leaf_probability
        leaf_parents.append(child_parent[is_leaf])
        parents.append(child_parent[~is_leaf])
        level = level[-1] + 1 + np.arange(parents[-1].size)
        if not level.size:
            break
    parent, leaf_parent = np.concatenate(parents), np.concatenate(leaf_parents)
    leaf_input = rng.integers(n_inputs, size=leaf_parent.size)
    weights = rng.random(2 * parent.size - n_outputs + leaf_parent.size)
    codes = np.full(parent.size, activation_code(activation))
    codes[:n_outputs] = activation_code("sigmoid")
    return NeuralTree(n_inputs, n_outputs, parent, codes, leaf_parent, leaf_input, weights)


def run_bneuralt(
    experiment: BNeuralTExperiment, protocol: Protocol, partition: Partition, run: int
) -> Outcome:
    """Generate, train and score one tree.

    All optimizers of a setting start from the same tree and process the rows in the same order.
    """
    selects = experiment.early_stopping
    X, y = partition.training_rows(selects)
    structure_seed = derive_seed(run, "structure", partition.name)
    tree = draw_tree(experiment, X.shape[1], partition.n_classes or 1, structure_seed)
    seed = derive_seed(run, "training", partition.name)
    start = time.perf_counter()
    with warnings.catch_warnings():
        # ReLU trees sometimes overflow at the paper's rate; their last finite weights are scored.
        warnings.simplefilter("ignore", TrainingDiverged)
        result = train(
            tree,
            X,
            y,
            settings=training_settings(experiment, protocol),
            seed=seed,
            validation=partition.monitored_rows(selects),
        )
    seconds = time.perf_counter() - start
    trained = result.tree

    def predict(X: FloatArray) -> Array:
        outputs = trained.forward(X)
        return np.argmax(outputs, axis=1) if partition.n_classes else outputs[:, 0]

    names = ("train_loss", "train_error", "val_loss", "val_error")
    curves = {name: result.history[name].tolist() for name in names}
    return Outcome(
        seed,
        partition.score(predict, selects),
        seconds,
        size=trained.size,
        weights=trained.paper_parameter_count,
        epochs=result.n_epochs,
        curves={name: values for name, values in curves.items() if not np.isnan(values).all()},
        tree_json=trained.to_json(),
    )
