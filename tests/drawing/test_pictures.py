"""Pictures of trees: complete, labelled with the names of the table, and legible."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import bneuralt
from bneuralt import (
    BNeuralForestClassifier,
    BNeuralTClassifier,
    BNeuralTRegressor,
    NeuralTree,
    TreeDisplay,
    load_model,
    plot_tree,
)
from bneuralt.drawing import tree_svg
from bneuralt.drawing.display import tree_scene
from bneuralt.drawing.labels import signed, term_label
from bneuralt.drawing.outline import TERM, outline_of
from bneuralt.drawing.scene import Curves, Dots, Pill, Wedges, box_of, fitted
from bneuralt.drawing.scene import text_width as width_of
from bneuralt.drawing.view import TreeView, sums_and_values
from bneuralt.expressions import OUTPUTS, exp, square
from bneuralt.model import Model
from bneuralt.plotting import PALETTES
from bneuralt.tables.bends import Ramp
from bneuralt.tables.encoder import TableEncoder
from bneuralt.tables.features import NumberFeature

SVG = "{http://www.w3.org/2000/svg}"


def random_tree(seed, n_outputs=3, max_depth=3, **options):
    return NeuralTree.random(
        6, n_outputs, max_depth=max_depth, max_children=4, random_state=seed, **options
    )


def tree_of_size(seed, most, n_outputs):
    """Return a random tree of at most `most` nodes."""
    for depth in (4, 3, 2, 1):
        tree = random_tree(seed, n_outputs, depth)
        if tree.size <= most:
            return tree
    return tree


@pytest.fixture(scope="module")
def iris():
    data = load_iris(as_frame=True)
    y = data.target_names[data.target]
    return data.data, y, BNeuralTClassifier(n_weights=40, random_state=0).fit(data.data, y)


@pytest.fixture(scope="module")
def messy():
    rng = np.random.default_rng(0)
    n = 300
    X = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n),
            "colour": rng.choice(["red", "green", "blue"], n),
            "member": rng.choice(["no", "yes"], n),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
        }
    )
    X.loc[:30, "age"] = np.nan
    X.loc[20:40, "colour"] = None
    y = X["age"].fillna(30) / 10 + (X["colour"] == "red") + rng.normal(0, 0.1, n)
    return X, BNeuralTRegressor(n_weights=160, random_state=0).fit(X, y)


# -- what is shown ------------------------------------------------------------------------


@given(seed=st.integers(0, 2**31), n_outputs=st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_every_node_term_and_edge_is_drawn_once(seed, n_outputs):
    view = TreeView.of(random_tree(seed, n_outputs), simplified=False)
    scene = tree_scene(view, max_leaves=None, legend=False)
    n_nodes, has_root = view.tree.parent.size, n_outputs > 1
    n_edges = sum(len(mark.points) for mark in scene.marks if isinstance(mark, Curves))
    assert n_edges == view.n_terms + n_nodes - n_outputs + n_outputs * has_root
    notes = [mark.note for mark in scene.marks if isinstance(mark, Pill) and mark.note]
    assert len(notes) == n_nodes
    dots = [m for m in scene.marks if isinstance(m, Dots) and m.fill in ("positive", "negative")]
    assert sum(len(mark.centers) for mark in dots) == view.n_terms
    labelled = [mark for mark in scene.texts if re.match(r"x\d$", mark.text)]
    assert len(labelled) == view.n_terms


def test_labels_are_names_and_weights_of_the_table(iris):
    X, y, _ = iris
    clf = BNeuralTClassifier(n_weights=40, random_state=0, scale="standard", ramps=0).fit(X, y)
    view = TreeView.of(clf)
    texts = [text.text for text in tree_scene(view).texts]
    for name in X.columns:
        features = [view.feature_names[i] for i in view.term_feature]
        assert texts.count(name) == features.count(name) > 0
    for name in np.unique(y):
        assert name in texts
    for weight in view.entry_weight:
        assert signed(weight) in texts
    texts = [text.text for text in tree_scene(view).texts]
    for bias in view.tree.bias:
        assert signed(bias) in texts
    for edge in view.tree.edge:
        assert signed(edge) in texts
    assert {"linear", "tanh", "positive weight", "negative weight"} <= set(texts)


def test_ramps_are_labelled_with_their_ends():
    ramps = (Ramp(18.0, 60.0, 0.5), Ramp(60.0, 65.0, 0.2))
    encoder = TableEncoder((NumberFeature(40.0, ramps=ramps),), ("age",))

    def labels(leaves, weights):
        nodes = [0] * len(leaves)
        tree = NeuralTree(3, 1, [-1], [0], nodes, leaves, [0.5, *weights])
        view = TreeView.of(replace(Model.of_tree(tree), encoder=encoder), simplified=False)
        return [mark.text for mark in tree_scene(view).texts]

    assert "age from 60 to 65" in labels([2], [1.0])
    assert "age: 60 to 65 −3, value +2" in labels([0, 2], [2.0, -3.0])


def test_numbers_are_not_cut_at_their_front():
    text = "a name that is much too long from 1234.5 to 6789.5"
    for width in range(20, 300):
        start, cut, end = fitted(text, width, 10).partition("…")
        assert text.startswith(start) and text.endswith(end)
        first = end.split(" ")[0]
        assert not cut or first in ("", *text.split(" ")) or not re.match(r"[\d.]", first)


def test_a_feature_below_a_node_is_one_term():
    tree = NeuralTree(2, 1, [-1], [1], [0, 0, 0], [0, 1, 0], [0.5, 2.0, -1.0, 0.25])
    for simplified in (False, True):
        view = TreeView.of(tree, simplified=simplified, feature_names=["a", "b"])
        assert [term_label(view, i)[:3] for i in range(view.n_terms)] == [
            ("+2.25", "positive", "a"),
            ("−1", "negative", "b"),
        ]


def test_categories_dates_and_gaps_have_the_names_of_the_table(messy):
    X, reg = messy
    view = TreeView.of(reg)
    assert view.feature_names == tuple(X.columns)
    names = " ".join(term_label(view, i).note for i in range(view.n_terms))
    for expected in ("red", "age", "(missing)", "member=yes", "month", "since"):
        assert expected in names
    # a term has the entries of one feature: a table of weights
    several = [i for i in range(view.n_terms) if len(view.term_entries(i)) > 1]
    assert several
    for i in several:
        entries = {entry.entry for entry, _ in view.term_entries(i)}
        column = view.model.columns[view.term_feature[i]]
        assert entries <= {view.inputs[k].entry for k in column.inputs}
        assert len(entries) == len(view.term_entries(i))
    date = X.since[25].strftime("%Y-%m-%d")
    assert view.example(X.iloc[[25]]).cells == ("missing", "missing", X["member"][25], date)


@pytest.mark.parametrize(
    ("link", "name"), [(OUTPUTS, "y"), (exp(OUTPUTS), "log y"), (square(OUTPUTS), "score of y")]
)
def test_outputs_are_named_as_they_are_before_the_link(link, name):
    model = Model.of_tree(random_tree(0, 1))
    assert TreeView.of(replace(model, link=link)).output_names == (name,)


def test_readable_trees_of_two_classes_are_one_sum():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 2)), columns=["size", "age"])
    y = np.where(X["size"] + rng.normal(size=200) > 0, "yes", "no")
    model = BNeuralTClassifier(n_weights="readable", random_state=0).fit(X, y)
    svg = tree_svg(model)
    assert "log-odds of yes" in svg and "highest score" not in svg
    assert "odds of b" in tree_svg(model, output_names=["a", "b"])
    assert "highest score" in tree_svg(model, example=X.iloc[0])
    model.set_params(n_weights=20).fit(X, y)
    assert "highest score" in tree_svg(model)


def test_models_from_files_know_about_how_much_features_vary(iris, tmp_path):
    iris[2].save(tmp_path / "iris.json")
    fitted, loaded = TreeView.of(iris[2]), TreeView.of(load_model(tmp_path / "iris.json"))
    assert fitted.spread is not None and loaded.spread is not None
    # That of a ramp may be anything up to a half: files have its ends, and not its deviation.
    assert np.all(np.abs(np.log(loaded.spread / fitted.spread)) < np.log(2))


def test_large_trees_are_summarised_unless_all_is_asked_for():
    tree = NeuralTree.random(30, 4, n_weights=5000, random_state=0)
    view = TreeView.of(tree)
    outline = outline_of(view, None, 50)
    assert outline.n_rows <= 60
    assert outline.n_hidden.sum() + (outline.kind == TERM).sum() == view.n_terms
    scene = tree_scene(view)
    shown = [re.match(r"([\d,]+) leaves \([<\d. %]+\): x\d", text.text) for text in scene.texts]
    assert sum(match is not None for match in shown) > 10
    assert sum(len(m.points) for m in scene.marks if isinstance(m, Wedges)) == sum(map(bool, shown))
    complete = tree_scene(view, max_leaves=None)
    n_edges = sum(len(mark.points) for mark in complete.marks if isinstance(mark, Curves))
    assert n_edges == view.n_terms + view.tree.parent.size


def test_a_node_of_very_many_leaves_shows_the_strongest():
    weights = np.append(0.0, np.linspace(0.1, 5, 500))
    tree = NeuralTree(500, 1, [-1], [0], np.zeros(500, int), np.arange(500), weights)
    outline = outline_of(TreeView.of(tree), None, 100)
    assert (outline.kind == TERM).sum() == 24 and outline.n_hidden.sum() == 476
    assert outline.index[outline.kind == TERM].min() == 476
    scene = tree_scene(TreeView.of(tree))
    assert any(text.text.startswith("476 weaker terms (") for text in scene.texts)


def test_a_tree_deeper_than_pythons_stack():
    n = 3000
    tree = NeuralTree(1, 1, np.arange(-1, n - 1), [0] + [1] * (n - 1), [n - 1], [0], np.ones(2 * n))
    assert tree_svg(tree, max_leaves=None).endswith("</svg>\n")


# -- legibility ---------------------------------------------------------------------------


def overlap(a, b):
    """Return whether two convex quadrilaterals overlap by more than a pixel."""
    if (a.min(0) > b.max(0)).any() or (b.min(0) > a.max(0)).any():
        return False
    for quad in (a, b):
        for edge in np.roll(quad, -1, axis=0) - quad:
            normal = np.array([-edge[1], edge[0]])
            length = np.hypot(*normal)
            if length == 0:
                continue
            p, q = a @ normal / length, b @ normal / length
            if p.max() <= q.min() + 1 or q.max() <= p.min() + 1:
                return False
    return True


def overlapping(scene):
    boxes = [(text.text, box_of(text)) for text in scene.texts]
    return [
        (boxes[i][0], boxes[j][0])
        for i in range(len(boxes))
        for j in range(i)
        if overlap(boxes[i][1], boxes[j][1])
    ]


@given(
    seed=st.integers(0, 2**31),
    n_outputs=st.integers(1, 5),
    with_example=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_labels_do_not_overlap(seed, n_outputs, with_example):
    tree = tree_of_size(seed, 60, n_outputs)
    names = ["age", "petal length (cm)", "Wärme", "a rather long name of a feature", "x", "日本語"]
    view = TreeView.of(tree, feature_names=names)
    scene = tree_scene(view, example=[1.0] * 6 if with_example else None)
    assert overlapping(scene) == []
    for text in scene.texts:
        corners = box_of(text)
        assert corners.min() >= -1
        assert corners[:, 0].max() <= scene.width + 1 and corners[:, 1].max() <= scene.height + 1


def test_estimated_widths_are_those_of_the_font(iris):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    ax = plot_tree(iris[2])
    renderer = FigureCanvasAgg(ax.figure).get_renderer()
    for drawn, text in zip(ax.texts, tree_scene(TreeView.of(iris[2])).texts, strict=True):
        extent = drawn.get_window_extent(renderer)
        pixels = extent.width / ax.figure.dpi * 96
        estimate = width_of(text.text, text.size, text.bold)
        assert drawn.get_text().replace("\\", "") == text.text
        assert pixels <= estimate * 1.06 + 2, text


def luminance(color):
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def contrast(a, b):
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_contrast_of_text(iris, messy):
    pairs = set()
    for model, row in ((iris[2], iris[0].iloc[[70]]), (messy[1], messy[0].iloc[[3]])):
        for example in (None, row):
            scene = tree_scene(TreeView.of(model), example=example)
            pairs |= {(text.color, text.ground) for text in scene.texts}
    assert {("ink", "ground"), ("on output", "output"), ("on decision", "decision")} <= pairs
    for theme, palette in PALETTES.items():
        for color, ground in pairs:
            assert contrast(palette[color], palette[ground]) >= 4.5, (theme, color, ground)
        # signs can also be told apart by lightness or hue from the ground of a drawing
        for color in ("positive", "negative", "mixed"):
            assert contrast(palette[color], palette["ground"]) >= 4.5


def test_widths_and_colours_follow_the_weights():
    tree = NeuralTree(3, 1, [-1], [0], [0, 0, 0], [0, 1, 2], [0.0, 4.0, -2.0, 0.1])
    scene = tree_scene(TreeView.of(tree))
    width = {(m.color, m.width) for m in scene.marks if isinstance(m, Curves)}
    (strong,) = [w for c, w in width if c == "positive" and w > 2]
    (weak,) = [w for c, w in width if c == "positive" and w < 2]
    (negative,) = [w for c, w in width if c == "negative"]
    assert weak < negative < strong


def test_long_names_are_shortened_and_kept_in_notes():
    name = "long " * 100
    tree = NeuralTree(1, 1, [-1], [0], [0], [0], [0.5, 2.0])
    scene = tree_scene(TreeView.of(tree, feature_names=[name]))
    (label,) = [text for text in scene.texts if text.note]
    assert "…" in label.text and name in label.note and width_of(label.text, label.size) < 300
    assert fitted("short", 100, 10) == "short"


# -- SVG ----------------------------------------------------------------------------------


def test_svg_of_a_large_tree_is_small():
    tree = NeuralTree.random(50, 10, n_weights=26_000, random_state=0)
    assert tree.size >= 20_000
    svg = tree_svg(tree, max_leaves=None)
    assert len(svg.encode()) < 5e6
    root = ElementTree.fromstring(svg)
    edges = sum(path.get("d").count("c") for path in root.iter(f"{SVG}path"))
    view = TreeView.of(tree)
    assert edges == view.n_terms + view.tree.parent.size
    assert len(tree_svg(tree)) < 200_000


def test_names_are_text_and_nothing_else():
    names = ["<script>alert(1)</script>", "\"quotes\" & 'more'", "🌳 tree", "שלום", "a\nb\x07"]
    tree = NeuralTree.random(5, 2, max_depth=1, min_children=5, random_state=0)
    svg = tree_svg(tree, feature_names=names, output_names=["<b>", "]]>"], simplified=False)
    root = ElementTree.fromstring(svg)
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert set(names[:4]) | {"<b>", "]]>", "a b "} <= set(texts)
    assert {element.tag for element in root.iter()} == {
        f"{SVG}{tag}" for tag in ("svg", "title", "rect", "path", "g", "circle", "text")
    }


def test_themes(iris):
    light, dark, auto = (tree_svg(iris[2], theme=theme) for theme in ("light", "dark", "auto"))
    assert PALETTES["dark"]["ground"] in dark and PALETTES["dark"]["ground"] not in light
    assert "prefers-color-scheme" in auto and PALETTES["light"]["ground"] in auto
    # every coloured element has the class by which its colour is replaced
    for element in ElementTree.fromstring(auto).iter():
        if (element.get("fill") or "none") != "none":
            assert "f-" in element.get("class")
        if element.get("stroke"):
            assert "s-" in element.get("class")


def test_what_notebooks_show(iris):
    clf = iris[2]
    assert clf._repr_svg_() == tree_svg(clf, theme="auto")
    assert BNeuralTClassifier()._repr_svg_() is None


# -- examples -----------------------------------------------------------------------------


@given(seed=st.integers(0, 2**31), n_outputs=st.integers(1, 4))
@settings(max_examples=30, deadline=None)
def test_values_of_an_example_are_those_of_the_tree(seed, n_outputs):
    activations = ["tanh", "relu", "gaussian", "leaky_relu", "bipolar"]
    tree = random_tree(seed, n_outputs, activation=activations)
    x = np.random.default_rng(seed).normal(size=6)
    np.testing.assert_allclose(sums_and_values(tree, x)[1][:n_outputs], tree.forward(x), rtol=1e-12)
    view = TreeView.of(tree)
    example = view.example(x)
    np.testing.assert_allclose(example.node_value[:n_outputs], tree.forward(x), atol=1e-12)
    # effects below a node add up to the change of its sum
    usual, _ = sums_and_values(view.tree, np.zeros(6))
    total = np.bincount(view.term_node, example.term_effect, minlength=view.tree.parent.size)
    below = view.tree.parent[n_outputs:]
    np.add.at(total, below, example.node_effect[n_outputs:])
    np.testing.assert_allclose(usual + total, example.node_sum, atol=1e-9)
    # shares of terms add up to those of the outputs, where anything has an effect
    assert example.term_share.sum() <= 1 + 1e-9
    assert example.node_share[:n_outputs].sum() == pytest.approx(1)


def test_the_decision_and_its_paths_stand_out(iris):
    X, _, clf = iris
    for row in (0, 77, 130):
        example = X.iloc[[row]]
        scene = tree_scene(TreeView.of(clf), example=example)
        shares = clf.predict_proba(example)[0]
        name = clf.predict(example)[0]
        (outcome,) = [t.text for t in scene.texts if t.text.startswith("predicted")]
        assert outcome.startswith(f"predicted: {name}, ")
        assert clf.classes_[shares.argmax()] == name
        marked = [m for m in scene.marks if isinstance(m, Pill) and m.fill == "decision"]
        assert len(marked) == 1 and marked[0].note.startswith(name)
        curves = [mark for mark in scene.marks if isinstance(mark, Curves)]
        assert max(m.opacity for m in curves) > 0.9 and min(m.opacity for m in curves) < 0.5
        texts = [text.text for text in scene.texts]
        assert f"petal width (cm) = {X.iloc[row, 3]:g}" in texts


def test_examples_of_all_kinds(messy, iris):
    X, reg = messy
    view = TreeView.of(reg)
    expected = reg.predict(X.iloc[[50]])
    for row in (X.iloc[[50]], X.iloc[50].to_dict(), X.iloc[50]):
        np.testing.assert_allclose(view.example(row).predictions, expected)
    clf, row = iris[2], iris[0].iloc[0]
    expected = clf.predict_proba(iris[0].iloc[[0]])[0]
    for example in (row.to_numpy(), row.tolist(), dict(row), row.to_numpy()[np.newaxis]):
        shares = TreeView.of(clf).example(example).predictions
        np.testing.assert_allclose(shares, expected, rtol=1e-5)  # of trees in single precision
    with pytest.raises(ValueError, match="example has no value for 'petal width"):
        view = TreeView.of(clf)
        view.example(dict.fromkeys(row.index[:3], 1.0))
    with pytest.raises(ValueError, match=r"example has shape \(2, 4\); one row with 4"):
        TreeView.of(clf).example(iris[0].iloc[:2])


def test_a_tree_of_a_forest(iris):
    X, y, _ = iris
    forest = BNeuralForestClassifier(n_estimators=3, n_weights=30, random_state=0).fit(X, y)
    assert "tree 2 of 3, " in tree_svg(forest, tree=1)
    view = TreeView.of(forest, tree=2)
    expected = forest.estimators_[2].predict_proba(X.iloc[[9]])[0]
    np.testing.assert_allclose(view.example(X.iloc[[9]]).predictions, expected, rtol=1e-5)
    with pytest.raises(ValueError, match="tree=3 must be a number from 0 to 2"):
        tree_svg(forest, tree=3)


# -- matplotlib ---------------------------------------------------------------------------


def test_plots_are_drawn_on_the_axes_given(iris, tmp_path):
    from matplotlib.figure import Figure

    X, _, clf = iris
    figure = Figure(figsize=(8, 5))
    left, right = figure.subplots(1, 2)
    assert plot_tree(clf, left) is left
    display = TreeDisplay.from_estimator(clf, ax=right, theme="dark", example=X.iloc[[5]])
    assert display.ax_ is right and display.figure_ is figure
    shown = [text.get_text() for text in left.texts]
    assert shown == [text.text for text in tree_scene(TreeView.of(clf)).texts]
    assert max(text.get_fontsize() for text in left.texts) < 13 * 0.75  # smaller axes
    for ending in ("png", "pdf", "svg"):
        figure.savefig(tmp_path / f"tree.{ending}")
        assert (tmp_path / f"tree.{ending}").stat().st_size > 5000


def test_a_new_figure_has_the_size_of_the_drawing(iris):
    scene = tree_scene(TreeView.of(iris[2]))
    ax = plot_tree(iris[2])
    assert ax.figure.get_size_inches() * 96 == pytest.approx([scene.width, scene.height])


def test_names_are_no_formulas_in_plots(tmp_path):
    tree = NeuralTree(1, 1, [-1], [0], [0], [0], [0.5, 2.0])
    ax = plot_tree(tree, feature_names=["$x_{"])
    ax.figure.savefig(tmp_path / "tree.png")  # fails where the name is read as a formula
    assert any("$x_{" in text.get_text().replace("\\", "") for text in ax.texts)


# -- errors -------------------------------------------------------------------------------


def test_wrong_arguments_are_named(iris):
    clf = iris[2]
    with pytest.raises(ValueError, match="theme='blue' must be"):
        tree_svg(clf, theme="blue")
    with pytest.raises(ValueError, match="theme='auto' must be 'light' or 'dark'"):
        plot_tree(clf, theme="auto")
    with pytest.raises(ValueError, match="max_leaves=0 must be"):
        tree_svg(clf, max_leaves=0)
    with pytest.raises(ValueError, match="feature_names has 1 names; the model has 4 features"):
        tree_svg(clf, feature_names=["a"])
    with pytest.raises(ValueError, match="output_names has 1 names; the tree has 3 outputs"):
        tree_svg(clf, output_names=["a"])
    with pytest.raises(TypeError, match="must be a fitted estimator of bneuralt or a NeuralTree"):
        plot_tree("clf")
    with pytest.raises(NotFittedError):
        plot_tree(BNeuralTClassifier())


def test_public_names():
    assert bneuralt.plot_tree is plot_tree and bneuralt.TreeDisplay is TreeDisplay


def test_large_trees_are_summarised_by_their_strongest_paths():
    tree = NeuralTree.random(6, 1, n_weights=400, init="normal", random_state=0)
    view = TreeView.of(tree)
    scene = tree_scene(view)
    assert scene.height < 1200 and scene.width < 1600
    shares = [re.search(r"leaves? \((<?[\d.]+) %\)", mark.text) for mark in scene.texts]
    assert sum(match is not None for match in shares) > 3
    outline = outline_of(view, None, 40)
    hidden = outline.n_hidden > 0
    drawn = view.n_terms - outline.n_hidden.sum()
    assert drawn == np.count_nonzero(outline.kind == TERM)
    assert 0 < outline.share[hidden].sum() < 1


def test_many_classes_are_all_drawn():
    tree = NeuralTree.random(6, 30, n_weights=2000, init="normal", random_state=0)
    scene = tree_scene(TreeView.of(tree))
    shown = {mark.text for mark in scene.texts}
    assert {f"class {i}" for i in range(30)} <= shown
    few = NeuralTree.random(6, 2, n_weights=2000, init="normal", random_state=0)
    for tree_, most in ((tree, 90), (few, 40)):  # 3 leaves for each output, and at least 40
        view = TreeView.of(tree_)
        assert tree_scene(view).texts == tree_scene(view, max_leaves=most).texts


def test_weights_that_do_nothing_are_not_drawn():
    tree = NeuralTree(
        3, 1, [-1, 0], [0, 2], [0, 0, 1], [0, 1, 2], [0.5, 0.1, 1e-9, 2.0, 2.9e-8, 1.0]
    )
    texts = [mark.text for mark in tree_scene(TreeView.of(tree)).texts]
    assert "x0" in texts and "x1" not in texts and "x2" not in texts
    assert any("2 weaker terms (<0.1 %)" in text for text in texts)
    complete = [mark.text for mark in tree_scene(TreeView.of(tree), max_leaves=None).texts]
    assert {"x0", "x1", "x2"} <= set(complete)
