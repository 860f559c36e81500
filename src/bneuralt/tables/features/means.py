"""Columns of categories with many values: each value is replaced by the mean of the target in its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from bneuralt._typing import Array, FloatArray
from bneuralt.expressions import Lookup, lookup
from bneuralt.tables.columns import Column
from bneuralt.tables.features.category import CategoryFeature, TextFeature
from bneuralt.tables.features.feature import Input, checked_bool, checked_number, checked_texts

__all__ = ["MAX_MEANS", "MIN_ROWS_OF_VALUE", "MeansFeature"]

#: A value has a mean of its own if it is in this many rows, so that a model file shows no single row.
MIN_ROWS_OF_VALUE = 2
#: At most this many values have means: the most frequent ones.
MAX_VALUES = 100_000
#: At most this many means of each value: of classes, labels or outputs, or of principal components of them.
MAX_MEANS = 8
#: Means are used by default in tables of this many rows, for columns whose rare values would share one
#: input in this fraction of the rows.
MIN_ROWS, MIN_RARE_FRACTION = 2_000, 0.05
#: Values with means of their own are in this fraction of the rows; else the column nearly identifies rows.
MIN_COVERED_FRACTION = 0.5
#: Means are rounded to this fraction of their range, which shortens model files.
ROUNDING = 1e-5


@dataclass(frozen=True)
class MeansFeature(TextFeature):
    """A column of categories whose inputs are smoothed means of the target in the rows of a value.

    Attributes
    ----------
    categories : tuple of str
        The values with means of their own, sorted.
    means : tuple of tuple of float
        For each input, the number of each category.
    unknown, missing : tuple of float
        For each input, the number of other values, which is the mean of all rows, and of missing ones.
    has_rare : bool
        Whether other values occurred in training.
    has_gaps : bool
        Whether values were missing in training.
    """

    kind: ClassVar[str] = "category"
    categories: tuple[str, ...]
    means: tuple[tuple[float, ...], ...]
    unknown: tuple[float, ...]
    missing: tuple[float, ...]
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
        categories = tuple(sorted(text.texts[i] for i in frequent.tolist()))
        has_rare = int(np.count_nonzero(is_present)) > frequent.size
        return cls(categories, (), (), (), has_rare, bool(n_rows[0] > 0)).with_codes(1)

    @classmethod
    def by_rule(cls, values: CategoryFeature, column: Column, counts: FloatArray) -> Self | None:
        """Describe a column if means of the target are better than an input for each frequent value."""
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
        return len(self.unknown)

    @property
    def drawn(self) -> list[bool]:
        """Whether leaves of random trees get each input: all of them."""
        return [True] * self.n_inputs

    @property
    def input_means(self) -> list[float | None]:
        """The mean of each input over the training rows."""
        return list(self.unknown)

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
            unknown, missing = self.unknown[i], self.missing[i]
            entry = "(mean)" if i == 0 else f"(mean {i + 1})"
            label = "mean target" if i == 0 else f"mean target {i + 1}"
            table = lookup(Lookup(self.categories, numbers, unknown, missing))
            ends = min((*numbers, unknown, missing)), max((*numbers, unknown, missing))
            inputs.append(Input(entry, f"{label} by {name}", table, unknown, ends))
        return inputs

    def write(self, cell: Column, out: Array) -> None:
        """Write the inputs to `out`: the values of the expressions, all at once."""
        n = len(self.categories)
        position = [self.places.get(text, n) for text in cell.texts]
        position.append(n + 1)  # for the code -1
        table = np.array(
            [(*numbers, u, m) for numbers, u, m in zip(self.means, self.unknown, self.missing, strict=True)],
            dtype=out.dtype,
        )
        out[:] = table[:, np.array(position, dtype=np.intp)[cell.values]].T

    def with_codes(self, n_inputs: int) -> Self:
        """Return the description whose inputs are all the position of the value.

        Other values have the position -1, and missing ones the position behind the last.
        """
        n = len(self.categories)
        codes = tuple(map(float, range(n)))
        return replace(
            self,
            means=(codes,) * n_inputs,
            unknown=(-1.0,) * n_inputs,
            missing=(float(n),) * n_inputs,
        )

    def with_means(self, means: FloatArray, unknown: FloatArray) -> Self:
        """Return the description with these means, rounded.

        Parameters
        ----------
        means : array of shape (n_categories + 1, n_inputs)
            Those of missing values last.
        unknown : array of shape (n_inputs,)
        """
        numbers = np.vstack([means, unknown])
        span = np.ptp(numbers, axis=0)
        digits = np.ceil(-np.log10(ROUNDING * np.where(span > 0, span, np.maximum(1.0, abs(unknown)))))
        rounded = [
            np.round(column, int(n)).tolist() for column, n in zip(numbers.T, digits.clip(-300, 300), strict=True)
        ]
        return replace(
            self,
            means=tuple(tuple(column[:-2]) for column in rounded),
            missing=tuple(column[-2] if self.has_gaps else column[-1] for column in rounded),
            unknown=tuple(column[-1] for column in rounded),
        )

    @classmethod
    def checked(cls, entries: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of the class for the entries of a file."""
        categories = checked_texts(entries["categories"], "categories")
        if len(set(categories)) < len(categories):
            raise ValueError("a category occurs twice")
        unknown = _numbers(entries["unknown"], "unknown", None)
        if not unknown:
            raise ValueError('"unknown" has no numbers')
        means = entries["means"]
        if not isinstance(means, list) or len(means) != len(unknown):
            raise ValueError(f'"means" must have {len(unknown)} lists')
        return {
            "categories": categories,
            "means": tuple(_numbers(numbers, "means", len(categories)) for numbers in means),
            "unknown": unknown,
            "missing": _numbers(entries["missing"], "missing", len(unknown)),
            "has_rare": checked_bool(entries["has_rare"], "has_rare"),
            "has_gaps": checked_bool(entries["has_gaps"], "has_gaps"),
        }


def _numbers(listed: Any, key: str, n: int | None) -> tuple[float, ...]:
    if not isinstance(listed, Sequence) or isinstance(listed, str) or n not in (None, len(listed)):
        raise ValueError(f'"{key}" is {listed!r:.50}, but {"" if n is None else f"{n} "}numbers are needed')
    return tuple(checked_number(number, key) for number in listed)
