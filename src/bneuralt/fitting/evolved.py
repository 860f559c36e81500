"""Search of evolved trees: structures evolve while their weights are trained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.evolve.memetic import Fold, MemeticSearch, MemeticSettings, TrainingRows
from bneuralt.evolve.operators import Space
from bneuralt.fitting.capacity import batch_size
from bneuralt.fitting.options import AT_TOP
from bneuralt.fitting.problem import Problem, bending_of
from bneuralt.fitting.rows import Rows
from bneuralt.fitting.search import Entry, SearchMethod
from bneuralt.fitting.splits import fold_of_each
from bneuralt.model import Recipe
from bneuralt.training import TrainingSettings
from bneuralt.tree import NeuralTree

__all__ = ["EvolvedSearch"]

#: Automatic value of `leaf_moves`.
LEAF_MOVES = 2

#: Number of examples (rows times epochs) per child, and of the final training of the front.
EXAMPLES_PER_CHILD = 8_000
FINAL_EXAMPLES = 30_000
MIN_EPOCHS, MIN_FINAL_EPOCHS = 3, 30

#: Weight decay up to DECAY_ROWS rows; from there on, it falls with the root of their number.
DECAY, DECAY_ROWS = 0.15, 600

#: With fewer rows than this in each fold, trees are scored on their training rows.
MIN_ROWS_IN_FOLD = 2

MIN_WEIGHTS, WEIGHTS_PER_OUTPUT = 40, 16


class EvolvedSearch(SearchMethod):
    """Trees that are evolved and trained, and scored by cross-validation."""

    def n_steps(self, problem: Problem) -> int:
        """Return the number of generations."""
        return 1 + int(problem.options.parameters["n_generations"])

    def recipe_of(self, problem: Problem) -> Recipe:
        """Return the settings of the fit."""
        options, settings = problem.options, settings_of(problem)
        values = dict(options.parameters)
        for name in ("random_state", "n_jobs", "verbose", "checkpoint"):
            values.pop(name, None)
        values |= {name: getattr(settings, name) for name in AT_TOP[1:]}
        values |= {"training": settings, "growth": options.growth}
        values["max_weights"] = max_weights(problem)
        values["ramps"] = bending_of(options, problem.rows.table, problem.rows.n_separate).n_ramps
        n_rows = f"rows: {problem.rows.n_examples:,}"
        names = (*AT_TOP[1:], "max_weights", "ramps")
        reasons = {name: "set" if name in options.explicit else n_rows for name in names}
        return Recipe(values, reasons, options.seed)

    def new_search(self, problem: Problem) -> Any:
        """Return the search."""
        parameters = problem.options.parameters
        if parameters["n_generations"] < 1:
            raise ValueError(
                f"n_generations={parameters['n_generations']} is too small: it must be 1 or more"
            )
        rng = np.random.default_rng(problem.options.seed)
        data, fold_of_row = _training_rows(problem, rng)
        settings = settings_of(problem)
        search = MemeticSettings(
            parameters["population_size"],
            parameters["n_generations"],
            parameters["crossover_rate"],
            settings,
            2 * settings.max_epochs,
        )
        space = _space(problem, n_copies=len(data.folds) + 1)
        return _Search(space, data, search, rng, fold_of_row)

    def scoring_rows(self, problem: Problem) -> Rows:
        """Return rows one by one, as folds divide them."""
        return problem.rows.separate if problem.validation is None else problem.validation

    def front_of(self, search: Any, problem: Problem, rows: Rows) -> tuple[Sequence[Entry], int]:
        """Train the trees of the front for longer, and score them."""
        front = search.front()
        data: TrainingRows = search.rows
        settings = search.settings.training
        epochs = max(MIN_FINAL_EPOCHS, round(FINAL_EXAMPLES / rows.n_examples))
        final = settings.set_params(leaf_moves=0, max_epochs=epochs)
        copies = [candidate.genome.trees() for candidate in front]
        trained = data.train(
            [trees[-1] for trees in copies], [data.everything] * len(copies), final, seed=0
        )
        X = rows.inputs
        X = X if problem.scaling is None else problem.scaling.apply(X)
        X = np.ascontiguousarray(X, dtype=np.float32)
        entries = []
        for trees, result in zip(copies, trained, strict=True):
            if data.validation is None:
                outputs = _outputs_of_folds(trees[:-1], X, search.fold_of_row)
            else:
                outputs = result.tree.forward(X)
            entries.append(Entry(result.tree, outputs))
        return entries, int(np.argmin([candidate.loss for candidate in front]))


class _Search(MemeticSearch):
    """A search that knows the fold of each row."""

    def __init__(
        self, space: Space, data: TrainingRows, settings: MemeticSettings, rng: Any, folds: Any
    ) -> None:
        super().__init__(space, data, settings, rng)
        self.fold_of_row = folds

    def best_tree(self) -> NeuralTree:
        """Return the best tree so far."""
        return self.best.genome.trees()[-1]


def settings_of(problem: Problem) -> TrainingSettings:
    """Return the settings of the training of each child."""
    options, n = problem.options, problem.rows.n_examples
    automatic = {
        "weight_decay": DECAY * min(1.0, DECAY_ROWS / n) ** 0.5,
        "batch_size": batch_size(n),
        "max_epochs": max(MIN_EPOCHS, round(EXAMPLES_PER_CHILD / n)),
        "leaf_moves": LEAF_MOVES,
    }
    training = options.training.set_params(loss=problem.loss)
    return training.filled(automatic).complete


def max_weights(problem: Problem) -> int:
    """Return the largest number of weights of a tree."""
    most = problem.options.max_weights
    if isinstance(most, int):
        return most
    return max(MIN_WEIGHTS, WEIGHTS_PER_OUTPUT * problem.n_outputs)


def _space(problem: Problem, n_copies: int) -> Space:
    n_outputs, growth, most = problem.n_outputs, problem.options.growth, max_weights(problem)
    space = Space(
        problem.rows.n_inputs,
        n_outputs,
        max_depth=growth.max_depth,
        min_children=growth.min_children,
        max_children=growth.max_children,
        max_size=growth.max_size,
        max_weights=most,
        activation=growth.activation,
        output_activation="linear",
        feature_chances=_feature_chances(problem),
        scale=growth.init_scale,
        n_copies=n_copies,
    )
    least_nodes = n_outputs * (1 + growth.min_children) + (n_outputs > 1)
    if most < space.least_weights:
        raise ValueError(
            f"max_weights={most} is too small: a tree of {n_outputs} outputs has "
            f"{space.least_weights} weights or more with min_children={growth.min_children}"
        )
    if growth.max_size is not None and growth.max_size < least_nodes:
        raise ValueError(
            f"max_size={growth.max_size} is too small: a tree of {n_outputs} outputs has "
            f"{least_nodes} nodes or more with min_children={growth.min_children}"
        )
    return space


def _varies(problem: Problem) -> Array:
    """Return for each input whether it varies in the training rows."""
    if problem.scaling is None:
        return np.ones(problem.rows.n_inputs, dtype=bool)
    varies: Array = problem.scaling.factor != 0.0
    return varies


def _feature_chances(problem: Problem) -> FloatArray | None:
    """Return the probability of each input; the inputs of a feature share its probability."""
    varies = _varies(problem).astype(np.float64)
    if not varies.any():
        return None
    groups = problem.encoder.drawn_groups
    if groups is None:
        return varies
    varies *= groups >= 0
    return varies / np.maximum(1.0, np.bincount(np.maximum(groups, 0), varies))[groups]


# -- rows ---------------------------------------------------------------------------------


def _training_rows(
    problem: Problem, rng: np.random.Generator
) -> tuple[TrainingRows, IntArray | None]:
    """Return the rows of the search, and the fold of each row."""
    rows, validation = problem.rows, problem.validation
    everything = _as_fold(rows)
    folds, table, fold_of_row = [everything], None, None
    if validation is not None:
        table = (validation.checked_table, validation.target, validation.weight)
    else:
        separate = rows.separate
        fold_of_row = _divide(separate, problem.options.parameters["n_folds"], rng)
        n_folds = int(fold_of_row.max()) + 1
        folds = [_as_fold(rows, rows)]  # too few rows to divide
        if n_folds > 1:
            folds = [
                _as_fold(
                    separate.take(np.flatnonzero(fold_of_row != i)).merged(),
                    separate.take(np.flatnonzero(fold_of_row == i)).merged(),
                )
                for i in range(n_folds)
            ]
    varies = _varies(problem)
    data = TrainingRows(
        rows.checked_table,
        rows.target,
        everything,
        folds,
        problem.scaling,
        problem.target_scaling,
        table,
        varies if varies.any() else None,
        problem.options.n_threads,
    )
    return data, fold_of_row


def _outputs_of_folds(trees: list[NeuralTree], X: Array, fold_of_row: IntArray) -> FloatArray:
    """Return, for each row, the outputs of the tree that was trained without it."""
    outputs = np.empty((len(X), trees[0].n_outputs))
    for i, tree in enumerate(trees):
        in_fold = fold_of_row == i
        outputs[in_fold] = tree.forward(X[in_fold]) if in_fold.any() else 0.0
    return outputs


def _divide(rows: Rows, n_folds: int, rng: np.random.Generator) -> IntArray:
    """Return the fold of each row; a single fold if there are too few rows."""
    if len(rows) < MIN_ROWS_IN_FOLD * n_folds:
        return np.zeros(len(rows), dtype=np.intp)
    return fold_of_each(rows.y, n_folds, rng)


def _as_fold(rows: Rows, validation: Rows | None = None) -> Fold:
    once = rows.one_epoch().with_mean_weight_one()
    if validation is None:
        return Fold(once.index, once.sample_weight)
    index = np.arange(len(rows), dtype=np.int32) if validation.index is None else validation.index
    return Fold(once.index, once.sample_weight, index, validation.weight)
