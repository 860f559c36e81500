"""Parameters of HFNT and MONT."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bneuralt.estimators.declaring import Parameter, whole
from bneuralt.estimators.evolution_parameters import (
    SEARCH_PARAMETERS,
    EvolutionParameters,
    one_of,
)
from bneuralt.estimators.growing import GROWTH_PARAMETERS
from bneuralt_paper.evolution.differential import STRATEGIES

__all__ = [
    "GENETIC_PARAMETERS",
    "HFNTClassifierParameters",
    "HFNTRegressorParameters",
    "MONTClassifierParameters",
    "MONTRegressorParameters",
]

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

#: What each parameter may be, and what it means.
GENETIC_PARAMETERS: dict[str, Parameter] = {
    **SEARCH_PARAMETERS,
    **GROWTH_PARAMETERS,
    "max_size": Parameter([whole(2), None], "int or None", "Most nodes that a tree can have."),
    "objectives": Parameter(
        ["array-like", str],
        "tuple of str",
        "What the search minimises: 'error', and then 'size' (number of nodes) or 'diversity' (how "
        "similar a tree is to the others of the population) or both.",
    ),
    "n_tuning": Parameter(
        [whole(0)],
        "int",
        "Generations of the differential evolution that tunes the weights of the best tree; 0: "
        "none.",
    ),
    "tuning_size": Parameter(
        [whole(6)], "int", "Number of weight vectors of a generation of differential evolution."
    ),
    "strategy": Parameter(
        [one_of(STRATEGIES)],
        "str",
        "Strategy of differential evolution, by the names that SciPy gives them.",
    ),
    "n_rounds": Parameter(
        [whole(1)],
        "int",
        "How often the search for a structure and the tuning of its weights take turns; the "
        "generations are divided among the rounds.",
    ),
    "measure": Parameter(
        [one_of({"squared_error", "error_rate"})],
        "{'squared_error', 'error_rate'}",
        "What 'error' means: the squared error of the outputs, or the share of rows in the wrong "
        "class.",
    ),
    "n_ensemble": Parameter(
        [whole(1)],
        "int",
        "Predict with the mean of so many trees of the final population: the best one, and those "
        "of the lowest errors after it.",
    ),
}


@dataclass(kw_only=True, eq=False)
class GeneticParameters(EvolutionParameters):
    """Parameters of HFNT and MONT."""

    max_depth: int = 10
    min_children: int = 2
    max_children: int = 5
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
