"""`Explanation`: the result of `explain`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.explaining.raw_cells import format_cell

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Explanation"]

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True, eq=False)
class Explanation:
    """Contributions of features to predictions.

    Attributes
    ----------
    values : array of shape (n_rows, n_features) or (n_rows, n_features, n_outputs)
        Contribution of each feature; with several outputs, to each of them.
    baseline : float or array of shape (n_outputs,)
        Prediction for the baseline row.
    predictions : array of shape (n_rows,) or (n_rows, n_outputs)
        Predictions for the rows: `baseline` plus the sum of `values` over the features.
    data : array of shape (n_rows, n_features)
        The rows.
    feature_names : list of str
    output_names : list of str
        The classes; with two classes, only the second. Empty for a regressor with one target.
    n_paths : int array of shape (n_features, n_outputs)
        Number of leaves of each feature, in all trees.
    explains : {"prediction", "score", "probability"}
        Quantity that is explained.
    interactions : array of shape (n_rows, n_features, n_features[, n_outputs]), or None
        What pairs of features contribute together, and on the diagonal what each contributes
        alone: symmetric, and its sum over the second of the two features is `values`. None unless
        asked for.
    """

    values: FloatArray
    baseline: float | FloatArray
    predictions: FloatArray
    data: Array
    feature_names: list[str]
    output_names: list[str]
    n_paths: IntArray
    explains: str
    interactions: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.values)

    @property
    def importances(self) -> FloatArray:
        """Mean absolute contribution of each feature, summed over the outputs."""
        mean: FloatArray = np.abs(self.values).mean(axis=0)
        return mean if mean.ndim == 1 else mean.sum(axis=1)

    def of_output(self, output: int | str | None = None, row: int | None = None) -> int:
        """Return the position of an output from its position or name.

        Parameters
        ----------
        output : int, str or None
            None: the output with the largest prediction, for `row` or else on average.
        row : int, optional
        """
        n_outputs = np.size(self.baseline)
        if output is None:
            values = self.predictions if row is None else self.predictions[row : row + 1]
            return int(values.reshape(len(values), -1).mean(axis=0).argmax())
        if isinstance(output, str):
            if output not in self.output_names:
                names = ", ".join(map(repr, self.output_names)) or "none"
                raise ValueError(f"output={output!r} is not one of the outputs: {names}")
            return self.output_names.index(output)
        if not 0 <= output < n_outputs:
            raise ValueError(f"output={output!r} must be 0 to {n_outputs - 1}")
        return int(output)

    def sentence(self, row: int = 0, output: int | str | None = None, n_features: int = 1) -> str:
        """Return a sentence about the largest contributions to a prediction.

        Parameters
        ----------
        row : int
        output : int or str, optional
            Position or name of the output; by default the one with the largest prediction.
        n_features : int
            Number of features to mention.

        Examples
        --------
        >>> from bneuralt import NeuralTree
        >>> from bneuralt.explaining import explain
        >>> from bneuralt.model import Model
        >>> tree = NeuralTree(2, 1, [-1], [0], [0, 0], [0, 1], [0.5, 2.0, -1.0])
        >>> explanation = explain(Model.of_tree(tree), [[1.0, 1.0]], baseline=[0.0, 0.5])
        >>> explanation.sentence(n_features=2)
        'x0 = 1 on one path: +2; x1 = 1 on one path: -0.5'
        """
        if not 0 <= row < len(self):
            raise IndexError(f"row={row} must be 0 to {len(self) - 1}")
        k = self.of_output(output, row)
        values = self.values[row].reshape(len(self.feature_names), -1)[:, k]
        target = f" for {self.output_names[k]}" if self.output_names else ""
        parts = []
        for j in np.argsort(-np.abs(values), kind="stable")[:n_features].tolist():
            cell = format_cell(self.feature_names[j], self.data[row, j])
            parts.append(f"{cell} on {_paths(int(self.n_paths[j, k]))}: {values[j]:+.2g}{target}")
            target = ""  # mentioned once
        return "; ".join(parts)

    def pair_importances(self) -> FloatArray:
        """Return the mean absolute interaction of each pair of features, summed over the outputs.

        Both halves of the symmetric matrix are counted; the diagonal is 0.

        Returns
        -------
        array of shape (n_features, n_features)
        """
        if self.interactions is None:
            raise ValueError(
                "there are no interactions: use explain(X, interactions=True) to compute them"
            )
        mean = 2 * np.abs(self.interactions).mean(axis=0)
        matrix: FloatArray = mean if mean.ndim == 2 else mean.sum(axis=2)
        return np.where(np.eye(len(matrix), dtype=bool), 0.0, matrix)

    def strongest_pairs(self, n: int = 3) -> list[tuple[str, str]]:
        """Return the names of the pairs of features with the largest interactions.

        Parameters
        ----------
        n : int
            Largest number of pairs; those without any interaction are left out.

        Examples
        --------
        >>> from bneuralt import BNeuralTRegressor, EffectDisplay
        >>> from sklearn.datasets import load_diabetes
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> reg = BNeuralTRegressor(interaction_cst=[{2, 8}], random_state=0).fit(X, y)
        >>> pairs = reg.explain(X, interactions=True).strongest_pairs()
        >>> display = EffectDisplay.from_estimator(reg, X, pairs)  # a map for each
        >>> len(display.axes_)
        3
        """
        upper = np.triu(self.pair_importances())
        order = np.argsort(-upper, axis=None, kind="stable")[:n]
        rows, columns = np.unravel_index(order, upper.shape)
        return [
            (self.feature_names[i], self.feature_names[j])
            for i, j in zip(rows.tolist(), columns.tolist(), strict=True)
            if upper[i, j] > 0
        ]

    def to_frame(self) -> Any:
        """Return the contributions as a pandas data frame with a row for each explained row.

        With several outputs, columns are pairs of output and feature.
        """
        try:
            import pandas as pd
        except ModuleNotFoundError:
            raise ModuleNotFoundError(
                "to_frame needs pandas: run pip install pandas, or use the array `values`"
            ) from None
        if self.values.ndim == 2:
            return pd.DataFrame(self.values, columns=self.feature_names)
        columns = pd.MultiIndex.from_product(
            [self.output_names, self.feature_names], names=["output", "feature"]
        )
        table = self.values.transpose(0, 2, 1).reshape(len(self), -1)
        return pd.DataFrame(table, columns=columns)

    def to_shap(self) -> Any:
        """Return the contributions as a `shap.Explanation`, for the plots of shap."""
        try:
            import shap
        except ModuleNotFoundError:
            raise ModuleNotFoundError("to_shap needs shap: run pip install shap") from None
        return shap.Explanation(
            values=self.values,
            base_values=np.broadcast_to(self.baseline, self.predictions.shape).copy(),
            data=self.data,
            feature_names=self.feature_names,
            output_names=self.output_names or None,
        )

    def plot(
        self,
        kind: str = "bar",
        *,
        row: int | None = None,
        output: int | str | None = None,
        max_features: int = 10,
        ax: Axes | None = None,
    ) -> Axes:
        """Plot contributions with matplotlib.

        Parameters
        ----------
        kind : {"bar", "waterfall", "beeswarm", "interactions"}
            Bars: mean absolute contribution of each feature or, with `row`, the contributions to
            its prediction. Waterfall: from the baseline to the prediction for `row` (by default
            the first). Beeswarm: the contributions to all predictions, coloured by the values of
            the features. Interactions: a heat map of the mean absolute interactions of pairs or,
            with `row`, of those of its prediction.
        row : int, optional
        output : int or str, optional
            Position or name of the output; by default the one with the largest prediction. Bars
            without `row` show the sum over all outputs.
        max_features : int
            Number of features to show, those with the largest contributions.
        ax : matplotlib Axes, optional
            By default the current axes.

        Returns
        -------
        matplotlib Axes
        """
        from bneuralt.explaining.plots import plot_explanation

        return plot_explanation(self, kind, row, output, max_features, ax)

    def __repr__(self) -> str:
        return (
            f"Explanation(n_rows={len(self)}, n_features={len(self.feature_names)}, "
            f"n_outputs={np.size(self.baseline)}, explains={self.explains!r})"
        )


def _paths(n: int) -> str:
    number = _NUMBERS[n] if n < len(_NUMBERS) else str(n)
    return f"{number} path{'' if n == 1 else 's'}"
