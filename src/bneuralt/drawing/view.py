"""What a drawing shows of a model: names, terms, weights, and the values of one example.

A `TreeView` puts a tree together with the names of its table. The leaves of a node that belong to
one feature are one *term*: leaves of the same input are summed, and the inputs of a feature that
has several (categories, parts of dates, the indicator of missing values) are its *entries*.
Pictures, pages and formulas are made from views, so all of them use the same names.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.estimators.base import NeuralTreeEstimator
from bneuralt.expressions import OUTPUTS, exp
from bneuralt.tables.encoder import TableEncoder
from bneuralt.tables.features import CategoryFeature, DateFeature, NumberFeature
from bneuralt.tree.activations import NAMES
from bneuralt.tree.neural_tree import NeuralTree
from bneuralt.tree.node_values import node_values
from bneuralt.tree.simplify import simplify

__all__ = ["ExampleView", "FeatureView", "TreeView", "printable", "sums_and_values"]

MISSING, RARE = "(missing)", "(rare)"


@dataclass(frozen=True)
class FeatureView:
    """A column of the table, as drawings name it.

    Attributes
    ----------
    name : str
        Name of the column.
    kind : {"number", "category", "date"}
    inputs : range
        The inputs of the tree that the column becomes.
    entries : tuple of str
        What the inputs stand for: "" for the number itself, a category, a part of a date. A column
        of two categories has one input; `entries` has both, and the first one has no input.
    """

    name: str
    kind: str
    inputs: range
    entries: tuple[str, ...]

    def entry(self, i: int) -> str:
        """Return what an input of the tree stands for."""
        return self.entries[i - self.inputs.start + len(self.entries) - len(self.inputs)]

    def cell(self, inputs: FloatArray) -> str:
        """Return the value of the column in a row, given the inputs of the tree.

        Examples
        --------
        >>> FeatureView("size", "category", range(1), ("small", "tall")).cell(np.array([0.0]))
        'small'
        """
        values = inputs[self.inputs.start : self.inputs.stop]
        if self.entries and self.entries[-1] == MISSING and values.size and values[-1] == 1:
            return "missing"
        if self.kind == "number":
            return f"{values[0]:.5g}"
        if self.kind == "date":
            pairs = zip(self.entries, values, strict=True)
            return ", ".join(f"{part} {value:g}" for part, value in pairs if part != MISSING)
        if np.isin(values, (0, 1)).all() and values.sum() <= 1 and self.entries:
            position = int(values.argmax()) + len(self.entries) - values.size
            return self.entries[position if values.any() else 0]
        return "not seen in training"


@dataclass(frozen=True)
class ExampleView:
    """The values of one example at every node, and what carried its decision.

    The *effect* of an edge is its weight times the difference between the value below it and that
    value for the average row of the training table: what the example adds to the sum above. The
    *share* of an edge is the product of the shares of effects on the path from the outputs down to
    it; the shares of all terms and of all outputs sum up to at most 1.

    Attributes
    ----------
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
        The tree, for the inputs that the encoder of the model makes.
    features : tuple of FeatureView
        One for each column of the table.
    output_names : tuple of str
        Names of the outputs, such as the classes.
    task : {"classes", "labels", "numbers"}
        What the outputs are: scores of which one class has the highest, labels that are
        independent of each other, or numbers.
    average : array of shape (n_inputs,)
        The average row of the training table; 0 where it is not known.
    spread : array of shape (n_inputs,) or None
        How much each input varied in training; None if it is not known, as in models from files.
    model : estimator or None
        The fitted model of this tree alone.
    caption : str
        What the tree is, in a few words.
    """

    tree: NeuralTree
    features: tuple[FeatureView, ...]
    output_names: tuple[str, ...]
    task: str
    average: FloatArray
    spread: FloatArray | None
    model: Any
    caption: str

    @classmethod
    def of(
        cls,
        model: Any,
        *,
        tree: int = 0,
        simplified: bool = True,
        feature_names: Sequence[str] | None = None,
        output_names: Sequence[object] | None = None,
    ) -> TreeView:
        """Return the view of a fitted estimator, or of a tree.

        Parameters
        ----------
        model : estimator, fitted, or NeuralTree
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
        >>> [feature.name for feature in view.features], view.output_names
        (['a', 'b', 'c'], ('class 0', 'class 1'))
        """
        member, drawn, caption = _tree_of(model, tree)
        features = _features(member, drawn, feature_names)
        names = _output_names(member, drawn, output_names)
        shown = simplify(drawn.astype(np.float64)) if simplified else drawn
        caption += f"{drawn.n_parameters:,} weights"
        if shown.n_parameters < drawn.n_parameters:
            caption += f", {shown.n_parameters:,} when simplified"
        return cls(
            shown,
            features,
            names,
            _task(member, drawn),
            _average(member, drawn),
            _spread(member),
            member,
            caption,
        )

    # -- terms ---------------------------------------------------------------------------

    @cached_property
    def feature_of_input(self) -> IntArray:
        """The feature that each input belongs to."""
        return np.repeat(np.arange(len(self.features)), [len(f.inputs) for f in self.features])

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
        positive; `term_has_sign` tells.
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
        """Whether each term is a number, missing ones aside, or has a single entry."""
        is_number = np.array([feature.kind == "number" for feature in self.features], dtype=bool)
        has_sign: Array = (np.diff(self.term_start) == 1) | is_number[self.term_feature]
        return has_sign

    @cached_property
    def node_strength(self) -> FloatArray:
        """The weight of the edge above each node; 0 for the outputs, which have none."""
        return np.concatenate([np.zeros(self.tree.n_outputs), self.tree.edge])

    def term_entries(self, term: int) -> list[tuple[str, float]]:
        """Return what each entry of a term stands for, and its weight.

        Examples
        --------
        >>> from bneuralt import NeuralTree
        >>> tree = NeuralTree(2, 1, [-1], [0], [0, 0], [0, 0], [0.5, 2.0, 1.0])
        >>> TreeView.of(tree).term_entries(0)
        [('', 3.0)]
        """
        feature = self.features[self.term_feature[term]]
        entries = range(*self.term_start[term : term + 2])
        return [(feature.entry(self.entry_input[e]), float(self.entry_weight[e])) for e in entries]

    def activation(self, node: int) -> tuple[str, tuple[float, ...]]:
        """Return the activation of a node, and its parameters."""
        start, end = self.tree.activation_parameter_start[node : node + 2]
        parameters = self.tree.activation_parameters[start:end]
        return NAMES[self.tree.activation[node]], tuple(float(value) for value in parameters)

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
        inputs = self._inputs(row)
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
        predictions = self._predictions(inputs, value[:k])
        decision = int(predictions.argmax()) if self.task == "classes" else None
        return ExampleView(
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

    def _inputs(self, row: Any) -> FloatArray:
        """Return the inputs of the tree for an example."""
        if isinstance(row, Mapping):
            absent = [f.name for f in self.features if f.name not in row]
            if absent:
                raise ValueError(f"example has no value for {', '.join(map(repr, absent[:5]))}")
            row = [row[feature.name] for feature in self.features]
        table = row
        if not hasattr(row, "columns"):
            values = list(row) if np.ndim(row) != 2 else list(row[0])
            is_text = any(isinstance(value, str) or value is None for value in values)
            table = np.array([values], dtype=object if is_text else None)
        if len(table) != 1 or table.shape[1] != len(self.features):
            raise ValueError(
                f"example has shape {tuple(table.shape)}; one row with {len(self.features)} "
                "values is needed"
            )
        if self.model is None:
            row_of_numbers: FloatArray = np.asarray(table, dtype=np.float64)[0]
            return row_of_numbers
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            read = self.model._read_features(table)
        inputs: FloatArray = np.asarray(self.model._filled(read), dtype=np.float64)[0]
        return inputs

    def _predictions(self, inputs: FloatArray, outputs: FloatArray) -> FloatArray:
        if self.model is None:
            return outputs
        row = inputs[np.newaxis]
        if self.task == "numbers":
            values: FloatArray = self.model._values(row)[0]
            return values
        shares: FloatArray = self.model._probabilities(row)[0]
        return shares


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


def printable(text: object) -> str:
    r"""Return a name on one line, without control characters.

    Examples
    --------
    >>> printable("a\nb")
    'a b'
    """
    return "".join(c if c.isprintable() else " " for c in str(text))


# -- what is known about a model -----------------------------------------------------------


def _tree_of(model: Any, index: int) -> tuple[Any, NeuralTree, str]:
    """Return the model of one tree alone, this tree, and the start of its caption."""
    if isinstance(model, NeuralTree):
        return None, model, ""
    if not isinstance(model, NeuralTreeEstimator):
        raise TypeError(
            f"model must be a fitted estimator of bneuralt or a NeuralTree, not "
            f"{type(model).__name__}"
        )
    check_is_fitted(model)
    members = getattr(model, "estimators_", [model])
    if not 0 <= index < len(members):
        raise ValueError(f"tree={index!r} must be a number from 0 to {len(members) - 1}")
    member = members[index]
    caption = f"tree {index + 1} of {len(members)}, " if len(members) > 1 else ""
    return member, member.tree_, caption


def _features(
    member: Any, tree: NeuralTree, given: Sequence[str] | None
) -> tuple[FeatureView, ...]:
    encoder: Any = getattr(member, "encoder_", None)
    described = (
        [("number", ("",))] * tree.n_inputs
        if encoder is None or encoder.is_plain
        else [(feature.kind, _entry_names(feature)) for feature in encoder.features]
    )
    names = getattr(member, "feature_names_in_", None) if given is None else given
    if names is None:
        names = [f"x{i}" for i in range(len(described))]
    if len(names) != len(described):
        raise ValueError(
            f"feature_names has {len(names)} names; the model has {len(described)} features"
        )
    features, first = [], 0
    for i, (name, (kind, entries)) in enumerate(zip(names, described, strict=True)):
        n_inputs = 1 if encoder is None or encoder.is_plain else encoder.features[i].n_columns
        inputs = range(first, first + n_inputs)
        first += n_inputs
        features.append(FeatureView(printable(name), kind, inputs, entries))
    return tuple(features)


def _entry_names(feature: NumberFeature | CategoryFeature | DateFeature) -> tuple[str, ...]:
    gap = (MISSING,) if feature.has_gaps else ()
    if isinstance(feature, CategoryFeature):
        categories = tuple(printable(category) for category in feature.categories)
        return categories + ((RARE,) if feature.has_other else ()) + gap
    if isinstance(feature, DateFeature):
        return feature.parts + gap
    return ("", *gap)


def _output_names(member: Any, tree: NeuralTree, given: Sequence[object] | None) -> tuple[str, ...]:
    k = tree.n_outputs
    if given is None:
        given = getattr(member, "classes_", None)
    if given is None and member is not None and member._quantiles() is not None:
        given = [f"{quantile:g} quantile" for quantile in member._quantiles()]
    if given is None and member is not None and member._link() == exp(OUTPUTS):
        given = ["log y"] if k == 1 else [f"log y{i}" for i in range(k)]
    if given is None:
        few = "class {}" if member is None else "y{}"
        given = ["y"] if k == 1 else [few.format(i) for i in range(k)]
    if len(given) != k:
        raise ValueError(f"output_names has {len(given)} names; the tree has {k} outputs")
    return tuple(printable(name) for name in given)


def _task(member: Any, tree: NeuralTree) -> str:
    if member is None:
        return "classes" if tree.n_outputs > 1 else "numbers"
    if not hasattr(member, "classes_"):
        return "numbers"
    return "labels" if member.multilabel_ else "classes"


def _average(member: Any, tree: NeuralTree) -> FloatArray:
    """Return the average row as the encoder has it; unknown means are 0."""
    encoder: Any = getattr(member, "encoder_", None)
    if encoder is None:
        return np.zeros(tree.n_inputs)
    parts: list[float] = []
    for feature in encoder.features:
        if isinstance(feature, CategoryFeature):
            parts += feature.shares[len(feature.shares) - feature.n_columns :]
        elif isinstance(feature, DateFeature):
            parts += [*feature.means, 0.0][: feature.n_columns]
        else:
            parts += [feature.mean or 0.0, 0.0][: feature.n_columns]
    return np.array(parts)


def _spread(member: Any) -> FloatArray | None:
    """Return how much each input varied in training, if the model knows it.

    A model from a file knows the range of each number, a quarter of which is about the standard
    deviation, and the share of each category.
    """
    scaling = getattr(member, "_input_scaling", None)
    if scaling is not None:
        varies = scaling.factor != 0
        return np.where(varies, 1.0 / np.where(varies, scaling.factor, 1.0), 0.0)
    encoder: TableEncoder | None = getattr(member, "encoder_", None)
    ranges = None if encoder is None else encoder.ranges
    if encoder is None or ranges is None:
        return None
    spread: list[float] = []
    for feature, known in zip(encoder.features, ranges, strict=True):
        if isinstance(feature, CategoryFeature):
            shares = np.array(feature.shares[len(feature.shares) - feature.n_columns :])
            spread += np.sqrt(shares * (1 - shares)).tolist()
        elif known is None or isinstance(known[0], str) or isinstance(known[1], str):
            return None  # dates: the ranges of their parts are not known
        else:
            spread += [(known[1] - known[0]) / 4, 0.5][: feature.n_columns]
    return np.array(spread)
