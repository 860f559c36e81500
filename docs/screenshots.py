"""Make the screenshots of the documentation: ``python -m docs.screenshots`` in the repository.

Requires Chromium with its driver, pandas, and Pillow, which makes the files small.
"""

from __future__ import annotations

import io
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image
from sklearn.datasets import load_iris

from bneuralt import BNeuralForestClassifier, BNeuralTClassifier
from tests.helpers.chromium import Browser, browser
from tests.helpers.pages import wait_for

FOLDER = Path(__file__).parent / "screenshots"
MOST_COLORS = 200


def iris() -> tuple[Any, Any]:
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = load_iris().target_names[y]
    return BNeuralTClassifier(n_weights=60, random_state=0).fit(X, names), X


def forest() -> tuple[Any, Any]:
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = load_iris().target_names[y]
    return BNeuralForestClassifier(n_estimators=10, n_weights=200, random_state=0).fit(X, names), X


def customers() -> tuple[Any, Any, Any]:
    """Return a model of a made-up table with categories, dates and gaps; and the table."""
    rng = np.random.default_rng(0)
    n = 600
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "plan": rng.choice(["basic", "plus", "family"], n, p=[0.5, 0.3, 0.2]),
            "since": pd.Timestamp("2019-01-01") + pd.to_timedelta(rng.integers(0, 2000, n), "D"),
            "visits": rng.poisson(6, n).astype(float),
        }
    )
    score = 0.05 * (frame["age"] - 45) + (frame["plan"] == "basic") - 0.25 * (frame["visits"] - 6)
    score -= 0.4 * (frame["since"].dt.year - 2021)
    y = np.where(score + rng.logistic(size=n) * 0.5 > 0.5, "leaves", "stays")
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    frame.loc[rng.random(n) < 0.1, "plan"] = None
    return BNeuralTClassifier(n_weights=70, random_state=0).fit(frame, y), frame, y


def edit(page: Browser, rows: str) -> None:
    """Load rows, limit a column and force the sign of an effect."""
    page.run(
        f"""const byId = (id) => document.getElementById(id);
        byId('rows-text').value = {json.dumps(rows)};
        byId('rows-read').click();
        const choose = (name) => {{
            const list = byId('edit-column');
            list.value = [...list.options].find((option) => option.text === name).value;
            list.dispatchEvent(new Event('change'));
        }};
        choose('visits');
        byId('force-sign').value = '1';
        byId('force').click();
        choose('age');
        byId('limit-low').value = '25';
        byId('limit-high').value = '70';
        byId('limit').click();
        byId('download').scrollIntoView({{ block: 'end' }});"""
    )


def write(page: Browser, name: str) -> None:
    """Write a screenshot with few colours, which needs a third of the room."""
    time.sleep(1.5)  # until nothing moves
    with tempfile.TemporaryDirectory() as folder:
        page.screenshot(Path(folder) / "shot.png")
        image = Image.open(io.BytesIO((Path(folder) / "shot.png").read_bytes())).convert("RGB")
    few = image.quantize(MOST_COLORS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    few.save(FOLDER / f"{name}.png", optimize=True)
    print(f"{name}.png: {(FOLDER / f'{name}.png').stat().st_size:,} bytes")


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, browser(1280, 800) as page:
        path = Path(folder) / "page.html"

        def show(model: Any, width: int, height: int, dark: bool, **options: Any) -> None:
            page.viewport(width, height)
            page.dark(dark)
            model.to_html(path, **options)
            page.open(path)

        model, X = iris()
        show(model, 1280, 800, False, title="Iris", examples=X.iloc[[70, 0, 120]])
        write(page, "page")
        show(forest()[0], 1280, 800, True, title="A forest for iris")
        write(page, "page_dark")
        model, X, y = customers()
        show(model, 390, 1000, False, title="Customers", examples=X[:50])
        write(page, "page_phone")
        show(model, 1280, 800, False, title="Customers")
        edit(page, X.assign(decision=y).to_csv(index=False))
        write(page, "page_edit")
        show_playground(page)
        write(page, "playground")


def show_playground(page: Browser) -> None:
    """Show the playground, which `make playground` has written, with a table with gaps and text."""
    page.viewport(1280, 860)
    page.dark(False)
    page.open(Path(__file__).parents[1] / "build/playground.html")
    wait_for(page, "document.body.dataset.models")
    page.run(
        """const field = document.getElementById('example');
        field.selectedIndex = 2;
        field.dispatchEvent(new Event('change'))"""
    )
    wait_for(page, "Number(document.body.dataset.models) > 1")
    time.sleep(6)  # until the picture rests
    page.run("document.getElementById('message').textContent = 'Trained.'")  # times vary


if __name__ == "__main__":
    main()
