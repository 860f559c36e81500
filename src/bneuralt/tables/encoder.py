"""The table encoder: columns of any kind in, numbers out.

`learn_encoder` decides from the training rows of which kind each column is (`features`), and the
`TableEncoder` makes inputs of trees of all later tables. Its description is
plain data, which model files store. A table of numbers without gaps passes unchanged.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.sparse import issparse

from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.arrays import is_large, new_table
from bneuralt.lines import IDENTITY, InputLines
from bneuralt.tables.bends import STRAIGHT, Bending
from bneuralt.tables.codes import CodeEvidence
from bneuralt.tables.columns import Column, Frame
from bneuralt.tables.features import (
    KINDS,
    CategoryFeature,
    ColumnError,
    Feature,
    Input,
    MeansFeature,
    NumberFeature,
    Range,
    UnusedFeature,
    feature_from_plain,
    learn_feature,
)
from bneuralt.tables.features.means import MIN_ROWS_OF_VALUE
from bneuralt.tables.features.number import LATER, number_range, numbers_in
from bneuralt.tables.kinds import (
    Decision,
    checked_identifiers,
    decide,
    decimal_point,
    identifies_rows,
    may_identify,
    used_texts,
)
from bneuralt.tables.moments import ColumnMoments
from bneuralt.tables.number_columns import NumberColumns
from bneuralt.tables.number_texts import PLAIN
from bneuralt.tables.numbers import to_number
from bneuralt.tables.reader import TableReader
from bneuralt.tables.sentinels import find_sentinels, have_repeated_ends
from bneuralt.tables.sparse_rows import dense
from bneuralt.tables.value_warnings import LearningNotes, UnexpectedValues

__all__ = [
    "TableEncoder",
    "UnfitColumn",
    "are_numbers",
    "categorical_mask",
    "category_forms",
    "learn_encoder",
    "plain_encoder",
]


#: What a dict says of a column: a number, a category, or a category with certain inputs: means of
#: the target in the rows of a value (all: also of values in a single row), or an input for each
#: frequent value.
COLUMN_FORMS = ("number", "category", "means", "all means", "values")

#: Large tables are encoded in blocks of this many bytes.
BLOCK_BYTES = 2**26
#: Limits and ramps are learnt from columns of about this many numbers at a time.
BLOCK_NUMBERS = 2**16


@dataclass(frozen=True)
class TableEncoder:
    """How the columns of a table become the inputs of trees.

    Attributes
    ----------
    features : tuple of Feature
        One for each column.
    names : tuple of str or None
        Names of the columns.
    ranges : tuple of (tuple of two float or str, or None), or None
        Smallest and largest value of each column in training: numbers, dates as text, and None
        for categories and columns without values. None if they are not known. Encoding does not
        depend on them.
    codes : tuple of int
        Columns of numbers that were found to be codes; not stored.
    """

    features: tuple[Feature, ...]
    names: tuple[str, ...] | None = None
    ranges: tuple[Range | None, ...] | None = field(default=None, compare=False)
    codes: tuple[int, ...] = field(default=(), compare=False)

    @cached_property
    def is_plain(self) -> bool:
        """Whether every column is one number, so that tables of finite numbers stay as they are."""
        return bool(self._passes_numbers.all())

    @cached_property
    def _passes_numbers(self) -> Array:
        return np.array([feature.passes_numbers for feature in self.features], dtype=bool)

    @cached_property
    def _number_columns(self) -> NumberColumns:
        return NumberColumns.of(self.features, self.first_numbers)

    @cached_property
    def _with_notation(self) -> list[int]:
        """Positions of the columns whose texts are read, also if they are plain numbers."""
        return [
            i
            for i, feature in enumerate(self.features)
            if isinstance(feature, NumberFeature) and feature.notation is not None
        ]

    def _numbers_of_block(self, positions: IntArray) -> NumberColumns:
        """Return the columns of numbers in an array of the columns at these positions."""
        key = positions.tobytes()
        if key not in self._of_blocks:
            self._of_blocks[key] = self._number_columns.within(positions)
        return self._of_blocks[key]

    @cached_property
    def _of_blocks(self) -> dict[bytes, NumberColumns]:
        return {}

    @cached_property
    def first_numbers(self) -> IntArray:
        """The position of the first number of each column, and the number of all of them."""
        return np.cumsum([0, *(feature.n_numbers for feature in self.features)])

    @cached_property
    def lines(self) -> InputLines | None:
        """The inputs as lines of the result of `numbers`; None if they are the same."""
        lines = [of_number for feature in self.features for of_number in feature.lines]
        return None if all(each == (IDENTITY,) for each in lines) else InputLines.of(lines)

    @cached_property
    def inputs(self) -> tuple[Input, ...]:
        """Name, meaning and expression of each input."""
        ranges = [None] * len(self.features) if self.ranges is None else self.ranges
        columns = zip(self.features, ranges, strict=True)
        return tuple(
            entry
            for i, (feature, limits) in enumerate(columns)
            for entry in feature.inputs(self.name(i), limits)
        )

    @cached_property
    def groups(self) -> IntArray:
        """The position of the column from which each input comes."""
        if self.is_plain and self.lines is None:
            return np.arange(len(self.features))
        return np.repeat(np.arange(len(self.features)), [f.n_inputs for f in self.features])

    @cached_property
    def drawn_groups(self) -> IntArray | None:
        """`groups` with -1 for inputs that random trees do not have; None for one per column."""
        if self.is_plain and self.lines is None:
            return None
        is_drawn = [is_drawn for feature in self.features for is_drawn in feature.drawn]
        return np.where(np.array(is_drawn, dtype=bool), self.groups, -1)

    @property
    def n_inputs(self) -> int:
        """Number of inputs."""
        return self.groups.size

    def inputs_of(self, i: int) -> range:
        """Return the positions of the inputs that a column becomes."""
        first, end = np.searchsorted(self.groups, [i, i + 1]).tolist()
        return range(first, end)

    @cached_property
    def one_hot_inputs(self) -> list[range]:
        """The positions of the inputs of each column that are alternatives."""
        with_some = ((i, f.n_alternatives) for i, f in enumerate(self.features))
        return [self.inputs_of(i)[len(self.inputs_of(i)) - n :] for i, n in with_some if n]

    @property
    def weights_per_leaf(self) -> float:
        """Mean number of weights of a leaf, which has one for each category of a feature."""
        more = sum(f.n_inputs - 1 for f in self.features if f.kind == "category" and f.n_inputs)
        return 1.0 + more / max(1, np.unique(self.groups).size)

    def with_bends_at(self, inputs: Collection[int]) -> tuple[TableEncoder, IntArray]:
        """Return the encoder without ramps and curves that are not listed, and what remains.

        Examples
        --------
        >>> from bneuralt.tables.bends import Ramp
        >>> ramps = (Ramp(0.0, 1.0, 0.5), Ramp(1.0, 2.0, 0.5))
        >>> encoder = TableEncoder((NumberFeature(1.0), NumberFeature(1.0, ramps=ramps)))
        >>> smaller, kept = encoder.with_bends_at([0, 3])
        >>> smaller.input_names, kept.tolist()
        (['x0', 'x1', 'x1 from 1 to 2'], [0, 1, 3])
        """
        features, kept = [], []
        for i, feature in enumerate(self.features):
            own = self.inputs_of(i)
            places = list(range(len(own)))
            if isinstance(feature, NumberFeature):
                used = {j - own.start for j in inputs if j in own}
                feature, places = feature.with_bends_at(used)
            features.append(feature)
            kept += [own.start + place for place in places]
        return replace(self, features=tuple(features)), np.array(kept, dtype=np.intp)

    @property
    def sentinels(self) -> dict[int, tuple[float, ...]]:
        """Numbers that stand for missing values, by the position of their column."""
        found = {j: getattr(feature, "sentinels", ()) for j, feature in enumerate(self.features)}
        return {j: numbers for j, numbers in found.items() if numbers}

    @property
    def with_means(self) -> list[int]:
        """Positions of categories whose inputs are means of the target."""
        return [j for j, f in enumerate(self.features) if isinstance(f, MeansFeature)]

    @property
    def has_ramps(self) -> bool:
        """Whether a column has ramps."""
        return self.drawn_groups is not None and bool((self.drawn_groups < 0).any())

    @cached_property
    def n_ramps(self) -> IntArray:
        """Number of ramps of each input, which come directly after it.

        Examples
        --------
        >>> from bneuralt.tables.bends import Ramp
        >>> ramps = (Ramp(0.0, 1.0, 0.5), Ramp(1.0, 2.0, 0.5))
        >>> TableEncoder((NumberFeature(1.0), NumberFeature(1.0, ramps=ramps))).n_ramps.tolist()
        [0, 2, 0, 0]
        """
        n_ramps = np.zeros(self.n_inputs, dtype=np.int32)
        if self.drawn_groups is not None:
            drawn = np.flatnonzero(np.append(self.drawn_groups >= 0, True))
            n_ramps[drawn[:-1]] = np.diff(drawn) - 1
        return n_ramps

    @property
    def drawn_per_feature(self) -> float:
        """Mean number of inputs that a leaf of a feature has in random trees."""
        groups = self.groups if self.drawn_groups is None else self.drawn_groups
        groups = groups[groups >= 0]
        return groups.size / max(1, np.unique(groups).size)

    def column_of_number(self, i: int) -> int:
        """Return the position of the column from which a number comes; see `numbers`."""
        return int(np.searchsorted(self.first_numbers, i, side="right")) - 1

    @property
    def input_names(self) -> list[str]:
        """Names of the inputs, such as ``colour=red`` or ``height is missing``."""
        return [entry.name for entry in self.inputs]

    @property
    def mean_inputs(self) -> FloatArray | None:
        """The mean of each input over the training rows, None if not all are known.

        Examples
        --------
        >>> X = np.array([[1.0, 0.0], [np.nan, 1.0], [2.0, 0.0], [3.0, 1.0]])
        >>> learn_encoder(X, categorical_features=[1]).mean_inputs
        array([2. , 0. , 0.5])
        """
        means = [mean for feature in self.features for mean in feature.input_means]
        return None if None in means else np.array(means, dtype=np.float64)

    def name(self, i: int) -> str:
        """Return the name of a column."""
        return f"x{i}" if self.names is None else self.names[i]

    @property
    def unused_names(self) -> list[str]:
        """Names of columns without inputs, which later tables need not have."""
        return [self.name(i) for i, f in enumerate(self.features) if f.kind == "unused"]

    def encode(self, X: Any) -> Array:
        """Return the inputs of trees for each row; see `numbers`.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_rows, n_columns)
            Columns of data frames are found by their names.

        Examples
        --------
        >>> encoder = TableEncoder((NumberFeature(2.0, limits=(0.0, 4.0)),))
        >>> encoder.encode(np.array([[1.0], [9.0], [np.nan]])).tolist()
        [[1.0], [4.0], [2.0]]
        """
        if not isinstance(X, (np.ndarray, Frame)):
            reader = TableReader(self.names, optional=self.unused_names, keeps_texts=True)
            X = dense(reader.read(X).cells)
        numbers = self.numbers(X)
        if self.lines is None:
            return numbers
        for i in np.flatnonzero(np.isinf(numbers).any(axis=0))[:1].tolist():  # limits would hide it
            j = self.column_of_number(i)
            try:
                _refuse_infinite(numbers[:, i], 0)
            except ColumnError as error:
                raise UnfitColumn(f"{self.place(j)} {error}", j, error.row, error.text) from None
        return self.lines.apply(numbers)

    def in_numbers(self, X: Array | Frame) -> Array | Frame:
        """Return a table with numbers in place of texts such as "3,221.11 EUR".

        Raises
        ------
        UnfitColumn
            A column of numbers has other texts.
        """
        if not isinstance(X, Frame):
            return X
        columns = []
        for i, (feature, column) in enumerate(zip(self.features, X.columns, strict=True)):
            if isinstance(feature, NumberFeature) and feature.reads_texts_of(column):
                try:
                    feature.parse(column)
                except ColumnError as error:
                    message = f"{self.place(i)} {error}"
                    raise UnfitColumn(message, i, error.row, error.text) from None
                column = numbers_in(feature.notation or LATER, column.as_text())[0]
            columns.append(column)
        return Frame(columns, X.names, X.decimal)

    def numbers(self, X: Array | Frame) -> Array:
        """Return the numbers for each row of which the inputs are `lines`.

        Parameters
        ----------
        X : array of numbers or Frame
            With the columns of the training rows, in their order.

        Returns
        -------
        array of shape (n_rows, n_numbers)
            X itself where nothing has to be done.

        Raises
        ------
        ValueError
            A column does not fit the one in training.

        Warns
        -----
        UnseenValuesWarning, MissingValuesWarning
            Some values become the mean of the training rows, since training had none of the kind.
        """
        if not isinstance(X, Frame) and self.is_plain and not _may_have_gaps(X):
            return X
        dtype = np.float32 if X.dtype == np.float32 else np.float64
        encoded = new_table((len(X), int(self.first_numbers[-1])), dtype)
        unexpected = UnexpectedValues(self.place, len(X))
        n_rows = max(1, len(X))
        if is_large(encoded.nbytes):  # then only a part of it is in memory
            n_rows = max(1, BLOCK_BYTES * len(X) // encoded.nbytes)
        for start in range(0, len(X), n_rows):
            rows = slice(start, start + n_rows)
            self._encode_block(X, rows, encoded[rows], unexpected)
        unexpected.warn()
        return encoded

    def _encode_block(
        self, X: Array | Frame, rows: slice, encoded: Array, unexpected: UnexpectedValues
    ) -> None:
        """Write the numbers of some rows, and count what training could not prepare for."""
        part: Any = X
        if len(encoded) < len(X):
            part = X.take(rows) if isinstance(X, Frame) else X[rows]
        is_written = np.zeros(len(self.features), dtype=bool)
        if not isinstance(part, Frame):
            is_written[self._number_columns.column] = True
            is_written[self._number_columns.write(part, encoded)] = False
        elif (block := _number_block(part)) is not None:
            positions, values = block
            numbers = self._numbers_of_block(positions)
            is_written[positions[numbers.column]] = True
            is_written[positions[numbers.write(values, encoded)]] = False
            is_written[self._with_notation] = False
        for i in np.flatnonzero(~is_written).tolist():
            feature, (first, end) = self.features[i], self.first_numbers[i : i + 2]
            column = part.columns[i] if isinstance(part, Frame) else _number_column(part, i)
            out = encoded[:, first:end]
            try:
                if column.kind == "number":
                    _refuse_infinite(column.values, rows.start)
                feature.encode(column, out, partial(unexpected.count, i))
            except ColumnError as error:
                row = None if error.row is None else rows.start + error.row
                raise UnfitColumn(f"{self.place(i)} {error}", i, row, error.text) from None

    def bent(self, X: Any, weight: FloatArray, bending: Bending) -> TableEncoder:
        """Return the encoder of the same columns of numbers with limits and ramps.

        Parameters
        ----------
        X : array of numbers or sparse matrix
            The training rows.
        weight : array of shape (n_rows,)
        bending : Bending
        """
        if bending == STRAIGHT:
            return self
        numbers = [feature for feature in self.features if isinstance(feature, NumberFeature)]
        features: Iterable[Feature]
        if len(numbers) == X.shape[1] and not issparse(X) and self.is_plain and weight.all():
            features = _bent_numbers(numbers, X, weight, bending)
        else:
            features = (
                feature.bent(_number_column(X, i), weight, bending)
                for i, feature in enumerate(self.features)
            )
        return replace(self, features=tuple(features))

    def place(self, i: int) -> str:
        """Return what messages call a column."""
        return _place(i, self.names)

    def to_plain(self) -> list[Any]:
        """Return the description of each column as JSON has it."""
        return [feature.to_plain() for feature in self.features]

    @classmethod
    def from_plain(cls, data: Any, names: Sequence[str] | None = None) -> TableEncoder:
        """Read what `to_plain` returned.

        Raises
        ------
        ValueError
            The description is damaged.

        Examples
        --------
        >>> gaps = {"kind": "number", "mean": 2.0, "has_gaps": True}
        >>> TableEncoder.from_plain([1.5, gaps]).input_names
        ['x0', 'x1', 'x1 is missing']
        """
        if not isinstance(data, list):
            raise ValueError("it is not a list")
        features = []
        for i, entry in enumerate(data):
            try:
                features.append(feature_from_plain(entry))
            except (ValueError, TypeError) as error:
                raise ValueError(f"column {i}: {error}") from None
        return cls(tuple(features), None if names is None else tuple(names))

    def with_ranges(self, data: Any) -> TableEncoder:
        """Return the encoder with ranges that were stored as lists, one for each column.

        Raises
        ------
        ValueError
            They are damaged.
        """
        n = len(self.features)
        if not isinstance(data, list) or len(data) != n:
            raise ValueError(f"it must be a list with an entry for each of the {n} columns")
        ranges: list[Range | None] = []
        for i, (entry, feature) in enumerate(zip(data, self.features, strict=True)):
            is_pair = isinstance(entry, list) and len(entry) == 2
            if entry is not None and not (is_pair and feature.is_range(*entry)):
                raise ValueError(f"the entry of column {i}, a {feature.kind}, is {entry!r:.50}")
            ranges.append(None if entry is None else (entry[0], entry[1]))
        return replace(self, ranges=tuple(ranges))

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


class UnfitColumn(ValueError):
    """A column does not fit the one in training.

    Attributes
    ----------
    column : int
    row : int or None
        The first row that does not fit.
    text : str
        What this row has.
    """

    def __init__(self, message: str, column: int, row: int | None, text: str) -> None:
        super().__init__(message)
        self.column, self.row, self.text = column, row, text


def _place(i: int, names: Sequence[str] | None) -> str:
    return f"column {i} of X" if names is None else f"column {names[i]!r} of X"


def _bent_numbers(
    numbers: list[NumberFeature], X: Array, weight: FloatArray, bending: Bending
) -> Iterator[NumberFeature]:
    """Yield the descriptions of columns with limits and ramps."""
    width = max(1, BLOCK_NUMBERS // max(1, len(X)))  # columns at a time, to limit the memory
    for start in range(0, len(numbers), width):
        block = slice(start, start + width)
        columns = np.ascontiguousarray(X[:, block].T, dtype=np.float64)
        bends = bending.learn(columns, weight)
        limits = np.array([each.limits or (-np.inf, np.inf) for each in bends]).T[..., np.newaxis]
        means = [number.mean for number in numbers[block]]
        low, high = limits[..., 0]
        beyond = np.flatnonzero((columns.min(axis=1) < low) | (columns.max(axis=1) > high))
        if beyond.size:
            limited = columns[beyond].clip(*limits[:, beyond]).T
            of_limited = ColumnMoments(limited, weight).rounded_means.tolist()
            for i, mean in zip(beyond.tolist(), of_limited, strict=True):
                means[i] = mean
        for number, mean, each in zip(numbers[block], means, bends, strict=True):
            yield replace(number, mean=mean, limits=each.limits, ramps=each.ramps)


def _number_block(frame: Any) -> tuple[IntArray, FloatArray] | None:
    """Return positions and values of columns of numbers in memory; None if there are none."""
    if not isinstance(frame, Frame):
        if issparse(frame) or is_large(8 * frame.size) or frame.shape[1] == 0:
            return None
        return np.arange(frame.shape[1]), frame.astype(np.float64)
    if frame.number_block is not None:
        return frame.number_block
    if not isinstance(frame.columns, list):
        return None
    numbers = [(i, c.values) for i, c in enumerate(frame.columns) if c.kind == "number"]
    if not numbers:
        return None
    positions, values = zip(*numbers, strict=True)
    return np.array(positions), np.stack(values, axis=1)


def _number_column(X: Array, j: int) -> Column:
    return Column("number", _dense_columns(X, j, j + 1)[:, 0])


def _dense_columns(X: Any, start: int, stop: int) -> FloatArray:
    """Return columns of an array or of a sparse matrix."""
    block = X[:, start:stop]
    columns: FloatArray = (block.toarray() if issparse(block) else block).astype(np.float64)
    return columns


def _may_have_gaps(X: Array) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isnan(X.sum(dtype=np.float64)))


def _refuse_infinite(values: Array, first_row: int) -> None:
    if np.isinf(values).any():
        row = first_row + int(np.argmax(np.isinf(values)))
        raise ColumnError(
            f"has infinity in row {row}: numbers must be finite; correct it, or make it NaN, which "
            "stands for a missing value",
            row - first_row,
            "infinity",
        )


# -- learning -----------------------------------------------------------------------------


def categorical_mask(
    categorical_features: Any, n_columns: int, names: Collection[str] | None
) -> Array:
    """Return for each column whether it is listed as a category.

    Parameters
    ----------
    categorical_features : "from_dtype", None, a list of names, indices or bools, or a dict
    n_columns : int
    names : collection of str or None
        Names of the columns.

    Examples
    --------
    >>> categorical_mask(["b"], 2, ["a", "b"]).tolist(), categorical_mask([0], 2, None).tolist()
    ([False, True], [True, False])
    """
    mask = np.zeros(n_columns, dtype=bool)
    if categorical_features is None or isinstance(categorical_features, str):
        return mask
    if isinstance(categorical_features, Mapping):
        forms = category_forms(categorical_features, n_columns, names)
        mask[[j for j, form in forms.items() if form != "number"]] = True
        return mask
    listed = np.asarray(categorical_features)
    if listed.size == 0:
        return mask
    if listed.dtype.kind == "b":
        if listed.shape != (n_columns,):
            raise ValueError(
                f"categorical_features is a mask of shape {listed.shape}, and X has {n_columns} "
                f"columns: its shape must be ({n_columns},)"
            )
        return listed
    if listed.dtype.kind in "iu":
        if listed.min() < 0 or listed.max() >= n_columns:
            raise ValueError(
                f"categorical_features={listed.tolist()!r:.100}: indices must be in 0 to "
                f"{n_columns - 1}"
            )
        mask[listed] = True
        return mask
    for name in listed.tolist():
        if not isinstance(name, str) or names is None or name not in list(names):
            problem = "X has no column names" if names is None else "X has no such column"
            raise ValueError(f"categorical_features has {name!r:.50}, but {problem}")
        mask[list(names).index(name)] = True
    return mask


def category_forms(
    categorical_features: Any, n_columns: int, names: Collection[str] | None
) -> dict[int, str | int]:
    """Return what a dict says of columns, by their positions.

    Examples
    --------
    >>> category_forms({"b": "means"}, 2, ["a", "b"]), category_forms("from_dtype", 2, None)
    ({1: 'means'}, {})
    """
    if not isinstance(categorical_features, Mapping):
        return {}
    forms: dict[int, str | int] = {}
    for column, form in categorical_features.items():
        is_count = isinstance(form, (int, np.integer)) and not isinstance(form, bool) and form > 0
        if not is_count and form not in COLUMN_FORMS:
            raise ValueError(
                f"categorical_features[{column!r:.50}]={form!r:.50} must be "
                f"one of {', '.join(map(repr, COLUMN_FORMS))}, or a number of rows"
            )
        mask = categorical_mask([column], n_columns, names)
        forms[int(np.argmax(mask))] = form
    return forms


def learn_encoder(
    X: Any,
    weight: FloatArray | None = None,
    categorical_features: Any = "from_dtype",
    names: Sequence[str] | None = None,
    target: Array | None = None,
    bending: Bending = STRAIGHT,
    sentinels: str | Mapping[int, tuple[float, ...]] | None = None,
    counts: FloatArray | None = None,
    identifiers: Any = "drop",
    codes: Mapping[int, CodeEvidence] | None = None,
) -> TableEncoder:
    """Decide how the columns of a table become the inputs of trees.

    Parameters
    ----------
    X : array of numbers, sparse matrix or Frame
        The training rows. A sparse matrix is read a few columns at a time.
    weight : array of shape (n_rows,), optional
        How much each row counts; rows of weight 0 are ignored.
    categorical_features : "from_dtype", None, a list of names, indices or bools, or a dict
        Columns of numbers that are categories. Columns of text are categories in any case; with
        None they are errors. A dict says which inputs a category has; see `category_forms`.
    names : sequence of str, optional
        Names of the columns.
    target : array of shape (n_rows,) or (n_rows, n_columns), optional
        Class numbers (if integers) or values to learn. Numbers and dates that are missing without a
        relation to it are treated as the mean; without a target, every column with gaps gets an
        input that says where they are.
    bending : Bending, optional
        Limits and ramps of numbers; by default there are none.
    sentinels : "auto", dict or None
        Numbers that stand for missing values (of dates: years), by the position of their column.
        "auto": those that repeat far outside of the others of their column, with a warning. None:
        there are none.
    counts : array of shape (n_rows,), optional
        Number of equal rows that each row stands for, by which rules count rows; by default the
        weights.
    identifiers : {"drop", "keep"}, or a list of names or indices
        Whether columns that identify rows are not used, or which columns these are.
    codes : dict, optional
        Columns of numbers that are categories, since the rows say so; see `find_codes`.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [np.nan, 1.0], [2.0, 0.0], [3.0, 2.0], [2.0, 2.0], [1.0, 1.0]])
    >>> encoder = learn_encoder(X, categorical_features=[1])
    >>> encoder.input_names
    ['x0', 'x0 is missing', 'x1=0', 'x1=1', 'x1=2']
    >>> encoder.encode(X)[:2]
    array([[1. , 0. , 1. , 0. , 0. ],
           [1.8, 1. , 0. , 1. , 0. ]])
    """
    weight = np.ones(X.shape[0]) if weight is None else weight
    X = X.tocsc() if issparse(X) else X
    if are_numbers(X, categorical_features, names, identifiers) and not (sentinels or codes):
        return plain_encoder(_moments(X, weight), names).bent(X, weight, bending)
    learning = _Learning(
        dense(X),
        weight,
        weight if counts is None else counts,
        categorical_features,
        names,
        target,
        bending,
        sentinels,
        identifiers,
        codes or {},
    )
    if learning.encoder.n_inputs == 0 and not (
        isinstance(identifiers, str) and identifiers == "keep"
    ):  # a single column may well count its rows
        learning = replace(learning, identifiers="keep")
    if learning.encoder.n_inputs == 0:
        raise ValueError("no column of X varies in the training rows: there is nothing to learn")
    learning.notes.warn()
    return learning.encoder


@dataclass(frozen=True, eq=False)
class _Learning:
    """The arguments of `learn_encoder`, and what is learnt from them."""

    X: Any
    weight: FloatArray
    row_counts: FloatArray
    categorical_features: Any
    names: Sequence[str] | None
    target: Array | None
    bending: Bending
    sentinels: str | Mapping[int, tuple[float, ...]] | None
    identifiers: Any
    codes: Mapping[int, CodeEvidence]

    @property
    def known(self) -> Mapping[int, tuple[float, ...]]:
        """Sentinels that the user names, by the position of their column."""
        return self.sentinels if isinstance(self.sentinels, Mapping) else {}

    @property
    def searches(self) -> bool:
        """Whether sentinels are found out."""
        return isinstance(self.sentinels, str)

    @cached_property
    def notes(self) -> LearningNotes:
        """What a user should know of the columns."""
        return LearningNotes()

    @cached_property
    def decimal(self) -> str:
        """The decimal point of numbers in texts."""
        if not isinstance(self.X, Frame):
            return "."
        return self.X.decimal or decimal_point(self.X.columns, self.weight)

    @cached_property
    def identifies(self) -> Array | None:
        """Which columns are identifiers; None if that is to be found out."""
        return checked_identifiers(self.identifiers, self.X.shape[1], self.names)

    def name(self, j: int) -> str | None:
        """Return the name of a column."""
        return None if self.names is None else self.names[j]

    @cached_property
    def encoder(self) -> TableEncoder:
        """The description of all columns."""
        n_columns = self.X.shape[1]
        features: list[Any] = [None] * n_columns
        ranges: list[Range | None] = [None] * n_columns
        listed = categorical_mask(self.categorical_features, n_columns, self.names)
        listed = listed | np.isin(np.arange(n_columns), list(self.codes))
        block = _number_block(self.X) if KINDS[0] is NumberFeature else None
        if block is not None:
            for j, feature, limits in self._plain_numbers(*block, listed):
                features[j], ranges[j] = feature, limits
        for j in [j for j, feature in enumerate(features) if feature is None]:
            is_frame = isinstance(self.X, Frame)
            column = self.X.columns[j] if is_frame else _number_column(self.X, j)
            from_dtype = column.is_category and isinstance(
                self.categorical_features, (str, Mapping)
            )
            from_dtype = from_dtype and self.forms.get(j) != "number"
            if (is_category := from_dtype or bool(listed[j])) != column.is_category:
                column = replace(column, is_category=is_category)
            features[j], ranges[j] = self._learn(j, column)
        return TableEncoder(
            tuple(features),
            None if self.names is None else tuple(self.names),
            tuple(ranges),
            tuple(self.codes),
        )

    def _plain_numbers(
        self, positions: IntArray, values: FloatArray, listed: Array
    ) -> Iterator[tuple[int, Feature, Range | None]]:
        """Yield the descriptions of columns of numbers without gaps, all learnt at once."""
        weight = self.weight
        is_other = ~np.isfinite(values).all(axis=0) | listed[positions]
        if isinstance(self.X, Frame):
            is_category = (self.X.columns[j].is_category for j in positions.tolist())
            is_other |= np.fromiter(is_category, dtype=bool, count=positions.size)
        is_other |= np.isin(positions, list(self.known))
        if self.searches:
            used, counts = weight > 0, self.row_counts
            for j in np.flatnonzero(have_repeated_ends(values[used], counts[used])).tolist():
                is_other[j] |= bool(_sentinels(Column("number", values[:, j]), counts))
        for place, j in enumerate(positions.tolist()):
            is_named = self.identifies is None and may_identify(self.name(j), j)
            is_named = is_named or (self.identifies is not None and bool(self.identifies[j]))
            is_other[place] |= is_named or self.decimal == ","
        block = values[:, ~is_other]
        numbers = plain_encoder(_moments(block, weight)).bent(block, weight, self.bending)
        places = positions[~is_other].tolist()
        yield from zip(places, numbers.features, numbers.ranges or (), strict=True)

    def _learn(self, j: int, column: Column) -> tuple[Feature, Range | None]:
        """Return the description of a column, and its range."""
        weight, place = self.weight, _place(j, self.names)
        kind, notation = self._decision(j, column)
        if kind in ("empty", "identifier"):
            self.notes.add({"identifier": "identifiers"}.get(kind, kind), place)
            return UnusedFeature(kind), None
        original = column
        if notation is not None:
            column = numbers_in(notation, column)[0]
        elif kind == "category":
            column = replace(column, is_category=True)
        counts, searches = self.row_counts, self.searches
        found = _sentinels(column, counts) if searches else self.known.get(j, ())
        is_number = column.kind == "number" and not column.is_category
        if found and is_number:
            if searches:
                n_rows = np.count_nonzero(np.isin(column.values, found) & (weight > 0))
                listing = ", ".join(f"{number:.15g}" for number in found)
                self.notes.add("sentinels", place, f"({listing} in {n_rows:,} rows)")
            gaps = np.where(np.isin(column.values, found), np.nan, column.values)
            column = replace(column, values=gaps, cells=None)
        feature = learn_feature(column, weight, self.target, counts)
        feature = self._with_means(j, column, feature)
        feature = feature.bent(column, weight, self.bending)
        if found and is_number:
            feature = feature.with_sentinels(found)
        elif searches or found:
            feature, listing = feature.without_sentinels(
                column, weight, self.target, counts, None if searches else found
            )
            if listing and searches:
                self.notes.add("sentinels", place, f"({listing})")
        if isinstance(feature, NumberFeature) and notation not in (None, PLAIN):
            feature = replace(feature, notation=notation)
        if feature.kind == "category" and column.texts and self.categorical_features is None:
            raise ValueError(
                f"{place} has text, such as {column.texts[0]!r:.50}, and "
                "categorical_features=None allows none: use 'from_dtype'"
            )
        if self.forms.get(j) == "number" and feature.kind != "number":
            raise ValueError(
                f"categorical_features has 'number' for {place}, which is a {feature.kind}"
            )
        if j in self.codes:
            self.notes.add("codes", place, self.codes[j].described)
        for kind, text in feature.notes(original, weight):
            self.notes.add(kind, place, text)
        if feature.kind == "category" and not original.is_category:
            self._note_mixture(place, column)
        return feature, feature.learn_range(column, weight)

    def _with_means(self, j: int, column: Column, feature: Feature) -> Feature:
        """Return the description of a category by means of the target, if it has many values."""
        wanted = self.forms.get(j)
        if not isinstance(feature, CategoryFeature) or wanted == "values":
            return feature
        if wanted in (None, "category", "number"):
            found = None
            if self.target is not None:
                found = MeansFeature.by_rule(feature, column, self.row_counts)
            return feature if found is None else found
        place = _place(j, self.names)
        if self.target is None:
            raise ValueError(
                f"categorical_features has {wanted!r} for {place}, and a part of a table does not "
                "show them: use fit instead of partial_fit, or 'values'"
            )
        least = {"all means": 1, "means": MIN_ROWS_OF_VALUE}.get(str(wanted), wanted)
        found = MeansFeature.of_values(column, self.row_counts, int(least))
        if found is None:
            raise ValueError(
                f"categorical_features has {wanted!r} for {place}, but none of its values is in "
                f"{least} rows: use 'values', or 'all means'"
            )
        return found

    @cached_property
    def forms(self) -> dict[int, str | int]:
        """What the user says of the inputs of categories, by the position of their column."""
        return category_forms(self.categorical_features, self.X.shape[1], self.names)

    def _decision(self, j: int, column: Column) -> Decision:
        """Return what a column is."""
        if column.is_missing[self.weight > 0].all():
            return Decision("empty")
        if column.kind == "text" and not column.is_category:
            self._refuse_infinity(_place(j, self.names), column)
        is_keeping = isinstance(self.identifiers, str) and self.identifiers == "keep"
        decision: Decision | None = None if column.is_category else column.decision
        if decision is not None and not (is_keeping and decision.kind == "identifier"):
            return decision
        is_listed = None if self.identifies is None else bool(self.identifies[j])
        return decide(column, self.weight, self.decimal, self.name(j), j, is_listed)

    def _refuse_infinity(self, place: str, column: Column) -> None:
        """Raise an error if a column of numbers has the text "inf"."""
        infinite = [t for t in column.texts if t.lstrip("+-").casefold() in ("inf", "infinity")]
        if not infinite:
            return
        texts, counts = used_texts(column, self.weight)
        is_number = np.array([to_number(text) is not None for text in texts], dtype=bool)
        if counts[is_number].sum() >= 0.5 * counts.sum():
            raise ValueError(
                f"{place} has {infinite[0]!r}: numbers must be finite; correct it, or make it an "
                "empty cell, which stands for a missing value"
            )

    def _note_mixture(self, place: str, column: Column) -> None:
        """Note numbers among the texts of a column."""
        texts, counts = used_texts(column, self.weight)
        is_number = np.array([to_number(text) is not None for text in texts], dtype=bool)
        if not is_number.any() or is_number.all():
            return
        text = texts[int(np.argmin(is_number))]
        share = float(counts[is_number].sum() / counts.sum())
        detail = f"({share:.0%} numbers, and texts such as {text!r:.40})"
        self.notes.add("mixed", place, detail)


def _sentinels(column: Column, counts: FloatArray) -> tuple[float, ...]:
    if column.kind != "number" or column.is_category:
        return ()
    used = ~column.is_missing & (counts > 0)
    return find_sentinels(column.values[used], counts[used])


def are_numbers(
    X: Any,
    categorical_features: Any,
    names: Sequence[str] | None = None,
    identifiers: Any = "drop",
) -> bool:
    """Return whether all columns are numbers without gaps, for which there is `plain_encoder`."""
    if isinstance(X, Frame) or categorical_mask(categorical_features, X.shape[1], names).any():
        return False
    listed = checked_identifiers(identifiers, X.shape[1], names)
    if listed is None:
        weight = np.ones(X.shape[0])
        listed = np.array(
            [
                may_identify(name, j)
                and identifies_rows(_number_column(X, j), weight, name, j, is_number=True)
                for j, name in enumerate(names or ())
            ],
            dtype=bool,
        )
    if listed.any():
        return False
    return KINDS[0] is NumberFeature and not _may_have_gaps(X)  # else another kind comes first


def plain_encoder(
    moments: Iterable[ColumnMoments], names: Sequence[str] | None = None
) -> TableEncoder:
    """Return the encoder of a table of numbers without gaps: each column is one input.

    Parameters
    ----------
    moments : iterable of ColumnMoments
        Of all columns, in one or several parts.
    names : sequence of str, optional

    Examples
    --------
    >>> X = np.array([[1.0, 5.0], [3.0, 6.0]])
    >>> plain_encoder([ColumnMoments(X, np.ones(2))]).to_plain()
    [2.0, 5.5]
    """
    features: list[Feature] = []
    ranges: list[Range | None] = []
    for part in moments:
        for each in zip(
            part.rounded_means.tolist(), part.low.tolist(), part.high.tolist(), strict=True
        ):
            features.append(NumberFeature(each[0]))
            ranges.append(number_range(*each[1:]))
    return TableEncoder(tuple(features), None if names is None else tuple(names), tuple(ranges))


def _moments(X: Any, weight: FloatArray) -> Iterator[ColumnMoments]:
    """Yield statistics of all columns, of a sparse matrix in blocks of columns."""
    if X.shape[1] == 0:
        return
    if not issparse(X):
        yield ColumnMoments(X, weight)
        return
    width = max(1, 1_000_000 // max(1, X.shape[0]))
    for start in range(0, X.shape[1], width):
        yield ColumnMoments(_dense_columns(X, start, start + width), weight)
