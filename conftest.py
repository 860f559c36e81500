"""Fixtures of the tests of both distributions."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# One of scikit-learn's estimator checks runs only with this, set before SciPy is imported.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

# Machines are shared and slow at times: no test fails for taking long.
settings.register_profile("bneuralt", deadline=None)
settings.load_profile("bneuralt")


@pytest.fixture(scope="session", autouse=True)
def _ctrl_c_raises() -> None:
    """Let Ctrl-C raise also where SIGINT is ignored, as in jobs that a shell runs with `&`.

    Tests that send it to this process would wait for ever; processes that they start inherit it.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _no_open_figure() -> Iterator[None]:
    """Close figures after each test: plots draw on the current one."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder with the paper's data and the authors' models; skip without it."""
    folder = Path(os.environ.get("BNEURALT_SHARED", Path(__file__).parents[1] / "shared"))
    if not (folder / "authors_models").is_dir():
        pytest.skip(f"needs the paper's data folder, not found at {folder} (set BNEURALT_SHARED)")
    return folder


@pytest.fixture(scope="session")
def browser():
    """Start a headless Chromium for all tests of pages; skip where there is none."""
    from tests.helpers.chromium import browser

    with browser(1300, 900) as page:
        page.viewport(1300, 900)
        yield page
