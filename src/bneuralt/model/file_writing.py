"""Writing of model files: a model as JSON, with everything that predictions and training need.

The format is described in docs/format.md; `file_reading` reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bneuralt import __version__
from bneuralt._typing import Array
from bneuralt.frozen_settings import FrozenSettings
from bneuralt.model.model import Model, TreeState
from bneuralt.model.recipe import Recipe
from bneuralt.model.scaling import Scaling
from bneuralt.registry import Registered
from bneuralt.tree import NeuralTree
from bneuralt.tree.sampling import FeatureSampler

__all__ = ["MODEL_FORMAT", "MODEL_VERSION", "model_to_dict"]

MODEL_FORMAT = "bneuralt-model"
MODEL_VERSION = 4


def model_to_dict(
    model: Model,
    settings: Mapping[str, Any],
    edits: Any = None,
    extra: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the content of the file of a model.

    Parameters
    ----------
    model : Model
    settings : mapping
        Parameters of the estimator.
    edits : list, optional
        What was edited by hand.
    extra : dict, optional
        Any other content that JSON can represent.
    """
    if not model.can_learn:
        model = model.in_raw_units()
    encoder, task, loss = model.encoder, model.target, model.loss
    assert task is not None
    states = model.states or (TreeState(),) * len(model.trees)
    history = states[0].history if len(model.trees) == 1 else None  # not those of forests
    calibration, prints = model.calibration, model.fingerprints
    return {
        "format": MODEL_FORMAT,
        "version": MODEL_VERSION,
        "bneuralt": __version__,
        "kind": model.kind,
        "settings": {name: to_plain(value) for name, value in settings.items()},
        "recipe": None if model.recipe is None else _recipe_to_dict(model.recipe),
        "n_features": len(encoder.features),
        "feature_names": None if encoder.names is None else list(encoder.names),
        "encoder": encoder.to_plain(),
        "ranges": _ranges(encoder),
        "classes": None if task.classes is None else _classes_to_dict(task.classes),
        "targets": {"n_columns": task.n_columns, "multilabel": task.kind == "labels"},
        "target_names": list(model.target_names) or None,
        "loss": None if loss is None else loss.to_dict(),
        "constraints": list(model.constraints) or None,
        "interaction_sets": _sets(model.interaction_sets),
        "calibration": None if calibration is None else _arrays_to_dict(calibration._asdict()),
        "trees": [
            _tree_to_dict(tree, state) for tree, state in zip(model.trees, states, strict=True)
        ],
        "training": _training_to_dict(model),
        "history": _history_to_dict(history),
        "importances": None if model.importances is None else model.importances.tolist(),
        "reference": None if model.reference is None else model.reference.tolist(),
        **({"edits": edits} if edits else {}),
        "training_rows": None if prints is None else prints.to_dict(),
        "extra": dict(extra or {}),
    }


# -- parts of a model ---------------------------------------------------------------------


def _tree_to_dict(tree: NeuralTree, state: TreeState) -> dict[str, Any]:
    return {
        "random_state": to_plain(state.seed),
        "n_iter": int(state.n_iter),
        "best_epoch": None if state.best_epoch is None else int(state.best_epoch),
        **({} if state.sample is None else {"sample": state.sample}),
        "tree": tree.to_dict(),
    }


def _training_to_dict(model: Model) -> dict[str, Any] | None:
    """Return what further training needs; None if it is not known."""
    if not model.can_learn:
        return None
    return {
        "units": "raw" if model.is_raw else "scaled",
        "inputs": _scaling_to_dict(model.scaling),
        "target": _scaling_to_dict(model.target_scaling),
    }


def _scaling_to_dict(scaling: Scaling | None) -> dict[str, Any] | None:
    return None if scaling is None else _arrays_to_dict(scaling._asdict())


def _arrays_to_dict(arrays: Mapping[str, Array]) -> dict[str, Any]:
    return {name: array.tolist() for name, array in arrays.items()}


def _sets(sets: Any) -> list[list[int]] | None:
    return None if sets is None else [list(each) for each in sets]


def _ranges(encoder: Any) -> list[Any] | None:
    if encoder.ranges is None:
        return None
    return [None if entry is None else list(entry) for entry in encoder.ranges]


def _recipe_to_dict(recipe: Recipe) -> dict[str, Any]:
    return {
        "values": {name: to_plain(value) for name, value in recipe.values.items()},
        "reasons": dict(recipe.reasons),
        "seed": int(recipe.seed),
    }


def _history_to_dict(history: Any) -> dict[str, Any] | None:
    """Return learning curves with six digits, which is enough for drawings."""
    if not history:
        return None
    return {name: list(map(_six_digits, values)) for name, values in history.items()}


def _six_digits(x: float) -> float | None:
    return float(f"{x:.6g}") if np.isfinite(x) else None


def _classes_to_dict(classes: Array) -> dict[str, Any]:
    if classes.dtype.kind not in "biufUO":
        raise TypeError(f"labels of type {classes.dtype} cannot be written to a model file")
    kind = "str" if classes.dtype.kind == "U" else classes.dtype.name
    return {"dtype": kind, "labels": [to_plain(label) for label in classes.tolist()]}


# -- settings -----------------------------------------------------------------------------


def to_plain(value: Any) -> Any:
    """Return a setting as JSON can represent it, None for functions and random generators."""
    if isinstance(value, (Registered, FeatureSampler)):
        return value.to_dict()
    if isinstance(value, FrozenSettings):
        fields = {name: to_plain(part) for name, part in value.get_params().items()}
        return {name: part for name, part in fields.items() if part != "auto"}
    if isinstance(value, dict):  # as pairs: the keys of a JSON object would become texts
        return [[to_plain(label), to_plain(weight)] for label, weight in value.items()]
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (set, frozenset)):
        return [to_plain(entry) for entry in sorted(value)]
    if isinstance(value, (list, tuple, range)):
        return [to_plain(entry) for entry in value]
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, str | int | float | bool) else None
