"""Attributions of the predictions of a model, for inputs that are encoded already."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit, softmax
from sklearn.base import is_classifier

from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.explaining.links import mean_slopes, secants, share_slopes, softmax_slopes
from bneuralt.explaining.models import trees_of
from bneuralt.expressions import Expression, evaluate, is_elementwise, slope
from bneuralt.tree import NeuralTree
from bneuralt.tree.contributions import feature_contributions

__all__ = ["Attribution", "attribute"]

#: Rows that are computed together, so that intermediate results stay small.
BLOCK = 4096
LEAST = np.finfo(np.float64).tiny


class Attribution(NamedTuple):
    """Contributions of features, and what they explain: `end - start`.

    Attributes
    ----------
    values : array of shape (n_rows, n_features, n_outputs)
    start : array of shape (n_outputs,)
    end : array of shape (n_rows, n_outputs)
    """

    values: FloatArray
    start: FloatArray
    end: FloatArray

    def through(
        self,
        function: Callable[[FloatArray], FloatArray],
        slope: Callable[[FloatArray], FloatArray],
    ) -> Attribution:
        """Return the attribution of a function of each output."""
        factor = secants(function, slope, self.start, self.end)
        values = self.values * factor[:, np.newaxis, :]
        return Attribution(values, function(self.start), function(self.end))

    def mixed_by(
        self,
        function: Callable[[FloatArray], FloatArray],
        slopes: Callable[[FloatArray], FloatArray],
    ) -> Attribution:
        """Return the attribution of a function of all outputs together."""
        matrix = mean_slopes(function, slopes, self.start, self.end)
        values = np.einsum("nfj,nij->nfi", self.values, matrix)
        return Attribution(values, function(self.start[np.newaxis])[0], function(self.end))


def attribute(
    model: Any,
    inputs: Array,
    baseline: FloatArray,
    feature: IntArray,
    n_features: int,
    output: str | None,
    **options: Any,
) -> Attribution:
    """Attribute the predictions of a model to features.

    Parameters
    ----------
    model : NeuralTree or estimator
    inputs : array of shape (n_rows, n_inputs)
    baseline : array of shape (n_inputs,)
    feature : int array of shape (n_inputs,)
        The feature to which each input belongs.
    n_features : int
    output : {"score", "probability"} or None
        For classifiers, what is explained.
    **options
        Of `NeuralTree.contributions`.
    """
    trees = [tree.astype(np.float64) for tree in trees_of(model)]

    def of_trees(rows: Array, change: Callable[[Attribution], Attribution]) -> Attribution:
        parts = []
        for tree in trees:
            values = feature_contributions(tree, rows, baseline, feature, n_features, **options)
            parts.append(change(Attribution(values, tree.forward(baseline), tree.forward(rows))))
        return Attribution(*(sum(part) / len(trees) for part in zip(*parts, strict=True)))

    blocks = []
    for first in range(0, max(1, len(inputs)), BLOCK):
        rows = inputs[first : first + BLOCK]
        if isinstance(model, NeuralTree) or not is_classifier(model):
            found = of_trees(rows, lambda part: part)
            if not isinstance(model, NeuralTree) and is_elementwise(model._link()):
                found = _linked(found, model._link())
        else:
            found = _of_classifier(model, trees, rows, output, of_trees)
        blocks.append(found)
    values = np.concatenate([block.values for block in blocks])
    return Attribution(values, blocks[0].start, np.concatenate([block.end for block in blocks]))


def _linked(part: Attribution, link: Expression) -> Attribution:
    """Return the attribution of a link that takes each output by itself."""
    return part.through(
        lambda x: evaluate(link, {"outputs": x}),
        lambda x: np.ones_like(x) * slope(link, {"outputs": x}, "outputs"),
    )


def _of_classifier(
    model: Any,
    trees: list[NeuralTree],
    rows: Array,
    output: str | None,
    of_trees: Callable[[Array, Callable[[Attribution], Attribution]], Attribution],
) -> Attribution:
    are_scores = model._outputs_are_scores(trees)
    if output == "score" and len(trees) == 1 and are_scores:
        found = of_trees(rows, lambda part: part)
    elif model.multilabel_:
        found = of_trees(rows, _label_probabilities if are_scores else (lambda part: part))
        if output == "score":
            found = found.through(_bounded_logit, lambda p: 1 / np.maximum(p * (1 - p), LEAST))
    elif output == "score" and len(trees) == 1:
        found = of_trees(rows, _logarithms)  # of shares: decision_function has no common term
    else:
        found = of_trees(rows, _probabilities if are_scores else _shares)
        if output == "score":
            found = _logarithms(found)
    if model.multilabel_ or found.start.size != 2:
        return found
    if output == "score":  # of the second class against the first, as decision_function
        both = zip(found, strict=True)
        return Attribution(*((part[..., 1:] - part[..., :1]) for (part,) in both))
    return Attribution(*(part[..., 1:] for part in found))


def _probabilities(part: Attribution) -> Attribution:
    return part.mixed_by(lambda scores: softmax(scores, axis=1), softmax_slopes)


def _shares(part: Attribution) -> Attribution:
    def shares(values: FloatArray) -> FloatArray:
        bounded: FloatArray = np.maximum(values, LEAST)
        result: FloatArray = bounded / bounded.sum(axis=1, keepdims=True)
        return result

    return part.mixed_by(shares, lambda values: share_slopes(np.maximum(values, LEAST)))


def _label_probabilities(part: Attribution) -> Attribution:
    return part.through(expit, lambda scores: expit(scores) * expit(-scores))


def _logarithms(part: Attribution) -> Attribution:
    return part.through(lambda p: np.log(np.maximum(p, LEAST)), lambda p: 1 / np.maximum(p, LEAST))


def _bounded_logit(p: FloatArray) -> FloatArray:
    bounded: FloatArray = logit(np.clip(p, LEAST, 1 - np.finfo(np.float64).epsneg))
    return bounded
