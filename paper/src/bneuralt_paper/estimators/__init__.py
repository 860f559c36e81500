"""HFNT and MONT as scikit-learn estimators."""

from bneuralt_paper.estimators.hfnt import HFNTClassifier, HFNTRegressor
from bneuralt_paper.estimators.mont import MONTClassifier, MONTRegressor

__all__ = ["HFNTClassifier", "HFNTRegressor", "MONTClassifier", "MONTRegressor"]
