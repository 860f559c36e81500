"""Run the examples of the gallery and write their pictures next to them.

Each example is a file of a few lines whose variable ``drawing`` is SVG text or matplotlib axes.

    python docs/gallery/make.py [NAME ...]
"""

import runpy
import sys
from pathlib import Path

import matplotlib.pyplot
from PIL import Image

FOLDER = Path(__file__).parent
#: Pictures with too many elements for SVG.
PIXELS = {"large_tree"}


def examples():
    return sorted(path for path in FOLDER.glob("*.py") if path.name != "make.py")


def run(path):
    """Return the drawing of an example, which begins without an open figure."""
    matplotlib.pyplot.close("all")
    return runpy.run_path(str(path))["drawing"]


def write(path):
    """Run an example and write its picture; return the file."""
    drawing = run(path)
    target = path.with_suffix(".png" if path.stem in PIXELS else ".svg")
    if isinstance(drawing, str):
        target.write_text(drawing, encoding="utf-8")
    else:
        settings = {"svg.fonttype": "none", "svg.hashsalt": path.stem}
        with matplotlib.rc_context(settings):
            metadata = {"Software": None} if target.suffix == ".png" else {"Date": None}
            drawing.figure.savefig(target, dpi=80, metadata=metadata)
        if target.suffix == ".png":  # a palette makes it a quarter as large
            Image.open(target).convert("RGB").quantize(64).save(target, optimize=True)
    return target


if __name__ == "__main__":
    wanted = set(sys.argv[1:])
    for example in examples():
        if not wanted or example.stem in wanted:
            made = write(example)
            print(f"{made.name}: {made.stat().st_size:,} bytes")
