"""What the interactive page knows of a model, as plain data.

Columns and inputs that no leaf uses are left out, so that the page of a wide table stays small.
Leaves of one node with the same input are one leaf with the sum of their weights.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from bneuralt._typing import FloatArray, IntArray
from bneuralt.drawing.view import MISSING, RARE, FeatureView, TreeView
from bneuralt.expressions import OUTPUTS, exp
from bneuralt.tables.columns import Frame, as_frame
from bneuralt.tables.features import CategoryFeature, DateFeature
from bneuralt.tree.activations import NAMES
from bneuralt.tree.neural_tree import NeuralTree

__all__ = ["page_data"]

#: Rows of a table of examples that a page has; more are left out.
MOST_EXAMPLES = 1000

#: How much the parts of a date vary, about.
_SPREAD_OF_PART = {"year": 1.0, "month": 3.5, "weekday": 2.0, "hour": 7.0}


def page_data(
    model: Any,
    examples: Any = None,
    feature_names: Any = None,
    output_names: Any = None,
) -> dict[str, Any]:
    """Return all that the page needs, as JSON can hold it.

    Parameters
    ----------
    model : estimator, fitted, or NeuralTree
    examples : table, optional
        Rows to step through.
    feature_names, output_names : sequence, optional
        Names to use instead of those of the model.

    Examples
    --------
    >>> from bneuralt import NeuralTree
    >>> tree = NeuralTree(9, 1, [-1], [0], [0, 0, 0], [7, 3, 7], [0.5, 2.0, 1.0, 0.25])
    >>> data = page_data(tree)
    >>> data["inputs"], data["n_unused"], data["trees"][0]["leaf_weight"]
    (['x3', 'x7'], 7, [1.0, 2.25])
    """
    view = TreeView.of(
        model, simplified=False, feature_names=feature_names, output_names=output_names
    )
    trees = [model] if isinstance(model, NeuralTree) else list(model._trees)
    used = np.unique(np.concatenate([tree.leaf_input for tree in trees]))
    shown = np.unique(view.feature_of_input[used]).tolist()
    encoder = getattr(model, "encoder_", None)
    columns = [_column(view.features[j], j, used, encoder) for j in shown]
    inputs = [_input_name(view.features[view.feature_of_input[i]], i) for i in used.tolist()]
    rows = None if examples is None else {"rows": _example_rows(model, view, shown, examples)}
    return {
        "task": "scores" if view.model is None and view.tree.n_outputs > 1 else view.task,
        "outputs": [_output_name(view, name) for name in view.output_names],
        "inputs": inputs,
        "spreads": _spreads(view, encoder, used).tolist(),
        "columns": columns,
        "n_unused": len(view.features) - len(shown),
        "trees": [_tree(model, tree, trees, used) for tree in trees],
        "tiny": float(np.finfo(trees[0].dtype).tiny),
        **_finish(model),
        "history": _history(getattr(model, "estimators_", [model])),
        "examples": rows,
    }


# -- columns ------------------------------------------------------------------------------


def _column(feature: FeatureView, j: int, used: IntArray, encoder: Any) -> dict[str, Any]:
    """Return how a column becomes inputs; inputs that no leaf uses have the place -1."""
    inputs = np.arange(feature.inputs.start, feature.inputs.stop)
    place = np.searchsorted(used, inputs).clip(max=used.size - 1)
    described: dict[str, Any] = {
        "name": feature.name,
        "kind": feature.kind,
        "inputs": np.where(used[place] == inputs, place, -1).tolist(),
    }
    if encoder is None:
        return {**described, "mean": None, "gaps": False, "range": None}
    learnt = encoder.features[j]
    described["gaps"] = learnt.has_gaps
    described["range"] = None if encoder.ranges is None else encoder.ranges[j]
    if isinstance(learnt, CategoryFeature):
        described["categories"] = list(learnt.categories)
        described["other"] = learnt.has_other
        described["shares"] = list(learnt.shares)
    elif isinstance(learnt, DateFeature):
        described["parts"] = list(learnt.parts)
        described["means"] = list(learnt.means)
        described["day_first"] = learnt.day_first
    else:
        described["mean"] = learnt.mean
    return described


def _input_name(feature: FeatureView, i: int) -> str:
    entry = feature.entry(i)
    if entry == "":
        return feature.name
    if entry in (MISSING, RARE):
        return f"{feature.name} is {entry[1:-1]}"
    return (
        f"{feature.name} = {entry}" if feature.kind == "category" else f"{entry} of {feature.name}"
    )


def _output_name(view: TreeView, name: str) -> str:
    return f"label {name}" if view.task == "labels" else name


def _spreads(view: TreeView, encoder: Any, used: IntArray) -> FloatArray:
    """Return about how much each used input varies; 1 where nothing is known."""
    if view.spread is not None:
        return view.spread[used]
    return np.array([_spread(view, encoder, i) for i in used.tolist()])


def _spread(view: TreeView, encoder: Any, i: int) -> float:
    j = int(view.feature_of_input[i])
    feature = view.features[j]
    entry = feature.entry(i)
    if entry == "":
        found = None if encoder is None or encoder.ranges is None else encoder.ranges[j]
        return 1.0 if found is None else (found[1] - found[0]) / 4 or 1.0
    return _SPREAD_OF_PART.get(entry, 0.5) if feature.kind == "date" else 0.5


# -- trees --------------------------------------------------------------------------------


def _tree(model: Any, tree: NeuralTree, trees: list[NeuralTree], used: IntArray) -> dict[str, Any]:
    place = np.searchsorted(used, tree.leaf_input)
    key = tree.leaf_parent.astype(np.int64) * used.size + place
    merged, of_leaf, times = np.unique(key, return_inverse=True, return_counts=True)
    start = tree.activation_parameter_start.tolist()
    phi = tree.activation_parameters.tolist()
    return {
        "link": _link(model, tree, trees),
        "n_weights": tree.n_parameters,
        "parent": tree.parent.tolist(),
        "bias": tree.bias.tolist(),
        "edge": tree.edge.tolist(),
        "leaf_parent": (merged // used.size).tolist(),
        "leaf_input": (merged % used.size).tolist(),
        "leaf_weight": np.bincount(of_leaf, tree.leaf_weight.astype(np.float64)).tolist(),
        "leaf_times": times.tolist() if times.max() > 1 else None,
        "activation": [NAMES[code] for code in tree.activation.tolist()],
        "activation_parameters": [phi[a:b] for a, b in pairwise(start)],
    }


def _link(model: Any, tree: NeuralTree, trees: list[NeuralTree]) -> str:
    """Return how the outputs of a tree become what a forest averages."""
    if not hasattr(model, "classes_"):
        return "identity"
    if model.multilabel_:
        return "sigmoid" if model._outputs_are_scores([tree]) else "identity"
    return "softmax" if model._outputs_are_scores(trees) else "shares"


def _finish(model: Any) -> dict[str, Any]:
    """Return what becomes of the mean over all trees."""
    if isinstance(model, NeuralTree) or hasattr(model, "classes_"):
        return {"finish": None}
    quantiles = model._quantiles()
    if quantiles is not None:
        order = quantiles.argsort(kind="stable")
        return {"finish": "sort", "places": order.argsort(kind="stable").tolist()}
    return {"finish": "exp" if model._link() == exp(OUTPUTS) else None}


def _history(members: list[Any]) -> list[Any] | None:
    """Return the losses of each epoch, with six digits."""
    curves = [getattr(member, "history_", None) for member in members]
    if not any(curves):
        return None
    return [
        curve
        and {
            name: [float(f"{x:.6g}") if np.isfinite(x) else None for x in curve[name].tolist()]
            for name in ("train_loss", "val_loss")
            if name in curve
        }
        for curve in curves
    ]


# -- examples -----------------------------------------------------------------------------


def _example_rows(model: Any, view: TreeView, shown: list[int], X: Any) -> list[list[Any]]:
    """Return the values of the shown columns for each row: numbers, texts, None for gaps."""
    frame = as_frame(X)
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    if frame is None:
        table = np.asarray(X, dtype=np.float64)[:MOST_EXAMPLES]
        columns = [
            [float(x) if np.isfinite(x) else None for x in table[:, j]]
            for j in range(table.shape[1])
        ]
    else:
        if names and frame.names and set(names) <= set(frame.names):
            frame = frame.select(names)
        columns = [_cells(frame, j) for j in range(frame.shape[1])]
    if len(columns) != len(view.features):
        raise ValueError(f"examples has {len(columns)} columns; the model has {len(view.features)}")
    return [list(row) for row in zip(*(columns[j] for j in shown), strict=True)]


def _cells(frame: Frame, j: int) -> list[Any]:
    column = frame.columns[j]
    values, gaps = column.values[:MOST_EXAMPLES], column.is_missing[:MOST_EXAMPLES]
    if column.kind == "text":
        shown = [column.texts[code] for code in values]
    else:
        shown = [str(x) for x in values] if column.kind == "date" else values.tolist()
    return [None if gap else x for x, gap in zip(shown, gaps, strict=True)]
