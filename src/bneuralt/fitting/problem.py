"""What is to be learnt: rows, columns, task, loss and constraints, from the arguments of `fit`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bneuralt._sklearn import check_monotonic_cst
from bneuralt._typing import Array, FloatArray
from bneuralt.fitting.block_rows import (
    BlockReading,
    encoded_blocks,
    target_of_blocks,
    whole_table,
)
from bneuralt.fitting.canonical import canonical_rows
from bneuralt.fitting.capacity import number_of_ramps
from bneuralt.fitting.fingerprints import fingerprints_of
from bneuralt.fitting.options import Options
from bneuralt.fitting.outliers import warn_of_outliers
from bneuralt.fitting.rows import Rows
from bneuralt.fitting.splits import hold_out_for_calibration
from bneuralt.fitting.target import names_of_target, numbers_in_texts, read_target
from bneuralt.fitting.value_means import cross_fitted, with_codes
from bneuralt.fitting.weights import RowWeights, class_weights, read_weights
from bneuralt.model import Model
from bneuralt.model.fingerprints import Fingerprints
from bneuralt.model.inputs import Columns, columns_of, in_order, read_table, training_inputs
from bneuralt.model.model import input_directions, input_signs
from bneuralt.model.scaling import Scaling, learn_scaling
from bneuralt.model.tasks import Classes, Labels, Task, regression_task
from bneuralt.tables.bends import STRAIGHT, Bending
from bneuralt.tables.block_table import BlockTable
from bneuralt.tables.codes import CodeEvidence, find_codes
from bneuralt.tables.encoder import (
    TableEncoder,
    are_numbers,
    category_forms,
    learn_encoder,
    plain_encoder,
)
from bneuralt.tables.sparse_rows import dense
from bneuralt.training.losses import Loss, check_loss
from bneuralt.tree.interactions import InteractionSets

__all__ = ["Problem", "constraints_of", "problem_of", "read_problem", "rows_to_compare"]


@dataclass(frozen=True, eq=False)
class Problem:
    """What is to be learnt.

    Attributes
    ----------
    options : Options
    columns : Columns
    encoder : TableEncoder
    task : Task
    loss : Loss
    rows : Rows
        Training rows.
    scaling, target_scaling : Scaling or None
        Of inputs and targets.
    target_names : tuple of str
    validation, calibration : Rows or None
        Rows that weights are selected on, and rows that intervals are calibrated on.
    signs : int8 array of shape (n_features,), or None
        Required directions of effects.
    interactions : InteractionSets or None
        Sets of features that may interact.
    fingerprints : Fingerprints or None
        Of the training rows of this call.
    before : Model or None
        The model that is trained further.
    in_parts : bool
        Whether later calls bring more rows.
    """

    options: Options
    columns: Columns
    encoder: TableEncoder
    task: Task
    loss: Loss
    rows: Rows
    scaling: Scaling | None = None
    target_scaling: Scaling | None = None
    target_names: tuple[str, ...] = ()
    validation: Rows | None = None
    calibration: Rows | None = None
    signs: Array | None = None
    interactions: InteractionSets | None = None
    fingerprints: Fingerprints | None = None
    before: Model | None = None
    in_parts: bool = False

    @property
    def n_outputs(self) -> int:
        """Number of outputs of a tree."""
        return self.task.n_outputs

    @property
    def trains_further(self) -> bool:
        """Whether the trees of the model before are trained; otherwise new trees are added."""
        return self.before is not None and (self.in_parts or not self.options.is_forest)

    @cached_property
    def input_signs(self) -> Array | None:
        """The required direction of each input; None if there are no constraints."""
        return None if self.signs is None else input_signs(self.encoder, self.signs)

    def scaled_target(self, rows: Rows) -> Array:
        """Return the target of rows on the scale of the outputs of trees."""
        return rows.y if self.target_scaling is None else self.target_scaling.apply(rows.y)

    def scaled(self, constant: float = 0.0) -> Problem:
        """Return the problem with scalings that are learnt from its rows."""
        options, rows = self.options, self.rows
        inputs = learn_scaling(
            options.scale, rows.input_moments, constant, categories=self.encoder.one_hot_inputs
        )
        activation = options.growth.output_activation
        target = self.task.target_scaling(rows.y, rows.weight, activation, constant)
        return replace(self, scaling=inputs, target_scaling=target)


def read_problem(
    options: Options,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    X_val: Any = None,
    y_val: Any = None,
    *,
    before: Model | None = None,
    classes: Any = None,
    in_parts: bool = False,
) -> Problem:
    """Read the arguments of `fit`.

    Parameters
    ----------
    options : Options
    X, y, sample_weight, X_val, y_val
        As passed to `fit`.
    before : Model, optional
        The model that is trained further; by default columns and target are learnt.
    classes : array-like, optional
        All labels; by default those of y.
    in_parts : bool
        Whether later calls bring more rows: then the relation of missing values to the target
        is not decided by the first ones.
    """
    problem = _read(options, X, y, sample_weight, before, classes, in_parts)
    _refuse_large_constants(problem)
    problem = replace(problem, fingerprints=fingerprints_of(problem.rows))
    if not (in_parts and before is not None):  # else the means are of other rows
        problem = _with_means(problem)
    if X_val is not None or y_val is not None:
        problem = replace(problem, validation=_read_validation(problem, X_val, y_val))
    if options.conformal is not None:
        problem = _set_aside(problem)
    if before is not None:
        return replace(problem, scaling=before.scaling, target_scaling=before.target_scaling)
    # Columns that are constant in the first rows of a table in parts may vary in later ones.
    return problem.scaled(constant=1.0 if in_parts else 0.0)


def _refuse_large_constants(problem: Problem) -> None:
    """Raise an error if a column is constant, so that scaling cannot make it small, and large."""
    encoder = problem.encoder
    for j, ends in enumerate(encoder.ranges or ()):
        if ends is None or isinstance(ends[0], str) or ends[0] != ends[1]:
            continue
        if problem.options.dtype == "float32" and abs(ends[0]) > float(np.finfo(np.float32).max):
            raise ValueError(
                f"{encoder.place(j)} has the value {ends[0]:g}, which is too large for float32: "
                "divide the column by a number, or use dtype='float64'"
            )


def problem_of(
    model: Model, options: Options, X: Any, y: Any, sample_weight: Any = None
) -> Problem:
    """Return the problem of a fitted model, with rows of its columns and its task."""
    problem = _with_means(_read(options, X, y, sample_weight, model, None, False))
    if model.scaling is None and model.is_raw and not model.can_learn:
        return replace(problem.scaled(constant=1.0), before=None)
    return replace(problem, scaling=model.scaling, target_scaling=model.target_scaling, before=None)


def rows_to_compare(model: Model, options: Options, X: Any, y: Any) -> Rows:
    """Return rows in the form of which a model's `Fingerprints` are made."""
    return _read(options, X, y, None, model, None, False).rows


def _with_means(problem: Problem) -> Problem:
    """Return the problem with means of the target in place of the positions of values."""
    if not problem.encoder.with_means:
        return problem
    encoder, rows = cross_fitted(problem.encoder, problem.rows, problem.task)
    return replace(
        problem, rows=rows, encoder=encoder if problem.before is None else problem.encoder
    )


def _read(
    options: Options,
    X: Any,
    y: Any,
    sample_weight: Any,
    before: Model | None,
    classes: Any,
    in_parts: bool,
) -> Problem:
    target_names: tuple[str, ...] = ()
    if isinstance(X, BlockTable):
        if y is not None:
            raise ValueError("y must be None: the table has the target, see open_table")
        whole = whole_table(X, sample_weight)
        if whole is None:
            return _read_blocks(options, X, sample_weight, before, in_parts)
        target_names = X.target
        X, y, sample_weight = whole
    known = None if before is None else columns_of(before)
    table, columns = read_table(X, options.estimator, known, options.categorical_features)
    source, y = y, read_target(y, table, options.estimator, options.is_classifier)
    weights = read_weights(sample_weight, table, is_part=in_parts)
    if before is None:
        used = y if weights.weight.all() else y[weights.weight > 0]
        task, loss = _learn_task(options, used, classes)
        target_names = target_names or names_of_target(source, y)
    else:
        task, loss = _task_again(options, before)
        target_names = before.target_names
    target = task.encode(y, weights.weight)
    if before is not None:
        encoder = before.encoder
        coded = encoder if in_parts else with_codes(encoder, task)
        rows = canonical_rows(training_inputs(table, columns, coded), target, weights)
    else:
        encoder, rows = _learn_columns(options, table, columns, task, target, weights, in_parts)
    rows = weighed(options, task, rows).with_lines(encoder.lines)
    return constrained(
        Problem(
            options,
            columns,
            encoder,
            task,
            loss,
            rows,
            target_names=target_names,
            before=before,
            in_parts=in_parts,
        )
    )


def _learn_columns(
    options: Options,
    table: Any,
    columns: Columns,
    task: Task,
    target: Array,
    weights: RowWeights,
    in_parts: bool,
) -> tuple[TableEncoder, Rows]:
    """Decide how columns become inputs, and return the rows of these."""
    bending = bending_of(options, table, int(weights.counts.sum()))
    sentinels = _sentinels(options, columns, bending)
    codes = None if in_parts else _codes(options, table, columns, target, weights.counts, bending)
    if are_numbers(
        table, options.categorical_features, columns.names, options.identifiers
    ) and not (
        codes or (isinstance(sentinels, Mapping) and sentinels)
    ):  # needs the statistics of the rows only
        rows = canonical_rows(training_inputs(table, columns, None), target, weights)
        if not (isinstance(sentinels, str) and rows.has_sentinels):
            encoder = plain_encoder([rows.moments], columns.names)
            return bent(options, encoder, weighed(options, task, rows)), rows
    encoder = learn_encoder(
        table,
        weights.weight,
        options.categorical_features,
        columns.names,
        None if in_parts else target,
        bending,
        sentinels,
        weights.counts,
        options.identifiers,
        codes,
    )
    encoder = with_codes(encoder, task)
    return encoder, canonical_rows(training_inputs(table, columns, encoder), target, weights)


def bent(options: Options, encoder: TableEncoder, rows: Rows) -> TableEncoder:
    """Learn limits and ramps of a table of numbers without gaps."""
    sample = rows.sample(rows.table.shape[1])
    return encoder.bent(sample.X, sample.weight, bending_of(options, rows.table, rows.n_separate))


def bending_of(options: Options, table: Any, n_rows: int) -> Bending:
    """Return the rule by which columns of numbers get limits and ramps."""
    n_ramps = options.ramps
    if n_ramps is None:  # estimators without this parameter
        return STRAIGHT
    is_robust = options.scale == "robust" and table.dtype != np.uint8
    is_robust = is_robust and not callable(options.growth.feature_sampling)  # as of images
    if isinstance(n_ramps, str):  # "auto"
        n_ramps = number_of_ramps(n_rows) if is_robust else 0
    return Bending(n_ramps, is_robust, is_rounded=options.is_readable)


def _sentinels(options: Options, columns: Columns, bending: Bending) -> Any:
    """Return "auto", the sentinels of columns by position, or None."""
    sentinels = options.sentinels
    if sentinels is None or isinstance(sentinels, str):
        return sentinels if bending.is_limited else None
    found = {}
    for column, numbers in sentinels.items():
        names = columns.names or ()
        j = names.index(column) if column in names else column
        if (
            isinstance(j, bool)
            or not isinstance(j, (int, np.integer))
            or not (0 <= j < columns.n_columns)
        ):
            raise ValueError(
                f"sentinels has the column {column!r:.50}, which X does not have: use the name or "
                "the position of a column"
            )
        try:
            found[int(j)] = tuple(float(number) for number in np.atleast_1d(numbers))
        except (TypeError, ValueError):
            raise ValueError(
                f"sentinels[{column!r}]={numbers!r:.50} must be a number or several numbers"
            ) from None
    return found


def _codes(
    options: Options,
    table: Any,
    columns: Columns,
    target: Array,
    counts: FloatArray,
    bending: Bending,
) -> dict[int, CodeEvidence]:
    """Return the columns of numbers that are codes; none if the user lists the categories."""
    listed, n_columns = options.categorical_features, columns.n_columns
    if not (bending.is_limited and isinstance(listed, (str, Mapping))):
        return {}
    is_dict = isinstance(listed, Mapping)
    known = set(category_forms(listed, n_columns, columns.names) if is_dict else ())
    if options.monotonic_cst is not None:
        signs = np.ravel(check_monotonic_cst(columns.stand_in(), options.monotonic_cst))
        known |= set(np.flatnonzero(signs).tolist())
    return find_codes(table, counts, target, known)


def _read_blocks(
    options: Options, table: BlockTable, sample_weight: Any, before: Model | None, in_parts: bool
) -> Problem:
    """Read a table of several blocks."""
    if in_parts or not options.tables_in_blocks:
        method = f"{options.estimator}.{'partial_fit' if in_parts else 'fit'}"
        raise TypeError(
            f"{method} does not take tables of several blocks: pass a data frame, such as "
            "table.head(100_000), or use fit of a tree or forest"
        )
    if before is not None:
        table = in_order(columns_of(before), table)
    reading = BlockReading(
        table, sample_weight, options.is_classifier, options.categorical_features, before is None
    )
    if before is not None:
        columns, encoder, target_names = columns_of(before), before.encoder, before.target_names
        task, loss = _task_again(options, before)
    else:
        frame, y, weight, counts = reading.summary.learning_rows()
        columns, encoder, task, loss = learn_from_sample(
            options,
            frame,
            reading.sample_target(y),
            RowWeights(weight, counts),
            reading.labels,
            reading.targets.n_rows,
        )
        target_names = table.target
    rows = weighed(options, task, reading.rows(with_codes(encoder, task), task))
    rows = rows.with_lines(encoder.lines)
    return constrained(
        Problem(
            options, columns, encoder, task, loss, rows, target_names=target_names, before=before
        )
    )


def learn_from_sample(
    options: Options, frame: Any, y: Array, weights: RowWeights, labels: Any, n_rows: int
) -> tuple[Columns, TableEncoder, Task, Loss]:
    """Learn columns and target from a sample of the rows of a table.

    Parameters
    ----------
    options : Options
    frame : Frame
    y : array
    weights : RowWeights
    labels : array or None
        All labels of the table.
    n_rows : int
        Number of rows of the table.
    """
    cells, columns = read_table(
        frame, options.estimator, categorical_features=options.categorical_features
    )
    task, loss = _learn_task(options, y, labels)
    bending = bending_of(options, cells, n_rows)
    target = task.encode(y, weights.weight)
    # Rows of a sample stand for others, but each of them is evidence once.
    counts = weights.counts * min(1.0, len(y) / n_rows)
    encoder = learn_encoder(
        cells,
        weights.weight,
        options.categorical_features,
        columns.names,
        target,
        bending,
        _sentinels(options, columns, bending),
        weights.counts,
        options.identifiers,
        _codes(options, cells, columns, target, counts, bending),
    )
    return columns, with_codes(encoder, task), task, loss


def _learn_task(options: Options, y: Array, classes: Any) -> tuple[Task, Loss]:
    """Decide what is predicted, and which loss is minimised."""
    loss: Loss = options.training.loss
    task: Task
    if not options.is_classifier:
        task = regression_task(loss, y.shape[1] if y.ndim == 2 else 1)
        if loss.name == "squared_error":
            warn_of_outliers(np.asarray(y, dtype=np.float64))
    elif y.ndim == 2:
        task = options.label_task.learn(y, classes, options.estimator)
        loss = options.loss_of_labels()
        if options.class_weight is not None:
            raise ValueError(
                f"class_weight={options.class_weight!r} is for rows of one class each, and y has "
                f"{y.shape[1]} columns: use sample_weight"
            )
    else:
        task = options.class_task.learn(y if classes is None else classes, options.estimator)
    return task, _checked_loss(options, loss, task)


def _checked_loss(options: Options, loss: Loss, task: Task) -> Loss:
    if not options.trains:
        return loss
    return check_loss(loss, task.n_outputs, options.growth.output_activation)


def _task_again(options: Options, before: Model) -> tuple[Task, Loss]:
    """Return the task of a model that is trained further, with the present loss."""
    task = before.target
    assert task is not None
    is_labels = isinstance(task, Labels)
    loss = options.loss_of_labels() if is_labels else options.training.loss
    if not isinstance(task, (Classes, Labels)):
        again = regression_task(loss, task.n_columns)
        if type(again) is not type(task) or again.n_outputs != task.n_outputs:
            raise ValueError(
                f"loss={loss.name!r} cannot train a model further whose outputs were learnt with "
                f"loss={before.loss.name if before.loss else None!r}: fit it with warm_start=False"
            )
        task = again
    return task, _checked_loss(options, loss, task)


def weighed(options: Options, task: Task, rows: Rows) -> Rows:
    """Return rows with the weights of their classes."""
    if options.class_weight is None:
        return rows
    assert task.classes is not None
    return rows.weighed(class_weights(options.class_weight, task.classes, rows))


def constrained(problem: Problem) -> Problem:
    """Return the problem with its checked constraints."""
    signs, interactions = constraints_of(
        problem.options, problem.columns, problem.encoder, problem.task
    )
    return replace(problem, signs=signs, interactions=interactions)


def constraints_of(
    options: Options, columns: Columns, encoder: TableEncoder, task: Task
) -> tuple[Array | None, InteractionSets | None]:
    """Check the constraints on features.

    Returns
    -------
    signs : int8 array of shape (n_features,), or None
        Required directions of effects.
    interactions : InteractionSets or None
        Sets of features that may interact.
    """
    if options.monotonic_cst is None and options.interaction_cst is None:
        return None, None
    return _signs(options, columns, encoder, task), _interactions(options, columns)


def _signs(options: Options, columns: Columns, encoder: TableEncoder, task: Task) -> Array | None:
    constraint = options.monotonic_cst
    if constraint is None:
        return None
    signs: Array = check_monotonic_cst(columns.stand_in(), constraint)
    if signs.ndim != 1:
        raise ValueError(f"monotonic_cst must have one dimension, it has {signs.ndim}")
    if not signs.any():
        return None
    task.output_signs()  # raises an error for targets without a direction
    along = input_directions(encoder)
    for i in np.flatnonzero(signs).tolist():
        inputs = [along[j] for j in encoder.inputs_of(i)]
        if None in inputs or not any(inputs):
            raise ValueError(
                f"monotonic_cst={constraint!r:.100} constrains the effect of column "
                f"{encoder.name(i)!r}, which is a {encoder.features[i].kind}: only "
                "numbers can have a monotone effect; use 0 for this column, or convert it to "
                "numbers"
            )
    return signs


def _interactions(options: Options, columns: Columns) -> InteractionSets | None:
    constraint = options.interaction_cst
    if constraint is None:
        return None
    activation = options.growth.output_activation
    if activation != "linear":
        raise ValueError(
            f"interaction_cst={constraint!r:.100} needs linear outputs, in which subtrees are "
            f"added, and output_activation is {activation!r}: use 'linear'"
        )
    if callable(options.growth.feature_sampling):
        raise ValueError(
            f"interaction_cst={constraint!r:.100} cannot be combined with a callable "
            "feature_sampling, which chooses features by itself: use probabilities, or None"
        )
    return InteractionSets.of(constraint, columns.n_columns, names=columns.names)


def _read_validation(problem: Problem, X_val: Any, y_val: Any) -> Rows:
    """Return validation rows of a table of their own."""
    options, encoder, task = problem.options, problem.encoder, problem.task
    if isinstance(X_val, BlockTable):
        if y_val is not None:
            raise ValueError("y_val must be None: the table X_val has the target, see open_table")
        whole = whole_table(X_val)
        if whole is None:
            y = target_of_blocks(X_val)
            y = y if options.is_classifier else numbers_in_texts(y)
            weight = np.ones(len(y))
            inputs = encoded_blocks(encoder, in_order(problem.columns, X_val))
            target = task.encode(y, weight, "y_val")
            return Rows(inputs, target, weight, lines=encoder.lines, on_disk=True)
        X_val, y_val = whole.X, whole.y
    if X_val is None or y_val is None:
        missing = "X_val" if X_val is None else "y_val"
        raise ValueError(f"{missing} is missing: validation rows need both X_val and y_val")
    table, columns = read_table(X_val, options.estimator, problem.columns)
    y = read_target(y_val, table, options.estimator, options.is_classifier, "y_val")
    weight = np.ones(len(y))
    inputs = dense(training_inputs(table, columns, encoder))
    return Rows(inputs, task.encode(y, weight, "y_val"), weight, lines=encoder.lines)


def _set_aside(problem: Problem) -> Problem:
    """Hold out the rows that prediction intervals are calibrated on."""
    options, validation = problem.options, problem.validation
    before = problem.before
    seed = options.seed if before is None or before.recipe is None else before.recipe.seed
    assert options.conformal is not None
    rows, held_out = hold_out_for_calibration(problem.rows, options.conformal, seed)
    encoder = problem.encoder
    if encoder.is_plain and before is None:
        encoder = bent(options, encoder, rows)  # without the rows that were set aside
        rows, held_out = rows.with_lines(encoder.lines), held_out.with_lines(encoder.lines)
        validation = None if validation is None else validation.with_lines(encoder.lines)
    return replace(problem, encoder=encoder, rows=rows, calibration=held_out, validation=validation)
