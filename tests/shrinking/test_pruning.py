"""Pruning from size to size, on all rows or a sample of many."""

import numpy as np
import pytest

from bneuralt.shrinking import pruning
from bneuralt.training.losses import SquaredError
from tests.helpers.strategies import draw_tree

RNG = np.random.default_rng(3)
X, WEIGHT = RNG.normal(size=(50, 4)), RNG.random(50) + 0.1


@pytest.fixture
def tree():
    return draw_tree(np.random.default_rng(2), 1, hidden="tanh", n_inputs=4)


def pruned(tree, rows, weight, sizes, reached=None):
    """Prune without training, and note when a size was reached."""

    def refit(smaller, is_reached):
        if reached is not None:
            reached.append((smaller.n_parameters, is_reached))
        return smaller

    return pruning.prune(tree, rows, SquaredError(), weight, refit, sizes)


def test_sizes_are_reached_one_after_the_other(tree):
    start = tree.n_parameters
    sizes, reached = [start, start - 2, start - 5], []
    trees = pruned(tree, X, WEIGHT, sizes, reached)
    counts = [smaller.n_parameters for smaller in trees]
    assert counts == sorted(counts, reverse=True)
    assert all(count <= size for count, size in zip(counts, sizes, strict=True))
    of_steps = [n for n, _ in reached]
    assert of_steps == sorted(of_steps, reverse=True)
    n_reached = sum(is_reached for _, is_reached in reached)
    assert 1 <= n_reached <= 2 and reached[-1][1]  # one step may be enough for two sizes


def test_a_size_that_cannot_be_reached_gives_the_smallest_tree(tree):
    (smallest,) = pruned(tree, X, WEIGHT, [0])
    assert 0 < smallest.n_parameters <= 2


def test_all_rows_count_unless_they_are_many(tree, monkeypatch):
    sizes = [tree.n_parameters - 4]
    monkeypatch.setattr(pruning, "MAX_ROWS", len(X))
    (of_all,) = pruned(tree, X, WEIGHT, sizes)
    monkeypatch.setattr(pruning, "MAX_ROWS", 3 * len(X))
    (as_well,) = pruned(tree, X, WEIGHT, sizes)
    np.testing.assert_array_equal(of_all.parameters, as_well.parameters)
    monkeypatch.setattr(pruning, "MAX_ROWS", 20)
    (of_some,) = pruned(tree, X, WEIGHT, sizes)
    sample = np.linspace(0, len(X) - 1, 20).astype(int)
    (expected,) = pruned(tree, X[sample], WEIGHT[sample], sizes)
    np.testing.assert_array_equal(of_some.parameters, expected.parameters)
    assert of_some != of_all
