"""Warning about target values far outside of all others."""

from __future__ import annotations

import numpy as np

from bneuralt._typing import Array
from bneuralt.warnings import OutlyingTargetWarning, warn_user

__all__ = ["OutlyingTargetWarning", "warn_of_outliers"]

#: Values this many times the distance of the quartiles away from the median are outliers, if they
#: have most of the variance.
FAR = 30.0
MAX_FRACTION_OF_VARIANCE = 0.5


def warn_of_outliers(y: Array) -> None:
    """Warn of values of a target that are far outside of all others, and what helps.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_of_outliers(np.append(np.arange(100.0), 1e6))
    >>> print(str(caught[0].message).split(":")[0])
    y has 1 value far outside of the others (1e+06 in row 100; the median is 50)
    """
    for column in y.reshape(len(y), -1).T:
        with np.errstate(over="ignore", invalid="ignore"):
            low, middle, high = np.quantile(column, [0.25, 0.5, 0.75])
            distance = np.abs(column - middle)
            is_far = distance > FAR * (high - low)
            far, total = np.square(distance[is_far]).sum(), np.square(distance).sum()
        n_far = int(np.count_nonzero(is_far))
        if high == low or n_far == 0 or not far > MAX_FRACTION_OF_VARIANCE * total:
            continue
        row = int(distance.argmax())
        warn_user(
            f"y has {n_far:,} value{'' if n_far == 1 else 's'} far outside of the others "
            f"({column[row]:.6g} in row {row}; the median is {middle:.6g}): with the squared error "
            "they decide the fit. Correct them, or use loss='huber', for which the influence of a "
            "row is limited.",
            OutlyingTargetWarning,
        )
        return
