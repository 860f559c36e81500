"""Regression: scaling of targets, predictions from the outputs of trees, and intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_consistent_length, column_or_1d

from bneuralt._typing import Array, FloatArray
from bneuralt.estimators.block_rows import scored
from bneuralt.estimators.inputs import refuse_masked
from bneuralt.estimators.intervals import (
    Calibration,
    calibrated_interval,
    pinball,
    weighted_quantile,
)
from bneuralt.estimators.nested import setting_of
from bneuralt.estimators.outliers import warn_of_outliers
from bneuralt.estimators.rows import Rows
from bneuralt.estimators.scaling import Scaling, learn_scaling
from bneuralt.estimators.splits import hold_out_for_calibration
from bneuralt.expressions import OUTPUTS, Expression, evaluate, is_elementwise, slope
from bneuralt.expressions.operations import EXP_LIMIT
from bneuralt.tables.moments import ColumnMoments
from bneuralt.training.losses import REGRESSION_LOSSES, Loss, Pinball, check_targets, get_loss
from bneuralt.tree.forward import OutputOverflow
from bneuralt.values import is_auto

__all__ = ["RegressorTask"]

MOST_QUANTILES = 64

#: The value that `exp` has where its argument is limited: larger numbers are not predicted.
LARGEST_VALUE = float(np.exp(EXP_LIMIT))

#: Targets are processed in blocks of this many rows.
BLOCK_ROWS = 2**20


class RegressorTask(RegressorMixin):
    """Task of regressors: targets are numbers, which are scaled for training."""

    _score_name = "r2"
    n_outputs_: int
    calibration_: Calibration | None = None
    _target_scaling: Scaling | None
    _calibration_seed: int | None = None  # warm starts hold out the same rows

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    # -- targets -------------------------------------------------------------------------

    def _learn_target(self, y: Array, classes: Any = None) -> None:
        self.n_outputs_ = y.shape[1] if y.ndim == 2 else 1
        if self._quantiles() is not None and self.n_outputs_ > 1:
            raise ValueError(
                f"loss='quantile' takes a single target, y has {self.n_outputs_} columns: use "
                "sklearn.multioutput.MultiOutputRegressor, or another loss"
            )
        if self._loss().name == "squared_error":
            warn_of_outliers(np.asarray(y, dtype=np.float64))

    def _encode(self, y: Array, weight: Array, name: str = "y") -> Array:
        n_columns = y.shape[1] if y.ndim == 2 else 1
        if n_columns != self.n_outputs_:
            raise ValueError(
                f"{name} has {n_columns} columns, the model was trained with {self.n_outputs_}"
            )
        target = np.ascontiguousarray(y, dtype=np.float64)
        check_targets(target, self._loss(), name)
        return target

    def _n_outputs(self) -> int:
        quantiles = self._quantiles()
        return self.n_outputs_ if quantiles is None else quantiles.size

    def _n_classes(self) -> int:
        return 1

    def _effective_share(self, rows: Rows) -> float:
        """Return the share of the rows that the capacity of a tree depends on."""
        return 1.0

    def _output_signs(self) -> tuple[int, ...]:
        """Return the direction of the prediction with each output."""
        if self.n_outputs_ > 1:
            raise ValueError(
                f"monotonic_cst needs a single target, y has {self.n_outputs_} columns: use "
                "sklearn.multioutput.MultiOutputRegressor"
            )
        return (1,) * self._n_outputs()

    def _learn_target_scaling(self, rows: Rows, constant: float) -> Scaling | None:
        target = rows.y.reshape(len(rows), -1)
        loss = self._loss()
        if loss.traits.scaling == "mean":
            mean = np.average(target, axis=0, weights=rows.weight)
            if not mean.all():
                raise ValueError(
                    f"y is 0 in all rows: loss={loss.name!r} needs some that are positive"
                )
            return Scaling(np.zeros(mean.size), 1.0 / mean)
        if loss.traits.scaling is None:
            return None
        kind = "standard" if self._output_activation == "linear" else "minmax"
        return learn_scaling(kind, ColumnMoments(target, rows.weight), constant, "y")

    def _output_scaling(self) -> Scaling | None:
        """Return the scaling that is folded into the outputs of the tree."""
        if self._target_scaling is None or self._loss().traits.scaling != "mean":
            return self._target_scaling
        factor = self._target_scaling.factor  # outputs are logarithms: a factor becomes an offset
        return Scaling(-np.log(factor), np.ones(factor.size))

    # -- losses --------------------------------------------------------------------------

    def _loss(self) -> Loss:
        parameter = setting_of(self, "loss")
        if isinstance(parameter, str) and parameter == "quantile":
            return Pinball(self._checked_quantiles())
        loss = get_loss("squared_error" if is_auto(parameter) else parameter)
        if loss.name not in REGRESSION_LOSSES:
            raise ValueError(
                f"loss={parameter!r} is for classifiers: {type(self).__name__} takes one of "
                f"{', '.join(map(repr, (*REGRESSION_LOSSES, 'quantile')))}"
            )
        return loss

    def _quantiles(self) -> FloatArray | None:
        """Return the quantiles that are predicted, None for other losses."""
        loss = self._loss()
        return np.array(loss.numbers) if loss.compares == "shared" else None

    def _checked_quantiles(self) -> list[float]:
        try:
            quantiles = np.atleast_1d(np.asarray(self.quantiles, dtype=np.float64))
        except (TypeError, ValueError):
            quantiles = np.array([np.nan])
        inside = (quantiles > 0) & (quantiles < 1)
        if quantiles.ndim != 1 or not 1 <= quantiles.size <= MOST_QUANTILES or not inside.all():
            raise ValueError(
                f"quantiles={self.quantiles!r} must be 1 to {MOST_QUANTILES} numbers between 0 and "
                "1, such as (0.05, 0.5, 0.95)"
            )
        checked: list[float] = quantiles.tolist()
        return checked

    def _link(self) -> Expression:
        return self._loss().link("numbers")

    def _outputs_described(self) -> dict[str, Any]:
        """Return the fields of a `Model` about outputs."""
        quantiles = self._quantiles()
        return {
            "task": "numbers",
            "link": self._link(),
            "averages": "outputs",
            "quantiles": None if quantiles is None else tuple(quantiles.tolist()),
        }

    def _error_unit(self, target: Array, weight: FloatArray) -> float:
        """Return the error of the best constant prediction, the unit of errors in scores."""
        quantiles = self._quantiles()
        if quantiles is not None:
            best = [weighted_quantile(target, weight, q) for q in quantiles]
            cost = pinball(target, np.array(best), quantiles).mean(axis=1)
            return float(np.average(cost, weights=weight)) or 1.0
        mean = np.average(target, axis=0, weights=weight)
        error = 0.0
        for start in range(0, len(target), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            square = np.square(target[block] - mean).reshape(len(weight[block]), -1).mean(axis=1)
            error += float(weight[block] @ square)
        return error / float(weight.sum()) or 1.0

    # -- predictions ---------------------------------------------------------------------

    def _values_of(self, outputs: FloatArray) -> FloatArray:
        """Return predictions as a table, one column for each output.

        An `OutputOverflow` is raised if a prediction reaches the limit of `exp`.
        """
        link = self._link()
        if link is OUTPUTS:
            return outputs
        values: FloatArray = evaluate(link, {"outputs": outputs})
        is_too_large = (values >= LARGEST_VALUE).any(axis=1)
        if is_elementwise(link) and is_too_large.any():  # sorted outputs may be of any size
            raise OutputOverflow(int(is_too_large.argmax()), values.dtype)
        return values

    def _values(self, X: Array) -> FloatArray:
        return self._values_of(self._mean_outputs(self._trees, X))

    def predict(self, X: Any) -> Array:
        """Predict the target of each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows,), or (n_rows, n_columns) if y had several columns
            With ``loss="quantile"``, one column for each of several `quantiles`, in their order; a
            higher quantile is never below a lower one.
        """
        values = self._values(self._read_features(X))
        return values[:, 0] if values.shape[1] == 1 else values

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return r2 or, with ``loss="quantile"``, the share of the pinball loss that is explained.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,) or (n_rows, n_columns)
        sample_weight : array-like of shape (n_rows,), optional

        Returns
        -------
        float
            1 is the best score, 0 that of the best constant. For several columns of y, the mean
            over them; for several quantiles, of the sum of their losses.
        """
        y, sample_weight = scored(X, y, sample_weight)
        refuse_masked(y, "y")
        refuse_masked(sample_weight, "sample_weight")
        values = self._values(self._read_features(X))
        check_consistent_length(values, y, sample_weight)
        target = np.asarray(y, dtype=np.float64)
        if self._quantiles() is not None or values.shape[1] == 1:
            target = column_or_1d(target)
        weight = np.ones(len(target)) if sample_weight is None else np.asarray(sample_weight)
        return self._score_of(values, target, weight)

    def _score_of(self, values: FloatArray, target: Array, weight: FloatArray) -> float:
        quantiles = self._quantiles()
        if quantiles is None:
            return float(r2_score(target, values, sample_weight=weight))
        cost = pinball(target, values, quantiles).mean(axis=1)
        return float(1.0 - np.average(cost, weights=weight) / self._error_unit(target, weight))

    def _row_scores(self, rows: Rows, all_rows: Rows) -> FloatArray:
        """Return numbers whose mean over rows is r2, or the explained share of the pinball loss.

        Errors are divided by that of the best constant for all rows.
        """
        values, quantiles = self._values(rows.X), self._quantiles()
        if quantiles is not None:
            cost = pinball(rows.y, values, quantiles).mean(axis=1)
        else:
            cost = np.square(values - rows.y.reshape(len(rows), -1)).mean(axis=1)
        scores: FloatArray = 1.0 - cost / self._error_unit(all_rows.y, all_rows.weight)
        return scores

    def _row_errors(self, rows: Rows) -> tuple[FloatArray, FloatArray] | None:
        """Return the errors of each row, and its target; None for quantiles."""
        if self._quantiles() is not None:
            return None
        target = rows.y.reshape(len(rows), -1)
        return self._values(rows.X) - target, target

    # -- intervals -----------------------------------------------------------------------

    def _set_aside(self, rows: Rows) -> tuple[Rows, Rows]:
        """Hold out the rows that prediction intervals are calibrated on."""
        if not self._is_warm_start() or self._calibration_seed is None:
            self._calibration_seed = self._draw_seed()
        return hold_out_for_calibration(rows, self.conformal, self._calibration_seed)

    def _calibrate(self, rows: Rows) -> None:
        outputs = [self._mean_outputs(self._trees, X) for X in rows.X_blocks()]
        self._set_calibration(np.concatenate(outputs), rows)

    def _set_calibration(self, outputs: FloatArray, rows: Rows) -> None:
        errors = rows.y.reshape(len(rows), -1) - self._values_of(outputs)
        self.calibration_ = Calibration(errors / self._spread(outputs), rows.weight)

    def _spread(self, outputs: FloatArray) -> FloatArray:
        """Return the scale of residuals, a standard deviation up to a factor.

        The variance is proportional to the slope of the link, as for every loss that is the
        likelihood of a distribution with this canonical link. For counts, the scale is the root of
        the mean.
        """
        link = self._link()
        if not is_elementwise(link):
            return np.ones_like(outputs)
        variance = np.ones_like(outputs) * slope(link, {"outputs": outputs}, "outputs")
        return np.sqrt(np.maximum(variance, np.finfo(np.float64).tiny))

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Array:
        """Predict an interval that contains the target with a given probability.

        The intervals are those of split conformal prediction: their width is chosen so that they
        cover this share of the rows that were held out by ``conformal``. A forest whose trees are
        trained on a part of the rows (`bootstrap`, `max_samples`) needs no held-out rows: the
        residual of each row is that of the trees that were trained without it. With
        ``loss="quantile"``, the two quantiles that are closest to the ends of the interval are
        moved (conformalised quantile regression), so that its width depends on the row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        coverage : float in (0, 1)
            Share of new rows, like those of the training table, whose target is in the interval.

        Returns
        -------
        array of shape (n_rows, 2), or (n_rows, 2, n_columns) if y had several columns
            Lower and upper ends. For several columns, the coverage is that of each of them.

        Examples
        --------
        >>> from bneuralt import BNeuralTRegressor
        >>> from sklearn.datasets import load_diabetes
        >>> X, y = load_diabetes(return_X_y=True)
        >>> reg = BNeuralTRegressor(conformal=0.3, random_state=0).fit(X[:300], y[:300])
        >>> low, high = reg.predict_interval(X[300:], coverage=0.8).T
        >>> bool(0.7 < ((low <= y[300:]) & (y[300:] <= high)).mean() < 0.9)
        True
        """
        table = self._read_features(X)
        if self.calibration_ is None:
            raise ValueError(
                f"predict_interval needs rows that were not used for training, and this "
                f"{type(self).__name__} has none: fit it with conformal=0.2, which holds out a "
                "fifth of the rows (or fit a forest with bootstrap=True)"
            )
        outputs = self._mean_outputs(self._trees, table)
        ends = calibrated_interval(
            self._values_of(outputs),
            self._spread(outputs),
            self.calibration_,
            coverage,
            self._quantiles(),
        )
        ends = np.clip(ends, *self._loss().target_range)
        return ends[:, :, 0] if ends.shape[2] == 1 else ends
