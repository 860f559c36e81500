"""What a fitted model does with its features, and models with fewer weights."""

from bneuralt.explaining.compact import CompactCurve, CompactResult, compact
from bneuralt.explaining.explain import explain
from bneuralt.explaining.explanation import Explanation
from bneuralt.explaining.global_views import (
    FeatureUse,
    Stability,
    feature_use,
    importance_stability,
)
from bneuralt.explaining.simplifying import SaturatedNode, saturated_nodes, simplify

__all__ = [
    "CompactCurve",
    "CompactResult",
    "Explanation",
    "FeatureUse",
    "SaturatedNode",
    "Stability",
    "compact",
    "explain",
    "feature_use",
    "importance_stability",
    "saturated_nodes",
    "simplify",
]
