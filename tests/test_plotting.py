"""What all plots share: pyplot's current axes, and one set of colours."""

import re

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_hex
from sklearn.datasets import load_iris

from bneuralt import BNeuralTClassifier, plot_history, plot_score_against_size, plot_tree
from bneuralt.drawing.pages import page_component
from bneuralt.plotting import PALETTES

mpl.use("Agg")


@pytest.fixture(scope="module")
def model():
    return BNeuralTClassifier(n_weights=30, random_state=0).fit(*load_iris(return_X_y=True))


@pytest.fixture
def plt():
    import matplotlib.pyplot as plt

    return plt


def n_dark_pixels(path, plt):
    return int((plt.imread(path)[..., :3].mean(axis=2) < 0.9).sum())


def test_pyplot_saves_the_drawing(model, plt, tmp_path):
    plot_tree(model)
    plt.savefig(tmp_path / "tree.png")
    assert n_dark_pixels(tmp_path / "tree.png", plt) > 1000


def test_an_open_figure_is_used(model, plt):
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5))
    plt.sca(left)
    ax = plot_tree(model)
    assert ax is left and plt.get_fignums() == [figure.number]
    assert len(left.texts) > 10 and not right.texts
    n_texts = len(left.texts)
    assert plot_tree(model) is left and len(left.texts) == n_texts  # drawn anew, not twice


def test_without_a_figure_one_of_the_size_of_the_tree_is_opened(model, plt):
    small = plot_tree(model).figure.get_size_inches()
    plt.close("all")
    large = plot_tree(model, max_leaves=None, simplified=False).figure
    assert large.get_size_inches()[1] >= small[1]
    assert len(plt.get_fignums()) == 1


def test_curves_use_the_current_axes(model, plt):
    ax = plt.figure().add_subplot()
    assert plot_history(model) is ax
    X, y = load_iris(return_X_y=True)
    assert plot_score_against_size(model, X, y, sizes=[20, 40], cv=2) is ax


def test_signs_have_the_same_colours_everywhere(model, plt):
    css = page_component().style
    for role in ("positive", "negative"):
        colors = re.findall(rf"--{role}: (#\w+);", css)
        assert colors == [PALETTES[theme][role] for theme in ("light", "dark")]
    X, _ = load_iris(return_X_y=True)
    explanation = model.explain(X)
    signs = np.sign(explanation.values[:, :, 0])
    row = int(np.argmin(np.abs(signs.sum(axis=1))))
    values = explanation.values[row, :, 0]
    assert values.min() < 0 < values.max()
    for kind in ("waterfall", "bar"):
        plt.close("all")
        bars = explanation.plot(kind, row=row, output=0).patches
        for value, bar in zip(sorted(values, key=lambda v: -abs(v)), bars, strict=False):
            role = "positive" if value > 0 else "negative"
            assert to_hex(bar.get_facecolor()) == PALETTES["light"][role]


def test_a_beeswarm_has_a_legend(model, plt):
    X, _ = load_iris(return_X_y=True)
    ax = model.explain(X).plot("beeswarm")
    (legend,) = (other for other in ax.figure.axes if other is not ax)
    assert [label.get_text() for label in legend.get_yticklabels()] == ["low", "high"]
    assert legend.get_ylabel() == "value of the feature"
