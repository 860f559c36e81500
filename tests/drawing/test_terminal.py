"""Drawings in text are complete and fit the width."""

import io
import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bneuralt import BNeuralTClassifier, NeuralTree
from bneuralt.drawing.terminal import draw_tree as draw_simplified
from bneuralt.drawing.terminal import use_color
from bneuralt.tree.activations import NAMES

ESCAPE = re.compile(r"\033\[\d*m")


draw_tree = partial(draw_simplified, simplified=False)


def random_tree(seed, n_outputs=3, max_depth=3):
    return NeuralTree.random(4, n_outputs, max_depth=max_depth, max_children=4, random_state=seed)


@given(seed=st.integers(0, 2**31), n_outputs=st.integers(1, 4), width=st.integers(40, 120))
@settings(max_examples=50)
def test_every_node_and_leaf_is_drawn_within_the_width(seed, n_outputs, width):
    tree = random_tree(seed, n_outputs)
    names = ["apple", "berry", "cherry", "date"]
    drawing = draw_tree(tree, feature_names=names, width=width, color=False)
    for i, name in enumerate(names):
        assert drawing.count(name) == tree.input_counts[i]
    heads = re.findall(r"(?m)^[│├└─ ]*(?:\S+ sigmoid of|(?:y|class \d) =)", drawing)
    assert len(heads) == len(tree.parent)
    assert max(map(len, drawing.splitlines())) <= width


@given(seed=st.integers(0, 2**31), max_lines=st.integers(3, 60))
@settings(max_examples=50)
def test_deep_levels_are_summed_up_when_lines_are_few(seed, max_lines):
    tree = random_tree(seed, max_depth=5)
    drawing = draw_tree(tree, width=100, max_lines=max_lines, color=False)
    lines = drawing.splitlines()
    assert len(lines) <= max(max_lines, 2 * tree.n_outputs)
    hidden = [re.search(r"([\d,]+) nodes?, ([\d,]+) lea(?:f|ves) below", line) for line in lines]
    counts = [[int(n.replace(",", "")) for n in h.groups()] for h in hidden if h]
    nodes, leaves = np.sum(counts or [[0, 0]], axis=0)
    assert nodes + drawing.count(" sigmoid of") == len(tree.parent)
    assert leaves + len(re.findall(r" x\d", drawing)) == tree.n_leaves


def test_colour_changes_nothing_but_the_escapes():
    tree = random_tree(1)
    painted = draw_tree(tree, width=80, color=True)
    plain = draw_tree(tree, width=80, color=False)
    assert "\033" not in plain and "\033" in painted
    assert ESCAPE.sub("", painted) == plain


def test_colour_is_for_terminals_that_want_it(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert use_color(Terminal()) and not use_color(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "")
    assert use_color(Terminal())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not use_color(Terminal())
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not use_color(Terminal())


def test_ascii_only():
    drawing = draw_tree(random_tree(1), width=80, max_lines=20, ascii_only=True)
    assert drawing.isascii() and "`- " in drawing


def test_narrow_terminals_and_long_names():
    tree = random_tree(3, max_depth=5)
    drawing = draw_tree(tree, feature_names=["n" * 200] * 4, width=10, color=False)
    assert "n" * 20 not in drawing and "…" in drawing


def test_names_cannot_steer_the_terminal():
    tree = random_tree(1)
    drawing = draw_tree(tree, feature_names=["a\nb", "\033[2J", "c\td", "e"], color=False)
    assert "\033" not in drawing and "\t" not in drawing and "a b" in drawing


def test_names_must_be_as_many_as_the_tree_has():
    tree = random_tree(1)
    with pytest.raises(ValueError, match="feature_names has 3 names; the model has 4 features"):
        draw_tree(tree, feature_names=["a", "b", "c"])
    with pytest.raises(ValueError, match="output_names has 1 names; the tree has 3 outputs"):
        draw_tree(tree, output_names=["a"])


def chain(n):
    """A regression tree of `n` function nodes below one another, with one leaf."""
    return NeuralTree(
        1,
        1,
        parent=np.arange(-1, n - 1),
        activation=[0] + [1] * (n - 1),
        leaf_parent=[n - 1],
        leaf_input=[0],
        parameters=np.zeros(2 * n),
    )


def test_a_tree_deeper_than_pythons_stack():
    tree = chain(5000)
    assert draw_tree(tree, width=40, max_lines=10).splitlines()[-1].endswith(" 1 leaf below")


def test_nodes_show_the_parameters_of_their_activations():
    nodes = {"leaky_relu": [0.25], "gaussian": [0.0, 1.5]}
    for name, parameters in nodes.items():
        tree = NeuralTree(
            1, 1, [-1, 0], [0, NAMES.index(name)], [1], [0], [0.0, 1.0, 2.0, 3.0], parameters
        )
        numbers = ", ".join(f"{number:g}" for number in parameters)
        assert f"{name}({numbers}) of" in draw_tree(tree, width=80)


def test_models_have_the_names_of_their_table():
    X = pd.DataFrame({"size": np.arange(60.0), "colour": list("rgb") * 20})
    clf = BNeuralTClassifier(n_weights=60, max_epochs=5, random_state=0).fit(X, X.colour == "r")
    drawing = draw_simplified(clf, width=80)
    assert drawing.startswith("log-odds of True = ") and "False" not in drawing
    assert " size" in drawing and " colour=r" in drawing
    assert re.search(" x[0-9]", draw_simplified(clf.tree_, width=80))
