"""Fixtures of the tests of both distributions."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.helpers import quick
from tests.helpers.needs import MARKERS, StartedPrograms, markers_of, module_needs
from tests.helpers.processor_time import ProcessorTimes

# Tests run in as many processes as there are processors: further threads of OpenMP and BLAS would
# wait for each other in loops, which took most of the time of some tests.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# One of scikit-learn's estimator checks runs only with this, set before SciPy is imported.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

# Machines are shared and slow at times: no test fails for taking long.
settings.register_profile("bneuralt", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=12)
settings.load_profile("bneuralt")


def pytest_addoption(parser):
    """Add the options of `make test-quick` and `make test`."""
    group = parser.getgroup("bneuralt")
    group.addoption("--quick", action="store_true", help="leave out all marked tests")
    group.addoption("--processor-times", type=int, default=0, metavar="N",
                    help="list the N tests with the most processor time")  # fmt: skip
    group.addoption("--refuse-slow", action="store_true",
                    help="fail unmarked tests of more than 2 s of processor time")  # fmt: skip


def pytest_configure(config):
    """Describe the markers, measure processor time, and notice programs that tests start."""
    for name, description in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {description}")
    options = config.option
    if options.quick:
        quick.is_quick = True
        settings.load_profile("quick")
    config.pluginmanager.register(StartedPrograms())
    config.pluginmanager.register(ProcessorTimes(options.processor_times, options.refuse_slow))


def pytest_ignore_collect(collection_path, config):
    """Do not even import a file of tests with `--quick` if all of them are marked."""
    is_test = collection_path.suffix == ".py" and collection_path.name.startswith("test_")
    return True if config.option.quick and is_test and module_needs(collection_path) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Mark each test by what it uses; leave out marked ones with `--quick`."""
    for item in items:
        fixtures = [d.func for defs in item._fixtureinfo.name2fixturedefs.values() for d in defs]
        parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
        texts = [value for value in parameters if isinstance(value, str)]
        for marker in frozenset().union(*map(markers_of, [item.function, *fixtures, *texts])):
            item.add_marker(marker)
    if config.option.quick:
        marked = {item for item in items if any(m.name in MARKERS for m in item.iter_markers())}
        config.hook.pytest_deselected(items=marked)
        items[:] = [item for item in items if item not in marked]


@pytest.fixture(scope="session", autouse=True)
def _ctrl_c_raises() -> None:
    """Let Ctrl-C raise also where SIGINT is ignored, as in jobs that a shell runs with `&`.

    Tests that send it to this process would wait for ever; processes that they start inherit it.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _same_random_numbers(request) -> None:
    """Reset the generators of a module, so that no test depends on those that ran before it."""
    import numpy as np  # after the limits of its threads are set

    states = request.module.__dict__.setdefault("_states_at_import", {})
    for name, value in vars(request.module).items():
        if isinstance(value, np.random.Generator):
            states.setdefault(name, value.bit_generator.state)
            value.bit_generator.state = states[name]


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
