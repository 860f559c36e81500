"""Training rows: read, checked, and put in a form that does not depend on how they came.

Before training, rows of weight 0 are dropped, identical rows are merged into one that carries
their total weight, and all are sorted by a hash of their content. So a fit does not depend on
the order of the rows, a row of weight 3 is exactly three equal rows, and copies of one row never
stand on both sides of a validation split. This takes a copy of the table; one that is too large
for that, such as one in a file (`np.memmap`), is used as it is, in blocks of neighbouring rows.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, cast

import numpy as np
from scipy.sparse import issparse
from sklearn.base import is_regressor
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_array, check_consistent_length, validate_data

from bneuralt._sklearn import check_sample_weight, check_y, with_names
from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.arrays import TABLE_DTYPES, checked_table, is_large, new_table
from bneuralt.estimators.folds import by_target
from bneuralt.tables import frames
from bneuralt.tables.columns import Frame, as_frame
from bneuralt.tables.encoder import TableEncoder, learn_encoder
from bneuralt.tables.frames import is_data_frame, known_frame, plain_table, select_columns

__all__ = [
    "Rows",
    "TinyDataWarning",
    "blocks",
    "canonical_rows",
    "class_weights",
    "encode",
    "filled",
    "hold_out",
    "learn_table_encoder",
    "read_features",
    "read_table",
    "read_training",
    "read_weights",
    "refuse_not_finite",
]

#: How scikit-learn is asked to read a table. Whether values are finite is checked later, once.
_TABLE: dict[str, Any] = {
    "dtype": list(TABLE_DTYPES),
    "order": "C",
    "ensure_all_finite": False,
}

#: Copies of rows are made up to this many; beyond, an epoch has updates enough without.
MOST_ROWS_TO_COPY = 4096

#: With fewer rows than this, holding some out for validation does more harm than good.
FEWEST_ROWS_TO_SPLIT = 60


#: Large tables are read in blocks of so many bytes; a window of 64 blocks is shuffled at a time.
BLOCK_BYTES = 2**20


class TinyDataWarning(UserWarning):
    """There are too few rows to do what was asked for; says what was done instead."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Different rows to train or validate on: all rows of a table, or some of them.

    Attributes
    ----------
    table : float64, float32 or uint8 array of shape (n, n_features), C-contiguous
        Of finite numbers. Rows that come from one another share it.
    target : int32 array of class indices, or float64 array of one or two dimensions
        Of all rows of the table.
    weight : float64 array of positive numbers
        Of these rows.
    index : int32 array or None
        Positions of these rows in the table; None for all rows.
    times : int
        How often an epoch goes over the rows: as often as they were there on average.
    """

    table: Array
    target: Array
    weight: FloatArray
    index: IntArray | None = None
    times: int = 1

    def __len__(self) -> int:
        return self.weight.size

    @cached_property
    def y(self) -> Array:
        """Target of each row."""
        return self.target if self.index is None else self.target[self.index]

    @property
    def X(self) -> Array:
        """Features of each row."""
        return self.table if self.index is None else self.table.take(self.index, axis=0)

    def X_blocks(self) -> Iterator[Array]:
        """Yield the features of all rows in blocks, so that they are never copied all at once."""
        if self.index is None:
            yield self.table
            return
        n_rows = max(1, BLOCK_BYTES * len(self.table) // self.table.nbytes)
        for start in range(0, len(self), n_rows):
            yield self.table.take(self.index[start : start + n_rows], axis=0)

    @property
    def block_rows(self) -> int | None:
        """Number of neighbours that training takes together, None if the table is small enough."""
        if not is_large(self.table.nbytes):
            return None
        return max(1, BLOCK_BYTES * len(self.table) // self.table.nbytes)

    @cached_property
    def scalings(self) -> dict[Any, Any]:
        """Scalings learnt from these rows, by their settings: trees on the same rows share them."""
        return {}

    @property
    def sample_weight(self) -> FloatArray | None:
        """The weights, or None if all are 1."""
        return None if np.all(self.weight == 1.0) else self.weight

    def take(self, positions: IntArray) -> Rows:
        """Return the rows at the given positions."""
        index = positions if self.index is None else self.index[positions]
        return replace(self, weight=self.weight[positions], index=index.astype(np.int32))

    def used(self) -> Rows:
        """Return the rows without those of weight 0."""
        return self if self.weight.all() else self.take(np.flatnonzero(self.weight))

    def weighed(self, factor: FloatArray) -> Rows:
        """Return the rows with their weights multiplied, less those that have weight 0 then."""
        return replace(self, weight=self.weight * factor).used()

    @property
    def n_examples(self) -> int:
        """Number of rows that an epoch goes over."""
        return len(self) * self.times

    def one_epoch(self) -> Rows:
        """Return all that an epoch goes over: so many copies of the rows, of smaller weight."""
        if self.times == 1:
            return self
        copies = self.take(np.tile(np.arange(len(self)), self.times))
        return replace(copies, weight=copies.weight / self.times, times=1)

    def with_mean_weight_one(self) -> Rows:
        """Return the rows with their weights in the same proportions, and of mean 1."""
        if np.ptp(self.weight) > 0.0:
            return replace(self, weight=self.weight / self.weight.mean())
        # Rounding must not turn 1 into another number, nor trees of a forest each have a copy.
        return self if self.weight[0] == 1.0 else replace(self, weight=np.ones(len(self)))


# -- reading what a user gives ------------------------------------------------------------


def read_features(estimator: Any, X: Any) -> Any:
    """Return a table to predict from, as the core reads it; a sparse matrix remains one.

    Whether its values are finite is checked on the way through the trees.
    """
    if _is_readable(X, estimator):
        return X
    table = read_table(estimator, X, reset=False)
    return table if issparse(table) else encode(estimator, table)


def encode(estimator: Any, table: Any) -> Array:
    """Return the inputs of the trees for each row of a table; see `TableEncoder.encode`."""
    table = dense(table)
    encoder: TableEncoder = estimator.encoder_
    if encoder.is_plain and not isinstance(table, Frame):
        return cast(Array, table)  # gaps are looked for on the way through the trees
    return encoder.encode(table)


def blocks(X: Any, n_rows: int = 4096) -> Iterator[Any]:
    """Yield blocks of rows of a sparse matrix."""
    for start in range(0, X.shape[0], n_rows):
        yield X[start : start + n_rows]


def dense(table: Any, dtype: Any = None) -> Any:
    """Return a table as it is, and a sparse matrix as an array, filled block by block.

    By default the array is of the smallest type that holds the values exactly.
    """
    if not issparse(table):
        return table
    array, start = new_table(table.shape, dtype or _smallest_dtype(table.data)), 0
    for block in blocks(table):
        array[start : start + block.shape[0]] = block.toarray()
        start += block.shape[0]
    return array


def _dense_bytes(table: Any) -> int:
    """Return the size of the array that a sparse matrix becomes."""
    return (
        int(np.prod(table.shape, dtype=np.int64)) * np.dtype(_smallest_dtype(table.data)).itemsize
    )


def _smallest_dtype(values: Array) -> type[np.generic]:
    """Return the smallest type that a table may have and that holds these values exactly."""
    with np.errstate(invalid="ignore", over="ignore"):
        fitting = (d for d in (np.uint8, np.float32) if np.array_equal(values.astype(d), values))
        return next(fitting, np.float64)


def names_of(estimator: Any) -> tuple[str, ...] | None:
    """Return the names of the columns, None if they have none."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else tuple(str(name) for name in names)


def _is_readable(X: Any, estimator: Any) -> bool:
    """Return whether scikit-learn's validation would return X as it is, after 100 microseconds."""
    return (
        type(X) is np.ndarray
        and X.dtype in TABLE_DTYPES
        and X.ndim == 2
        and X.shape[0] > 0
        and X.shape[1] == estimator.n_features_in_
        and X.flags.c_contiguous
        and estimator.encoder_.is_plain
        and not hasattr(estimator, "feature_names_in_")
    )


def read_table(estimator: Any, X: Any, reset: bool) -> Any:
    """Return X as an array of numbers, as a sparse matrix, or as a `Frame`.

    With `reset`, the number and names of the columns are what the estimator expects from then on.
    """
    X = known_frame(X)
    if getattr(estimator, "finds_columns_", False) and not reset:
        X = _select(estimator, X)
    frame = as_frame(X)
    if frame is None and is_data_frame(X):
        validate_data(
            estimator, with_names(X, frames.names_of(X)), reset=reset, skip_check_array=True
        )
        return check_array(plain_table(X), estimator=estimator, input_name="X", **_TABLE)
    if frame is None:
        table = validate_data(estimator, X, reset=reset, accept_sparse="csr", **_TABLE)
        if issparse(table) and not table.has_canonical_format:
            table = table.copy()
            table.sum_duplicates()
        return table
    if len(frame) == 0:
        raise ValueError("X has no rows: at least one is needed")
    if isinstance(X, Frame):
        if reset:
            estimator.n_features_in_ = X.shape[1]
            estimator.feature_names_in_ = np.array(X.names, dtype=object)
    else:
        shown = X if hasattr(X, "shape") else np.empty(frame.shape)
        if is_data_frame(X):
            shown = with_names(X, frames.names_of(X))
        validate_data(estimator, shown, reset=reset, skip_check_array=True)
    return frame


def _select(estimator: Any, X: Any) -> Any:
    """Return the columns that a model needs, in the order in which it needs them."""
    names = names_of(estimator)
    if names is None or (not isinstance(X, Frame) and not is_data_frame(X)):
        return X
    found = [str(name) for name in _column_names(X)]
    absent = [name for name in names if name not in found]
    if absent:
        shown = ", ".join(repr(name) for name in absent[:10])
        raise ValueError(
            f"X has no column {shown}, which the model needs; its columns are "
            f"{', '.join(map(repr, found[:20]))}"
        )
    _refuse_duplicated(name for name in found if name in names)
    if isinstance(X, Frame):
        return X.select(names)
    return select_columns(X, [found.index(name) for name in names])


def _column_names(X: Any) -> list[Any]:
    return list(X.names or ()) if isinstance(X, Frame) else frames.names_of(X)


def read_training(estimator: Any, X: Any, y: Any, reset: bool) -> tuple[Any, Array]:
    """Return a table and a target, checked; `encode` makes inputs of the table.

    With `reset`, their number and names are what the estimator expects from then on.
    """
    X = known_frame(X)
    _refuse_duplicated(_column_names(X))
    numeric = is_regressor(estimator)
    if y is None:  # scikit-learn says what is missing
        validate_data(estimator, X, y, reset=False, skip_check_array=True)
    table = read_table(estimator, X, reset)
    try:
        target = check_y(y, _has_several_columns(y), y_numeric=numeric, estimator=estimator)
        if numeric and target.dtype.kind in "US":
            target = target.astype(np.float64)
    except ValueError as error:
        if numeric and "could not convert string" in str(error):
            name = type(estimator).__name__
            raise ValueError(
                f"y has text ({error}), and {name} predicts numbers: to predict classes, use "
                f"{name.replace('Regressor', 'Classifier')}"
            ) from None
        raise
    if issparse(target):
        target = target.toarray()
    check_consistent_length(table, target)
    return table, target


def learn_table_encoder(
    estimator: Any, table: Any, weight: FloatArray, target: Array | None = None
) -> TableEncoder:
    """Return how the columns of the training rows become inputs of trees; see `learn_encoder`."""
    try:
        return learn_encoder(
            table.tocsc() if issparse(table) else table,
            weight,
            estimator.categorical_features,
            names_of(estimator),
            target,
        )
    except MemoryError:
        raise MemoryError(
            f"X has {table.shape[0]:,} rows of {table.shape[1]:,} columns, too many for the memory"
        ) from None


def filled(estimator: Any, inputs: Any) -> Array:
    """Return what `read_features` returned as an array of finite numbers, or raise an error."""
    if issparse(inputs):
        inputs = encode(estimator, inputs)
    if estimator.encoder_.is_plain:
        inputs = estimator.encoder_.encode(inputs)
    return checked_table(inputs, refuse=partial(refuse_not_finite, estimator)).X


def read_weights(sample_weight: Any, X: Array) -> Array:
    """Return the weight of each row of X, 1 if there are none."""
    weight = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weight.any():
        raise ValueError("sample_weight is zero for all rows: give some row a positive weight.")
    if not _has_finite_sum(weight):
        raise ValueError(
            f"sample_weight is as large as {weight.max():g}, and the sum of all weights overflows: "
            "divide the weights by a common number"
        )
    return weight


def _has_finite_sum(weight: FloatArray) -> bool:
    with np.errstate(over="ignore"):
        return bool(np.isfinite(weight.sum()))


def class_weights(class_weight: Any, classes: Array, rows: Rows) -> Array:
    """Return a factor for each row: the weight of its class.

    Parameters
    ----------
    class_weight : dict or "balanced"
    classes : array of labels
    rows : Rows
        Their targets are positions in `classes`.
    """
    if class_weight == "balanced":
        totals = np.bincount(rows.y, rows.weight, minlength=classes.size)
        per_class = rows.weight.sum() / (classes.size * np.where(totals > 0, totals, np.inf))
    else:
        per_class = compute_class_weight(class_weight, classes=classes, y=classes)
    if not per_class.any() or (per_class < 0).any() or not np.isfinite(per_class).all():
        raise ValueError(
            f"class_weight={class_weight!r}: weights must not be negative, NaN or infinite, and "
            "not all zero."
        )
    factor: Array = per_class[rows.y]
    with np.errstate(over="ignore"):
        product = rows.weight * factor
    if not _has_finite_sum(product):
        raise ValueError(
            f"class_weight={class_weight!r}: the sum of the weights of all rows overflows; use "
            "smaller numbers."
        )
    return factor


def _has_several_columns(y: Any) -> bool:
    """Return whether y is a table; one of a single column is read as a plain target."""
    is_sequence = isinstance(y, (list, tuple)) and len(y) > 0 and np.ndim(y[0]) == 1
    shape: tuple[int, ...] = (len(y), len(y[0])) if is_sequence else getattr(y, "shape", ())
    return len(shape) == 2 and shape[1] > 1


def refuse_not_finite(estimator: Any, X: Array, row: int, column: int) -> ValueError:
    """Return the error for a table with values that are not finite, the first of them here."""
    value = X[row, column]
    names = getattr(estimator, "feature_names_in_", None)
    column = int(estimator.encoder_.groups[column])
    place = f"column {column}" if names is None else f"column {names[column]!r}"
    if np.isfinite(value):
        return ValueError(
            f"row {row} of X has the value {value:g} in {place}, too large for the float32 numbers "
            f"in which this {type(estimator).__name__} computes: it is far beyond those that it "
            "was trained on"
        )
    if np.isnan(value):
        return ValueError(
            f"Input X contains NaN: row {row}, {place} ({np.count_nonzero(np.isnan(X))} such "
            f"values in all), and this {type(estimator).__name__} was loaded from a file that does "
            "not say what to do with missing values: fill them, or train the model again."
        )
    return ValueError(
        f"Input X contains infinity: row {row}, {place} ({np.count_nonzero(np.isinf(X))} such "
        "values in all); numbers must be finite: correct them, or make them NaN, which stands for "
        "missing values."
    )


def _refuse_duplicated(names: Iterable[Any]) -> None:
    several = [name for name, count in Counter(names).items() if count > 1]
    if several:
        raise ValueError(
            f"X has several columns with the same name: {', '.join(map(repr, several))}. Rename "
            "or drop them, so that every feature has a name of its own."
        )


# -- the same rows, however they came -----------------------------------------------------


def canonical_rows(X: Any, y: Array, weight: Array) -> Rows:
    """Drop rows of weight 0, merge identical rows, and sort by a hash of the content.

    X is an array, or a sparse matrix, which becomes one in the order of the result.

    A large table (`bneuralt.arrays.is_large`) stays as it is: identical rows are not merged, and
    the order of the rows matters.

    Examples
    --------
    >>> X, y = np.array([[1.0], [2.0], [1.0]]), np.array([0, 1, 0], dtype=np.int32)
    >>> rows = canonical_rows(X, y, np.ones(3))
    >>> sorted(zip(rows.X[:, 0].tolist(), rows.weight.tolist()))
    [(1.0, 2.0), (2.0, 1.0)]
    """
    if issparse(X) and is_large(_dense_bytes(X)):
        X = dense(X)
    if not issparse(X) and is_large(X.nbytes):
        if np.ptp(weight) == 0.0:  # one number instead of one for each row
            weight = np.broadcast_to(weight[0], weight.shape)
        return Rows(X, y, weight).used()
    if not weight.all():
        used = np.flatnonzero(weight)
        X, y, weight = _take(X, used), y[used], weight[used]
    identity = _hash_sparse_rows(X, y) if issparse(X) else _hash_rows(X, y)
    order = np.argsort(identity, kind="stable")
    is_copy = identity[order[1:]] == identity[order[:-1]]
    if is_copy.any():
        later, earlier = order[1:][is_copy], order[:-1][is_copy]
        if not (np.all(y[later] == y[earlier]) and _are_equal(X[later], X[earlier])):
            identity = _rank_by_content(dense(X), y)  # different rows with the same hash
        order = np.lexsort((weight, identity))  # by weight too, so that sums round the same
        is_copy = identity[order[1:]] == identity[order[:-1]]
    first = np.flatnonzero(np.append(True, ~is_copy))
    index, total = order[first], np.add.reduceat(weight[order], first)
    # Keep the number of updates proportional to the original number of rows.
    times = int(min(total.mean() + 0.5, MOST_ROWS_TO_COPY / total.size))
    return Rows(dense(_take(X, index)), y[index], total, times=max(1, times))


def _take(X: Any, index: IntArray) -> Any:
    return X[index] if issparse(X) else X.take(index, axis=0)  # faster than indexing


def _are_equal(X: Any, Z: Any) -> bool:
    """Return whether two tables of one shape have the same values."""
    return (X != Z).nnz == 0 if issparse(X) else bool(np.all(X == Z))


def _hash_sparse_rows(X: Any, y: Array) -> Array:
    """Return the hash of each row, as of the array that the matrix would be."""
    dtype, n_rows = _smallest_dtype(X.data), 4096
    parts = zip(blocks(X, n_rows), range(0, X.shape[0], n_rows), strict=True)
    hashes = [_hash_rows(dense(part, dtype), y[at : at + n_rows]) for part, at in parts]
    return np.concatenate(hashes)


def _hash_rows(X: Array, y: Array) -> Array:
    """Return a 64-bit hash of each row and its target."""
    content = X.view(np.uint8).reshape(len(X), -1)
    n_words, n_rest = divmod(content.shape[1], 8)
    words = content[:, : 8 * n_words].view(np.uint64)
    keys = _mixed(np.arange(1, n_words + 3, dtype=np.uint64)) | np.uint64(1)

    rest = np.zeros((len(X), 16), dtype=np.uint8)  # what is left of the row, and the target
    rest[:, :n_rest] = content[:, 8 * n_words :]
    first = np.ascontiguousarray(y.reshape(len(y), -1)[:, 0])
    rest[:, 8 : 8 + y.itemsize] = first.view(np.uint8).reshape(len(y), -1)
    hashes = _folded(rest.view(np.uint64)) @ keys[n_words:]
    if y.ndim == 2:  # the other targets
        others = np.ascontiguousarray(y[:, 1:]).view(np.uint64)
        more_keys = _mixed(np.arange(others.shape[1], dtype=np.uint64) + keys[-1]) | np.uint64(1)
        hashes += _folded(others) @ more_keys

    n_rows = max(1, 100_000 // max(1, n_words))  # as many as stay in the cache
    for start in range(0, len(X), n_rows):
        block = slice(start, start + n_rows)
        hashes[block] += _folded(words[block]) @ keys[:n_words]
    return _mixed(hashes)


def _folded(words: Array) -> Array:
    """Bring high bits down: of round floating-point numbers, the low half is all zeros."""
    return words ^ (words >> np.uint64(32))


def _mixed(z: Array) -> Array:
    """Scramble 64-bit words (the last step of the SplitMix64 generator)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _rank_by_content(X: Array, y: Array) -> Array:
    """Return a number for each row, the same for identical rows only."""
    content = np.hstack([part.view(np.uint8).reshape(len(X), -1) for part in (X, y)])
    return np.unique(content.view(f"V{content.shape[1]}").ravel(), return_inverse=True)[1]


# -- validation rows ----------------------------------------------------------------------


def hold_out(rows: Rows, fraction: float, rng: np.random.Generator) -> tuple[Rows, Rows | None]:
    """Split rows into training rows and validation rows.

    Every class, or every range of a numeric target, gives its share; with several targets, rows are
    drawn at random. Each class keeps at least one training row. Where that makes no sense, a
    `TinyDataWarning` says what is done instead.
    """
    n_rows = len(rows)
    if n_rows < FEWEST_ROWS_TO_SPLIT:
        warnings.warn(
            f"{n_rows} different rows are too few to hold some out for validation (the least is "
            f"{FEWEST_ROWS_TO_SPLIT}): all rows are used for training, and training runs for "
            "max_epochs. Give X_val and y_val to choose the validation rows yourself.",
            TinyDataWarning,
            stacklevel=2,
        )
        return rows, None
    order = by_target(rows.y, rng)  # of which every k-th row is held out
    n_held = min(max(1, round(fraction * n_rows)), n_rows - 1)
    held = np.zeros(n_rows, dtype=bool)
    held[order[((np.arange(n_held) + rng.random()) * n_rows / n_held).astype(np.intp)]] = True
    if rows.y.dtype.kind == "i":
        _keep_every_class(rows.y, held)
    return rows.take(np.flatnonzero(~held)), rows.take(np.flatnonzero(held))


def _keep_every_class(y: Array, held: Array) -> None:
    """Give back a row of each class that has none left to train on."""
    n_members, n_held = np.bincount(y), np.bincount(y[held], minlength=y.max() + 1)
    for lost in np.flatnonzero(n_held == n_members):
        held[np.flatnonzero(y == lost)[:1]] = False
    if n_single := np.count_nonzero(n_members == 1):
        warnings.warn(
            f"the only row of a class is used for training, and no validation row is of that class "
            f"({n_single} such classes; identical rows count as one).",
            TinyDataWarning,
            stacklevel=3,
        )
