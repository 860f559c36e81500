"""Rows of a table that is read in blocks: learn its columns, encode it to a file, and map that.

The first pass over the table collects the targets and a summary of the columns, from which the
encoder is learnt; the second one encodes the blocks and writes them to a temporary file.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.fitting.rows import Rows
from bneuralt.fitting.weights import read_weights
from bneuralt.model.inputs import encoded_parts
from bneuralt.model.tasks import Task
from bneuralt.tables.block_learning import SAMPLE_ROWS, TableSummary, TextAmongNumbers
from bneuralt.tables.block_sources import Block
from bneuralt.tables.block_table import BlockTable, read_ahead
from bneuralt.tables.columns import label_of
from bneuralt.tables.csv_files import TableError
from bneuralt.tables.encoder import TableEncoder, categorical_mask
from bneuralt.tables.mapped import TableFile
from bneuralt.tables.number_texts import Notation
from bneuralt.tables.targets import UnreadTarget, missing_targets, numbers_of_texts

__all__ = [
    "BlockReading",
    "WholeTable",
    "encoded_blocks",
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
    return WholeTable(block.frame.select(table.names), y, weight)


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
    """Split off the weight column, and return its name."""
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
        is_gap = missing_targets(values)
        if is_gap.any():
            row = block.first_row + int(np.argmax(is_gap)) + 1
            raise TableError(
                f"{block.place}: column {name!r}, the target, has no value in row {row}; leave "
                "such rows out."
            )
        columns.append(values)
    return columns[0] if len(columns) == 1 else np.column_stack(columns)


# -- rows to train on ---------------------------------------------------------------------


class BlockReading:
    """The targets and weights of a table of several blocks, and a summary of its columns.

    Parameters
    ----------
    table : BlockTable
    sample_weight : array-like, str or None
        Weight of each row, or the name of a column.
    is_classifier : bool
    categorical_features
        As the parameter of estimators.
    learns : bool
        Whether columns are summarized.
    """

    def __init__(
        self,
        table: BlockTable,
        sample_weight: Any,
        is_classifier: bool,
        categorical_features: Any,
        learns: bool,
    ) -> None:
        _check_target(table)
        self.table, weight_names = _weight_column(table, sample_weight)
        names = self.table.names
        listed = categorical_mask(categorical_features, len(names), names)
        room = SAMPLE_SHARE * table.max_memory / (8 * len(names))
        n_sample = max(1_000, min(SAMPLE_ROWS, int(room)))
        texts: set[str] = set()
        while True:
            self.summary = TableSummary(names, listed.tolist(), n_sample, texts)
            self.targets = _Targets(is_classifier, len(table.target), _resident(table))
            weights = _Weights(sample_weight, _resident(table))
            try:
                for block in read_ahead(self.table.blocks(weight_names)):
                    target = self.targets.read(_target_of(block, table), block)
                    weight = weights.of_block(block, weight_names, len(target))
                    if learns:
                        place, start = block.place, self.targets.n_rows
                        columns = block.columns(names)
                        self.summary.add(columns, target, weight, start, place, block.first_row)
                    self.targets.add(target, weight)
                break
            except TextAmongNumbers as change:  # read again, with the numbers as texts
                texts.add(change.args[0])
        self.weight = weights.all(self.targets.n_rows)
        if learns and self.summary.total == 0:
            raise ValueError("sample_weight is zero for all rows: some weight must be positive.")

    @property
    def labels(self) -> Array | None:
        """All labels of a classifier of one target."""
        return self.targets.labels

    def sample_target(self, target: Array) -> Array:
        """Return the target of a sample of the rows, in the type that all rows have."""
        labels = self.targets.labels
        return target.astype(np.float64 if labels is None else labels.dtype)

    def rows(self, encoder: TableEncoder, task: Task) -> Rows:
        """Return all rows, encoded by a second pass."""
        target = self.targets.encoded(task)
        return Rows(encoded_blocks(encoder, self.table), target, self.weight, on_disk=True).used()


def _resident(table: BlockTable) -> int:
    return int(MAPPED_SHARE * table.max_memory)


def encoded_blocks(encoder: TableEncoder, table: BlockTable) -> Array:
    """Return the numbers of all rows as one array, of which a limited part is in memory."""
    file = TableFile(int(encoder.first_numbers[-1]), _dtype(encoder), _resident(table))
    try:
        for part in encoded_parts(encoder, table):
            file.append(part)
        return file.table()
    finally:
        file.close()


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
            n_rows = np.empty((len(sample_weight), 0))
            self._array = read_weights(sample_weight, n_rows).weight

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
        self._weights = np.zeros(0)  # of the labels
        self._codes: list[IntArray] = []
        self._n_columns = n_columns
        self._file = None if self._has_labels else TableFile(n_columns, np.float64, max_resident)
        self._notation: Notation | None = None

    def read(self, target: Array, block: Block) -> Array:
        """Return the targets of a block as labels or as finite numbers.

        Raises
        ------
        TableError
            They are no numbers, and numbers are predicted.
        """
        if self._file is None:
            return target
        try:
            is_text = self._n_columns == 1 and target.dtype.kind == "O"
            found = numbers_of_texts(target, self._notation) if is_text else None
            if found is not None:
                target, self._notation = found
            numbers = target.astype(np.float64)
            if not np.isfinite(numbers).all():
                raise ValueError("it has infinite numbers")
        except UnreadTarget as error:
            text, row = error.args
            raise TableError(
                f"{block.place}: the target has {text!r} in row {block.first_row + row + 1}, which "
                "is no number as in the rows before; correct it."
            ) from None
        except (TypeError, ValueError) as error:
            raise TableError(
                f"{block.place}: the target must be numbers for a regressor: {error}"
            ) from None
        return numbers

    def add(self, target: Array, weight: FloatArray) -> None:
        """Take the targets and the weights of the next rows."""
        self.n_rows += len(target)
        if self.n_rows >= 2**31:
            raise ValueError(f"the table has more than {2**31 - 1:,} rows: open fewer files")
        if self._file is None:
            distinct: Array = target
            inverse: Any = slice(None)
            if target.dtype.kind != "O":
                distinct, inverse = np.unique(target, return_inverse=True)
            codes = [self._labels.setdefault(x, len(self._labels)) for x in distinct.tolist()]
            self._codes.append(np.array(codes, dtype=np.int32)[inverse])
            before = np.pad(self._weights, (0, len(self._labels) - self._weights.size))
            self._weights = before + np.bincount(self._codes[-1], weight, len(before))
            return
        self._file.append(target.reshape(len(target), -1))

    def _all_labels(self) -> Array:
        """Return the different labels, as an array of the type that the column has."""
        labels = list(self._labels)
        if any(isinstance(label, str) for label in labels):
            array = np.empty(len(labels), dtype=object)
            array[:] = [label_of(label) for label in labels]  # numbers are texts in other blocks
            return array
        return np.array(labels)

    @property
    def labels(self) -> Array | None:
        """Labels of rows of a positive weight; None if the targets are numbers."""
        return self._all_labels()[self._weights > 0] if self._has_labels else None

    def encoded(self, task: Task) -> Array:
        """Return the target of each row as training reads it."""
        if self._file is not None:
            target = self._file.table()
            target = target if self._n_columns > 1 else target.ravel()
            return task.encode(target, np.broadcast_to(1.0, (self.n_rows,)))
        labels = self._all_labels()
        classes = task.encode(labels, self._weights).astype(np.int32)
        encoded: Array = classes[np.concatenate(self._codes)]
        return encoded
