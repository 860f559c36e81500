"""Explanations of models: contributions to predictions, importances, proofs of monotone effects."""

from bneuralt.explaining.explain import explain
from bneuralt.explaining.explanation import Explanation
from bneuralt.explaining.global_views import (
    FeatureUse,
    Stability,
    feature_use,
    importance_stability,
)
from bneuralt.explaining.importances import mean_contributions
from bneuralt.explaining.proofs import MonotonicProof, check_monotonic

__all__ = [
    "Explanation",
    "FeatureUse",
    "MonotonicProof",
    "Stability",
    "check_monotonic",
    "explain",
    "feature_use",
    "importance_stability",
    "mean_contributions",
]
