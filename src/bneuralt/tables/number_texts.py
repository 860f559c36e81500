"""Numbers with units, separators or colons in texts, and words that stand for missing values."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from bneuralt import _core
from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.tables.numbers import to_number

__all__ = ["MOST_GAPS", "PLAIN", "WORDS", "Notation", "are_codes", "gap_words"]

#: Words that are numbers.
WORDS = {"true": 1.0, "false": 0.0}

#: Largest number of different words that are gaps, and their largest share of the rows.
MOST_GAP_WORDS = 3
MOST_GAPS = 0.2

#: Longer texts are no numbers with units.
LONGEST = 50

#: Currencies that may precede a number, beside the symbols of Unicode.
_CURRENCY = re.compile(
    "AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HKD|HUF|INR|JPY|KRW|MXN|NOK|NZD|PLN|RUB|SEK|SGD|TRY|USD|"
    "ZAR"
)
_PARTS = re.compile(
    r"(?P<sign>[+-]?)\s*(?P<prefix>[^\W\d_]{3}|[^\w\s.,:;+'%-])?\s*(?P<minus>-?)"
    r"(?P<digits>\d(?:[\d.,'\s]*\d)?\.?|\.\d+)\s*"
    r"(?P<suffix>(?:[^\W\d_]|[^\w\s.,:;+'()\[\]/#*=<>&|!?\"-])[^\s,;:]{0,11})?"
)
_CLOCK = re.compile(r"(\d{1,2}):([0-5]\d)(?::([0-5]\d)(?:\.\d+)?)?")

#: Decimal points and separators of thousands, in the order in which they are tried.
_WITH_POINT = ((".", ""), (".", ","), (",", ""), (",", "."), (".", " "), (",", " "), (".", "'"))
_WITH_COMMA = ((",", "."), (",", ""), (",", " "), *_WITH_POINT)


def gap_words(
    texts: Sequence[str], counts: IntArray | FloatArray, most: float = MOST_GAPS
) -> tuple[str, ...] | None:
    """Return the texts without a digit if they are so few that they stand for missing values.

    Parameters
    ----------
    texts : sequence of str
        The different texts of a column.
    counts : array of shape (n_texts,)
        How often each occurs.
    most : float
        Largest share of these words.

    Returns
    -------
    tuple of str or None
        The words, sorted; None if they are too many.

    Examples
    --------
    >>> gap_words(["3", "4", "unknown"], np.array([5, 4, 1]))
    ('unknown',)
    >>> gap_words(["3", "few", "many"], np.array([5, 4, 1])) is None
    True
    """
    words: list[str] = []
    share = 0.0
    for text, count in zip(texts, counts.tolist(), strict=True):
        if not any(map(str.isdigit, text)):
            words.append(text)
            share += count
            if len(words) > MOST_GAP_WORDS or _is_number(text):
                return None
    total = float(counts.sum())
    return tuple(sorted(words)) if share <= most * total else None


def _is_number(text: str) -> bool:
    """Return whether Python reads a text as a number, such as "inf"."""
    try:
        float(text)
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class Notation:
    """How the texts of a column are numbers.

    Attributes
    ----------
    decimal, thousands : str
        The decimal point, and the separator of thousands ("" for none).
    unit : str
        The unit that precedes or follows all or some of the numbers, such as "EUR" or "%".
    is_clock : bool
        Whether texts are times such as 12:30 or 12:30:15, which are read as hours.
    gap_words : tuple of str
        Texts that stand for missing values.

    Examples
    --------
    >>> notation = Notation.learn(["1,200 EUR", "90 EUR", "unknown"], np.array([4, 5, 1]))
    >>> notation.unit, notation.thousands, notation.gap_words
    ('EUR', ',', ('unknown',))
    >>> notation.read(["2,500.5 EUR", "7", "unknown", "5 kg"])[0]
    array([2500.5,    7. ,    nan,    nan])
    """

    decimal: str = "."
    thousands: str = ""
    unit: str = ""
    is_clock: bool = False
    gap_words: tuple[str, ...] = ()

    @classmethod
    def learn(
        cls,
        texts: Sequence[str],
        counts: IntArray | FloatArray,
        decimal: str = ".",
        most_gaps: float = MOST_GAPS,
    ) -> Self | None:
        """Return how texts are numbers; None if they are not, or if they are codes such as 00501.

        Parameters
        ----------
        texts : sequence of str
            The different texts of a column, none of which stands for a missing value.
        counts : array of shape (n_texts,)
            How often each occurs.
        decimal : str
            The decimal point that is tried first.
        most_gaps : float
            Largest share of words that stand for missing values.
        """
        if texts and all(text.casefold() in WORDS for text in texts):
            return cls()
        words = gap_words(texts, counts, most_gaps)
        if words is None or len(words) == len(texts):
            return None
        cells = [text for text in texts if text not in words]
        if all(map(_CLOCK.fullmatch, cells)):
            return cls(is_clock=True, gap_words=words)
        numbers: list[str] = []
        units: set[str] = set()
        for cell in cells:
            parts = _split(cell)
            if parts is None:
                return None
            numbers.append(parts[0])
            units.add(parts[1])
        # 45% and 0.45 are numbers of different units; 5 EUR and 5 are taken for the same.
        if len(units - {""}) > 1 or units == {"", "%"}:
            return None
        if are_codes(numbers):  # such as 00501, or 00s beside 90s
            return None
        for point, thousands in _WITH_POINT if decimal == "." else _WITH_COMMA:
            if all(to_number(number, point, thousands) is not None for number in numbers):
                return cls(point, thousands, max(units), False, words)
        return None

    def read(self, texts: Sequence[str]) -> tuple[FloatArray, Array]:
        """Return texts as numbers, with NaN for gaps, and whether each text could be read."""
        is_read = np.ones(len(texts), dtype=bool)
        numbers: FloatArray = np.empty(len(texts))
        odd: Array = np.arange(len(texts))
        if not self.is_clock:
            form = ord(self.decimal), self.thousands, self.unit, self._may_precede
            numbers, odd = _core.read_quantities(list(texts), *form)
        for i in odd.tolist():
            value = math.nan if texts[i] in self.gap_words else self._number(texts[i])
            numbers[i] = math.nan if value is None else value
            is_read[i] = value is not None
        return numbers, is_read

    @property
    def _may_precede(self) -> bool:
        """Whether the unit may be in front of a number."""
        unit = self.unit
        return bool(_CURRENCY.fullmatch(unit)) or unicodedata.category(unit[:1] or "x") == "Sc"

    def _number(self, text: str) -> float | None:
        if self.is_clock:
            return _hours(text)
        parts = _split(text)
        if parts is None:
            return WORDS.get(text.casefold()) if self.unit == "" else None
        if parts[1] not in ("", self.unit):
            return None
        return to_number(parts[0], self.decimal, self.thousands)

    def to_plain(self) -> dict[str, Any]:
        """Return the notation as JSON has it."""
        return {**vars(self), "gap_words": list(self.gap_words)}

    @classmethod
    def from_plain(cls, data: Any) -> Self:
        """Read what `to_plain` returned.

        Raises
        ------
        ValueError
            The description is damaged.
        """
        kinds = {"decimal": str, "thousands": str, "unit": str, "is_clock": bool, "gap_words": list}
        if not isinstance(data, dict) or data.keys() != kinds.keys():
            raise ValueError(f'the keys of "notation" must be {", ".join(kinds)}')
        if any(type(data[key]) is not kind for key, kind in kinds.items()):
            raise ValueError(f'"notation" is {data!r:.80}')
        if data["decimal"] not in (".", ",") or len(data["thousands"]) > 1:
            raise ValueError(f'"notation" has the separators {data["decimal"]!r:.20} and '
                             f'{data["thousands"]!r:.20}')  # fmt: skip
        if any(type(word) is not str for word in data["gap_words"]):
            raise ValueError('"gap_words" must be a list of texts')
        return cls(**{**data, "gap_words": tuple(data["gap_words"])})


#: Numbers as Python writes them.
PLAIN = Notation()


def _split(text: str) -> tuple[str, str] | None:
    """Return the number in a text, with its separators, and its unit; None if there is no number.

    Examples
    --------
    >>> _split("-$1,161"), _split("3.5 kg"), _split("1e3"), _split("A12")
    (('-1,161', '$'), ('3.5', 'kg'), ('1e3', ''), None)
    """
    if to_number(text) is not None:
        return text, ""
    if len(text) > LONGEST:
        return None
    match = _PARTS.fullmatch(text)
    if match is None:
        return None
    sign, prefix, minus, digits, suffix = match.groups(default="")
    if (prefix and suffix) or (sign and minus):
        return None
    if prefix and not _CURRENCY.fullmatch(prefix) and unicodedata.category(prefix[0]) != "Sc":
        return None
    digits = re.sub(r"\s", " ", digits)
    return (sign or minus).replace("+", "") + digits, prefix or suffix


def are_codes(numbers: Sequence[str]) -> bool:
    """Return whether texts are digits of which some have a leading zero, such as 00501."""
    return all(map(str.isdigit, numbers)) and any(n[0] == "0" and len(n) > 1 for n in numbers)


def _hours(text: str) -> float | None:
    match = _CLOCK.fullmatch(text)
    if match is None:
        return None
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return hours + minutes / 60 + seconds / 3600
