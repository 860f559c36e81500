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
MOST_ROWS, MOST_SLOPES = 4096, 2**20


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
    model: Model, inputs: Array, baseline: FloatArray, output: str | None, **options: Any
) -> Attribution:
    """Attribute the predictions of a model to its columns.

    Parameters
    ----------
    model : Model
    inputs : array of shape (n_rows, n_inputs)
    baseline : array of shape (n_inputs,)
    output : {"score", "probability"} or None
        For classes and labels, the quantity to explain. With two classes, that of the second one.
    **options
        Options of `NeuralTree.contributions`.
    """
    trees = [tree.astype(np.float64) for tree in model.trees]
    feature, n_features = model.column_of_input, len(model.columns)
    of_tree, of_mean = links(model, output)

    def of_rows(rows: Array) -> Attribution:
        parts = []
        for tree in trees:
            values = feature_contributions(tree, rows, baseline, feature, n_features, **options)
            part = Attribution(values, tree.forward(baseline), tree.forward(rows))
            parts.append(part.through(of_tree))
        return mean_of(parts).through(of_mean)

    n_rows = max(1, min(MOST_ROWS, MOST_SLOPES // model.n_outputs**2))
    blocks = [
        of_rows(inputs[first : first + n_rows]) for first in range(0, max(1, len(inputs)), n_rows)
    ]
    values = np.concatenate([block.values for block in blocks])
    end = np.concatenate([block.end for block in blocks])
    whole = Attribution(values, blocks[0].start, end)
    if output is None or model.task != "classes" or model.n_outputs != 2:
        return whole
    if output == "score":  # of the second class against the first, as decision_function
        return Attribution(*(part[..., 1:] - part[..., :1] for part in whole))
    return Attribution(*(part[..., 1:] for part in whole))


def mean_of(parts: list[Attribution]) -> Attribution:
    """Return the mean of several attributions."""
    return Attribution(*(sum(part) / len(parts) for part in zip(*parts, strict=True)))
