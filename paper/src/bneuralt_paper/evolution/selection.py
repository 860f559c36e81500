"""Selection of parents and survivors.

Several objectives are sorted by NSGA-II or NSGA-III, in the implementation of pymoo, which is
imported at its first use because that takes a while.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from bneuralt_paper._typing import FloatArray, IntArray

__all__ = ["METHODS", "survivors", "tournament"]

METHODS = ("best", "nsga2", "nsga3")


def tournament(objectives: FloatArray, n: int, rng: np.random.Generator) -> IntArray:
    """Return the winners of n binary tournaments.

    The winner is the one of two drawn candidates that dominates the other, otherwise the first.

    Examples
    --------
    >>> import numpy as np
    >>> tournament(np.array([[1.0], [2.0]]), 4, np.random.default_rng(0))
    array([0, 0, 0, 0])
    """
    pairs = rng.integers(len(objectives), size=(2, n))
    first, second = objectives[pairs[0]], objectives[pairs[1]]
    loses = (second <= first).all(axis=1) & (second < first).any(axis=1)
    winners: IntArray = np.where(loses, pairs[1], pairs[0])
    return winners


def survivors(objectives: FloatArray, n: int, method: str = "best", seed: int = 0) -> IntArray:
    """Return the positions of the n survivors.

    Parameters
    ----------
    objectives : array of shape (n_candidates, n_objectives)
        To be minimised.
    n : int
    method : {"best", "nsga2", "nsga3"}
        "best": those of the lowest first objective; of equal values, only one as long as there are
        others.
    seed : int
        Seed of the choice between equals, for NSGA-II and NSGA-III.

    Examples
    --------
    >>> import numpy as np
    >>> survivors(np.array([[3.0], [1.0], [1.0], [2.0]]), 2)
    array([1, 3])
    """
    if method == "best":
        values = objectives[:, 0]
        _, first = np.unique(values, return_index=True)
        is_copy = np.ones(values.size, dtype=bool)
        is_copy[first] = False
        return np.lexsort((values, is_copy))[:n]
    if method not in METHODS:
        raise ValueError(f"method={method!r} is not known: choose one of {', '.join(METHODS)}")
    from pymoo.core.population import Population
    from pymoo.core.problem import Problem

    candidates = Population.new("F", np.asarray(objectives, dtype=np.float64))
    for i, candidate in enumerate(candidates):
        candidate.set("position", i)
    kept = _survival(method, objectives.shape[1]).do(
        Problem(n_obj=objectives.shape[1]),
        candidates,
        n_survive=n,
        random_state=np.random.default_rng(seed),
    )
    return np.array([candidate.get("position") for candidate in kept], dtype=np.intp)


#: Number of divisions of each objective in NSGA-III.
N_PARTITIONS = {2: 24, 3: 9}


@lru_cache
def reference_directions(n_objectives: int) -> FloatArray:
    """Return the directions along which NSGA-III keeps trees apart (Das and Dennis, 1998)."""
    from pymoo.util.ref_dirs import get_reference_directions

    n_partitions = N_PARTITIONS.get(n_objectives, 4)
    directions: FloatArray = get_reference_directions(
        "das-dennis", n_objectives, n_partitions=n_partitions
    )
    return directions


def _survival(method: str, n_objectives: int) -> Any:
    # a new one each time: pymoo's NSGA-III stores extreme points of earlier calls, and a search
    # that is continued from a file has made none
    if method == "nsga2":
        from pymoo.operators.survival.rank_and_crowding import RankAndCrowding

        return RankAndCrowding()
    from pymoo.algorithms.moo.nsga3 import ReferenceDirectionSurvival

    return ReferenceDirectionSurvival(reference_directions(n_objectives))
