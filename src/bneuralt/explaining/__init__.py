"""What a fitted model does with its features, and models with fewer weights."""

from bneuralt.explaining.simplifying import SaturatedNode, saturated_nodes, simplify

__all__ = ["SaturatedNode", "saturated_nodes", "simplify"]
