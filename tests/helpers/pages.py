"""Helpers of the tests of the interactive page: models, and what a browser shows of them."""

import json
from functools import partial

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris

from bneuralt import BNeuralTClassifier
from bneuralt.drawing.pages import to_html
from tests.helpers.flat import flat
from tests.helpers.tables import people

SMALL = {"max_epochs": 15, "random_state": 0, "dtype": "float64"}


def iris(estimator=BNeuralTClassifier, **options):
    X, y = load_iris(return_X_y=True, as_frame=True)
    return flat(estimator, **{**SMALL, **options}).fit(X, load_iris().target_names[y]), X


def table(estimator=BNeuralTClassifier, **options):
    X, y = people(300)
    return flat(estimator, **{**SMALL, **options}).fit(X, y), X


def open_page(browser, model, tmp_path, **options):
    """Open the page of a model; whatever it complains about on the console is an error."""
    path = tmp_path / "page.html"
    write = getattr(model, "to_html", partial(to_html, model))  # trees have no such method
    write(path, **options)
    browser.console()
    browser.open(path)
    wait_for(browser, "document.getElementById('drawing').dataset.drawn")
    assert browser.console() == []


def wait_for(browser, condition):
    script = f"""const done = arguments[0], started = Date.now();
    const look = () => ({condition}) || Date.now() - started > 20000
        ? done(Boolean({condition})) : setTimeout(look, 20);
    look();"""
    assert browser.run_async(script), condition


def picture(browser):
    """Return the drawing as it is after all that was asked for is drawn."""
    return browser.run_async(
        """const done = arguments[0];
        setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(() =>
            done(document.getElementById('drawing').toDataURL()))), 180);"""
    )


def shown(browser):
    return int(browser.run("return document.getElementById('drawing').dataset.shown"))


def said(browser, place):
    return browser.run(f"return document.querySelector({json.dumps(place)}).textContent")


def decision(browser):
    """Return the class and the probability that are shown."""
    return browser.run(
        """const place = document.getElementById('decision');
        return [place.querySelector('.name').textContent, Number(place.querySelector('data').value),
                place.querySelector('data').textContent]"""
    )


def predictions(browser, rows):
    """Enter rows as text and return the numbers that the page shows for each."""
    return browser.run(
        f"""document.getElementById('rows-text').value = {json.dumps(rows)};
        document.getElementById('rows-read').click();
        const numbers = [], n = {len(json.loads(rows))};
        for (let i = 0; i < n; i++) {{
            const all = [...document.querySelectorAll('#prediction .bars data')];
            const shown = all.length ? all : [document.querySelector('#decision data')];
            numbers.push(shown.map((data) => Number(data.value)));
            document.getElementById('next').click();
        }}
        return numbers"""
    )


def check_page(browser, model, X, tmp_path):
    """Check that the page of a model in single precision predicts what the model predicts."""
    open_page(browser, model, tmp_path)
    shown = np.array(predictions(browser, as_rows(X)))
    expected = getattr(model, "predict_proba", model.predict)(X).reshape(len(X), -1)
    np.testing.assert_allclose(shown, expected, rtol=0, atol=1e-6)


def as_rows(X):
    """Return rows as JSON with names; gaps are null."""
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X).rename(columns="x{}".format)
    for name in frame.select_dtypes("timedelta"):
        frame = frame.assign(**{name: frame[name].dt.total_seconds()})
    for name in frame.select_dtypes("datetime"):
        dates = frame[name].dt.strftime("%Y-%m-%d").where(frame[name].notna(), None)
        frame = frame.assign(**{name: dates})
    return frame.to_json(orient="records", double_precision=15)
