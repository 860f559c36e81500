"""Search for the structure of trees: genetic programming, differential evolution, and training."""

from bneuralt.evolve.checkpoint import CheckpointError
from bneuralt.evolve.differential import DifferentialEvolution
from bneuralt.evolve.genetic import GeneticSearch, GeneticSettings
from bneuralt.evolve.genome import Genome, genome_of
from bneuralt.evolve.memetic import MemeticSearch, MemeticSettings
from bneuralt.evolve.operators import Space, crossover, mutate, random_genome
from bneuralt.evolve.population import Judge, weight_vectors
from bneuralt.evolve.search import GenerationState
from bneuralt.evolve.selection import survivors, tournament

__all__ = [
    "CheckpointError",
    "DifferentialEvolution",
    "GenerationState",
    "GeneticSearch",
    "GeneticSettings",
    "Genome",
    "Judge",
    "MemeticSearch",
    "MemeticSettings",
    "Space",
    "crossover",
    "genome_of",
    "mutate",
    "random_genome",
    "survivors",
    "tournament",
    "weight_vectors",
]
