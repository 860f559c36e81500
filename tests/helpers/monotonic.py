"""A table with monotone effects, and how to see whether predictions have them."""

import numpy as np

_rng = np.random.default_rng(0)
X = _rng.uniform(-1, 1, (300, 4))
y = np.exp(X[:, 0]) - X[:, 1] + np.sin(4 * X[:, 2]) + _rng.normal(0, 0.3, 300)


def rises(predict, signs, seed, n_rows=40, spread=3.0):
    """The least step of a prediction along each constraint, from random rows to random heights."""
    rng = np.random.default_rng(seed)
    low = rng.normal(0, spread, (n_rows, len(signs)))
    steps = []
    for feature in np.flatnonzero(signs):
        high = low.copy()
        high[:, feature] += rng.exponential(spread, n_rows) * rng.choice([1e-3, 1.0], n_rows)
        steps.append(signs[feature] * (predict(high) - predict(low)))
    return np.min(steps, initial=0.0)
