"""LibreOffice computes workbooks to the numbers of the model."""

import csv
import datetime as dt
import shutil
import subprocess
import warnings

import numpy as np
import pandas as pd
import pytest

from bneuralt import BNeuralTClassifier, BNeuralTRegressor
from bneuralt.explaining import explain
from bneuralt.export.contributions import explained_link
from tests.helpers.fitted_models import random_model

pytest.importorskip("openpyxl")
from bneuralt.export.excel import to_excel

needs_office = pytest.mark.skipif(shutil.which("soffice") is None, reason="there is no soffice")

N_ROWS = 2


def fill(book, values):
    for i, value in enumerate(values):
        book["form"].cell(i + 2, 2).value = value


def plain(value):
    if value is None or value is pd.NaT or value != value:
        return None
    return value.to_pydatetime() if isinstance(value, pd.Timestamp) else value


def computed(folder, books):
    """The rows of the form of each workbook, computed in one call."""
    for name, book in books.items():
        book.save(folder / f"{name}.xlsx")
    kind = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false"  # all digits
    files = [f"{name}.xlsx" for name in books]
    profile = f"-env:UserInstallation=file://{folder}/profile"
    command = ["soffice", profile, "--headless", "--convert-to", kind, *files]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=600)
    return {name: list(csv.reader((folder / f"{name}.csv").open())) for name in books}


def below(rows, word, n):
    place = next(i for i, row in enumerate(rows) if row and row[0] == word)
    return rows[place][1], np.array([row[1] for row in rows[place + 1 : place + 1 + n]], float)


@needs_office
def test_workbooks_equal_the_model(tmp_path):
    books, expected = {}, {}
    for seed in range(0, 32, 2):
        drawn = random_model(seed, N_ROWS)
        model = drawn.described
        try:
            explained_link(model)
            attributed = True
        except ValueError:
            attributed = False
        decisions, values, _ = drawn.expected
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # unseen values
            contributions = explain(model, drawn.rows).values if attributed else None
        for i, row in enumerate(drawn.rows.astype(object).to_numpy().tolist()):
            book = to_excel(model, contributions=attributed)
            fill(book, map(plain, row))
            name = f"m{seed}_{i}"
            books[name] = book
            expected[name] = model, drawn.safe[i], decisions[i], values[i], contributions, i
    for name, rows in computed(tmp_path, books).items():
        model, is_safe, decision, values, contributions, i = expected[name]
        label, numbers = below(rows, "prediction", model.n_outputs)
        size = np.maximum(1.0, np.abs(values))
        np.testing.assert_allclose(numbers / size, values / size, rtol=0, atol=1e-9, err_msg=name)
        if model.task == "classes" and is_safe:
            assert label == str(model.classes[decision])
        is_small = np.abs(values).max() < 1e300  # products on the way overflow
        if contributions is not None and contributions.ndim == 2 and is_small:
            _, shown = below(rows, "contributions", len(model.columns))
            total = max(1.0, np.abs(contributions[i]).sum())
            np.testing.assert_allclose(shown / total, contributions[i] / total, atol=1e-8)


@needs_office
def test_the_form_names_what_is_wrong(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(size=60), "day": pd.date_range("2020-01-30", periods=60)})
    model = BNeuralTRegressor(max_epochs=2, random_state=0).fit(X, X["day"].dt.day + X["size"])
    cases = {
        "good": [1.5, dt.datetime(2020, 2, 2)],
        "words": ["tall", dt.datetime(2020, 2, 2)],
        "text": [1.5, "02/30/2020"],
        "gaps": [" NA ", None],
    }
    books = {}
    for name, values in cases.items():
        books[name] = model.to_excel()
        fill(books[name], values)
    results = computed(tmp_path, books)
    assert [row[2] for row in results["good"][1:3]] == ["", ""]
    assert results["words"][1][2] == "a number is needed"
    assert results["text"][2][2] == "a date is needed"
    mean = model.predict(pd.DataFrame({"size": [np.nan], "day": [pd.NaT]}))
    np.testing.assert_allclose(below(results["gaps"], "prediction", 1)[1], mean, rtol=1e-5)


def test_each_value_is_one_formula():
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = BNeuralTClassifier(n_weights=20, max_epochs=2, random_state=0).fit(X, X[:, 0] > 0)
    book = model.to_excel()
    assert book.sheetnames == ["form", "model"]
    formulas = [row[1].value for row in book["model"].iter_rows(min_row=2)]
    assert all(formula.startswith("=") and len(formula) < 8192 for formula in formulas)


def test_names_are_no_formulas():
    names = ["=1+1", "+x", "@y"]
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=names)
    labels = np.where(X.iloc[:, 0] > 0, '=HYPERLINK("x")', 'quo"te')
    book = BNeuralTClassifier(max_epochs=1, random_state=0).fit(X, labels).to_excel()
    texts = [row[0].value for row in book["form"].iter_rows(min_row=2) if row[0].value]
    assert not any(text.startswith(("=", "+", "@")) for text in texts)
