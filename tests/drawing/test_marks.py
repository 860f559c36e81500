"""Marks of a scene, on their own and as SVG."""

import pytest

from bneuralt import NeuralTree, plot_tree
from bneuralt.drawing.display import tree_scene
from bneuralt.drawing.scene import Scene, Text, fitted, text_width
from bneuralt.drawing.svg import scene_to_svg
from bneuralt.drawing.view import TreeView


@pytest.mark.parametrize("halo", [False, True])
@pytest.mark.parametrize("ground", ["ground", None])
def test_only_texts_with_a_halo_in_front_of_something_are_outlined(halo, ground):
    text = Text(10.0, 10.0, "a leaf", halo=halo, ground=ground)
    svg = scene_to_svg(Scene(100.0, 20.0, [text], "a picture"))
    assert "a leaf" in svg
    assert ("paint-order" in svg) == (halo and ground is not None)


@pytest.mark.parametrize(("n", "is_shortened"), [(399, False), (400, False), (401, True)])
def test_texts_have_at_most_400_characters(n, is_shortened):
    text = fitted("ab" * 500, 1e9, 10)
    assert len(text) == 401 and text.count("…") == 1
    text = "".join(chr(ord("a") + i % 26) for i in range(n))
    assert (fitted(text, 1e9, 10) != text) == is_shortened


@pytest.mark.parametrize("bold", [False, True])
@pytest.mark.parametrize("width", [30.0, 77.0, 200.0])
def test_shortened_texts_are_as_long_as_fits(width, bold):
    text = fitted("m" * 100, width, 12, bold)
    assert text_width(text, 12, bold) <= width < text_width(text + "m", 12, bold)


def test_titles_and_names_of_large_pictures_are_as_wide_as_there_is_room():
    names = ["m" * 100, "w" * 100]
    tree = NeuralTree.random(4, 2, n_weights=2000, random_state=0)
    view = TreeView.of(tree, output_names=names)
    scene = tree_scene(view, max_leaves=None)
    shown = {text.text: text for text in scene.texts if text.bold}
    assert len(shown) == 2
    for name in names:
        (text,) = [text for text in shown.values() if text.text[0] == name[0]]
        width = text_width(text.text, text.size, bold=True)
        assert width <= 160 < width + text_width(name[0], text.size, bold=True)


def test_a_title_is_shortened_to_the_width_of_the_picture():
    tree = NeuralTree(1, 2, [-1, -1], [0, 0], [0, 1], [0, 0], [0.5, 2.0, 1.0, -1.0])
    names = ["m" * 300, "w" * 300]
    scene = tree_scene(TreeView.of(tree, output_names=names), example=[0.5])
    title = min((text for text in scene.texts if text.bold), key=lambda text: text.y)
    assert "…" in title.text
    assert title.x + text_width(title.text, title.size, bold=True) <= scene.width


def test_sizes_of_texts_are_those_of_the_scene():
    tree = NeuralTree.random(4, 2, n_weights=30, random_state=0)
    texts = tree_scene(TreeView.of(tree)).texts
    drawn = plot_tree(tree).texts
    scale = drawn[0].get_fontsize() / texts[0].size
    assert len({text.size for text in texts}) > 1
    assert [text.get_fontsize() for text in drawn] == pytest.approx([t.size * scale for t in texts])
