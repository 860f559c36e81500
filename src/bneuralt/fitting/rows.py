"""Rows to train and validate on: some rows of a table, with their weights.

Equal rows are merged into one row with their total weight. Splits divide the rows of the user one
by one (`Rows.separate`), and merge equal rows within each part (`Rows.merged`), so that equal rows
can be in both parts of a split. A row that counts as two (`weights`) is split like two equal rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import InitVar, dataclass, field, replace
from functools import cached_property

import numpy as np

from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.arrays import CheckedTable, is_large
from bneuralt.lines import InputLines
from bneuralt.tables.mapped import copied_rows
from bneuralt.tables.moments import ColumnMoments, JoinedMoments
from bneuralt.tables.row_hashes import hash_rows
from bneuralt.tables.sentinels import find_sentinels, have_repeated_ends

__all__ = ["MAX_ROWS_TO_COPY", "Rows"]

#: Up to this many rows, an epoch repeats rows of larger weight.
MAX_ROWS_TO_COPY = 4096

#: Quantiles, and statistics of inputs that are lines of columns, are those of at most this many
#: rows, or of a number of rows with this many numbers, but not fewer than the third number.
SUFFICIENT_ROWS, SUFFICIENT_NUMBERS, MIN_ROWS_OF_SAMPLE = 20_000, 2**19, 1_000

#: Repeated rows are looked for among at most this many rows.
ROWS_TO_COMPARE = 4096

#: Block size of large tables in bytes; a window of 64 blocks is shuffled at a time.
BLOCK_BYTES = 2**20

#: Number of rows of a block of tables that are not read in blocks.
BLOCK_ROWS = 4096


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to train or validate on: all rows of a table, or some of them.

    Attributes
    ----------
    table : float64, float32 or uint8 array of shape (n, n_features), C-contiguous
        Finite numbers. Objects that were derived from one another share the table.
    target : int32 array of class indices, or float64 array of one or two dimensions
        Targets of all rows of the table.
    weight : float64 array of positive numbers
        Weights of these rows.
    index : int32 array or None
        Positions of these rows in the table; None for all rows.
    times : int
        Number of repetitions of the rows in an epoch: the mean number of equal rows.
    copies : int array or None
        Number of equal rows of the user that were merged into each row; None if it is 1 for all.
    lines : InputLines or None
        The inputs of trees that the columns of the table become; None: each column is an input.
    table_row : int32 array or None
        Row of the table of each row that the user passed, -1 for rows of weight 0; None if the
        table has the order of the user.
    on_disk : bool
        Whether the table is a file, of which a part is in memory: then rows that are read together
        are neighbours, and nothing is computed of all rows at once.
    like : Rows, optional
        Rows with the statistics of columns, and with the same lines those of inputs, that these
        rows shall have. `dataclasses.replace` does not pass it on: other rows have their own.
    """

    table: Array
    target: Array
    weight: FloatArray
    index: IntArray | None = None
    times: int = 1
    copies: IntArray | None = None
    lines: InputLines | None = None
    on_disk: bool = False
    table_row: IntArray | None = None
    like: InitVar[Rows | None] = None
    _like: Rows | None = field(init=False, repr=False)

    def __post_init__(self, like: Rows | None) -> None:
        object.__setattr__(self, "_like", like)

    def __len__(self) -> int:
        return self.weight.size

    @property
    def y(self) -> Array:
        """Target of each row."""
        if self.index is None:
            return self.target
        # A copy of those of a table on disk would stay as long as each tree of a forest.
        return self.target[self.index] if self.on_disk else self._y

    @cached_property
    def _y(self) -> Array:
        return self.target[self.index]

    @property
    def X(self) -> Array:
        """Encoded values of each row, before limits and ramps."""
        return self.table if self.index is None else self.table.take(self.index, axis=0)

    @property
    def inputs(self) -> Array:
        """Inputs of trees for each row."""
        return self.X if self.lines is None else self.lines.apply(self.X)

    @property
    def n_inputs(self) -> int:
        """Number of inputs of trees."""
        return self.table.shape[1] if self.lines is None else self.lines.n_inputs

    @property
    def checked_table(self) -> CheckedTable:
        """The table with its lines, for the core."""
        return CheckedTable(self.table, self.lines)

    def X_blocks(self) -> Iterator[Array]:
        """Yield the numbers of all rows in blocks, which limits the memory of the copies."""
        if self.index is None:
            yield self.table
            return
        n_rows = max(1, BLOCK_BYTES * len(self.table) // self.table.nbytes)
        for start in range(0, len(self), n_rows):
            yield self.table.take(self.index[start : start + n_rows], axis=0)

    @property
    def block_rows(self) -> int | None:
        """Number of neighbouring rows that training reads together, None for small tables."""
        if not (self.on_disk or is_large(self.table.nbytes)):
            return None
        return max(1, BLOCK_BYTES * len(self.table) // self.table.nbytes)

    @cached_property
    def moments(self) -> ColumnMoments:
        """Statistics of the columns over these rows."""
        if self._like is not None:
            return self._like.moments
        return ColumnMoments(self.table, self.weight, self.index)

    @cached_property
    def input_moments(self) -> ColumnMoments:
        """Statistics of the inputs of trees.

        Those of ramps and limited columns are of a `sample`.
        """
        if self.lines is None:
            return self.moments
        if self._like is not None and self._like.lines is self.lines:
            return self._like.input_moments
        rows = self.sample(self.n_inputs)
        of_sample = ColumnMoments(rows.table, rows.weight, rows.index, self.lines)
        if rows is self:
            return of_sample
        return JoinedMoments(self.moments, of_sample, self.lines.unchanged_columns)

    def sample(self, width: int) -> Rows:
        """Return these rows, or some of them if they are many, for statistics of so many columns.

        Rows are sorted by a hash of their content, and those of large tables are taken at equal
        distances.
        """
        n = max(MIN_ROWS_OF_SAMPLE, min(SUFFICIENT_ROWS, SUFFICIENT_NUMBERS // max(1, width)))
        return self.subsample(n)

    @property
    def in_memory(self) -> Rows:
        """These rows, or a `sample` of them if their table is on disk."""
        return self.sample(self.n_inputs) if self.on_disk else self

    def subsample(self, n: int) -> Rows:
        """Return at most n of these rows, at equal distances; rows of a file as a table."""
        if len(self) <= n:
            return self
        rows = self.take(np.arange(n) * len(self) // n)
        if not self.on_disk:
            return rows
        assert rows.index is not None
        table = copied_rows(self.table, rows.index)
        return replace(rows, table=table, target=rows.y, index=None, on_disk=False)

    def some_blocks(self, n: int, rng: np.random.Generator) -> Rows:
        """Return about n of these rows: blocks of neighbours, drawn at random.

        The statistics of the columns are those of all rows.
        """
        size = self.block_rows or BLOCK_ROWS
        blocks = rng.permutation(-(-len(self) // size))[: max(1, n // size)]
        positions = np.add.outer(np.sort(blocks) * size, np.arange(size)).ravel()
        rows = self.take(positions[: np.searchsorted(positions, len(self))])
        return replace(rows, like=self)

    @property
    def has_sentinels(self) -> bool:
        """Whether a column has numbers that stand for missing values; not for large tables."""
        if self.on_disk or is_large(self.table.nbytes):
            return False
        X = self.X
        ends = self.moments.low, self.moments.high
        columns = np.flatnonzero(have_repeated_ends(X, self.counts, ends)).tolist()
        return any(find_sentinels(X[:, i], self.counts) for i in columns)

    @cached_property
    def sample_weight(self) -> FloatArray | None:
        """The weights, or None if all are 1."""
        return None if np.all(self.weight == 1.0) else self.weight

    def with_lines(self, lines: InputLines | None) -> Rows:
        """Return the rows with other inputs; the statistics of the columns stay."""
        return self if lines is self.lines else replace(self, lines=lines, like=self)

    def take(self, positions: IntArray) -> Rows:
        """Return the rows at the given positions."""
        index = positions if self.index is None else self.index[positions]
        weight = self.weight[positions]
        if self.weight.strides == (0,):  # one number for all rows
            weight = np.broadcast_to(self.weight[0], index.shape)
        return replace(
            self,
            weight=weight,
            index=index.astype(np.int32, copy=False),
            copies=None if self.copies is None else self.copies[positions],
        )

    def used(self) -> Rows:
        """Return the rows without those of weight 0."""
        return self if self.weight.all() else self.take(np.flatnonzero(self.weight))

    def weighed(self, factor: FloatArray) -> Rows:
        """Return the rows with their weights multiplied by a factor, without rows of weight 0."""
        return replace(self, weight=self.weight * factor).used()

    @property
    def counts(self) -> FloatArray:
        """Number of equal rows of the user that each row stands for."""
        if self.copies is None:
            return np.broadcast_to(1.0, (len(self),))
        return self.copies.astype(np.float64)

    @property
    def n_separate(self) -> int:
        """Number of rows before equal ones were merged."""
        return len(self) if self.copies is None else int(self.copies.sum())

    @cached_property
    def n_different(self) -> int:
        """Number of rows that differ in their numbers, whatever their targets are.

        Of many rows, at most `ROWS_TO_COMPARE` are compared; if most of these differ, the number is
        in proportion.
        """
        most = min(ROWS_TO_COMPARE, SUFFICIENT_NUMBERS // max(1, self.table.shape[1]))
        rows = self.subsample(max(MIN_ROWS_OF_SAMPLE, most))
        n_different = np.unique(hash_rows(rows.X, np.zeros(len(rows)))).size
        if 2 * n_different < len(rows):
            return n_different
        return len(self) * n_different // len(rows)

    @cached_property
    def separate(self) -> Rows:
        """The rows before merging; equal rows share their weight equally."""
        if self.copies is None:
            return self
        positions = np.repeat(np.arange(len(self)), self.copies)
        rows = self.take(positions)
        return replace(
            rows,
            weight=rows.weight / self.copies[positions],
            times=max(1, int(self.n_examples / positions.size + 0.5)),
            copies=None,
        )

    def merged(self) -> Rows:
        """Return `separate` rows, or a part of them, with equal rows merged."""
        if self.index is None:
            return self
        index, copies = np.unique(self.index, return_counts=True)
        if index.size == len(self):
            return self
        order = np.argsort(self.index, kind="stable")
        total = np.add.reduceat(self.weight[order], np.cumsum(copies) - copies)
        # Keep the number of updates proportional to the number of separate rows.
        times = min(self.n_examples / index.size + 0.5, MAX_ROWS_TO_COPY / index.size)
        return replace(self, weight=total, index=index, times=max(1, int(times)), copies=copies)

    @property
    def n_examples(self) -> int:
        """Number of rows of an epoch, repetitions included."""
        return len(self) * self.times

    def one_epoch(self) -> Rows:
        """Return the rows of an epoch: `times` copies, each with its share of the weight."""
        if self.times == 1:
            return self
        copies = self.take(np.tile(np.arange(len(self)), self.times))
        return replace(copies, weight=copies.weight / self.times, times=1)

    def with_mean_weight_one(self) -> Rows:
        """Return the rows with their weights divided by the mean weight."""
        if np.ptp(self.weight) > 0.0:
            return replace(self, weight=self.weight / self.weight.mean())
        # Exactly 1 in spite of rounding, and without a copy for each tree of a forest.
        return self if self.weight[0] == 1.0 else replace(self, weight=np.ones(len(self)))
