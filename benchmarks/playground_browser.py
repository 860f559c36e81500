"""Measure the playground in headless Chromium.

    python -m benchmarks.playground_browser

Printed are the ratio of one training in WebAssembly to the native baseline set, in processor time
of the thread; the first paint; and for tables of 20 columns (`--rows`) the time of default models
and the longest gaps between frames. The browser has no graphics processor.
"""

from __future__ import annotations

import argparse
import base64
import json
import tempfile
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.playground import SPEED, Training
from playground.build import _joined, _sources, build
from playground.in_node import FOLDER, prepare
from tests.helpers.chromium import Browser, browser

ROUNDS = 5

#: Add up the frames that come late while something happens.
COUNT_GAPS = """
window.gaps = [];
let last = performance.now();
const tick = () => {
    const now = performance.now();
    gaps.push(now - last);
    last = now;
    requestAnimationFrame(tick);
};
requestAnimationFrame(tick);
"""


def table_text(n_rows: int) -> str:
    """Return a CSV text of 20 columns of numbers and a target."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 20)).round(4)
    y = (np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n_rows)).round(4)
    names = ",".join([*(f"x{i}" for i in range(20)), "y"])
    return "\n".join(
        [names, *(",".join(map(str, row)) for row in np.column_stack([X, y]).tolist())]
    )


def thread_seconds(page: Browser) -> float:
    """Return the processor time that the thread of the page has used."""
    metrics = page.devtools("Performance.getMetrics")["metrics"]
    return float(next(m["value"] for m in metrics if m["name"] == "TaskDuration"))


def compare_training(page: Browser, folder: Path) -> None:
    """Print the ratio of one training in WebAssembly to the native baseline set."""
    prepare()
    training = Training()
    wasm = base64.b64encode((FOLDER / "playground.wasm").read_bytes()).decode()
    script = _joined({**_sources(["core"]), "trainer": SPEED.read_text() + f"""
        const bytes = Uint8Array.from(atob("{wasm}"), (c) => c.charCodeAt(0));
        trainerOf(bytes, {json.dumps(training.job)}).then((train) => (window.train = train));
    """})  # fmt: skip
    path = folder / "speed.html"
    path.write_text(f"<!doctype html><meta charset=utf-8><script>{script}</script>")
    page.open(path)
    while not page.run("return Boolean(window.train)"):
        time.sleep(0.05)
    page.devtools("Performance.enable", timeDomain="threadTicks")
    ratios = []
    for _ in range(ROUNDS):
        times = []
        for _ in range(12):
            started = thread_seconds(page)
            page.run("train()")
            times.append(thread_seconds(page) - started)
        native = training.native_seconds("baseline")
        ratios.append(min(times) / native)
        print(f"Chromium {1e3 * min(times):.1f} ms, baseline {1e3 * native:.1f} ms")
    page.devtools("Performance.disable")
    print(f"median ratio of Chromium to the native baseline: {np.median(ratios):.2f}")


def first_paint(page: Browser, path: Path) -> None:
    """Print when the page was painted first, after the start of the navigation."""
    times = []
    for _ in range(ROUNDS):
        page.open(path)
        wait_for_models(page, 0)
        times.append(
            page.run("return performance.getEntriesByName('first-contentful-paint')[0].startTime")
        )
    print(f"first paint after {np.median(times):.0f} ms (median of {ROUNDS})")


def wait_for_models(page: Browser, before: int) -> None:
    """Wait until another model is shown."""
    while int(page.run("return document.body.dataset.models ?? 0")) <= before:
        time.sleep(0.2)


def train_table(page: Browser, text: str, kind: str) -> tuple[str, list[Any]]:
    """Train on a table; return what the page says, and the gaps between its frames."""
    size = 1_000_000
    page.run(f"document.getElementById('kind').value = '{kind}'; window.parts = []")
    for start in range(0, len(text), size):
        page.run(f"window.parts.push({json.dumps(text[start : start + size])})")
    before = int(page.run("return document.body.dataset.models ?? 0"))
    page.run("window.file = new File(parts, 'table.csv')")
    page.run(COUNT_GAPS)
    page.run(
        "const event = new Event('drop'); event.dataTransfer = {files: [file]};"
        "document.dispatchEvent(event)"
    )
    wait_for_models(page, before)
    time.sleep(4)  # the page of the model is shown
    said = page.run("return document.getElementById('message').textContent")
    return said, page.run("return gaps.filter((gap) => gap > 100)")


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, nargs="*", default=[1_000, 50_000])
    parser.add_argument("--kinds", nargs="*", default=["tree", "forest"])
    args = parser.parse_args()
    with browser() as page, tempfile.TemporaryDirectory() as name:
        compare_training(page, Path(name))
        path = Path(name) / "playground.html"
        build(FOLDER.with_suffix(".html"))
        path.write_bytes(FOLDER.with_suffix(".html").read_bytes())
        first_paint(page, path)
        for n_rows, kind in product(args.rows, args.kinds):
            page.open(path)
            wait_for_models(page, 0)
            said, gaps = train_table(page, table_text(n_rows), kind)
            longest = (
                f"longest {max(gaps, default=0):.0f} ms, {sum(g > 200 for g in gaps)} above 200"
            )
            print(f"{n_rows} rows, {kind}: {said} {len(gaps)} gaps above 100 ms, {longest}")


if __name__ == "__main__":
    main()
