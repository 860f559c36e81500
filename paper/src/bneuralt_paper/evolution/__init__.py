"""Genetic programming for structures, differential evolution for weights."""

from bneuralt_paper.evolution.differential import DifferentialEvolution
from bneuralt_paper.evolution.genetic_search import GeneticSearch, GeneticSettings
from bneuralt_paper.evolution.population import PopulationScorer

__all__ = ["DifferentialEvolution", "GeneticSearch", "GeneticSettings", "PopulationScorer"]
