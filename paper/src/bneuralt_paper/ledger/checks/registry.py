"""The functions that check claims, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from bneuralt_paper.ledger.evidence import Check

__all__ = ["CHECKS", "check"]

CHECKS: dict[str, Callable[..., Check]] = {}
F = TypeVar("F", bound=Callable[..., Check])


def check(function: F) -> F:
    """Register a function under its name."""
    CHECKS[function.__name__] = function
    return function
