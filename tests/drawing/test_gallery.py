"""The gallery: every example runs, makes a drawing, and is shown."""

import re
import runpy
from xml.etree import ElementTree

import pytest

from tests.helpers.paths import DOCS

FOLDER = DOCS / "gallery"
EXAMPLES = sorted(path for path in FOLDER.glob("*.py") if path.name != "make.py")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run_and_are_short(path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    drawing = runpy.run_path(str(path))["drawing"]
    if isinstance(drawing, str):
        assert ElementTree.fromstring(drawing).tag.endswith("svg")
    else:
        assert (drawing.figure is not None and drawing.has_data()) or drawing.texts
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    assert len(lines) <= 22


def test_every_picture_is_shown_with_its_code():
    page = (FOLDER.parent / "gallery.md").read_text(encoding="utf-8")
    shown = re.findall(r"\]\(gallery/(\w+)\.(svg|png)\)", page)
    code = re.findall(r"\{literalinclude\} gallery/(\w+)\.py", page)
    assert sorted(name for name, _ in shown) == sorted(code) == [path.stem for path in EXAMPLES]
    for name, ending in shown:
        assert (FOLDER / f"{name}.{ending}").stat().st_size < 400_000
