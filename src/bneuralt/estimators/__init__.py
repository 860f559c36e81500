"""Scikit-learn estimators: single trees, forests, evolved trees, and their files."""

from bneuralt.estimators.evolved import EvolvedTreeClassifier, EvolvedTreeRegressor
from bneuralt.estimators.files import load_model
from bneuralt.estimators.forest import BNeuralForestClassifier, BNeuralForestRegressor
from bneuralt.estimators.frameworks import from_torch, register_skl2onnx
from bneuralt.estimators.parameters import PAPER_SETTINGS
from bneuralt.estimators.transformer import TableTransformer
from bneuralt.estimators.tree import BNeuralTClassifier, BNeuralTRegressor
from bneuralt.tree.growing import Growth

__all__ = [
    "PAPER_SETTINGS",
    "BNeuralForestClassifier",
    "BNeuralForestRegressor",
    "BNeuralTClassifier",
    "BNeuralTRegressor",
    "EvolvedTreeClassifier",
    "EvolvedTreeRegressor",
    "Growth",
    "TableTransformer",
    "from_torch",
    "load_model",
    "register_skl2onnx",
]
