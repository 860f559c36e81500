"""Scores on validation rows that weigh nothing or are not finite."""

from __future__ import annotations

import numpy as np
import pytest

from bneuralt import (
    NeuralTree,
    TrainingSettings,
    train,
)
from bneuralt.training import TrainingDiverged, TrainingJob, train_many

X = np.random.default_rng(0).normal(size=(80, 3))


SETTINGS = TrainingSettings(loss="squared_error", max_epochs=3, select="epoch")


def linear_tree(dtype: str = "float64") -> NeuralTree:
    return NeuralTree(1, 1, [-1], [0], [0], [0], np.array([0.0, 1.0], dtype=dtype))


def test_validation_weights_that_are_all_zero_are_refused() -> None:
    rows, y = X[:, :1], X[:, 0]
    with pytest.raises(ValueError, match=r"^w_val is zero for all rows"):
        train(linear_tree(), rows, y, settings=SETTINGS, validation=(rows, y, np.zeros(80)))
    job = TrainingJob(linear_tree(), SETTINGS, validation_rows=[0, 1], validation_weight=[0.0, 0.0])
    with pytest.raises(ValueError, match=r"^validation_weight is zero for all rows"):
        train_many([job], rows, y)


@pytest.mark.parametrize("select", ["epoch", "update"])
@pytest.mark.parametrize("batch_size", [1, 16])
def test_scores_that_are_never_finite_are_no_selection(select: str, batch_size: int) -> None:
    settings = TrainingSettings(
        loss="squared_error", max_epochs=3, select=select, batch_size=batch_size
    )
    tree = NeuralTree(2, 1, [-1], [0], [0, 0], [0, 1], np.array([0, 1, -1], dtype="float32"))
    rows = X[:, :2]
    large = np.full((4, 2), 3e38)
    tree = tree.with_parameters(np.array([0, 4, -4], dtype="float32"))  # infinity - infinity
    with pytest.warns(TrainingDiverged, match="no score on the validation rows was finite"):
        result = train(tree, rows, X[:, 0], settings=settings, validation=(large, np.zeros(4)))
    assert result.status == "diverged"
    assert result.best_epoch is None
    np.testing.assert_array_equal(result.tree.parameters, tree.parameters)
