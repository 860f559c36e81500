"""Declaration of parameters: their allowed values and their documentation."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from textwrap import fill, indent
from typing import Any, NamedTuple

from bneuralt._sklearn import Interval

__all__ = ["GROUPS", "GROUP_OF", "Parameter", "described", "real_interval", "whole"]

#: Groups of parameters of estimators, in the order of the documentation.
GROUPS = {
    "Size": ("n_estimators", "n_weights", "max_weights", "growth"),
    "Target": ("loss", "quantiles", "conformal", "class_weight"),
    "Constraints": ("monotonic_cst", "interaction_cst"),
    "Columns": ("categorical_features", "scale", "ramps", "sentinels"),
    "Training": (
        "weight_decay",
        "learning_rate",
        "max_epochs",
        "batch_size",
        "early_stopping",
        "validation_fraction",
        "warm_start",
        "training",
    ),
    "Rows and features of each tree": ("max_samples", "bootstrap", "max_features"),
    "Search": (
        "population_size",
        "n_generations",
        "crossover_rate",
        "n_folds",
        "choose",
        "checkpoint",
    ),
    "Running": ("random_state", "n_jobs", "dtype", "verbose"),
}
GROUP_OF = {name: group for group, names in GROUPS.items() for name in names}


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
    """Return the "Parameters" section of a docstring from (name, default, parameter) triples.

    Parameters of `GROUPS` come first, in that order.
    """
    order = {name: i for i, name in enumerate(GROUP_OF)}
    entries = sorted(entries, key=lambda entry: order.get(entry[0], len(order)))
    texts = "\n".join(
        f"{name} : {parameter.kind}, default={default!r}\n"
        + indent(fill(parameter.meaning, 90), "    ")
        for name, default, parameter in entries
    )
    return indent(f"Parameters\n----------\n{texts}", "    ").lstrip()
