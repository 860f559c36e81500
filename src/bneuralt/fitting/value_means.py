"""Means of the target in the rows of each value of a category, cross-fitted for training rows.

A mean that contains the target of a row would tell this target in training, and not later. So the
rows are divided into folds by their position, and a training row has the means of the other folds;
predictions have those of all rows. Counts and sums of folds are added, so tables are read in
blocks.

Means are differences to the mean of all rows, shrunk by the variances within and between values
(empirical Bayes): a value of n rows keeps n b / (n b + w) of its difference, where b is the
variance of the true means of values, and w the variance of rows of one value. Where b may be 0, as
far as the rows show, all means are 0, so that values without an effect are not used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.fitting.rows import MAX_ROWS_TO_COPY, Rows
from bneuralt.model.tasks import Counts, Task
from bneuralt.tables.encoder import TableEncoder
from bneuralt.tables.features.means import MAX_MEANS, MeansFeature
from bneuralt.tables.mapped import TableFile
from bneuralt.tables.row_hashes import row_hashes

__all__ = ["N_FOLDS", "Sums", "cross_fitted", "fold_of_rows", "with_codes"]

N_FOLDS = 5

#: Values without an effect differ by chance; the variance between values is what exceeds that by
#: this many standard errors.
MIN_STANDARD_ERRORS = 2.0

#: Principal components are those of the most frequent of many classes.
MAX_CLASSES = 64

#: Rows are read in blocks of this many rows.
BLOCK_ROWS = 2**16


class Sums(NamedTuple):
    """Weights, and sums and sums of squares of targets, by the position of the value.

    Attributes
    ----------
    weight : array of shape (n_values,)
    total, squares : array of shape (n_values, n_means)
    """

    weight: FloatArray
    total: FloatArray
    squares: FloatArray

    @classmethod
    def of(cls, code: IntArray, z: FloatArray, weight: FloatArray, n_values: int) -> Sums:
        """Add up rows: their values, targets and weights."""

        def added(numbers: FloatArray) -> FloatArray:
            sums: FloatArray = np.bincount(code, numbers, n_values).astype(np.float64)
            return sums

        total, squares = (
            np.stack([added(weight * numbers) for numbers in power.T], axis=1)
            for power in (z, z**2)
        )
        return cls(added(weight), total, squares)

    def __add__(self, other: Sums) -> Sums:  # type: ignore[override]
        return Sums(*(a + b for a, b in zip(self, other, strict=True)))

    def shrunk_means(self) -> FloatArray:
        """Return the means of each value, as differences to the mean of all rows.

        The first value stands for all that have no means of their own.

        Examples
        --------
        >>> rng = np.random.default_rng(2)
        >>> code, noise = rng.integers(0, 4, 100), rng.normal(size=(100, 1))
        >>> Sums.of(code, noise, np.ones(100), 4).shrunk_means().ravel().tolist()
        [0.0, 0.0, 0.0, 0.0]
        >>> z = noise + 10.0 * code[:, np.newaxis]
        >>> Sums.of(code, z, np.ones(100), 4).shrunk_means().ravel().round().tolist()
        [0.0, -5.0, 5.0, 15.0]
        """
        mean = self.total.sum(axis=0) / max(self.weight.sum(), np.finfo(float).tiny)
        weight = np.append(0.0, self.weight[1:])[:, np.newaxis]
        is_used = weight > 0
        n, n_values = float(weight.sum()), int(np.count_nonzero(is_used))
        means = np.divide(self.total, weight, out=np.zeros_like(self.total), where=is_used)
        within = np.maximum(self.squares - weight * means**2, 0.0)[1:].sum(axis=0)
        within /= max(n - n_values, 1.0)
        distance = np.where(is_used, means - mean, 0.0)
        if n_values < 2:
            return np.zeros_like(distance)
        own = float((weight**2).sum()) / n
        by_chance = n_values - 1 + MIN_STANDARD_ERRORS * np.sqrt(2.0 * (n_values - 1))
        squares = (weight * distance**2).sum(axis=0) - by_chance * within
        signal = weight * np.maximum(squares, 0.0) / (n - own)
        kept = np.divide(signal, signal + within, out=np.zeros_like(distance), where=signal > 0)
        shrunk: FloatArray = kept * distance + 0.0  # not -0.0
        return shrunk


def with_codes(encoder: TableEncoder, task: Task) -> TableEncoder:
    """Return an encoder whose columns of means have the numbers of values in place of means."""
    n_means = _n_means(task)
    return _replaced(encoder, lambda feature, j: feature.with_codes(n_means))


def cross_fitted(encoder: TableEncoder, rows: Rows, task: Task) -> tuple[TableEncoder, Rows]:
    """Return the encoder with the means of all rows, and the rows with those of other folds.

    Parameters
    ----------
    encoder : TableEncoder
    rows : Rows
        Encoded by `with_codes` of this encoder.
    task : Task
    """
    columns = [_MeansColumn.of(encoder, j, rows, task) for j in encoder.with_means]
    if not columns:
        return encoder, rows
    learnt = {each.j: each.feature() for each in columns}
    encoder = _replaced(encoder, lambda feature, j: learnt[j])
    return encoder, _with_means_of_folds(rows, columns)


def _replaced(
    encoder: TableEncoder, function: Callable[[MeansFeature, int], MeansFeature]
) -> TableEncoder:
    if not encoder.with_means:
        return encoder
    features = tuple(
        function(feature, j) if isinstance(feature, MeansFeature) else feature
        for j, feature in enumerate(encoder.features)
    )
    return replace(encoder, features=features)


def fold_of_rows(first: int, n_rows: int) -> IntArray:
    """Return the fold of neighbouring rows, which depends on nothing but their position."""
    return (row_hashes(0, first, n_rows) % np.uint64(N_FOLDS)).astype(np.intp)


# -- targets ------------------------------------------------------------------------------


def _n_means(task: Task) -> int:
    n = task.n_classes - 1 if task.kind == "classes" else task.n_columns
    return min(max(1, n), MAX_MEANS)


def _mean_targets(task: Task, y: Array) -> FloatArray:
    """Return the numbers of each row whose means are taken, of shape (n_rows, n_numbers)."""
    if task.kind == "classes":
        is_class: FloatArray = (y[:, np.newaxis] == np.arange(1, task.n_classes)).astype(float)
        return is_class
    z: FloatArray = y.reshape(len(y), -1).astype(np.float64)
    return np.log1p(z) if isinstance(task, Counts) else z


@dataclass(frozen=True, eq=False)
class _Blocks:
    """Rows one by one, in blocks."""

    rows: Rows
    task: Task

    def __iter__(self) -> Iterator[tuple[IntArray | slice, FloatArray, FloatArray, IntArray]]:
        """Yield positions in the table, targets, weights and folds."""
        rows = self.rows
        for start in range(0, len(rows), BLOCK_ROWS):
            part = slice(start, min(start + BLOCK_ROWS, len(rows)))
            places = part if rows.index is None else rows.index[part]
            z = _mean_targets(self.task, rows.target[places])
            yield places, z, rows.weight[part], fold_of_rows(start, part.stop - start)


class _MeansColumn(NamedTuple):
    """A column of values, and the sums of its folds."""

    j: int
    described: MeansFeature
    first: int
    folds: list[Sums]

    @classmethod
    def of(cls, encoder: TableEncoder, j: int, rows: Rows, task: Task) -> _MeansColumn:
        """Add up the rows of each value, fold by fold."""
        feature, first = encoder.features[j], int(encoder.first_numbers[j])
        assert isinstance(feature, MeansFeature)
        blocks, n_values = _Blocks(rows.separate, task), len(feature.categories) + 2
        weight = total = np.zeros(())
        for _, z, w, _ in blocks:
            weight, total = weight + w.sum(), total + w @ z
        center = total / weight
        projection: FloatArray = np.eye(center.size)
        if center.size > MAX_MEANS:
            projection = _projection(blocks, rows.table, first, center, n_values)
        folds = [_no_rows(n_values, projection.shape[1]) for _ in range(N_FOLDS)]
        for places, z, w, fold in blocks:
            code, z = _codes(rows.table, places, first), (z - center) @ projection
            for k in range(N_FOLDS):
                own = fold == k
                folds[k] += Sums.of(code[own], z[own], w[own], n_values)
        return cls(j, feature, first, folds)

    def feature(self) -> MeansFeature:
        """Return the description with the means of all rows."""
        return self.described.with_means(self._means(range(N_FOLDS)))

    def means_of_folds(self) -> FloatArray:
        """Return the means for rows of each fold, of shape (N_FOLDS, n_values, n_means)."""
        others = ([i for i in range(N_FOLDS) if i != k] for k in range(N_FOLDS))
        return np.stack([self._means(each) for each in others])

    def _means(self, folds: range | list[int]) -> FloatArray:
        none = _no_rows(*self.folds[0].total.shape)
        return sum((self.folds[i] for i in folds), none).shrunk_means()


def _no_rows(n_values: int, n_means: int) -> Sums:
    return Sums(np.zeros(n_values), np.zeros((n_values, n_means)), np.zeros((n_values, n_means)))


def _codes(table: Array, places: IntArray | slice, first: int) -> IntArray:
    """Return the numbers of values; see `MeansFeature.with_codes`."""
    codes: IntArray = table[places, first].astype(np.intp)
    return codes


def _projection(
    blocks: _Blocks, table: Array, first: int, center: FloatArray, n_values: int
) -> FloatArray:
    """Return the directions in which the means of values differ most, as columns."""
    largest = np.argsort(-np.abs(center), kind="stable")[:MAX_CLASSES]
    sums = _no_rows(n_values, largest.size)
    for places, z, w, _ in blocks:
        code = _codes(table, places, first)
        sums += Sums.of(code, (z - center)[:, largest], w, n_values)
    distance = sums.total / np.sqrt(np.maximum(sums.weight, 1.0))[:, np.newaxis]
    directions = np.linalg.eigh(distance.T @ distance)[1][:, ::-1][:, :MAX_MEANS]
    directions *= np.where(directions.sum(axis=0) < 0, -1.0, 1.0)
    projection = np.zeros((center.size, MAX_MEANS))
    projection[largest] = directions
    return projection


# -- rows ---------------------------------------------------------------------------------


def _with_means_of_folds(rows: Rows, columns: list[_MeansColumn]) -> Rows:
    """Return rows with means in place of numbers of values; equal rows of two folds differ."""
    tables = [each.means_of_folds() for each in columns]

    def written(part: Array, fold: IntArray) -> Array:
        for each, means in zip(columns, tables, strict=True):
            end = each.first + means.shape[2]
            code = _codes(part, slice(None), each.first)
            part[:, each.first : end] = means[fold, code]
        return part

    separate = rows.separate
    index = np.arange(len(separate)) if separate.index is None else separate.index
    fold = fold_of_rows(0, len(separate))
    if rows.on_disk:
        file = TableFile(rows.table.shape[1], rows.table.dtype, rows.table.nbytes // 4)
        fold_of_row = np.zeros(len(rows.table), dtype=np.intp)
        fold_of_row[index] = fold
        for start in range(0, len(rows.table), BLOCK_ROWS):
            part = slice(start, start + BLOCK_ROWS)
            file.append(written(rows.table[part].copy(), fold_of_row[part]))
        return replace(rows, table=file.table())
    pairs, place, copies = np.unique(
        N_FOLDS * index.astype(np.int64) + fold, return_inverse=True, return_counts=True
    )
    row, fold = pairs // N_FOLDS, pairs % N_FOLDS
    table_row = rows.table_row
    if table_row is not None:
        first = np.full(len(rows.table) + 1, -1, dtype=np.int32)  # of the pairs of a row
        first[row[::-1]] = np.arange(len(row), dtype=np.int32)[::-1]
        table_row = first[table_row]
    times = int(min(copies.mean() + 0.5, MAX_ROWS_TO_COPY / len(row)))
    return replace(
        rows,
        table=written(rows.table.take(row, axis=0), fold),
        target=rows.target[row],
        weight=np.bincount(place, separate.weight).astype(np.float64),
        index=None,
        times=max(1, times),
        copies=None if copies.max() == 1 else copies,
        table_row=table_row,
    )
