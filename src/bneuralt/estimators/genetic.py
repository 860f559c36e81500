"""HFNT and MONT: structures by genetic programming, weights by differential evolution.

Heterogeneous flexible neural trees (Ojha, Abraham and Snasel, 2017) and multi-output neural trees
(Ojha and Nicosia, 2020). All nodes, the outputs included, draw their function from a set; its
parameters are searched for like the weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from bneuralt._typing import Array, FloatArray
from bneuralt.estimators.classification import ClassifierTask
from bneuralt.estimators.evolution import Entry, EvolutionEstimator
from bneuralt.estimators.evolution_parameters import (
    HFNTClassifierParameters,
    HFNTRegressorParameters,
    MONTClassifierParameters,
    MONTRegressorParameters,
)
from bneuralt.estimators.parameters import declared
from bneuralt.estimators.regression import RegressorTask
from bneuralt.estimators.rows import Rows
from bneuralt.estimators.scaling import learn_scaling
from bneuralt.evolve.genetic import GeneticSearch, GeneticSettings
from bneuralt.evolve.operators import Space
from bneuralt.evolve.population import Judge
from bneuralt.tree import NeuralTree, forward_many

__all__ = ["HFNTClassifier", "HFNTRegressor", "MONTClassifier", "MONTRegressor"]


class GeneticEstimator(EvolutionEstimator):
    """Searches structures and weights without gradients."""

    # Outputs may have any of the functions; targets are scaled to [0, 1].
    output_activation: ClassVar[str] = "mixed"
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
        self._input_scaling = learn_scaling("minmax", rows.X, rows.weight)
        self._target_scaling = self._learn_target_scaling(rows, 0.0)
        space = self._space(rows)
        least = space.n_outputs * (1 + space.min_children) + (space.n_outputs > 1)
        if self.max_size is not None and self.max_size < least:
            raise ValueError(
                f"max_size={self.max_size} is too small: a tree of {space.n_outputs} outputs has "
                f"{least} nodes or more"
            )
        judge = Judge(
            self._scaled_inputs(rows),
            self._scaled_target(rows),
            rows.weight,
            getattr(self, "measure", "squared_error"),
            self._n_threads(),
        )
        rng = np.random.default_rng(self._draw_seed())
        return _Search(space, judge, settings, rng)

    def _scaled_inputs(self, rows: Rows) -> Array:
        assert self._input_scaling is not None
        return np.ascontiguousarray(self._input_scaling.apply(rows.X), dtype=np.float32)

    def _front_of(self, search: Any, rows: Rows) -> tuple[Sequence[Entry], int]:
        trees = [genome.trees()[0] for genome in search.front()]
        outputs = forward_many(trees, self._scaled_inputs(rows), self._n_threads())
        entries = [Entry(tree, own) for tree, own in zip(trees, outputs, strict=True)]
        return entries, len(entries) - 1  # the largest one has the lowest error


class _Search(GeneticSearch):
    def best_tree(self) -> NeuralTree:
        return self.best.trees()[0]


class HFNTEstimator(GeneticEstimator):
    """Can predict with several trees of the final population."""

    trees_: list[NeuralTree]

    @property
    def _trees(self) -> list[NeuralTree]:
        return self.trees_

    def _set_trees(self, trees: Sequence[NeuralTree]) -> None:
        self.trees_, self.tree_ = list(trees), trees[0]

    def _keep(self, search: Any, rows: Rows, validation: Rows | None) -> None:
        super()._keep(search, rows, validation)
        others: list[NeuralTree] = []
        for i in np.argsort(search.errors, kind="stable").tolist():
            if len(others) == self.n_ensemble - 1:
                break
            tree = self._fold(search.population[i].trees()[0])
            if tree != self.tree_:
                others.append(tree)
        self._set_trees([self.tree_, *others])

    @property
    def n_parameters_(self) -> int:
        """Number of weights of all trees together."""
        return sum(tree.n_parameters for tree in self.trees_)


class GeneticClassifierTask(ClassifierTask):
    """Probabilities are the softmax of the outputs, whatever their activations."""

    label_smoothing: ClassVar[float] = 0.0

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
        return self._scores_of_shares(self._probabilities(X))

    def _probabilities(self, X: Array) -> FloatArray:
        return self._mean_probabilities(self._trees, X)


@declared
class HFNTClassifier(GeneticClassifierTask, HFNTEstimator, HFNTClassifierParameters):
    """A classifier that is a heterogeneous flexible neural tree (HFNT).

    Genetic programming searches for a structure, differential evolution for its weights. With
    ``objectives=("error",)`` it is HFNT-S of the paper, with ``("error", "size", "diversity")``,
    sorted by NSGA-II, HFNT-M. The paper's budget is ``n_generations=500, n_tuning=1000``.

    {parameters}

    Attributes
    ----------
    tree_ : NeuralTree
        The tree that was chosen; it works on unscaled inputs.
    trees_ : list of NeuralTree
        The trees that predict, `n_ensemble` of them.
    pareto_front_ : list of FrontModel
        The trees of the last population to which no other one is superior in error and size, by
        their size; `pareto_front_[0].model` is a fitted estimator.
    classes_ : array of shape (n_classes,)
        The labels.
    n_iter_ : int
        Number of generations.

    Examples
    --------
    >>> from bneuralt import HFNTClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = HFNTClassifier(n_generations=20, n_tuning=40, random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.9
    True
    """


@declared
class HFNTRegressor(RegressorTask, HFNTEstimator, HFNTRegressorParameters):
    """A regressor that is a heterogeneous flexible neural tree (HFNT).

    See `HFNTClassifier`.

    {parameters}

    Attributes
    ----------
    tree_ : NeuralTree
        The tree that was chosen, from raw features to the target in its own units: a linear root
        above the tree of the search undoes the scaling of the target.
    trees_ : list of NeuralTree
        The trees that predict, `n_ensemble` of them.
    pareto_front_ : list of FrontModel
        The trees of the last population to which no other one is superior in error and size, by
        their size; `pareto_front_[0].model` is a fitted estimator.
    n_iter_ : int
        Number of generations.

    Examples
    --------
    >>> from bneuralt import HFNTRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> reg = HFNTRegressor(n_generations=20, n_tuning=40, random_state=0).fit(X, y)
    >>> reg.score(X, y) > 0.3
    True
    """


class MONTEstimator(GeneticEstimator):
    """Minimises error and size, sorted by NSGA-III."""

    objectives = ("error", "size")
    _selection: ClassVar[str] = "nsga3"


@declared
class MONTClassifier(GeneticClassifierTask, MONTEstimator, MONTClassifierParameters):
    """A classifier that is a multi-output neural tree (MONT), searched for by NSGA-III.

    Error and size are minimised together, and `choose` says which tree of the front is used. With
    the default, and ``n_generations=500, n_tuning=1000``, it is MONT-3 of the paper. Requires pymoo
    (`pip install 'bneuralt[evolve]'`).

    {parameters}

    Attributes
    ----------
    tree_ : NeuralTree
        The tree that was chosen; it works on unscaled inputs.
    pareto_front_ : list of FrontModel
        The trees of the last population to which no other one is superior in error and size, by
        their size; `pareto_front_[0].model` is a fitted estimator.
    classes_ : array of shape (n_classes,)
        The labels.
    n_iter_ : int
        Number of generations.

    Examples
    --------
    >>> from bneuralt import MONTClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = MONTClassifier(n_generations=20, n_tuning=40, random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.9
    True
    """


@declared
class MONTRegressor(RegressorTask, MONTEstimator, MONTRegressorParameters):
    """A regressor that is a multi-output neural tree (MONT), searched for by NSGA-III.

    See `MONTClassifier`.

    {parameters}

    Attributes
    ----------
    tree_ : NeuralTree
        The tree that was chosen, from raw features to the target in its own units: a linear root
        above the tree of the search undoes the scaling of the target.
    pareto_front_ : list of FrontModel
        The trees of the last population to which no other one is superior in error and size, by
        their size; `pareto_front_[0].model` is a fitted estimator.
    n_iter_ : int
        Number of generations.

    Examples
    --------
    >>> from bneuralt import MONTRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> reg = MONTRegressor(n_generations=20, n_tuning=40, random_state=0).fit(X, y)
    >>> reg.score(X, y) > 0.3
    True
    """
