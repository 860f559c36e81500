"""Rows of a table that is read in blocks: learn its columns, encode it to a file, and map that.

The first pass over the table collects the targets and a summary of the columns, from which the
encoder is learnt; the second one encodes the blocks and writes them to a temporary file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier

from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.estimators.inputs import names_of, read_table
from bneuralt.estimators.rows import Rows
from bneuralt.estimators.weights import read_weights
from bneuralt.tables import frames
from bneuralt.tables.block_learning import SAMPLE_ROWS, TableSummary
from bneuralt.tables.block_table import Block, BlockTable, read_ahead
from bneuralt.tables.csv_files import TableError
from bneuralt.tables.encoder import TableEncoder, categorical_mask, learn_encoder
from bneuralt.tables.mapped import TableFile

__all__ = [
    "WholeTable",
    "encoded_blocks",
    "encoded_parts",
    "in_order",
    "read_block_rows",
    "scored",
    "target_of_blocks",
    "whole_table",
]

#: Share of `max_memory` that mapped files may take, and that the sample of rows may take.
MAPPED_SHARE, SAMPLE_SHARE = 0.2, 0.1

#: Numbers are stored as float32 if that changes them by at most this share of their range.
FLOAT32_ERROR = 1e-4


class WholeTable(NamedTuple):
    """A table that is small enough to be read as a whole: arguments of `fit`."""

    X: Any
    y: Array | None
    sample_weight: Any


def whole_table(table: BlockTable, sample_weight: Any = None) -> WholeTable | None:
    """Return a small table as arguments of `fit`; None if it has several blocks."""
    table, weight_names = _weight_column(table, sample_weight)
    block = table.whole(weight_names)
    if block is None:
        return None
    y = None
    if table.target:
        try:
            y = _target_of(block, table)
        except TableError:
            for part in table.blocks():  # to name the file
                _target_of(part, table)
            raise
    weight = block.array(weight_names[0]) if weight_names else sample_weight
    names = [str(name) for name in frames.frame_names(block.frame)]
    positions = [names.index(name) for name in table.names]
    return WholeTable(frames.select_columns(block.frame, positions), y, weight)


def target_of_blocks(table: BlockTable) -> Array:
    """Return the target of all rows."""
    _check_target(table)
    return np.concatenate([_target_of(block, table) for block in table.select(()).blocks()])


def scored(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any]:
    """Return the target and the weights of the rows that a model is scored on."""
    if not isinstance(X, BlockTable):
        return y, sample_weight
    if y is not None:
        raise ValueError("y must be None: the table has the target, see open_table")
    if isinstance(sample_weight, str):
        blocks = X.select([sample_weight]).blocks()
        sample_weight = np.concatenate([block.array(sample_weight) for block in blocks])
    return target_of_blocks(X), sample_weight


def _weight_column(table: BlockTable, sample_weight: Any) -> tuple[BlockTable, list[str]]:
    """Return a table without its column of weights, and the name of that."""
    if not isinstance(sample_weight, str):
        return table, []
    return table.without([sample_weight]), [sample_weight]


def _check_target(table: BlockTable) -> None:
    if not table.target:
        raise ValueError("the table has no target: use open_table(source, target=...)")


def _target_of(block: Block, table: BlockTable) -> Array:
    """Return the target of the rows of a block.

    Raises
    ------
    TableError
        It is missing in a row.
    """
    columns = []
    for name in table.target:
        values = block.array(name)
        if values.dtype.kind == "O":
            is_gap = np.array([v is None or v != v for v in values.tolist()], dtype=bool)
        else:
            is_gap = values != values  # NaN and NaT
        if is_gap.any():
            row = block.first_row + int(np.argmax(is_gap)) + 1
            raise TableError(
                f"{block.place}: column {name!r}, the target, has no value in row {row}; leave "
                "such rows out."
            )
        columns.append(values)
    return columns[0] if len(columns) == 1 else np.column_stack(columns)


# -- rows to train on ---------------------------------------------------------------------


def read_block_rows(estimator: Any, table: BlockTable, sample_weight: Any, reset: bool) -> Rows:
    """Return the rows of a table of several blocks.

    Parameters
    ----------
    estimator : estimator
        Gets the attributes that are learnt from the table.
    table : BlockTable
    sample_weight : array-like, str or None
        Weight of each row, or the name of a column.
    reset : bool
        Whether to learn the features and the classes.
    """
    _check_target(table)
    table, weight_names = _weight_column(table, sample_weight)
    if not reset:
        table = in_order(estimator, table)
    names = table.names
    listed = categorical_mask(estimator.categorical_features, len(names), names)
    room = SAMPLE_SHARE * table.max_memory / (8 * len(names))
    summary = TableSummary(names, listed.tolist(), max(1_000, min(SAMPLE_ROWS, int(room))))
    targets = _Targets(is_classifier(estimator), len(table.target), _resident(table))
    weights = _Weights(sample_weight, _resident(table))
    for block in read_ahead(table.blocks(weight_names)):
        target = _target_of(block, table)
        weight = weights.of_block(block, weight_names, len(target))
        if reset:
            place, start = block.place, targets.n_rows
            summary.add(block.columns(names), target, weight, start, place, block.first_row)
        targets.add(target, block)
    weight = weights.all(targets.n_rows)
    if reset:
        _learn(estimator, table, summary, targets)
    target = targets.encoded(estimator)
    return Rows(
        encoded_blocks(estimator.encoder_, table),
        target,
        weight,
        on_disk=True,
    ).used()


def _resident(table: BlockTable) -> int:
    return int(MAPPED_SHARE * table.max_memory)


def _learn(estimator: Any, table: BlockTable, summary: TableSummary, targets: _Targets) -> None:
    """Learn the features, and the classes or the kind of target."""
    if summary.total == 0:
        raise ValueError("sample_weight is zero for all rows: some weight must be positive.")
    frame, target, weight = summary.learning_rows()
    cells = read_table(estimator, frame, reset=True)
    estimator.target_names_ = table.target
    target = targets.learn(estimator, target, weight)
    estimator.encoder_ = learn_encoder(
        cells,
        weight,
        estimator.categorical_features,
        names_of(estimator),
        target,
        estimator._bending(cells, targets.n_rows),
        estimator._finds_sentinels(cells),
    )


def in_order(estimator: Any, table: BlockTable) -> BlockTable:
    """Return a table with the columns of a fitted model, in their order."""
    names = names_of(estimator)
    if names is None:
        if len(table.names) != estimator.n_features_in_:
            raise ValueError(
                f"the table has {len(table.names)} columns beside the target, but "
                f"{type(estimator).__name__} is expecting {estimator.n_features_in_} features"
            )
        return table
    return table.select(names)


def encoded_blocks(encoder: TableEncoder, table: BlockTable) -> Array:
    """Return the numbers of all rows as one array, of which a limited part is in memory."""
    file = TableFile(int(encoder.first_numbers[-1]), _dtype(encoder), _resident(table))
    try:
        for part in encoded_parts(encoder, table):
            file.append(part)
        return file.table()
    finally:
        file.close()


def encoded_parts(encoder: TableEncoder, table: BlockTable) -> Iterator[Array]:
    """Yield the numbers of all rows, some rows at a time."""
    n_rows = max(1, table.block_bytes // (8 * max(1, int(encoder.first_numbers[-1]))))
    for block in read_ahead(table.blocks()):
        frame = block.columns(table.names)
        for start in range(0, len(frame), n_rows):
            try:
                yield encoder.numbers(frame.take(slice(start, start + n_rows)))
            except ValueError as error:
                raise TableError(f"{block.place}: {error}") from None


def _dtype(encoder: TableEncoder) -> type[np.floating[Any]]:
    """Return the smaller type that holds the numbers of the training rows well enough."""
    for feature, ends in zip(encoder.features, encoder.ranges or (), strict=False):
        if ends is None or isinstance(ends[0], str):
            continue
        low, high = getattr(feature, "limits", None) or ends
        largest = max(abs(float(end)) for end in ends)
        error = largest * float(np.finfo(np.float32).eps)
        if largest > 1e30 or error > FLOAT32_ERROR * (float(high) - float(low)):
            return np.float64
    return np.float32


class _Weights:
    """Weights of rows, which are numbers of an array or of a column."""

    def __init__(self, sample_weight: Any, max_resident: int) -> None:
        self._array = None
        self._file: TableFile | None = None
        self._start = 0
        if isinstance(sample_weight, str):
            self._file = TableFile(1, np.float64, max_resident)
        elif sample_weight is not None:
            self._array = read_weights(sample_weight, np.empty((len(sample_weight), 0)))

    def of_block(self, block: Block, names: list[str], n_rows: int) -> FloatArray:
        """Return the weights of the next rows."""
        first, self._start = self._start, self._start + n_rows
        if self._array is not None:
            if self._start > self._array.size:
                raise ValueError(
                    f"sample_weight has {self._array.size} entries, and the table has more rows"
                )
            return self._array[first : self._start]
        if self._file is None:
            return np.ones(n_rows)
        try:
            weight = np.asarray(block.array(names[0]), dtype=np.float64)
            if not (np.isfinite(weight).all() and (weight >= 0).all()):
                raise ValueError("a weight is missing, negative or infinite")
        except (TypeError, ValueError) as error:
            raise TableError(f"{block.place}: column {names[0]!r}, the weight: {error}") from None
        self._file.append(weight[:, np.newaxis])
        return weight

    def all(self, n_rows: int) -> FloatArray:
        """Return the weights of all rows."""
        if self._array is not None:
            if self._array.size != n_rows:
                raise ValueError(
                    f"sample_weight has {self._array.size} entries, the table has {n_rows} rows"
                )
            return self._array
        if self._file is None:
            return np.broadcast_to(1.0, (n_rows,))
        weight = self._file.table().ravel()
        if not weight.any():
            raise ValueError("sample_weight is zero for all rows: some weight must be positive.")
        return weight


class _Targets:
    """Targets of all rows: positions among the labels, or numbers in a file."""

    def __init__(self, is_classifier: bool, n_columns: int, max_resident: int) -> None:
        self.n_rows = 0
        self._has_labels = is_classifier and n_columns == 1
        self._labels: dict[Any, int] = {}
        self._codes: list[IntArray] = []
        self._n_columns = n_columns
        self._file = None if self._has_labels else TableFile(n_columns, np.float64, max_resident)

    def add(self, target: Array, block: Block) -> None:
        """Take the targets of the next rows."""
        self.n_rows += len(target)
        if self.n_rows >= 2**31:
            raise ValueError(f"the table has more than {2**31 - 1:,} rows: open fewer files")
        if self._file is None:
            if target.dtype.kind == "O":
                codes = [
                    self._labels.setdefault(label, len(self._labels)) for label in target.tolist()
                ]
                self._codes.append(np.array(codes, dtype=np.int32))
                return
            distinct, inverse = np.unique(target, return_inverse=True)
            codes = [self._labels.setdefault(x, len(self._labels)) for x in distinct.tolist()]
            self._codes.append(np.array(codes, dtype=np.int32)[inverse.ravel()])
            return
        try:
            numbers = target.astype(np.float64)
            if not np.isfinite(numbers).all():
                raise ValueError("it has infinite numbers")
        except (TypeError, ValueError) as error:
            raise TableError(
                f"{block.place}: the target must be numbers for a regressor: {error}"
            ) from None
        self._file.append(numbers.reshape(len(numbers), -1))

    def _all_labels(self) -> Array:
        """Return the different labels, as an array of the type that the column has."""
        labels = list(self._labels)
        if any(isinstance(label, str) for label in labels):
            array = np.empty(len(labels), dtype=object)
            array[:] = labels
            return array
        return np.array(labels)

    def learn(self, estimator: Any, sample: Array, weight: FloatArray) -> Array:
        """Let the estimator learn the target, and return that of a sample of the rows."""
        if self._has_labels:
            labels = self._all_labels()
            estimator._learn_target(sample, labels)
            return estimator._encode(sample.astype(labels.dtype), weight)
        estimator._learn_target(sample.astype(np.float64))
        return estimator._encode(sample.astype(np.float64), weight)

    def encoded(self, estimator: Any) -> Array:
        """Return the target of each row as training reads it."""
        if self._file is not None:
            target = self._file.table()
            target = target if self._n_columns > 1 else target.ravel()
            return estimator._encode(target, np.broadcast_to(1.0, (self.n_rows,)))
        labels = self._all_labels()
        classes = estimator._encode(labels, np.ones(labels.size)).astype(np.int32)
        return classes[np.concatenate(self._codes)]
