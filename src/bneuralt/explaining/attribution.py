"""Attribution of the predictions of a model to its columns, for encoded inputs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bneuralt._typing import Array, FloatArray
from bneuralt.explaining.links import links, mean_slopes, secants
from bneuralt.expressions import OUTPUTS, Expression, evaluate, is_elementwise
from bneuralt.model import Model
from bneuralt.tree.contributions import feature_contributions

__all__ = ["Attribution", "attribute"]

#: Largest numbers of rows, and of derivatives of outputs, that are computed together.
MAX_ROWS, MAX_SLOPES = 4096, 2**20


class Attribution(NamedTuple):
    """Contributions of features, whose sum is `end - start`.

    Attributes
    ----------
    values : array of shape (n_rows, n_features, n_outputs)
    start : array of shape (n_outputs,)
    end : array of shape (n_rows, n_outputs)
    """

    values: FloatArray
    start: FloatArray
    end: FloatArray

    def through(self, link: Expression) -> Attribution:
        """Return the attribution of the values of a link, from that of the outputs."""
        if link == OUTPUTS:
            return self
        if is_elementwise(link):
            values = self.values * secants(link, self.start, self.end)[:, np.newaxis, :]
        else:
            slopes = mean_slopes(link, self.start, self.end)
            values = np.einsum("nfj,nij->nfi", self.values, slopes)
        start, end = (evaluate(link, {"outputs": outputs}) for outputs in self[1:])
        return Attribution(values, start, end)


def attribute(
    model: Model,
    inputs: Array,
    baseline: FloatArray,
    output: str | None,
    can_interact: Array | None = None,
    **options: Any,
) -> tuple[Attribution, FloatArray | None]:
    """Attribute the predictions of a model to its columns, and to pairs of columns.

    Parameters
    ----------
    model : Model
    inputs : array of shape (n_rows, n_inputs)
    baseline : array of shape (n_inputs,)
    output : {"score", "probability"} or None
        For classes and labels, the quantity to explain. With two classes, that of the second one.
    can_interact : bool array of shape (n_features, n_features), optional
        The pairs of columns that may have an interaction; without it, none is computed.
    **options
        Options of `NeuralTree.contributions`.

    Returns
    -------
    Attribution
    interactions : array of shape (n_rows, n_features, n_features, n_outputs), or None
    """
    trees = _Trees(model, baseline, output, options)
    widest = model.n_outputs if can_interact is None else len(model.columns) ** 2
    n_rows = max(1, min(MAX_ROWS, MAX_SLOPES // (model.n_outputs * widest)))
    blocks, pairs = [], []
    for first in range(0, max(1, len(inputs)), n_rows):
        rows = inputs[first : first + n_rows]
        parts = [trees.part(t, rows) for t in range(len(model.trees))]
        blocks.append(trees.whole(parts))
        if can_interact is not None:
            pairs.append(_interactions(trees, rows, parts, blocks[-1].values, can_interact))
    values = np.concatenate([block.values for block in blocks])
    end = np.concatenate([block.end for block in blocks])
    whole = Attribution(values, blocks[0].start, end)
    if can_interact is None:
        return whole, None
    return whole, np.concatenate(pairs, axis=2).transpose(2, 0, 1, 3)


class _Trees:
    """The steps from the trees of a model to the attribution of its predictions."""

    def __init__(
        self, model: Model, baseline: FloatArray, output: str | None, options: dict[str, Any]
    ) -> None:
        self.model, self.baseline, self.output, self.options = model, baseline, output, options
        self.trees = [tree.astype(np.float64) for tree in model.trees]
        self.of_tree, self.of_mean = links(model, output)

    def part(self, t: int, rows: Array) -> Attribution:
        """Return the attribution of one tree."""
        tree, model = self.trees[t], self.model
        values = feature_contributions(
            tree, rows, self.baseline, model.column_of_input, len(model.columns), **self.options
        )
        part = Attribution(values, tree.forward(self.baseline), tree.forward(rows))
        return part.through(self.of_tree)

    def whole(self, parts: list[Attribution]) -> Attribution:
        """Return the attribution of the prediction from those of all trees."""
        whole = mean_of(parts).through(self.of_mean)
        if self.output is None or self.model.task != "classes" or self.model.n_outputs != 2:
            return whole
        if self.output == "score":  # of the second class against the first, as decision_function
            return Attribution(*(part[..., 1:] - part[..., :1] for part in whole))
        return Attribution(*(part[..., 1:] for part in whole))


def _interactions(
    trees: _Trees,
    rows: Array,
    parts: list[Attribution],
    values: FloatArray,
    can_interact: Array,
) -> FloatArray:
    """Divide the contributions of columns among pairs of columns.

    The interaction of two columns is the part of the contribution of one of them that is gone if
    the other one is at its baseline, averaged over the two. The diagonal has the rest of each
    contribution.

    Returns
    -------
    array of shape (n_features, n_features, n_rows, n_outputs)
    """
    model, n_columns = trees.model, len(trees.model.columns)
    uses = [np.unique(model.column_of_input[tree.leaf_input]) for tree in trees.trees]
    alone = values.transpose(1, 0, 2).copy()  # what is left on the diagonal
    pairs = np.zeros((n_columns, *alone.shape))  # columns first, so that rows are neighbours
    for j in np.unique(np.concatenate(uses)).tolist():
        is_partner = can_interact[j] & (np.arange(n_columns) != j)
        if not is_partner.any():
            continue
        changed = rows.astype(np.float64)
        here = list(model.columns[j].inputs)
        changed[:, here] = trees.baseline[here]
        others = [trees.part(t, changed) if j in uses[t] else part for t, part in enumerate(parts)]
        gone = (values - trees.whole(others).values).transpose(1, 0, 2).copy()
        gone *= is_partner[:, np.newaxis, np.newaxis] / 2
        pairs[j] += gone
        pairs[:, j] += gone
        alone -= gone
        alone[j] -= gone.sum(axis=0)
    diagonal = np.arange(n_columns)
    pairs[diagonal, diagonal] = alone
    return pairs


def mean_of(parts: list[Attribution]) -> Attribution:
    """Return the mean of several attributions."""
    if len(parts) == 1:
        return parts[0]
    return Attribution(*(sum(part) / len(parts) for part in zip(*parts, strict=True)))
