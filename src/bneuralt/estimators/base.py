"""Base class of all estimators: input validation and tree evaluation.

`NeuralTreeEstimator` turns the arguments of `fit` into rows. The classes of `single`, `forest` and
`evolution` train on the rows; `classification` and `regression` encode targets and turn outputs
into predictions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from scipy.sparse import issparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from bneuralt._sklearn import CallbackSupportMixin, check_monotonic_cst, fit_context
from bneuralt._typing import Array, FloatArray
from bneuralt.arrays import NotFiniteError
from bneuralt.estimators.block_rows import (
    encoded_blocks,
    encoded_parts,
    in_order,
    read_block_rows,
    target_of_blocks,
    whole_table,
)
from bneuralt.estimators.callbacks import TrainingData, reporting, show_unused
from bneuralt.estimators.canonical import canonical_rows
from bneuralt.estimators.capacity import number_of_ramps
from bneuralt.estimators.code_columns import warn_of_codes
from bneuralt.estimators.drawing_methods import DrawingMethods
from bneuralt.estimators.explaining_methods import ExplainingMethods
from bneuralt.estimators.export_methods import ExportMethods
from bneuralt.estimators.fingerprints import Fingerprints
from bneuralt.estimators.inputs import (
    encoded,
    is_ready,
    names_of,
    names_of_target,
    read_table,
    read_target,
    refuse_not_finite,
    training_inputs,
)
from bneuralt.estimators.large_integers import warn_of_rounding
from bneuralt.estimators.model_file import save_model
from bneuralt.estimators.rows import Rows
from bneuralt.estimators.shrinking_methods import ShrinkingMethods
from bneuralt.estimators.weights import class_weights, read_weights
from bneuralt.explaining.importances import MOST_ROWS, mean_contributions
from bneuralt.explaining.reference_rows import reference_rows
from bneuralt.expressions import direction
from bneuralt.model import Learning, Model
from bneuralt.tables.bends import STRAIGHT, Bending
from bneuralt.tables.block_table import BlockTable
from bneuralt.tables.encoder import (
    TableEncoder,
    are_numbers,
    learn_encoder,
    plain_encoder,
)
from bneuralt.tables.sparse_rows import blocks, dense
from bneuralt.tree import NeuralTree, mean_forward
from bneuralt.tree.forward import OutputOverflow
from bneuralt.tree.interactions import InteractionSets

__all__ = ["NeuralTreeEstimator"]

#: Attributes that `fit` sets before training, from the table and the target.
LEARNT_FROM_INPUT = (
    "n_features_in_",
    "feature_names_in_",
    "target_names_",
    "encoder_",
    "classes_",
    "multilabel_",
    "n_outputs_",
)


class NeuralTreeEstimator(
    CallbackSupportMixin, DrawingMethods, ExplainingMethods, ShrinkingMethods, ExportMethods
):
    """Base class of all estimators; subclasses train in `_fit_rows`."""

    encoder_: TableEncoder
    target_names_: tuple[str, ...] = ()
    _importances: FloatArray | None = None
    _reference: FloatArray | None = None  # rows that stand for the training rows
    _fingerprints: Fingerprints | None = None  # of the training rows
    _holds_many_trees: ClassVar[bool] = False
    _reads_blocks: ClassVar[bool] = False  # whether tables of several blocks are taken

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        callback: Callable[[Any], Any] | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            A data frame (pandas, polars, Arrow), an array or a sparse matrix. Text, dates and
            missing values are encoded; see `categorical_features`. float64, float32 and uint8
            arrays without missing values are used as they are. Or a table that is read in blocks
            (`bneuralt.open_table`), which has the target too.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)
            The target of each row: a label for classifiers, a number for regressors. With several
            columns: for classifiers 1 where a row has a label and 0 elsewhere (multilabel), for
            regressors several numbers to predict.
        sample_weight : array-like of shape (n_rows,), optional
            Weight of each row. A row of weight 2 is equivalent to two equal rows. For a table that
            is read in blocks, also the name of a column.
        X_val, y_val : array-like, optional
            Validation rows, used instead of a part of the training rows.
        callback : callable, optional
            Called with a state object after each epoch (`bneuralt.training.EpochState`) or, by
            forests, after each tree (`bneuralt.estimators.callbacks.ForestState`). Training stops
            if it returns a true value.

        Returns
        -------
        self
        """
        rows = self._read_rows(X, y, sample_weight, reset=not self._is_warm_start())
        warn_of_rounding(X, self.encoder_)
        fingerprints = Fingerprints.of(rows, self._fingerprints if self._is_warm_start() else None)
        validation = None
        if X_val is not None or y_val is not None:
            validation = self._read_validation_rows(X_val, y_val)
        data = TrainingData(X, y, sample_weight)
        for name in ("calibration_", "compaction_", "edits_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        calibration = None
        if getattr(self, "conformal", None) is not None:
            rows, calibration = self._set_aside(rows)
            if self.encoder_.is_plain and not self._is_warm_start():
                self._bend(rows)  # without the rows that were set aside
                lines = self.encoder_.lines
                rows, calibration = rows.with_lines(lines), calibration.with_lines(lines)
                validation = None if validation is None else validation.with_lines(lines)
        with reporting(self, partial(self._step, rows), data, callback) as report:
            self._fit_rows(rows, validation, report)
        if self.verbose:
            show_unused(self._unused_features())
        if calibration is not None:
            self._calibrate(calibration)
        self._learn_importances(rows)
        if self._importances is not None:
            warn_of_codes(self, rows)
        self._fingerprints = fingerprints
        return self

    @property
    def feature_importances_(self) -> FloatArray:
        """Share of each feature in the mean absolute contributions to the outputs of the trees.

        The contributions are those of `explain` to the scores (of classifiers) or to the
        predictions, for up to 1,000 training rows and compared with their mean; `fit` computes
        them. They add up to 1.
        """
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)
        if self._importances is None:
            raise AttributeError(
                f"this {type(self).__name__} has no feature_importances_, which fit computes from "
                "the training rows: use explain(X).importances"
            )
        return self._importances

    def _learn_importances(self, rows: Rows) -> None:
        # The first rows are a random sample, since rows are sorted by a hash.
        n_rows = min(MOST_ROWS, len(rows))
        sample = rows.spread(n_rows) if rows.on_disk else rows
        sample = sample if len(sample) == n_rows else sample.take(np.arange(n_rows))
        model, inputs = self.model_, sample.inputs
        try:
            self._importances = mean_contributions(model, inputs, sample.weight)
        except OutputOverflow:  # the weights have diverged
            self._importances = self._reference = None
            return
        self._reference = reference_rows(model, inputs, sample.weight, self._importances)

    @property
    def _is_readable(self) -> bool:
        """Whether numbers of the model have few digits."""
        return False

    def _is_warm_start(self) -> bool:
        return self.warm_start and self.__sklearn_is_fitted__()

    def _read_rows(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        reset: bool,
        classes: Any = None,
        in_parts: bool = False,
    ) -> Rows:
        """Read training rows.

        Parameters
        ----------
        X, y, sample_weight
            As passed to `fit`.
        reset : bool
            Whether to learn the features and the classes from these rows.
        classes : array-like, optional
            All labels; by default those of y.
        in_parts : bool
            Whether later calls bring more rows: then the relation of missing values to the target
            is not decided by the first ones.
        """
        if isinstance(X, BlockTable):
            return self._read_blocks(X, y, sample_weight, reset, in_parts)
        table = read_table(self, X, reset)
        source, y = y, read_target(self, y, table)
        weight = read_weights(sample_weight, table)
        if reset:
            self.target_names_ = names_of_target(source, y)
            self._learn_target(y if weight.all() else y[weight > 0], classes)
        target = self._encode(y, weight)
        names, categories = names_of(self), self.categorical_features
        rows = None
        if reset and are_numbers(table, categories, names):  # needs the statistics of the rows only
            rows = canonical_rows(training_inputs(self, table, None), target, weight)
            if self._finds_sentinels(table) and rows.has_sentinels:
                rows = None
        if rows is not None:
            self.encoder_ = plain_encoder([rows.moments], names)
            rows = self._weighed(rows)
            self._bend(rows)
        else:
            if reset:
                self.encoder_ = learn_encoder(
                    table,
                    weight,
                    categories,
                    names,
                    None if in_parts else target,
                    self._bending(table),
                    self._finds_sentinels(table),
                )
            inputs = training_inputs(self, table, self.encoder_)
            rows = self._weighed(canonical_rows(inputs, target, weight))
        return self._with_lines(rows, reset)

    def _read_blocks(
        self, table: BlockTable, y: Any, sample_weight: Any, reset: bool, in_parts: bool
    ) -> Rows:
        """Read training rows from a table in blocks; a table of one block as any other."""
        if y is not None:
            raise ValueError("y must be None: the table has the target, see open_table")
        whole = whole_table(table, sample_weight)
        if whole is not None:
            rows = self._read_rows(*whole, reset, in_parts=in_parts)
            if reset:
                self.target_names_ = table.target
            return rows
        if in_parts or not self._reads_blocks:
            method = f"{type(self).__name__}.{'partial_fit' if in_parts else 'fit'}"
            raise TypeError(
                f"{method} does not take tables of several blocks: pass a data frame, such as "
                "table.head(100_000), or use fit of a tree or forest"
            )
        rows = self._weighed(read_block_rows(self, table, sample_weight, reset))
        return self._with_lines(rows, reset)

    def _with_lines(self, rows: Rows, reset: bool) -> Rows:
        """Return rows with the inputs of trees, after a check of constraints on features."""
        if reset and self.monotonic_cst is not None:
            self._feature_signs()  # raises an error if the constraints do not fit the columns
        if reset and self.interaction_cst is not None:
            self._interactions()  # the same
        return rows.with_lines(self.encoder_.lines)

    def _bend(self, rows: Rows) -> None:
        """Learn limits and ramps of a table of numbers without gaps."""
        sample = rows.sample(rows.table.shape[1])
        bending = self._bending(rows.table, rows.n_separate)
        self.encoder_ = self.encoder_.bent(sample.X, sample.weight, bending)

    def _weighed(self, rows: Rows) -> Rows:
        """Return rows with the weights of their classes."""
        class_weight = getattr(self, "class_weight", None)
        if class_weight is None:
            return rows
        return rows.weighed(class_weights(class_weight, self.classes_, rows))

    def _bending(self, table: Any, n_rows: int | None = None) -> Bending:
        """Return the rule by which columns of numbers get limits and ramps."""
        n_ramps = getattr(self, "ramps", None)
        if n_ramps is None:  # estimators without this parameter
            return STRAIGHT
        is_robust = self.scale == "robust" and table.dtype != np.uint8
        is_robust = is_robust and not callable(self._growth.feature_sampling)  # as of images
        if isinstance(n_ramps, str):  # "auto"
            n_ramps = number_of_ramps(n_rows or table.shape[0]) if is_robust else 0
        return Bending(n_ramps, is_robust, is_rounded=self._is_readable)

    def _finds_sentinels(self, table: Any) -> bool:
        """Return whether numbers far outside of the others can stand for missing values."""
        return getattr(self, "sentinels", None) == "auto" and self._bending(table).is_limited

    def _feature_signs(self) -> Array | None:
        """Return the constraint of each feature, -1, 0 or 1; None if there are none."""
        if self.monotonic_cst is None:
            return None
        signs: Array = check_monotonic_cst(self, self.monotonic_cst)
        if signs.ndim != 1:
            raise ValueError(f"monotonic_cst must have one dimension, it has {signs.ndim}")
        if not signs.any():
            return None
        self._output_signs()  # raises an error for targets without a direction
        along = self._input_directions()
        for i in np.flatnonzero(signs).tolist():
            inputs = [along[j] for j in self.encoder_.inputs_of(i)]
            if None in inputs or not any(inputs):
                raise ValueError(
                    f"monotonic_cst={self.monotonic_cst!r:.100} constrains the effect of column "
                    f"{self.encoder_.name(i)!r}, which is a {self.encoder_.features[i].kind}: only "
                    "numbers can have a monotone effect; use 0 for this column, or convert it to "
                    "numbers"
                )
        return signs

    def _interactions(self) -> InteractionSets | None:
        """Return the sets of features that may interact; None if there are no constraints."""
        if self.interaction_cst is None:
            return None
        if self._output_activation != "linear":
            raise ValueError(
                f"interaction_cst={self.interaction_cst!r:.100} needs linear outputs, in which "
                f"subtrees are added, and output_activation is {self._output_activation!r}: use "
                "'linear'"
            )
        if callable(self._growth.feature_sampling):
            raise ValueError(
                f"interaction_cst={self.interaction_cst!r:.100} cannot be combined with a callable "
                "feature_sampling, which chooses features by itself: use probabilities, or None"
            )
        return InteractionSets.of(self.interaction_cst, self.n_features_in_)

    def _input_directions(self) -> list[int | None]:
        """Return the direction of each input with its column: -1, 0, 1, or None if unproven."""
        return [direction(entry.expression).sign for entry in self.encoder_.inputs]

    def _input_signs(self) -> Array | None:
        """Return the constraint of each input of the trees; None if there are none.

        Indicators of missing values are not constrained.
        """
        signs = self._feature_signs()
        if signs is None:
            return None
        along = np.array([sign or 0 for sign in self._input_directions()], dtype=signs.dtype)
        return along * signs[self.encoder_.groups]

    @property
    def _trees(self) -> list[NeuralTree]:
        raise NotImplementedError

    @property
    def model_(self) -> Model:
        """The description of the fitted model that drawings, explanations and exports use."""
        check_is_fitted(self)
        constraints, interactions = self._feature_signs(), self._interactions()
        members = getattr(self, "estimators_", [self])
        scaling = getattr(members[0], "_input_scaling", None)
        spread = None
        if scaling is not None:
            spread = np.divide(
                1.0, scaling.factor, out=np.zeros_like(scaling.factor), where=scaling.factor != 0
            )
        return Model(
            kind=type(self).__name__,
            encoder=self.encoder_,
            trees=tuple(self._trees),
            target_names=self.target_names_,
            spread=spread,
            constraints=() if constraints is None else tuple(constraints.tolist()),
            interaction_sets=None if interactions is None else interactions.sets,
            history=tuple(getattr(member, "history_", {}) for member in members),
            learning=self._learning(),
            reference=self._reference,
            **self._outputs_described(),
        )

    def _learning(self) -> Learning | None:
        """Return what further updates of the weights need; None if there can be none."""
        return None

    def _unused_features(self) -> list[str]:
        """Return the names of the features that no leaf of any tree uses."""
        encoder = self.encoder_
        n_leaves = np.sum([tree.input_counts for tree in self._trees], axis=0)
        n_leaves = np.bincount(encoder.groups, n_leaves, minlength=len(encoder.features))
        return [encoder.name(i) for i in np.flatnonzero(n_leaves == 0).tolist()]

    def _read_validation_rows(self, X_val: Any, y_val: Any) -> Rows:
        if isinstance(X_val, BlockTable):
            return self._read_validation_blocks(X_val, y_val)
        if X_val is None or y_val is None:
            missing = "X_val" if X_val is None else "y_val"
            raise ValueError(f"{missing} is missing: validation rows need both X_val and y_val")
        table = read_table(self, X_val, reset=False)
        y = read_target(self, y_val, table, "y_val")
        weight = np.ones(len(y))
        inputs = dense(training_inputs(self, table, self.encoder_))
        return Rows(inputs, self._encode(y, weight, "y_val"), weight, lines=self.encoder_.lines)

    def _read_validation_blocks(self, table: BlockTable, y_val: Any) -> Rows:
        if y_val is not None:
            raise ValueError("y_val must be None: the table X_val has the target, see open_table")
        whole = whole_table(table)
        if whole is not None:
            return self._read_validation_rows(whole.X, whole.y)
        y = target_of_blocks(table)
        weight = np.ones(len(y))
        inputs = encoded_blocks(self.encoder_, in_order(self, table))
        target = self._encode(y, weight, "y_val")
        return Rows(inputs, target, weight, lines=self.encoder_.lines, on_disk=True)

    def _checked_table(self, X: Any) -> Any:
        """Return a table after scikit-learn has checked its columns."""
        check_is_fitted(self)
        return dense(read_table(self, X, reset=False))

    def _pass_on(self, other: NeuralTreeEstimator) -> None:
        """Copy the attributes that were learnt from the table to another estimator."""
        for name in LEARNT_FROM_INPUT:
            if hasattr(self, name):
                setattr(other, name, getattr(self, name))

    def _read_features(self, X: Any) -> Any:
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)
        if is_ready(X, self):
            return encoded(self.encoder_, X)
        if isinstance(X, BlockTable):
            return in_order(self, X)
        table = read_table(self, X, reset=False)
        return table if issparse(table) else encoded(self.encoder_, table)

    def _mean_outputs(
        self, trees: Sequence[NeuralTree], X: Any, softmax: bool = False
    ) -> FloatArray:
        """Return the mean output of trees per row; raise an error on non-finite input."""
        parts: Iterable[Array] | None = None
        if issparse(X):
            parts = (encoded(self.encoder_, block) for block in blocks(X))
        elif isinstance(X, BlockTable):
            parts = encoded_parts(self.encoder_, X)
        if parts is not None:
            return np.concatenate([self._mean_outputs(trees, part, softmax) for part in parts])
        try:
            return mean_forward(trees, X, self._n_threads(), softmax, self.encoder_.lines)
        except NotFiniteError as error:
            if not np.isnan(X[error.row, error.column]):
                raise refuse_not_finite(self, self.encoder_, X, error.row, error.column) from None
        return self._mean_outputs(trees, self.encoder_.numbers(X), softmax)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        return tags

    def _draw_seed(self) -> int:
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _n_threads(self) -> int:
        # the core uses at most one thread per processor
        return min(effective_n_jobs(self.n_jobs), 2**31 - 1)

    def save(self, path: str | PathLike[str], extra: dict[str, Any] | None = None) -> None:
        """Write the model to a JSON file; `bneuralt.load_model` reads it.

        The file is written in full or not at all. It holds everything that predictions need.

        Parameters
        ----------
        path : str or path-like
            File to write; an existing one is replaced.
        extra : dict, optional
            Any other content that JSON can represent; the loaded model has it as `extra_`.
        """
        check_is_fitted(self)
        save_model(self, path, extra)
