"""A fitted model as plain data: what `fit` makes, and everything after `fit` reads.

A `Model` has the steps of a prediction (each column of the table becomes some inputs, each tree
computes its outputs from the inputs, and the outputs of all trees become the prediction) and all
else that `fit` found out. Trees are as they were trained, for scaled inputs; `in_raw_units` folds
the scaling into their weights. Explanations, drawings, pages and exports use that. The methods
evaluate a model in float64, which is the reference for generated code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.arrays import as_table
from bneuralt.expressions import OUTPUTS, Expression, direction, evaluate
from bneuralt.expressions.operations import CELLS
from bneuralt.model.fingerprints import Fingerprints
from bneuralt.model.intervals import Calibration
from bneuralt.model.learning import Learning
from bneuralt.model.recipe import Recipe
from bneuralt.model.scaling import Scaling, fold_all, unfold
from bneuralt.model.tasks import Task
from bneuralt.tables.columns import Frame
from bneuralt.tables.encoder import TableEncoder
from bneuralt.tables.features import Feature, Input, NumberFeature, Range
from bneuralt.tables.reader import TableReader
from bneuralt.tables.sparse_rows import dense
from bneuralt.training.losses import SOFTMAX, Loss
from bneuralt.training.results import OptimizerState
from bneuralt.tree import NeuralTree
from bneuralt.tree.monotonic import Signs, node_signs, weight_signs
from bneuralt.tree.renumbering import renumbered
from bneuralt.tree.simplify import simplify

__all__ = ["Fitted", "Model", "ModelColumn", "OutOfBag", "TreeState"]


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
class TreeState:
    """How a tree was trained, and what its further training needs.

    Attributes
    ----------
    n_iter : int
        Number of epochs of its training.
    seed : int or None
        Seed of the tree; that of its bootstrap sample in a forest.
    best_epoch : int or None
        The epoch whose weights were selected on validation rows.
    history : dict of arrays
        Figures of each epoch.
    moved_leaves : dict of arrays, or None
        Numbers of leaves that moved to each feature; None if leaves do not move.
    optimizer : OptimizerState or None
        To continue the training where it ended.
    node_signs : array or None
        Signs of nodes that monotone effects require; None if they follow from the weights.
    sample : str or None
        Identifies the rows that the tree was sampled from, for out-of-bag scores.
    """

    n_iter: int = 0
    seed: int | None = None
    best_epoch: int | None = None
    history: Mapping[str, Array] = field(default_factory=dict)
    moved_leaves: Mapping[str, IntArray] | None = None
    optimizer: OptimizerState | None = None
    node_signs: Array | None = None
    sample: str | None = None


class Fitted(Protocol):
    """A fitted estimator of this package."""

    model_: Model


@dataclass(frozen=True, eq=False)
class OutOfBag:
    """Predictions of training rows by the trees that were trained without them.

    Attributes
    ----------
    score : float
        Accuracy or r2; NaN if no row was left out by a tree.
    predictions : array of shape (n_rows, n_outputs), or None
        In the order of the table; NaN for rows that all trees were trained on. None for tables
        that are read in blocks.
    """

    score: float
    predictions: FloatArray | None


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
        One, or the members of a forest. As they were trained, they read inputs that are scaled by
        `scaling`, and their outputs are targets that are scaled by `target_scaling`.
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
    input_std : array of shape (n_inputs,) or None
        Standard deviation of each input in training, None if it is unknown.
    constraints : tuple of int
        The required direction of the effect of each column: -1, 0 (any) or 1; empty if there are
        no constraints.
    interaction_sets : tuple of tuple of int, or None
        The sets of columns that may interact; None if there are no constraints.
    reference : array of shape (n_rows, n_inputs) or None
        Inputs of a few rows that stand for the training rows; None if there are none.
    is_raw : bool
        Whether the trees read unscaled inputs instead, and give unscaled outputs.
    folded : (tuple of NeuralTree, tuple of NeuralTree) or None
        Of a model that `in_raw_units` returned: its trees, and the same trees as they were trained.
    scaling : Scaling or None
        Scaling of the inputs in training; None if there is none.
    target_scaling : Scaling or None
        Scaling of the target in training.
    target : Task or None
        How targets are encoded and scored; None for a tree without an estimator.
    loss : Loss or None
        That training minimised.
    states : tuple of TreeState
        How each tree was trained; empty if that is unknown.
    can_learn : bool
        Whether the trees can be trained further.
    recipe : Recipe or None
        All settings of the fit.
    importances : array of shape (n_columns,), or None
    fingerprints : Fingerprints or None
        Hashes of training rows.
    calibration : Calibration or None
        Residuals of rows that were held out.
    out_of_bag : OutOfBag or None
    compaction : Compaction or None
        Sizes and scores of smaller models, if this one was made smaller.
    edits : tuple of dict
        What was edited by hand after training.
    front : tuple
        Other models of a search for structures.
    extra : dict
        Content that the user added to the file of the model.
    finds_columns : bool
        Whether columns of data frames are found by their names in any order.
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
    input_std: FloatArray | None = None
    constraints: tuple[int, ...] = ()
    interaction_sets: tuple[tuple[int, ...], ...] | None = None
    reference: FloatArray | None = None
    is_raw: bool = False
    scaling: Scaling | None = None
    target_scaling: Scaling | None = None
    target: Task | None = None
    loss: Loss | None = None
    states: tuple[TreeState, ...] = ()
    can_learn: bool = False
    recipe: Recipe | None = None
    importances: FloatArray | None = None
    fingerprints: Fingerprints | None = None
    calibration: Calibration | None = None
    out_of_bag: OutOfBag | None = None
    compaction: Any = None
    edits: tuple[Mapping[str, Any], ...] = ()
    front: tuple[Any, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    finds_columns: bool = False
    folded: tuple[tuple[NeuralTree, ...], tuple[NeuralTree, ...]] | None = None

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

    def in_raw_units(self) -> Model:
        """Return an equal model whose trees read unscaled inputs and give unscaled outputs.

        Examples
        --------
        >>> from bneuralt import BNeuralTRegressor
        >>> X = np.linspace(0, 100, 50)[:, np.newaxis]
        >>> reg = BNeuralTRegressor(max_epochs=2, ramps=0, random_state=0).fit(X, X[:, 0])
        >>> reg.model_.in_raw_units().trees[0] == reg.tree_
        True
        """
        return self if self.is_raw else self._raw

    @cached_property
    def _raw(self) -> Model:
        outputs = self.output_scaling
        trees = tuple(fold_all(self.trees, self.scaling, outputs))
        return replace(self, trees=trees, is_raw=True, folded=(trees, self.trees))

    def in_scaled_units(self) -> Model:
        """Return an equal model, up to rounding, whose trees read scaled inputs, for training.

        This is the inverse of `in_raw_units`, for models that were changed in raw units.
        """
        if not self.is_raw:
            return self
        if self.folded is not None and self.folded[0] is self.trees:
            trees = self.folded[1]  # exact, and without nodes that folding may have added
        else:
            outputs = self.output_scaling
            trees = tuple(unfold(tree, self.scaling, outputs) for tree in self.trees)
        return replace(self, trees=trees, is_raw=False, folded=None)

    @property
    def output_scaling(self) -> Scaling | None:
        """The scaling of the outputs of the trees."""
        if self.target is None:
            return self.target_scaling
        return self.target.output_scaling(self.target_scaling)

    @cached_property
    def learning(self) -> Learning | None:
        """What further updates of the weights of a single tree need; None if it is unknown."""
        if not self.can_learn or len(self.trees) != 1 or self.loss is None:
            return None
        model = self.in_scaled_units()
        (tree,), signs = model.trees, model.signs_of(0)
        required = None if signs is None else weight_signs(tree, signs)
        outputs = self.output_scaling
        return Learning(tree, self.loss, self.scaling, self.target_scaling, outputs, required)

    def signs_of(self, i: int) -> Signs | None:
        """Return the signs that the weights of a tree must keep; None if there are none."""
        inputs = self.input_signs
        if inputs is None or self.target is None:
            return None
        nodes = self.states[i].node_signs if self.states else None
        if nodes is None:
            nodes = node_signs(self.trees[i], self.target.output_signs())
        return Signs(nodes, inputs)

    @cached_property
    def input_signs(self) -> Array | None:
        """The required direction of the effect of each input; None if there are no constraints."""
        if not any(self.constraints):
            return None
        return input_signs(self.encoder, np.array(self.constraints, dtype=np.int8))

    @property
    def history(self) -> tuple[Mapping[str, Array], ...]:
        """Learning curves of each tree, by name; may be empty."""
        return tuple(state.history for state in self.states)

    def member(self, i: int) -> Model:
        """Return the model of one of its trees."""
        return replace(
            self,
            trees=(self.trees[i],),
            states=self.states[i : i + 1],
            calibration=None,
            out_of_bag=None,
            importances=None if len(self.trees) > 1 else self.importances,
        )

    def without_history(self) -> Model:
        """Return the model without learning curves, which grow with a stream of rows."""
        states = tuple(replace(state, history={}) for state in self.states)
        return replace(self, states=states)

    def with_trees(self, trees: Iterable[NeuralTree], **changes: Any) -> Model:
        """Return the model with other trees, without what was measured of the present ones.

        Parameters
        ----------
        trees : iterable of NeuralTree
        **changes
            Other fields to replace.
        """
        states = tuple(replace(state, optimizer=None, node_signs=None) for state in self.states)
        return replace(
            self, **{"trees": tuple(trees), "states": states, "out_of_bag": None, **changes}
        )

    def simplified(self) -> Model:
        """Return an equal model with float64 trees of fewer weights; see `simplify`."""
        raw = self.in_raw_units()
        trees = (simplify(tree.astype(np.float64)) for tree in raw.trees)
        return replace(raw, trees=tuple(trees))

    def with_used_bends(self) -> tuple[Model, IntArray]:
        """Return an equal model without ramps that no leaf has, and the inputs that remain."""
        encoder, kept = self.encoder.with_bends_at(self.used_inputs.tolist())
        position = np.full(self.n_inputs, -1)
        position[kept] = np.arange(kept.size)
        smaller = replace(
            self,
            encoder=encoder,
            trees=tuple(renumbered(tree, position, kept.size) for tree in self.trees),
            input_std=None if self.input_std is None else self.input_std[kept],
            reference=None if self.reference is None else self.reference[:, kept],
            can_learn=False,
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
        names, unused = self.encoder.names, self.encoder.unused_names
        reader = TableReader(names, self.kind, name, unused, keeps_texts=True)
        table: Array | Frame = dense(reader.read(X).cells)
        if table.shape[1] != len(self.columns):
            raise ValueError(
                f"{name} has {table.shape[1]} columns, the model has {len(self.columns)} features"
            )
        return self.encoder.in_numbers(table)

    def encode(self, X: Any) -> Array:
        """Return the inputs of the trees for each row of a table; see `read`."""
        return as_table(self.encoder.encode(self.read(X)))

    def outputs(self, inputs: Array) -> FloatArray:
        """Return the outputs of all trees, of shape (n_trees, n_rows, n_outputs)."""
        trees = self.in_raw_units().trees
        return np.stack([tree.forward(inputs) for tree in trees]).astype(np.float64)

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

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is computed from the fields."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}


def input_directions(encoder: TableEncoder) -> list[int | None]:
    """Return the direction of each input with its column: -1, 0, 1, or None if unproven."""
    return [direction(entry.expression).sign for entry in encoder.inputs]


def input_signs(encoder: TableEncoder, signs: Array) -> Array:
    """Return the constraint of each input, from that of each column.

    Indicators of missing values are not constrained.
    """
    along = np.array([sign or 0 for sign in input_directions(encoder)], dtype=signs.dtype)
    return along * signs[encoder.groups]
