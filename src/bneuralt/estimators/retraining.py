"""Other trees for an estimator: pruned with training after each step, or with bent leaves."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from bneuralt.estimators.rows import Rows
from bneuralt.estimators.scaling import Scaling
from bneuralt.shrinking import BentLeaves, prune
from bneuralt.training import TrainingJob, train_many
from bneuralt.tree import NeuralTree
from bneuralt.tree.monotonic import Signs, node_signs

__all__ = ["smaller_models", "unfold", "with_bent_leaves"]

#: Training after each step: epochs as a share of those of a fit, and the learning rate likewise.
REFIT_EPOCHS, REFIT_RATE = 0.1, 0.5
#: The same once a size is reached.
LAST_EPOCHS, LAST_RATE = 0.5, 0.5


def smaller_models(model: Any, rows: Rows, sizes: Sequence[int], **options: Any) -> list[Any]:
    """Return pruned copies of an estimator of one tree.

    Parameters
    ----------
    model : estimator of one tree
    rows : Rows
        Training rows.
    sizes : sequence of int
        From large to small.
    **options
        Options of `bneuralt.shrinking.prune`.
    """
    work = copy.copy(model)
    work._learn_scaling(rows, constant=1.0)
    inputs = work._input_scaling
    tree = unfold(model.tree_, inputs, work._output_scaling())
    X = np.asarray(rows.inputs, dtype=np.float64)
    X = X if inputs is None else inputs.apply(X)
    loss = work._loss()
    input_signs = work._input_signs()
    once = rows.one_epoch().with_mean_weight_one()
    settings = work._settings(rows).set_params(leaf_moves=0, select=None, patience=None)
    table = rows.checked_table

    def refit(smaller: NeuralTree, is_last: bool) -> NeuralTree:
        epochs, rate = (LAST_EPOCHS, LAST_RATE) if is_last else (REFIT_EPOCHS, REFIT_RATE)
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

    compensates = input_signs is None  # a compensation may change the sign of a weight
    trees = prune(tree, X, loss, rows.weight, refit, sizes, compensates=compensates, **options)
    trained = [smaller.astype(model.tree_.dtype) for smaller in trees]
    return [work._with_trees([work._fold(tree)], [tree]) for tree in trained]


def unfold(tree: NeuralTree, inputs: Scaling | None, target: Scaling | None) -> NeuralTree:
    """Return the tree for scaled inputs and outputs: the inverse of `fold`."""
    unfolded = tree.astype(np.float64)
    if inputs is not None:
        offset, factor = inputs
        unfolded = unfolded.with_input_scaling(-offset * factor, 1.0 / factor)
    if target is not None:
        factor = np.where(target.factor == 0, 1.0, target.factor)
        unfolded = unfolded.with_output_scaling(-target.offset * factor, factor)
    return unfolded


def with_bent_leaves(model: Any, bent: BentLeaves, trees: Sequence[NeuralTree]) -> Any:
    """Return a copy of an estimator with trees of other inputs.

    Parameters
    ----------
    model : estimator, but no forest
    bent : BentLeaves
        The inputs.
    trees : sequence of NeuralTree
        Trees for unscaled inputs.
    """
    change = bent.change
    other = model._with_trees(trees)
    other.encoder_, other._reference = bent.model.encoder, bent.model.reference
    scaling = getattr(model, "_input_scaling", None)
    if scaling is not None:
        varies = scaling.factor != 0.0
        spread = change.spreads(np.where(varies, 1.0 / np.where(varies, scaling.factor, 1.0), 0.0))
        is_used = spread != 0.0
        factor = np.where(is_used, 1.0 / np.where(is_used, spread, 1.0), 0.0)
        other._input_scaling = Scaling(change.values(scaling.offset), factor)
    trained = getattr(model, "_trained_tree", None)
    if trained is not None:
        if model._trained_trees() is None:
            other._trained_tree = change.renumbered(trained)
        else:
            inputs = other._input_scaling
            if inputs is not None:  # no leaf has an input whose factor is 0
                inputs = inputs._replace(factor=np.where(inputs.factor == 0, 1.0, inputs.factor))
            tree = unfold(trees[0], inputs, model._output_scaling())
            other._trained_tree = tree.astype(trained.dtype)
        other._optimizer_state = other._node_signs = None
    return other
