"""Spellings of categories and of missing values in other programs.

The encoder reads 3, 3.0, "3" and " 3.0 " as the same category, and several texts as a missing
value. Generated code compares texts, so it contains a list of all spellings.
"""

from __future__ import annotations

import re
from collections.abc import Container
from decimal import Decimal

from bneuralt.tables.columns import MISSING_TEXTS

__all__ = ["missing_spellings", "spellings"]

_TRUTH = {"0": ["false", "False"], "1": ["true", "True"]}


def spellings(label: str, others: Container[str] = ()) -> list[str]:
    """Return the texts that stand for a category.

    Parameters
    ----------
    label : str
    others : container of str
        Texts of other categories, which are excluded.

    Examples
    --------
    >>> spellings("3"), spellings("1"), spellings("red")
    (['3', '3.0'], ['1', '1.0', 'true', 'True'], ['red'])
    >>> spellings("1e-05")
    ['1e-05', '0.00001', '1e-5', '1.0e-05']
    """
    texts = [label]
    if re.fullmatch(r"[+-]?\d+", label):
        texts.append(f"{label}.0")
    if match := re.fullmatch(r"([+-]?\d)(\.\d+)?e([+-])0?(\d+)", label):
        whole, rest, sign, power = match.groups()
        texts.append(f"{Decimal(label):f}")  # JavaScript from 1e-6 on, and for smaller numbers:
        texts.append(f"{whole}{rest or ''}e{sign}{power}")
        texts.append(f"{whole}{rest or '.0'}e{sign}{power:0>2}")  # SQLite
    if label in _TRUTH:  # the encoder reads truth values as numbers, databases write them as words
        texts += _TRUTH[label]
    return [text for text in dict.fromkeys(texts) if text == label or text not in others]


def missing_spellings() -> list[str]:
    """Return the texts that stand for a missing value, in lower case."""
    return sorted(MISSING_TEXTS)
