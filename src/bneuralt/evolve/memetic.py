"""Memetic search: structures evolve, weights are inherited and trained by backpropagation.

Every new tree gets a short training that starts from the weights of its parents. It is scored by
cross-validation: a tree has a set of weights for each fold, which are never trained on the rows of
that fold, and a final set, which is trained on all rows. During the training on all rows, leaves
move to inputs with large gradients.

The trees that survive are the best ones of each size, so that a search ends with a front: for each
number of weights, the lowest loss.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.evolve.genome import Genome, genome_of
from bneuralt.evolve.operators import MUTATIONS, Space, crossover, mutate
from bneuralt.evolve.pareto import non_dominated
from bneuralt.training import TrainingJob, TrainingResult, TrainingSettings, train_many
from bneuralt.tree import NeuralTree

__all__ = ["Fold", "MemeticSearch", "MemeticSettings", "TrainingRows"]


class Fold(NamedTuple):
    """Training and validation rows, as positions in the table, with their weights.

    Without validation rows, those of a validation table are used.
    """

    rows: IntArray | None
    weight: FloatArray | None
    validation_rows: IntArray | None = None
    validation_weight: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The table of a search and its folds.

    Parameters
    ----------
    X, y : arrays
        As `train_many` takes them.
    everything : Fold
        All rows, to train the final weights on.
    folds : list of Fold
    input_scaling, target_scaling : tuple (offset, factor), optional
    validation : tuple (X, y), optional
        A table of validation rows, if they are not folds of the table.
    may_move_to : bool array, optional
        Inputs that leaves may move to.
    n_threads : int
        It never changes a result.
    """

    X: Any
    y: Array
    everything: Fold
    folds: list[Fold]
    input_scaling: Any = None
    target_scaling: Any = None
    validation: tuple[Any, ...] | None = None
    may_move_to: Array | None = None
    n_threads: int = 1

    def train(
        self,
        trees: Sequence[NeuralTree],
        folds: Sequence[Fold],
        settings: TrainingSettings,
        seed: int,
        stop: Callable[[], Any] | None = None,
    ) -> list[TrainingResult]:
        """Train trees in one call, each on its fold."""
        jobs = [
            TrainingJob(
                tree,
                settings,
                seed,
                rows=fold.rows,
                sample_weight=fold.weight,
                validation_rows=fold.validation_rows,
                validation_weight=fold.validation_weight,
                input_scaling=self.input_scaling,
                target_scaling=self.target_scaling,
                may_move_to=self.may_move_to,
            )
            for tree, fold in zip(trees, folds, strict=True)
        ]
        return train_many(
            jobs, self.X, self.y, validation=self.validation, n_threads=self.n_threads, stop=stop
        )


@dataclass(frozen=True)
class MemeticSettings:
    """Settings of a memetic search.

    Parameters
    ----------
    population_size, n_generations : int
        Each generation has `population_size` children.
    crossover_rate : float
        Share of the children that come from crossover, half of which are also mutated.
    training : TrainingSettings
        Settings of the training of each child.
    first_epochs : int
        Epochs of the trees of the first generation.
    """

    population_size: int = 40
    n_generations: int = 25
    crossover_rate: float = 0.4
    training: TrainingSettings = field(default_factory=TrainingSettings)
    first_epochs: int = 40


class Candidate(NamedTuple):
    """A trained tree with its figures on the rows of the folds."""

    genome: Genome
    loss: float
    error: float

    @property
    def n_weights(self) -> int:
        """Number of weights."""
        return self.genome.n_weights


class MemeticSearch:
    """A population of trees that are varied, trained and scored.

    Parameters
    ----------
    space : Space
        Its `n_copies` is the number of folds and one more, for the weights of all rows.
    rows : TrainingRows
    settings : MemeticSettings
    rng : numpy Generator

    Attributes
    ----------
    population : list of Candidate
    n_done : int
        Generations so far.
    """

    def __init__(
        self, space: Space, rows: TrainingRows, settings: MemeticSettings, rng: np.random.Generator
    ) -> None:
        self.space, self.rows, self.settings, self.rng = space, rows, settings, rng
        self.population: list[Candidate] = []
        self.n_done = 0

    @property
    def n_steps(self) -> int:
        """Generations in all, the first one included."""
        return 1 + self.settings.n_generations

    @property
    def best(self) -> Candidate:
        """The tree of the lowest loss so far."""
        return min(self.population, key=lambda candidate: candidate.loss)

    def front(self) -> list[Candidate]:
        """Return the trees that no other one dominates in loss and size, sorted by size."""
        figures = np.array([(c.loss, c.n_weights) for c in self.population])
        front = [self.population[i] for i in non_dominated(figures).tolist()]
        return sorted(front, key=lambda candidate: candidate.n_weights)

    def step(self) -> None:
        """Compute one generation."""
        before = self.rng.bit_generator.state
        training = self.settings.training
        try:
            if self.n_done == 0:
                training = training.set_params(max_epochs=self.settings.first_epochs)
                trained = self._trained(self._first_genomes(), training)
            else:
                trained = self._trained(self._children(), training)
        except BaseException:  # Ctrl-C: a step happens in full or not at all
            self.rng.bit_generator.state = before
            raise
        self.population = self._survivors([*self.population, *trained])
        self.n_done += 1

    def figures(self) -> tuple[float, int]:
        """Return the lowest loss so far, and the number of weights of its tree."""
        return self.best.loss, self.best.n_weights

    # -- files ---------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return the state for `restore`, as JSON values."""
        return {
            "n_done": self.n_done,
            "rng": self.rng.bit_generator.state,
            "population": [
                {
                    "trees": [tree.to_dict() for tree in candidate.genome.trees()],
                    "loss": candidate.loss,
                    "error": candidate.error,
                }
                for candidate in self.population
            ],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a state, from which the search continues exactly."""
        population = []
        for entry in state["population"]:
            trees = [NeuralTree.from_dict(tree) for tree in entry["trees"]]
            weights = np.array([tree.parameters for tree in trees])
            population.append(
                Candidate(
                    genome_of(trees[-1], weights), float(entry["loss"]), float(entry["error"])
                )
            )
        self.population, self.n_done = population, int(state["n_done"])
        self.rng.bit_generator.state = state["rng"]

    # -- variation -----------------------------------------------------------------------

    def _first_genomes(self) -> list[Genome]:
        """Draw trees of all sizes between the smallest and the largest."""
        n, space = self.settings.population_size, self.space
        most = space.max_weights
        assert most is not None
        sizes = np.linspace(min(most, 2 * space.least_weights), most, n).astype(int)
        drawn = []
        for size in sizes.tolist():
            genome = self._drawn(size)
            while not space.holds(genome) and size > space.least_weights:  # too many nodes
                size = max(space.least_weights, size - 1)
                genome = self._drawn(size)
            drawn.append(genome)
        return drawn

    def _drawn(self, n_weights: int) -> Genome:
        space = self.space
        tree = NeuralTree.random(
            space.n_inputs,
            space.n_outputs,
            space.max_depth,
            space.max_children,
            min_children=space.min_children,
            n_weights=n_weights,
            deepen=False,
            init_scale=space.scale or 1.0,
            activation=space.activation,
            output_activation=space.output_activation,
            feature_sampling=space.feature_chances,
            random_state=self.rng,
        )
        return genome_of(tree, np.repeat(tree.parameters[np.newaxis], space.n_copies, axis=0))

    def _children(self) -> list[Genome]:
        rng, space = self.rng, self.space
        names = tuple(MUTATIONS)
        children: list[Genome] = []
        while len(children) < self.settings.population_size:
            child = self._parent()
            if rng.random() < self.settings.crossover_rate:
                child = crossover(child, self._parent(), space, rng)
                if rng.random() < 0.5:
                    child = mutate(child, space, rng, names)
            else:
                child = mutate(child, space, rng, names)
            children.append(child)
        return children

    def _parent(self) -> Genome:
        """Return the winner of a tournament: the lower loss at no more weights, or the first."""
        i, j = self.rng.integers(len(self.population), size=2).tolist()
        one, other = self.population[i], self.population[j]
        loses = other.loss < one.loss and other.n_weights <= one.n_weights
        return other.genome if loses else one.genome

    # -- selection -----------------------------------------------------------------------

    def _survivors(self, candidates: list[Candidate]) -> list[Candidate]:
        """Return the best trees for their size, front after front."""
        n = self.settings.population_size
        losses = np.array([candidate.loss for candidate in candidates])
        weights = np.array([candidate.n_weights for candidate in candidates])
        left = np.lexsort((weights, losses))
        kept: list[int] = []
        while left.size and len(kept) < n:
            figures = np.column_stack([losses[left], weights[left]])
            front = left[non_dominated(figures)]
            kept.extend(front[np.argsort(losses[front], kind="stable")].tolist())
            left = left[~np.isin(left, front)]
        return [candidates[i] for i in kept[:n]]

    # -- training ------------------------------------------------------------------------

    def _trained(self, genomes: list[Genome], settings: TrainingSettings) -> list[Candidate]:
        """Train all copies of the weights, and score them on the rows of their folds."""
        seed = int(self.rng.integers(2**62))
        copies = [genome.trees() for genome in genomes]
        rows, n_folds = self.rows, len(self.rows.folds)
        whole = rows.train(
            [trees[-1] for trees in copies], [rows.everything] * len(copies), settings, seed
        )
        still = settings.set_params(leaf_moves=0)
        starts = [
            start
            for trees, result in zip(copies, whole, strict=True)
            for start in _with_moved_leaves(trees[:-1], result)
        ]
        parts = rows.train(starts, rows.folds * len(copies), still, seed)
        share = np.array([_total(fold) for fold in rows.folds])
        share /= share.sum()
        candidates = []
        for i, result in enumerate(whole):
            fold_results = parts[i * n_folds : (i + 1) * n_folds]
            weights = [part.tree.parameters for part in fold_results] + [result.tree.parameters]
            loss, error = (
                float(np.array([_last(part, name) for part in fold_results]) @ share)
                for name in ("val_loss", "val_error")
            )
            if np.isfinite(loss) and result.status != "diverged":
                candidates.append(Candidate(genome_of(result.tree, np.array(weights)), loss, error))
        return candidates


def _with_moved_leaves(trees: Sequence[NeuralTree], moved: TrainingResult) -> list[NeuralTree]:
    """Return trees whose leaves have the inputs of a trained one; moved leaves have weight 0."""
    after = moved.tree
    changed = np.flatnonzero(after.leaf_input != trees[0].leaf_input)
    if not changed.size:
        return list(trees)
    first = 2 * after.parent.size - after.n_outputs
    result = []
    for tree in trees:
        weights = tree.parameters.copy()
        weights[first + changed] = 0.0
        result.append(after.with_parameters(weights))
    return result


def _last(result: TrainingResult, name: str) -> float:
    figures = result.history[name]
    usable = figures.size and result.status != "diverged"
    return float(figures[-1]) if usable else float("inf")


def _total(fold: Fold) -> float:
    """Return the total weight of the validation rows of a fold."""
    if fold.validation_weight is not None:
        return float(fold.validation_weight.sum())
    if fold.validation_rows is not None:
        return float(len(fold.validation_rows))
    return 1.0
