"""Reading of model files, with all content checked; `tests/models` has files of each kind."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from bneuralt._typing import Array, FloatArray
from bneuralt.estimators.edits import checked_edits
from bneuralt.estimators.fingerprints import Fingerprints
from bneuralt.estimators.intervals import Calibration
from bneuralt.estimators.kinds import find_class, registered_kinds
from bneuralt.estimators.model_file import MODEL_FORMAT, MODEL_VERSION
from bneuralt.estimators.nested import OBJECTS
from bneuralt.estimators.scaling import Scaling
from bneuralt.estimators.trials import Choice
from bneuralt.files import ModelFileError, check_format, check_keys, parse_json
from bneuralt.tables.encoder import TableEncoder
from bneuralt.training.losses import get_loss
from bneuralt.training.optimizers import get_optimizer
from bneuralt.tree import NeuralTree
from bneuralt.tree.activations import get_activation, get_activation_mixture
from bneuralt.tree.sampling import sampler_from_dict

__all__ = ["load_model", "model_from_dict"]

_MODEL_KEYS = (
    *("format", "version", "bneuralt", "kind", "settings"),
    *("n_features", "feature_names", "classes", "encoder", "targets", "calibration"),
    *("trees", "extra"),
)
#: Keys that files may lack.
_OPTIONAL = dict.fromkeys(
    (
        "target_names",
        "ranges",
        "training",
        "history",
        "importances",
        "reference",
        "training_rows",
        "edits",
    )
)
_CURVES = ("train_loss", "train_score", "val_loss", "val_score", "learning_rate")
_MEMBER_NUMBERS = {"random_state": 2**32 - 1, "n_iter": 2**63 - 1, "best_epoch": 2**63 - 1}
_MEMBER_KEYS = (*_MEMBER_NUMBERS, "tree")


def load_model(path: str | PathLike[str]) -> Any:
    """Read a model that `save` wrote.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    estimator
        Its predictions are those of the saved one. Its `extra_` is the argument of `save`. A model
        that was edited on its page has the log as `edits_`, a list of dicts.

    Raises
    ------
    ModelFileError
        A `ValueError` with the name of the file and the reason.

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
    """Return the model of a parsed file, with all content checked."""
    check_format(data, MODEL_FORMAT, MODEL_VERSION)
    check_keys(data, (*_MODEL_KEYS, *(key for key in _OPTIONAL if key in data)), "the model")
    data = {**_OPTIONAL, **data}
    cls: Any = find_class(data["kind"])
    if cls is None:
        raise ModelFileError(
            f'"kind" is {data["kind"]!r:.100}, known are {", ".join(registered_kinds())}; '
            "models of HFNT and MONT need the package bneuralt-paper"
        )
    _check_type(data, "extra", dict)
    _check_type(data, "trees", list)
    if not data["trees"] or (len(data["trees"]) > 1 and not cls._holds_many_trees):
        raise ModelFileError(f'"trees" has {len(data["trees"])} trees: too few or too many')

    model, is_forest = cls(), hasattr(cls, "_new_member")
    _set_settings(model, data)
    _set_features(model, data)
    _set_targets(model, data)
    members = [model._new_member(None) if is_forest else model for _ in data["trees"]]
    trees = [
        _set_tree(member, entry, f'"trees"[{i}]')
        for i, (member, entry) in enumerate(zip(members, data["trees"], strict=True))
    ]
    if hasattr(cls, "_set_trees"):
        model._set_trees(trees)
    _check_settings(model, data)
    if data["calibration"] is not None:
        model.calibration_ = _calibration_from_dict(data, model._n_outputs())
    if is_forest:
        model.estimators_ = members
    history = None if data["history"] is None else _history_from_dict(data)
    if history is not None and not is_forest:  # those make it of what their trees have
        model.history_ = history
    if data["training"] is not None:
        _set_training(model, data)
    if data["importances"] is not None:
        model._importances = _importances_from_list(data)
    if data["reference"] is not None:
        model._reference = _reference_from_list(data["reference"], model.encoder_.n_inputs)
    if data["edits"] is not None:
        model.edits_ = checked_edits(data["edits"], model)
    if data["training_rows"] is not None:
        model._fingerprints = _fingerprints_from_dict(data)
    model.extra_ = data["extra"]
    return model


def _set_targets(model: Any, data: dict[str, Any]) -> None:
    _check_type(data, "targets", dict)
    check_keys(data["targets"], ("n_columns", "multilabel"), '"targets"')
    n_columns, multilabel = data["targets"]["n_columns"], data["targets"]["multilabel"]
    if type(n_columns) is not int or n_columns < 1 or type(multilabel) is not bool:
        raise ModelFileError(f'"targets" is {data["targets"]!r:.100}, which is not valid')
    if data["kind"].endswith("Classifier"):
        model.multilabel_ = multilabel
        model.classes_ = _classes_from_dict(data["classes"])
    else:
        model.n_outputs_ = n_columns
    _checked_setting(model._n_outputs)
    names = data["target_names"]
    n_names = len(model.classes_) if getattr(model, "multilabel_", False) else n_columns
    if names is not None:
        _check_type(data, "target_names", list)
        if len(names) != n_names or not all(isinstance(name, str) and name for name in names):
            raise ModelFileError(f'"target_names" must be a list of {n_names} texts')
    model.target_names_ = tuple(names or ())


def _check_settings(model: Any, data: dict[str, Any]) -> None:
    """Check that settings are consistent with each other and with the targets."""
    if "loss" in model.get_params(deep=False) and "loss" not in data["settings"]:
        raise ModelFileError('"settings" lacks the key "loss", which predictions depend on')
    _checked_setting(model._loss)
    _checked_setting(model._feature_signs)
    _checked_setting(model._interactions)


def _checked_setting(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except (TypeError, ValueError) as error:
        raise ModelFileError(f'"settings" cannot be read: {error!s:.500}') from None


def _set_training(model: Any, data: dict[str, Any]) -> None:
    """Set what further training needs."""
    _check_type(data, "training", dict)
    training = {"decay_factor": 1.0, **data["training"]}  # which files may lack
    check_keys(training, ("parameters", "inputs", "target", "decay_factor"), '"training"')
    if not hasattr(model, "_fit_part") or hasattr(model, "_new_member"):
        raise ModelFileError(f'"training" is for single trees, not for {data["kind"]}')
    tree, scales_target = model.tree_, not hasattr(model, "classes_")
    weights = _finite_numbers(training["parameters"], tree.n_parameters, '"parameters"')
    scaling = model._loss().traits.scaling if scales_target else None
    inputs = _scaling_from_dict(training["inputs"], tree.n_inputs, '"inputs"')
    n_targets = model.n_outputs_ if scales_target else 0
    target = _scaling_from_dict(training["target"], n_targets, '"target"')
    is_valid = (target is None) == (scaling is None)
    if target is not None and scaling == "mean":  # outputs are logarithms
        is_valid = is_valid and bool((target.factor > 0).all())
    if not is_valid:
        raise ModelFileError('"target" of "training" does not go with the loss')
    try:
        with np.errstate(over="ignore"):  # then they are not finite
            model._trained_tree = tree.with_parameters(weights.astype(model.dtype))
    except ValueError as error:
        raise ModelFileError(f'"parameters" of "training" are not valid: {error}') from None
    model._input_scaling, model._target_scaling = inputs, target
    (factor,) = _finite_numbers([training["decay_factor"]], 1, '"decay_factor"').tolist()
    if factor < 0:
        raise ModelFileError(f'"decay_factor" of "training" is {factor}, which is negative')
    model._choice = Choice(decay_factor=factor)
    model._optimizer_state = None


def _scaling_from_dict(data: Any, size: int, what: str) -> Scaling | None:
    if data is None:
        return None
    if not isinstance(data, dict):
        raise ModelFileError(f'{what} of "training" must be an object')
    check_keys(data, Scaling._fields, what)
    return Scaling(*(_finite_numbers(data[key], size, f'"{key}"') for key in Scaling._fields))


def _finite_numbers(values: Any, size: int, what: str) -> FloatArray:
    is_list = isinstance(values, list) and len(values) == size
    if is_list and all(type(x) in (int, float) for x in values):
        try:
            numbers = np.array(values, dtype=np.float64)
        except OverflowError:  # for example 10**400
            numbers = np.array([np.nan])
        if np.isfinite(numbers).all():
            return numbers
    raise ModelFileError(f'{what} of "training" must be a list of {size} finite numbers')


def _history_from_dict(data: dict[str, Any]) -> dict[str, Array]:
    _check_type(data, "history", dict)
    history: dict[str, Array] = {}
    for name, values in data["history"].items():
        is_valid = name in _CURVES and isinstance(values, list)
        if not is_valid or any(type(x) not in (int, float, type(None)) for x in values):
            raise ModelFileError(f'"history" has no valid {name:.50}')
        try:  # NumPy reads null as NaN
            history[name] = np.array(values, np.float64)
        except OverflowError:
            raise ModelFileError(f'"history" has too large a number in {name:.50}') from None
    if len({len(values) for values in history.values()}) > 1:
        raise ModelFileError('"history" has curves of different lengths')
    return history


def _importances_from_list(data: dict[str, Any]) -> Array:
    shares, n_features = data["importances"], data["n_features"]
    is_list = isinstance(shares, list) and len(shares) == n_features
    if not is_list or any(type(x) not in (int, float) or not 0 <= x <= 1.001 for x in shares):
        raise ModelFileError(f'"importances" must be {n_features} numbers between 0 and 1')
    return np.array(shares, dtype=np.float64)


def _reference_from_list(data: Any, n_inputs: int) -> Array:
    try:
        rows = np.array(data, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        rows = np.array(np.nan)
    if rows.ndim != 2 or rows.shape[1] != n_inputs or not np.isfinite(rows).all() or not len(rows):
        raise ModelFileError(f'"reference" must be a list of rows of {n_inputs} finite numbers')
    return rows


def _fingerprints_from_dict(data: dict[str, Any]) -> Fingerprints:
    _check_type(data, "training_rows", dict)
    check_keys(data["training_rows"], Fingerprints._fields, '"training_rows"')
    try:
        return Fingerprints.from_dict(data["training_rows"])
    except ValueError as error:
        raise ModelFileError(f'"training_rows" is not valid: {error}') from None


def _calibration_from_dict(data: dict[str, Any], n_outputs: int) -> Calibration:
    _check_type(data, "calibration", dict)
    check_keys(data["calibration"], Calibration._fields, '"calibration"')
    parts = []
    for key, n_dimensions in (("residuals", 2), ("weight", 1)):
        try:
            part = np.array(data["calibration"][key], dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            part = np.array(np.nan)
        if part.ndim != n_dimensions or part.size == 0 or not np.isfinite(part).all():
            raise ModelFileError(f'"{key}" of "calibration" is not a list of finite numbers')
        parts.append(part)
    residuals, weight = parts
    if residuals.shape != (weight.size, n_outputs) or (weight <= 0).any():
        raise ModelFileError(
            f'"calibration" must have {n_outputs} residuals and a positive weight for each row'
        )
    return Calibration(residuals, weight)


def _set_tree(member: Any, entry: Any, where: str) -> NeuralTree:
    if not isinstance(entry, dict):
        raise ModelFileError(f"{where} must be an object, not {type(entry).__name__}")
    check_keys(entry, _MEMBER_KEYS, where)
    for key, most in _MEMBER_NUMBERS.items():
        value = entry[key]
        if value is None and key != "n_iter":
            continue
        if type(value) is not int or not 0 <= value <= most:
            raise ModelFileError(f'"{key}" of {where} is {value!r:.50}, not a valid whole number')
    tree = NeuralTree.from_dict(entry["tree"])
    for what, number, expected in (
        ("inputs", tree.n_inputs, member.encoder_.n_inputs),
        ("outputs", tree.n_outputs, member._n_outputs()),
    ):
        if number != expected:
            raise ModelFileError(f"{where} has {number} {what}, the model needs {expected}")
    member.tree_ = tree
    member.random_state = entry["random_state"]
    member.n_iter_ = entry["n_iter"]
    member.best_epoch_ = entry["best_epoch"]
    return tree


def _set_features(model: Any, data: dict[str, Any]) -> None:
    n_features, names = data["n_features"], data["feature_names"]
    if type(n_features) is not int or n_features < 1:
        raise ModelFileError(f'"n_features" is {n_features!r}, it must be a whole number from 1')
    model.n_features_in_ = n_features
    if names is not None:
        _check_type(data, "feature_names", list)
        if len(names) != n_features or not all(isinstance(name, str) for name in names):
            raise ModelFileError(f'"feature_names" must be a list of {n_features} texts')
        model.feature_names_in_ = np.array(names, dtype=object)
        model.finds_columns_ = True
    model.encoder_ = _encoder_from_plain(data["encoder"], n_features, names, data["ranges"])


def _encoder_from_plain(data: Any, n_features: int, names: Any, ranges: Any) -> TableEncoder:
    try:
        encoder = TableEncoder.from_plain(data, names)
    except ValueError as error:
        raise ModelFileError(f'"encoder" cannot be read: {error}') from None
    if len(encoder.features) != n_features:
        raise ModelFileError(
            f'"encoder" has {len(encoder.features)} columns, the model has {n_features}'
        )
    if ranges is None:
        return encoder
    try:
        return encoder.with_ranges(ranges)
    except ValueError as error:
        raise ModelFileError(f'"ranges" cannot be read: {error}') from None


def _classes_from_dict(data: Any) -> Array:
    if not isinstance(data, dict):
        raise ModelFileError('"classes" must be an object')
    check_keys(data, ("dtype", "labels"), '"classes"')
    _check_type(data, "labels", list)
    name, labels = data["dtype"], data["labels"]
    types = _LABEL_TYPES.get(name, ()) if isinstance(name, str) else ()
    if not types or any(type(label) not in types for label in labels):
        raise _labels_error(name, labels)
    if name == "str" and len(labels) * max(map(len, labels), default=0) > _MOST_CHARACTERS:
        # NumPy stores each label with the length of the longest one.
        raise ModelFileError('"classes" has labels that are too long')
    if "int" in name:
        limits = np.iinfo(name)  # NumPy 1 would convert 300 to 44 as int8
        if not all(limits.min <= label <= limits.max for label in labels):
            raise _labels_error(name, labels)
    try:
        with np.errstate(over="ignore"):  # checked below
            classes = np.array(labels, dtype=name)
    except OverflowError:  # for example 10**400 as float64
        raise _labels_error(name, labels) from None
    if classes.dtype.kind == "f" and not np.isfinite(classes).all():
        raise _labels_error(name, labels)
    # Labels can become equal by rounding to the dtype.
    if not 2 <= classes.size == len(set(classes.tolist())):
        raise ModelFileError('"classes" must have two or more different labels')
    return classes


#: The dtypes of labels that are written to files, and the types of their labels in JSON.
_LABEL_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "object": (str, bool, int, float),
    "bool": (bool,),
    **{f"{sign}int{bits}": (int,) for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": (int, float) for bits in (16, 32, 64)},
}
_MOST_CHARACTERS = 10**8


def _labels_error(dtype: Any, labels: list[Any]) -> ModelFileError:
    return ModelFileError(
        f'"classes" must be labels of one type, got dtype {dtype!r:.50} and labels '
        f"{labels[:5]!r:.200}"
    )


def _check_type(data: dict[str, Any], key: str, kind: type) -> None:
    if not isinstance(data[key], kind):
        raise ModelFileError(f'"{key}" is not a {kind.__name__}, but {data[key]!r:.50}')


def _set_settings(model: Any, data: dict[str, Any]) -> None:
    """Set the settings that this release knows."""
    _check_type(data, "settings", dict)
    names = model.get_params()
    settings: dict[str, Any] = {}
    try:
        for name, value in data["settings"].items():
            if name in OBJECTS and value is not None:
                settings |= {f"{name}__{field}": part for field, part in dict(value).items()}
            else:
                settings[name] = value
        model.set_params(
            **{name: _read(name, value) for name, value in settings.items() if name in names}
        )
        model._validate_params()
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ModelFileError(f'"settings" cannot be read: {error!s:.500}') from None


def _read(name: str, value: Any) -> Any:
    """Return the value of a setting from its form in JSON."""
    name = name.rpartition("__")[2]
    if isinstance(value, dict) and name in _READERS:
        return _READERS[name](value)
    if isinstance(value, list) and name == "class_weight":
        return _read_class_weight(value)
    if isinstance(value, list) and name == "activation":
        return _read_mixture(value)
    if isinstance(value, list) and name == "quantiles":
        return tuple(value)
    return dict(value) if name == "monotonic_cst" and _is_list_of_pairs(value) else value


#: Functions that read settings that are objects in JSON.
_READERS: dict[str, Any] = {
    "optimizer": get_optimizer,
    "loss": get_loss,
    "activation": get_activation,
    "feature_sampling": sampler_from_dict,
}


def _is_list_of_pairs(value: Any) -> bool:
    """Return whether this is the form of a dict in files."""
    return isinstance(value, list) and all(isinstance(e, list) and len(e) == 2 for e in value)


def _read_mixture(entries: list[Any]) -> Any:
    """Return a list of activations, or a dict of activations with their probabilities."""

    def read(entry: Any) -> Any:
        return get_activation(entry) if isinstance(entry, dict) else entry

    mixture: Any = [read(entry) for entry in entries]
    if _is_list_of_pairs(entries):
        mixture = {read(name): chance for name, chance in entries}
    get_activation_mixture(mixture)  # raises an error if a name or a probability is not valid
    return mixture


def _read_class_weight(pairs: list[Any]) -> dict[Any, float]:
    weights = dict(pairs)
    for label, weight in weights.items():
        if type(weight) not in (int, float):
            raise TypeError(f"the weight of the class {label!r} is {weight!r}, not a number")
    return weights
