"""The playground in Firefox, where it can be driven: training, stopping, saving, and no request."""

import importlib.util

import numpy as np
import pytest

from bneuralt import load_model
from tests.helpers.firefox import firefox as new_firefox
from tests.helpers.pages import wait_for
from tests.playground.test_page import (
    PAGE,
    choose,
    click,
    example,
    finished,
    kinds,
    message,
    models,
    paste,
    saved,
)


@pytest.fixture(scope="module")
def downloads(tmp_path_factory):
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="module")
def firefox(downloads):
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("needs PyPI's ziglang, a compiler for WebAssembly (the extra 'cross')")
    with new_firefox(downloads) as opened:
        from playground.build import build

        build(PAGE)
        yield opened


@pytest.fixture
def browser(firefox):
    """The playground with its first example trained."""
    firefox.open(PAGE)
    finished(firefox, 0)
    return firefox


def saved_model(browser, downloads):
    (downloads / "model.json").unlink(missing_ok=True)
    return load_model(saved(browser, "save-model", downloads / "model.json"))


def test_the_first_example_is_trained_and_drawn(browser, downloads):
    assert float(browser.run("return document.body.dataset.score")) > 0.9
    wait_for(browser, "Number(document.getElementById('picture').dataset.frames) > 20")
    assert saved_model(browser, downloads).n_features_in_ == 4


def test_a_table_with_gaps_text_and_dates(browser, downloads):
    before = models(browser)
    example(browser, "Customers")
    assert finished(browser, before) > 0.7
    assert kinds(browser)["customer since"] == "date"
    assert list(saved_model(browser, downloads).classes_) == ["no", "yes"]


def test_a_regression_and_a_forest_that_predict_the_same_in_python(browser, downloads):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)).round(3)
    y = (2 * X[:, 0] - X[:, 1]).round(3)
    lines = [",".join(map(str, row)) for row in np.column_stack([X, y])]
    for kind in ("tree", "forest"):
        before = models(browser)
        choose(browser, "kind", kind)
        if kind == "tree":
            paste(browser, "a,b,c,y\n" + "\n".join(lines))
        assert finished(browser, before) > 0.9
        model = saved_model(browser, downloads)
        assert model.score(X, y) > 0.9
        assert hasattr(model, "estimators_") == (kind == "forest")


def test_a_training_can_be_stopped(browser, downloads):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 8)).round(3)
    lines = [",".join(map(str, [*row, round(float(np.sin(row[0])), 3)])) for row in X]
    before = models(browser)
    paste(browser, "a,b,c,d,e,f,g,h,y\n" + "\n".join(lines))
    wait_for(browser, "/^Round [1-9]/.test(document.getElementById('message').textContent)")
    click(browser, "stop")
    finished(browser, before)
    assert message(browser).startswith("Stopped")
    assert saved_model(browser, downloads).n_features_in_ == 8


def test_no_request_could_be_made(browser):
    assert browser.run_async(
        "const done = arguments[0];"
        "fetch('https://example.org').then(() => done(false), () => done(true))"
    )
