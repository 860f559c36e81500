"""`EffectDisplay`: the effects of several columns beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from bneuralt.explaining.effect_plots import plot_effect, plot_surface
from bneuralt.explaining.effects import Effect, Surface
from bneuralt.plotting import require_matplotlib

__all__ = ["EffectDisplay"]

#: Size of one plot in inches.
WIDTH, HEIGHT = 4.0, 3.2


@dataclass
class EffectDisplay:
    """Curves of the mean prediction over columns, and maps over pairs of columns.

    Use `from_estimator` to create one; `plot` draws it again, for instance on other axes.

    Parameters
    ----------
    effects : list of Effect or Surface

    Attributes
    ----------
    axes_ : array of matplotlib.axes.Axes
        One for each effect.
    figure_ : matplotlib.figure.Figure

    Examples
    --------
    >>> from bneuralt import BNeuralTRegressor, EffectDisplay
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> reg = BNeuralTRegressor(max_epochs=20, random_state=0).fit(X, y)
    >>> display = EffectDisplay.from_estimator(reg, X, ["bmi", "s5", ("bmi", "s5")])
    >>> len(display.axes_)
    3
    """

    effects: list[Effect | Surface]

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Any = None,
        features: Sequence[Any] | None = None,
        *,
        target: int | str | None = None,
        output: str | None = None,
        n_cols: int = 3,
        ax: Any = None,
    ) -> EffectDisplay:
        """Compute and draw the effects of some columns of a fitted model.

        Parameters
        ----------
        estimator : fitted estimator
        X : array-like of shape (n_rows, n_features), optional
            The rows that predictions are averaged over. By default the reference rows of the
            model.
        features : sequence of int, str, or pairs of them, optional
            Columns by name or position; a pair is drawn as a map. By default all columns that the
            trees use.
        target : int or str, optional
            Position or name of one class or target; all by default.
        output : {"probability", "score"}, optional
            See `effect`.
        n_cols : int
            Number of plots in a row.
        ax : matplotlib.axes.Axes, or array of them, optional
            Axes that are replaced by a grid of plots, or one for each feature.

        Returns
        -------
        EffectDisplay
        """
        model = estimator.model_.in_raw_units()
        if features is None:
            used = sorted(set(model.column_of_input[model.used_inputs].tolist()))
            features = [model.columns[j].name for j in used]
        if isinstance(features, str) or not len(features):
            raise ValueError(f"features={features!r} must be a list of at least one column")
        effects = [estimator.effect(feature, X, output=output) for feature in features]
        return cls(effects).plot(ax, target=target, n_cols=n_cols)

    def plot(
        self, ax: Any = None, *, target: int | str | None = None, n_cols: int = 3
    ) -> EffectDisplay:
        """Draw the effects; the vertical axes of all curves have the same range.

        Parameters
        ----------
        ax, target, n_cols
            See `from_estimator`.
        """
        require_matplotlib("EffectDisplay")
        import matplotlib.pyplot as plt
        from matplotlib.gridspec import GridSpecFromSubplotSpec

        n = len(self.effects)
        n_cols = min(n_cols, n)
        n_rows = -(-n // n_cols)
        if isinstance(ax, (list, tuple, np.ndarray)):
            axes = list(np.ravel(np.asarray(ax, dtype=object)))
            if len(axes) != n:
                raise ValueError(f"ax has {len(axes)} axes: it must have one for each of {n}")
        elif ax is None:
            figure = plt.figure(figsize=(WIDTH * n_cols, HEIGHT * n_rows), layout="constrained")
            axes = [figure.add_subplot(n_rows, n_cols, i + 1) for i in range(n)]
        else:
            ax.set_axis_off()
            grid = GridSpecFromSubplotSpec(n_rows, n_cols, subplot_spec=ax.get_subplotspec())
            axes = [ax.figure.add_subplot(grid[i // n_cols, i % n_cols]) for i in range(n)]
        curves: list[Any] = []
        for each, place in zip(self.effects, axes, strict=True):
            if isinstance(each, Effect):
                plot_effect(each, place, target, legend=not curves)
                curves.append(place)
            else:
                plot_surface(each, place, target)
        if curves:
            limits = np.array([place.get_ylim() for place in curves])
            for place in curves:
                place.set_ylim(limits[:, 0].min(), limits[:, 1].max())
        self.axes_ = np.array(axes, dtype=object)
        self.figure_ = axes[0].figure
        return self
