"""Curves of trainings and of sizes, on the axes given."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_wine

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralTClassifier,
    load_model,
    plot_history,
    plot_score_against_size,
)

NAMES = np.array(["barolo", "grignolino", "barbera"])


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    clf = BNeuralTClassifier(n_weights=60, max_epochs=20, early_stopping=True, random_state=0)
    return X[1::2], NAMES[y][1::2], clf.fit(X[::2], NAMES[y][::2])


def labels(ax):
    return [line.get_label() for line in ax.lines if not line.get_label().startswith("_")]


def test_history_of_trees_and_forests(wine, tmp_path):
    X, y, clf = wine
    for what, label in (
        ("loss", "loss"),
        ("score", "accuracy"),
        ("learning_rate", "learning rate"),
    ):
        ax = plot_history(clf, what=what)
        assert ax.get_ylabel() == label and ax.get_xlabel() == "epoch"
    ax = plot_history(clf, Figure().add_subplot())
    assert labels(ax)[:2] == ["training rows", "validation rows"]
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), clf.history_["train_loss"])
    epochs = np.arange(1, len(clf.history_["train_loss"]) + 1)
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), epochs)
    assert labels(ax)[2] == f"best epoch: {clf.best_epoch_ + 1}"
    forest = BNeuralForestClassifier(n_estimators=3, n_weights=30, max_epochs=5).fit(X, y)
    ax = plot_history(forest, Figure().add_subplot())
    assert len(ax.lines) == 4  # three trees and their mean
    with pytest.raises(ValueError, match="what='accuracy' must be"):
        plot_history(clf, what="accuracy")
    clf.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    if not getattr(loaded, "history_", None):
        with pytest.raises(ValueError, match="has no history_"):
            plot_history(loaded)


def test_score_against_size(wine):
    X, y, _ = wine
    model = BNeuralTClassifier(max_epochs=3, random_state=0)
    ax = plot_score_against_size(model, X, y, sizes=[15, 30], cv=2)
    assert ax.lines[0].get_xdata().tolist() == [15, 30]
    mean = ax.lines[0].get_ydata()
    band = ax.collections[0].get_paths()[0].vertices
    for size, score in zip([15, 30], mean, strict=True):
        low, high = (f(band[band[:, 0] == size, 1]) for f in (np.min, np.max))
        assert high == pytest.approx(min(2 * score - low, 1.0))
    assert ax.get_ylabel() == "accuracy (cross-validated)"
    many = plot_score_against_size(model, X, y, sizes=range(10, 30), cv=2)
    assert [text.get_text() for text in many.get_xticklabels()][:2] == ["10", "13"]
