"""Parameters of HFNT and MONT."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import indent
from typing import Any, TypeVar

from bneuralt.extending import (
    GROWTH_PARAMETERS,
    SEARCH_PARAMETERS,
    EvolutionParameters,
    Parameter,
    at_least,
    declared,
    one_of,
)
from bneuralt_paper.evolution.differential import STRATEGIES

__all__ = [
    "HFNTClassifierParameters",
    "HFNTRegressorParameters",
    "MONTClassifierParameters",
    "MONTRegressorParameters",
    "declared_genetic",
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

#: Valid values and description of each parameter.
GENETIC_PARAMETERS: dict[str, Parameter] = {
    **SEARCH_PARAMETERS,
    **GROWTH_PARAMETERS,
    "max_size": Parameter([at_least(2), None], "int or None", "Largest number of nodes of a tree."),
    "objectives": Parameter(
        ["array-like", str],
        "tuple of str",
        "Objectives of the search: 'error', and optionally 'size' (number of nodes) and "
        "'diversity' (dissimilarity to the other trees of the population).",
    ),
    "n_tuning": Parameter(
        [at_least(0)],
        "int",
        "Generations of the differential evolution that tunes the weights of the best tree; 0: "
        "none.",
    ),
    "tuning_size": Parameter(
        [at_least(6)], "int", "Number of weight vectors of a generation of differential evolution."
    ),
    "strategy": Parameter(
        [one_of(STRATEGIES)],
        "str",
        "Strategy of differential evolution, by its name in SciPy.",
    ),
    "n_rounds": Parameter(
        [at_least(1)],
        "int",
        "How often the search for a structure and the tuning of its weights take turns; the "
        "generations are divided among the rounds.",
    ),
    "measure": Parameter(
        [one_of({"squared_error", "error_rate"})],
        "{'squared_error', 'error_rate'}",
        "Measure of 'error': the squared error of the outputs, or the share of rows in the wrong "
        "class.",
    ),
    "n_ensemble": Parameter(
        [at_least(1)],
        "int",
        "Number of trees of the final population whose mean is predicted: the best one, and those "
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
    """Parameters that only HFNT has."""

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


_CLASSIFIER_TREE = """tree_ : NeuralTree
    The selected tree, for unscaled inputs."""
_REGRESSOR_TREE = """tree_ : NeuralTree
    The selected tree, from raw features to the target in its own units: a linear root above the
    tree of the search reverses the scaling of the target."""
_TREES = """trees_ : list of NeuralTree
    The `n_ensemble` trees that predict."""
_FRONT = """pareto_front_ : list of FrontModel
    The trees of the last population that no other one dominates in error and size, sorted by size;
    `pareto_front_[0].model` is a fitted estimator."""
_CLASSES = """classes_ : array of shape (n_classes,)
    The labels."""
_N_ITER = """n_iter_ : int
    Number of generations."""

T = TypeVar("T", bound=type)


def declared_genetic(cls: T) -> T:
    """Declare an estimator class, and complete the attributes in its docstring."""
    is_classifier = issubclass(cls, GeneticClassifierParameters)
    attributes = [
        _CLASSIFIER_TREE if is_classifier else _REGRESSOR_TREE,
        *([_TREES] if issubclass(cls, HFNTParameters) else []),
        _FRONT,
        *([_CLASSES] if is_classifier else []),
        _N_ITER,
    ]
    if cls.__doc__:
        section = "\n".join(["Attributes", "----------", *attributes])
        cls.__doc__ = cls.__doc__.replace("{attributes}", indent(section, "    ").lstrip())
    return declared(cls, GENETIC_PARAMETERS)
