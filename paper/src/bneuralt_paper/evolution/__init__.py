"""Genetic programming for structures, differential evolution for weights."""

from bneuralt_paper.evolution.differential import DifferentialEvolution
from bneuralt_paper.evolution.population import Judge
from bneuralt_paper.evolution.search import GeneticSearch, GeneticSettings

__all__ = ["DifferentialEvolution", "GeneticSearch", "GeneticSettings", "Judge"]
