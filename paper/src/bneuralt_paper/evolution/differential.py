"""Differential evolution of weight vectors, all members of a generation at once.

The steps and the order in which numbers are drawn are those of `scipy.optimize.
differential_evolution` with ``updating="deferred"``, so that the same seed and strategy give the
same members. Unlike there, a generation is a method call: a search can be monitored, stopped and
continued between any two of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bneuralt_paper._typing import Array, FloatArray, IntArray

__all__ = ["STRATEGIES", "DifferentialEvolution"]

#: Returns the mutants: (population, whose first member is the best, samples, scale).
Mutant = Callable[[Array, IntArray, float], Array]


def _best1(population: Array, r: IntArray, scale: float) -> Array:
    return population[0] + scale * (population[r[0]] - population[r[1]])


def _rand1(population: Array, r: IntArray, scale: float) -> Array:
    return population[r[0]] + scale * (population[r[1]] - population[r[2]])


def _randtobest1(population: Array, r: IntArray, scale: float) -> Array:
    mutants = population[r[0]].copy()
    mutants += scale * (population[0] - mutants)
    mutants += scale * (population[r[1]] - population[r[2]])
    return mutants


def _currenttobest1(population: Array, r: IntArray, scale: float) -> Array:
    difference = population[0] - population + population[r[0]] - population[r[1]]
    return population + scale * difference


def _best2(population: Array, r: IntArray, scale: float) -> Array:
    difference = population[r[0]] + population[r[1]] - population[r[2]] - population[r[3]]
    return population[0] + scale * difference


def _rand2(population: Array, r: IntArray, scale: float) -> Array:
    difference = population[r[1]] + population[r[2]] - population[r[3]] - population[r[4]]
    return population[r[0]] + scale * difference


_MUTANTS: dict[str, Mutant] = {
    "best1": _best1,
    "rand1": _rand1,
    "randtobest1": _randtobest1,
    "currenttobest1": _currenttobest1,
    "best2": _best2,
    "rand2": _rand2,
}
#: Names of the strategies, as in SciPy.
STRATEGIES = tuple(f"{name}{kind}" for kind in ("bin", "exp") for name in _MUTANTS)

#: A mutant is made of up to five other members.
N_SAMPLES = 5


class DifferentialEvolution:
    """A population of vectors that minimises a function.

    Parameters
    ----------
    energies_of : callable
        Returns the value of each row of an array of shape (n_members, n_numbers).
    members : array of shape (n_members, n_numbers)
        The first generation, of 6 members or more.
    low, high : float or array of shape (n_numbers,)
        Bounds; numbers outside of them are drawn again between them.
    strategy : str
        One of `STRATEGIES`. "randtobest1bin" is that of HFNT.
    scale, crossover : float
        F and cr.
    rng : numpy Generator

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> search = DifferentialEvolution(
    ...     lambda x: np.square(x - 0.3).sum(axis=1), rng.uniform(-1, 1, (20, 3)), -1, 1, rng=rng)
    >>> for _ in range(60):
    ...     search.step()
    >>> search.best.round(2)
    array([0.3, 0.3, 0.3])
    """

    def __init__(
        self,
        energies_of: Callable[[FloatArray], FloatArray],
        members: FloatArray,
        low: Any,
        high: Any,
        strategy: str = "randtobest1bin",
        scale: float = 0.7,
        crossover: float = 0.9,
        *,
        rng: np.random.Generator,
    ) -> None:
        if strategy not in STRATEGIES:
            raise ValueError(
                f"strategy={strategy!r} is not known: choose one of {', '.join(STRATEGIES)}"
            )
        members = np.asarray(members, dtype=np.float64)
        if members.ndim != 2 or len(members) < N_SAMPLES + 1:
            raise ValueError(
                f"members has shape {members.shape}: differential evolution needs a table of at "
                f"least {N_SAMPLES + 1} vectors"
            )
        self._energies_of = energies_of
        low, high = np.broadcast_arrays(low, high, np.zeros(members.shape[1]))[:2]
        # the numbers are kept in units of the bounds, in SciPy's form, so that they round alike
        self._centre, self._span = 0.5 * (low + high), np.abs(low - high)
        self._mutants_of = _MUTANTS[strategy[:-3]]
        self._is_binomial = strategy.endswith("bin")
        self._scale, self._crossover, self._rng = scale, crossover, rng
        per_unit = 1.0 / np.where(self._span > 0, self._span, np.inf)
        self._members = np.clip((members - self._centre) * per_unit + 0.5, 0, 1)
        self._order = np.arange(len(members))
        self.energies = self._evaluate(self._members)
        self._promote_best()

    @property
    def best(self) -> FloatArray:
        """The best vector so far."""
        return self._vectors(self._members[0])

    @property
    def members(self) -> FloatArray:
        """All vectors, the best one first."""
        return self._vectors(self._members)

    def state(self) -> dict[str, Any]:
        """Return the state for `restore`, as JSON values."""
        return {"members": self._members.tolist(), "order": self._order.tolist()}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a state, except that of the generator of random numbers."""
        self._members = np.array(state["members"], dtype=np.float64)
        self._order = np.array(state["order"])
        self.energies = self._evaluate(self._members)

    def step(self) -> None:
        """Compute one generation."""
        before = self._order.copy()
        try:
            trials, energies = self._judged_trials()
        except BaseException:  # Ctrl-C: a step happens in full or not at all
            self._order = before
            raise
        better = energies <= self.energies
        self._members = np.where(better[:, np.newaxis], trials, self._members)
        self.energies = np.where(better, energies, self.energies)
        self._promote_best()

    def _judged_trials(self) -> tuple[FloatArray, FloatArray]:
        trials = self._trials()
        outside = (trials > 1) | (trials < 0)
        if n_outside := int(np.count_nonzero(outside)):
            trials[outside] = self._rng.uniform(size=n_outside)
        return trials, self._evaluate(trials)

    def _trials(self) -> FloatArray:
        n_members, n_numbers = self._members.shape
        samples = np.empty((n_members, N_SAMPLES), dtype=np.intp)
        for i in range(n_members):
            self._rng.shuffle(self._order)
            drawn = self._order[: N_SAMPLES + 1]
            samples[i] = drawn[drawn != i][:N_SAMPLES]
        mutants = self._mutants_of(self._members, samples.T, self._scale)
        first = self._rng.integers(n_numbers, size=n_members)
        crosses = self._rng.uniform(size=(n_members, n_numbers)) < self._crossover
        if self._is_binomial:
            crosses[np.arange(n_members), first] = True
            return np.where(crosses, mutants, self._members)
        # exponential: a run of numbers from `first` on, wrapped around, as long as all cross
        crosses[:, 0] = True
        run_length = np.where(crosses.all(axis=1), n_numbers, crosses.argmin(axis=1))
        offset = (np.arange(n_numbers) - first[:, np.newaxis]) % n_numbers
        return np.where(offset < run_length[:, np.newaxis], mutants, self._members)

    def _evaluate(self, members: FloatArray) -> FloatArray:
        energies = np.asarray(self._energies_of(self._vectors(members)), dtype=np.float64)
        return np.where(np.isnan(energies), np.inf, energies)

    def _vectors(self, members: FloatArray) -> FloatArray:
        vectors: FloatArray = self._centre + (members - 0.5) * self._span
        return vectors

    def _promote_best(self) -> None:
        """Put the best member first."""
        best = int(np.argmin(self.energies))
        self.energies[[0, best]] = self.energies[[best, 0]]
        self._members[[0, best]] = self._members[[best, 0]]
