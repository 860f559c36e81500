"""Base classes of HFNT and MONT: structures by genetic programming, weights without gradients.

The activation of every node, including outputs, is drawn from a set; its parameters are optimised
like the weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from bneuralt.evolve import Space
from bneuralt.expressions import Expression
from bneuralt.extending import (
    TREE_GROWTH,
    Classes,
    Classifier,
    Entry,
    Labels,
    Options,
    Problem,
    Rows,
    SearchedTree,
    SearchMethod,
)
from bneuralt.training.losses import SOFTMAX
from bneuralt.tree import NeuralTree, forward_many
from bneuralt_paper._typing import Array
from bneuralt_paper.evolution.genetic_search import GeneticSearch, GeneticSettings
from bneuralt_paper.evolution.population import PopulationScorer

__all__ = ["GeneticClassifier", "GeneticEstimator", "GeneticMethod"]


class SoftmaxClasses(Classes):
    """Classes whose probabilities are the softmax of the outputs, for all activations."""

    def link(self, trees: Sequence[NeuralTree]) -> Expression:
        """Return the softmax."""
        return SOFTMAX


class NoLabels(Labels):
    """Targets of several columns, which are refused."""

    @classmethod
    def learn(cls, y: Array, classes: Any, estimator: str) -> Labels:
        """Raise an error."""
        raise ValueError(
            f"y has {y.shape[1]} columns, {estimator} predicts one label: use "
            "EvolvedTreeClassifier, or sklearn.multioutput.MultiOutputClassifier"
        )


class GeneticMethod(SearchMethod):
    """Search for structures and weights without gradients.

    Parameters
    ----------
    selection : str
        How the next generation is selected.
    objectives : tuple of str, optional
        What is minimised; by default the parameter of the estimator.
    """

    def __init__(self, selection: str, objectives: tuple[str, ...] | None = None) -> None:
        self.selection, self.objectives = selection, objectives

    def n_steps(self, problem: Problem) -> int:
        """Return the number of generations, of structures and of weights."""
        parameters = problem.options.parameters
        return int(parameters["n_generations"] + parameters["n_tuning"])

    def new_search(self, problem: Problem) -> Any:
        """Return the search."""
        options, parameters = problem.options, problem.options.parameters
        names = ("population_size", "n_generations", "crossover_rate", "tuning_size", "n_tuning")
        settings = GeneticSettings(
            objectives=self.objectives or parameters["objectives"],
            selection=self.selection,
            **{name: parameters[name] for name in (*names, "strategy", "n_rounds")},
        )
        scorer = PopulationScorer(
            _scaled_inputs(problem, problem.rows),
            problem.scaled_target(problem.rows),
            problem.rows.weight,
            parameters.get("measure", "squared_error"),
            options.n_threads,
        )
        rng = np.random.default_rng(options.seed)
        return _BestTreeSearch(_space(problem), scorer, settings, rng)

    def front_of(self, search: Any, problem: Problem, rows: Rows) -> tuple[Sequence[Entry], int]:
        """Return the trees of the front; the largest one has the lowest error."""
        trees = [genome.trees()[0] for genome in search.front()]
        outputs = forward_many(trees, _scaled_inputs(problem, rows), problem.options.n_threads)
        entries = [Entry(*pair) for pair in zip(trees, outputs, strict=True)]
        return entries, len(entries) - 1

    def trees_of(self, search: Any, problem: Problem, chosen: NeuralTree) -> list[NeuralTree]:
        """Return the chosen tree and, for an ensemble, those of the lowest errors after it."""
        trees = [chosen]
        for i in np.argsort(search.errors, kind="stable").tolist():
            if len(trees) == problem.options.parameters.get("n_ensemble", 1):
                break
            tree = search.population[i].trees()[0]
            if tree != chosen:
                trees.append(tree)
        return trees


class _BestTreeSearch(GeneticSearch):
    def best_tree(self) -> NeuralTree:
        return self.best.trees()[0]


def _scaled_inputs(problem: Problem, rows: Rows) -> Array:
    assert problem.scaling is not None
    return np.ascontiguousarray(problem.scaling.apply(rows.inputs), dtype=np.float32)


def _space(problem: Problem) -> Space:
    """Return the trees that are searched."""
    assert problem.scaling is not None
    varies = (problem.scaling.factor != 0.0).astype(np.float64)
    parameters = problem.options.parameters
    names = ("max_depth", "min_children", "max_children", "leaf_probability", "max_size")
    space = Space(
        problem.rows.n_inputs,
        problem.n_outputs,
        **{name: parameters[name] for name in (*names, "activation")},
        output_activation=parameters["activation"],
        trains_activations=True,
        feature_chances=varies if varies.any() else None,
    )
    least = space.n_outputs * (1 + space.min_children) + (space.n_outputs > 1)
    if parameters["max_size"] is not None and parameters["max_size"] < least:
        raise ValueError(
            f"max_size={parameters['max_size']} is too small: a tree of {space.n_outputs} outputs "
            f"has {least} nodes or more"
        )
    return space


class GeneticEstimator(SearchedTree):
    """Base class of estimators that search for structures and weights without gradients."""

    # Outputs may have any of the functions; targets are scaled to [0, 1].
    _growth_values: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {**TREE_GROWTH, "output_activation": "mixed"}
    )

    def _options(self) -> Options:
        options = super()._options()
        return replace(
            options,
            training=options.training.set_params(loss="squared_error"),
            scale="minmax",
            trains=False,
            class_task=SoftmaxClasses,
            label_task=NoLabels,
        )


class GeneticClassifier(Classifier):
    """Base class of classifiers of one label."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = False
        return tags
