"""Small trained models with constraints on interactions, and a test of what they promise."""

import numpy as np

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    Growth,
)


def constrained_model(seed):
    """A model of random size, constraint and activations, trained on a small random table."""
    rng = np.random.default_rng(seed)
    n_columns = int(rng.integers(2, 7))
    X = rng.normal(size=(40, n_columns))
    is_classifier, is_forest = rng.random(2) < (0.5, 0.3)
    if is_classifier:
        kind = BNeuralForestClassifier if is_forest else BNeuralTClassifier
        y = rng.integers(0, int(rng.integers(2, 4)), 40)
    else:
        kind = BNeuralForestRegressor if is_forest else BNeuralTRegressor
        y = X[:, 0] * X[:, 1] + X.sum(axis=1)
    sets = [
        rng.permutation(n_columns)[: rng.integers(1, n_columns)].tolist()
        for _ in range(rng.integers(1, 4))
    ]
    constraint = [sets, [set(group) for group in sets], "pairwise", "no_interactions"]
    model = kind(
        interaction_cst=constraint[rng.integers(4)],
        n_weights=int(rng.integers(12, 90)),
        max_epochs=int(rng.integers(2, 25)),
        growth=Growth(activation=str(rng.choice(["tanh", "sigmoid", "relu", "gaussian"]))),
        dtype="float64",
        random_state=seed,
        **({"n_estimators": 2} if is_forest else {}),
    )
    return model.fit(X, y), X


def largest_second_difference(model, pairs, X, rng):
    """The largest second difference of outputs by some pairs of columns at random points.

    It is a share of the size of the outputs, at least of 1.
    """
    largest = 0.0
    for i, j in np.argwhere(np.triu(pairs, 1)).tolist():
        points = X[rng.integers(len(X), size=8)]
        corners = [points.copy() for _ in range(4)]
        for first, second in ((1, i), (2, j)):
            values = rng.normal(size=len(points)) * 2
            for corner in (corners[first], corners[3]):
                corner[:, second] = values
        a, b, c, d = (model.outputs(model.encode(corner)).mean(axis=0) for corner in corners)
        size = max(1.0, np.abs([a, b, c, d]).max())
        largest = max(largest, float(np.abs(a - b - c + d).max() / size))
    return largest
