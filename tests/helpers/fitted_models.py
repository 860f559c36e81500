"""Random fitted models of all kinds, and rows to compare their exports on.

`random_model(seed)` draws the task, the activations, columns with categories, dates and gaps,
limits, ramps and bent leaves of numbers, and tree or forest. Training is short: what matters here
is that the exports compute the same.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
)
from bneuralt.tree.activations import NAMES
from tests.helpers.comparison import size_of_terms
from tests.helpers.flat import flat
from tests.helpers.strategies import draw_activation

TASKS = ("two", "classes", "texts", "labels", "number", "numbers", "poisson", "quantiles")
TABLES = ("numbers", "gaps", "codes", "texts")


class Drawn(NamedTuple):
    """A fitted model, and rows for it: a data frame."""

    model: object
    rows: pd.DataFrame
    table: str
    task: str

    @property
    def expected(self):
        """Decisions, and probabilities or numbers, in float64."""
        model = self.described
        outputs = model.outputs(self._inputs)
        return model.decisions(outputs), model.predictions(outputs), model

    @property
    def terms(self):
        """What errors of numbers are relative to, see `comparison`; 1 for probabilities."""
        model = self.described
        return size_of_terms(model, self._inputs) if model.task == "numbers" else 1.0

    @property
    def described(self):
        """The description of the model, with trees that compute in float64."""
        model = self.model.model_.in_raw_units()
        return replace(model, trees=tuple(tree.astype(np.float64) for tree in model.trees))

    @property
    def _inputs(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(self.described.encode(self.rows), dtype=np.float64)

    @property
    def safe(self):
        """Rows whose decision does not hang on the last digits."""
        _, values, model = self.expected
        if model.task == "numbers":
            return np.ones(len(values), dtype=bool)
        if model.task == "labels":
            return (np.abs(values - 0.5) > 1e-6).all(axis=1)
        top = np.sort(values, axis=1)
        return top[:, -1] - top[:, -2] > 1e-6


def random_table(rng, kind, n_rows, extreme=False, has_shops=False):
    """A table of five columns; extreme rows have values that training did not have."""
    scale = np.array([1.0, 100.0, 1e-3])
    values = rng.normal(size=(n_rows, 3)) * scale + [0.0, 1000.0, 0.0]
    if extreme:
        factor = rng.choice([1.0, 1e3, -1e6, 1e12], size=values.shape, p=[0.7, 0.1, 0.1, 0.1])
        values = values * factor
        values[rng.random(values.shape) < 0.05] = 0.0
    table = pd.DataFrame(np.float32(values).astype(float), columns=["a b", 'q"uo`te', "select"])
    if kind != "numbers":
        table = table.mask(rng.random(table.shape) < 0.1)
    n_categories = 4 if not extreme else 6
    if kind == "codes":
        table["code"] = rng.integers(0, n_categories, n_rows).astype(float) * 1.5
        table["flag"] = rng.integers(0, 2, n_rows).astype(float)
        table.loc[rng.random(n_rows) < 0.1, "code"] = np.nan
    if kind == "texts":
        names = np.array(["red", "it's", 'a"b', "naïve\\", "new'); DROP TABLE t; --", "x" * 20])
        table["colour"] = pd.Series(names[rng.integers(0, n_categories, n_rows)], dtype=object)
        table.loc[rng.random(n_rows) < 0.1, "colour"] = None
        table["size"] = pd.Series(names[:2][rng.integers(0, 2, n_rows)], dtype=object)
        seconds = rng.integers(0, 20 * 365 * 24 * 3600, n_rows)
        table["day"] = pd.Timestamp("2001-02-03") + pd.to_timedelta(seconds, unit="s")
        if rng.integers(2):
            table.loc[rng.random(n_rows) < 0.1, "day"] = pd.NaT
    if has_shops:  # a category of many values
        names = np.array([f"{i} {word}" for i in range(8) for word in ("it's", 'a"b', "naïve\\")])
        value = np.random.default_rng(n_rows).integers(0, 24 if extreme else 12, n_rows)
        table["shop"] = pd.Series(names[value], dtype=object)
        table.loc[::9, "shop"] = None
    return table


def random_target(rng, task, n):
    """A target for every row."""
    if task == "two":
        return rng.integers(0, 2, n)
    if task == "classes":
        return rng.integers(3, 7, n)
    if task == "texts":
        return np.array(["it's", 'qu"ote', "line\nend", "back\\slash"])[rng.integers(0, 4, n)]
    if task == "labels":
        return rng.integers(0, 2, (n, 3))
    if task == "numbers":
        return rng.normal(size=(n, 2)) * [1.0, 50.0]
    return rng.poisson(3.0, n).astype(float) if task == "poisson" else rng.normal(size=n) * 10


def random_forms(seed, table):
    """Which inputs categories have: means of the target in every other model."""
    if np.random.default_rng([seed, 4]).integers(2):
        forms = {"codes": {"code": "means", "flag": "values"}, "texts": {"colour": "means"}}
        return {**forms[table], "shop": "means"} if table in forms else "from_dtype"
    return ["code", "flag"] if table == "codes" else "from_dtype"


def random_model(seed, n_rows=200, tables=TABLES):
    """Draw and fit a model; the same seed gives the same one."""
    rng = np.random.default_rng(seed)
    task = TASKS[seed % len(TASKS)]
    table = tables[seed // len(TASKS) % len(tables)]
    has_shops = isinstance(random_forms(seed, table), dict)
    X = random_table(rng, table, 60, has_shops=has_shops)
    y = random_target(rng, task, 60)
    if has_shops:  # with an effect
        order = np.argsort(y if y.ndim == 1 else y[:, 0], kind="stable")
        X.loc[order, "shop"] = X["shop"].sort_values().to_numpy()
    is_class = task in ("two", "classes", "texts", "labels")
    is_forest = bool(rng.integers(2))
    chosen = rng.choice(NAMES, size=rng.integers(1, 4), replace=False)
    options = {
        "activation": [draw_activation(rng, name) for name in chosen],
        "train_activations": bool(rng.integers(2)),
        "n_weights": None,
        "max_depth": int(rng.integers(1, 5)),
        "max_epochs": 2,
        "dtype": ["float32", "float64"][rng.integers(2)],
        "categorical_features": random_forms(seed, table),
        "random_state": seed,
        "scale": str(np.random.default_rng([seed, 1]).choice(["robust", "robust", "standard"])),
        "ramps": int(np.random.default_rng([seed, 2]).choice([0, 2, 4])),
    }
    if is_forest:
        options["n_estimators"] = int(rng.integers(2, 5))
    if is_class and rng.integers(3) == 0:
        options |= {"loss": "squared_error", "output_activation": "sigmoid"}
    if seed % 5 == 3 and "output_activation" not in options:
        options["interaction_cst"] = "pairwise"  # then forests average outputs
    if task == "poisson":
        options["loss"] = "poisson"
    if task == "quantiles":
        options |= {"loss": "quantile", "quantiles": [0.9, 0.1, 0.5]}
    kinds = {
        (True, True): BNeuralForestClassifier,
        (True, False): BNeuralTClassifier,
        (False, True): BNeuralForestRegressor,
        (False, False): BNeuralTRegressor,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = flat(kinds[is_class, is_forest], **options).fit(X, y)
    if np.random.default_rng([seed, 3]).integers(2):
        model = model.simplify()
    rows = random_table(rng, table, n_rows, extreme=True, has_shops=has_shops)
    return Drawn(model, rows, table, task)
