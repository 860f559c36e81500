"""Columns of categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from bneuralt._typing import Array, FloatArray
from bneuralt.expressions import Lookup, lookup
from bneuralt.tables.columns import Column
from bneuralt.tables.features.feature import (
    MISSING,
    ColumnError,
    Feature,
    Input,
    checked_bool,
    checked_number,
    checked_texts,
    used_texts,
)
from bneuralt.tables.numbers import read_numbers

__all__ = ["MOST_CATEGORIES", "RARE", "SMALLEST_SHARE", "CategoryFeature", "TextFeature"]

#: A category has at most this many entries, including those for rare and for missing values.
MOST_CATEGORIES = 255

#: Values in less than this share of the rows are rare, as far as that is 2 to 20 rows.
SMALLEST_SHARE = 0.002
FEWEST_ROWS, ENOUGH_ROWS = 2, 20

#: More rare values than this are not listed; then unseen values are not recognised.
MOST_RARE_VALUES = 255

#: A warning is issued from this number of rare values on, if they are more than the others or occur
#: in this share of the rows.
MANY_RARE, MUCH_RARE = 20, 0.1

#: The entry of all rare values.
RARE = "(rare)"


class TextFeature(Feature):
    """Base class of columns whose cells are texts."""

    def read(self, column: Column) -> Column:
        """Return the column as texts."""
        text = column.as_text()
        if column.kind == "number" and self.values:
            n_unseen, example = self.unseen(text)
            if n_unseen and n_unseen == np.count_nonzero(text.values >= 0) and self._has_words:
                raise ColumnError(
                    f"had categories in training, such as {self.values[0]!r:.50}, and has only "
                    f"numbers now, such as {example}"
                )
        return text

    @property
    def _has_words(self) -> bool:
        return bool(np.isnan(read_numbers(self.values or ())).all())

    def unseen(self, cell: Column) -> tuple[int, str]:
        """Return how many values did not occur in training, and one of them."""
        if self.values is None:
            return 0, ""
        seen = set(self.values)
        unseen = np.array([text not in seen for text in cell.texts], dtype=bool)
        if not unseen.any():
            return 0, ""
        counts = cell.counts()
        places = np.flatnonzero(unseen & (counts > 0))
        return int(counts[places].sum()), cell.texts[places[0]] if places.size else ""


@dataclass(frozen=True)
class CategoryFeature(TextFeature):
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
    is_one_hot: ClassVar[bool] = True
    categories: tuple[str, ...]
    shares: tuple[float, ...]
    rare: tuple[str, ...] | None = ()
    has_gaps: bool = False

    @classmethod
    def learn(cls, column: Column, weight: FloatArray, target: Array | None = None) -> Self:
        """Describe a column of training rows; any column can be one of categories."""
        return cls.learn_counted(column, weight, target, weight)

    @classmethod
    def learn_counted(
        cls, column: Column, weight: FloatArray, target: Array | None, counts: FloatArray
    ) -> Self:
        """Describe a column; a value is rare by its rows, whatever their weights."""
        text = column.as_text()
        sums = np.bincount(text.values + 1, weight, minlength=len(text.texts) + 1)
        n_rows = np.bincount(text.values + 1, counts, minlength=len(text.texts) + 1)
        least = max(FEWEST_ROWS, min(SMALLEST_SHARE * float(n_rows.sum()), ENOUGH_ROWS))
        total, n_missing = float(sums.sum()), float(sums[0])
        sums, n_rows = sums[1:], n_rows[1:]
        by_count = sorted(range(len(sums)), key=lambda i: (-n_rows[i], text.texts[i]))
        present = [i for i in by_count if n_rows[i] > 0]
        frequent = [i for i in present if n_rows[i] >= least]
        if len(present) - len(frequent) or len(frequent) > MOST_CATEGORIES - (n_missing > 0):
            frequent = frequent[: MOST_CATEGORIES - 1 - (n_missing > 0)]
        rest = present[len(frequent) :]
        frequent.sort(key=lambda i: text.texts[i])
        shares = [float(sums[i]) / total for i in frequent]
        if rest:
            shares.append(float(sums[rest].sum()) / total)
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
    def n_inputs(self) -> int:
        """Number of inputs: two entries need only one, and a single one is constant."""
        n_entries = len(self.shares)
        return n_entries if n_entries > 2 else max(0, n_entries - 1)

    @property
    def drawn(self) -> list[bool]:
        """Whether leaves of random trees get each input: all of them."""
        return [True] * self.n_inputs

    @property
    def entries(self) -> list[str]:
        """The categories, then `RARE` and `MISSING` if there are such values."""
        return [*self.categories, *[RARE] * self.has_other, *[MISSING] * self.has_gaps]

    @property
    def values(self) -> tuple[str, ...] | None:
        """All texts that occurred in training; None if they are too many to be listed."""
        return None if self.rare is None else self.categories + self.rare

    def inputs(self, name: str, limits: Any = None) -> list[Input]:
        """Return the inputs of a column with this name."""
        words = {RARE: f"{name} is rare", MISSING: f"{name} is missing"}
        n_entries, entries = len(self.shares), self.entries
        return [
            Input(
                entries[i],
                f"{name}={entries[i]}" if i < len(self.categories) else words[entries[i]],
                lookup(self._table(i)),
                self.shares[i],
                (0.0, 1.0),
            )
            for i in range(n_entries - self.n_inputs, n_entries)
        ]

    def _table(self, entry: int) -> Lookup:
        """Return the input that says whether a value belongs to an entry.

        Values that training could not prepare for become the share of the entry.
        """
        share, n = self.shares[entry], len(self.categories)
        missing = float(entry == len(self.shares) - 1) if self.has_gaps else share
        if self.has_other and entry != n:  # other values have another entry: 0 here
            return Lookup(self.categories[entry : entry + 1], (1.0,) * (entry < n), 0.0, missing)
        numbers = (0.0,) * entry + (1.0,) + (0.0,) * (n - 1 - entry)
        return Lookup(self.categories, numbers[:n], 1.0 if self.has_other else share, missing)

    def write(self, cell: Column, out: Array) -> None:
        """Write the inputs to `out`: the values of the expressions, all at once."""
        entry = {category: i for i, category in enumerate(self.categories)}
        n_entries = len(self.shares)
        unknown = len(self.categories) if self.has_other else n_entries
        position = [entry.get(text, unknown) for text in cell.texts]
        position.append(n_entries - 1 if self.has_gaps else n_entries)  # for the code -1
        rows = np.zeros((n_entries + 1, n_entries))
        np.fill_diagonal(rows, 1.0)
        rows[n_entries] = self.shares
        table = rows[:, n_entries - self.n_inputs :].astype(out.dtype)
        out[:] = table[np.array(position, dtype=np.intp)[cell.values]]

    def notes(self, column: Column, weight: FloatArray) -> list[tuple[str, str]]:
        """Return whether values identify rows, or else how many rare ones share an entry."""
        if not self.has_other:
            return []
        text = column.as_text()
        n_values = int(np.count_nonzero(text.counts(weight) > 0))
        n_rare, share = n_values - len(self.categories), self.shares[len(self.categories)]
        if not self.categories:
            # A flag, such as "t" or missing, identifies nothing.
            identifies = n_rare > 1 and share >= 0.5
            return [("all rare", f"(such as {used_texts(text, weight)[0]!r:.40})")] * identifies
        if n_rare < MANY_RARE or (n_rare <= len(self.categories) and share < MUCH_RARE):
            return []
        return [("pooled", f"({n_rare:,} of {n_values:,} values, in {share:.0%} of the rows)")]

    @classmethod
    def checked(cls, entries: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of the class for the entries of a file."""
        categories = checked_texts(entries["categories"], "categories")
        rare = None if entries["rare"] is None else checked_texts(entries["rare"], "rare")
        texts = categories + (rare or ())
        if len(set(texts)) < len(texts):
            raise ValueError("a category occurs twice")
        has_gaps, shares = checked_bool(entries["has_gaps"], "has_gaps"), entries["shares"]
        n_entries = len(categories) + (rare is None or len(rare) > 0) + has_gaps
        if not isinstance(shares, list) or len(shares) != n_entries or n_entries > MOST_CATEGORIES:
            raise ValueError(f'"shares" is {shares!r:.50}, but {n_entries} numbers are needed')
        return {
            "categories": categories,
            "shares": tuple(checked_number(share, "shares") for share in shares),
            "rare": rare,
            "has_gaps": has_gaps,
        }
