"""Scikit-learn estimators: single trees, forests, and their files."""

from bneuralt.estimators.evolved import EvolvedTreeClassifier, EvolvedTreeRegressor
from bneuralt.estimators.forest import BNeuralForestClassifier, BNeuralForestRegressor
from bneuralt.estimators.frameworks import from_torch, register_skl2onnx
from bneuralt.estimators.growing import Growth
from bneuralt.estimators.model_loading import load_model
from bneuralt.estimators.parameters import PAPER_SETTINGS
from bneuralt.estimators.single import BNeuralTClassifier, BNeuralTRegressor
from bneuralt.estimators.transformer import TableTransformer

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
