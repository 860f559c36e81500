"""What a fitted model does with its features, and models with fewer weights."""

from bneuralt.explaining.explain import explain
from bneuralt.explaining.explanation import Explanation
from bneuralt.explaining.simplifying import SaturatedNode, saturated_nodes, simplify

__all__ = ["Explanation", "SaturatedNode", "explain", "saturated_nodes", "simplify"]
