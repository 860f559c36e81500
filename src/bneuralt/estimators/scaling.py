"""Scaling of features and targets: learnt on training rows, then folded into the tree."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from bneuralt._typing import FloatArray
from bneuralt.tables.moments import ColumnMoments
from bneuralt.tree import NeuralTree

__all__ = ["Scaling", "fold", "learn_scaling"]

#: A folded float32 tree would compute the small difference of two large numbers if an offset is
#: further from 0 than this many units of scale: up to here it costs no more than 2 digits of 7.
LARGEST_OFFSET = 256.0
#: Weights, and products of them, must stay far from the ends of float32's range.
LARGEST_FACTOR = 1e18


class Scaling(NamedTuple):
    """What takes a raw value x to `(x - offset) * factor`."""

    offset: FloatArray
    factor: FloatArray

    def apply(self, values: FloatArray) -> FloatArray:
        """Return the scaled values."""
        return (values - self.offset) * self.factor

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
    kind : {"standard", "minmax"} or None
        To mean 0 and variance 1, to [0, 1], or not at all.
    moments : ColumnMoments
        Of the table.
    constant : float
        The factor of columns that do not vary. With 0 they have no influence from then on.
    name : str, optional
        What messages call the values; by default column so and so of X.
    categories : iterable of range
        Columns that say which category of a feature a row has. With "standard" they share one
        factor, which makes the sum of their variances 1. With factors of their own, the rarer a
        category, the less its weight would be decayed.

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
            f"the values of {name} are so far apart that their difference overflows: rescale "
            "them, for instance by their logarithm"
        )
    offset, deviation = moments.low, moments.unit
    if kind == "standard":
        offset = offset + moments.mean * moments.unit
        deviation = np.sqrt(moments.variance) * moments.unit
        for columns in map(list, categories):
            if varies[columns].any():
                deviation[columns] = np.linalg.norm(deviation[columns][varies[columns]])
    return Scaling(offset, np.where(varies, 1.0 / deviation, constant))


def fold(tree: NeuralTree, inputs: Scaling | None, target: Scaling | None) -> NeuralTree:
    """Return the tree from raw features to raw target that `tree` is from scaled to scaled.

    The result is float64 where float32 weights would lose digits that matter.

    Parameters
    ----------
    tree : NeuralTree
        As it comes out of training.
    inputs : Scaling or None
        How the features were scaled.
    target : Scaling or None
        How the targets of a regression were scaled, one for all outputs or one for each. A linear
        output takes it up; above any other one goes a new root, which is linear.
    """
    folded = tree.astype(np.float64)
    if inputs is not None:
        folded = folded.with_input_scaling(*inputs)
    if target is not None:
        if folded.output_activation != "linear":
            folded = folded.with_linear_outputs()
        varies = target.factor != 0.0
        factor = np.where(varies, 1.0 / np.where(varies, target.factor, 1.0), 0.0)
        folded = folded.with_output_scaling(target.offset, factor)
    fits = all(scaling.fits_float32 for scaling in (inputs, target) if scaling is not None)
    if target is not None and not target.factor.all():
        fits = fits and _is_float32(target.offset)  # a constant is predicted as it was given
    return folded.astype(tree.dtype) if fits else folded


def _is_float32(values: FloatArray) -> bool:
    """Return whether numbers are the same in float32."""
    with np.errstate(over="ignore"):
        return bool(np.all(values.astype(np.float32) == values))
