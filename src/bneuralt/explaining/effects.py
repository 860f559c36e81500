"""`effect`: the mean prediction as a function of one column, and of two columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bneuralt._typing import Array, FloatArray
from bneuralt.arrays import checked_table
from bneuralt.explaining.links import links
from bneuralt.expressions import distinct_knots, evaluate
from bneuralt.model import Model, ModelColumn
from bneuralt.tables.columns import Column, Frame, label_of, parse_dates
from bneuralt.tables.features.category import RARE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Effect", "Surface", "column_position", "effect", "surface"]

#: Curves are computed so densely that straight lines between the points are this exact, as a share
#: of the range of the curve; tested in the middle between two points.
TOLERANCE = 1e-3
#: Number of points besides the bends before any are added, and how often intervals are halved.
FIRST_POINTS, MAX_HALVINGS = 33, 8
#: Largest number of dates; if there are more days, every second one is used, and so on.
MAX_DATES = 1000
#: Number of points along each axis of a surface, besides the bends.
SURFACE_POINTS = 25
#: Pictures and pages show this many of the smallest and of the largest effects of categories.
MAX_SHOWN = 20
#: Largest number of inputs that are in memory at a time.
MAX_INPUTS = 2**22

SCALES = ("score", "probability")
_HOUR, _DAY = np.timedelta64(1, "h"), np.timedelta64(1, "D")


@dataclass(frozen=True, eq=False)
class Effect:
    """The mean prediction as a function of one column.

    Attributes
    ----------
    name : str
        Name of the column.
    kind : {"number", "category", "date"}
    x : array of shape (n_points,)
        Values of the column: numbers or dates in ascending order, or the categories, of which
        "(rare)" stands for all rare ones.
    y : array of shape (n_points, n_outputs)
        The mean of the predictions for all rows, with this value in the column.
    knots : array
        The numbers among `x` at which an input of the trees bends. Between knots the curve is
        smooth, unless a node has a bend (ReLU).
    missing : array of shape (n_outputs,), or None
        The same for a missing value; None if no value was missing in training.
    output_names : list of str
        The classes; with two classes, only the second. Empty for a regressor with one target.
    explains : {"prediction", "score", "probability"}
        Quantity that is explained.
    range : tuple of two numbers or texts, or None
        Smallest and largest value in training. Beyond it, the curve is extrapolated.
    rows : array or None
        The values of the column in the rows of X that are not missing; None without X.
    """

    name: str
    kind: str
    x: Array
    y: FloatArray
    knots: FloatArray
    missing: FloatArray | None
    output_names: list[str]
    explains: str
    range: Any = None
    rows: Array | None = None

    @property
    def is_constant(self) -> bool:
        """Whether the column had a single value, so that there is no curve."""
        return len(self.x) == 1

    @property
    def is_extrapolated(self) -> Array:
        """Whether each point is outside of the range in training."""
        if self.range is None or self.kind == "category":
            return np.zeros(len(self.x), dtype=bool)
        low, high = np.array(self.range, dtype=self.x.dtype)
        outside: Array = (self.x < low) | (self.x > high)
        return outside

    def shortened(self, n: int = MAX_SHOWN) -> Effect:
        """Return the `n` smallest and the `n` largest effects of a column of categories, ascending.

        The order is that of the output whose mean differs most. Itself, if there are no more.

        Examples
        --------
        >>> x = np.array(["a", "b", "c", "d"], dtype=object)
        >>> y = np.array([[3.0], [1.0], [4.0], [2.0]])
        >>> curve = Effect("shop", "category", x, y, np.zeros(0), None, [], "prediction")
        >>> curve.shortened(1)
        Effect('shop (2 of 4 values)', n_points=2, n_knots=0, n_outputs=1, explains='prediction')
        >>> curve.shortened(1).x.tolist()
        ['b', 'c']
        """
        if self.kind != "category" or len(self.x) <= 2 * n:
            return self
        order = np.argsort(self.y[:, np.ptp(self.y, axis=0).argmax()], kind="stable")
        shown = np.append(order[:n], order[-n:])
        name = f"{self.name} ({2 * n} of {len(self.x):,} values)"
        return replace(self, name=name, x=self.x[shown], y=self.y[shown])

    def plot(self, ax: Axes | None = None, output: int | str | None = None) -> Axes:
        """Plot the curve, one line or bar for each output.

        Of a category of many values, the 20 smallest and the 20 largest effects are shown.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default the current axes.
        output : int or str, optional
            Position or name of one output; all by default.

        Returns
        -------
        matplotlib Axes
        """
        from bneuralt.explaining.effect_plots import plot_effect

        return plot_effect(self, ax, output)

    def __repr__(self) -> str:
        return (
            f"Effect({self.name!r}, n_points={len(self.x)}, n_knots={len(self.knots)}, "
            f"n_outputs={self.y.shape[1]}, explains={self.explains!r})"
        )


@dataclass(frozen=True, eq=False)
class Surface:
    """The mean prediction as a function of two columns.

    Attributes
    ----------
    names, kinds : tuple of two str
        Of the columns.
    x : tuple of two arrays
        Values of each column.
    y : array of shape (n_first, n_second, n_outputs)
    output_names : list of str
    explains : {"prediction", "score", "probability"}
    """

    names: tuple[str, str]
    kinds: tuple[str, str]
    x: tuple[Array, Array]
    y: FloatArray
    output_names: list[str]
    explains: str


def effect(
    model: Model, column: int | str, X: Any = None, *, at: Any = None, output: str | None = None
) -> Effect:
    """Return the mean prediction as a function of one column; see `ExplainingMethods.effect`.

    Examples
    --------
    >>> from bneuralt import NeuralTree
    >>> tree = NeuralTree(2, 1, [-1], [0], [0, 0], [0, 1], [0.5, 2.0, -1.0])
    >>> curve = effect(Model.of_tree(tree), "x0", [[0.0, 1.0], [4.0, 3.0]])
    >>> curve.x[[0, -1]], curve.y[[0, -1], 0]
    (array([0., 4.]), array([-1.5,  6.5]))
    """
    model = model.in_raw_units()
    scale = _checked_scale(model, output)
    j = column_position(model, column)
    part = model.columns[j]
    if part.feature.kind == "unused":
        raise ValueError(f"column {part.name!r} has no effect: the model does not use it")
    table, rows = _background(model, X)
    values = None if table is None else _present(table, j, part)
    bends: FloatArray = np.zeros(0)

    def curve(x: Array) -> FloatArray:
        return _mean_predictions(model, rows, {j: _cells(part, x)}, scale)

    if at is not None:
        x = _read_points(part, at)
        y = curve(x)
    elif part.feature.kind == "number":
        low, high = _limits(part, values)
        bends = _bends(part, low, high)
        first = np.unique(np.concatenate([np.linspace(low, high, FIRST_POINTS), bends]))
        x, y = _refined(curve, first)
    else:
        x = _points(part, values)
        y = curve(x)
    gaps = part.feature.has_gaps or part.feature.ignores_gaps
    missing = curve(_gap(part))[0] if gaps else None
    return Effect(
        part.name,
        part.feature.kind,
        x,
        y,
        bends,
        missing,
        _output_names(model, y.shape[1]),
        scale or "prediction",
        part.range,
        values,
    )


def surface(
    model: Model, columns: Sequence[int | str], X: Any = None, *, output: str | None = None
) -> Surface:
    """Return the mean prediction as a function of two columns; see `ExplainingMethods.effect`.

    Examples
    --------
    >>> from bneuralt import NeuralTree
    >>> tree = NeuralTree(2, 1, [-1], [0], [0, 0], [0, 1], [0.5, 2.0, -1.0])
    >>> surface(Model.of_tree(tree), (0, 1), [[0.0, 1.0], [4.0, 3.0]]).y[0, 0]
    array([-0.5])
    """
    model = model.in_raw_units()
    if len(columns) != 2:
        raise ValueError(f"column={columns!r:.100} must be one column, or a pair of two columns")
    scale = _checked_scale(model, output)
    i, j = (column_position(model, column) for column in columns)
    if i == j:
        raise ValueError(f"column={tuple(columns)!r} must be a pair of two different columns")
    table, rows = _background(model, X)
    axes = []
    for k in (i, j):
        part = model.columns[k]
        values = None if table is None else _present(table, k, part)
        if part.feature.kind == "number":
            low, high = _limits(part, values)
            grid = np.linspace(low, high, SURFACE_POINTS)
            axes.append(np.unique(np.concatenate([grid, _bends(part, low, high)])))
        else:
            points = _points(part, values)
            axes.append(points[:: -(-len(points) // (4 * SURFACE_POINTS))])
    first, second = (
        grid.ravel() for grid in np.meshgrid(*map(np.arange, map(len, axes)), indexing="ij")
    )
    cells = {
        k: _cells(model.columns[k], x[place])
        for k, x, place in ((i, axes[0], first), (j, axes[1], second))
    }
    y = _mean_predictions(model, rows, cells, scale)
    return Surface(
        (model.columns[i].name, model.columns[j].name),
        (model.columns[i].feature.kind, model.columns[j].feature.kind),
        (axes[0], axes[1]),
        y.reshape(len(axes[0]), len(axes[1]), -1),
        _output_names(model, y.shape[1]),
        scale or "prediction",
    )


def column_position(model: Model, column: int | str) -> int:
    """Return the position of a column from its position or name."""
    names = [entry.name for entry in model.columns]
    if isinstance(column, str):
        if column not in names:
            raise ValueError(f"column={column!r} is not a column; they are {', '.join(names):.500}")
        return names.index(column)
    if isinstance(column, bool) or not isinstance(column, (int, np.integer)):
        raise TypeError(f"column={column!r:.100} must be the name or the position of a column")
    if not 0 <= column < len(names):
        raise ValueError(f"column={column!r} must be 0 to {len(names) - 1}")
    return int(column)


# -- predictions --------------------------------------------------------------------------


def _checked_scale(model: Model, output: str | None) -> str | None:
    if model.classes is None:
        if output is not None:
            raise ValueError(f"output={output!r} is for classifiers: omit it")
        return None
    if output not in (None, *SCALES):
        raise ValueError(f"output={output!r} must be one of {', '.join(map(repr, SCALES))}")
    return output or "probability"


def _background(model: Model, X: Any) -> tuple[Array | Frame | None, Array]:
    """Return the rows that predictions are averaged over: as they are, and as inputs."""
    if X is None:
        if model.reference is None:
            raise ValueError(
                f"this {model.kind} has no reference rows, which fit computes from the training "
                "rows: pass some rows as X"
            )
        return None, model.reference
    table = model.read(X)
    if len(table) == 0:
        raise ValueError("X has no rows: an effect is a mean over at least one row")
    return table, checked_table(model.encoder.encode(table)).X


def _mean_predictions(
    model: Model, rows: Array, columns: dict[int, Column], scale: str | None
) -> FloatArray:
    """Return the mean over rows of the predictions for each point.

    Parameters
    ----------
    model : Model
    rows : array of shape (n_rows, n_inputs)
    columns : dict
        Position of a column -> its cells, one for each point.
    scale : {"score", "probability"} or None

    Returns
    -------
    array of shape (n_points, n_outputs)
    """
    inputs: list[int] = []
    parts: list[FloatArray] = []
    for j, cells in columns.items():
        n_points = len(cells)
        for i, expression in zip(
            model.columns[j].inputs, model.columns[j].expressions, strict=True
        ):
            inputs.append(i)
            parts.append(np.broadcast_to(evaluate(expression, {}, cells), (n_points,)))
    n_rows = len(rows)
    at_once = max(1, MAX_INPUTS // max(1, n_rows * rows.shape[1]))
    means = []
    for first in range(0, n_points, at_once):
        n = min(at_once, n_points - first)
        table = np.tile(rows, (n, 1))
        for i, values in zip(inputs, parts, strict=True):
            table[:, i] = np.repeat(values[first : first + n], n_rows)
        values = _predictions(model, table, scale)
        means.append(values.reshape(n, n_rows, -1).mean(axis=1))
    return np.concatenate(means)


def _predictions(model: Model, inputs: Array, scale: str | None) -> FloatArray:
    outputs = model.outputs(inputs)
    if scale != "score":
        values = model.predictions(outputs)
    else:
        of_tree, of_mean = links(model, scale)
        mean = np.mean([evaluate(of_tree, {"outputs": part}) for part in outputs], axis=0)
        values = evaluate(of_mean, {"outputs": mean})
    if scale is None or model.task != "classes" or model.n_outputs != 2:
        return values
    return values[:, 1:] - values[:, :1] if scale == "score" else values[:, 1:]


def _output_names(model: Model, n_outputs: int) -> list[str]:
    if model.classes is None and n_outputs == 1 and not model.target_names:
        return []
    return list(model.output_names[-n_outputs:])  # of two classes, the second


# -- points of a column -------------------------------------------------------------------


def _refined(
    curve: Callable[[FloatArray], FloatArray], x: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Add points in the middle of intervals where a straight line is not exact enough."""
    y = curve(x)
    is_open = np.ones(len(x) - 1, dtype=bool)
    for _ in range(MAX_HALVINGS):
        left = np.flatnonzero(is_open)
        middle = (x[left] + x[left + 1]) / 2
        if not left.size:
            break
        values = curve(middle)
        span = np.ptp(y, axis=0).max() + 1e-9 * np.abs(y).max()
        error = np.abs(values - (y[left] + y[left + 1]) / 2).max(axis=1)
        coarse = error > TOLERANCE * span
        x = np.insert(x, left[coarse] + 1, middle[coarse])
        y = np.insert(y, left[coarse] + 1, values[coarse], axis=0)
        halves = np.isin(x, middle[coarse])  # intervals on both sides of a new point
        is_open = halves[:-1] | halves[1:]
    return x, y


def _bends(part: ModelColumn, low: float, high: float) -> FloatArray:
    """Return the bends of the inputs of a column between two numbers."""
    bends = distinct_knots(part.expressions)
    return np.array([x for x in bends if low <= x <= high], dtype=np.float64)


def _limits(part: ModelColumn, values: Array | None) -> tuple[float, float]:
    """Return the ends of the curve of a column of numbers: those of the rows, or of training."""
    if values is not None and values.size:
        return float(values.min()), float(values.max())
    if part.range is None:
        raise ValueError(
            f"the range of column {part.name!r} in training is not known: pass rows with values as "
            "X, or points as at="
        )
    return float(part.range[0]), float(part.range[1])


def _points(part: ModelColumn, values: Array | None) -> Array:
    """Return the points of a column of categories or dates."""
    if part.feature.kind == "category":
        entries = [*part.feature.categories, *[RARE] * part.feature.has_other]  # type: ignore[attr-defined]
        return np.array(entries, dtype=object)
    if values is not None and values.size:
        low, high = values.min(), values.max()
    elif part.range is not None:
        low, high = np.array(part.range, dtype="datetime64[s]")
    else:
        raise ValueError(
            f"the range of column {part.name!r} in training is not known: pass rows with dates as X"
        )
    step = _HOUR if high - low < MAX_DATES * _HOUR else _DAY
    n_steps = int((high - low) // step) + 1
    points = low + step * np.arange(0, n_steps, -(-n_steps // MAX_DATES))
    return points if points[-1] == high else np.append(points, high)


def _cells(part: ModelColumn, x: Array) -> Column:
    """Return points of a column in the form that the expressions of its inputs read."""
    if part.feature.kind == "number":
        return Column("number", x.astype(np.float64))
    if part.feature.kind == "date":
        return Column("date", x.astype("datetime64[s]"))
    texts, codes = np.unique([RARE if text is None else text for text in x], return_inverse=True)
    codes = np.where([text is None for text in x], -1, codes)
    return Column("text", codes, tuple(texts.tolist()))  # (rare) is not a category: a rare text


def _gap(part: ModelColumn) -> Array:
    if part.feature.kind == "number":
        return np.array([np.nan])
    if part.feature.kind == "date":
        return np.array(["NaT"], dtype="datetime64[s]")
    return np.array([None], dtype=object)


def _point(feature: Any, value: Any) -> float:
    """Return a number, which may be a text such as "3,221.11 EUR"."""
    if isinstance(value, str) and feature.notation is not None:
        return float(feature.notation.read([value])[0][0])
    return float(value)


def _read_points(part: ModelColumn, at: Any) -> Array:
    """Return the points that a user asks for."""
    kind = part.feature.kind
    try:
        listed = list(np.atleast_1d(np.asarray(at, dtype=object)))
        if kind == "number":
            x: Array = np.array([_point(part.feature, value) for value in listed])
            valid = bool(np.isfinite(x).all())
        elif kind == "date":
            parsed = parse_dates([str(value) for value in listed], part.day_first)
            valid = parsed is not None and not np.isnat(parsed[0]).any()
            x = np.zeros(1) if parsed is None else parsed[0]
        else:
            x = np.array([label_of(value) for value in listed], dtype=object)
            known = part.feature.values
            valid = known is None or set(x.tolist()) <= {*known, RARE}
    except (TypeError, ValueError):
        valid = False
    if not valid or not listed:
        wanted = {"number": "finite numbers", "date": "dates", "category": "values of training"}
        raise ValueError(f"at={at!r:.100} must be {wanted[kind]} for column {part.name!r}")
    return x


def _present(table: Array | Frame, j: int, part: ModelColumn) -> Array:
    """Return the values of a column of X that are not missing."""
    if not isinstance(table, Frame):
        column = Column("number", np.asarray(table[:, j], dtype=np.float64))
    else:
        column = table.columns[j]
    column = part.feature.read(column)
    values = column.values[~column.is_missing]
    if part.feature.kind == "category":
        return np.array(column.texts, dtype=object)[values]
    return values
