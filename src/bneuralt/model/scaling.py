"""Scaling of inputs and targets: learnt on training rows, and folded into trees."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from bneuralt._typing import FloatArray
from bneuralt.tables.moments import ColumnMoments
from bneuralt.tree import NeuralTree

__all__ = ["Scaling", "fold", "fold_all", "learn_scaling", "unfold"]

#: Largest offset in units of scale for which scaling is folded into float32 weights. Larger ones
#: make the tree subtract large numbers; at this limit, 2 of 7 digits are lost.
LARGEST_OFFSET = 256.0
#: Weights, and products of them, must stay far from the ends of float32's range.
LARGEST_FACTOR = 1e18


class Scaling(NamedTuple):
    """The linear function from a raw value x to `(x - offset) * factor`."""

    offset: FloatArray
    factor: FloatArray

    def apply(self, values: FloatArray) -> FloatArray:
        """Return the scaled values."""
        return (values - self.offset) * self.factor

    @property
    def deviation(self) -> FloatArray:
        """The unit of each value; 0 for values without influence."""
        return np.divide(1.0, self.factor, out=np.zeros_like(self.factor), where=self.factor != 0)

    @property
    def fits_float32(self) -> bool:
        """Whether a tree with this scaling folded in may keep float32 weights."""
        used = np.abs(self.factor[self.factor != 0.0])
        in_range = (used < LARGEST_FACTOR) & (used > 1 / LARGEST_FACTOR)
        return bool(in_range.all() and np.all(np.abs(self.offset * self.factor) < LARGEST_OFFSET))


def learn_scaling(
    kind: str | None,
    moments: ColumnMoments,
    constant: float = 0.0,
    name: str | None = None,
    categories: Iterable[range] = (),
) -> Scaling | None:
    """Learn how to scale each column.

    Parameters
    ----------
    kind : {"robust", "standard", "minmax"} or None
        To mean 0 and variance 1, to [0, 1], or no scaling. (What is robust are the limits of the
        columns, which the encoder has.)
    moments : ColumnMoments
        Statistics of the columns.
    constant : float
        Factor of constant columns. With 0 they have no influence.
    name : str, optional
        Name of the values in error messages; by default the position of the column of X.
    categories : iterable of range
        Columns that encode one category each of the same feature. Unless "minmax", they share one
        factor, which makes the sum of their variances 1. Separate factors would decay the weights
        of rare categories less.

    Examples
    --------
    >>> X = np.array([[1.0, 5.0], [3.0, 5.0]])
    >>> learn_scaling("minmax", ColumnMoments(X, np.ones(2))).factor
    array([0.5, 0. ])
    """
    if kind is None:
        return None
    span, varies = moments.span, moments.varies
    if not np.isfinite(span).all():
        name = name or f"column {int(np.argmin(np.isfinite(span)))} of X"
        raise ValueError(
            f"the difference of the largest and the smallest value of {name} overflows: rescale "
            "the values, for instance by their logarithm"
        )
    offset, deviation = moments.low, moments.unit
    if kind != "minmax":
        offset = offset + moments.mean * moments.unit
        deviation = np.sqrt(moments.variance) * moments.unit
        for columns in map(list, categories):
            if varies[columns].any():
                deviation[columns] = np.linalg.norm(deviation[columns][varies[columns]])
    return Scaling(offset, np.where(varies, 1.0 / deviation, constant))


def fold(tree: NeuralTree, inputs: Scaling | None, target: Scaling | None) -> NeuralTree:
    """Fold the scaling of features and target into the weights of a tree; see `fold_all`."""
    return fold_all([tree], inputs, target)[0]


def fold_all(
    trees: Iterable[NeuralTree], inputs: Scaling | None, target: Scaling | None
) -> list[NeuralTree]:
    """Fold the scaling of features and target into the weights of trees.

    The results are float64 where float32 weights would lose accuracy.

    Parameters
    ----------
    trees : iterable of NeuralTree
        Trained trees, from scaled features to the scaled target.
    inputs : Scaling or None
        Scaling of the features.
    target : Scaling or None
        Scaling of the target of a regression, one for all outputs or one for each. Outputs that
        are not linear get a linear node above them.
    """
    outputs = None
    if target is not None:
        varies = target.factor != 0.0
        factor = np.where(varies, 1.0 / np.where(varies, target.factor, 1.0), 0.0)
        outputs = target.offset, factor
    fits = all(scaling.fits_float32 for scaling in (inputs, target) if scaling is not None)
    if target is not None and not target.factor.all():
        fits = fits and _is_float32(target.offset)  # a constant target is predicted exactly
    folded = []
    for tree in trees:
        start = tree
        if outputs is not None and tree.output_activation != "linear":
            start = tree.with_linear_outputs()
        folded.append(start.with_scalings(inputs, outputs, tree.dtype if fits else np.float64))
    return folded


def unfold(tree: NeuralTree, inputs: Scaling | None, target: Scaling | None) -> NeuralTree:
    """Return the tree for scaled inputs and outputs: the inverse of `fold`, up to rounding."""
    of_inputs = of_outputs = None
    if inputs is not None:  # no leaf has an input whose factor is 0
        factor = np.where(inputs.factor == 0, 1.0, inputs.factor)
        of_inputs = -inputs.offset * factor, 1.0 / factor
    if target is not None:
        factor = np.where(target.factor == 0, 1.0, target.factor)
        of_outputs = -target.offset * factor, factor
    return tree.with_scalings(of_inputs, of_outputs)


def _is_float32(values: FloatArray) -> bool:
    """Return whether numbers are the same in float32."""
    with np.errstate(over="ignore"):
        return bool(np.all(values.astype(np.float32) == values))
