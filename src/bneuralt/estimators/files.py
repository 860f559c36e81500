"""Files of estimators: parameters and model in one JSON file."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from bneuralt.estimators.base import NeuralTreeEstimator
from bneuralt.estimators.edits import checked_edits
from bneuralt.estimators.kinds import find_class, registered_kinds
from bneuralt.files import ModelFileError, parse_json
from bneuralt.fitting.options import Options
from bneuralt.fitting.problem import constraints_of
from bneuralt.model.file_reading import (
    OLDEST_VERSION,
    check_version,
    finite_numbers,
    model_of_dict,
    read_settings,
)
from bneuralt.model.file_writing import MODEL_FORMAT, MODEL_VERSION
from bneuralt.model.inputs import columns_of

__all__ = ["estimator_of_dict", "load_model"]


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
        return estimator_of_dict(parse_json(content.decode()))
    except UnicodeDecodeError:
        raise ModelFileError(f"{path}: this is not a {MODEL_FORMAT} file: it is not text") from None
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None


def estimator_of_dict(data: Any) -> Any:
    """Return the estimator of a parsed file, with all content checked."""
    version = check_version(data)
    cls: Any = find_class(data.get("kind"))
    if cls is None:
        raise ModelFileError(
            f'"kind" is {data.get("kind")!r:.100}, known are {", ".join(registered_kinds())}; '
            "models of HFNT and MONT need the package bneuralt-paper"
        )
    estimator: NeuralTreeEstimator = cls()
    options = _set_settings(estimator, data)
    if version == OLDEST_VERSION:
        data = _upgraded(estimator, options, data)
    model = model_of_dict(
        data,
        class_task=options.class_task,
        is_classifier=is_classifier(estimator),
        max_trees=None if cls._holds_many_trees else 1,
        can_learn=cls._can_learn,
    )
    estimator.model_ = checked_edits(data.get("edits"), model)
    return estimator


def _set_settings(estimator: NeuralTreeEstimator, data: dict[str, Any]) -> Options:
    """Set the settings that this release knows, and return all of them."""
    settings = data.get("settings")
    if not isinstance(settings, dict):
        raise ModelFileError(f'"settings" is not a dict, but {settings!r:.50}')
    try:
        estimator.set_params(**read_settings(settings, estimator.get_params()))
        estimator._validate_params()
        return estimator._options()
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ModelFileError(f'"settings" cannot be read: {error!s:.500}') from None


def _upgraded(
    estimator: NeuralTreeEstimator, options: Options, data: dict[str, Any]
) -> dict[str, Any]:
    """Return the content of a file of version 3 in the present form.

    There, the loss and the constraints are those of the settings, and a single tree has its weights
    in training beside those in raw units.
    """
    if "loss" in estimator.get_params(deep=False) and "loss" not in data["settings"]:
        raise ModelFileError('"settings" lacks the key "loss", which predictions depend on')
    targets = data.get("targets")
    has_labels = isinstance(targets, dict) and targets.get("multilabel") is True
    try:
        loss = options.loss_of_labels() if has_labels else options.training.loss
    except (TypeError, ValueError) as error:
        raise ModelFileError(f'"settings" cannot be read: {error!s:.500}') from None
    training = data.get("training")
    new = {**data, "version": MODEL_VERSION, "loss": loss.to_dict(), "training": None}
    model = model_of_dict(
        new,
        class_task=options.class_task,
        is_classifier=options.is_classifier,
        max_trees=None if type(estimator)._holds_many_trees else 1,
        can_learn=True,
    )
    task = model.target
    assert task is not None
    try:
        signs, interactions = constraints_of(options, columns_of(model), model.encoder, task)
    except (TypeError, ValueError) as error:
        raise ModelFileError(f'"settings" cannot be read: {error!s:.500}') from None
    new["constraints"] = None if signs is None else signs.tolist()
    new["interaction_sets"] = None if interactions is None else [*map(list, interactions.sets)]
    if isinstance(training, dict):
        keys = {"units": "raw", "inputs": training.get("inputs"), "target": training.get("target")}
        new["training"] = keys
        (tree,) = model.trees
        weights = finite_numbers(training.get("parameters"), tree.n_parameters, '"parameters"')
        if data.get("edits") is None:
            with np.errstate(over="ignore"):  # then they are refused
                trained = tree.with_parameters(weights.astype(options.dtype))
            new["trees"] = [{**data["trees"][0], "tree": trained.to_dict()}]
            keys["units"] = "scaled"
    elif training is not None:
        raise ModelFileError(f'"training" is not a dict, but {training!r:.50}')
    return new
