"""The parameters of the estimators whose structure is searched for; see `parameters`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from os import PathLike
from typing import Any, ClassVar

from bneuralt._sklearn import Interval, StrOptions
from bneuralt.estimators.parameters import PARAMETERS, Parameter, RandomState
from bneuralt.evolve.differential import STRATEGIES

__all__ = [
    "EvolvedClassifierParameters",
    "EvolvedRegressorParameters",
    "HFNTClassifierParameters",
    "HFNTRegressorParameters",
    "MONTClassifierParameters",
    "MONTRegressorParameters",
]


def _whole(least: int) -> Interval:
    return Interval(Integral, least, None, closed="left")


#: The node functions of HFNT.
HFNT_ACTIVATIONS = (
    "gaussian",
    "tanh",
    "sigmoid",
    "linear_tanh",
    "linear_sigmoid",
    "bipolar",
    "unipolar",
)

_OWN: dict[str, Parameter] = {
    "objectives": Parameter(
        ["array-like", str],
        "tuple of str",
        "What the search minimises: 'error', and then 'size' (number of nodes) or 'diversity' (how "
        "similar a tree is to the others of the population) or both. Several objectives need "
        "pymoo (`pip install 'bneuralt[evolve]'`).",
    ),
    "population_size": Parameter(
        [_whole(2)], "int", "Number of trees of a generation, of which there are 2 or more."
    ),
    "n_generations": Parameter(
        [_whole(0)], "int", "Generations of the search for a structure, after the first one."
    ),
    "n_tuning": Parameter(
        [_whole(0)],
        "int",
        "Generations of the differential evolution that tunes the weights of the best tree; 0: "
        "none.",
    ),
    "tuning_size": Parameter(
        [_whole(6)], "int", "Number of weight vectors of a generation of differential evolution."
    ),
    "strategy": Parameter(
        [StrOptions(set(STRATEGIES))],
        "str",
        "Strategy of differential evolution, by the names that SciPy gives them.",
    ),
    "n_rounds": Parameter(
        [_whole(1)],
        "int",
        "How often the search for a structure and the tuning of its weights take turns; the "
        "generations are divided among the rounds.",
    ),
    "crossover_rate": Parameter(
        PARAMETERS["moving_share"].allowed,
        "float in [0, 1]",
        "Share of the children that come from the crossover of two trees; the others are "
        "mutations.",
    ),
    "measure": Parameter(
        [StrOptions({"squared_error", "error_rate"})],
        "{'squared_error', 'error_rate'}",
        "What 'error' means: the squared error of the outputs, or the share of rows in the wrong "
        "class.",
    ),
    "n_ensemble": Parameter(
        [_whole(1)],
        "int",
        "Predict with the mean of so many trees of the final population: the best one, and those "
        "of the lowest errors after it.",
    ),
    "max_size": Parameter([_whole(2), None], "int or None", "Most nodes that a tree can have."),
    "max_weights": Parameter(
        [_whole(1), StrOptions({"auto"})],
        "int or 'auto'",
        "Most weights that a tree can have. 'auto': 40, or 16 for each output if that is more.",
    ),
    "n_folds": Parameter(
        [_whole(2)],
        "int",
        "Parts of the training rows, each of which judges the trees that are trained on the "
        "others.",
    ),
    "choose": Parameter(
        [StrOptions({"best", "one_standard_error"})],
        "{'best', 'one_standard_error'}",
        "Which tree of `pareto_front_` predicts: the best one, or the smallest one whose score is "
        "within one standard error of it.",
    ),
    "learning_rate": Parameter(
        [Interval(Real, 0, None, closed="neither")], "float", "Rate of the first updates."
    ),
    "max_epochs": Parameter(
        [_whole(1), None],
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

    _own_parameters: ClassVar[dict[str, Parameter]] = _OWN


@dataclass(kw_only=True, eq=False)
class GeneticParameters(EvolutionParameters):
    """Parameters of HFNT and MONT."""

    max_size: int | None = 200
    crossover_rate: float = 0.7
    leaf_probability: float = 0.6
    activation: Any = HFNT_ACTIVATIONS
    n_tuning: int = 200
    tuning_size: int = 100
    strategy: str = "randtobest1bin"
    n_rounds: int = 1


@dataclass(kw_only=True, eq=False)
class HFNTParameters(GeneticParameters):
    """Parameters that HFNT has and MONT has not."""

    objectives: Any = ("error",)
    n_ensemble: int = 1


@dataclass(kw_only=True, eq=False)
class GeneticClassifierParameters(GeneticParameters):
    """Parameters of classifiers."""

    measure: str = "error_rate"
    class_weight: Mapping[Any, float] | str | None = None


@dataclass(kw_only=True, eq=False)
class HFNTClassifierParameters(HFNTParameters, GeneticClassifierParameters):
    """Parameters of `HFNTClassifier`."""


@dataclass(kw_only=True, eq=False)
class HFNTRegressorParameters(HFNTParameters):
    """Parameters of `HFNTRegressor`."""


@dataclass(kw_only=True, eq=False)
class MONTClassifierParameters(GeneticClassifierParameters):
    """Parameters of `MONTClassifier`."""


@dataclass(kw_only=True, eq=False)
class MONTRegressorParameters(GeneticParameters):
    """Parameters of `MONTRegressor`."""


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
