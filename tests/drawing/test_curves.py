"""Curves of models: on the axes given, with the values that scikit-learn computes."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_wine
from sklearn.metrics import confusion_matrix, roc_auc_score

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralTClassifier,
    BNeuralTRegressor,
    load_model,
    plot_calibration,
    plot_confusion,
    plot_history,
    plot_precision_recall,
    plot_roc,
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


@pytest.mark.parametrize("plot", [plot_roc, plot_precision_recall, plot_calibration])
def test_each_class_has_a_curve(wine, plot):
    X, y, clf = wine
    ax = Figure().add_subplot()
    assert plot(clf, X, y, ax) is ax
    named = [label for label in labels(ax) if label.split(",")[0] in NAMES]
    assert [label.split(",")[0] for label in named] == sorted(NAMES)
    only = plot(clf, X, y, pos_label="barolo")
    assert [label.split(",")[0] for label in labels(only) if "barol" in label] == ["barolo"]
    assert sum(label.split(",")[0] in NAMES for label in labels(only)) == 1
    with pytest.raises(ValueError, match="pos_label='beer' is not a class"):
        plot(clf, X, y, pos_label="beer")
    with pytest.raises(TypeError, match="needs a classifier, not BNeuralTRegressor"):
        plot(BNeuralTRegressor(n_weights=10, max_epochs=2).fit(X, np.arange(len(X))), X, y)


def test_area_below_the_curve(wine):
    X, y, clf = wine
    area = roc_auc_score(y == "barolo", clf.predict_proba(X)[:, 1])
    assert clf.classes_[1] == "barolo"
    assert f"barolo, area {area:.3f}" in labels(plot_roc(clf, X, y))


def test_two_classes_have_one_curve_and_many_no_names():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    clf = BNeuralTClassifier(n_weights=20, max_epochs=5, random_state=0).fit(X, X[:, 0] > 0)
    assert [label.split(",")[0] for label in labels(plot_roc(clf, X, X[:, 0] > 0))] == ["True"]
    y = rng.integers(0, 20, 300)
    many = BNeuralTClassifier(n_weights=60, max_epochs=2, random_state=0).fit(X, y)
    ax = plot_roc(many, X, y)
    assert labels(ax) == [] and ax.get_legend() is None and len(ax.lines) == 21


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
    assert labels(ax)[2] == f"best epoch: {clf.best_epoch_ + 1}"
    forest = BNeuralForestClassifier(n_estimators=3, n_weights=30, max_epochs=5).fit(X, y)
    assert len(plot_history(forest).lines) == 4  # three trees and their mean
    with pytest.raises(ValueError, match="what='accuracy' must be"):
        plot_history(clf, what="accuracy")
    clf.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    if not getattr(loaded, "history_", None):
        with pytest.raises(ValueError, match="has no history_"):
            plot_history(loaded)


def test_confusion_matrix(wine):
    X, y, clf = wine
    ax = Figure().add_subplot()
    assert plot_confusion(clf, X, y, ax) is ax
    shown = [int(text.get_text()) for text in ax.texts]
    assert shown == confusion_matrix(y, clf.predict(X)).ravel().tolist()
    shares = [float(text.get_text()) for text in plot_confusion(clf, X, y, normalize="true").texts]
    assert sum(shares) == pytest.approx(3, abs=0.05)


def test_score_against_size(wine):
    X, y, _ = wine
    model = BNeuralTClassifier(max_epochs=3, random_state=0)
    ax = plot_score_against_size(model, X, y, sizes=[15, 30], cv=2)
    assert ax.lines[0].get_xdata().tolist() == [15, 30]
    assert ax.get_ylabel() == "accuracy (cross-validated)"
