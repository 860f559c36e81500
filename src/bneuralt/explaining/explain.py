"""`explain`: the contribution of each feature to predictions."""

from __future__ import annotations

from typing import Any

import numpy as np

from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.arrays import checked_table
from bneuralt.explaining.attribution import attribute, mean_of
from bneuralt.explaining.explanation import Explanation
from bneuralt.explaining.interaction_proofs import check_interactions
from bneuralt.explaining.links import links
from bneuralt.explaining.raw_cells import raw_cells
from bneuralt.expressions import OUTPUTS as OUTPUT_VALUES
from bneuralt.model import Model
from bneuralt.tables.columns import Frame, as_frame
from bneuralt.tables.frames import is_data_frame
from bneuralt.tree.contributions import METHODS
from bneuralt.tree.walk import outputs_above

__all__ = ["explain"]

OUTPUTS = ("score", "probability")
#: Largest number of interactions that are computed in one call.
MAX_INTERACTIONS = 2**27


def explain(
    model: Model,
    X: Any,
    baseline: Any = "mean",
    *,
    output: str | None = None,
    method: str = "rescale",
    n_steps: int = 32,
    interactions: bool = False,
) -> Explanation:
    """Return the contribution of each feature to predictions; see `ExplainingMethods.explain`.

    For a model without statistics of its training rows, such as a tree without an estimator, the
    baseline "mean" is the mean of `X`.

    Examples
    --------
    >>> from bneuralt import NeuralTree
    >>> tree = NeuralTree(2, 1, [-1], [0], [0, 0], [0, 1], [0.5, 2.0, -1.0])
    >>> explain(Model.of_tree(tree), [[1.0, 1.0]], baseline=[0.0, 0.5]).values
    array([[ 2. , -0.5]])
    """
    model = model.in_raw_units()
    if method not in METHODS:
        raise ValueError(f"method={method!r} must be one of {', '.join(map(repr, METHODS))}")
    output = _checked_output(model, output)
    table = model.read(X)
    inputs = checked_table(model.encoder.encode(table)).X
    can_interact = _can_interact(model, output, len(inputs)) if interactions else None
    each = [
        attribute(model, inputs, start, output, can_interact, method=method, n_steps=n_steps)
        for start in _baselines(model, baseline, inputs)
    ]
    whole = mean_of([one for one, _ in each])
    pairs: Any = each[0][1] if len(each) == 1 else None
    if interactions and len(each) > 1:
        pairs = np.mean([some for _, some in each], axis=0)  # type: ignore[arg-type]
    is_single = whole.start.size == 1
    if interactions and is_single:
        pairs = pairs[..., 0]
    return Explanation(
        values=whole.values[:, :, 0] if is_single else whole.values,
        baseline=float(whole.start[0]) if is_single else whole.start,
        predictions=whole.end[:, 0] if is_single else whole.end,
        data=raw_cells(table),
        feature_names=[column.name for column in model.columns],
        output_names=_output_names(model, whole.start.size),
        n_paths=_n_paths(model, whole.start.size),
        explains=output or "prediction",
        interactions=pairs,
    )


def _can_interact(model: Model, output: str | None, n_rows: int) -> Array:
    """Return which pairs of columns may have an interaction in the quantity that is explained."""
    n = len(model.columns)
    if n_rows * n * n * model.n_outputs > MAX_INTERACTIONS:
        raise ValueError(
            f"the interactions of {n_rows:,} rows, {n:,} columns and {model.n_outputs} outputs do "
            f"not fit into memory: pass at most "
            f"{max(1, MAX_INTERACTIONS // (n * n * model.n_outputs)):,} rows"
        )
    if links(model, output) == (OUTPUT_VALUES, OUTPUT_VALUES):
        return check_interactions(model).can_interact
    used = np.isin(np.arange(n), model.column_of_input[model.used_inputs])  # the link mixes them
    return (used[:, np.newaxis] & used) | np.eye(n, dtype=bool)


def _checked_output(model: Model, output: str | None) -> str | None:
    if model.classes is None:
        if output is not None:
            raise ValueError(f"output={output!r} is for classifiers: omit it")
        return None
    if output is None:
        averages = len(model.trees) > 1 and model.averages == "predictions"
        return "probability" if averages else "score"
    if output not in OUTPUTS:
        raise ValueError(f"output={output!r} must be one of {', '.join(map(repr, OUTPUTS))}")
    return output


def _baselines(model: Model, baseline: Any, inputs: Array) -> FloatArray:
    """Return the baseline rows as inputs of trees, at least one."""
    if isinstance(baseline, str):
        if baseline != "mean":
            raise ValueError(f"baseline={baseline!r} must be 'mean', or a row of numbers")
        means = model.mean_inputs
        return (inputs.mean(axis=0, dtype=np.float64) if means is None else means)[np.newaxis]
    rows = baseline
    if not is_data_frame(baseline):
        array, n = np.asarray(baseline), len(model.columns)
        if array.ndim not in (1, 2) or array.shape[-1] != n or array.shape[0] == 0:
            raise ValueError(
                f"baseline has shape {array.shape}: it must be a row of the model's {n} features, "
                f"shape ({n},), or several rows"
            )
        frame = as_frame(np.atleast_2d(array).astype(object))
        assert frame is not None
        rows = Frame(frame.columns, [column.name for column in model.columns])
    try:
        return checked_table(model.encode(rows)).X.astype(np.float64)
    except ValueError as error:
        raise ValueError(f"baseline cannot be used: {error}") from None


def _output_names(model: Model, n_outputs: int) -> list[str]:
    if model.classes is None and n_outputs == 1 and not model.target_names:
        return []
    return list(model.output_names[-n_outputs:])  # of two classes, the second


def _n_paths(model: Model, n_outputs: int) -> IntArray:
    """Return the number of leaves of each feature, for each output that is explained."""
    k = model.n_outputs
    counts = np.zeros((len(model.columns), k), dtype=np.int64)
    for tree in model.trees:
        used = tree.leaf_weight != 0
        output = outputs_above(tree.parent)[tree.leaf_parent]
        np.add.at(counts, (model.column_of_input[tree.leaf_input[used]], output[used]), 1)
    return counts if n_outputs == k else counts.sum(axis=1, keepdims=True)
