"""BNeuralT itself: a random tree by the paper's rule, trained as the paper trained it."""

from __future__ import annotations

import time
import warnings

import numpy as np

from bneuralt.paper.experiments.grid import BNeuralT
from bneuralt.paper.experiments.protocols import Outcome, Partition, Protocol, derive_seed
from bneuralt.training.optimizers import Adam, Optimizer, PaperAdam, get_optimizer
from bneuralt.training.trainer import TrainingDiverged, TrainingSettings, train
from bneuralt.tree.neural_tree import NeuralTree

__all__ = ["run_bneuralt", "training_settings"]


def training_settings(experiment: BNeuralT, protocol: Protocol) -> TrainingSettings:
    """Return how a tree is trained under a protocol.

    The two oddities of the authors' program, an Adam that never counts its steps and one more
    update on row 0 at the end of each epoch, belong to the paper's protocol only.

    Examples
    --------
    >>> from bneuralt.paper.experiments.grid import parse
    >>> from bneuralt.paper.experiments.protocols import get_protocol
    >>> training_settings(parse("B-S-ESy-p4-D"), get_protocol("honest")).optimizer
    Adam(beta1=0.9, beta2=0.9, epsilon=1e-08)
    """
    optimizer: Optimizer = get_optimizer(experiment.optimizer)
    if experiment.optimizer == "adam":
        optimizer = PaperAdam() if protocol.has_authors_oddities else Adam(beta2=0.9)
    return TrainingSettings(
        loss="squared_error",
        optimizer=optimizer,
        learning_rate=experiment.learning_rate,
        schedule="constant",
        batch_size=1,
        max_epochs=experiment.max_epochs,
        select="update" if experiment.early_stopping else None,
        monitor="error",
        repeat_first_row=protocol.has_authors_oddities,
    )


def run_bneuralt(
    experiment: BNeuralT, protocol: Protocol, partition: Partition, run: int
) -> Outcome:
    """Draw, train and judge one tree.

    All optimizers of a setting start from the same tree and see the rows in the same order.
    """
    choosing = experiment.early_stopping
    X, y = partition.learn(choosing)
    tree = NeuralTree.random(
        X.shape[1],
        partition.n_classes or 1,
        max_depth=experiment.max_depth,
        max_children=experiment.max_children,
        leaf_probability=experiment.leaf_probability,
        rule="paper",
        init="uniform",
        activation=experiment.activation,
        output_activation="sigmoid",
        random_state=derive_seed(run, "structure", partition.name),
    )
    seed = derive_seed(run, "training", partition.name)
    start = time.perf_counter()
    with warnings.catch_warnings():
        # ReLU trees at the paper's rates do overflow at times: their last finite weights count.
        warnings.simplefilter("ignore", TrainingDiverged)
        result = train(
            tree,
            X,
            y,
            settings=training_settings(experiment, protocol),
            seed=seed,
            validation=partition.watch(choosing),
        )
    seconds = time.perf_counter() - start
    trained = result.tree

    def predict(X: np.ndarray) -> np.ndarray:
        outputs = trained.forward(X)
        return np.argmax(outputs, axis=1) if partition.n_classes else outputs[:, 0]

    names = ("train_loss", "train_error", "val_loss", "val_error")
    curves = {name: result.history[name].tolist() for name in names}
    return Outcome(
        seed,
        partition.judge(predict, choosing),
        seconds,
        size=trained.size,
        weights=trained.paper_parameter_count,
        epochs=result.n_epochs,
        curves={name: values for name, values in curves.items() if not np.isnan(values).all()},
        tree_json=trained.to_json(),
    )
