"""Trees whose structure evolves while their weights are trained by backpropagation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.estimators.capacity import batch_size
from bneuralt.estimators.classification import ClassifierTask
from bneuralt.estimators.evolution import Entry, EvolutionEstimator
from bneuralt.estimators.evolution_parameters import (
    EVOLVED_LEAF_MOVES,
    SEARCH_PARAMETERS,
    EvolvedClassifierParameters,
    EvolvedRegressorParameters,
)
from bneuralt.estimators.growing import EVOLVED_GROWTH, Growth
from bneuralt.estimators.nested import NestedParameters
from bneuralt.estimators.parameters import declared
from bneuralt.estimators.regression import RegressorTask
from bneuralt.estimators.rows import Rows
from bneuralt.estimators.scaling import learn_scaling
from bneuralt.estimators.splits import fold_of_each
from bneuralt.evolve.memetic import Fold, MemeticSearch, MemeticSettings, TrainingRows
from bneuralt.evolve.operators import Space
from bneuralt.training import TrainingSettings
from bneuralt.tree import NeuralTree

__all__ = ["EvolvedTreeClassifier", "EvolvedTreeRegressor"]

#: Number of examples (rows times epochs) per child, and of the final training of the front.
EXAMPLES_PER_CHILD = 8_000
FINAL_EXAMPLES = 30_000
FEWEST_EPOCHS, FEWEST_FINAL_EPOCHS = 3, 30

#: Weight decay up to DECAY_ROWS rows; from there on, it falls with the root of their number.
DECAY, DECAY_ROWS = 0.15, 600

#: With fewer rows than this in each fold, trees are scored on their training rows.
FEWEST_IN_FOLD = 2

FEWEST_WEIGHTS, WEIGHTS_PER_OUTPUT = 40, 16


class EvolvedTree(NestedParameters, EvolutionEstimator):
    """Base class of trees that are evolved and trained."""

    _output_activation: ClassVar[str] = "linear"
    _unused_growth: ClassVar[tuple[str, ...]] = tuple(
        name for name in Growth.names if name not in EVOLVED_GROWTH
    )
    _unused_training: ClassVar[tuple[str, ...]] = ("select", "monitor", "patience")

    @property
    def _growth(self) -> Growth:
        growth = Growth() if self.growth is None else self.growth
        return growth.for_evolution

    def _n_steps(self) -> int:
        return 1 + self.n_generations

    def _new_search(self, rows: Rows, validation: Rows | None) -> Any:
        if self.n_generations < 1:
            raise ValueError(
                f"n_generations={self.n_generations} is too small: it must be 1 or more"
            )
        self._input_scaling = learn_scaling(self.scale, rows.input_moments)
        self._target_scaling = self._learn_target_scaling(rows, 0.0)
        rng = np.random.default_rng(self._draw_seed())
        data = self._training_rows(rows, validation, rng)
        settings = self._settings(rows)
        search = MemeticSettings(
            self.population_size,
            self.n_generations,
            self.crossover_rate,
            settings,
            2 * settings.max_epochs,
        )
        space = self._space(rows, n_copies=len(data.folds) + 1)
        return _Search(space, data, search, rng)

    def _space(self, rows: Rows, n_copies: int) -> Space:
        n_outputs, growth = self._n_outputs(), self._growth
        most = self.max_weights
        if isinstance(most, str):  # "auto"
            most = max(FEWEST_WEIGHTS, WEIGHTS_PER_OUTPUT * n_outputs)
        space = Space(
            rows.n_inputs,
            n_outputs,
            max_depth=growth.max_depth,
            min_children=growth.min_children,
            max_children=growth.max_children,
            max_size=growth.max_size,
            max_weights=most,
            activation=growth.activation,
            output_activation="linear",
            feature_chances=self._feature_chances(rows),
            scale=growth.init_scale,
            n_copies=n_copies,
        )
        least_nodes = n_outputs * (1 + growth.min_children) + (n_outputs > 1)
        if most < space.least_weights:
            raise ValueError(
                f"max_weights={self.max_weights} is too small: a tree of {n_outputs} outputs has "
                f"{space.least_weights} weights or more with min_children={growth.min_children}"
            )
        if growth.max_size is not None and growth.max_size < least_nodes:
            raise ValueError(
                f"max_size={growth.max_size} is too small: a tree of {n_outputs} outputs has "
                f"{least_nodes} nodes or more with min_children={growth.min_children}"
            )
        return space

    def _varies(self, rows: Rows) -> Array:
        """Return for each input whether it varies in the training rows."""
        if self._input_scaling is None:
            return np.ones(rows.n_inputs, dtype=bool)
        varies: Array = self._input_scaling.factor != 0.0
        return varies

    def _feature_chances(self, rows: Rows) -> FloatArray | None:
        """Return the probability of each input; the inputs of a feature share its probability."""
        varies = self._varies(rows).astype(np.float64)
        if not varies.any():
            return None
        groups = self.encoder_.drawn_groups
        if groups is None:
            return varies
        varies *= groups >= 0
        return varies / np.maximum(1.0, np.bincount(np.maximum(groups, 0), varies))[groups]

    def _settings(self, rows: Rows) -> TrainingSettings:
        n = rows.n_examples
        return self._completed_training(
            self._loss(),
            {
                "weight_decay": DECAY * min(1.0, DECAY_ROWS / n) ** 0.5,
                "batch_size": batch_size(n),
                "max_epochs": max(FEWEST_EPOCHS, round(EXAMPLES_PER_CHILD / n)),
                "leaf_moves": EVOLVED_LEAF_MOVES,
            },
        )

    # -- rows ----------------------------------------------------------------------------

    def _training_rows(
        self, rows: Rows, validation: Rows | None, rng: np.random.Generator
    ) -> TrainingRows:
        everything = _as_fold(rows)
        folds, table = [everything], None
        if validation is not None:
            table = (validation.checked_table, validation.target, validation.weight)
        else:
            separate = self._scoring_rows(rows)
            self._fold_of_row = _divide(separate, self.n_folds, rng)
            n_folds = int(self._fold_of_row.max()) + 1
            folds = [_as_fold(rows, rows)]  # too few rows to divide
            if n_folds > 1:
                folds = [
                    _as_fold(
                        separate.take(np.flatnonzero(self._fold_of_row != i)).merged(),
                        separate.take(np.flatnonzero(self._fold_of_row == i)).merged(),
                    )
                    for i in range(n_folds)
                ]
        varies = self._varies(rows)
        return TrainingRows(
            rows.checked_table,
            rows.target,
            everything,
            folds,
            self._input_scaling,
            self._target_scaling,
            table,
            varies if varies.any() else None,
            self._n_threads(),
        )

    def _scoring_rows(self, rows: Rows) -> Rows:
        return rows.separate

    # -- results -------------------------------------------------------------------------

    def _front_of(self, search: Any, rows: Rows) -> tuple[Sequence[Entry], int]:
        front = search.front()
        data: TrainingRows = search.rows
        settings = search.settings.training
        epochs = max(FEWEST_FINAL_EPOCHS, round(FINAL_EXAMPLES / rows.n_examples))
        final = settings.set_params(leaf_moves=0, max_epochs=epochs)
        copies = [candidate.genome.trees() for candidate in front]
        trained = data.train(
            [trees[-1] for trees in copies], [data.everything] * len(copies), final, seed=0
        )
        X = rows.inputs
        X = X if self._input_scaling is None else self._input_scaling.apply(X)
        X = np.ascontiguousarray(X, dtype=np.float32)
        entries = []
        for trees, result in zip(copies, trained, strict=True):
            if data.validation is None:
                outputs = self._outputs_of_folds(trees[:-1], X)
            else:
                outputs = result.tree.forward(X)
            entries.append(Entry(result.tree, outputs))
        return entries, int(np.argmin([candidate.loss for candidate in front]))

    def _outputs_of_folds(self, trees: list[NeuralTree], X: Array) -> FloatArray:
        """Return, for each row, the outputs of the tree that was trained without it."""
        outputs = np.empty((len(X), trees[0].n_outputs))
        for i, tree in enumerate(trees):
            in_fold = self._fold_of_row == i
            outputs[in_fold] = tree.forward(X[in_fold]) if in_fold.any() else 0.0
        return outputs

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_fold_of_row"}


class _Search(MemeticSearch):
    def best_tree(self) -> NeuralTree:
        return self.best.genome.trees()[-1]


def _divide(rows: Rows, n_folds: int, rng: np.random.Generator) -> IntArray:
    """Return the fold of each row; a single fold if there are too few rows."""
    if len(rows) < FEWEST_IN_FOLD * n_folds:
        return np.zeros(len(rows), dtype=np.intp)
    return fold_of_each(rows.y, n_folds, rng)


def _as_fold(rows: Rows, validation: Rows | None = None) -> Fold:
    once = rows.one_epoch().with_mean_weight_one()
    if validation is None:
        return Fold(once.index, once.sample_weight)
    index = np.arange(len(rows), dtype=np.int32) if validation.index is None else validation.index
    return Fold(once.index, once.sample_weight, index, validation.weight)


@partial(declared, parameters=SEARCH_PARAMETERS)
class EvolvedTreeClassifier(ClassifierTask, EvolvedTree, EvolvedClassifierParameters):
    """Classify with a very small tree, whose structure is evolved and trained.

    Structures evolve by crossover and mutation. Every child inherits the weights of its parents and
    is trained briefly, during which leaves move to the features that lower the loss most. Trees are
    scored by cross-validation, and the best trees of each size survive.

    {parameters}

    Attributes
    ----------
    tree_ : NeuralTree
        The tree that predicts; it works on unscaled inputs.
    {front}
    {classes}
    n_parameters_ : int
        Number of weights.
    {columns}
    n_iter_ : int
        Number of generations.

    Examples
    --------
    >>> from bneuralt import EvolvedTreeClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = EvolvedTreeClassifier(n_generations=3, random_state=0).fit(X, y)
    >>> clf.n_parameters_ <= 48, clf.score(X, y) > 0.9
    (True, True)
    >>> clf.predict(X[::60])
    array([0, 1, 2])
    """


@partial(declared, parameters=SEARCH_PARAMETERS)
class EvolvedTreeRegressor(RegressorTask, EvolvedTree, EvolvedRegressorParameters):
    """Predict numbers with a very small tree, whose structure is evolved and trained.

    See `EvolvedTreeClassifier`.

    {parameters}

    Attributes
    ----------
    tree_ : NeuralTree
        The tree that predicts, from raw features to the unscaled target.
    {front}
    n_outputs_ : int
        Number of columns of y.
    n_parameters_ : int
        Number of weights.
    {columns}
    n_iter_ : int
        Number of generations.

    Examples
    --------
    >>> from bneuralt import EvolvedTreeRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> reg = EvolvedTreeRegressor(n_generations=3, random_state=0).fit(X, y)
    >>> reg.n_parameters_ <= 40, reg.score(X, y) > 0.4
    (True, True)
    >>> reg.predict(X[:2]).round(-2)
    array([200., 100.])
    """

    loss: ClassVar[str] = "squared_error"
