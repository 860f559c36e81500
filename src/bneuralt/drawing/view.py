"""The parts of a model that drawings show: names, terms, weights, and the values of one example.

A `TreeView` puts a tree together with the names of its table. The leaves of a node that belong to
one feature are one *term*: leaves of the same input are summed, and the inputs of a feature that
has several (categories, parts of dates, the indicator of missing values) are its *entries*.
Pictures, pages and formulas are made from views, so all of them use the same names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.expressions import OUTPUTS, Expression, exp
from bneuralt.model import Fitted, Model, log_odds_model
from bneuralt.tables.columns import Frame
from bneuralt.tables.features import MISSING, Input
from bneuralt.tree.activations import NAMES, expression_of
from bneuralt.tree.neural_tree import NeuralTree
from bneuralt.tree.node_values import node_values
from bneuralt.tree.simplify import simplify

#: Weights of at most this many digits are shown as they are.
MAX_DIGITS = 7

__all__ = [
    "Drawable",
    "ExampleView",
    "NodeActivation",
    "TreeView",
    "as_model",
    "cells",
    "has_short_weights",
    "in_log_odds",
    "input_spreads",
    "named_inputs",
    "output_names_of",
    "printable",
    "sums_and_values",
]

#: What can be drawn.
Drawable = Model | Fitted | NeuralTree


class NodeActivation(NamedTuple):
    """The activation of a node: its name, the values of its parameters, and its formula of z."""

    name: str
    parameters: tuple[float, ...]
    expression: Expression


@dataclass(frozen=True)
class ExampleView:
    """The values of one example at every node, and what carried its decision.

    The *effect* of an edge is its weight times the difference between the value below it and that
    value for the average row of the training table: what the example adds to the sum above. The
    *share* of an edge is the product of the shares of effects on the path from the outputs down to
    it; the shares of all terms and of all outputs sum up to at most 1.

    Attributes
    ----------
    cells : tuple of str
        The value of each column.
    inputs : array of shape (n_inputs,)
        The example as the tree reads it.
    node_sum, node_value : arrays of shape (n_nodes,)
        Weighted sum and value of each function node.
    node_effect, node_share : arrays of shape (n_nodes,)
        Of the edge above each node; for an output, the change of its value, and for the score of
        a class, of its difference to the mean of all scores.
    term_effect, term_share : arrays of shape (n_terms,)
    predictions : array of shape (n_outputs,)
        Probability of each class, or the predicted values.
    decision : int or None
        The class that is predicted, as an output.
    """

    cells: tuple[str, ...]
    inputs: FloatArray
    node_sum: FloatArray
    node_value: FloatArray
    node_effect: FloatArray
    node_share: FloatArray
    term_effect: FloatArray
    term_share: FloatArray
    predictions: FloatArray
    decision: int | None


@dataclass(frozen=True, eq=False)
class TreeView:
    """A tree with the names and sizes that a drawing shows; `TreeView.of` makes it.

    Attributes
    ----------
    tree : NeuralTree
        The tree that is drawn.
    model : Model
        The model of this tree alone, which may have more weights.
    feature_names : tuple of str
        One for each column of the table.
    inputs : tuple of Input
        One for each input of the tree, with its name.
    output_names : tuple of str
        Names of the outputs, such as the classes.
    caption : str
        A description of the tree in a few words.
    """

    tree: NeuralTree
    model: Model
    feature_names: tuple[str, ...]
    inputs: tuple[Input, ...]
    output_names: tuple[str, ...]
    caption: str

    @classmethod
    def of(
        cls,
        model: Drawable,
        *,
        tree: int = 0,
        simplified: bool = True,
        feature_names: Sequence[str] | None = None,
        output_names: Sequence[object] | None = None,
    ) -> TreeView:
        """Return the view of a model.

        Parameters
        ----------
        model : Model, fitted estimator, or NeuralTree
            What to draw.
        tree : int
            Which tree of a forest, from 0.
        simplified : bool
            Whether to draw an equal tree with fewer weights, made by `bneuralt.tree.simplify`.
        feature_names : sequence of str, optional
            Names of the columns; those of the training table by default.
        output_names : sequence, optional
            Names of the outputs; the classes by default.

        Examples
        --------
        >>> from bneuralt import NeuralTree
        >>> view = TreeView.of(NeuralTree.random(3, 2, random_state=0), feature_names=list("abc"))
        >>> view.feature_names, view.output_names
        (('a', 'b', 'c'), ('class 0', 'class 1'))
        """
        model = as_model(model)
        n_trees = len(model.trees)
        if not 0 <= tree < n_trees:
            raise ValueError(f"tree={tree!r} must be a number from 0 to {n_trees - 1}")
        columns, inputs = named_inputs(model, feature_names)
        member = model.member(tree)
        (whole,) = member.trees
        shown = simplify(whole.astype(np.float64)) if simplified else whole
        caption = f"tree {tree + 1} of {n_trees}, " if n_trees > 1 else ""
        caption += f"{whole.n_parameters:,} weights"
        if shown.n_parameters < whole.n_parameters:
            caption += f", {shown.n_parameters:,} when simplified"
        return cls(shown, member, columns, inputs, output_names_of(model, output_names), caption)

    @property
    def task(self) -> str:
        """What is predicted: "classes", "labels" or "numbers"; see `Model`."""
        return self.model.task

    @cached_property
    def average(self) -> FloatArray:
        """The average row of the training table; 0 where it is not known."""
        return np.array([entry.mean or 0.0 for entry in self.model.inputs])

    @cached_property
    def spread(self) -> FloatArray | None:
        """How much each input varied in training; None if it is not known."""
        return input_spreads(self.model)

    @cached_property
    def has_short_weights(self) -> bool:
        """Whether all weights have few digits, as those of readable trees."""
        return has_short_weights(self.tree)

    # -- terms ---------------------------------------------------------------------------

    @cached_property
    def feature_of_input(self) -> IntArray:
        """The feature that each input belongs to."""
        return self.model.column_of_input

    @cached_property
    def _entries(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Node, input and weight of each entry, sorted; leaves of one input are summed."""
        tree = self.tree
        key = tree.leaf_parent.astype(np.int64) * tree.n_inputs + tree.leaf_input
        unique, place = np.unique(key, return_inverse=True)
        weight = np.zeros(unique.size)
        np.add.at(weight, place, tree.leaf_weight)
        node: IntArray = unique // tree.n_inputs
        position: IntArray = unique % tree.n_inputs
        return node, position, weight

    @property
    def entry_input(self) -> IntArray:
        """Input of each entry."""
        return self._entries[1]

    @property
    def entry_weight(self) -> FloatArray:
        """Weight of each entry."""
        return self._entries[2]

    @cached_property
    def term_start(self) -> IntArray:
        """Term i has the entries `term_start[i]` to `term_start[i + 1] - 1`."""
        node, position, _ = self._entries
        feature = self.feature_of_input[position]
        is_first = np.append(True, (np.diff(node) != 0) | (np.diff(feature) != 0))
        return np.append(np.flatnonzero(is_first[: node.size]), node.size)

    @property
    def term_node(self) -> IntArray:
        """The node that each term belongs to, never decreasing."""
        return self._entries[0][self.term_start[:-1]]

    @property
    def term_feature(self) -> IntArray:
        """The feature of each term."""
        return self.feature_of_input[self.entry_input[self.term_start[:-1]]]

    @property
    def n_terms(self) -> int:
        """Number of terms."""
        return self.term_start.size - 1

    @cached_property
    def term_strength(self) -> FloatArray:
        """How much each term varies: the weight times the spread of its input, signed.

        The sign is that of the weight. Terms of several entries, which may have both signs, are
        positive (see `term_has_sign`).
        """
        spread = 1.0 if self.spread is None else self.spread[self.entry_input]
        scaled = self.entry_weight * spread
        if not self.n_terms:
            return np.zeros(0)
        size: FloatArray = np.sqrt(np.add.reduceat(np.square(scaled), self.term_start[:-1]))
        first = self.entry_weight[self.term_start[:-1]]
        return np.where(self.term_has_sign & (first < 0), -size, size)

    @property
    def term_has_sign(self) -> Array:
        """Whether each term has a single entry, that of missing values aside."""
        if not self.n_terms:
            return np.zeros(0, dtype=bool)
        is_value = np.array([entry.entry != MISSING for entry in self.inputs])[self.entry_input]
        has_sign: Array = (np.diff(self.term_start) == 1) | (
            np.add.reduceat(is_value.astype(np.int64), self.term_start[:-1]) == 1
        )
        return has_sign

    @cached_property
    def node_strength(self) -> FloatArray:
        """The weight of the edge above each node; 0 for the outputs, which have none."""
        return np.concatenate([np.zeros(self.tree.n_outputs), self.tree.edge])

    def term_entries(self, term: int) -> list[tuple[Input, float]]:
        """Return the entries of a term, and the weight of each.

        Examples
        --------
        >>> from bneuralt import NeuralTree
        >>> tree = NeuralTree(2, 1, [-1], [0], [0, 0], [0, 0], [0.5, 2.0, 1.0])
        >>> [(entry.name, weight) for entry, weight in TreeView.of(tree).term_entries(0)]
        [('x0', 3.0)]
        """
        entries = range(*self.term_start[term : term + 2])
        return [(self.inputs[self.entry_input[e]], float(self.entry_weight[e])) for e in entries]

    def activation(self, node: int) -> NodeActivation:
        """Return the activation of a node."""
        start, end = self.tree.activation_parameter_start[node : node + 2]
        code = int(self.tree.activation[node])
        parameters = tuple(self.tree.activation_parameters[start:end].tolist())
        return NodeActivation(NAMES[code], parameters, expression_of(code, parameters))

    # -- examples ------------------------------------------------------------------------

    def example(self, row: Any) -> ExampleView:
        """Return the values of an example at every node.

        Parameters
        ----------
        row : array-like, mapping, or data frame of one row
            The values of the columns; a mapping has their names as keys.

        Examples
        --------
        >>> from bneuralt import NeuralTree
        >>> tree = NeuralTree(2, 1, [-1], [0], [0, 0], [0, 1], [0.5, 2.0, -1.0])
        >>> TreeView.of(tree).example([1.0, 3.0]).term_effect
        array([ 2., -3.])
        """
        table = self._row(row)
        inputs: FloatArray = self.model.encode(table)[0].astype(np.float64)
        total, value = sums_and_values(self.tree, inputs)
        _, usual = sums_and_values(self.tree, self.average)
        change = value - usual
        k = self.tree.n_outputs
        node_effect = change.copy()
        node_effect[k:] *= self.tree.edge
        moved = (inputs - self.average)[self.entry_input] * self.entry_weight
        term_effect = np.add.reduceat(moved, self.term_start[:-1]) if self.n_terms else moved
        if self.task == "classes":  # only the differences of scores count
            node_effect[:k] -= node_effect[:k].mean()
        node_share, term_share = self.shares(node_effect, term_effect)
        predictions = self.model.predictions(self.model.outputs(inputs[np.newaxis]))[0]
        decision = int(predictions.argmax()) if self.task == "classes" else None
        return ExampleView(
            tuple(_cell_text(cells(table, j)[0]) for j in range(len(self.feature_names))),
            inputs,
            total,
            value,
            node_effect,
            node_share,
            term_effect,
            term_share,
            predictions,
            decision,
        )

    def shares(
        self, node_effect: FloatArray, term_effect: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the shares of nodes and terms in the outputs, given the effects of their edges."""
        tree, k = self.tree, self.tree.n_outputs
        total = np.bincount(self.term_node, np.abs(term_effect), minlength=tree.parent.size)
        total += np.bincount(tree.parent[k:], np.abs(node_effect[k:]), minlength=total.size)
        total = np.where(total > 0, total, 1.0)
        share = np.abs(node_effect)
        share[:k] = share[:k] / share[:k].sum() if share[:k].any() else 1 / k
        for start, stop in zip(tree.level_start[1:-1], tree.level_start[2:], strict=True):
            above = tree.parent[start:stop]
            share[start:stop] *= share[above] / total[above]
        return share, np.abs(term_effect) * (share / total)[self.term_node]

    def _row(self, row: Any) -> Frame | Array:
        """Return an example as a table of one row."""
        names = self.feature_names
        if isinstance(row, Mapping):
            absent = [name for name in names if name not in row]
            if absent:
                raise ValueError(f"example has no value for {', '.join(map(repr, absent[:5]))}")
            row = [row[name] for name in names]
        table = row
        if not hasattr(row, "columns"):
            values = list(row) if np.ndim(row) != 2 else list(row[0])
            is_text = any(isinstance(value, str) or value is None for value in values)
            table = np.array([values], dtype=object if is_text else None)
        if len(table) != 1 or table.shape[1] != len(names):
            raise ValueError(
                f"example has shape {tuple(table.shape)}; one row with {len(names)} values is "
                "needed"
            )
        return self.model.read(table, "example")


def sums_and_values(tree: NeuralTree, inputs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the weighted sum and the value of each function node for one row.

    Examples
    --------
    >>> from bneuralt import NeuralTree
    >>> tree = NeuralTree(2, 1, [-1], [1], [0, 0], [0, 1], [0.0, 2.0, -1.0])
    >>> sums_and_values(tree, np.array([1.0, 2.0]))
    (array([0.]), array([0.5]))
    """
    tree = tree.astype(np.float64)
    value = node_values(tree, inputs[np.newaxis])[0]
    total = tree.bias.copy()
    np.add.at(total, tree.leaf_parent, tree.leaf_weight * inputs[tree.leaf_input])
    np.add.at(total, tree.parent[tree.n_outputs :], tree.edge * value[tree.n_outputs :])
    return total, value


def has_short_weights(tree: NeuralTree) -> bool:
    """Return whether all weights of a tree are numbers of few digits, as those of readable trees.

    Examples
    --------
    >>> from bneuralt import NeuralTree
    >>> tree = NeuralTree(1, 1, [-1], [0], [0], [0], [0.25, -12.7])
    >>> has_short_weights(tree), has_short_weights(tree.with_parameters([1 / 3, 0.5]))
    (True, False)
    """
    return all(float(f"{x:.{MAX_DIGITS}g}") == x for x in tree.parameters.tolist())


def printable(text: object) -> str:
    r"""Return a name on one line, without control characters.

    Examples
    --------
    >>> printable("a\nb")
    'a b'
    """
    return "".join(c if c.isprintable() else " " for c in str(text))


# -- parts of a model ----------------------------------------------------------------------


def in_log_odds(
    model: Model, output_names: Sequence[object] | None = None
) -> tuple[Model, Sequence[object] | None]:
    """Return a model of two classes with one score, the log-odds of the second, and its name.

    Other models, and the names of their outputs, are returned as they are.
    """
    odds = log_odds_model(model)
    if odds is None:
        return model, output_names
    return odds, output_names and [f"log-odds of {output_names[1]}"]


def as_model(model: Drawable) -> Model:
    """Return the description of what is to be drawn.

    Parameters
    ----------
    model : Model, fitted estimator, or NeuralTree

    Examples
    --------
    >>> as_model(NeuralTree.random(3, 2, random_state=0)).n_outputs
    2
    """
    if isinstance(model, Model):
        return model.in_raw_units()
    if isinstance(model, NeuralTree):
        return Model.of_tree(model)
    if hasattr(type(model), "recipe_"):  # an estimator of this package
        check_is_fitted(model)
        description: Model = model.model_.in_raw_units()
        return description
    raise TypeError(
        f"model must be a fitted estimator of bneuralt or a NeuralTree, not {type(model).__name__}"
    )


def named_inputs(
    model: Model, names: Sequence[str] | None = None
) -> tuple[tuple[str, ...], tuple[Input, ...]]:
    """Return the names of all columns, and the inputs, all of whose names are printable.

    Examples
    --------
    >>> model = Model.of_tree(NeuralTree.random(2, 1, random_state=0))
    >>> columns, inputs = named_inputs(model, ["age", "size"])
    >>> columns, [entry.name for entry in inputs]
    (('age', 'size'), ['age', 'size'])
    """
    columns = [column.name for column in model.columns] if names is None else list(names)
    if len(columns) != len(model.columns):
        raise ValueError(
            f"feature_names has {len(columns)} names; the model has {len(model.columns)} features"
        )
    shown = [printable(name) for name in columns]
    changed = names is not None or shown != columns
    inputs = replace(model.encoder, names=tuple(shown)).inputs if changed else model.inputs
    clean = (e._replace(entry=printable(e.entry), name=printable(e.name)) for e in inputs)
    return tuple(shown), tuple(clean)


#: Names of numbers whose link is this expression of them.
_BEFORE_LINK: dict[Expression, str] = {OUTPUTS: "{}", exp(OUTPUTS): "log {}"}


def output_names_of(model: Model, names: Sequence[object] | None = None) -> tuple[str, ...]:
    """Return the names of the outputs of the trees, which a link makes predictions of.

    Examples
    --------
    >>> model = Model.of_tree(NeuralTree.random(2, 1, random_state=0))
    >>> output_names_of(model), output_names_of(replace(model, link=exp(OUTPUTS)))
    (('y',), ('log y',))
    """
    if names is not None and len(names) != model.n_outputs:
        raise ValueError(
            f"output_names has {len(names)} names; the tree has {model.n_outputs} outputs"
        )
    if names is None:
        names = model.output_names
        if model.task == "numbers" and model.quantiles is None:
            form = _BEFORE_LINK.get(model.link, "score of {}")
            names = [form.format(name) for name in names]
    return tuple(printable(name) for name in names)


def input_spreads(model: Model) -> FloatArray | None:
    """Return about how much each input varied in training; None if that is not known.

    A model from a file has the range of each input, a quarter of which is about the standard
    deviation.
    """
    if model.input_std is not None:
        return model.input_std
    ranges = [entry.range for entry in model.inputs]
    if None in ranges:
        return None
    ends = np.array(ranges, dtype=np.float64).reshape(-1, 2)
    return (ends[:, 1] - ends[:, 0]) / 4


def cells(table: Frame | Array, j: int) -> list[float | str | None]:
    """Return the values of a column: numbers, texts and dates as text, None for missing ones.

    Examples
    --------
    >>> cells(np.array([[1.5, 2.0], [np.nan, 3.0]]), 0)
    [1.5, None]
    """
    if not isinstance(table, Frame):
        numbers = np.asarray(table[:, j], dtype=np.float64)
        return [x if np.isfinite(x) else None for x in numbers.tolist()]
    column = table.columns[j]
    if column.kind == "text":
        return [column.texts[code] if code >= 0 else None for code in column.values]
    shown = map(str, column.values) if column.kind == "date" else column.values.tolist()
    return [None if gap else x for x, gap in zip(shown, column.is_missing, strict=True)]


def _cell_text(value: float | str | None) -> str:
    if value is None:
        return "missing"
    return printable(value.removesuffix("T00:00:00")) if isinstance(value, str) else f"{value:.5g}"
