"""Fewer weights for the tree of an estimator: the data and the training that pruning needs."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from bneuralt._typing import FloatArray
from bneuralt.arrays import CheckedTable
from bneuralt.estimators.rows import Rows
from bneuralt.estimators.scaling import Scaling
from bneuralt.pruning import fewest_bytes, fewest_weights, prune
from bneuralt.training import TrainingJob, train_many
from bneuralt.tree import NeuralTree
from bneuralt.tree.monotonic import Signs, node_signs

__all__ = ["check_budget", "smaller_models"]

#: Training after each step: epochs as a share of those of a fit, and the learning rate likewise.
REFIT_EPOCHS, REFIT_RATE = 0.1, 0.5
#: The same at a size that is wanted.
LAST_EPOCHS, LAST_RATE = 0.5, 0.5


def check_budget(name: str, wanted: int, n_outputs: int, in_bytes: bool = False) -> None:
    """Refuse a size that is too small for a tree with so many outputs."""
    fewest = fewest_bytes(n_outputs) if in_bytes else fewest_weights(n_outputs)
    if wanted < fewest:
        raise ValueError(
            f"{name}={wanted} is too small: a tree with {n_outputs} "
            f"output{'' if n_outputs == 1 else 's'} has at least {fewest} "
            f"{'bytes' if in_bytes else 'weights'}, a bias and a leaf for each"
        )


def smaller_models(model: Any, rows: Rows, sizes: Sequence[int], **options: Any) -> list[Any]:
    """Return copies of an estimator of one tree, with fewer and fewer weights.

    Parameters
    ----------
    model : estimator of one tree
    rows : Rows
        Training rows.
    sizes : sequence of int
        Sizes that are wanted, from large to small.
    **options
        Of `bneuralt.pruning.prune`.
    """
    work = copy.copy(model)
    work._learn_scaling(rows, constant=1.0)
    inputs = work._input_scaling
    tree = _unfold(model.tree_, inputs, work._output_scaling())
    X = np.asarray(rows.X, dtype=np.float64)
    X = X if inputs is None else inputs.apply(X)
    loss = work._loss()
    input_signs = work._input_signs()
    once = rows.one_epoch().with_mean_weight_one()
    settings = work._settings(rows).set_params(leaf_moves=0, select=None, patience=None)
    table = CheckedTable(rows.table)

    def refit(smaller: NeuralTree, is_wanted: bool) -> NeuralTree:
        epochs, rate = (LAST_EPOCHS, LAST_RATE) if is_wanted else (REFIT_EPOCHS, REFIT_RATE)
        signs = None
        if input_signs is not None:
            signs = Signs(node_signs(smaller, work._output_signs()), input_signs)
        job = TrainingJob(
            smaller.astype(work.tree_.dtype),
            settings.set_params(
                max_epochs=max(1, round(epochs * settings.max_epochs)),
                learning_rate=rate * settings.learning_rate,
            ),
            rows=once.index,
            sample_weight=once.sample_weight,
            input_scaling=inputs,
            target_scaling=work._target_scaling,
            signs=signs,
        )
        (result,) = train_many([job], table, rows.target, n_threads=work._n_threads())
        return result.tree.astype(np.float64)

    compensates = input_signs is None  # what makes up for a removal may have any sign
    trees = prune(tree, X, loss, rows.weight, refit, sizes, compensates=compensates, **options)
    return [_with_tree(work, smaller) for smaller in trees]


def _with_tree(work: Any, tree: NeuralTree) -> Any:
    """Return a copy of an estimator that has this tree for scaled inputs."""
    model = copy.copy(work)
    model._trained_tree = tree.astype(work.tree_.dtype)
    model._optimizer_state = None
    model._node_signs = None
    model.tree_ = model._fold(model._trained_tree)
    return model


def _unfold(tree: NeuralTree, inputs: Scaling | None, target: Scaling | None) -> NeuralTree:
    """Return the tree from scaled inputs to scaled outputs that `tree` is from raw to raw."""
    unfolded = tree.astype(np.float64)
    if inputs is not None:
        offset, factor = inputs
        unfolded = unfolded.with_input_scaling(-offset * factor, 1.0 / factor)
    if target is not None:
        factor = _nonzero(target.factor)
        unfolded = unfolded.with_output_scaling(-target.offset * factor, factor)
    return unfolded


def _nonzero(factor: FloatArray) -> FloatArray:
    nonzero: FloatArray = np.where(factor == 0, 1.0, factor)
    return nonzero
