"""Declaration of parameters: their allowed values and their documentation."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from textwrap import fill, indent
from typing import Any, NamedTuple

from bneuralt._sklearn import Interval

__all__ = [
    "GROUPS",
    "GROUP_OF",
    "Parameter",
    "at_least",
    "described",
    "real_interval",
    "with_attributes",
]

#: Groups of parameters of estimators, in the order of the documentation.
GROUPS = {
    "Size": ("n_estimators", "n_weights", "max_weights", "growth"),
    "Target": ("loss", "quantiles", "conformal", "class_weight"),
    "Constraints": ("monotonic_cst", "interaction_cst"),
    "Columns": ("categorical_features", "identifiers", "scale", "ramps", "sentinels"),
    "Training": (
        "weight_decay",
        "learning_rate",
        "max_epochs",
        "batch_size",
        "output_factor",
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


#: Attributes that several estimators have, by what they are about.
ATTRIBUTES = {
    "columns": """
n_features_in_ : int
    Number of features: columns of X.
encoder_ : TableEncoder
    How columns become inputs of trees; `encoder_.input_names` lists them.
feature_names_in_ : array of shape (n_features,)
    Names of the features, if X had names that are all strings.
target_names_ : tuple of str
    Name of the target, a Series or a column of a data frame; empty if it had none.
""",
    "classes": """
classes_ : array of shape (n_classes,)
    The labels; 0, 1, ... if y had several columns.
multilabel_ : bool
    Whether y had several columns, each a label of its own.
""",
    "training": """
recipe_ : Recipe
    All settings of the fit with their automatic values, under the names of the parameters.
moved_leaves_ : dict of arrays, or None
    For each feature: `tried`, how often a leaf was moved to it, and `stayed`, how many leaves
    still have the feature that they were moved to. None if leaves do not move.
best_epoch_ : int or None
    The epoch, counted from 0, whose weights were selected on validation rows.
""",
    "trees": """
n_parameters_ : int
    Number of trainable weights of all trees together.
n_iter_ : int
    Number of epochs of the tree that was trained longest.
recipe_ : Recipe
    All settings of the fit with their automatic values, under the names of the parameters.
history_ : dict of arrays
    For each epoch of each tree: `tree`, `epoch` (both counted from 0), and the entries of
    `history_` of the tree. `pandas.DataFrame(model.history_)` is a table of it.
""",
    "front": """
pareto_front_ : list of FrontModel
    The best tree of each number of weights, by size; no other tree is both smaller and better.
    `pareto_front_[0].model` is a fitted estimator.
""",
}


class Parameter(NamedTuple):
    """Allowed values of a parameter, as constraints of scikit-learn, its type and its meaning."""

    allowed: list[Any]
    kind: str
    meaning: str


def at_least(least: int) -> Interval:
    """Return the constraint of whole numbers, `least` or more."""
    return Interval(Integral, least, None, closed="left")


def real_interval(low: float, high: float | None, closed: str) -> Interval:
    """Return the constraint of numbers from `low` to `high`."""
    return Interval(Real, low, high, closed=closed)


def with_attributes(docstring: str) -> str:
    """Return the docstring of a class with the `ATTRIBUTES` that it names in braces."""
    for name, text in ATTRIBUTES.items():
        docstring = docstring.replace(f"{{{name}}}", indent(text.strip(), "    ").lstrip())
    return docstring


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
