"""Declaration of parameters: their allowed values and their documentation."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from textwrap import fill, indent
from typing import Any, NamedTuple

from bneuralt._sklearn import Interval

__all__ = ["Parameter", "described", "real_interval", "whole"]


class Parameter(NamedTuple):
    """Allowed values of a parameter, as constraints of scikit-learn, its type and its meaning."""

    allowed: list[Any]
    kind: str
    meaning: str


def whole(least: int) -> Interval:
    """Return the constraint of whole numbers, `least` or more."""
    return Interval(Integral, least, None, closed="left")


def real_interval(low: float, high: float | None, closed: str) -> Interval:
    """Return the constraint of numbers from `low` to `high`."""
    return Interval(Real, low, high, closed=closed)


def described(entries: Iterable[tuple[str, Any, Parameter]]) -> str:
    """Return the "Parameters" section of a docstring from (name, default, parameter) triples."""
    texts = "\n".join(
        f"{name} : {parameter.kind}, default={default!r}\n"
        + indent(fill(parameter.meaning, 90), "    ")
        for name, default, parameter in entries
    )
    return indent(f"Parameters\n----------\n{texts}", "    ").lstrip()
