"""What all plots share: colours by role, and matplotlib's current axes."""

from __future__ import annotations

from typing import Any

__all__ = ["PALETTES", "current_axes", "require_matplotlib"]

#: Colours by role. Positive and negative are blue and orange, which can be told apart with all
#: common kinds of colour blindness. All text colours have a contrast of at least 4.5 to the ground.
PALETTES: dict[str, dict[str, str]] = {
    "light": {
        "ground": "#ffffff",
        "ink": "#17212b",
        "faint": "#5a6772",
        "line": "#b9c3cc",
        "positive": "#1463a8",
        "negative": "#b34700",
        "mixed": "#6a4fa0",
        "node": "#eef2f6",
        "output": "#24384a",
        "on output": "#ffffff",
        "decision": "#1d7044",
        "on decision": "#ffffff",
    },
    "dark": {
        "ground": "#12171c",
        "ink": "#e8edf2",
        "faint": "#9aa8b4",
        "line": "#46525d",
        "positive": "#6cb4f5",
        "negative": "#f59b51",
        "mixed": "#b9a3ee",
        "node": "#232c35",
        "output": "#c9d6e2",
        "on output": "#12171c",
        "decision": "#5fd394",
        "on decision": "#0c1a12",
    },
}


def require_matplotlib(what: str) -> None:
    """Raise an error that says how to get matplotlib if it is not installed.

    Examples
    --------
    >>> require_matplotlib("plot_tree")
    """
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f'{what} needs matplotlib: run pip install "bneuralt[plot]"', name="matplotlib"
        ) from None


def current_axes(what: str, size: tuple[float, float] | None = None) -> Any:
    """Return the current axes of pyplot.

    Parameters
    ----------
    what : str
        The function that needs them, for the message if matplotlib is not installed.
    size : tuple of float, optional
        Without an open figure, one of this size in inches is opened, with axes that fill it. The
        default are matplotlib's figure size and margins.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> current_axes("plot_tree") is plt.gca()
    True
    """
    require_matplotlib(what)
    import matplotlib.pyplot as plt

    if size is not None and not plt.get_fignums():
        return plt.figure(figsize=size).add_axes((0, 0, 1, 1))
    return plt.gca()
