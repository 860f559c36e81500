"""Columns of dates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from bneuralt._typing import Array, FloatArray
from bneuralt.expressions import Expression, date_part, differs, if_missing, select
from bneuralt.expressions.operations import DATE_PARTS
from bneuralt.tables.columns import Column, parse_dates
from bneuralt.tables.features.feature import (
    ColumnError,
    Feature,
    Input,
    Range,
    checked_bool,
    checked_number,
    checked_texts,
    gap_input,
    gap_notes,
    learn_gaps,
    unread_words,
    used_texts,
)
from bneuralt.tables.moments import rounded_mean
from bneuralt.tables.number_texts import gap_words
from bneuralt.tables.sentinels import find_sentinels

__all__ = ["DateFeature"]

#: Ranges of the parts of a date that do not depend on the column.
PART_RANGES = {"month": (1.0, 12.0), "day": (1.0, 31.0), "weekday": (0.0, 6.0), "hour": (0.0, 23.0)}
#: How inputs are called that are not "PART of COLUMN".
PART_NAMES = {"elapsed": "{} in days"}
_GAP = np.datetime64("NaT", "s")  # with a unit, without which NumPy 2.5 warns


@dataclass(frozen=True)
class DateFeature(Feature):
    """A column of dates: parts of the calendar and the time elapsed, as far as they vary.

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
    gap_words : tuple of str
        Texts of training that stand for missing values.
    sentinels : tuple of float
        Years whose dates stand for missing values, such as 9999.
    """

    kind: ClassVar[str] = "date"
    parts: tuple[str, ...]
    means: tuple[float, ...]
    has_gaps: bool = False
    day_first: bool = False
    ignores_gaps: bool = False
    gap_words: tuple[str, ...] = ()
    sentinels: tuple[float, ...] = ()

    @classmethod
    def learn(cls, column: Column, weight: FloatArray, target: Array | None = None) -> Self | None:
        """Describe a column of training rows; None if its values are not all dates."""
        day_first = False
        words: tuple[str, ...] = ()
        if column.is_category or column.kind == "number":
            return None
        if column.kind == "text":
            counts = column.counts(weight)
            texts = used_texts(column, weight)
            words = gap_words(texts, counts[counts > 0]) or ()
            parsed = parse_dates(text for text in texts if text not in words)
            if parsed is None:
                return None
            # Rows that are held out may show whether the day is first.
            everywhere = parse_dates(text for text in column.texts if text not in words)
            day_first = (everywhere or parsed)[1]
            column = _dates(column, day_first)[0]
        present = ~column.is_missing & (weight > 0)
        values = {name: part(column.values[present]) for name, part in DATE_PARTS.items()}
        parts = tuple(name for name, v in values.items() if v.size and v.min() < v.max())
        means = tuple(rounded_mean(values[name].astype(float), weight[present]) for name in parts)
        has_gaps, ignores_gaps = learn_gaps(column.is_missing, weight, target)
        return cls(parts, means, has_gaps, day_first, ignores_gaps, words)

    def without_sentinels(
        self,
        column: Column,
        weight: FloatArray,
        target: Array | None,
        counts: FloatArray,
        known: tuple[float, ...] | None = None,
    ) -> tuple[Self, str]:
        """Treat dates that repeat far outside of all others as missing; return which they are."""
        dates = self.read(column).values
        used = ~np.isnat(dates) & (weight > 0)
        days = DATE_PARTS["elapsed"](dates).astype(np.float64)
        years = DATE_PARTS["year"](dates).astype(np.float64)
        if known is None:
            found = find_sentinels(days[used], counts[used], may_be_frequent=True)
            is_sentinel = used & np.isin(days, found)
        else:
            is_sentinel = used & np.isin(years, known)
        sentinels = np.unique(years[is_sentinel])
        if not sentinels.size or np.isin(years[used & ~is_sentinel], sentinels).any():
            return self, ""
        others = Column("date", np.where(np.isin(years, sentinels), _GAP, dates))
        feature = self.learn(others, weight, target)
        assert feature is not None
        feature = replace(
            feature,
            day_first=self.day_first,
            gap_words=self.gap_words,
            sentinels=tuple(sentinels.tolist()),
        )
        shown = ", ".join(np.unique(dates[is_sentinel].astype("datetime64[D]")).astype(str))
        return feature, f"{shown} in {np.count_nonzero(is_sentinel):,} rows"

    def read(self, column: Column) -> Column:
        """Return the column as dates."""
        return self.parse(column)[0]

    def parse(self, column: Column) -> tuple[Column, int, str]:
        """Return the column as dates, the number of new words, and one of them."""
        if column.kind == "date":
            return self._hidden(column), 0, ""
        if column.kind == "number":
            if not column.is_missing.all():
                raise ColumnError("had dates in training and has numbers now")
            return Column("date", np.full(len(column), "NaT", dtype="datetime64[s]")), 0, ""
        dates, is_read = _dates(column, self.day_first)
        is_gap = np.array([text in self.gap_words for text in column.texts], dtype=bool)
        return self._hidden(dates), *unread_words(column, is_read | is_gap, "dates")

    def _hidden(self, column: Column) -> Column:
        """Return a column of dates with gaps in place of sentinels."""
        if not self.sentinels:
            return column
        years = DATE_PARTS["year"](column.values).astype(np.float64)
        dates = np.where(np.isin(years, self.sentinels), _GAP, column.values)
        return Column("date", dates)

    def notes(self, column: Column, weight: FloatArray) -> list[tuple[str, str]]:
        """Return which texts of the training rows stand for missing values."""
        return gap_notes(self.gap_words, column, weight)

    def inputs(self, name: str, limits: Any = None) -> list[Input]:
        """Return the inputs of a column with this name and range."""
        ranges = dict(PART_RANGES)
        if limits is not None:
            parsed = parse_dates(limits)  # of a file, months and days may have one digit
            assert parsed is not None
            ends = parsed[0]
            for part in ("year", "elapsed"):
                low, high = DATE_PARTS[part](ends).tolist()
                ranges[part] = float(low), float(high)
        parts = [
            Input(
                part,
                PART_NAMES.get(part, f"{part} of {{}}").format(name),
                self._shown(part, mean),
                mean,
                None if limits is None else ranges[part],
            )
            for part, mean in zip(self.parts, self.means, strict=True)
        ]
        gaps = [gap_input(name, date_part("year"), self.sentinels)] if self.has_gaps else []
        return parts + gaps

    def _shown(self, part: str, mean: float) -> Expression:
        """Return a part of dates, and its mean in place of missing dates and sentinels."""
        value = if_missing(date_part(part), mean)
        for year in self.sentinels:
            value = select(differs(date_part("year"), year), value, mean)
        return value

    def learn_range(self, column: Column, weight: FloatArray) -> Range | None:
        """Return the first and the last date of the training rows; None if there are none."""
        dates = self.read(column.take(np.flatnonzero(weight > 0))).values
        dates = dates[~np.isnat(dates)]
        return (str(dates.min()), str(dates.max())) if dates.size else None

    @classmethod
    def is_range(cls, low: Any, high: Any) -> bool:
        """Return whether two values of a file can be the range of such a column."""
        return type(low) is str and type(high) is str and parse_dates([low, high]) is not None

    @classmethod
    def checked(cls, entries: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of the class for the entries of a file."""
        parts, means = checked_texts(entries["parts"], "parts"), entries["means"]
        if not set(parts) <= DATE_PARTS.keys() or len(set(parts)) < len(parts):
            raise ValueError(f'"parts" is {entries["parts"]!r:.50}')
        if not isinstance(means, list) or len(means) != len(parts):
            raise ValueError('"means" must be a number for each part')
        others = ("parts", "means", "gap_words", "sentinels")
        flags = {key: v for key, v in entries.items() if key not in others}
        sentinels = entries.get("sentinels", [])
        if not isinstance(sentinels, list):
            raise ValueError(f'"sentinels" is {sentinels!r:.50}')
        return {
            "parts": parts,
            "means": tuple(checked_number(mean, "means") for mean in means),
            "gap_words": checked_texts(entries.get("gap_words", []), "gap_words"),
            "sentinels": tuple(checked_number(year, "sentinels") for year in sentinels),
            **{key: checked_bool(value, key) for key, value in flags.items()},
        }


def _dates(column: Column, day_first: bool) -> tuple[Column, Array]:
    """Return a column of text as dates, with NaT for other texts, and whether each text is one."""
    texts = list(column.texts)
    parsed = parse_dates(texts, day_first)
    if parsed is None:  # which is rare: each text alone
        each = [parse_dates([text], day_first) for text in texts]
        dates = [_GAP if one is None else one[0][0] for one in each]
        parsed = np.array(dates, dtype="datetime64[s]"), day_first
    dates_and_gap = np.append(parsed[0], _GAP)
    return Column("date", dates_and_gap[column.values]), ~np.isnat(parsed[0])
