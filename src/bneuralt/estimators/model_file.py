"""Model files: a fitted estimator as JSON, with all that predicting needs and nothing that runs.

The format is described in docs/format.md. Every version that was ever written stays readable;
`tests/models` has files of each.
"""

from __future__ import annotations

import dataclasses
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

import bneuralt
from bneuralt.files import (
    ModelFileError,
    check_format,
    check_keys,
    format_json,
    parse_json,
    write_atomically,
)
from bneuralt.training.optimizers import Optimizer, get_optimizer
from bneuralt.tree.json_format import tree_from_dict, tree_to_dict
from bneuralt.tree.sampling import FeatureSampler, sampler_from_dict

__all__ = ["load_model", "save_model"]

MODEL_FORMAT = "bneuralt-model"
MODEL_VERSION = 1

KINDS = (
    "BNeuralTClassifier",
    "BNeuralTRegressor",
    "BNeuralForestClassifier",
    "BNeuralForestRegressor",
)
_MODEL_KEYS = (
    *("format", "version", "bneuralt", "kind", "settings"),
    *("n_features", "feature_names", "classes", "trees", "extra"),
)
_MEMBER_KEYS = ("random_state", "n_iter", "best_epoch", "tree")


def save_model(model: Any, path: str | PathLike[str], extra: dict[str, Any] | None = None) -> None:
    """Write a fitted estimator to a JSON file, in full or not at all.

    Parameters
    ----------
    model : estimator
        A fitted tree or forest of this library.
    path : str or path-like
    extra : dict, optional
        Anything else that JSON can hold; `load_model` gives it back as `extra_`.
    """
    names = getattr(model, "feature_names_in_", None)
    content = {
        "format": MODEL_FORMAT,
        "version": MODEL_VERSION,
        "bneuralt": bneuralt.__version__,
        "kind": next(cls.__name__ for cls in type(model).__mro__ if cls.__name__ in KINDS),
        "settings": {name: _to_plain(value) for name, value in model.get_params().items()},
        "n_features": int(model.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
        "classes": _classes_to_dict(model.classes_) if hasattr(model, "classes_") else None,
        "trees": [_member_to_dict(member) for member in getattr(model, "estimators_", [model])],
        "extra": extra or {},
    }
    write_atomically(path, format_json(content) + "\n")


def load_model(path: str | PathLike[str]) -> Any:
    """Read a model that `save` wrote.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    estimator
        It predicts what the saved one predicted. Its `extra_` is what was given to `save`.

    Raises
    ------
    ModelFileError
        A `ValueError` that names the file and says what is wrong with it.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from bneuralt import BNeuralTClassifier, load_model
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = BNeuralTClassifier(max_epochs=5, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     clf.save(os.path.join(folder, "iris.json"))
    ...     loaded = load_model(os.path.join(folder, "iris.json"))
    >>> bool((loaded.predict_proba(X) == clf.predict_proba(X)).all())
    True
    """
    content = Path(path).read_bytes()
    try:
        return model_from_dict(parse_json(content.decode()))
    except UnicodeDecodeError:
        raise ModelFileError(f"{path}: this is not a {MODEL_FORMAT} file: it is not text") from None
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None


def model_from_dict(data: Any) -> Any:
    """Return the model of a parsed file, trusting nothing."""
    check_format(data, MODEL_FORMAT, MODEL_VERSION)
    check_keys(data, _MODEL_KEYS, "the model")
    if data["kind"] not in KINDS:
        raise ModelFileError(f'"kind" is {data["kind"]!r}, known are {", ".join(KINDS)}')
    _check_type(data, "extra", dict)
    _check_type(data, "trees", list)
    is_forest = data["kind"].startswith("BNeuralForest")
    if not data["trees"] or (len(data["trees"]) > 1 and not is_forest):
        raise ModelFileError(f'"trees" has {len(data["trees"])} trees: too few or too many')

    model = getattr(bneuralt, data["kind"])()
    model.set_params(**_settings_from_dict(model, data))
    _set_features(model, data)
    if data["kind"].endswith("Classifier"):
        model.classes_ = _classes_from_dict(data["classes"])
    members = [model._new_member(None) if is_forest else model for _ in data["trees"]]
    for i, (member, entry) in enumerate(zip(members, data["trees"], strict=True)):
        _set_tree(member, entry, f'"trees"[{i}]')
    if is_forest:
        model.estimators_ = members
    model.extra_ = data["extra"]
    return model


# -- parts of a model ---------------------------------------------------------------------


def _member_to_dict(member: Any) -> dict[str, Any]:
    return {
        "random_state": _to_plain(member.random_state),
        "n_iter": int(member.n_iter_),
        "best_epoch": None if member.best_epoch_ is None else int(member.best_epoch_),
        "tree": tree_to_dict(member.tree_),
    }


def _set_tree(member: Any, entry: Any, where: str) -> None:
    if not isinstance(entry, dict):
        raise ModelFileError(f"{where} must be an object, not {type(entry).__name__}")
    check_keys(entry, _MEMBER_KEYS, where)
    for key in ("random_state", "n_iter", "best_epoch"):
        if type(entry[key]) not in (int, type(None)):
            raise ModelFileError(f'"{key}" of {where} is {entry[key]!r}, not a whole number')
    tree = tree_from_dict(entry["tree"])
    for what, found, wanted in (
        ("inputs", tree.n_inputs, member.n_features_in_),
        ("outputs", tree.n_outputs, member._n_outputs()),
    ):
        if found != wanted:
            raise ModelFileError(f"{where} has {found} {what}, the model needs {wanted}")
    member.tree_ = tree
    member.random_state = entry["random_state"]
    member.n_iter_ = entry["n_iter"]
    member.best_epoch_ = entry["best_epoch"]


def _set_features(model: Any, data: dict[str, Any]) -> None:
    n_features, names = data["n_features"], data["feature_names"]
    if type(n_features) is not int or n_features < 1:
        raise ModelFileError(f'"n_features" is {n_features!r}, it must be a whole number from 1')
    model.n_features_in_ = n_features
    if names is None:
        return
    _check_type(data, "feature_names", list)
    if len(names) != n_features or not all(isinstance(name, str) for name in names):
        raise ModelFileError(f'"feature_names" must be a list of {n_features} texts')
    model.feature_names_in_ = np.array(names, dtype=object)


def _classes_to_dict(classes: np.ndarray) -> dict[str, Any]:
    if classes.dtype.kind not in "biufUO":
        raise TypeError(f"labels of type {classes.dtype} cannot be written to a model file")
    kind = "str" if classes.dtype.kind == "U" else classes.dtype.name
    return {"dtype": kind, "labels": [_to_plain(label) for label in classes.tolist()]}


def _classes_from_dict(data: Any) -> np.ndarray:
    if not isinstance(data, dict):
        raise ModelFileError('"classes" must be an object')
    check_keys(data, ("dtype", "labels"), '"classes"')
    _check_type(data, "labels", list)
    try:
        dtype = np.dtype(data["dtype"])
        if dtype.kind not in "biufUO":
            raise TypeError
        classes = np.array(data["labels"], dtype=dtype)
        n_different = len(set(data["labels"]))
    except (TypeError, ValueError, OverflowError):
        raise ModelFileError(
            f'"classes" must be labels of one type, got dtype {data["dtype"]!r} and '
            f"labels {data['labels'][:5]!r}"
        ) from None
    if classes.ndim != 1 or not 2 <= classes.size == n_different:
        raise ModelFileError('"classes" must have two or more different labels')
    return classes


def _check_type(data: dict[str, Any], key: str, wanted: type) -> None:
    if not isinstance(data[key], wanted):
        raise ModelFileError(f'"{key}" is not a {wanted.__name__}, but {data[key]!r:.50}')


# -- settings -----------------------------------------------------------------------------


def _to_plain(value: Any) -> Any:
    """Return a setting as what JSON can hold; None for what it cannot (functions, generators)."""
    if isinstance(value, Optimizer):
        return {"name": value.name, **dataclasses.asdict(value)}
    if isinstance(value, FeatureSampler):
        return value.to_dict()
    if isinstance(value, dict):  # class weights; the keys of a JSON object would become texts
        return [[_to_plain(label), _to_plain(weight)] for label, weight in value.items()]
    if isinstance(value, np.ndarray | list | tuple):
        return [_to_plain(entry) for entry in np.asarray(value).tolist()]
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, str | int | float | bool) else None


def _settings_from_dict(model: Any, data: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that this release knows; predictions depend on none of them."""
    _check_type(data, "settings", dict)
    known = model.get_params()
    settings = {name: value for name, value in data["settings"].items() if name in known}
    try:
        if isinstance(settings.get("optimizer"), dict):
            name, numbers = settings["optimizer"].pop("name"), settings["optimizer"]
            settings["optimizer"] = type(get_optimizer(name))(**numbers)
        if isinstance(settings.get("feature_sampling"), dict):
            settings["feature_sampling"] = sampler_from_dict(settings["feature_sampling"])
        if isinstance(settings.get("class_weight"), list):
            settings["class_weight"] = dict(settings["class_weight"])
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f'"settings" cannot be read: {error}') from None
    return settings
