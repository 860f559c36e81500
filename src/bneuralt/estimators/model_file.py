"""Writing of model files: a fitted estimator as JSON, with everything that predictions need.

The format is described in docs/format.md; `model_loading` reads it.
"""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np

from bneuralt import __version__
from bneuralt._typing import Array
from bneuralt.estimators.edits import edits_to_store
from bneuralt.estimators.kinds import kind_of
from bneuralt.files import format_json, write_atomically
from bneuralt.registry import Registered
from bneuralt.tree import NeuralTree
from bneuralt.tree.sampling import FeatureSampler
from bneuralt.values import Values

__all__ = ["MODEL_FORMAT", "MODEL_VERSION", "model_to_dict", "save_model"]

MODEL_FORMAT = "bneuralt-model"
MODEL_VERSION = 3


def save_model(model: Any, path: str | PathLike[str], extra: dict[str, Any] | None = None) -> None:
    """Write a fitted estimator to a JSON file, in full or not at all.

    Parameters
    ----------
    model : estimator
        A fitted tree or forest of this library.
    path : str or path-like
    extra : dict, optional
        Any other content that JSON can represent; the loaded model has it as `extra_`.
    """
    write_atomically(path, format_json(model_to_dict(model, extra)) + "\n")


def model_to_dict(model: Any, extra: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the content of the file of a fitted estimator; see `save_model`."""
    names = getattr(model, "feature_names_in_", None)
    edits = edits_to_store(model)
    return {
        "format": MODEL_FORMAT,
        "version": MODEL_VERSION,
        "bneuralt": __version__,
        "kind": kind_of(model),
        "settings": {
            name: _to_plain(value) for name, value in model.get_params(deep=False).items()
        },
        "n_features": int(model.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
        "encoder": model.encoder_.to_plain(),
        "ranges": _ranges(model.encoder_),
        "classes": _classes_to_dict(model.classes_) if hasattr(model, "classes_") else None,
        "targets": {
            "n_columns": int(getattr(model, "n_outputs_", 1)),
            "multilabel": bool(getattr(model, "multilabel_", False)),
        },
        "target_names": list(model.target_names_) or None,
        "calibration": _calibration_to_dict(getattr(model, "calibration_", None)),
        "trees": [
            _member_to_dict(member, tree)
            for member in getattr(model, "estimators_", [model])
            for tree in member._trees
        ],
        "training": _training_to_dict(model),
        "history": _history_to_dict(vars(model).get("history_")),  # not that of forests
        "importances": None if model._importances is None else model._importances.tolist(),
        "reference": None if model._reference is None else model._reference.tolist(),
        **({"edits": edits} if edits else {}),
        "training_rows": None if model._fingerprints is None else model._fingerprints.to_dict(),
        "extra": extra or {},
    }


# -- parts of a model ---------------------------------------------------------------------


def _member_to_dict(member: Any, tree: NeuralTree) -> dict[str, Any]:
    return {
        "random_state": _to_plain(member.random_state),
        "n_iter": int(member.n_iter_),
        "best_epoch": None if member.best_epoch_ is None else int(member.best_epoch_),
        "tree": tree.to_dict(),
    }


def _training_to_dict(model: Any) -> dict[str, Any] | None:
    """Return what further training of a single tree needs; None if it is not known."""
    trained = getattr(model, "_trained_tree", None)
    if trained is None or not _have_equal_shapes(trained, model.tree_):
        return None
    return {
        "parameters": trained.parameters.tolist(),
        "inputs": _scaling_to_dict(model._input_scaling),
        "target": _scaling_to_dict(model._target_scaling),
        "decay_factor": model._choice.decay_factor,
    }


def _have_equal_shapes(a: NeuralTree, b: NeuralTree) -> bool:
    """Return whether trees differ in their weights only: a scaled target may have added nodes."""
    names = ("parent", "activation", "leaf_parent", "leaf_input")
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in names)


def _scaling_to_dict(scaling: Any) -> dict[str, Any] | None:
    return None if scaling is None else {k: v.tolist() for k, v in scaling._asdict().items()}


def _ranges(encoder: Any) -> list[Any] | None:
    if encoder.ranges is None:
        return None
    return [None if entry is None else list(entry) for entry in encoder.ranges]


def _history_to_dict(history: Any) -> dict[str, Any] | None:
    """Return learning curves with six digits, which is enough for drawings."""
    if history is None:
        return None
    return {name: list(map(_six_digits, values)) for name, values in history.items()}


def _six_digits(x: float) -> float | None:
    return float(f"{x:.6g}") if np.isfinite(x) else None


def _calibration_to_dict(calibration: Any) -> dict[str, Any] | None:
    if calibration is None:
        return None
    return {
        "residuals": calibration.residuals.tolist(),
        "weight": calibration.weight.tolist(),
    }


def _classes_to_dict(classes: Array) -> dict[str, Any]:
    if classes.dtype.kind not in "biufUO":
        raise TypeError(f"labels of type {classes.dtype} cannot be written to a model file")
    kind = "str" if classes.dtype.kind == "U" else classes.dtype.name
    return {"dtype": kind, "labels": [_to_plain(label) for label in classes.tolist()]}


# -- settings -----------------------------------------------------------------------------


def _to_plain(value: Any) -> Any:
    """Return a setting as JSON can represent it, None for functions and random generators."""
    if isinstance(value, (Registered, FeatureSampler)):
        return value.to_dict()
    if isinstance(value, Values):
        fields = {name: _to_plain(part) for name, part in value.get_params().items()}
        return {name: part for name, part in fields.items() if part != "auto"}
    if isinstance(value, dict):  # as pairs: the keys of a JSON object would become texts
        return [[_to_plain(label), _to_plain(weight)] for label, weight in value.items()]
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (set, frozenset)):
        return [_to_plain(entry) for entry in sorted(value)]
    if isinstance(value, (list, tuple, range)):
        return [_to_plain(entry) for entry in value]
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, str | int | float | bool) else None
