"""A fitted model as plain data, in the form that generators of code need.

A `Plan` says what is done with a row, step by step: each column of the table becomes some inputs,
each tree computes its outputs from the inputs, and the outputs of all trees become the prediction.
Nothing in it has to be looked up in an estimator, and it evaluates itself in float64, so that
generated code can be compared with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.utils.validation import check_is_fitted

from bneuralt._typing import Array, FloatArray
from bneuralt.estimators.base import NeuralTreeEstimator
from bneuralt.expressions import OUTPUTS, exp
from bneuralt.tables.features import CategoryFeature, DateFeature, NumberFeature, Range
from bneuralt.tree import NeuralTree
from bneuralt.tree.simplify import simplify

__all__ = ["Plan", "PlanColumn", "make_plan"]


@dataclass(frozen=True)
class PlanColumn:
    """A column of the table, and what becomes of it.

    Attributes
    ----------
    name : str
        Its name, ``x0``, ``x1``, ... in a table without names.
    feature : NumberFeature, CategoryFeature or DateFeature
        How the value becomes inputs: their attributes say it (see docs/format.md).
    inputs : range
        Positions of these inputs.
    range : tuple of two numbers or texts, or None
        Smallest and largest value in training, None if it is not known or a category.
    """

    name: str
    feature: NumberFeature | CategoryFeature | DateFeature
    inputs: range
    range: Range | None = None


@dataclass(frozen=True)
class Plan:
    """What a fitted model does with a row.

    Attributes
    ----------
    task : {"classes", "labels", "numbers"}
        What is predicted: one of several classes; which labels a row has, each by itself; or one or
        several numbers.
    columns : tuple of PlanColumn
    input_names : tuple of str
        Names of the inputs of the trees.
    trees : tuple of NeuralTree
        One, or the members of a forest; float64, for unscaled inputs.
    combine : str
        What becomes of the outputs of the trees:

        ======== ======= ============================================================
        task     combine
        ======== ======= ============================================================
        classes  softmax probabilities are the softmax of the outputs, averaged over the trees
        classes  shares  outputs, at least `smallest`, divided by their sum, averaged
        labels   sigmoid the sigmoid of each output, averaged
        labels   clip    outputs, clipped to 0 ... 1, averaged
        numbers  mean    the mean of the outputs
        numbers  exp     exp of the mean of the outputs
        numbers  sort    the means of the outputs in ascending order; `order[k]` is the rank of
                         prediction k
        ======== ======= ============================================================
    output_names : tuple of str
        Texts of the classes; or names of the numbers, such as ``y0``, ``y1`` or ``q0.05``.
    classes : tuple or None
        The labels themselves, as Python objects.
    smallest : float
        See `combine`.
    order : tuple of int
        See `combine`.
    """

    task: str
    columns: tuple[PlanColumn, ...]
    input_names: tuple[str, ...]
    trees: tuple[NeuralTree, ...]
    combine: str
    output_names: tuple[str, ...]
    classes: tuple[Any, ...] | None = None
    smallest: float = 0.0
    order: tuple[int, ...] = ()

    @property
    def n_inputs(self) -> int:
        """Number of inputs of each tree."""
        return len(self.input_names)

    @property
    def n_outputs(self) -> int:
        """Number of outputs of each tree."""
        return len(self.output_names)

    @property
    def argmax_of_outputs(self) -> bool:
        """Whether the class of the largest output is predicted; otherwise, of the largest mean."""
        return self.combine == "softmax" and len(self.trees) == 1

    def input_ranges(self) -> FloatArray | None:
        """Return smallest and largest value of each input in training, None if not known."""
        ends = np.empty((self.n_inputs, 2))
        for column in self.columns:
            rows = ends[list(column.inputs)]
            if isinstance(column.feature, NumberFeature):
                if column.range is None:
                    return None
                rows[:1] = column.range
                rows[1:] = 0.0, 1.0
            elif isinstance(column.feature, DateFeature):
                rows[:] = 0.0, 1.0
                for i, part in enumerate(column.feature.parts):
                    if column.range is None:
                        return None
                    rows[i] = _part_range(part, column.range)
            else:
                rows[:] = 0.0, 1.0
            ends[list(column.inputs)] = rows
        return ends

    # -- evaluation ----------------------------------------------------------------------

    def outputs(self, inputs: FloatArray) -> FloatArray:
        """Return the outputs of all trees, of shape (n_trees, n_rows, n_outputs)."""
        return np.stack([tree.forward(inputs) for tree in self.trees])

    def combined(self, outputs: FloatArray) -> FloatArray:
        """Return probabilities or numbers for the outputs of all trees."""
        values = outputs
        if self.combine == "softmax":
            values = softmax(outputs, axis=2)
        elif self.combine == "sigmoid":
            values = expit(outputs)
        elif self.combine == "clip":
            values = np.clip(outputs, 0.0, 1.0)
        elif self.combine == "shares":
            shares = np.maximum(outputs, self.smallest)
            values = shares / shares.sum(axis=2, keepdims=True)
        mean: FloatArray = values.mean(axis=0)
        if self.combine == "exp":
            return np.exp(mean)
        return np.sort(mean, axis=1)[:, self.order] if self.combine == "sort" else mean

    def decided(self, outputs: FloatArray) -> Array:
        """Return positions of classes, 0 or 1 for each label, or numbers."""
        values = outputs[0] if self.argmax_of_outputs else self.combined(outputs)
        if self.task == "classes":
            positions: Array = values.argmax(axis=1)
            return positions
        return (values > 0.5).astype(np.int64) if self.task == "labels" else values


def make_plan(model: Any, simplified: bool = True) -> Plan:
    """Describe what a fitted model does with a row.

    Parameters
    ----------
    model : estimator
        A fitted tree or forest of this library.
    simplified : bool
        Whether weights that make no difference are removed first (see `bneuralt.simplify`).

    Raises
    ------
    TypeError
        The model is not an estimator of this library.
    sklearn.exceptions.NotFittedError
        It is not fitted.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bneuralt import BNeuralTClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> plan = make_plan(BNeuralTClassifier(max_epochs=5, random_state=0).fit(X, y))
    >>> plan.task, plan.combine, plan.output_names
    ('classes', 'softmax', ('0', '1', '2'))
    """
    if isinstance(model, type) or not isinstance(model, NeuralTreeEstimator):
        got = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise TypeError(f"only fitted trees and forests of bneuralt can be exported, got {got}")
    check_is_fitted(model)
    trees: list[NeuralTree] = model._trees
    smallest = max(float(np.finfo(tree.dtype).tiny) for tree in trees)
    exact = [tree.astype(np.float64) for tree in trees]
    columns = _columns(model)
    encoder = model.encoder_
    names = encoder.input_names
    return Plan(
        columns=columns,
        input_names=tuple(names),
        trees=tuple(simplify(tree) for tree in exact) if simplified else tuple(exact),
        smallest=smallest,
        **_outputs(model, trees),
    )


def _columns(model: Any) -> tuple[PlanColumn, ...]:
    encoder = model.encoder_
    columns = []
    for i, feature in enumerate(encoder.features):
        range_ = None if encoder.ranges is None else encoder.ranges[i]
        if encoder.ranges and range_ is None and feature.kind == "number":  # it had no values
            range_ = feature.mean, feature.mean
        columns.append(PlanColumn(encoder.name(i), feature, encoder.inputs_of(i), range_))
    return tuple(columns)


def _outputs(model: Any, trees: list[NeuralTree]) -> dict[str, Any]:
    """Return what a plan says about outputs."""
    n = model._n_outputs()
    if not hasattr(model, "classes_"):
        quantiles = model._quantiles()
        if quantiles is not None:
            order = quantiles.argsort(kind="stable").argsort(kind="stable")
            names = tuple(f"q{q:g}" for q in quantiles)
            return {
                "task": "numbers",
                "combine": "sort",
                "output_names": names,
                "order": tuple(order.tolist()),
            }
        names = ("y",) if n == 1 else tuple(f"y{k}" for k in range(n))
        combine = "exp" if model._link() == exp(OUTPUTS) else "mean"
        return {"task": "numbers", "combine": combine, "output_names": names}
    are_scores = model._outputs_are_scores(trees)
    labels = tuple(model.classes_.tolist())
    if model.multilabel_:
        combine = "sigmoid" if are_scores else "clip"
    else:
        combine = "softmax" if are_scores else "shares"
    return {
        "task": "labels" if model.multilabel_ else "classes",
        "combine": combine,
        "output_names": tuple(str(label) for label in labels),
        "classes": labels,
    }


def _part_range(part: str, column_range: Range) -> tuple[float, float]:
    """Return the smallest and largest value of a part of dates."""
    if part == "year":
        first, last = (str(end)[:4] for end in column_range)
        return float(first), float(last)
    return {"month": (1.0, 12.0), "weekday": (0.0, 6.0), "hour": (0.0, 23.0)}[part]
