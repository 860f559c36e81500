"""Base classes of HFNT and MONT: structures by genetic programming, weights without gradients.

The activation of every node, including outputs, is drawn from a set; its parameters are optimised
like the weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from bneuralt.estimators.classification import ClassifierTask
from bneuralt.estimators.evolution import Entry, EvolutionEstimator
from bneuralt.estimators.rows import Rows
from bneuralt.estimators.scaling import learn_scaling
from bneuralt.evolve import Space
from bneuralt.tree import NeuralTree, forward_many
from bneuralt_paper._typing import Array, FloatArray
from bneuralt_paper.evolution.genetic_search import GeneticSearch, GeneticSettings
from bneuralt_paper.evolution.population import PopulationScorer

__all__ = ["GeneticClassifierTask", "GeneticEstimator"]


class GeneticEstimator(EvolutionEstimator):
    """Base class of estimators that search for structures and weights without gradients."""

    # Outputs may have any of the functions; targets are scaled to [0, 1].
    _output_activation: ClassVar[str] = "mixed"
    loss: ClassVar[str] = "squared_error"
    objectives: Any  # a parameter of HFNT
    _selection: ClassVar[str] = "nsga2"

    def _settings(self) -> GeneticSettings:
        return GeneticSettings(
            objectives=self.objectives,
            selection=self._selection,
            population_size=self.population_size,
            n_generations=self.n_generations,
            crossover_rate=self.crossover_rate,
            tuning_size=self.tuning_size,
            n_tuning=self.n_tuning,
            strategy=self.strategy,
            n_rounds=self.n_rounds,
        )

    def _n_steps(self) -> int:
        return self.n_generations + self.n_tuning

    def _space(self, rows: Rows) -> Space:
        assert self._input_scaling is not None
        varies = (self._input_scaling.factor != 0.0).astype(np.float64)
        return Space(
            rows.table.shape[1],
            self._n_outputs(),
            max_depth=self.max_depth,
            min_children=self.min_children,
            max_children=self.max_children,
            leaf_probability=self.leaf_probability,
            max_size=self.max_size,
            activation=self.activation,
            output_activation=self.activation,
            trains_activations=True,
            feature_chances=varies if varies.any() else None,
        )

    def _new_search(self, rows: Rows, validation: Rows | None) -> Any:
        settings = self._settings()
        self._input_scaling = learn_scaling("minmax", rows.moments)
        self._target_scaling = self._learn_target_scaling(rows, 0.0)
        space = self._space(rows)
        least = space.n_outputs * (1 + space.min_children) + (space.n_outputs > 1)
        if self.max_size is not None and self.max_size < least:
            raise ValueError(
                f"max_size={self.max_size} is too small: a tree of {space.n_outputs} outputs has "
                f"{least} nodes or more"
            )
        scorer = PopulationScorer(
            self._scaled_inputs(rows),
            self._scaled_target(rows),
            rows.weight,
            getattr(self, "measure", "squared_error"),
            self._n_threads(),
        )
        rng = np.random.default_rng(self._draw_seed())
        return _BestTreeSearch(space, scorer, settings, rng)

    def _scaled_inputs(self, rows: Rows) -> Array:
        assert self._input_scaling is not None
        return np.ascontiguousarray(self._input_scaling.apply(rows.X), dtype=np.float32)

    def _front_of(self, search: Any, rows: Rows) -> tuple[Sequence[Entry], int]:
        trees = [genome.trees()[0] for genome in search.front()]
        outputs = forward_many(trees, self._scaled_inputs(rows), self._n_threads())
        entries = [Entry(*pair) for pair in zip(trees, outputs, strict=True)]
        return entries, len(entries) - 1  # the largest one has the lowest error


class _BestTreeSearch(GeneticSearch):
    def best_tree(self) -> NeuralTree:
        return self.best.trees()[0]


class GeneticClassifierTask(ClassifierTask):
    """Classification by the softmax of the outputs, for all activations."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = False
        return tags

    def _learn_labels(self, y: Array, classes: Any) -> None:
        raise ValueError(
            f"y has {y.shape[1]} columns, {type(self).__name__} predicts one label: use "
            "EvolvedTreeClassifier, or sklearn.multioutput.MultiOutputClassifier"
        )

    def _outputs_are_scores(self, trees: Sequence[NeuralTree]) -> bool:
        return True

    def _scores(self, X: Array) -> FloatArray:
        if len(self._trees) == 1:
            return self._mean_outputs(self._trees, X)
        return self._scores_of_shares(self._mean_probabilities(self._trees, X))
