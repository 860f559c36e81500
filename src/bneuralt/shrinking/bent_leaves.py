"""Merging of the leaves that a node has of one column of numbers into a single bent leaf.

A column of numbers has several inputs: the limited number and ramps. A weighted sum of them is
straight between some points, so one input can compute it. The number of leaves falls, and
drawings, formulas and generated code have one term in place of several.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from bneuralt._typing import FloatArray, IntArray
from bneuralt.model import Model
from bneuralt.model.scaling import Scaling
from bneuralt.tables.encoder import TableEncoder
from bneuralt.tables.features import NumberFeature
from bneuralt.tables.polylines import Curve, Knots, sum_of_curves
from bneuralt.tree import NeuralTree
from bneuralt.tree.renumbering import renumbered
from bneuralt.tree.simplify import simplify

__all__ = ["BentLeaves", "InputChange", "bend_leaves"]


class _Sum(NamedTuple):
    """An input that is a weighted sum of other inputs plus a constant."""

    inputs: IntArray
    weights: FloatArray
    constant: float


@dataclass(frozen=True, eq=False)
class InputChange:
    """What the inputs of an encoder with more curves are, in terms of the inputs before.

    Attributes
    ----------
    position : int array of shape (n_inputs_before,)
        Position of each input of before.
    sums : dict of int
        Positions of the new inputs, and what they are the sums of.
    """

    position: IntArray
    sums: dict[int, _Sum]

    def values(self, before: FloatArray) -> FloatArray:
        """Return values of all inputs, given those of before, in the last dimension."""
        after = np.empty((*before.shape[:-1], self.position.size + len(self.sums)))
        after[..., self.position] = before
        for i, (inputs, weights, constant) in self.sums.items():
            after[..., i] = before[..., inputs] @ weights + constant
        return after

    def spreads(self, before: FloatArray) -> FloatArray:
        """Return about how much all inputs vary, given that of the inputs of before."""
        after = np.empty(self.position.size + len(self.sums))
        after[self.position] = before
        for i, (inputs, weights, _) in self.sums.items():
            after[i] = np.linalg.norm(before[inputs] * weights)
        return after

    def renumbered(self, tree: NeuralTree) -> NeuralTree:
        """Return the same tree for the inputs in their new positions."""
        return renumbered(tree, self.position, self.position.size + len(self.sums))


class BentLeaves(NamedTuple):
    """A model with bent leaves, and how its inputs follow from those of before."""

    model: Model
    change: InputChange


def bend_leaves(model: Model) -> BentLeaves | None:
    """Merge leaves of one column under one node, of numbers and ramps, to bent leaves.

    Columns with a monotone constraint keep their leaves, since a weight must have a sign there.

    Parameters
    ----------
    model : Model

    Returns
    -------
    BentLeaves or None
        None if there is nothing to merge.

    Examples
    --------
    >>> from bneuralt.expressions import OUTPUTS
    >>> from bneuralt.tables.bends import Ramp
    >>> ramps = (Ramp(0.0, 1.0, 0.8), Ramp(1.0, 3.0, 0.4))
    >>> encoder = TableEncoder((NumberFeature(1.5, ramps=ramps),))
    >>> tree = NeuralTree(3, 1, [-1], [0], [0, 0], [1, 2], [0.0, 2.0, -1.0])
    >>> bent = bend_leaves(Model("BNeuralTRegressor", encoder, (tree,), "numbers", OUTPUTS)).model
    >>> bent.trees[0].leaf_weight, bent.inputs[3].name
    (array([2.]), 'x0: 0 up to 0, 1 at 1, 0.5 from 3')
    """
    model = model.in_raw_units()
    merging = _Merging(model)
    leaves = [merging.leaves(tree) for tree in model.trees]
    if not merging.has_merged:
        return None
    change = merging.change
    encoder = merging.encoder
    trees = []
    for tree, (of_tree, bias) in zip(model.trees, leaves, strict=True):
        moved = [
            (node, merging.new_position(column, place), weight)
            for node, column, place, weight in of_tree
        ]
        trees.append(simplify(_with_leaves(tree, encoder.n_inputs, moved, bias)))
    return BentLeaves(
        replace(
            model,
            encoder=encoder,
            trees=tuple(trees),
            input_std=None if model.input_std is None else change.spreads(model.input_std),
            reference=None if model.reference is None else change.values(model.reference),
            scaling=None if model.scaling is None else _rescaled(model.scaling, change),
        ),
        change,
    )


def _rescaled(scaling: Scaling, change: InputChange) -> Scaling:
    """Return the scaling of the changed inputs."""
    deviation = change.spreads(scaling.deviation)
    factor = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation != 0)
    return Scaling(change.values(scaling.offset), factor)


class _Merging:
    """Collects the curves of all trees of a model.

    Until all of them are known, an input is a column and its place among the inputs of that column,
    or for new curves, the number of these inputs plus the position of the curve.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._knots: dict[int, list[Knots | None]] = {
            i: column.feature.knots
            for i, column in enumerate(model.columns)
            if isinstance(column.feature, NumberFeature)
            and not (model.constraints and model.constraints[i])
        }
        self._curves: dict[int, list[Curve]] = {}
        self._sums: dict[int, list[_Sum]] = {}
        self.has_merged = False

    def leaves(self, tree: NeuralTree) -> tuple[list[tuple[int, int, int, float]], FloatArray]:
        """Return node, column, place and weight of the leaves of a tree, and its biases."""
        groups: dict[tuple[int, int], dict[int, float]] = {}
        bias = tree.bias.astype(np.float64)
        for node, i, weight in _leaves(tree):
            column = int(self._model.column_of_input[i])
            of_column = groups.setdefault((node, column), {})
            place = i - self._model.columns[column].inputs.start
            of_column[place] = of_column.get(place, 0.0) + weight
        leaves = []
        for (node, column), weights in groups.items():
            knots = self._knots.get(column, [])
            bent = {place: w for place, w in weights.items() if knots and knots[place] is not None}
            if len(bent) > 1:
                merged = self._merged(column, bent)
                if merged is not None:
                    constant, place, weight = merged
                    bias[node] += constant
                    weights = {p: w for p, w in weights.items() if p not in bent}
                    weights |= {place: weight} if weight else {}
            leaves += [(node, column, place, weight) for place, weight in weights.items()]
        return leaves, bias

    def _merged(self, column: int, weights: dict[int, float]) -> tuple[float, int, float] | None:
        """Return constant, place and weight of the curve that is a weighted sum of inputs."""
        knots = self._knots[column]
        merged = sum_of_curves((weight, knots[place] or ()) for place, weight in weights.items())
        if merged is None:
            return None
        self.has_merged = True
        constant, weight, curve = merged
        if curve is None:
            return constant, 0, 0.0
        first = self._model.columns[column].inputs.start
        means = [self._model.inputs[first + place].mean for place in weights]
        parts = np.array(list(weights.values())) / weight
        if None not in means:
            mean = float(np.array(means, dtype=np.float64) @ parts) - constant / weight
            curve = curve._replace(mean=mean)
        curves = self._curves.setdefault(column, [])
        if curve not in curves:
            curves.append(curve)
            inputs = first + np.array(list(weights))
            self._sums.setdefault(column, []).append(_Sum(inputs, parts, -constant / weight))
        return constant, len(knots) + curves.index(curve), weight

    @property
    def encoder(self) -> TableEncoder:
        """The encoder with the curves of all trees."""
        features = list(self._model.encoder.features)
        for column, curves in self._curves.items():
            feature = features[column]
            assert isinstance(feature, NumberFeature)
            features[column] = feature.with_curves(curves)
        return replace(self._model.encoder, features=tuple(features))

    def new_position(self, column: int, place: int) -> int:
        """Return the position of an input among all inputs, with the curves of all trees."""
        n_before = sum(len(curves) for c, curves in self._curves.items() if c < column)
        inputs, new = self._model.columns[column].inputs, len(self._curves.get(column, ()))
        feature = self._model.columns[column].feature
        n_behind = int(isinstance(feature, NumberFeature) and feature.has_gaps)
        if place >= len(inputs):  # a new curve: before the indicator of gaps
            place -= n_behind
        elif place >= len(inputs) - n_behind:
            place += new
        return inputs.start + n_before + place

    @property
    def change(self) -> InputChange:
        """What the inputs are in terms of those of before."""
        columns = self._model.columns
        position = [
            self.new_position(c, place)
            for c, column in enumerate(columns)
            for place in range(len(column.inputs))
        ]
        sums = {
            self.new_position(c, len(columns[c].inputs) + k): of_curve
            for c, of_column in self._sums.items()
            for k, of_curve in enumerate(of_column)
        }
        return InputChange(np.array(position, dtype=np.intp), sums)


def _leaves(tree: NeuralTree) -> Iterator[tuple[int, int, float]]:
    """Return node, input and weight of each leaf."""
    arrays = (tree.leaf_parent, tree.leaf_input, tree.leaf_weight)
    return zip(*(array.tolist() for array in arrays), strict=True)


def _with_leaves(
    tree: NeuralTree, n_inputs: int, leaves: list[tuple[int, int, float]], bias: FloatArray
) -> NeuralTree:
    """Return a tree of other inputs with these leaves (node, input, weight)."""
    leaves = sorted(leaves, key=lambda leaf: leaf[0])
    weights = np.concatenate([bias, tree.edge, [weight for *_, weight in leaves]])
    with np.errstate(over="ignore"):
        fits = np.isfinite(weights.astype(tree.dtype)).all()
    phi = tree.activation_parameters if tree.trains_activations else []
    return NeuralTree(
        n_inputs,
        tree.n_outputs,
        parent=tree.parent,
        activation=tree.activation,
        leaf_parent=np.array([node for node, *_ in leaves], dtype=np.int32),
        leaf_input=np.array([i for _, i, _ in leaves], dtype=np.int32),
        parameters=np.concatenate([weights, phi]).astype(tree.dtype if fits else np.float64),
        activation_parameters=tree.activation_parameters,
        trains_activations=tree.trains_activations,
    )
