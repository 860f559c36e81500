"""Reading of model files, with all content checked; `tests/models` has files of each kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bneuralt._typing import Array, FloatArray
from bneuralt.expressions import OUTPUTS
from bneuralt.files import ModelFileError, check_keys
from bneuralt.model.file_writing import MODEL_FORMAT, MODEL_VERSION
from bneuralt.model.fingerprints import Fingerprints
from bneuralt.model.intervals import Calibration
from bneuralt.model.model import Model, TreeState
from bneuralt.model.recipe import Recipe
from bneuralt.model.scaling import Scaling
from bneuralt.model.tasks import Classes, Labels, Task, regression_task
from bneuralt.tables.encoder import TableEncoder
from bneuralt.training import TrainingSettings
from bneuralt.training.losses import Loss, check_loss, get_loss
from bneuralt.training.optimizers import get_optimizer
from bneuralt.tree import NeuralTree
from bneuralt.tree.activations import get_activation, get_activation_mixture
from bneuralt.tree.growing import Growth
from bneuralt.tree.interactions import InteractionSets
from bneuralt.tree.sampling import sampler_from_dict

__all__ = ["check_version", "model_of_dict", "read_settings"]

_MODEL_KEYS = (
    *("format", "version", "bneuralt", "kind", "settings"),
    *("n_features", "feature_names", "classes", "encoder", "targets", "calibration"),
    *("loss", "trees", "extra"),
)
#: Keys that files may lack.
_OPTIONAL = dict.fromkeys(
    (
        *("target_names", "ranges", "training", "history", "importances", "reference"),
        *("training_rows", "edits", "recipe", "constraints", "interaction_sets"),
    )
)
_CURVES = ("train_loss", "train_score", "val_loss", "val_score", "learning_rate")
_TREE_NUMBERS = {"random_state": 2**32 - 1, "n_iter": 2**63 - 1, "best_epoch": 2**63 - 1}
_TREE_KEYS = (*_TREE_NUMBERS, "tree")

#: The oldest version that can be read.
OLDEST_VERSION = 3


def check_version(data: Any) -> int:
    """Check that parsed JSON is a model file, and return its version."""
    from bneuralt.files import check_format

    if isinstance(data, dict) and data.get("version") == OLDEST_VERSION:
        check_format({**data, "version": MODEL_VERSION}, MODEL_FORMAT, MODEL_VERSION)
        return OLDEST_VERSION
    check_format(data, MODEL_FORMAT, MODEL_VERSION)
    return MODEL_VERSION


def model_of_dict(
    data: dict[str, Any],
    *,
    class_task: type[Classes] = Classes,
    is_classifier: bool,
    max_trees: int | None,
    can_learn: bool,
) -> Model:
    """Return the model of a parsed file, with all content checked.

    Parameters
    ----------
    data : dict
        Of this version.
    class_task : type of Classes
        Task of a classifier.
    is_classifier : bool
    max_trees : int or None
        Number of trees that such a model can have; None for any.
    can_learn : bool
        Whether such models can be trained further.
    """
    check_keys(data, (*_MODEL_KEYS, *(key for key in _OPTIONAL if key in data)), "the model")
    data = {**_OPTIONAL, **data}
    _check_type(data, "extra", dict)
    _check_type(data, "trees", list)
    n_trees = len(data["trees"])
    if not n_trees or (max_trees is not None and n_trees > max_trees):
        raise ModelFileError(f'"trees" has {n_trees} trees: too few or too many')
    encoder = _encoder(data)
    loss = _loss(data)
    task = _task(data, loss, class_task, is_classifier)
    trees, states = _trees(data, encoder, task)
    if loss is not None and loss.compares == "shared":
        _checked(check_loss, loss, task.n_outputs, "linear")
    interactions = _interaction_sets(data, len(encoder.features))
    averages_outputs = task.kind == "numbers" or (interactions is not None and max_trees is None)
    fields = _training(data, encoder, task, can_learn)
    classes, quantiles = task.classes, task.quantiles
    calibration = None
    if data["calibration"] is not None:
        calibration = _calibration_from_dict(data, task.n_outputs)
    reference = data["reference"]
    prints = data["training_rows"]
    return Model(
        kind=data["kind"],
        encoder=encoder,
        trees=trees,
        task=task.kind,
        link=OUTPUTS if loss is None and task.kind == "numbers" else task.link(trees),
        averages="outputs" if averages_outputs else "predictions",
        classes=None if classes is None else tuple(classes.tolist()),
        quantiles=None if quantiles is None else tuple(quantiles.tolist()),
        target_names=_target_names(data, task),
        constraints=_constraints(data, len(encoder.features), task),
        interaction_sets=interactions,
        reference=None if reference is None else _reference(reference, encoder.n_inputs),
        target=task,
        loss=loss,
        states=states,
        recipe=None if data["recipe"] is None else _recipe(data),
        importances=None if data["importances"] is None else _importances_from_list(data),
        fingerprints=None if prints is None else _fingerprints_from_dict(data),
        calibration=calibration,
        extra=data["extra"],
        finds_columns=encoder.names is not None,
        **fields,
    )


def _checked(function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"the model cannot be read: {error!s:.500}") from None


def _encoder(data: dict[str, Any]) -> TableEncoder:
    n_features, names = data["n_features"], data["feature_names"]
    if type(n_features) is not int or n_features < 1:
        raise ModelFileError(f'"n_features" is {n_features!r}, it must be a whole number from 1')
    if names is not None:
        _check_type(data, "feature_names", list)
        if len(names) != n_features or not all(isinstance(name, str) for name in names):
            raise ModelFileError(f'"feature_names" must be a list of {n_features} texts')
    return _encoder_from_plain(data["encoder"], n_features, names, data["ranges"])


def _loss(data: dict[str, Any]) -> Loss | None:
    if data["loss"] is None:
        return None
    _check_type(data, "loss", dict)
    try:
        return get_loss(data["loss"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ModelFileError(f'"loss" cannot be read: {error!s:.200}') from None


def _task(
    data: dict[str, Any], loss: Loss | None, class_task: type[Classes], is_classifier: bool
) -> Task:
    _check_type(data, "targets", dict)
    check_keys(data["targets"], ("n_columns", "multilabel"), '"targets"')
    n_columns, multilabel = data["targets"]["n_columns"], data["targets"]["multilabel"]
    if type(n_columns) is not int or n_columns < 1 or type(multilabel) is not bool:
        raise ModelFileError(f'"targets" is {data["targets"]!r:.100}, which is not valid')
    if not is_classifier:
        if loss is None or "numbers" not in loss.traits.tasks:
            raise ModelFileError(f'"loss" is {data["loss"]!r:.100}, which is not one of numbers')
        task: Task = _checked(regression_task, loss, n_columns)
        return task
    labels = _classes_from_dict(data["classes"])
    if not multilabel:
        return class_task(labels)
    if not np.array_equal(labels, np.arange(labels.size)):
        raise ModelFileError('"classes" of several labels must be their positions')
    return Labels(labels.size)


def _target_names(data: dict[str, Any], task: Task) -> tuple[str, ...]:
    names = data["target_names"]
    if names is None:
        return ()
    _check_type(data, "target_names", list)
    if len(names) != task.n_columns or not all(isinstance(n, str) and n for n in names):
        raise ModelFileError(f'"target_names" must be a list of {task.n_columns} texts')
    return tuple(names)


def _constraints(data: dict[str, Any], n_features: int, task: Task) -> tuple[int, ...]:
    signs = data["constraints"]
    if signs is None:
        return ()
    is_list = isinstance(signs, list) and len(signs) == n_features
    if not is_list or any(type(sign) is not int or sign not in (-1, 0, 1) for sign in signs):
        raise ModelFileError(f'"constraints" must be {n_features} numbers of -1, 0 and 1')
    if any(signs):
        _checked(task.output_signs)
    return tuple(signs) if any(signs) else ()


def _interaction_sets(data: dict[str, Any], n_features: int) -> tuple[tuple[int, ...], ...] | None:
    sets = data["interaction_sets"]
    if sets is None:
        return None
    _check_type(data, "interaction_sets", list)
    found: InteractionSets = _checked(InteractionSets.of, sets, n_features, "interaction_sets")
    return found.sets


def _trees(
    data: dict[str, Any], encoder: TableEncoder, task: Task
) -> tuple[tuple[NeuralTree, ...], tuple[TreeState, ...]]:
    pairs = [_tree(entry, f'"trees"[{i}]', encoder, task) for i, entry in enumerate(data["trees"])]
    trees, states = (tuple(part) for part in zip(*pairs, strict=True))
    history = {} if data["history"] is None else _history_from_dict(data)
    if len(trees) == 1:
        states = (replace(states[0], history=history),)
    return trees, states


def _tree(
    entry: Any, where: str, encoder: TableEncoder, task: Task
) -> tuple[NeuralTree, TreeState]:
    if not isinstance(entry, dict):
        raise ModelFileError(f"{where} must be an object, not {type(entry).__name__}")
    check_keys(entry, (*_TREE_KEYS, *(["sample"] if "sample" in entry else [])), where)
    for key, most in _TREE_NUMBERS.items():
        value = entry[key]
        if value is None and key != "n_iter":
            continue
        if type(value) is not int or not 0 <= value <= most:
            raise ModelFileError(f'"{key}" of {where} is {value!r:.50}, not a valid whole number')
    tree = NeuralTree.from_dict(entry["tree"])
    for what, number, expected in (
        ("inputs", tree.n_inputs, encoder.n_inputs),
        ("outputs", tree.n_outputs, task.n_outputs),
    ):
        if number != expected:
            raise ModelFileError(f"{where} has {number} {what}, the model needs {expected}")
    sample = entry.get("sample")
    if sample is not None and not isinstance(sample, str):
        raise ModelFileError(f'"sample" of {where} is {sample!r:.50}, not a text')
    state = TreeState(entry["n_iter"], entry["random_state"], entry["best_epoch"], sample=sample)
    return tree, state


def _training(
    data: dict[str, Any], encoder: TableEncoder, task: Task, can_learn: bool
) -> dict[str, Any]:
    """Return the fields of a model about its training."""
    training = data["training"]
    if training is None:
        return {"is_raw": True, "can_learn": False}
    _check_type(data, "training", dict)
    check_keys(training, ("units", "inputs", "target"), '"training"')
    if not can_learn:
        raise ModelFileError(f'"training" is not for {data["kind"]!r:.50}, which is not trained')
    if training["units"] not in ("raw", "scaled"):
        raise ModelFileError(
            f'"units" of "training" is {training["units"]!r:.50}, it must be "raw" or "scaled"'
        )
    inputs = _scaling_from_dict(training["inputs"], encoder.n_inputs, '"inputs"')
    n_targets = 0 if task.kind != "numbers" else task.n_columns
    target = _scaling_from_dict(training["target"], n_targets, '"target"')
    scaling = None if task.kind != "numbers" else task.loss.traits.scaling  # type: ignore[attr-defined]
    is_valid = (target is None) == (scaling is None)
    if target is not None and scaling == "mean":  # outputs are logarithms
        is_valid = is_valid and bool((target.factor > 0).all())
    if not is_valid:
        raise ModelFileError('"target" of "training" does not go with the loss')
    return {
        "is_raw": training["units"] == "raw",
        "can_learn": True,
        "scaling": inputs,
        "target_scaling": target,
        "input_std": None if inputs is None else inputs.deviation,
    }


def _recipe(data: dict[str, Any]) -> Recipe:
    _check_type(data, "recipe", dict)
    recipe = data["recipe"]
    check_keys(recipe, ("values", "reasons", "seed"), '"recipe"')
    values, reasons, seed = recipe["values"], recipe["reasons"], recipe["seed"]
    are_texts = isinstance(reasons, dict) and all(isinstance(v, str) for v in reasons.values())
    if not isinstance(values, dict) or not are_texts or type(seed) is not int:
        raise ModelFileError('"recipe" has values of other types')
    objects = {"growth": Growth, "training": TrainingSettings}
    read: dict[str, Any] = {}
    try:
        for name, value in values.items():
            if name in objects:
                fields = {field: read_setting(field, part) for field, part in dict(value).items()}
                read[name] = objects[name](**fields)
            else:
                read[name] = read_setting(name, value)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ModelFileError(f'"recipe" cannot be read: {error!s:.500}') from None
    for name in ("weight_decay", "output_factor", "learning_rate"):
        if name in read and not (type(read[name]) in (int, float) and 0 <= read[name] < 1e300):
            raise ModelFileError(f'"{name}" of "recipe" is {read[name]!r:.50}')
    return Recipe(read, reasons, seed)


def _scaling_from_dict(data: Any, size: int, what: str) -> Scaling | None:
    if data is None:
        return None
    if not isinstance(data, dict):
        raise ModelFileError(f'{what} of "training" must be an object')
    check_keys(data, Scaling._fields, what)
    return Scaling(*(finite_numbers(data[key], size, f'"{key}"') for key in Scaling._fields))


def finite_numbers(values: Any, size: int, what: str) -> FloatArray:
    """Return a list of finite numbers as an array."""
    is_list = isinstance(values, list) and len(values) == size
    if is_list and all(type(x) in (int, float) for x in values):
        try:
            numbers = np.array(values, dtype=np.float64)
        except OverflowError:  # for example 10**400
            numbers = np.array([np.nan])
        if np.isfinite(numbers).all():
            return numbers
    raise ModelFileError(f'{what} of "training" must be a list of {size} finite numbers')


def read_settings(settings: Any, names: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters of an estimator, nested ones too, of which this release knows the names."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        if name in ("growth", "training") and value is not None:
            found |= {f"{name}__{field}": part for field, part in dict(value).items()}
        else:
            found[name] = value
    return {name: read_setting(name, value) for name, value in found.items() if name in names}


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


def _reference(data: Any, n_inputs: int) -> Array:
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


def read_setting(name: str, value: Any) -> Any:
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
    if name == "sentinels" and _is_list_of_pairs(value):
        return {column: tuple(numbers) for column, numbers in value}
    is_dict = name in ("monotonic_cst", "categorical_features") and _is_list_of_pairs(value)
    return dict(value) if is_dict and value else value


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
