"""Numbers of a card: scores with intervals, calibration, and errors by group.

Intervals of shares are Wilson's; those of other scores are percentiles of bootstrap samples of the
rows. All have a confidence of 95 %.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm, rankdata

from bneuralt._typing import Array, FloatArray, IntArray

__all__ = ["Reliability", "ScoredRows", "scores_with_intervals", "wilson"]

CONFIDENCE = 0.95
N_SAMPLES = 400
#: Largest number of bins of a reliability curve, and the smallest number of rows of a bin.
MAX_BINS, MIN_ROWS_IN_BIN = 10, 10


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Rows with their predictions.

    Attributes
    ----------
    task : {"classes", "labels", "numbers"}
    y : array of shape (n_rows,) or (n_rows, n_outputs)
        Positions of classes, labels of 0 and 1, or numbers.
    values : array of shape (n_rows, n_outputs)
        Probabilities or numbers.
    quantiles : tuple of float or None
        The quantiles that the outputs are; y then has one column.
    """

    task: str
    y: Array
    values: FloatArray
    quantiles: tuple[float, ...] | None = None

    def __len__(self) -> int:
        return len(self.y)

    def take(self, index: Array) -> ScoredRows:
        """Return some of the rows."""
        return replace(self, y=self.y[index], values=self.values[index])

    @property
    def targets(self) -> FloatArray:
        """The target as numbers, one column for each number or label."""
        return np.asarray(self.y, dtype=np.float64).reshape(len(self), -1)

    @property
    def middle(self) -> FloatArray:
        """The predicted numbers; of quantiles, the one that is nearest to the median."""
        if self.quantiles is None:
            return self.values
        nearest = int(np.argmin(np.abs(np.array(self.quantiles) - 0.5)))
        return self.values[:, nearest : nearest + 1]

    @property
    def is_right(self) -> FloatArray:
        """Whether each row is predicted right; of several labels, the share of them."""
        if self.task == "classes":
            return np.asarray(self.values.argmax(axis=1) == self.y, dtype=np.float64)
        right: FloatArray = np.mean((self.values > 0.5) == (self.targets > 0.5), axis=1)
        return right

    @property
    def residuals(self) -> FloatArray:
        """Target minus prediction, one column for each number."""
        return self.targets - self.middle


def wilson(n_right: float, n: int) -> tuple[float, float]:
    """Return Wilson's interval of a share.

    Examples
    --------
    >>> [round(end, 3) for end in wilson(9, 10)]
    [0.596, 0.982]
    """
    z = float(norm.ppf((1 + CONFIDENCE) / 2))
    share, unit = n_right / n, z * z / n
    middle = (share + unit / 2) / (1 + unit)
    half = z * np.sqrt(share * (1 - share) / n + unit / (4 * n)) / (1 + unit)
    return float(max(0.0, middle - half)), float(min(1.0, middle + half))


def scores_with_intervals(rows: ScoredRows) -> list[tuple[str, float, tuple[float, float]]]:
    """Return the name, the value and the interval of each score that is defined.

    Examples
    --------
    >>> rows = ScoredRows("numbers", np.arange(50.0), np.arange(50.0)[:, np.newaxis] + 1)
    >>> [(name, value) for name, value, _ in scores_with_intervals(rows)][1:]
    [('root mean squared error', 1.0), ('mean absolute error', 1.0)]
    """
    table = []
    for name, score in _scores_of(rows).items():
        value = score(rows)
        if value is None:
            continue
        if name == "accuracy":
            interval = wilson(value * len(rows), len(rows))
        else:
            interval = _bootstrap(score, rows)
        table.append((name, value, interval))
    return table


def _bootstrap(
    score: Callable[[ScoredRows], float | None], rows: ScoredRows
) -> tuple[float, float]:
    rng = np.random.default_rng(0)
    samples = (score(rows.take(rng.integers(len(rows), size=len(rows)))) for _ in range(N_SAMPLES))
    values = [value for value in samples if value is not None]
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(values, [tail, 1 - tail]).tolist() if values else (np.nan, np.nan)
    return low, high


def _scores_of(rows: ScoredRows) -> dict[str, Callable[[ScoredRows], float | None]]:
    if rows.task == "numbers":
        scores: dict[str, Callable[[ScoredRows], float | None]] = {
            "r2": _r2,
            "root mean squared error": lambda r: float(np.sqrt(np.mean(np.square(r.residuals)))),
            "mean absolute error": lambda r: float(np.mean(np.abs(r.residuals))),
        }
        return scores
    scores = {"accuracy": lambda r: float(r.is_right.mean())}
    if rows.task == "classes":
        scores |= {"balanced accuracy": _balanced_accuracy, "log-loss": _log_loss}
        if rows.values.shape[1] == 2:
            scores["area under the ROC curve"] = _auc
    return scores


def _r2(rows: ScoredRows) -> float | None:
    target = rows.targets
    spread = np.square(target - target.mean(axis=0)).sum(axis=0)
    if not spread.all():
        return None
    return float(np.mean(1 - np.square(rows.residuals).sum(axis=0) / spread))


def _balanced_accuracy(rows: ScoredRows) -> float:
    right = rows.is_right
    return float(np.mean([right[rows.y == label].mean() for label in np.unique(rows.y)]))


def _log_loss(rows: ScoredRows) -> float:
    shares = rows.values[np.arange(len(rows)), rows.y]
    return float(-np.log(np.maximum(shares, 1e-15)).mean())


def _auc(rows: ScoredRows) -> float | None:
    is_second = rows.y == 1
    n_second, n = int(is_second.sum()), len(rows)
    if not 0 < n_second < n:
        return None
    ranks = rankdata(rows.values[:, 1])
    above = ranks[is_second].sum() - n_second * (n_second + 1) / 2
    return float(above / (n_second * (n - n_second)))


class Reliability(NamedTuple):
    """Predicted probabilities, in bins, and the share of rows for which they came true.

    Attributes
    ----------
    predicted, observed, low, high : arrays of shape (n_bins,)
        Mean probability, share, and the ends of its interval.
    n_rows : int array of shape (n_bins,)
    """

    predicted: FloatArray
    observed: FloatArray
    low: FloatArray
    high: FloatArray
    n_rows: IntArray

    @classmethod
    def of(cls, shares: FloatArray, came_true: Array) -> Reliability:
        """Return the reliability of some probabilities, in bins of equal numbers of rows.

        Examples
        --------
        >>> curve = Reliability.of(np.repeat([0.25, 0.75], 20), np.arange(40) % 2 == 1)
        >>> curve.predicted.tolist(), curve.observed.tolist()
        ([0.25, 0.25, 0.75, 0.75], [0.5, 0.5, 0.5, 0.5])
        >>> curve.error
        0.25
        """
        n_bins = min(MAX_BINS, max(1, len(shares) // MIN_ROWS_IN_BIN))
        parts: list[Any] = np.array_split(np.argsort(shares, kind="stable"), n_bins)
        counts = [(float(np.sum(came_true[part])), len(part)) for part in parts]
        ends = np.array([wilson(*count) for count in counts])
        return cls(
            np.array([shares[part].mean() for part in parts]),
            np.array([right / n for right, n in counts]),
            ends[:, 0],
            ends[:, 1],
            np.array([n for _, n in counts]),
        )

    @property
    def error(self) -> float:
        """Mean difference of probability and share, over the rows."""
        return float(np.average(np.abs(self.predicted - self.observed), weights=self.n_rows))
