"""Parameters of the estimators that search for a structure; see `parameters`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from typing import Any

from bneuralt._sklearn import StrOptions
from bneuralt.declaring import Parameter, at_least, real_interval
from bneuralt.estimators.parameters import PARAMETERS, RandomState, setting_parameter
from bneuralt.fitting.evolved import LEAF_MOVES
from bneuralt.training import TrainingSettings
from bneuralt.tree.growing import Growth

__all__ = [
    "SEARCH_PARAMETERS",
    "EvolutionParameters",
    "EvolvedParameters",
    "one_of",
]


def one_of(names: Iterable[str]) -> StrOptions:
    """Return the constraint of texts that are one of these names."""
    return StrOptions(set(names))


#: Allowed values and meaning of each parameter.
SEARCH_PARAMETERS: dict[str, Parameter] = {
    **PARAMETERS,
    "population_size": Parameter(
        [at_least(2)], "int", "Number of trees of a generation, 2 or more."
    ),
    "n_generations": Parameter(
        [at_least(0)], "int", "Generations of the search for a structure, after the first one."
    ),
    "crossover_rate": Parameter(
        [real_interval(0, 1, "both")],
        "float in [0, 1]",
        "Share of the children that are the crossover of two trees; the others are mutations.",
    ),
    "max_weights": Parameter(
        [at_least(1), one_of({"auto"})],
        "int or 'auto'",
        "Most weights that a tree can have. 'auto': 40, or 16 for each output if that is more.",
    ),
    "n_folds": Parameter(
        [at_least(2)],
        "int",
        "Number of folds of the cross-validation by which trees are scored.",
    ),
    "choose": Parameter(
        [one_of({"best", "one_standard_error"})],
        "{'best', 'one_standard_error'}",
        "Which tree of `pareto_front_` predicts: the best one, or the smallest one whose score is "
        "within one standard error of it.",
    ),
    "learning_rate": setting_parameter("learning_rate", "0.02."),
    "weight_decay": setting_parameter(
        "weight_decay",
        "0.15 on up to 600 rows; from there on, it falls with the root of their number.",
    ),
    "max_epochs": setting_parameter(
        "max_epochs", "8,000 divided by the number of rows, and at least 3, for each child."
    ),
    "training": PARAMETERS["training"]._replace(
        meaning="How each child is trained: optimizer, schedule, moving leaves and more. 'auto' "
        f"values are those of `train`, except for leaf_moves={LEAF_MOVES}. A value is set "
        "either here or as a parameter. None: all values are automatic.",
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
    """Parameters of every estimator that searches for a structure."""

    population_size: int = 50
    n_generations: int = 100
    choose: str = "best"
    checkpoint: str | PathLike[str] | None = None
    categorical_features: Any = "from_dtype"
    identifiers: Any = "drop"
    random_state: RandomState = None
    n_jobs: int | None = None
    verbose: int = 0


@dataclass(kw_only=True, eq=False)
class EvolvedParameters(EvolutionParameters):
    """Parameters of trees that are evolved and trained."""

    population_size: int = 40
    n_generations: int = 30
    crossover_rate: float = 0.4
    max_weights: int | str = "auto"
    n_folds: int = 4
    learning_rate: float | str = "auto"
    weight_decay: float | str = "auto"
    batch_size: int | str | None = "auto"
    max_epochs: int | str = "auto"
    scale: str | None = "robust"
    ramps: int | str = "auto"
    sentinels: str | None = "auto"
    growth: Growth | None = None
    training: TrainingSettings | None = None
