"""Columns of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from bneuralt._typing import Array, FloatArray
from bneuralt.expressions import (
    NUMBER,
    Expression,
    differs,
    if_missing,
    maximum,
    minimum,
    select,
)
from bneuralt.lines import IDENTITY, ClampedLine, LineSum
from bneuralt.tables.bends import Bending, Ramp, rounded_ends
from bneuralt.tables.columns import Column, Written
from bneuralt.tables.features.feature import (
    ColumnError,
    Feature,
    Input,
    Range,
    checked_bool,
    checked_number,
    gap_input,
    gap_notes,
    is_finite,
    learn_gaps,
    unread_words,
    used_texts,
)
from bneuralt.tables.kinds import notation_of
from bneuralt.tables.moments import rounded_mean
from bneuralt.tables.number_texts import PLAIN, Notation
from bneuralt.tables.polylines import Curve, Knots

__all__ = ["LATER", "NumberFeature", "number_range", "numbers_in"]

#: How texts are read by models that were trained on plain numbers.
LATER = Notation(thousands=",")


@dataclass(frozen=True)
class NumberFeature(Feature):
    """A column of numbers, limited to a range, with ramps between some of its values.

    If gaps say something about the target, another input says where they are.

    Attributes
    ----------
    mean : float or None
        Mean of the training rows, which replaces missing values; None if it is not known.
    has_gaps : bool
        Whether values were missing in training, and an input says where.
    ignores_gaps : bool
        Whether values were missing in training, without a relation to the target.
    notation : Notation or None
        How the texts of the column are numbers; None if the column had numbers, or texts as
        Python writes numbers.
    limits : tuple of two float, or None
        Numbers beyond them count as the nearer one; None: there are no limits.
    ramps : tuple of Ramp
        Inputs that rise from 0 to 1 between two numbers.
    sentinels : tuple of float
        Numbers that stand for missing values.
    bounds : tuple of two float, or None
        As `limits`, but for all inputs of the column, ramps included; None: there are none.
    curves : tuple of Curve
        Inputs that bend at several numbers, each in place of several leaves of a node.
    """

    kind: ClassVar[str] = "number"
    mean: float | None
    has_gaps: bool = False
    ignores_gaps: bool = False
    notation: Notation | None = None
    limits: tuple[float, float] | None = None
    ramps: tuple[Ramp, ...] = ()
    sentinels: tuple[float, ...] = ()
    bounds: tuple[float, float] | None = None
    curves: tuple[Curve, ...] = ()

    @classmethod
    def learn(cls, column: Column, weight: FloatArray, target: Array | None = None) -> Self | None:
        """Describe a column of training rows; None if its values are not all numbers."""
        if column.is_category or column.kind == "date":
            return None
        notation = None
        if column.kind == "text":
            notation = notation_of(column, weight)
            if notation is None:
                return None
        return cls.in_notation(notation, column, weight, target)

    @classmethod
    def in_notation(
        cls, notation: Notation | None, column: Column, weight: FloatArray, target: Array | None
    ) -> Self:
        """Describe a column of training rows whose texts are numbers."""
        if notation is not None:
            column = numbers_in(notation, column)[0]
        present = ~column.is_missing & (weight > 0)
        mean = rounded_mean(column.values[present], weight[present])
        if notation == PLAIN:  # then texts are read as numbers in any case
            notation = None
        return cls(mean, *learn_gaps(column.is_missing, weight, target), notation)

    def bent(self, column: Column, weight: FloatArray, bending: Bending) -> Self:
        """Return the description with limits and ramps, and the mean of the limited numbers."""
        rows = np.flatnonzero(weight > 0)
        values, used = self.read(column.take(rows)).values, weight[rows]
        is_gap = np.isnan(values)
        if is_gap.any():
            values, used = values[~is_gap], used[~is_gap]
        (bends,) = bending.learn(values[np.newaxis].astype(np.float64), used)
        mean = self.mean
        if bends.limits is not None:
            mean = rounded_mean(values.clip(*bends.limits), used)
        return replace(self, mean=mean, limits=bends.limits, ramps=bends.ramps)

    def with_sentinels(self, sentinels: tuple[float, ...]) -> Self:
        """Return the description with numbers that stand for missing values."""
        return replace(self, sentinels=sentinels)

    def read(self, column: Column) -> Column:
        """Return the column as numbers."""
        return self.parse(column)[0]

    def reads_texts_of(self, column: Column) -> bool:
        """Return whether the texts of a column are read, and not what Python takes them for."""
        return column.kind == "text" or (self.notation is not None and column.cells is not None)

    def parse(self, column: Column) -> tuple[Column, int, str]:
        """Return the column as numbers, the number of new words, and one of them."""
        if column.kind == "date":
            raise ColumnError("had numbers in training and has dates now")
        n_words, example = 0, ""
        if self.reads_texts_of(column):
            text = column.as_text()
            column, is_read = numbers_in(self.notation or LATER, text)
            n_words, example = unread_words(text, is_read, "numbers")
        if self.sentinels:
            values = np.where(np.isin(column.values, self.sentinels), np.nan, column.values)
            column = Column("number", values)
        if self.mean is None and (n_gaps := np.count_nonzero(column.is_missing)):
            raise ColumnError(f"has {n_gaps} missing values, and its mean in training is not known")
        return column, n_words, example

    def notes(self, column: Column, weight: FloatArray) -> list[tuple[str, str]]:
        """Return how texts of the training rows are read."""
        if isinstance(column.cells, Written) and column.cells.is_noted:
            column = column.as_text()
        if column.kind != "text":
            return []
        notation = self.notation or PLAIN
        texts = [text for text in used_texts(column, weight) if text not in notation.gap_words]
        notes = gap_notes(notation.gap_words, column, weight)
        if texts:
            value = float(notation.read(texts[:1])[0][0])
            hours = " hours" if notation.is_clock else ""
            unit = f", unit {notation.unit!r}" if notation.unit else ""
            notes.insert(0, ("numbers", f"({texts[0]!r:.40} is {value:g}{hours}{unit})"))
        return notes

    @property
    def value(self) -> Expression:
        """The number of which limits, ramps and curves are functions."""
        value: Expression = NUMBER if self.mean is None else if_missing(NUMBER, self.mean)
        for sentinel in self.sentinels:
            value = select(differs(NUMBER, sentinel), value, self.mean or 0.0)
        return value

    def inputs(self, name: str, limits: Any = None) -> list[Input]:
        """Return the inputs of a column with this name and range."""
        value = self.value
        if self.bounds is not None:
            low, high = self.bounds
            value = minimum(maximum(value, low), high)
            limits = None if limits is None else tuple(np.clip(limits, low, high).tolist())
        number = Input("", name, value, self.mean, limits)
        if self.limits is not None:
            low, high = self.limits
            limited = None if limits is None else tuple(np.clip(limits, low, high).tolist())
            number = number._replace(expression=minimum(maximum(value, low), high), range=limited)
        gaps = [gap_input(name, NUMBER, self.sentinels)] if self.has_gaps else []
        ends = rounded_ends(self.ramps)
        is_clock = self.notation is not None and self.notation.is_clock
        text = _time_text if is_clock else _end_text
        ramps = [_ramp_input(name, value, ramp, ends, text) for ramp in self.ramps]
        return [number, *ramps, *_curve_inputs(name, value, self.curves, limits), *gaps]

    @property
    def drawn(self) -> list[bool]:
        """Whether leaves of random trees get each input."""
        return [True, *[False] * len(self.ramps + self.curves), *[True] * self.has_gaps]

    @property
    def n_numbers(self) -> int:
        """The number itself, and the indicator of gaps."""
        return 1 + self.has_gaps

    @property
    def lines(self) -> tuple[tuple[LineSum, ...], ...]:
        """The number itself, limited, its ramps and curves; then the indicator of gaps."""
        number = IDENTITY if self.limits is None else ClampedLine(0.0, 1.0, *self.limits)
        ramps = [ClampedLine.ramp(ramp.start, ramp.end) for ramp in self.ramps]
        lines: list[LineSum] = [self._bounded(line) for line in (number, *ramps)]
        lines += [tuple(map(self._bounded, curve.lines)) for curve in self.curves]
        return (tuple(lines), *[(IDENTITY,)] * self.has_gaps)

    def _bounded(self, line: ClampedLine) -> ClampedLine:
        """Return the line of numbers within `bounds`: its values are limited likewise."""
        if self.bounds is None:
            return line
        ends = [float(line(bound)) for bound in self.bounds]
        return line._replace(low=min(ends), high=max(ends))

    @property
    def knots(self) -> list[Knots | None]:
        """For each input the numbers at which it bends, and its values there.

        None for inputs that are no such function: gaps, and numbers without limits.
        """
        number = None if self.limits is None else tuple((limit, limit) for limit in self.limits)
        ramps = [((ramp.start, 0.0), (ramp.end, 1.0)) for ramp in self.ramps]
        curves = [curve.knots for curve in self.curves]
        return [number, *ramps, *curves, *[None] * self.has_gaps]

    def with_bends_at(self, places: Collection[int]) -> tuple[Self, list[int]]:
        """Return the description without other ramps and curves, and the inputs that remain."""
        n = 1 + len(self.ramps)
        kept = [i for i in range(1, n + len(self.curves)) if i in places]
        feature = replace(
            self,
            ramps=tuple(self.ramps[i - 1] for i in kept if i < n),
            curves=tuple(self.curves[i - n] for i in kept if i >= n),
        )
        return feature, [0, *kept, *[self.n_inputs - 1] * self.has_gaps]

    def with_curves(self, curves: Sequence[Curve]) -> Self:
        """Return the description with more curves."""
        return replace(self, curves=(*self.curves, *curves))

    def write(self, cell: Column, out: Array) -> None:
        """Write the number and the indicator of gaps to `out`."""
        gaps = np.isnan(cell.values)
        out[:, 0] = cell.values
        if gaps.any():
            out[gaps, 0] = self.mean
        if self.has_gaps:
            out[:, 1] = gaps

    @property
    def n_inputs(self) -> int:
        """Number of inputs."""
        return 1 + len(self.ramps) + len(self.curves) + self.has_gaps

    @property
    def input_means(self) -> list[float | None]:
        """The mean of each input over the training rows; no value is missing in them."""
        bent = [*(ramp.mean for ramp in self.ramps), *(curve.mean for curve in self.curves)]
        return [self.mean, *bent, *[0.0] * self.has_gaps]

    @property
    def passes_numbers(self) -> bool:
        """Whether a column of numbers without gaps stays as it is before `lines`."""
        return not (self.has_gaps or self.sentinels)

    def learn_range(self, column: Column, weight: FloatArray) -> Range | None:
        """Return the smallest and largest value of the training rows; None if there are none.

        Examples
        --------
        >>> column = Column("number", np.array([3.0, np.nan, -1.0, 9.0]))
        >>> NumberFeature(1.0, True).learn_range(column, np.array([1.0, 1.0, 1.0, 0.0]))
        (-1.0, 3.0)
        """
        values = self.read(column.take(np.flatnonzero(weight > 0))).values
        values = values[~np.isnan(values)]
        return number_range(float(values.min()), float(values.max())) if values.size else None

    @classmethod
    def is_range(cls, low: Any, high: Any) -> bool:
        """Return whether two values of a file can be the range of such a column."""
        return is_finite(low) and is_finite(high) and bool(low <= high)

    def to_plain(self) -> Any:
        """Return the description as JSON has it: the mean alone if there were no gaps."""
        plain = super().to_plain()
        is_straight = not (
            self.limits or self.ramps or self.curves or self.sentinels or self.bounds
        )
        if self.notation is None and is_straight and not (self.has_gaps or self.ignores_gaps):
            return self.mean
        return plain

    @classmethod
    def from_plain(cls, data: Any) -> Self:
        """Read what `to_plain` returned."""
        if isinstance(data, dict):
            return super().from_plain(data)
        return cls(None if data is None else checked_number(data, "mean"))

    @classmethod
    def checked(cls, entries: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of the class for the entries of a file."""
        checks: dict[str, Callable[[Any, str], Any]] = {
            "mean": checked_number,
            "notation": lambda value, _: Notation.from_plain(value),
            "limits": _checked_limits,
            "bounds": _checked_limits,
            "ramps": _checked_ramps,
            "curves": _checked_curves,
            "sentinels": lambda value, key: _checked_numbers(value, key, None),
        }
        flags = dict.fromkeys(entries, checked_bool)
        checked: dict[str, Callable[[Any, str], Any]] = {**flags, **checks}
        return {key: checked[key](value, key) for key, value in entries.items()}


def _checked_limits(value: Any, key: str) -> tuple[float, float]:
    """Return the limits of a file."""
    numbers = _checked_numbers(value, key, 2)
    if not numbers[0] < numbers[1]:
        raise ValueError(f'"{key}" is {value!r:.50}: the first number must be below the second')
    return numbers[0], numbers[1]


def _checked_ramps(value: Any, key: str) -> tuple[Ramp, ...]:
    """Return the ramps of a file."""
    if not isinstance(value, list):
        raise ValueError(f'"{key}" is {value!r:.50}, which is not a list')
    ramps = tuple(Ramp(*_checked_numbers(entry, key, 3)) for entry in value)
    for ramp in ramps:
        if not ramp.is_valid:
            raise ValueError(f'"{key}" has {list(ramp)!r:.50}, which is not a rise')
    return ramps


def _checked_curves(value: Any, key: str) -> tuple[Curve, ...]:
    """Return the curves of a file."""
    if not isinstance(value, list):
        raise ValueError(f'"{key}" is {value!r:.50}, which is not a list')
    curves = []
    for entry in value:
        if not isinstance(entry, list) or len(entry) != 2 or not isinstance(entry[0], list):
            raise ValueError(f'"{key}" has {entry!r:.50} instead of knots and a mean')
        knots = tuple(_checked_pair(knot, key) for knot in entry[0])
        curve = Curve(knots, None if entry[1] is None else checked_number(entry[1], key))
        if not curve.is_valid:
            raise ValueError(f'"{key}" has {entry[0]!r:.50}, whose numbers must rise from 0 on')
        curves.append(curve)
    return tuple(curves)


def _checked_pair(value: Any, key: str) -> tuple[float, float]:
    x, y = _checked_numbers(value, key, 2)
    return x, y


def _checked_numbers(value: Any, key: str, n: int | None) -> tuple[float, ...]:
    if not isinstance(value, list) or n not in (None, len(value)):
        raise ValueError(f'"{key}" has {value!r:.50} instead of {n or ""} numbers')
    return tuple(checked_number(number, key) for number in value)


def _ramp_input(
    name: str,
    value: Expression,
    ramp: Ramp,
    ends: dict[float, float],
    text: Callable[[float], str],
) -> Input:
    """Return the input of a ramp of a column; `text` writes its ends."""
    start, end = ramp.start, ramp.end
    entry = f"{text(ends[start])} to {text(ends[end])}"
    rise = (value - start) * (1.0 / (end - start))
    limited = minimum(maximum(rise, 0.0), 1.0)
    return Input(entry, f"{name} from {entry}", limited, ramp.mean, (0.0, 1.0), is_drawn=False)


def _end_text(end: float) -> str:
    """Return a number with 15 digits, or with more where a ramp of large numbers is narrow."""
    text = f"{end:.15g}"
    return text if float(text) == end else repr(float(end))


def _time_text(hours: float) -> str:
    """Return hours as a time of the day, as people write it, if it has whole seconds.

    Examples
    --------
    >>> _time_text(9.8), _time_text(12.63), _time_text(0.12345)
    ('9:48', '12:37:48', '0.12345')
    """
    seconds = round(3600 * hours)
    if seconds < 0 or abs(seconds - 3600 * hours) > 1e-6:
        return _end_text(hours)
    minutes, seconds = divmod(seconds, 60)
    return f"{minutes // 60}:{minutes % 60:02}" + f":{seconds:02}" * bool(seconds)


def _curve_inputs(
    name: str, value: Expression, curves: tuple[Curve, ...], limits: Any
) -> Iterator[Input]:
    """Yield the inputs of the curves of a column with this range."""
    texts = [curve.text() for curve in curves]
    if len(set(texts)) < len(texts):
        texts = [curve.text(8) for curve in curves]
    for curve, text in zip(curves, texts, strict=True):
        x = np.array([place for place, _ in curve.knots])
        y = curve(x if limits is None else np.append(x.clip(*limits), limits))
        title = f"{name}: {text}" if ", " in text else f"{name} from {text}"
        ends = (float(y.min()), float(y.max()))
        yield Input(text, title, curve.expression(value), curve.mean, ends, is_drawn=False)


def numbers_in(notation: Notation, column: Column) -> tuple[Column, Array]:
    """Return a column of texts as numbers, and whether each of its texts could be read."""
    column = column.as_text()
    numbers, is_read = notation.read(column.texts)
    return Column("number", np.append(numbers, np.nan)[column.values]), is_read


def number_range(low: float, high: float) -> Range | None:
    """Return the range, None if it is not finite."""
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None
