"""Search for the structure of trees by evolution, with weights that are trained."""

from bneuralt.evolve.checkpoint import CheckpointError
from bneuralt.evolve.genome import Genome, genome_of
from bneuralt.evolve.memetic import MemeticSearch, MemeticSettings
from bneuralt.evolve.operators import Space, crossover, mutate, random_genome
from bneuralt.evolve.pareto import non_dominated
from bneuralt.evolve.search_loop import GenerationState

__all__ = [
    "CheckpointError",
    "GenerationState",
    "Genome",
    "MemeticSearch",
    "MemeticSettings",
    "Space",
    "crossover",
    "genome_of",
    "mutate",
    "non_dominated",
    "random_genome",
]
