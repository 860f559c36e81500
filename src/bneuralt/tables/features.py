"""How one column of a table becomes inputs of a tree: numbers, categories and dates.

Each class describes a column as it was in training, with plain data only, and encodes later columns
in the same way. A value that training could not prepare for, because it is missing or unknown,
becomes the mean of the training rows: after scaling that is 0, so the value has no influence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bneuralt._typing import Array, FloatArray
from bneuralt.expressions import (
    NUMBER,
    Expression,
    Lookup,
    date_part,
    if_missing,
    is_missing,
    lookup,
    select,
)
from bneuralt.expressions.operations import DATE_PARTS
from bneuralt.tables.columns import Column, parse_dates, stands_for_missing
from bneuralt.tables.gaps import gaps_tell
from bneuralt.tables.numbers import read_numbers

__all__ = ["MOST_CATEGORIES", "CategoryFeature", "DateFeature", "Feature", "NumberFeature"]

#: A category has at most this many entries, including those for rare and for missing values.
MOST_CATEGORIES = 255

#: Values in less than this share of the rows are rare, as far as that is 2 to 20 rows.
SMALLEST_SHARE = 0.002
FEWEST_ROWS, ENOUGH_ROWS = 2, 20

#: More rare values than this are not listed; unseen values cannot be told from them then.
MOST_RARE_VALUES = 255

#: What inputs stand for that are neither a value nor a part of it.
MISSING, RARE = "(missing)", "(rare)"


class Input(NamedTuple):
    """One of the inputs of trees that a column becomes.

    Attributes
    ----------
    entry : str
        What it stands for: "" for the number itself, a category, a part of a date, `MISSING` or
        `RARE`.
    name : str
    expression : Expression
        Its value, computed from a cell of the column.
    mean : float or None
        Its mean over the training rows, in which no value is missing; None if it is not known.
    range : tuple of two float, or None
        Its smallest and largest value in training, None if they are not known.
    """

    entry: str
    name: str
    expression: Expression
    mean: float | None
    range: tuple[float, float] | None


def _gap_input(name: str, value: Expression) -> Input:
    """Return the input that says whether a value is missing."""
    indicator = select(is_missing(value), 1.0, 0.0)
    return Input(MISSING, f"{name} is missing", indicator, 0.0, (0.0, 1.0))


#: Called with the kind of a surprise ("missing", "unseen"), a count and an example.
Report = Callable[[str, int, str], None]


class ColumnError(ValueError):
    """A column does not fit the one in training; the message completes "column 'name' ..."."""


@dataclass(frozen=True)
class NumberFeature:
    """A column of numbers; if gaps say something, a second input says what is missing.

    Attributes
    ----------
    mean : float or None
        Mean of the training rows, which stands for missing values; None if it is not known.
    has_gaps : bool
        Whether values were missing in training, and an input says where.
    ignores_gaps : bool
        Whether values were missing in training, without a relation to the target.
    """

    kind: ClassVar[str] = "number"
    mean: float | None
    has_gaps: bool = False
    ignores_gaps: bool = False

    @classmethod
    def learn(
        cls, column: Column, weight: FloatArray, target: Array | None = None
    ) -> NumberFeature:
        """Describe a column of training rows."""
        known = ~column.is_missing & (weight > 0)
        mean = rounded_mean(column.values[known], weight[known])
        return cls(mean, *_learn_gaps(column.is_missing, weight, target))

    @property
    def n_columns(self) -> int:
        """Number of inputs."""
        return 1 + self.has_gaps

    def inputs(self, name: str, limits: Any = None) -> list[Input]:
        """Return the inputs of a column with this name and range."""
        value = NUMBER if self.mean is None else if_missing(NUMBER, self.mean)
        gaps = [_gap_input(name, NUMBER)] if self.has_gaps else []
        return [Input("", name, value, self.mean, limits), *gaps]

    def encode(self, column: Column, out: Array, report: Report) -> None:
        """Write the inputs of each row to `out`."""
        if column.kind == "date":
            raise ColumnError("had numbers in training and has dates now")
        values = column.values
        if column.kind == "text":
            numbers = read_numbers(column.texts)
            if np.isnan(numbers).any():
                text = column.texts[int(np.argmax(np.isnan(numbers)))]
                raise ColumnError(f"had numbers in training and has the text {text!r:.50} now")
            values = np.append(numbers, np.nan)[column.values]
        gaps = np.isnan(values)
        n_gaps = int(np.count_nonzero(gaps))
        out[:, 0] = values
        if n_gaps and self.mean is None:
            raise ColumnError(f"has {n_gaps} missing values, and its mean in training is not known")
        if n_gaps and not self.has_gaps and not self.ignores_gaps:
            report("missing", n_gaps, "")
        if n_gaps:
            out[gaps, 0] = self.mean
        if self.has_gaps:
            out[:, 1] = gaps

    def to_plain(self) -> Any:
        """Return the description as JSON has it: the mean alone if there were no gaps."""
        if not self.has_gaps and not self.ignores_gaps:
            return self.mean
        return {"kind": self.kind, "mean": self.mean, **_ignored(self.ignores_gaps)}

    @classmethod
    def from_plain(cls, data: Any) -> NumberFeature:
        """Read what `to_plain` returned."""
        if isinstance(data, dict):
            ignores_gaps = _ignores_gaps(data)
            _check_keys(data, "kind", "mean")
            return cls(_number(data["mean"], "mean"), not ignores_gaps, ignores_gaps)
        return cls(None if data is None else _number(data, "mean"))


def _learn_gaps(gaps: Array, weight: FloatArray, target: Array | None) -> tuple[bool, bool]:
    """Return whether there are gaps that get an input, and whether there are some that do not."""
    used = weight > 0
    if not np.any(gaps & used):
        return False, False
    tell = target is None or gaps_tell(gaps[used], target[used], weight[used])
    return tell, not tell


def rounded_mean(values: FloatArray, weight: FloatArray) -> float:
    """Return the mean of one column; see `means_and_ranges`."""
    if values.size == 0 or np.isinf(values).any():
        return 0.0
    return float(means_and_ranges(values[:, np.newaxis], weight)[0][0])


def means_and_ranges(X: Array, weight: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the mean of each column, rounded to a millionth of its spread, minimum and maximum.

    So the mean does not depend on the order of the rows, by which sums differ in their last digits.
    Rows of weight 0 are ignored. X is gone through in blocks of rows, as it may be large.

    Examples
    --------
    >>> means_and_ranges(np.array([[0.1], [0.2], [0.3]]), np.ones(3))
    (array([0.2]), array([0.1]), array([0.3]))
    """

    def blocks() -> Iterator[tuple[FloatArray, FloatArray]]:
        n_rows = max(1, 100_000 // X.shape[1])
        for start in range(0, len(X), n_rows):
            part, own = X[start : start + n_rows], weight[start : start + n_rows]
            part, own = (part, own) if own.all() else (part[own > 0], own[own > 0])
            if own.size:
                yield part.astype(np.float64), own

    low, high = np.full(X.shape[1], np.inf), np.full(X.shape[1], -np.inf)
    for part, _ in blocks():
        low, high = np.minimum(low, part.min(axis=0)), np.maximum(high, part.max(axis=0))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        span = high - low
        usable = np.isfinite(span) & (span > 0)
        unit = np.where(usable, span, 1.0)
        total = sum((own @ ((part - low) / unit) for part, own in blocks()), np.zeros(low.size))
        mean = low + unit * total / weight.sum()
        step = 10.0 ** np.maximum(np.floor(np.log10(unit)) - 6, -300)
        # Dividing by a power of ten rounds better than multiplying by a negative power.
        fine = np.round(mean / step) / np.round(1 / step)
        rounded = np.where(step >= 1, np.round(mean / step) * step, fine)
    means: FloatArray = np.where(usable, np.where(np.isfinite(rounded), rounded, mean), low)
    return means, low, high


@dataclass(frozen=True)
class CategoryFeature:
    """A column of categories: one input for each, and for all rare and all missing values.

    Attributes
    ----------
    categories : tuple of str
        The frequent values, sorted.
    shares : tuple of float
        How frequent each entry is in training: the categories, then rare and missing values.
    rare : tuple of str or None
        The values that share one entry; None if they are too many to be listed. An empty tuple:
        there is no such entry.
    has_gaps : bool
        Whether values were missing in training.
    """

    kind: ClassVar[str] = "category"
    categories: tuple[str, ...]
    shares: tuple[float, ...]
    rare: tuple[str, ...] | None = ()
    has_gaps: bool = False

    @classmethod
    def learn(cls, column: Column, weight: FloatArray) -> CategoryFeature:
        """Describe a column of training rows."""
        text = column.as_text()
        counts = np.bincount(text.values + 1, weight, minlength=len(text.texts) + 1)
        total = float(counts.sum())
        n_missing, counts = float(counts[0]), counts[1:]
        by_count = sorted(range(len(counts)), key=lambda i: (-counts[i], text.texts[i]))
        present = [i for i in by_count if counts[i] > 0]
        least = max(FEWEST_ROWS, min(SMALLEST_SHARE * total, ENOUGH_ROWS))
        frequent = [i for i in present if counts[i] >= least]
        if len(present) - len(frequent) or len(frequent) > MOST_CATEGORIES - (n_missing > 0):
            frequent = frequent[: MOST_CATEGORIES - 1 - (n_missing > 0)]
        rest = present[len(frequent) :]
        frequent.sort(key=lambda i: text.texts[i])
        shares = [float(counts[i]) / total for i in frequent]
        if rest:
            shares.append(float(counts[rest].sum()) / total)
        if n_missing:
            shares.append(n_missing / total)
        rare = sorted(text.texts[i] for i in rest) if len(rest) <= MOST_RARE_VALUES else None
        return cls(
            tuple(text.texts[i] for i in frequent),
            tuple(shares),
            None if rare is None else tuple(rare),
            n_missing > 0,
        )

    @property
    def has_other(self) -> bool:
        """Whether rare values have an entry."""
        return self.rare is None or len(self.rare) > 0

    @property
    def n_columns(self) -> int:
        """Number of inputs: two entries need only one, and a single one is constant."""
        n_entries = len(self.shares)
        return n_entries if n_entries > 2 else n_entries - 1 if n_entries else 0

    @property
    def entries(self) -> list[str]:
        """What each entry stands for: the categories, then `RARE` and `MISSING`."""
        return [*self.categories, *[RARE] * self.has_other, *[MISSING] * self.has_gaps]

    def inputs(self, name: str, limits: Any = None) -> list[Input]:
        """Return the inputs of a column with this name."""
        words = {RARE: f"{name} is rare", MISSING: f"{name} is missing"}
        first = len(self.entries) - self.n_columns
        return [
            Input(
                entry,
                f"{name}={entry}" if i < len(self.categories) else words[entry],
                lookup(self._table(i)),
                self.shares[i],
                (0.0, 1.0),
            )
            for i, entry in enumerate(self.entries)
            if i >= first
        ]

    def _table(self, entry: int) -> Lookup:
        """Return the input that says whether a value belongs to an entry.

        Values that training could not prepare for become the share of the entry.
        """
        share, n = self.shares[entry], len(self.categories)
        unknown = float(entry == n) if self.has_other else share
        missing = float(entry == len(self.shares) - 1) if self.has_gaps else share
        numbers = {text: float(i == entry) for i, text in enumerate(self.categories)}
        listed = {text: number for text, number in numbers.items() if number != unknown}
        return Lookup(tuple(listed), tuple(listed.values()), unknown, missing)

    def encode(self, column: Column, out: Array, report: Report) -> None:
        """Write the inputs of each row to `out`."""
        text = column.as_text()
        entry = {category: i for i, category in enumerate(self.categories)}
        n_entries = len(self.shares)
        unknown = len(self.categories) if self.has_other else n_entries
        position = [entry.get(value, unknown) for value in text.texts]
        position.append(n_entries - 1 if self.has_gaps else n_entries)  # for the code -1
        self._report(column, text, entry, report)
        rows = np.zeros((n_entries + 1, n_entries))
        np.fill_diagonal(rows, 1.0)
        rows[n_entries] = self.shares
        table = rows[:, n_entries - self.n_columns :].astype(out.dtype)
        out[:] = table[np.array(position, dtype=np.intp)[text.values]]

    def _report(self, column: Column, text: Column, entry: dict[str, int], report: Report) -> None:
        """Count missing and unseen values where training had none."""
        counts = np.bincount(text.values + 1, minlength=len(text.texts) + 1)
        if counts[0] and not self.has_gaps:
            report("missing", int(counts[0]), "")
        if self.rare is None:
            return
        known = entry.keys() | set(self.rare)
        unseen = [i for i, value in enumerate(text.texts) if value not in known and counts[i + 1]]
        if not unseen:
            return
        n_unseen = int(counts[np.array(unseen) + 1].sum())
        if column.kind == "number" and n_unseen == counts[1:].sum() and self._has_words:
            raise ColumnError(
                f"had categories in training, such as {(self.categories + self.rare)[0]!r:.50}, "
                f"and has only numbers now, such as {text.texts[unseen[0]]}"
            )
        report("unseen", n_unseen, text.texts[unseen[0]])

    @property
    def _has_words(self) -> bool:
        return bool(np.isnan(read_numbers(self.categories + (self.rare or ()))).all())

    def to_plain(self) -> Any:
        """Return the description as JSON has it."""
        return {
            "kind": self.kind,
            "categories": list(self.categories),
            "shares": list(self.shares),
            "rare": None if self.rare is None else list(self.rare),
            "has_gaps": self.has_gaps,
        }

    @classmethod
    def from_plain(cls, data: Any) -> CategoryFeature:
        """Read what `to_plain` returned."""
        _check_keys(data, "kind", "categories", "shares", "rare", "has_gaps")
        categories = _texts(data["categories"], "categories")
        rare = None if data["rare"] is None else _texts(data["rare"], "rare")
        if len({*categories, *(rare or ())}) < len(categories) + len(rare or ()):
            raise ValueError("a category occurs twice")
        if type(data["has_gaps"]) is not bool or not isinstance(data["shares"], list):
            raise ValueError('"has_gaps" or "shares" has the wrong type')
        shares = tuple(_number(share, "shares") for share in data["shares"])
        feature = cls(categories, shares, rare, data["has_gaps"])
        n_entries = len(categories) + feature.has_other + feature.has_gaps
        if len(shares) != n_entries or n_entries > MOST_CATEGORIES:
            raise ValueError(f'"shares" has {len(shares)} numbers, {n_entries} are needed')
        return feature


#: Ranges of the parts of a date that do not depend on the column.
_PART_RANGES = {"month": (1.0, 12.0), "weekday": (0.0, 6.0), "hour": (0.0, 23.0)}


@dataclass(frozen=True)
class DateFeature:
    """A column of dates: year, month, weekday (Monday is 0) and hour, as far as they vary.

    Attributes
    ----------
    parts : tuple of str
        The parts that vary in training.
    means : tuple of float
        Their means.
    has_gaps : bool
        Whether values were missing in training, and an input says where.
    day_first : bool
        Whether texts such as 1/2/2024 have the day before the month.
    ignores_gaps : bool
        Whether values were missing in training, without a relation to the target.
    """

    kind: ClassVar[str] = "date"
    parts: tuple[str, ...]
    means: tuple[float, ...]
    has_gaps: bool = False
    day_first: bool = False
    ignores_gaps: bool = False

    @classmethod
    def learn(
        cls,
        column: Column,
        weight: FloatArray,
        target: Array | None = None,
        day_first: bool = False,
    ) -> DateFeature:
        """Describe a column of training rows."""
        known = ~column.is_missing & (weight > 0)
        values = {name: part(column.values[known]) for name, part in DATE_PARTS.items()}
        parts = tuple(name for name, v in values.items() if v.size and v.min() < v.max())
        means = tuple(rounded_mean(values[name].astype(float), weight[known]) for name in parts)
        has_gaps, ignores_gaps = _learn_gaps(column.is_missing, weight, target)
        return cls(parts, means, has_gaps, day_first, ignores_gaps)

    @property
    def n_columns(self) -> int:
        """Number of inputs."""
        return len(self.parts) + self.has_gaps

    def inputs(self, name: str, limits: Any = None) -> list[Input]:
        """Return the inputs of a column with this name and range."""
        ranges = dict(_PART_RANGES)
        if limits is not None:
            ranges["year"] = float(limits[0][:4]), float(limits[1][:4])
        parts = [
            Input(
                part,
                f"{part} of {name}",
                if_missing(date_part(part), mean),
                mean,
                None if limits is None else ranges[part],
            )
            for part, mean in zip(self.parts, self.means, strict=True)
        ]
        return parts + ([_gap_input(name, date_part("year"))] if self.has_gaps else [])

    def encode(self, column: Column, out: Array, report: Report) -> None:
        """Write the inputs of each row to `out`."""
        column = self._as_dates(column)
        gaps = column.is_missing
        n_gaps = int(np.count_nonzero(gaps))
        if n_gaps and not self.has_gaps and not self.ignores_gaps:
            report("missing", n_gaps, "")
        for i, (part, mean) in enumerate(zip(self.parts, self.means, strict=True)):
            out[:, i] = np.where(gaps, mean, DATE_PARTS[part](column.values))
        if self.has_gaps:
            out[:, -1] = gaps

    def _as_dates(self, column: Column) -> Column:
        if column.kind == "number" and not column.is_missing.all():
            raise ColumnError("had dates in training and has numbers now")
        if column.kind == "date":
            return column
        dates = np.full(len(column.texts) + 1, "NaT", dtype="datetime64[s]")
        if column.texts:
            found = parse_dates(column.texts, self.day_first)
            if found is None:
                odd = (text for text in column.texts if parse_dates([text], self.day_first) is None)
                raise ColumnError(
                    f"had dates in training and has the text {next(odd, column.texts[0])!r:.50} now"
                )
            dates[:-1] = found[0]
        codes = column.values if column.kind == "text" else np.full(len(column), -1)
        return Column("date", dates[codes])

    def to_plain(self) -> Any:
        """Return the description as JSON has it."""
        return {
            "kind": self.kind,
            "parts": list(self.parts),
            "means": list(self.means),
            "has_gaps": self.has_gaps,
            "day_first": self.day_first,
            **_ignored(self.ignores_gaps),
        }

    @classmethod
    def from_plain(cls, data: Any) -> DateFeature:
        """Read what `to_plain` returned."""
        ignores_gaps = _ignores_gaps(data)
        _check_keys(data, "kind", "parts", "means", "has_gaps", "day_first")
        parts = _texts(data["parts"], "parts")
        if not set(parts) <= DATE_PARTS.keys() or len(set(parts)) < len(parts):
            raise ValueError(f'"parts" is {data["parts"]!r:.50}')
        if not isinstance(data["means"], list) or len(data["means"]) != len(parts):
            raise ValueError('"means" must be a number for each part')
        if type(data["has_gaps"]) is not bool or type(data["day_first"]) is not bool:
            raise ValueError('"has_gaps" or "day_first" is not true or false')
        means = tuple(_number(mean, "means") for mean in data["means"])
        return cls(parts, means, data["has_gaps"], data["day_first"], ignores_gaps)


Feature = NumberFeature | CategoryFeature | DateFeature


# -- checks of stored descriptions --------------------------------------------------------


def _check_keys(data: dict[str, Any], *expected: str) -> None:
    if data.keys() - {"ignores_gaps"} != set(expected):
        raise ValueError(f"its keys must be {', '.join(expected)}")


def _ignored(ignores_gaps: bool) -> dict[str, bool]:
    """Return the entry of a description that is there only if it is true."""
    return {"ignores_gaps": True} if ignores_gaps else {}


def _ignores_gaps(data: dict[str, Any]) -> bool:
    ignores_gaps = data.get("ignores_gaps", False)
    if type(ignores_gaps) is not bool:
        raise ValueError('"ignores_gaps" is not true or false')
    return ignores_gaps


def _number(value: Any, key: str) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError(f'"{key}" has {value!r:.50}, which is not a finite number')
    return float(value)


def _texts(value: Any, key: str) -> tuple[str, ...]:
    if not isinstance(value, list) or any(type(text) is not str for text in value):
        raise ValueError(f'"{key}" must be a list of texts')
    if any(stands_for_missing(text) for text in value):
        raise ValueError(f'"{key}" has a text that stands for a missing value')
    return tuple(value)
