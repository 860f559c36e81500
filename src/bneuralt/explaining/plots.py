"""Plots of explanations with matplotlib: bars, waterfalls and beeswarms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bneuralt._typing import Array, FloatArray
from bneuralt.explaining.effect_plots import signed_colors
from bneuralt.explaining.raw_cells import format_cell
from bneuralt.plotting import PALETTES, current_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bneuralt.explaining.explanation import Explanation

__all__ = ["plot_explanation"]

KINDS = ("bar", "waterfall", "beeswarm", "interactions")
#: Colours of positive and negative contributions, and of sums.
UP, DOWN, TOTAL = (PALETTES["light"][role] for role in ("positive", "negative", "faint"))
#: Colours of low and high values of a feature, which are none of a sign.
LOW, HIGH = PALETTES["light"]["line"], PALETTES["light"]["mixed"]


def plot_explanation(
    explanation: Explanation,
    kind: str,
    row: int | None,
    output: int | str | None,
    max_features: int,
    ax: Axes | None,
) -> Axes:
    """Plot contributions; see `Explanation.plot`."""
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r} must be one of {', '.join(map(repr, KINDS))}")
    if max_features < 1:
        raise ValueError(f"max_features={max_features!r} must be 1 or more")
    if row is not None and not 0 <= row < len(explanation):
        raise IndexError(f"row={row} must be 0 to {len(explanation) - 1}")
    if ax is None:
        ax = current_axes("Explanation.plot")
    if kind == "waterfall":
        _waterfall(explanation, row or 0, output, max_features, ax)
    elif kind == "interactions":
        return _heat_map(explanation, row, output, max_features, ax)
    elif kind == "beeswarm":
        _beeswarm(explanation, output, max_features, ax)
    else:
        _bars(explanation, row, output, max_features, ax)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def _of_row(explanation: Explanation, row: int, k: int) -> FloatArray:
    values: FloatArray = explanation.values[row].reshape(len(explanation.feature_names), -1)[:, k]
    return values


def _what(explanation: Explanation, k: int) -> str:
    names = explanation.output_names
    return f"{explanation.explains} of {names[k]}" if names else explanation.explains


def _cells(explanation: Explanation, row: int, order: Array) -> list[str]:
    return [
        format_cell(explanation.feature_names[j], explanation.data[row, j]) for j in order.tolist()
    ]


def _bars(
    explanation: Explanation, row: int | None, output: int | str | None, most: int, ax: Axes
) -> None:
    if row is None and output is None:
        values, label = (
            explanation.importances,
            f"mean |contribution| to the {explanation.explains}",
        )
    elif row is None:
        k = explanation.of_output(output)
        flat = explanation.values.reshape(len(explanation), len(explanation.feature_names), -1)
        values = np.abs(flat[:, :, k]).mean(axis=0)
        label = f"mean |contribution| to the {_what(explanation, k)}"
    else:
        k = explanation.of_output(output, row)
        values, label = _of_row(explanation, row, k), f"contribution to the {_what(explanation, k)}"
    order = np.argsort(-np.abs(values), kind="stable")[:most]
    names = [explanation.feature_names[j] for j in order.tolist()]
    if row is not None:
        names = _cells(explanation, row, order)
    shown = values[order]
    colors = [UP if value >= 0 else DOWN for value in shown] if row is not None else TOTAL
    positions = np.arange(order.size)
    ax.barh(positions, shown, color=colors)
    ax.set_yticks(positions, names)
    ax.invert_yaxis()
    ax.set_xlabel(label)


def _waterfall(
    explanation: Explanation, row: int, output: int | str | None, most: int, ax: Axes
) -> None:
    k = explanation.of_output(output, row)
    values = _of_row(explanation, row, k)
    order = np.argsort(-np.abs(values), kind="stable")
    shown, rest = order[:most], order[most:]
    steps, names = values[shown].tolist(), _cells(explanation, row, shown)
    if rest.size:
        steps.append(float(values[rest].sum()))
        names.append(f"{rest.size} other features")
    start = float(np.ravel(explanation.baseline)[k])
    ends = start + np.cumsum(steps)
    begins = np.concatenate([[start], ends[:-1]])
    positions = np.arange(len(steps))
    ax.barh(positions, steps, left=begins, color=[UP if step >= 0 else DOWN for step in steps])
    for y, (end, step) in enumerate(zip(ends.tolist(), steps, strict=True)):
        ax.annotate(
            f"{step:+.3g}",
            (end, y),
            xytext=(4 if step >= 0 else -4, 0),
            textcoords="offset points",
            ha="left" if step >= 0 else "right",
            va="center",
        )
    ax.axvline(start, color=TOTAL, linestyle=":", linewidth=1)
    ax.axvline(float(ends[-1]), color=TOTAL, linewidth=1)
    ax.set_yticks(positions, names)
    ax.invert_yaxis()
    low, high = min(start, float(ends.min())), max(start, float(ends.max()))
    margin = 0.2 * ((high - low) or 1.0)  # for the numbers beside the bars
    ax.set_xlim(low - margin, high + margin)
    ax.set_xlabel(f"{_what(explanation, k)} (baseline {start:.2g}, here {ends[-1]:.3g})")


def _beeswarm(explanation: Explanation, output: int | str | None, most: int, ax: Axes) -> None:
    k = explanation.of_output(output)
    values = explanation.values.reshape(len(explanation), len(explanation.feature_names), -1)[
        ..., k
    ]
    order = np.argsort(-np.abs(values).mean(axis=0), kind="stable")[:most]
    from matplotlib.colors import LinearSegmentedColormap

    colors = LinearSegmentedColormap.from_list("values", [LOW, HIGH])
    for position, j in enumerate(order.tolist()):
        points = ax.scatter(
            values[:, j],
            position + _spread(values[:, j]),
            c=_ranks(explanation.data[:, j]),
            cmap=colors,
            vmin=0,
            vmax=1,
            s=9,
            linewidths=0,
        )
    ax.axvline(0, color=TOTAL, linewidth=1)
    ax.set_yticks(np.arange(order.size), [explanation.feature_names[j] for j in order.tolist()])
    ax.set_ylim(order.size - 0.5, -0.5)
    ax.set_xlabel(f"contribution to the {_what(explanation, k)}")
    legend = ax.figure.colorbar(points, ax=ax, ticks=[0, 1], aspect=40)
    legend.ax.set_yticklabels(["low", "high"])
    legend.set_label("value of the feature")


def _heat_map(
    explanation: Explanation, row: int | None, output: int | str | None, most: int, ax: Axes
) -> Axes:
    strength = explanation.pair_importances()  # raises an error if there are no interactions
    assert explanation.interactions is not None
    names, n = explanation.feature_names, len(explanation.feature_names)
    k = explanation.of_output(output, row)
    pairs = explanation.interactions.reshape(len(explanation), n, n, -1)[..., k]
    values = np.abs(pairs).mean(axis=0) if row is None else pairs[row]
    order = np.argsort(-(strength.sum(axis=0) + np.abs(values).sum(axis=0)), kind="stable")[:most]
    shown = values[np.ix_(order, order)]
    shown = np.where(np.eye(order.size, dtype=bool), np.nan, shown)  # larger than all pairs
    limit = float(np.nanmax(np.abs(shown), initial=0.0)) or 1.0
    drawn = ax.imshow(shown, cmap=signed_colors(), vmin=-limit, vmax=limit)
    ax.set_facecolor(PALETTES["light"]["node"])
    labels = [names[j] for j in order.tolist()]
    ax.set_xticks(np.arange(order.size), labels, rotation=45, ha="right")
    ax.set_yticks(np.arange(order.size), labels)
    what = f"contribution to the {_what(explanation, k)}"
    ax.figure.colorbar(drawn, ax=ax).set_label(what if row is not None else f"mean |{what}|")
    return ax


def _spread(values: FloatArray) -> FloatArray:
    """Return offsets of points from their line, so that points of equal value do not overlap."""
    span = float(np.ptp(values)) or 1.0
    bins = np.round((values - values.min()) / span * 60).astype(int)
    order = np.argsort(bins, kind="stable")
    counts = np.bincount(bins)
    rank = np.empty(len(values))
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    rank[order] = np.arange(len(values)) - starts[bins[order]]
    side = np.where(rank % 2 == 0, 1, -1) * np.ceil(rank / 2)
    offsets: FloatArray = 0.4 * side / max(1.0, counts.max() / 2)
    return offsets


def _ranks(cells: Array) -> FloatArray:
    """Return the relative position of each value between the lowest (0) and the highest (1)."""
    try:
        numbers = cells.astype(np.float64)
    except (TypeError, ValueError):
        texts = np.array([str(cell) for cell in cells])
        numbers = np.unique(texts, return_inverse=True)[1].astype(np.float64)
    low, high = np.nanmin(numbers), np.nanmax(numbers)
    scaled: FloatArray = np.nan_to_num((numbers - low) / ((high - low) or 1.0), nan=0.5)
    return scaled
