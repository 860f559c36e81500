"""A fitted model as plain data.

A `Model` describes the steps of a prediction: each column of the table becomes some inputs, each
tree computes its outputs from the inputs, and the outputs of all trees become the prediction.
Estimators create it. Explanations, drawings, pages and exports use it, and no other attribute of an
estimator. Its methods evaluate it in float64, which is the reference for generated code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.arrays import as_table
from bneuralt.expressions import OUTPUTS, Expression, evaluate
from bneuralt.expressions.operations import CELLS
from bneuralt.model.learning import Learning
from bneuralt.tables.columns import Frame
from bneuralt.tables.encoder import TableEncoder
from bneuralt.tables.features import Feature, Input, NumberFeature, Range
from bneuralt.tables.reader import TableReader
from bneuralt.tables.sparse_rows import dense
from bneuralt.training.losses import SOFTMAX
from bneuralt.tree import NeuralTree
from bneuralt.tree.renumbering import renumbered
from bneuralt.tree.simplify import simplify

__all__ = ["Model", "ModelColumn"]


@dataclass(frozen=True)
class ModelColumn:
    """A column of the table, and the inputs that are computed from it.

    Attributes
    ----------
    name : str
        Its name, ``x0``, ``x1``, ... in a table without names.
    feature : Feature
        Its encoding; `feature.kind` is "number", "category" or "date".
    inputs : range
        Positions of its inputs.
    expressions : tuple of Expression
        The values of these inputs, computed from a cell.
    range : tuple of two numbers or texts, or None
        Smallest and largest value in training; None for categories, and if it is unknown.
    """

    name: str
    feature: Feature
    inputs: range
    expressions: tuple[Expression, ...]
    range: Range | None = None

    @cached_property
    def cell_operations(self) -> dict[str, tuple[Any, ...]]:
        """The operations that read a cell ("number", ...), each with its values."""
        values: dict[str, dict[Any, None]] = {}
        waiting = list(self.expressions[::-1])
        while waiting:
            expression = waiting.pop()
            waiting += expression.arguments[::-1]
            if expression.operation in CELLS:
                values.setdefault(expression.operation, {})[expression.value] = None
        return {operation: tuple(of_one) for operation, of_one in values.items()}

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """The texts with their own encoding, sorted; empty for numbers and dates."""
        tables = self.cell_operations.get("lookup", ())
        return tuple(sorted({text for table in tables for text in table.texts}))

    @property
    def day_first(self) -> bool:
        """Whether dates such as 1/2/2024 have the day before the month."""
        return getattr(self.feature, "day_first", False)


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted model as plain data.

    Attributes
    ----------
    kind : str
        Name of the class of the estimator.
    encoder : TableEncoder
        Function from columns to inputs.
    trees : tuple of NeuralTree
        One, or the members of a forest, for unscaled inputs.
    task : {"classes", "labels", "numbers"}
        What is predicted: one of several classes; several labels, each independently; or one or
        several numbers.
    link : Expression
        Function from outputs to predictions: a vector expression of
        `bneuralt.expressions.OUTPUTS`.
    averages : {"outputs", "predictions"}
        Whether the mean over the trees is that of the outputs, before the link is applied, or that
        of the predictions.
    classes : tuple or None
        The labels, as Python objects.
    quantiles : tuple of float or None
        The quantiles that are predicted.
    target_names : tuple of str
        Names of the columns of the target; empty if it had no names.
    spread : array of shape (n_inputs,) or None
        Standard deviation of each input in training, None if it is unknown.
    constraints : tuple of int
        The required direction of the effect of each column: -1, 0 (any) or 1; empty if there are
        no constraints.
    interaction_sets : tuple of tuple of int, or None
        The sets of columns that may interact; None if there are no constraints.
    history : tuple of dict
        Learning curves of each tree, by name; may be empty.
    learning : Learning or None
        The state of training of a single tree; None for forests, and if it is unknown.
    reference : array of shape (n_rows, n_inputs) or None
        Inputs of a few rows that stand for the training rows; None if there are none.
    """

    kind: str
    encoder: TableEncoder
    trees: tuple[NeuralTree, ...]
    task: str
    link: Expression
    averages: str = "outputs"
    classes: tuple[Any, ...] | None = None
    quantiles: tuple[float, ...] | None = None
    target_names: tuple[str, ...] = ()
    spread: FloatArray | None = None
    constraints: tuple[int, ...] = ()
    interaction_sets: tuple[tuple[int, ...], ...] | None = None
    history: tuple[Mapping[str, Array], ...] = ()
    learning: Learning | None = None
    reference: FloatArray | None = None

    @classmethod
    def of_tree(cls, tree: NeuralTree) -> Model:
        """Return the description of a tree without an estimator, whose inputs are numbers.

        Examples
        --------
        >>> model = Model.of_tree(NeuralTree.random(3, 2, random_state=0))
        >>> model.task, model.output_names
        ('classes', ('class 0', 'class 1'))
        """
        encoder = TableEncoder((NumberFeature(None),) * tree.n_inputs)
        task = "classes" if tree.n_outputs > 1 else "numbers"
        return cls("NeuralTree", encoder, (tree,), task, OUTPUTS)

    # -- parts ---------------------------------------------------------------------------

    @cached_property
    def columns(self) -> tuple[ModelColumn, ...]:
        """The columns of the table."""
        encoder, start = self.encoder, 0
        ranges = encoder.ranges or (None,) * len(encoder.features)
        columns = []
        for i, (feature, limits) in enumerate(zip(encoder.features, ranges, strict=True)):
            inputs = range(start, start := start + feature.n_inputs)
            expressions = tuple(self.inputs[k].expression for k in inputs)
            columns.append(ModelColumn(encoder.name(i), feature, inputs, expressions, limits))
        return tuple(columns)

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The inputs of the trees: name, expression, mean and range of each."""
        return self.encoder.inputs

    @property
    def column_of_input(self) -> IntArray:
        """Position of the column of each input."""
        return self.encoder.groups

    @property
    def n_inputs(self) -> int:
        """Number of inputs of each tree."""
        return self.trees[0].n_inputs

    @property
    def n_outputs(self) -> int:
        """Number of outputs of each tree."""
        return self.trees[0].n_outputs

    @property
    def n_parameters(self) -> int:
        """Number of trainable weights of all trees together."""
        return sum(tree.n_parameters for tree in self.trees)

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs: classes, quantiles, or targets."""
        k = self.n_outputs
        if self.task == "labels" and self.target_names:
            return self.target_names
        if self.classes is not None:
            return tuple(str(label) for label in self.classes)
        if self.quantiles is not None:
            return tuple(f"q{quantile:g}" for quantile in self.quantiles)
        if self.task == "classes":
            return tuple(f"class {i}" for i in range(k))
        if self.target_names:
            return self.target_names
        return ("y",) if k == 1 else tuple(f"y{i}" for i in range(k))

    @cached_property
    def used_inputs(self) -> IntArray:
        """Positions of the inputs that a leaf of some tree uses."""
        return np.unique(np.concatenate([tree.leaf_input for tree in self.trees]))

    @property
    def decides_by_outputs(self) -> bool:
        """Whether the largest output decides the class; otherwise the largest prediction does."""
        return self.task == "classes" and self.link == SOFTMAX and len(self.trees) == 1

    @property
    def mean_inputs(self) -> FloatArray | None:
        """Mean of each input over the training rows, None if some are unknown."""
        return self.encoder.mean_inputs

    @property
    def input_ranges(self) -> FloatArray | None:
        """Smallest and largest value of each input in training, None if some are unknown.

        Both are the mean for a column of numbers without values in training.
        """
        if self.encoder.ranges is None:
            return None
        ranges = [
            (entry.mean, entry.mean) if entry.range is None else entry.range
            for entry in self.inputs
        ]
        ends = np.array(ranges, dtype=np.float64)
        return None if np.isnan(ends).any() else ends

    @property
    def has_scores(self) -> bool:
        """Whether predictions of classes are scores, as for a tree without an estimator."""
        return self.task == "classes" and self.link == OUTPUTS

    # -- other models --------------------------------------------------------------------

    def member(self, i: int) -> Model:
        """Return the model of one of its trees."""
        history = self.history[i : i + 1] if len(self.history) == len(self.trees) else ()
        return replace(self, trees=(self.trees[i],), history=history)

    def simplified(self) -> Model:
        """Return an equal model with float64 trees of fewer weights; see `simplify`."""
        trees = (simplify(tree.astype(np.float64)) for tree in self.trees)
        return replace(self, trees=tuple(trees))

    def with_used_bends(self) -> tuple[Model, IntArray]:
        """Return an equal model without ramps that no leaf has, and the inputs that remain."""
        encoder, kept = self.encoder.with_bends_at(self.used_inputs.tolist())
        position = np.full(self.n_inputs, -1)
        position[kept] = np.arange(kept.size)
        smaller = replace(
            self,
            encoder=encoder,
            trees=tuple(renumbered(tree, position, kept.size) for tree in self.trees),
            spread=None if self.spread is None else self.spread[kept],
            reference=None if self.reference is None else self.reference[:, kept],
            learning=None,
        )
        return smaller, kept

    # -- evaluation ----------------------------------------------------------------------

    def read(self, X: Any, name: str = "X") -> Array | Frame:
        """Return the columns of the training table, in their order, as input of `encode`.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n_rows, n_columns)
            With the columns of the training table; those of a data frame are found by their names
            if the training table had names.
        name : str
            Name of the table, for error messages.

        Returns
        -------
        Frame, or array of numbers
        """
        reader = TableReader(self.encoder.names, self.kind, name)
        table: Array | Frame = dense(reader.read(X).cells)
        if table.shape[1] != len(self.columns):
            raise ValueError(
                f"{name} has {table.shape[1]} columns, the model has {len(self.columns)} features"
            )
        return table

    def encode(self, X: Any) -> Array:
        """Return the inputs of the trees for each row of a table; see `read`."""
        return as_table(self.encoder.encode(self.read(X)))

    def outputs(self, inputs: Array) -> FloatArray:
        """Return the outputs of all trees, of shape (n_trees, n_rows, n_outputs)."""
        return np.stack([tree.forward(inputs) for tree in self.trees]).astype(np.float64)

    def predictions(self, outputs: FloatArray) -> FloatArray:
        """Return probabilities or numbers for the outputs of all trees."""
        if self.averages == "outputs":
            outputs = outputs.mean(axis=0)
        values: FloatArray = evaluate(self.link, {"outputs": outputs})
        return values.mean(axis=0) if self.averages == "predictions" else values

    def decisions(self, outputs: FloatArray) -> Array:
        """Return positions of classes, 0 or 1 for each label, or numbers."""
        values = outputs[0] if self.decides_by_outputs else self.predictions(outputs)
        if self.task == "classes":
            positions: Array = values.argmax(axis=1)
            return positions
        return (values > 0.5).astype(np.int64) if self.task == "labels" else values
