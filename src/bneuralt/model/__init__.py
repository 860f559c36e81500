"""The description of a fitted model: what estimators make and everything else reads."""

from bneuralt.model.description import Model, ModelColumn
from bneuralt.model.learning import Learning

__all__ = ["Learning", "Model", "ModelColumn"]
