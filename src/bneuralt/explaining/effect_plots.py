"""Plots of effects with matplotlib: curves, bars, and maps of two columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bneuralt._typing import Array, FloatArray
from bneuralt.plotting import PALETTES, current_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bneuralt.explaining.effects import Effect, Surface

__all__ = ["plot_effect", "plot_surface", "signed_colors"]

_LIGHT = PALETTES["light"]
#: Colours of the curves, in the order of the outputs; more outputs than these begin again, dashed.
COLORS = [_LIGHT[role] for role in ("positive", "negative", "decision", "mixed", "faint", "output")]
DASHES = ("-", "--", ":", "-.")
#: Outputs that a plot has a legend for.
MAX_NAMED = 12
#: Names of categories longer than this are cut off.
MAX_LETTERS = 24


def signed_colors() -> Any:
    """Return the colour map from negative over the ground to positive numbers."""
    from matplotlib.colors import LinearSegmentedColormap

    colors = [_LIGHT[role] for role in ("negative", "ground", "positive")]
    return LinearSegmentedColormap.from_list("signed", colors)


def plot_effect(
    effect: Effect, ax: Axes | None, output: int | str | None = None, legend: bool = True
) -> Axes:
    """Plot the curve of a column; see `Effect.plot`."""
    ax = current_axes("Effect.plot") if ax is None else ax
    effect = effect.shortened()
    shown = _shown(effect.output_names, effect.y.shape[1], output)
    if effect.kind == "category":
        _categories(effect, shown, ax)
    else:
        _curves(effect, shown, ax)
        _show_rows(effect, ax)
    if effect.kind == "date":
        _short_dates(ax.xaxis)
    ax.set_xlabel(f"{effect.name} (constant)" if effect.is_constant else effect.name)
    if len(shown) == 1 and effect.output_names:
        ax.set_ylabel(f"{effect.explains} of {effect.output_names[shown[0]]}")
    else:
        ax.set_ylabel(effect.explains)
    if legend and 1 < len(shown) <= MAX_NAMED:
        ax.legend(frameon=False, fontsize="small")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def plot_surface(surface: Surface, ax: Axes | None, output: int | str | None = None) -> Axes:
    """Plot the mean prediction of one output as a map over two columns."""
    ax = current_axes("EffectDisplay.plot") if ax is None else ax
    n = surface.y.shape[2]
    k = _shown(surface.output_names, n, n - 1 if output is None else output)[0]
    places = [
        np.arange(len(x)) if kind == "category" else x
        for x, kind in zip(surface.x, surface.kinds, strict=True)
    ]
    values = surface.y[:, :, k].T
    if "category" in surface.kinds or min(values.shape) < 2:
        drawn = ax.pcolormesh(*places, values, shading="nearest", cmap="cividis")
    else:
        drawn = ax.contourf(*places, values, levels=12, cmap="cividis")
    what = surface.explains
    if surface.output_names:
        what = f"{what} of {surface.output_names[k]}"
    ax.figure.colorbar(drawn, ax=ax).set_label(what)
    for axis, kind in zip((ax.xaxis, ax.yaxis), surface.kinds, strict=True):
        if kind == "date":
            _short_dates(axis)
    if surface.kinds[0] == "category":
        ax.set_xticks(places[0], _names(surface.x[0]), rotation=45, ha="right")
    if surface.kinds[1] == "category":
        ax.set_yticks(places[1], _names(surface.x[1]))
    ax.set_xlabel(surface.names[0])
    ax.set_ylabel(surface.names[1])
    return ax


def _shown(names: list[str], n_outputs: int, output: int | str | None) -> list[int]:
    """Return the positions of the outputs to plot."""
    if output is None:
        return list(range(n_outputs))
    if isinstance(output, str):
        if output not in names:
            listed = ", ".join(map(repr, names)) or "none"
            raise ValueError(f"output={output!r} is not one of the outputs: {listed}")
        return [names.index(output)]
    if not 0 <= output < n_outputs:
        raise ValueError(f"output={output!r} must be 0 to {n_outputs - 1}")
    return [int(output)]


def _names(x: Array) -> list[str]:
    return [
        text if len(text) <= MAX_LETTERS else f"{text[: MAX_LETTERS - 1]}…"
        for text in map(str, x.tolist())
    ]


def _short_dates(axis: Any) -> None:
    from importlib import import_module

    dates: Any = import_module("matplotlib.dates")  # which is not typed
    locator = dates.AutoDateLocator(maxticks=6)
    axis.set_major_locator(locator)
    axis.set_major_formatter(dates.ConciseDateFormatter(locator))


def _style(effect: Effect, k: int) -> dict[str, Any]:
    return {
        "color": COLORS[k % len(COLORS)],
        "linestyle": DASHES[k // len(COLORS) % len(DASHES)],
        "label": effect.output_names[k] if effect.output_names else None,
    }


def _curves(effect: Effect, shown: list[int], ax: Axes) -> None:
    outside = effect.is_extrapolated
    for k in shown:
        style = _style(effect, k)
        if effect.is_constant:
            ax.plot(effect.x, effect.y[:, k], marker="o", **style)
            continue
        ax.plot(effect.x, effect.y[:, k], **style)
        bends = np.searchsorted(effect.x, effect.knots)
        ax.plot(effect.knots, effect.y[bends, k], linestyle="", marker=".", color=style["color"])
        if effect.missing is not None:
            ax.axhline(effect.missing[k], color=style["color"], linewidth=0.8, linestyle=":")
    if effect.missing is not None:
        top = max(effect.missing[shown])
        ax.annotate(
            "missing",
            (1, top),
            xycoords=("axes fraction", "data"),
            ha="right",
            va="bottom",
            fontsize="small",
            color=_LIGHT["faint"],
        )
    if outside.any():
        low, high = np.array(effect.range, dtype=effect.x.dtype)
        for start, end in ((effect.x[0], low), (high, effect.x[-1])):
            if start < end:
                ax.axvspan(start, end, color=_LIGHT["node"], zorder=0)
        ax.set_title("grey: outside of the training rows", fontsize="small", loc="right")


def _categories(effect: Effect, shown: list[int], ax: Axes) -> None:
    names = _names(effect.x)
    values: FloatArray = effect.y
    if effect.missing is not None:
        names, values = [*names, "(missing)"], np.vstack([values, effect.missing])
    places, width = np.arange(len(names)), 0.8 / len(shown)
    for i, k in enumerate(shown):
        style = _style(effect, k)
        at = places + (i - (len(shown) - 1) / 2) * width
        ax.plot(at, values[:, k], "o", color=style["color"], label=style["label"])
    if effect.rows is not None and effect.rows.size:
        texts, counts = np.unique(effect.rows.astype(str), return_counts=True)
        share = dict(zip(texts.tolist(), (counts / effect.rows.size).tolist(), strict=True))
        names = [
            f"{name}\n{share.get(str(text), 0):.0%}"
            for name, text in zip(names, effect.x, strict=False)
        ] + names[len(effect.x) :]
    many = len(names) > 6
    ax.set_xticks(places, names, rotation=45 if many else 0, ha="right" if many else "center")


def _show_rows(effect: Effect, ax: Axes) -> None:
    """Mark the rows at the bottom: the deciles of their values as ticks, as scikit-learn does."""
    if effect.rows is None or effect.rows.size == 0:
        return
    order = np.sort(effect.rows)
    deciles = order[np.linspace(0, order.size - 1, 11).astype(int)]
    ax.vlines(
        deciles, 0, 0.04, transform=ax.get_xaxis_transform(), color=_LIGHT["faint"], linewidth=1
    )
