"""The parameters of the estimators whose structure is searched for; see `parameters`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from os import PathLike
from typing import Any

from bneuralt._sklearn import Interval, StrOptions
from bneuralt.estimators.parameters import PARAMETERS, Parameter, RandomState

__all__ = [
    "SEARCH_PARAMETERS",
    "EvolutionParameters",
    "EvolvedClassifierParameters",
    "EvolvedRegressorParameters",
    "one_of",
    "whole",
]


def whole(least: int) -> Interval:
    """Return the constraint of whole numbers that are not below a limit."""
    return Interval(Integral, least, None, closed="left")


def one_of(names: Iterable[str]) -> StrOptions:
    """Return the constraint of texts that are one of some names."""
    return StrOptions(set(names))


#: What each parameter may be, and what it means.
SEARCH_PARAMETERS: dict[str, Parameter] = {
    **PARAMETERS,
    "population_size": Parameter(
        [whole(2)], "int", "Number of trees of a generation, of which there are 2 or more."
    ),
    "n_generations": Parameter(
        [whole(0)], "int", "Generations of the search for a structure, after the first one."
    ),
    "crossover_rate": Parameter(
        PARAMETERS["moving_share"].allowed,
        "float in [0, 1]",
        "Share of the children that come from the crossover of two trees; the others are "
        "mutations.",
    ),
    "max_size": Parameter([whole(2), None], "int or None", "Most nodes that a tree can have."),
    "max_weights": Parameter(
        [whole(1), one_of({"auto"})],
        "int or 'auto'",
        "Most weights that a tree can have. 'auto': 40, or 16 for each output if that is more.",
    ),
    "n_folds": Parameter(
        [whole(2)],
        "int",
        "Parts of the training rows, each of which judges the trees that are trained on the "
        "others.",
    ),
    "choose": Parameter(
        [one_of({"best", "one_standard_error"})],
        "{'best', 'one_standard_error'}",
        "Which tree of `pareto_front_` predicts: the best one, or the smallest one whose score is "
        "within one standard error of it.",
    ),
    "learning_rate": Parameter(
        [Interval(Real, 0, None, closed="neither")], "float", "Rate of the first updates."
    ),
    "max_epochs": Parameter(
        [whole(1), None],
        "int or None",
        "Epochs of the training of each child. None: as many as make for 8,000 examples, and not "
        "fewer than 3.",
    ),
    "checkpoint": Parameter(
        [str, PathLike, None],
        "str, path-like or None",
        "File that the search is written to every few seconds. A fit on the same table with the "
        "same settings continues from it; it is left there at the end.",
    ),
}


@dataclass(kw_only=True, eq=False)
class EvolutionParameters:
    """Parameters of every estimator whose structure is searched for."""

    population_size: int = 50
    n_generations: int = 100
    max_depth: int = 10
    min_children: int = 2
    max_children: int = 5
    max_size: int | None = None
    choose: str = "best"
    checkpoint: str | PathLike[str] | None = None
    categorical_features: Any = "from_dtype"
    random_state: RandomState = None
    n_jobs: int | None = None
    verbose: int = 0


@dataclass(kw_only=True, eq=False)
class EvolvedParameters(EvolutionParameters):
    """Parameters of trees that are evolved and trained."""

    population_size: int = 40
    n_generations: int = 30
    crossover_rate: float = 0.4
    max_depth: int = 4
    min_children: int = 1
    max_children: int = 4
    max_weights: int | str = "auto"
    n_folds: int = 4
    activation: Any = ("tanh", "gaussian")
    init_scale: float = 1.5
    learning_rate: float = 0.02
    weight_decay: float | str = "auto"
    leaf_moves: int = 2
    moving_share: float = 0.3
    batch_size: int | str | None = "auto"
    max_epochs: int | None = None
    scale: str | None = "standard"


@dataclass(kw_only=True, eq=False)
class EvolvedClassifierParameters(EvolvedParameters):
    """Parameters of `EvolvedTreeClassifier`."""

    label_smoothing: float = 0.0
    class_weight: Mapping[Any, float] | str | None = None


@dataclass(kw_only=True, eq=False)
class EvolvedRegressorParameters(EvolvedParameters):
    """Parameters of `EvolvedTreeRegressor`."""
