"""Measure the interactive page of a large tree in headless Chromium.

``python -m benchmarks.page_speed`` prints, for trees of several sizes, the time from opening the
file to the first drawing, a summary, and to that of all nodes after a click; and the frames per
second while all nodes are dragged and zoomed. The browser has no GPU: the canvas is drawn by the
processor.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from bneuralt import NeuralTree
from bneuralt.drawing import to_html
from tests.helpers.chromium import Browser, browser

#: Count frames until `stop` is called, which returns their number per second and the longest gap.
COUNT_FRAMES = """
const times = [];
const count = (now) => { times.push(now); window.counting = requestAnimationFrame(count); };
requestAnimationFrame(count);
window.stopCounting = () => {
    cancelAnimationFrame(window.counting);
    const gaps = times.slice(1).map((t, i) => t - times[i]);
    return [1000 * gaps.length / (times.at(-1) - times[0]), Math.max(...gaps)];
};
"""


def tree_of_size(size: int) -> NeuralTree:
    """Return a random tree of about `n_nodes` nodes, including leaves, none of which are merged."""
    n_weights = round(size * 1.25)
    return NeuralTree.random(3000, 3, n_weights=n_weights, max_children=6, random_state=0)


def first_drawing(page: Browser, path: Path) -> float:
    """Return the seconds from the start of the navigation to the first drawing."""
    page.open(path)
    milliseconds = page.run_async(
        """const done = arguments[0];
        const look = () => {
            const [mark] = performance.getEntriesByName('drawn');
            if (mark) done(mark.startTime); else setTimeout(look, 5);
        };
        look();"""
    )
    return float(milliseconds) / 1000


def show_all(page: Browser) -> float:
    """Return the seconds from the click that shows all nodes to their drawing."""
    milliseconds = page.run_async(
        """const done = arguments[0], started = performance.now();
        const { dataset } = document.getElementById('drawing'), before = dataset.drawn;
        document.getElementById('expand').click();
        const look = () => {
            if (dataset.drawn !== before) done(performance.now() - started);
            else setTimeout(look, 2);
        };
        look();"""
    )
    return float(milliseconds) / 1000


def drag(page: Browser, seconds: float) -> tuple[float, float]:
    """Return frames per second and the longest gap in milliseconds while the tree is dragged."""
    page.run(COUNT_FRAMES)
    page.mouse("mousePressed", 500, 500)
    ends, step = time.perf_counter() + seconds, 0
    while time.perf_counter() < ends:
        step += 1
        offset = 8 * (step % 50) if step // 50 % 2 == 0 else 8 * (50 - step % 50)
        page.mouse("mouseMoved", 500 + offset, 500 + offset / 2)
    page.mouse("mouseReleased", 500, 500)
    rate, longest = page.run("return window.stopCounting()")
    return float(rate), float(longest)


def zoom(page: Browser, seconds: float) -> tuple[float, float]:
    """Return the same while the wheel is turned."""
    page.run(COUNT_FRAMES)
    ends, step = time.perf_counter() + seconds, 0
    while time.perf_counter() < ends:
        step += 1
        page.mouse("mouseWheel", 500, 500, deltaX=0, deltaY=-40 if step // 20 % 2 else 40)
    rate, longest = page.run("return window.stopCounting()")
    return float(rate), float(longest)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=[200, 2000, 20_000])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0, help="of dragging and zooming")
    args = parser.parse_args()
    print("| nodes | page | first drawing | show all | dragging | zooming |")
    print("| --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder, browser(1400, 900) as page:
        page.viewport(1400, 900)
        for size in args.sizes:
            tree, path = tree_of_size(size), Path(folder) / f"{size}.html"
            to_html(tree, path)
            paints = [first_drawing(page, path) for _ in range(args.repeats)]
            everything = show_all(page)
            dragged, zoomed = drag(page, args.seconds), zoom(page, args.seconds)
            print(
                f"| {tree.size:,} | {path.stat().st_size / 1e6:.2f} MB "
                f"| {statistics.median(paints):.2f} s | {everything:.2f} s "
                f"| {dragged[0]:.0f} frames/s, longest gap {dragged[1]:.0f} ms "
                f"| {zoomed[0]:.0f} frames/s, longest gap {zoomed[1]:.0f} ms |",
                flush=True,
            )


if __name__ == "__main__":
    main()
