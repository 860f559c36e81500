"""The data of the interactive page: a model as JSON can hold it.

Trees are as in model files. Columns and inputs that no leaf uses are left out, so that the page of
a wide table stays small. Expressions are nested lists, which `page/expressions.js` makes functions
of; each occurs once. With the content of the model's file, the page can write an edited file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bneuralt._typing import FloatArray, IntArray
from bneuralt.drawing.labels import counted
from bneuralt.drawing.view import (
    Drawable,
    as_model,
    cells,
    input_spreads,
    named_inputs,
    output_names_of,
)
from bneuralt.expressions import (
    Expression,
    Lookup,
    direction,
    distinct_knots,
    evaluate,
    without_order,
)
from bneuralt.model import Model, ModelColumn, reading_of
from bneuralt.tables.columns import Column, Frame
from bneuralt.tables.features import Input, NumberFeature
from bneuralt.tree.activations import ACTIVATIONS, EXPRESSIONS, NAMES
from bneuralt.tree.monotonic import is_increasing
from bneuralt.tree.neural_tree import NeuralTree

__all__ = ["page_data", "to_lists"]

#: Keys of a model file that do not hold for an edited model: they are null in its file.
OUTDATED_BY_EDITS = ("training", "calibration", "importances")

#: Rows of a table of examples that a page has; more are left out.
MAX_EXAMPLES = 1000


def page_data(
    model: Drawable,
    examples: Any = None,
    feature_names: Any = None,
    output_names: Any = None,
    file: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return all that the page needs, as JSON can hold it.

    Parameters
    ----------
    model : Model, fitted estimator, or NeuralTree
    examples : table, optional
        Rows to step through.
    feature_names, output_names : sequence, optional
        Names to use instead of those of the model.
    file : dict, optional
        The content of the model's file, so that the page can edit the model.

    Examples
    --------
    >>> from bneuralt import NeuralTree
    >>> tree = NeuralTree(9, 1, [-1], [0], [0, 0, 0], [7, 3, 7], [0.5, 2.0, 1.0, 0.25])
    >>> data = page_data(tree)
    >>> data["inputs"], data["used"], data["n_unused"]
    (['x3', 'x7'], [3, 7], 7)
    """
    model = as_model(model)
    names, inputs = named_inputs(model, feature_names)
    outputs = output_names_of(model, output_names)
    used = model.used_inputs
    shown = np.unique(model.column_of_input[used]).tolist()
    expressions = _Expressions()
    columns = [_column(model, j, names[j], used, expressions) for j in shown]
    rows = None if examples is None else {"rows": _example_rows(model, shown, examples)}
    return {
        "facts": _facts(model, outputs),
        "task": "scores" if model.has_scores else model.task,
        "outputs": [f"label {name}" if model.task == "labels" else name for name in outputs],
        "inputs": [inputs[i].name for i in used.tolist()],
        "used": used.tolist(),
        "means": [_number(model.inputs[i].mean or 0.0) for i in used.tolist()],
        "spreads": [_number(float(f"{x:.3g}")) for x in _spreads(model, used).tolist()],
        "columns": columns,
        "n_columns": len(names),
        "n_unused": len(names) - len(shown),
        "activations": _activations(model, expressions),
        "trees": [_tree(tree) for tree in model.trees],
        "may_decrease": [np.flatnonzero(~is_increasing(tree)).tolist() for tree in model.trees],
        "output_signs": _output_signs(model),
        "constraints": list(model.constraints),
        "link": expressions.place(to_lists(model.link)),
        "averages": model.averages,
        "expressions": expressions.distinct,
        "history": _history(model),
        "reference": None if model.reference is None else model.reference.tolist(),
        "examples": rows,
        "positions": None if file is None else shown,
        "file": None if file is None else _rest_of_file(file),
    }


def _facts(model: Model, outputs: Sequence[str]) -> str:
    """Return the size of a model in a few words."""
    parts = [counted(len(model.trees), "tree")] if len(model.trees) > 1 else []
    parts += [counted(model.n_parameters, "weight"), counted(len(model.columns), "column")]
    n = len(outputs)
    if model.task == "classes" and not model.has_scores:
        parts.append(f"{n} classes")
    else:
        parts.append(counted(n, "label" if model.task == "labels" else "output"))
    return ", ".join(parts)


# -- expressions --------------------------------------------------------------------------


class _Expressions:
    """The different expressions of a page."""

    def __init__(self) -> None:
        self.distinct: list[Any] = []
        self._places: dict[str, int] = {}

    def place(self, lists: Any) -> int:
        """Return the position of an expression, which is added if it is new."""
        place = self._places.setdefault(repr(lists), len(self.distinct))
        if place == len(self.distinct):
            self.distinct.append(lists)
        return place


def to_lists(
    expression: Expression, categories: tuple[str, ...] = (), mean: float | None = None
) -> Any:
    """Return an expression as nested lists.

    Parameters
    ----------
    expression : Expression
    categories : tuple of str
        The texts of a column, sorted; a lookup is written with their positions.
    mean : float, optional
        This number is written as the variable "mean", so that equal columns with different means
        have the same expression.

    Returns
    -------
    float, str or list
        A number; the name of a variable; or an operation with its arguments, and then its value.

    Examples
    --------
    >>> from bneuralt.expressions import NUMBER, if_missing, tanh, variable
    >>> to_lists(2.0 * tanh(variable("z")))
    ['multiply', 2, ['tanh', 'z']]
    >>> to_lists(if_missing(NUMBER, 1.5), mean=1.5)
    ['if_missing', ['number'], 'mean']
    """
    operation, value = expression.operation, expression.value
    if operation in ("constant", "variable"):
        return "mean" if value == mean else value if operation == "variable" else _number(value)
    parts = [operation, *(to_lists(part, categories, mean) for part in expression.arguments)]
    if isinstance(value, Lookup):
        return parts + _lookup(value, categories, mean)
    return parts if value is None else [*parts, list(value) if type(value) is tuple else value]


def _number(value: float) -> float:
    """Return whole numbers as such, which are shorter."""
    return int(value) if value == int(value) else value


def _lookup(table: Lookup, categories: tuple[str, ...], mean: float | None) -> list[float | str]:
    """Return the numbers of unknown, missing and most texts; then other texts with their numbers.

    In this form, the 255 inputs of 255 categories have six entries each.
    """

    def written(number: float) -> float | str:
        return "mean" if number == mean else _number(number)

    numbers = dict(zip(table.texts, table.numbers, strict=True))
    of_category = [numbers.get(text, table.unknown) for text in categories]
    usual = Counter(of_category).most_common(1)[0][0] if categories else table.unknown
    others = [(i, written(x)) for i, x in enumerate(of_category) if x != usual]
    lists: list[float | str] = [written(x) for x in (table.unknown, table.missing, usual)]
    return lists + [x for pair in others for x in pair]


# -- columns ------------------------------------------------------------------------------


def _column(
    model: Model, j: int, name: str, used: IntArray, expressions: _Expressions
) -> dict[str, Any]:
    """Return how a column becomes inputs, and what its form field needs."""
    column = model.columns[j]
    described: dict[str, Any] = {
        "name": name,
        "reads": next(iter(column.cell_operations), "lookup"),
        "typical": _typical_cell(column, [model.inputs[i].mean for i in column.inputs]),
    }
    if column.range is not None:
        described["range"] = column.range
    if column.categories:
        described["categories"] = list(column.categories)
    if parts := column.cell_operations.get("date_part"):
        described["parts"], described["day_first"] = list(parts), column.day_first
    reading = reading_of(described["reads"], j, column)
    if reading.kind in ("amount", "clock"):
        described["notation"] = [reading.kind, *reading.settings]
    if reading.gaps:
        described["gaps"] = list(reading.gaps)
    feature = column.feature
    start, end = np.searchsorted(used, [column.inputs.start, column.inputs.stop])
    entries = model.inputs[column.inputs.start : column.inputs.stop]
    if isinstance(feature, NumberFeature) and feature.bounds is not None:
        # The page can change bounds: it applies them to the cell itself.
        described["bounds"] = list(feature.bounds)
        entries = tuple(replace(feature, bounds=None).inputs(name, column.range))
    entries = tuple(entries[i - column.inputs.start] for i in used[start:end].tolist())
    if bends := _knots(entries):
        described["knots"] = bends
    if feature.has_gaps or feature.ignores_gaps:
        described["has_gaps"] = True
    if isinstance(feature, NumberFeature):
        if feature.mean is not None:
            described["mean"] = _number(feature.mean)
        if feature.sentinels:
            described["sentinels"] = list(feature.sentinels)
        if feature.has_gaps:  # the sign of the effect of the cell on each input; 1 by default
            described["directions"] = [direction(entry.expression).sign for entry in entries]
    described["expressions"] = [
        expressions.place(to_lists(entry.expression, column.categories, entry.mean))
        for entry in entries
    ]
    return described


def _knots(entries: Sequence[Input]) -> list[float]:
    """Return the numbers at which the inputs of a column bend."""
    try:
        return [_number(x) for x in distinct_knots(entry.expression for entry in entries)]
    except ValueError:  # the bends of an expression cannot be computed
        return []


def _typical_cell(column: ModelColumn, means: list[float | None]) -> float | str | None:
    """Return the cell whose inputs are nearest to their means, of those that are likely."""
    candidates: Sequence[float | str]
    if "number" in column.cell_operations:
        ends = [x for x in column.range or () if not isinstance(x, str)]
        middle = [sum(ends) / 2] if ends else [0.0]
        candidates = [x for x in means[:1] if x is not None] + middle
        cell = Column("number", np.array(candidates, dtype=np.float64))
    elif "date_part" in column.cell_operations:
        ends_in_time = np.array(column.range or (), dtype="datetime64[s]")
        cell = Column("date", ends_in_time[:1] + np.diff(ends_in_time) // 2)
        candidates = [str(date) for date in cell.values]
    else:
        candidates = column.categories
        cell = Column("text", np.arange(len(candidates)), column.categories)
    if not candidates:
        return None
    distance = np.zeros(len(candidates))
    for expression, mean in zip(column.expressions, means, strict=True):
        if mean is not None:
            distance += np.square(evaluate(expression, {}, cell) - mean)
    value = candidates[int(distance.argmin())]
    return value if isinstance(value, str) else _number(value)


def _spreads(model: Model, used: IntArray) -> FloatArray:
    """Return about how much each used input varies; 1 where nothing is known."""
    spread = input_spreads(model)
    if spread is not None:
        return spread[used]
    ranges = [model.inputs[i].range for i in used.tolist()]
    return np.array([1.0 if ends is None else (ends[1] - ends[0]) / 4 or 1.0 for ends in ranges])


# -- trees --------------------------------------------------------------------------------


def _activations(model: Model, expressions: _Expressions) -> dict[str, dict[str, Any]]:
    """Return the activations that occur, by name."""
    codes = np.unique(np.concatenate([tree.activation for tree in model.trees])).tolist()
    return {
        name: {
            "expression": expressions.place(to_lists(EXPRESSIONS[name])),
            "parameters": [parameter.name for parameter in ACTIVATIONS[name].entry.parameters],
        }
        for name in (NAMES[code] for code in codes)
    }


def _output_signs(model: Model) -> list[int] | None:
    """Return whether the prediction rises (1) or falls (-1) with each output; None if unknown."""
    if model.task == "classes":
        return [-1, 1] if model.n_outputs == 2 and not model.has_scores else None
    sign = direction(without_order(model.link), "outputs").sign
    is_single = model.task == "numbers" and (model.n_outputs == 1 or model.quantiles is not None)
    return [sign] * model.n_outputs if sign and is_single else None


def _tree(tree: NeuralTree) -> dict[str, Any]:
    """Return a tree as in files, with whole numbers as such."""
    return {
        name: list(map(_number, value)) if name in ("bias", "edge", "leaf_weight") else value
        for name, value in tree.to_dict().items()
    }


def _rest_of_file(file: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a model file holds besides what the page has, and what an edit makes untrue."""
    rest = {key: value for key, value in file.items() if key not in ("history", "reference")}
    trees = [{key: v for key, v in entry.items() if key != "tree"} for entry in file["trees"]]
    return {**rest, **dict.fromkeys(OUTDATED_BY_EDITS), "trees": trees}


def _history(model: Model) -> list[Any] | None:
    """Return the losses of each epoch, with six digits."""
    if not any(model.history):
        return None
    return [
        curves
        and {
            name: [float(f"{x:.6g}") if np.isfinite(x) else None for x in curves[name].tolist()]
            for name in ("train_loss", "val_loss")
            if name in curves
        }
        for curves in model.history
    ]


# -- examples -----------------------------------------------------------------------------


def _example_rows(model: Model, shown: list[int], X: Any) -> list[list[Any]]:
    """Return the values of the shown columns for each row: numbers, texts, None for gaps."""
    table = model.read(X, "examples")
    rows = slice(MAX_EXAMPLES)
    table = table.take(rows) if isinstance(table, Frame) else table[rows]
    return [list(row) for row in zip(*(cells(table, j) for j in shown), strict=True)]
