"""Models of all tasks with random trees over random tables, without any training.

`random_model(seed)` returns the same model for the same seed. Tables have numbers of any magnitude,
categories, dates and gaps; in two of three models, numbers have limits or ramps, in every other
model merged to bent leaves where a node has several; trees have all activations; outputs are
classes, labels or numbers.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    NeuralTree,
)
from bneuralt.fitting.finish import new_model
from bneuralt.fitting.problem import read_problem
from bneuralt.tables.bends import STRAIGHT, Bending
from bneuralt.tables.columns import Column, Frame
from bneuralt.tables.encoder import learn_encoder
from bneuralt.tables.features import MeansFeature
from bneuralt.tree.activations import NAMES
from tests.helpers.strategies import draw_activation

TASKS = (
    "classes",
    "shares",
    "labels",
    "sigmoid_labels",
    "number",
    "numbers",
    "poisson",
    "quantile",
)
WORDS = (
    "red",
    "green",
    "blue",
    'a "b"',
    "x\\y",
    "ü",
    "7",
    "-1.5",
    "new\nline",
    "'; --",
    "??/",
    "%s",
)


def random_model(seed, tasks=TASKS, plain=False):
    """A model, and rows to predict as a `Frame`: usual, extreme, missing and unknown ones.

    With `plain`, all columns are numbers without gaps.
    """
    rng = np.random.default_rng(seed)
    n_columns = int(rng.integers(1, 7))
    kinds = ["number", "gaps", "category", "date"]
    chances = [1, 0, 0, 0] if plain or rng.integers(3) == 0 else [0.5, 0.15, 0.25, 0.1]
    columns = [_Column(rng, str(rng.choice(kinds, p=chances))) for _ in range(n_columns)]
    if all(column.kind == "category" for column in columns):
        columns[0] = _Column(rng, "number")
    names = [f"{column.kind} {i}" for i, column in enumerate(columns)]
    table = Frame([column.training(rng, 80) for column in columns], names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        encoder = learn_encoder(table, names=names, bending=_random_bending(seed))
        encoder = _with_means(np.random.default_rng([seed, 4]), encoder, table)
        inputs = encoder.encode(table)
    model = _model(rng, str(rng.choice(tasks)), encoder, inputs)
    model = model.simplify() if np.random.default_rng([seed, 3]).integers(2) else model
    return model, table, [column.later for column in columns]


def _with_means(rng, encoder, table):
    """The encoder with random means in place of every other category."""
    features = list(encoder.features)
    for j, feature in enumerate(features):
        if feature.kind == "category" and rng.integers(2):
            column = table.columns[j]
            codes = MeansFeature.of_values(column, np.ones(len(column)))
            means = rng.normal(size=(len(codes.categories) + 2, int(rng.integers(1, 4))))
            means[0] = 0.0
            if not codes.has_gaps:
                means[-1] = 0.0
            features[j] = codes.with_means(10.0 ** rng.uniform(-2, 2) * means)
    return replace(encoder, features=tuple(features))


def _random_bending(seed):
    """A rule for limits and ramps, or none."""
    rng = np.random.default_rng([seed, 2])
    if rng.integers(3) == 0:
        return STRAIGHT
    return Bending(int(rng.choice([0, 2, 4, 7])), bool(rng.integers(2)))


def rows_to_predict(seed, table, later, n_rows, inside=False):
    """Rows like those of the training table; unless `inside`, also extreme and unknown ones."""
    rng = np.random.default_rng([seed, 1])
    return Frame([draw(rng, n_rows, inside) for draw in later], table.names)


class _Column:
    def __init__(self, rng, kind):
        self.kind = kind
        self.scale = 10.0 ** rng.uniform(-4, 4)
        self.middle = self.scale * rng.normal() * 10.0 ** rng.uniform(-2, 2)
        self.words = tuple(rng.permutation(WORDS)[: int(rng.integers(2, 7))].tolist())
        self.has_gaps = kind == "gaps" or (kind != "number" and bool(rng.integers(2)))
        self.dates = np.datetime64("2001-03-01T05:00:00") + (
            rng.integers(0, 200_000_000, 5).astype("timedelta64[s]")
        )

    def training(self, rng, n):
        column = self._draw(rng, n, self.words)
        return self._with_gaps(rng, column) if self.has_gaps else column

    def later(self, rng, n, inside):
        if inside:
            column = self._draw(rng, n, self.words)
            return self._with_gaps(rng, column) if self.has_gaps else column
        column = self._draw(rng, n, (*self.words, "never seen"))
        if self.kind in ("number", "gaps"):
            extreme = rng.choice([1e6, -1e6, 1e3, -1e3, 0.0], n) * self.scale + self.middle
            tiny = rng.choice([0.0, -0.0, 5e-324, 1e-300, 1e300, -1e300], n)
            values = np.where(rng.random(n) < 0.1, extreme, column.values)
            column = Column("number", np.where(rng.random(n) < 0.02, tiny, values))
        return self._with_gaps(rng, column)

    def _draw(self, rng, n, words):
        if self.kind == "category":
            return Column("text", rng.integers(0, len(words), n).astype(np.int32), words)
        if self.kind == "date":
            span = rng.integers(0, 200_000_000, n).astype("timedelta64[s]")
            return Column("date", np.datetime64("2001-03-01T05:00:00", "s") + span)
        values = self.middle + self.scale * np.clip(rng.normal(size=n), -2.5, 2.5)
        ends = rng.choice([-2.5, 2.5], n)
        return Column(
            "number", np.where(rng.random(n) < 0.2, self.middle + self.scale * ends, values)
        )

    def _with_gaps(self, rng, column):
        gaps = rng.random(len(column)) < 0.1
        gaps[:2] = [True, False]
        missing = {"text": -1, "date": np.datetime64("NaT", "s"), "number": np.nan}[column.kind]
        return Column(column.kind, np.where(gaps, missing, column.values), column.texts)


def _model(rng, task, encoder, inputs):
    n_trees = int(rng.choice([1, 1, 2, 3]))
    is_classifier = task in ("classes", "shares", "labels", "sigmoid_labels")
    types = {
        (True, True): BNeuralTClassifier,
        (True, False): BNeuralForestClassifier,
        (False, True): BNeuralTRegressor,
        (False, False): BNeuralForestRegressor,
    }
    model = types[is_classifier, n_trees == 1]()
    output = "linear"
    if is_classifier:
        k = int(rng.integers(2, 6))
        classes = np.array(sorted(WORDS)[:k])
        y = np.tile(np.arange(2), (k, 1)).T if "labels" in task else classes
        if task in ("shares", "sigmoid_labels"):
            output = draw_activation(
                rng, str(rng.choice(["sigmoid", "sigmoid", "linear_sigmoid", "gaussian"]))
            )
    else:
        k = int(rng.integers(2, 4)) if task == "numbers" else 1
        y = np.arange(2.0) if k == 1 else np.tile(np.arange(2.0), (k, 1)).T
        if task == "poisson":
            model.set_params(loss="poisson")
        if task == "quantile":
            model.set_params(loss="quantile", quantiles=(0.5, 0.05, 0.95))
            k = 3
    trees = [_tree(rng, k, output, inputs) for _ in range(n_trees)]
    if output != "linear":
        model.set_params(growth__output_activation="sigmoid", loss="squared_error")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem = read_problem(model._options(), np.zeros((len(y), 1)), y)
    problem = replace(problem, encoder=encoder, scaling=None, target_scaling=None)
    model.model_ = new_model(problem, None, trees, is_raw=True, can_learn=False)
    return model


def _tree(rng, n_outputs, output, inputs):
    hidden = (
        [draw_activation(rng, name) for name in NAMES]
        if rng.integers(3) == 0
        else (draw_activation(rng, str(rng.choice(NAMES))))
    )
    tree = NeuralTree.random(
        inputs.shape[1],
        n_outputs,
        max_depth=int(rng.integers(1, 6)),
        max_children=int(rng.integers(2, 6)),
        leaf_probability=float(rng.uniform(0.3, 0.8)),
        activation=hidden,
        output_activation=output,
        random_state=rng,
    )
    spread = inputs.std(axis=0)
    factor = np.where(spread > 0, 1.0 / np.where(spread > 0, spread, 1.0), 0.0)
    return tree.with_input_scaling(inputs.mean(axis=0), factor)
