"""What `fit` makes: the model, its predictions and its file."""

from bneuralt.model.learning import Learning
from bneuralt.model.log_odds import log_odds_model
from bneuralt.model.model import Fitted, Model, ModelColumn, OutOfBag, TreeState
from bneuralt.model.readings import Reading, reading_of
from bneuralt.model.recipe import Recipe

__all__ = [
    "Fitted",
    "Learning",
    "Model",
    "ModelColumn",
    "OutOfBag",
    "Reading",
    "Recipe",
    "TreeState",
    "log_odds_model",
    "reading_of",
]
