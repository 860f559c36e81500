"""What a fitted model does with its features, and models with fewer weights."""

from bneuralt.explaining.compact import CompactCurve, CompactResult, compact
from bneuralt.explaining.explain import explain
from bneuralt.explaining.explanation import Explanation
from bneuralt.explaining.simplifying import SaturatedNode, saturated_nodes, simplify

__all__ = [
    "CompactCurve",
    "CompactResult",
    "Explanation",
    "SaturatedNode",
    "compact",
    "explain",
    "saturated_nodes",
    "simplify",
]
