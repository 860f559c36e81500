"""Columns of categories with many values, which become means of the target by value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from bneuralt._typing import Array, FloatArray
from bneuralt.expressions import Lookup, lookup
from bneuralt.tables.columns import Column
from bneuralt.tables.features.category import (
    MOST_CATEGORIES,
    SMALLEST_SHARE,
    CategoryFeature,
    TextFeature,
)
from bneuralt.tables.features.feature import Input, checked_bool, checked_number, checked_texts

__all__ = ["MAX_MEANS", "MIN_ROWS_OF_VALUE", "MeansFeature"]

#: A value has a mean of its own from this many rows on, so that a model file shows no single row.
MIN_ROWS_OF_VALUE = 2
#: At most this many values have means: the most frequent ones.
MAX_VALUES = 100_000
#: At most this many means of each value: of classes, labels or outputs, or principal ones of them.
MAX_MEANS = 8
#: Means are used by default in tables of this many rows, for columns whose rare values would share
#: one input in this fraction of the rows.
MIN_ROWS, MIN_RARE_FRACTION = 2_000, 0.05
#: Values in this many rows and this fraction of them also have an input of their own, so that other
#: columns can have another effect for them; the most frequent ones, if they are more than this.
MIN_ROWS_OF_INPUT, MIN_FRACTION_OF_INPUT, MAX_INPUTS = 10, SMALLEST_SHARE, MOST_CATEGORIES - 1
#: If values with means of their own are in a smaller fraction of the rows, the column nearly
#: identifies rows.
MIN_COVERED_FRACTION = 0.5
#: Means are rounded to this fraction of their range, which shortens model files.
ROUNDING = 1e-5


@dataclass(frozen=True)
class MeansFeature(TextFeature):
    """A column of categories whose inputs are smoothed means of the target in the rows of a value.

    They are differences to the mean of all rows: 0 stands for values without means of their own.

    Attributes
    ----------
    categories : tuple of str
        The values with means of their own, sorted.
    means : tuple of tuple of float
        For each input, the number of each category.
    missing : tuple of float
        For each input, the number of missing values.
    frequent : tuple of str
        Categories that also have an input of their own, sorted.
    shares : tuple of float
        How frequent each of these is in training.
    has_rare : bool
        Whether other values occurred in training.
    has_gaps : bool
        Whether values were missing in training.
    """

    kind: ClassVar[str] = "category"
    categories: tuple[str, ...]
    means: tuple[tuple[float, ...], ...]
    missing: tuple[float, ...]
    frequent: tuple[str, ...] = ()
    shares: tuple[float, ...] = ()
    has_rare: bool = False
    has_gaps: bool = False

    @classmethod
    def of_values(
        cls, column: Column, counts: FloatArray, least: int = MIN_ROWS_OF_VALUE
    ) -> Self | None:
        """Describe a column with codes in place of means; None if no value is frequent enough.

        Parameters
        ----------
        column : Column
        counts : array of shape (n_rows,)
            Number of rows that each row stands for.
        least : int
            Number of rows from which on a value has means of its own.
        """
        text = column.as_text()
        n_rows = np.bincount(text.values + 1, counts, minlength=len(text.texts) + 1)
        frequent = np.flatnonzero(n_rows[1:] >= least)
        if frequent.size > MAX_VALUES:
            frequent = frequent[np.argsort(-n_rows[1:][frequent], kind="stable")[:MAX_VALUES]]
        if frequent.size == 0:
            return None
        is_present = n_rows[1:] > 0
        has_rare = int(np.count_nonzero(is_present)) > frequent.size
        n_of = {text.texts[i]: float(n_rows[i + 1]) for i in frequent.tolist()}
        n_of_input = max(MIN_ROWS_OF_INPUT, MIN_FRACTION_OF_INPUT * float(n_rows.sum()))
        by_count = sorted(n_of, key=lambda value: (-n_of[value], value))[:MAX_INPUTS]
        own = sorted(value for value in by_count if n_of[value] >= n_of_input)
        feature = cls(
            tuple(sorted(n_of)),
            (),
            (),
            tuple(own),
            tuple(n_of[value] / float(n_rows.sum()) for value in own),
            has_rare,
            bool(n_rows[0] > 0),
        )
        return feature.with_codes(1)

    @classmethod
    def by_rule(cls, values: CategoryFeature, column: Column, counts: FloatArray) -> Self | None:
        """Describe a column if means are better than an input for each frequent value."""
        n_rows = float(counts.sum())
        if n_rows < MIN_ROWS or not values.has_other:
            return None
        if values.shares[len(values.categories)] < MIN_RARE_FRACTION:
            return None
        feature = cls.of_values(column, counts)
        if feature is None:
            return None
        text = column.as_text()
        own = np.array([text in feature.places for text in text.texts] + [False])
        covered = float(counts[own[text.values]].sum())
        return feature if covered >= MIN_COVERED_FRACTION * n_rows else None

    @cached_property
    def places(self) -> dict[str, int]:
        """The position of each category."""
        return {text: i for i, text in enumerate(self.categories)}

    @property
    def n_inputs(self) -> int:
        """Number of inputs."""
        return len(self.means) + len(self.frequent)

    @property
    def n_alternatives(self) -> int:
        """The last inputs are 1 for one value and 0 for all others."""
        return len(self.frequent)

    @property
    def drawn(self) -> list[bool]:
        """Whether leaves of random trees get each input: all of them."""
        return [True] * self.n_inputs

    @property
    def input_means(self) -> list[float | None]:
        """The mean of each input over the training rows."""
        return [*[0.0] * len(self.means), *self.shares]

    @property
    def has_other(self) -> bool:
        """Whether values without means of their own occurred in training."""
        return self.has_rare

    @property
    def values(self) -> tuple[str, ...] | None:
        """All texts that occurred in training; None if some are not listed."""
        return None if self.has_rare else self.categories

    def inputs(self, name: str, limits: Any = None) -> list[Input]:
        """Return the inputs of a column with this name."""
        inputs = []
        for i, numbers in enumerate(self.means):
            missing = self.missing[i]
            entry = "(mean)" if i == 0 else f"(mean {i + 1})"
            label = "mean target" if i == 0 else f"mean target {i + 1}"
            table = lookup(Lookup(self.categories, numbers, 0.0, missing))
            ends = min((*numbers, 0.0, missing)), max((*numbers, 0.0, missing))
            inputs.append(Input(entry, f"{label} by {name}", table, 0.0, ends))
        for value, share in zip(self.frequent, self.shares, strict=True):
            table = lookup(Lookup((value,), (1.0,), 0.0, 0.0))
            inputs.append(Input(value, f"{name}={value}", table, share, (0.0, 1.0)))
        return inputs

    def write(self, cell: Column, out: Array) -> None:
        """Write the inputs to `out`: the values of the expressions, all at once."""
        n = len(self.categories)
        position = [self.places.get(text, n) for text in cell.texts]
        position.append(n + 1)  # for the code -1
        out[:] = self._table[np.array(position, dtype=np.intp)[cell.values]]

    @cached_property
    def _table(self) -> FloatArray:
        """The inputs of each category, of other values and of missing ones."""
        n_means = len(self.means)
        table = np.zeros((len(self.categories) + 2, self.n_inputs))
        for i, numbers in enumerate(self.means):
            table[:, i] = (*numbers, 0.0, self.missing[i])
        for i, value in enumerate(self.frequent):
            table[self.places[value], n_means + i] = 1.0
        return table

    def with_codes(self, n_means: int) -> Self:
        """Return the description that has the number of each value in place of its means.

        Categories are counted from 1 on, missing values follow, and 0 stands for other values.
        """
        n = len(self.categories)
        codes = tuple(map(float, range(1, n + 1)))
        return replace(self, means=(codes,) * n_means, missing=(n + 1.0,) * n_means)

    def with_means(self, means: FloatArray) -> Self:
        """Return the description with these means, rounded.

        Parameters
        ----------
        means : array of shape (n_categories + 2, n_means)
            In the order of the codes; see `with_codes`.
        """
        span = np.ptp(means, axis=0)
        digits = np.ceil(-np.log10(ROUNDING * np.where(span > 0, span, 1.0))).clip(-300, 300)
        rounded = [
            np.round(column, int(n)).tolist() for column, n in zip(means.T, digits, strict=True)
        ]
        return replace(
            self,
            means=tuple(tuple(column[1:-1]) for column in rounded),
            missing=tuple(column[-1] for column in rounded),
        )

    @classmethod
    def checked(cls, entries: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of the class for the entries of a file."""
        categories = checked_texts(entries["categories"], "categories")
        if len(set(categories)) < len(categories):
            raise ValueError("a category occurs twice")
        means = entries["means"]
        if not isinstance(means, list) or not means:
            raise ValueError('"means" must be a list with a list for each input')
        return {
            "categories": categories,
            "means": tuple(_numbers(numbers, "means", len(categories)) for numbers in means),
            "missing": _numbers(entries["missing"], "missing", len(means)),
            **_frequent(entries, categories),
            "has_rare": checked_bool(entries["has_rare"], "has_rare"),
            "has_gaps": checked_bool(entries["has_gaps"], "has_gaps"),
        }


def _frequent(entries: dict[str, Any], categories: tuple[str, ...]) -> dict[str, Any]:
    frequent = checked_texts(entries["frequent"], "frequent")
    if len(set(frequent)) < len(frequent) or not set(frequent) <= set(categories):
        raise ValueError('"frequent" must be different categories')
    return {"frequent": frequent, "shares": _numbers(entries["shares"], "shares", len(frequent))}


def _numbers(listed: Any, key: str, n: int) -> tuple[float, ...]:
    if not isinstance(listed, list) or len(listed) != n:
        raise ValueError(f'"{key}" is {listed!r:.50}, but {n} numbers are needed')
    return tuple(checked_number(number, key) for number in listed)
