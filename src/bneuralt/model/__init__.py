"""The description of a fitted model: what estimators make and everything else reads."""

from bneuralt.model.description import Model, ModelColumn

__all__ = ["Model", "ModelColumn"]
