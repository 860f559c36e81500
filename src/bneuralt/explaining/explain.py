"""`explain`: which feature contributes how much to a prediction."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.arrays import as_table
from bneuralt.estimators.forest import Forest
from bneuralt.explaining.attribution import Attribution, attribute
from bneuralt.explaining.explanation import Explanation
from bneuralt.explaining.models import check_model, feature_names_of, features_of_inputs, trees_of
from bneuralt.explaining.raw_cells import raw_cells
from bneuralt.tables.columns import Frame, as_frame
from bneuralt.tables.frames import is_data_frame
from bneuralt.tree import NeuralTree
from bneuralt.tree.contributions import METHODS
from bneuralt.tree.walk import outputs_above

__all__ = ["explain"]

OUTPUTS = ("score", "probability")


def explain(
    model: Any,
    X: Any,
    baseline: Any = "mean",
    *,
    output: str | None = None,
    method: str = "rescale",
    n_steps: int = 32,
) -> Explanation:
    """Return how much each feature contributes to the predictions for some rows.

    A prediction is compared with the one for a baseline row. The contributions of all features add
    up to the difference of the two: exactly with the rescale rule, which follows each path from a
    leaf to its output once; up to the error of integration with integrated gradients. Categories,
    parts of dates and missing values count for the column that they come from. A feature that no
    leaf has contributes 0.

    Parameters
    ----------
    model : NeuralTree or estimator
        A tree, or a fitted tree or forest of this library.
    X : array-like of shape (n_rows, n_features)
        Rows to explain, as for `predict`.
    baseline : "mean", or array-like of shape (n_features,) or (n_baselines, n_features)
        The row to compare with. "mean" is the mean of the training rows (for a `NeuralTree`, of
        `X`); for a category, all its values in the proportions of the training rows. With several
        rows, the mean of the contributions for each of them.
    output : {"score", "probability"}, optional
        For classifiers, what is explained: what `decision_function` returns, or the probabilities.
        By default scores for a single tree, whose outputs they are, and probabilities for a forest,
        which averages those of its trees. With two classes, that of the second class.
    method : {"rescale", "integrated_gradients"}
    n_steps : int
        Points of the integration.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> import numpy as np
    >>> from bneuralt import BNeuralTClassifier, explain
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = BNeuralTClassifier(random_state=0).fit(X, y)
    >>> explanation = explain(clf, X)
    >>> explanation.values.shape
    (150, 4, 3)
    >>> total = explanation.baseline + explanation.values.sum(axis=1)
    >>> np.allclose(total, clf.decision_function(X), atol=1e-4)
    True
    """
    check_model(model, "explain")
    if method not in METHODS:
        raise ValueError(f"method={method!r} must be one of {', '.join(map(repr, METHODS))}")
    output = _checked_output(model, output)
    inputs, n_features = _inputs(model, X), _n_features(model)
    feature = features_of_inputs(model)
    starts = _baselines(model, baseline, inputs)
    parts = [
        attribute(model, inputs, start, feature, n_features, output, method=method, n_steps=n_steps)
        for start in starts
    ]
    found = Attribution(*(sum(part) / len(parts) for part in zip(*parts, strict=True)))
    is_single = found.start.size == 1
    return Explanation(
        values=found.values[:, :, 0] if is_single else found.values,
        baseline=float(found.start[0]) if is_single else found.start,
        predictions=found.end[:, 0] if is_single else found.end,
        data=raw_cells(model, X),
        feature_names=feature_names_of(model),
        output_names=_output_names(model, found.start.size),
        n_paths=_n_paths(model, feature, n_features, found.start.size),
        explains=output or "prediction",
    )


def _checked_output(model: Any, output: str | None) -> str | None:
    if isinstance(model, NeuralTree) or not is_classifier(model):
        if output is not None:
            raise ValueError(f"output={output!r} is for classifiers: omit it")
        return None
    if output is None:
        return "probability" if isinstance(model, Forest) else "score"
    if output not in OUTPUTS:
        raise ValueError(f"output={output!r} must be one of {', '.join(map(repr, OUTPUTS))}")
    return output


def _inputs(model: Any, X: Any) -> Array:
    """Return what the trees of a model are given for some rows."""
    if not isinstance(model, NeuralTree):
        inputs: Array = model._filled(model._read_features(X))
        return inputs
    table = as_table(X)
    if table.shape[1] != model.n_inputs:
        raise ValueError(
            f"X has {table.shape[1]} features, but the tree has {model.n_inputs} inputs"
        )
    return table


def _n_features(model: Any) -> int:
    return int(model.n_inputs if isinstance(model, NeuralTree) else model.n_features_in_)


def _baselines(model: Any, baseline: Any, inputs: Array) -> FloatArray:
    """Return the baseline rows as inputs of trees, at least one."""
    if isinstance(baseline, str):
        if baseline != "mean":
            raise ValueError(f"baseline={baseline!r} must be 'mean', or a row of numbers")
        return _mean_row(model, inputs)[np.newaxis]
    n_features = _n_features(model)
    rows = baseline
    if not is_data_frame(baseline):
        array = np.asarray(baseline)
        if array.ndim not in (1, 2) or array.shape[-1] != n_features or array.shape[0] == 0:
            raise ValueError(
                f"baseline has shape {array.shape}: it must be a row of the model's {n_features} "
                f"features, shape ({n_features},), or several rows"
            )
        rows = np.atleast_2d(array)
        if not isinstance(model, NeuralTree):  # with the names that the model expects
            columns = as_frame(rows.astype(object))
            assert columns is not None
            rows = Frame(columns.columns, feature_names_of(model))
    try:
        found = _inputs(model, rows)
    except ValueError as error:
        raise ValueError(f"baseline cannot be used: {error}") from None
    return np.asarray(found, dtype=np.float64)


def _mean_row(model: Any, inputs: Array) -> FloatArray:
    if isinstance(model, NeuralTree):
        mean: FloatArray = inputs.mean(axis=0, dtype=np.float64)
        return mean
    means: FloatArray | None = model.encoder_.mean_inputs
    if means is None:
        raise ValueError(
            "baseline='mean' needs the means of the training rows, and this model was loaded from "
            "a file that does not have them: pass a row of numbers as baseline"
        )
    return means


def _output_names(model: Any, n_outputs: int) -> list[str]:
    classes = getattr(model, "classes_", None)
    if classes is None:
        return [] if n_outputs == 1 else [f"output {i}" for i in range(n_outputs)]
    names = [str(label) for label in classes.tolist()]
    return names[-1:] if n_outputs == 1 else names


def _n_paths(model: Any, feature: IntArray, n_features: int, n_outputs: int) -> IntArray:
    """Return the number of leaves of each feature, for each output that is explained."""
    k = trees_of(model)[0].n_outputs
    counts = np.zeros((n_features, k), dtype=np.int64)
    for tree in trees_of(model):
        used = tree.leaf_weight != 0
        output = outputs_above(tree.parent)[tree.leaf_parent]
        np.add.at(counts, (feature[tree.leaf_input[used]], output[used]), 1)
    return counts if n_outputs == k else counts.sum(axis=1, keepdims=True)
