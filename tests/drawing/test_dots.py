"""Discs of SVG pictures: circles, or lines with round ends where they are many."""

import re

import numpy as np
import pytest

from bneuralt.drawing.scene import Dots, Scene
from bneuralt.drawing.svg import scene_to_svg


@pytest.mark.parametrize("n", [1, 400, 401, 1000])
def test_discs_have_their_radius(n):
    scene = Scene(100, 50)
    scene.add(Dots(np.linspace([1.0, 2.0], [90.0, 40.0], n), 3.0, "ink"))
    text = scene_to_svg(scene)
    circles = re.findall(r"<circle [^>]* r=\"3\"", text)
    widths = re.findall(r"stroke-width=\"(\d+)\"", text)
    if n <= 400:
        assert len(circles) == n
    else:
        assert not circles and "6" in widths
        assert text.count("h0") == n
