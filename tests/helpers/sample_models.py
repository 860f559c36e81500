"""Models of random trees: each activation, each link, each kind of column."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bneuralt import NeuralTree
from bneuralt.expressions import OUTPUTS, Expression, evaluate, maximum, minimum
from bneuralt.model import Model
from bneuralt.tables.bends import Bending
from bneuralt.tables.columns import Column, Frame
from bneuralt.tables.encoder import TableEncoder, learn_encoder
from bneuralt.tables.features import KINDS, Feature, Input, NumberFeature
from bneuralt.training.losses import LINKS, LOSSES, get_loss, shares
from bneuralt.tree.activations import NAMES
from tests.helpers.expression_samples import CELL_EXPRESSIONS, VECTORS, cells
from tests.helpers.strategies import draw_activation

K = 3

#: Every link: of each loss and task, of shares and clipped labels, and some that no loss has.
ALL_LINKS = {
    **{
        f"{name} {task}": get_loss(
            loss(quantiles=(0.9, 0.1, 0.5)) if hasattr(loss(), "quantiles") else loss()
        ).link(task)
        for name, loss in LOSSES.items()
        for task in loss().traits.tasks
    },
    "shares": shares(sys.float_info.min),
    "clipped": minimum(maximum(OUTPUTS, 0.0), 1.0),
    **VECTORS,
}
TASKS = tuple(LINKS)


@dataclass(frozen=True)
class SampleFeature(Feature):
    """A column whose inputs are given as expressions."""

    kind: str
    expressions: tuple[Expression, ...]

    has_gaps: ClassVar[bool] = False

    def inputs(self, name, limits=None):
        return [Input(f"{i}", f"{name} {i}", e, None, None) for i, e in enumerate(self.expressions)]

    def encode(self, column, out, report):
        if self.kind == "code":
            column = column.as_text()
        for i, expression in enumerate(self.expressions):
            out[:, i] = evaluate(expression, {}, column)


def model_with_link(rng, link, task="numbers", averages="outputs", n_trees=1):
    """A model with three outputs, of numbers."""
    trees = [_tree(rng, 4, "tanh", "linear") for _ in range(n_trees)]
    encoder = TableEncoder((NumberFeature(0.5),) * 4)
    return Model("sample", encoder, tuple(trees), task, link, averages)


def model_with_activation(rng, name):
    """A model whose nodes all have an activation, each with parameters of its own."""
    activations = [draw_activation(rng, name) for _ in range(3)]
    tree = _tree(rng, 4, activations, activations[0])
    return Model("sample", TableEncoder((NumberFeature(0.5),) * 4), (tree,), "numbers", OUTPUTS)


def model_with_cells(rng, name):
    """A model of one column of cells, used by an expression, and one of numbers."""
    kind, expression = CELL_EXPRESSIONS[name]
    features = (SampleFeature(kind, (expression,)), NumberFeature(0.5))
    tree = _tree(rng, 2, "tanh", "linear")
    return Model("sample", TableEncoder(features, ("cell", "number")), (tree,), "numbers", OUTPUTS)


def rows_of_cells(rng, name, n_rows):
    """Rows for `model_with_cells`."""
    kind, _ = CELL_EXPRESSIONS[name]
    return Frame([cells(rng, kind, n_rows), cells(rng, "number", n_rows)], ["cell", "number"])


def model_with_all_columns(rng, n_rows):
    """A model of columns of every registered kind, with and without gaps, and rows for it."""
    kinds = ("number", "text", "date")
    columns = {
        f"{kind} {gaps}": cells(rng, kind, n_rows) for kind in kinds for gaps in ("gaps", "full")
    }
    for name, column in columns.items():
        if name.endswith("full"):
            present = column.values[~column.is_missing]
            values = np.where(column.is_missing, present[0], column.values)
            columns[name] = Column(column.kind, values, column.texts)
    table = Frame(list(columns.values()), list(columns))
    encoder = learn_encoder(table, names=list(columns), bending=Bending(3, is_limited=True))
    kinds_learnt = {feature.kind for feature in encoder.features}
    assert kinds_learnt == {cls.kind for cls in KINDS}, "a kind of column has no sample"
    inputs = encoder.encode(table)
    tree = _tree(rng, inputs.shape[1], [draw_activation(rng, name) for name in NAMES], "linear")
    tree = tree.with_input_scaling(inputs.mean(axis=0), 1.0 / np.maximum(inputs.std(axis=0), 1e-3))
    return Model("sample", encoder, (tree,), "numbers", OUTPUTS), table


def _tree(rng, n_inputs, activation, output_activation):
    return NeuralTree.random(
        n_inputs,
        K,
        max_depth=3,
        max_children=4,
        activation=activation,
        output_activation=output_activation,
        random_state=rng,
    )
