"""The three MONK's problems (Thrun et al., 1991), made from their published rules."""

import itertools

import numpy as np

#: Number of values of each of the six attributes.
N_VALUES = (3, 3, 2, 3, 4, 2)


def all_robots():
    """All 432 combinations of the attributes, counted from 1."""
    return np.array(list(itertools.product(*(range(1, n + 1) for n in N_VALUES))))


def is_monk(problem, a):
    """Whether robots belong to the class of a problem."""
    if problem == 1:
        return (a[:, 0] == a[:, 1]) | (a[:, 4] == 1)
    if problem == 2:
        return (a == 1).sum(axis=1) == 2
    return ((a[:, 4] == 3) & (a[:, 3] == 1)) | ((a[:, 4] != 4) & (a[:, 1] != 3))


def one_hot(a):
    """The attributes as 17 inputs, one for each value, as in the comparison of 1991."""
    columns = [a[:, j] == value for j, n in enumerate(N_VALUES) for value in range(1, n + 1)]
    return np.column_stack(columns).astype(np.float64)


def load(problem, seed=0):
    """Training rows, as many as in the original, and all 432 rows to test on.

    The labels of 5 % of the training rows of the third problem are wrong, as in the original.
    """
    robots = all_robots()
    y = is_monk(problem, robots).astype(int)
    X = one_hot(robots)
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(X))[: {1: 124, 2: 169, 3: 122}[problem]]
    labels = y[chosen].copy()
    if problem == 3:
        wrong = rng.permutation(len(chosen))[: round(0.05 * len(chosen))]
        labels[wrong] = 1 - labels[wrong]
    return X[chosen], labels, X, y
