"""Search of HFNT and MONT: genetic programming for structures, then differential evolution.

A search is a sequence of steps, each of which ends in a state that can be written to a file. A step
is a generation of genetic programming, or one of differential evolution, which tunes the weights of
the best tree found so far.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bneuralt.evolve import (
    Genome,
    Space,
    crossover,
    genome_of,
    mutate,
    non_dominated,
    random_genome,
)
from bneuralt.tree import NeuralTree
from bneuralt_paper._typing import FloatArray
from bneuralt_paper.evolution.differential import STRATEGIES, DifferentialEvolution
from bneuralt_paper.evolution.population import (
    PopulationScorer,
    check_objectives,
    diversities,
    weight_vectors,
)
from bneuralt_paper.evolution.selection import survivors, tournament

__all__ = ["HFNT_MUTATIONS", "GeneticSearch", "GeneticSettings"]

#: The mutations of HFNT, by their names in `bneuralt.evolve.operators`.
HFNT_MUTATIONS = ("change_leaf", "change_all_leaves", "replace_subtree", "grow_leaf")


@dataclass(frozen=True)
class GeneticSettings:
    """Settings of a genetic search.

    Parameters
    ----------
    objectives : tuple of str
        "error", and optionally "size" and "diversity".
    selection : {"nsga2", "nsga3"}
        Method that sorts several objectives.
    population_size, n_generations : int
        Of genetic programming.
    crossover_rate : float
        Share of the children that come from crossover; the others are mutations.
    tuning_size, n_tuning : int
        Members and generations of differential evolution; ``n_tuning=0`` leaves it out.
    strategy : str
        Of differential evolution.
    n_rounds : int
        Number of rounds of the two phases, among which the generations are divided.
    """

    objectives: tuple[str, ...] = ("error",)
    selection: str = "nsga2"
    population_size: int = 50
    n_generations: int = 100
    crossover_rate: float = 0.7
    mutations: tuple[str, ...] = HFNT_MUTATIONS
    tuning_size: int = 100
    n_tuning: int = 200
    strategy: str = "randtobest1bin"
    scale: float = 0.7
    tuning_crossover: float = 0.9
    n_rounds: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "objectives", check_objectives(self.objectives))
        if self.strategy not in STRATEGIES:
            raise ValueError(
                f"strategy={self.strategy!r} is not known: choose one of {', '.join(STRATEGIES)}"
            )
        if self.n_generations + self.n_tuning < 1:
            raise ValueError(
                "n_generations=0 and n_tuning=0 leave nothing to search: increase one of them"
            )
        if self.population_size < 2:
            raise ValueError(
                f"population_size={self.population_size} is too small: crossover needs 2 or more"
            )

    @property
    def method(self) -> str:
        """Method that selects survivors."""
        return "best" if len(self.objectives) == 1 else self.selection

    @property
    def schedule(self) -> list[str]:
        """The kind of each step, "structure" or "weights".

        Examples
        --------
        >>> GeneticSettings(n_generations=2, n_tuning=2, n_rounds=2).schedule
        ['structure', 'weights', 'structure', 'weights']
        """
        kinds: list[str] = []
        for i in range(self.n_rounds):
            for kind, total in (("structure", self.n_generations), ("weights", self.n_tuning)):
                n_before, n_after = (total * j // self.n_rounds for j in (i, i + 1))
                kinds += [kind] * (n_after - n_before)
        return kinds


class GeneticSearch:
    """A population of trees that is improved step by step.

    Parameters
    ----------
    space : Space
    scorer : PopulationScorer
    settings : GeneticSettings
    rng : numpy Generator
    population : list of Genome, optional
        The first generation; drawn at random by default.

    Attributes
    ----------
    population : list of Genome
    errors : array of shape (population_size,)
        Their errors.
    n_done : int
        Steps so far.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(size=(100, 3))
    >>> scorer = PopulationScorer(X, X[:, 0] * X[:, 1], np.ones(100))
    >>> space = Space(3, max_depth=3, output_activation="tanh")
    >>> settings = GeneticSettings(n_generations=10, population_size=20, n_tuning=20)
    >>> search = GeneticSearch(space, scorer, settings, np.random.default_rng(0))
    >>> before = search.errors.min()
    >>> while search.n_done < search.n_steps:
    ...     search.step()
    >>> bool(search.errors.min() < before)
    True
    """

    def __init__(
        self,
        space: Space,
        scorer: PopulationScorer,
        settings: GeneticSettings,
        rng: np.random.Generator,
        population: list[Genome] | None = None,
    ) -> None:
        self.space, self.scorer, self.settings, self.rng = space, scorer, settings, rng
        self._schedule = settings.schedule
        self.n_done = 0
        self._tuning: DifferentialEvolution | None = None
        self._tuned: NeuralTree | None = None
        self.population: list[Genome] = []
        self.errors: FloatArray = np.empty(0)
        if population is None:
            population = [random_genome(space, rng) for _ in range(settings.population_size)]
        if population:
            self.population, self.errors = population, self._errors_of(population)

    @property
    def n_steps(self) -> int:
        """Total number of steps."""
        return len(self._schedule)

    @property
    def best(self) -> Genome:
        """The tree of the lowest error so far."""
        if self._tuning is not None and self._tuning.energies[0] <= self.errors.min():
            return self._tuned_genome()
        return self.population[int(np.argmin(self.errors))]

    @property
    def best_error(self) -> float:
        """The lowest error so far."""
        lowest = float(self.errors.min())
        return lowest if self._tuning is None else min(lowest, float(self._tuning.energies[0]))

    def front(self) -> list[Genome]:
        """Return the trees that no other one dominates in error and size, sorted by size."""
        genomes, errors = list(self.population), self.errors
        if self._tuning is not None:
            genomes, errors = [*genomes, self._tuned_genome()], np.append(errors, self.best_error)
        figures = np.column_stack([errors, [genome.size for genome in genomes]])
        chosen = [genomes[i] for i in non_dominated(figures).tolist()]
        return sorted(chosen, key=lambda genome: genome.size)

    def figures(self) -> tuple[float, int]:
        """Return the lowest error so far, and the number of weights of its tree."""
        return self.best_error, self.best.n_weights

    def step(self) -> None:
        """Compute one generation of structures, or of weights."""
        before = self.rng.bit_generator.state
        was_tuning = self._tuning is not None
        try:
            if self._schedule[self.n_done] == "structure":
                self._finish_tuning()
                self._evolve()
            else:
                if self._tuning is None:
                    self._begin_tuning()
                assert self._tuning is not None
                self._tuning.step()
        except BaseException:  # Ctrl-C: a step happens in full or not at all
            self.rng.bit_generator.state = before
            if not was_tuning:
                self._tuning = self._tuned = None
            raise
        self.n_done += 1
        if self.n_done == self.n_steps:
            self._finish_tuning()

    # -- structures ----------------------------------------------------------------------

    def _evolve(self) -> None:
        n, rng = self.settings.population_size, self.rng
        objectives = self._objectives(self.population, self.errors)
        parents = tournament(objectives, 2 * n, rng).tolist()
        children = []
        for one, other in zip(parents[:n], parents[n:], strict=True):
            parent = self.population[one]
            if rng.random() < self.settings.crossover_rate:
                children.append(crossover(parent, self.population[other], self.space, rng))
            else:
                children.append(mutate(parent, self.space, rng, self.settings.mutations))
        genomes = [*self.population, *children]
        errors = np.concatenate([self.errors, self._errors_of(children)])
        seed = int(rng.integers(2**31))
        kept = survivors(self._objectives(genomes, errors), n, self.settings.method, seed)
        best = int(np.argmin(errors))
        if best not in kept:  # NSGA may lose it in a front of many
            kept[-1] = best
        self.population = [genomes[i] for i in kept.tolist()]
        self.errors = errors[kept]

    def _objectives(self, genomes: list[Genome], errors: FloatArray) -> FloatArray:
        columns = {"error": errors}
        if "size" in self.settings.objectives:
            columns["size"] = np.array([genome.size for genome in genomes], dtype=np.float64)
        if "diversity" in self.settings.objectives:
            columns["diversity"] = 1.0 - diversities(genomes)
        figures = np.column_stack([columns[name] for name in self.settings.objectives])
        return np.minimum(figures, np.finfo(np.float64).max)  # pymoo cannot sort infinity

    def _errors_of(self, genomes: list[Genome]) -> FloatArray:
        return self.scorer.errors([genome.compiled() for genome in genomes])

    # -- weights -------------------------------------------------------------------------

    def _begin_tuning(self) -> None:
        """Start differential evolution with the best tree, and others of random weights."""
        if self._tuned is None:
            self._tuned = self.population[int(np.argmin(self.errors))].trees()[0]
        tree, settings = self._tuned, self.settings
        n_phi = tree.activation_parameters.size if tree.trains_activations else 0
        low = np.full(tree.n_parameters, float(self.space.low))
        high = np.full(tree.n_parameters, float(self.space.high))
        if n_phi:
            low[-n_phi:], high[-n_phi:] = 0.0, 1.0
        members = self.rng.uniform(low, high, (settings.tuning_size, low.size))
        members[0] = tree.parameters
        self._tuning = DifferentialEvolution(
            lambda vectors: self.scorer.errors(weight_vectors(tree, vectors)),
            members,
            low,
            high,
            settings.strategy,
            settings.scale,
            settings.tuning_crossover,
            rng=self.rng,
        )

    def _tuned_genome(self) -> Genome:
        assert self._tuning is not None and self._tuned is not None
        return genome_of(self._tuned, self._tuning.best.astype(np.float32))

    def _finish_tuning(self) -> None:
        """Replace the worst tree of the population by the tuned one."""
        if self._tuning is None:
            return
        place = int(np.argmax(self.errors))
        self.population[place] = self._tuned_genome()
        self.errors[place] = self._tuning.energies[0]
        self._tuning = self._tuned = None

    # -- files ---------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return the state for `restore`, as JSON values."""
        tuning = None
        if self._tuning is not None and self._tuned is not None:
            tuning = {"tree": self._tuned.to_dict(), **self._tuning.state()}
        return {
            "n_done": self.n_done,
            "rng": self.rng.bit_generator.state,
            "population": [genome.trees()[0].to_dict() for genome in self.population],
            "tuning": tuning,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a state, from which the search continues exactly."""
        self.population = [genome_of(NeuralTree.from_dict(tree)) for tree in state["population"]]
        self.errors = self._errors_of(self.population)
        self.n_done = int(state["n_done"])
        self._tuning = self._tuned = None
        if state["tuning"] is not None:
            self._tuned = NeuralTree.from_dict(state["tuning"]["tree"])
            self._begin_tuning()
            assert self._tuning is not None
            self._tuning.restore(state["tuning"])
        self.rng.bit_generator.state = state["rng"]
