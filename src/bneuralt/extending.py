"""What estimators of other packages are built from, such as HFNT and MONT of bneuralt-paper.

An estimator that searches for trees in another way inherits from `SearchedTree` and from
`Classifier` or `Regressor`, declares its parameters by `declared`, and passes a `SearchMethod` to
`fit_by_search`. The entry points ``bneuralt.estimators`` make its model files readable by
`bneuralt.load_model`.
"""

from bneuralt.declaring import Parameter, at_least
from bneuralt.estimators.classification import Classifier
from bneuralt.estimators.evolution_parameters import (
    SEARCH_PARAMETERS,
    EvolutionParameters,
    one_of,
)
from bneuralt.estimators.evolved import SearchedTree
from bneuralt.estimators.parameters import declared
from bneuralt.estimators.regression import Regressor
from bneuralt.fitting.options import Options
from bneuralt.fitting.problem import Problem
from bneuralt.fitting.rows import Rows
from bneuralt.fitting.search import Entry, SearchMethod, fit_by_search
from bneuralt.model.tasks import Classes, Labels
from bneuralt.tree.growing import GROWTH_PARAMETERS, TREE_GROWTH

__all__ = [
    "GROWTH_PARAMETERS",
    "SEARCH_PARAMETERS",
    "TREE_GROWTH",
    "Classes",
    "Classifier",
    "Entry",
    "EvolutionParameters",
    "Labels",
    "Options",
    "Parameter",
    "Problem",
    "Regressor",
    "Rows",
    "SearchMethod",
    "SearchedTree",
    "at_least",
    "declared",
    "fit_by_search",
    "one_of",
]
