"""Languages and databases in which exported models are run: each predicts the rows of a frame.

A runner has a name, `why_not()`, which returns why it cannot be used here, or None, and
`predict(model, rows, outputs)`, which returns labels (None for numbers) and the probabilities or
numbers of some outputs, by default of all.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import warnings
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bneuralt.explaining import explain
from bneuralt.export.contributions import explained_link
from bneuralt.export.javascript import to_javascript
from bneuralt.export.python import to_python
from bneuralt.export.sql import to_sql
from tests.helpers.comparison import assert_same
from tests.helpers.compiled import COMPILED
from tests.helpers.databases import DATABASES


class Runner:
    """Base class of runners.

    `contributions(model, rows)` returns an array of rows x columns, or rows x columns x outputs.
    """

    def why_not(self):
        return None

    def refusals(self, model, rows):
        """Return the message for each row, None if it is predicted."""
        messages = []
        for i in range(len(rows)):
            try:
                self.predict(model, rows[i : i + 1])
                messages.append(None)
            except Exception as error:
                messages.append(str(error))
        return messages

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


class Python(Runner):
    """This Python, with nothing but its built-in functions."""

    name = "python"

    def results(self, source, rows):
        namespace = {}
        exec(compile(source, "exported", "exec"), namespace)
        return [namespace["predict"](row) for row in rows]

    def contributions(self, model, rows):
        source = to_python(model, contributions=True)
        results = self.results(source, rows.astype(object).to_numpy().tolist())
        return columns_first(np.array([result[-1] for result in results], dtype=float))

    def predict(self, model, rows, outputs=slice(None)):
        results = self.results(to_python(model), rows.astype(object).to_numpy().tolist())
        if model.task == "numbers":
            return None, np.array(results, dtype=float).reshape(len(rows), -1)[:, outputs]
        labels, values = zip(*results, strict=True)
        return np.array(labels), np.array(values)[:, outputs]


#: Numbers that JSON does not have are written as texts.
_TO_JSON = """
function toJson(value) {
  const write = (key, v) => (typeof v === "number" && !Number.isFinite(v) ? String(v) : v);
  return JSON.stringify(value, write);
}
"""


class Node(Runner):
    """Node, which loads the code as a module."""

    name = "javascript"

    def why_not(self):
        return None if shutil.which("node") else "there is no node"

    def results(self, source, rows):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "model.js").write_text(source, encoding="utf-8")
            script = (
                'const { predict } = require("./model.js");\n'
                'const rows = JSON.parse(require("fs").readFileSync(0, "utf-8"));\n'
                f"{_TO_JSON}\nprocess.stdout.write(toJson(rows.map((row) => predict(row))));"
            )
            done = subprocess.run(
                ["node", "-e", script], cwd=folder, input=json.dumps(rows), encoding="utf-8",
                capture_output=True, check=False,
            )  # fmt: skip
        if done.returncode:
            raise RuntimeError(done.stderr)
        return json.loads(done.stdout)

    def contributions(self, model, rows):
        results = self.results(to_javascript(model, contributions=True), json_rows(rows))
        return columns_first(np.array([each["contributions"] for each in results], dtype=float))

    def predict(self, model, rows, outputs=slice(None)):
        results = self.results(to_javascript(model), json_rows(rows))
        if model.task == "numbers":
            return None, np.array(results, dtype=float).reshape(len(results), -1)[:, outputs]
        name = "label" if model.task == "classes" else "labels"
        values = np.array([result["probabilities"] for result in results], dtype=float)
        return np.array([result[name] for result in results]), values[:, outputs]


class Chromium(Node):
    """A headless browser, which evaluates the code as a script."""

    name = "chromium"

    def why_not(self):
        missing = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
        return f"there is no {missing[0]}" if missing else None

    def __enter__(self):
        from tests.helpers.chromium import browser

        self.stack = ExitStack()
        self.page = self.stack.enter_context(browser())
        return self

    def __exit__(self, *error):
        self.stack.close()

    def results(self, source, rows):
        script = (
            f"{source}\n{_TO_JSON}\nreturn toJson({json.dumps(rows)}.map((row) => predict(row)));"
        )
        return json.loads(self.page.run(script))


class Sql(Runner):
    """A database, in which the rows are a table."""

    def __init__(self, kind):
        self.database, self.name = kind(), kind.name
        self.why_not = self.database.why_not

    def __enter__(self):
        self.database.__enter__()
        return self

    def __exit__(self, *error):
        self.database.__exit__(*error)

    def contributions(self, model, rows):
        names = list(model.output_names if model.classes is None else model.classes)
        if len(names) == 1 or (model.task == "classes" and len(names) == 2):
            names = [None]
        self.database.fill(rows)
        parts = [
            self.database.evaluate(to_sql(model, dialect=self.name, of=of, contributions=True))
            for of in names
        ]
        values = np.array(parts, dtype=float)
        return values[0] if len(names) == 1 else values.transpose(1, 2, 0)

    def predict(self, model, rows, outputs=slice(None)):
        names = list(model.output_names if model.classes is None else model.classes)
        names = names[outputs] if len(names) > 1 else [None]
        expressions = [to_sql(model, dialect=self.name, of=of) for of in names]
        if model.task == "classes":
            expressions.append(to_sql(model, dialect=self.name))
        self.database.fill(rows)
        table = self.database.evaluate(*expressions)
        values = np.array([row[: len(names)] for row in table], dtype=float)
        if model.task == "labels":
            return (values > 0.5).astype(int), values
        return np.array([row[-1] for row in table]) if model.task == "classes" else None, values


RUNNERS = {
    runner.name: runner
    for runner in (
        Python(),
        Node(),
        Chromium(),
        *(Sql(kind) for kind in DATABASES.values()),
        *COMPILED,
    )
}


def available(name):
    """Return a runner; skip the test where it cannot be used."""
    if reason := RUNNERS[name].why_not():
        pytest.skip(reason)
    return RUNNERS[name]


def json_rows(rows):
    """Rows of a frame as JSON has them: dates are texts, and missing values null."""

    def plain(value):
        if value is None or value is pd.NaT or value != value:
            return None
        return value.isoformat(" ") if isinstance(value, pd.Timestamp) else value

    return [[plain(value) for value in row] for row in rows.astype(object).to_numpy().tolist()]


def columns_first(values):
    """Contributions with outputs last, from those with outputs before columns."""
    return values if values.ndim == 2 else values.transpose(0, 2, 1)


def compare_contributions(contributions, drawn, tolerance=1e-9, largest=1e300):
    """Compare contributions that are computed elsewhere with those of `explain`.

    Differences are relative to all contributions to the prediction, and numbers are compared up to
    the largest one that an export has. Returns whether the model has
    contributions in exports.
    """
    model = drawn.described
    try:
        explained_link(model)
    except ValueError as error:
        assert "contributions are for" in str(error)
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = explain(model, drawn.rows).values
    values = contributions(model, drawn.rows)
    expected, values = (np.clip(each, -largest, largest) for each in (expected, values))
    size = np.maximum(1.0, np.abs(expected).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(values / size, expected / size, rtol=0, atol=tolerance)
    return True


def compare(runner, drawn):
    """Compare what is predicted elsewhere with the model itself."""
    decisions, expected, described = drawn.expected
    labels, values = runner.predict(drawn.model.model_, drawn.rows)
    assert_same(values, expected, 1e-12, described, terms=drawn.terms)
    if labels is not None:
        decisions = decisions[drawn.safe]
        if described.task == "classes":
            decisions = np.array(described.classes)[decisions]
        assert np.array_equal(labels[drawn.safe], decisions)
