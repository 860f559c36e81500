"""Marks of a scene as SVG."""

import pytest

from bneuralt.drawing.scene import Scene, Text
from bneuralt.drawing.svg import scene_to_svg


@pytest.mark.parametrize("halo", [False, True])
@pytest.mark.parametrize("ground", ["ground", None])
def test_only_texts_with_a_halo_in_front_of_something_are_outlined(halo, ground):
    text = Text(10.0, 10.0, "a leaf", halo=halo, ground=ground)
    svg = scene_to_svg(Scene(100.0, 20.0, [text], "a picture"))
    assert "a leaf" in svg
    assert ("paint-order" in svg) == (halo and ground is not None)
