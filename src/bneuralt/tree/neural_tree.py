"""`NeuralTree`: the structure and the weights of a tree, as flat arrays.

Function nodes are numbered breadth-first. The first K = `n_outputs` of them are the output
nodes: the class nodes of a classification tree (its root only takes the argmax, so it is not
stored), or the root itself of a regression tree. A tree is therefore K independent subtrees.
Numbered like this, the children of a node are neighbours, and so are the nodes of a level.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from bneuralt import _core
from bneuralt._typing import FloatArray, IntArray
from bneuralt.arrays import as_table
from bneuralt.tree.activations import NAMES
from bneuralt.tree.checks import (
    check_leaves,
    check_nodes,
    checked_activation_parameters,
    checked_count,
    checked_integers,
    checked_parameters,
    frozen,
)
from bneuralt.tree.forward import OutputOverflow, forward_many, mean_forward, not_finite
from bneuralt.tree.growth import LeafSampler, TreeGrower, seed_of
from bneuralt.tree.interactions import InteractionSets
from bneuralt.tree.layout import TreeArrays
from bneuralt.tree.shape import TreeShape

__all__ = [
    "AnyTree",
    "NeuralTree",
    "OutputOverflow",
    "PlannedTree",
    "forward_many",
    "grown",
    "mean_forward",
]


@dataclass(frozen=True, eq=False, repr=False)
class NeuralTree(TreeShape):
    """A tree of neurons whose leaves are inputs.

    A function node sums `weight * value` over its children, adds its bias, and applies its
    activation; a leaf has the value of one input. The arrays are checked and copied once, and
    are read-only from then on. Most trees come from `NeuralTree.random`.

    Parameters
    ----------
    n_inputs : int
        Number of inputs (features).
    n_outputs : int
        Number of outputs K, such as the number of classes.
    parent : int array of shape (n_nodes,)
        Parent of each function node, -1 for the K outputs, which come first. Breadth-first:
        never decreasing, and `parent[i] < i`.
    activation : int array of shape (n_nodes,)
        Activation of each node, as a position in `bneuralt.tree.activations.NAMES`.
    leaf_parent : int array of shape (n_leaves,)
        Parent of each leaf, never decreasing.
    leaf_input : int array of shape (n_leaves,)
        Input of each leaf, 0 to `n_inputs - 1`.
    parameters : float array of shape (n_parameters,)
        All weights: the bias of every function node; the weight of the edge above each
        function node, outputs excepted; the weight of each leaf; then, if they are trained, the
        parameters of the activations. Its dtype, float64 or float32, is the dtype in which the
        tree computes.
    activation_parameters : float array, optional
        Parameters of the nodes' activations, in the order of the nodes; by default those that the
        activations declare. If they are trained, `parameters` has the values.
    trains_activations : bool
        Whether training changes the parameters of the activations.

    Examples
    --------
    One regression node over two inputs, ``0.5 + 2 * x0 - x1``:

    >>> from bneuralt import NeuralTree
    >>> tree = NeuralTree(2, 1, parent=[-1], activation=[0], leaf_parent=[0, 0],
    ...                   leaf_input=[0, 1], parameters=[0.5, 2.0, -1.0])
    >>> tree.size, tree.n_leaves, tree.n_parameters
    (3, 2, 3)
    """

    n_inputs: int
    n_outputs: int
    parent: IntArray
    activation: IntArray
    leaf_parent: IntArray
    leaf_input: IntArray
    parameters: FloatArray
    activation_parameters: Any = None
    trains_activations: bool = False
    #: The checked structure, which all trees that differ only in their weights share.
    structure: _core.Structure = field(init=False)

    def __post_init__(self) -> None:
        n_inputs = checked_count("n_inputs", self.n_inputs)
        k = checked_count("n_outputs", self.n_outputs)
        parent = checked_integers("parent", self.parent, np.int32)
        activation = checked_integers("activation", self.activation, np.uint8)
        leaf_parent = checked_integers("leaf_parent", self.leaf_parent, np.int32)
        leaf_input = checked_integers("leaf_input", self.leaf_input, np.int32)
        trains = bool(self.trains_activations)
        try:
            phi = checked_activation_parameters(activation, self.activation_parameters, trains)
            trains = trains and phi.size > 0
            structure = _core.Structure(
                n_inputs, k, parent, activation, leaf_parent, leaf_input, phi, trains
            )
            n_children = np.diff(structure.child_start) + np.diff(structure.leaf_start)
            if not n_children.all():
                raise ValueError("a function node has no child")
        except (IndexError, ValueError):
            check_nodes(parent, activation, k)  # these two name the first invalid place
            check_leaves(parent, leaf_parent, leaf_input, n_inputs, k)
            raise
        self.__dict__.update(
            n_inputs=n_inputs,
            n_outputs=k,
            parent=parent,
            activation=activation,
            leaf_parent=leaf_parent,
            leaf_input=leaf_input,
            activation_parameters=phi,
            trains_activations=trains,
            structure=structure,
        )
        self._set_parameters(self.parameters)

    def _set_parameters(self, parameters: ArrayLike) -> None:
        """Check and store the weights, the only part that trees of one structure do not share."""
        n_trained = self.activation_parameters.size if self.trains_activations else 0
        checked = checked_parameters(parameters, self.structure, n_trained)
        self.__dict__["parameters"] = checked
        if n_trained:
            self.__dict__["activation_parameters"] = frozen(checked[-n_trained:], np.float64)

    # -- making trees --------------------------------------------------------------------

    @classmethod
    def random(
        cls,
        n_inputs: int,
        n_outputs: int = 1,
        max_depth: int = 5,
        max_children: int = 5,
        leaf_probability: float = 0.4,
        *,
        rule: str = "inclusive",
        min_children: int = 2,
        min_size: int | float | None = None,
        max_size: int | None = None,
        n_weights: int | None = None,
        deepen: bool = True,
        init: str = "normal",
        init_scale: float = 1.5,
        activation: Any = "sigmoid",
        output_activation: Any = "sigmoid",
        train_activations: bool = False,
        feature_sampling: ArrayLike | LeafSampler | None = None,
        groups: ArrayLike | None = None,
        interactions: InteractionSets | None = None,
        dtype: DTypeLike = np.float64,
        random_state: int | np.random.Generator | None = None,
    ) -> NeuralTree:
        """Draw a random tree.

        Every function node gets a random number of children; each of them is a leaf with
        probability `leaf_probability`, and a function node otherwise. Children below
        `max_depth` are always leaves.

        Parameters
        ----------
        n_inputs : int
            Number of inputs (features).
        n_outputs : int
            1 for a regression tree, else the number of classes.
        max_depth : int
            Edges from the root down to the deepest possible function node.
        max_children : int
            The m of an m-ary tree.
        leaf_probability : float
            In [0, 1]. The smaller, the larger the tree.
        rule : {"inclusive", "paper"}
            The number of children is uniform on min_children..max_children ("inclusive"), or on
            min_children..max_children - 1, as the paper's published trees have it ("paper").
        min_children : int
            2 in the paper.
        min_size : int or float, optional
            Smaller trees are drawn again. A float in [0, 1] is a share of
            `GrowthRule.expected_size`.
        max_size : int, optional
            Larger trees are drawn again.
        n_weights : int, optional
            Number of weights of the tree, which has slightly fewer at most; all outputs get the
            same share. `leaf_probability` is then not used.
        deepen : bool
            Whether a tree gets deeper than `max_depth` if `n_weights` needs it.
        init : {"normal", "uniform"}
            "normal": weights from a normal distribution with standard deviation
            `init_scale / sqrt(number of children of the parent)`, biases 0. "uniform": weights
            and biases uniform on [0, 1], as in the paper.
        init_scale : float
            See `init`; "normal" only.
        activation : str, Activation, list or dict
            Activation of the inner function nodes, by name or as an object such as
            ``LeakyReLU(slope=0.2)``. A list: one of them for each node, all equally likely. A
            dict: the same with the probability of each.
        output_activation : str or Activation
            Activation of the outputs.
        train_activations : bool
            Whether training changes the parameters of the activations.
        feature_sampling : array of shape (n_inputs,) or LeafSampler, optional
            Probability of each input to be on a leaf (any non-negative numbers, they are
            normalised), or a callable that chooses the inputs. By default all are equally likely.
        groups : int array of shape (n_inputs,), optional
            The feature to which each input belongs, in ascending order, if features are groups
            of inputs, such as the indicators of categories. Leaves are then drawn for features,
            to which `feature_sampling` refers, and a leaf is an edge to each input of the group.
        interactions : InteractionSets, optional
            The features of each subtree below an output are those of one of these sets
            (`bneuralt.tree.interactions`). The number of subtrees is not limited by
            `max_children`.
        dtype : {float64, float32}
            dtype of the weights.
        random_state : int, numpy Generator, or None
            Seed; the same one draws the same tree.

        Examples
        --------
        >>> from bneuralt import NeuralTree
        >>> tree = NeuralTree.random(4, 3, max_depth=2, random_state=0)
        >>> tree.n_inputs, tree.n_outputs, tree.depth
        (4, 3, 2)
        >>> NeuralTree.random(4, activation=["tanh", "gaussian"], random_state=0).hidden_activation
        'mixed'
        """
        grower = TreeGrower(
            n_inputs,
            n_outputs,
            max_depth,
            max_children,
            leaf_probability,
            rule=rule,
            min_children=min_children,
            min_size=min_size,
            max_size=max_size,
            n_weights=n_weights,
            deepen=deepen,
            init=init,
            init_scale=init_scale,
            activation=activation,
            output_activation=output_activation,
            train_activations=train_activations,
            feature_sampling=feature_sampling,
            groups=groups,
            interactions=interactions,
            dtype=dtype,
        )
        return PlannedTree(grower, seed_of(random_state)).tree

    @classmethod
    def of_core(cls, structure: _core.Structure, parameters: ArrayLike) -> NeuralTree:
        """Return the tree of a structure that the core has made, whose arrays it shares."""
        tree = object.__new__(cls)
        tree.__dict__.update(
            n_inputs=structure.n_inputs,
            n_outputs=structure.n_outputs,
            parent=structure.parent,
            activation=structure.activation,
            leaf_parent=structure.leaf_parent,
            leaf_input=structure.leaf_input,
            activation_parameters=structure.activation_parameters,
            trains_activations=structure.trains_activations,
            structure=structure,
        )
        tree._set_parameters(parameters)
        return tree

    def with_parameters(self, parameters: ArrayLike) -> NeuralTree:
        """Return a tree of the same structure with other weights.

        Parameters
        ----------
        parameters : float array of shape (n_parameters,)
            In the order of `NeuralTree.parameters`.
        """
        tree = object.__new__(NeuralTree)
        tree.__dict__.update({name: self.__dict__[name] for name in _STRUCTURE})
        tree._set_parameters(parameters)
        return tree

    def with_leaf_inputs(self, leaf_input: ArrayLike, parameters: ArrayLike) -> NeuralTree:
        """Return a tree of the same shape whose leaves have other inputs, and other weights.

        Parameters
        ----------
        leaf_input : int array of shape (n_leaves,)
        parameters : float array of shape (n_parameters,)
            In the order of `NeuralTree.parameters`.
        """
        inputs = checked_integers("leaf_input", leaf_input, np.int32)
        if np.array_equal(inputs, self.leaf_input):
            return self.with_parameters(parameters)
        try:
            structure = self.structure.with_leaf_inputs(inputs)
        except ValueError:
            check_leaves(self.parent, self.leaf_parent, inputs, self.n_inputs, self.n_outputs)
            raise
        return self.of_core(structure, parameters)

    def astype(self, dtype: DTypeLike) -> NeuralTree:
        """Return the tree with its weights as float64 or float32."""
        if np.dtype(dtype) == self.dtype:
            return self
        with np.errstate(over="ignore"):  # reported as a non-finite weight, with its place
            return self.with_parameters(self.parameters.astype(dtype))

    def with_input_scaling(self, offset: ArrayLike, factor: ArrayLike) -> NeuralTree:
        """Return a tree whose outputs for x are those of this one for `(x - offset) * factor`.

        The leaf weights and the biases above them include the scaling, so the returned tree costs
        no more to evaluate.

        Parameters
        ----------
        offset, factor : float or array of shape (n_inputs,)
        """
        return self.with_scalings((offset, factor))

    def with_output_scaling(self, offset: Any, factor: Any) -> NeuralTree:
        """Return the tree whose outputs are `factor * output + offset`.

        Only for linear outputs: their biases and incoming weights include the scaling.

        Parameters
        ----------
        offset, factor : float or array of shape (n_outputs,)
        """
        return self.with_scalings(outputs=(offset, factor))

    def with_scalings(
        self,
        inputs: tuple[ArrayLike, ArrayLike] | None = None,
        outputs: tuple[ArrayLike, ArrayLike] | None = None,
        dtype: DTypeLike | None = None,
    ) -> NeuralTree:
        """Return the tree with both scalings; see `with_input_scaling` and `with_output_scaling`.

        Parameters
        ----------
        inputs, outputs : tuple (offset, factor), optional
        dtype : {float64, float32}, optional
            dtype of its weights, by default that of this tree.
        """
        k, n_nodes = self.n_outputs, self.parent.size
        bias, edge, weight = (
            each.astype(np.float64) for each in (self.bias, self.edge, self.leaf_weight)
        )
        if inputs is not None:
            offset, factor = (_of_each(part, self.n_inputs)[self.leaf_input] for part in inputs)
            weight *= factor
            bias -= np.bincount(self.leaf_parent, weight * offset, minlength=n_nodes)
        if outputs is not None:
            if self.output_activation != "linear":
                raise ValueError(
                    "with_output_scaling needs linear outputs, this tree has "
                    f"output_activation={self.output_activation!r}"
                )
            per_node = np.ones(n_nodes)  # the factor of the weighted sum of each node
            per_node[:k] = outputs[1]
            bias *= per_node
            bias[:k] += np.asarray(outputs[0], dtype=np.float64)
            edge *= per_node[self.parent[k:]]
            weight *= per_node[self.leaf_parent]
        trained = [self.activation_parameters] if self.trains_activations else []
        weights = np.concatenate([bias, edge, weight, *trained])
        with np.errstate(over="ignore"):  # reported as a non-finite weight, with its place
            return self.with_parameters(weights.astype(dtype or self.dtype, copy=False))

    def with_linear_outputs(self) -> NeuralTree:
        """Return the tree with a linear output above each output, which becomes its only child."""
        k = self.n_outputs
        return NeuralTree(
            self.n_inputs,
            k,
            parent=np.concatenate([np.full(k, -1), np.arange(k), self.parent[k:] + k]),
            activation=np.concatenate([np.full(k, NAMES.index("linear")), self.activation]),
            leaf_parent=self.leaf_parent + k,
            leaf_input=self.leaf_input,
            parameters=np.concatenate(
                [np.zeros(k), self.bias, np.ones(k), self.parameters[self.bias.size :]]
            ),  # the edges of the new outputs come first
            activation_parameters=self.activation_parameters,
            trains_activations=self.trains_activations,
        )

    @cached_property
    def core(self) -> _core.WeightedTree:
        """The tree as the compiled core takes it."""
        return _core.WeightedTree(self.structure, self.parameters)

    def compiled(self, parameters: FloatArray) -> _core.WeightedTree:
        """Return the compiled tree with other weights, without making a `NeuralTree`.

        Parameters
        ----------
        parameters : float array of shape (n_parameters,)
            In the order and of the type of `NeuralTree.parameters`.
        """
        return _core.WeightedTree(self.structure, parameters)

    # -- evaluating trees ----------------------------------------------------------------

    def forward(self, X: ArrayLike, n_threads: int = 1) -> FloatArray:
        """Compute the outputs of the tree.

        Parameters
        ----------
        X : array of shape (n_rows, n_inputs), or (n_inputs,) for a single row
            float64, float32 and uint8 arrays are used as they are.
        n_threads : int
            Number of threads; it never changes the result.

        Returns
        -------
        array of shape (n_rows, n_outputs), or (n_outputs,) for a single row
            In the dtype of the tree.
        """
        try:
            outputs = _core.forward_tree(self.core, X, n_threads, False)
        except TypeError:
            return self._outputs(X, n_threads, softmax=False)
        if isinstance(outputs, tuple):
            raise not_finite(X, outputs)
        return outputs

    def probabilities(self, X: ArrayLike, n_threads: int = 1) -> FloatArray:
        """Compute the softmax of the outputs: class probabilities of a tree with linear outputs.

        Parameters and the shape of the result are those of `forward`.

        Examples
        --------
        >>> from bneuralt import NeuralTree
        >>> tree = NeuralTree(1, 2, [-1, -1], [0, 0], [0, 1], [0, 0], [0.0, 0.0, 1.0, -1.0])
        >>> tree.probabilities([[0.0]])
        array([[0.5, 0.5]])
        """
        return self._outputs(X, n_threads, softmax=True)

    def _outputs(self, X: ArrayLike, n_threads: int, softmax: bool) -> FloatArray:
        """Return the outputs for anything that can be converted to an array."""
        n_dimensions = np.ndim(X)
        if n_dimensions not in (1, 2):
            raise ValueError(f"X must have one or two dimensions, it has {n_dimensions}")
        X = as_table(X) if n_dimensions == 2 else as_table(np.asarray(X)[np.newaxis])[0]
        outputs = _core.forward_tree(self.core, X, n_threads, softmax)
        if isinstance(outputs, tuple):
            raise not_finite(X, outputs)
        return outputs

    def contributions(
        self, X: ArrayLike, baseline: ArrayLike = 0.0, by: str = "leaf", **options: Any
    ) -> FloatArray:
        """Compute how much each leaf contributes to an output, compared with a baseline row.

        The contributions below an output add up to the output less its value for the baseline.
        Parameters are those of `bneuralt.tree.contributions.contributions`.

        Examples
        --------
        >>> from bneuralt import NeuralTree
        >>> tree = NeuralTree(2, 1, [-1], [0], [0, 0], [0, 1], [0.5, 2.0, -1.0])
        >>> tree.contributions([[1.0, 1.0]], baseline=[0.0, 3.0])
        array([[2., 2.]])
        """
        from bneuralt.tree.contributions import contributions

        return contributions(self, X, baseline, by, **options)

    # -- files ---------------------------------------------------------------------------
    # Imported at first use: most programs never read or write a tree.

    def to_dict(self) -> dict[str, Any]:
        """Return the tree as a dict of JSON values, in the format of docs/format.md."""
        from bneuralt.tree.json_format import tree_to_dict

        return tree_to_dict(self)

    @classmethod
    def from_dict(cls, data: Any) -> NeuralTree:
        """Read a tree from a dict of `to_dict`; raise a `ValueError` if it is not valid."""
        from bneuralt.tree.json_format import arrays_from_dict, errors_of_invalid_trees

        arrays = arrays_from_dict(data)
        with errors_of_invalid_trees():
            return cls(*arrays)

    def to_json(self) -> str:
        """Return the tree as JSON text, in the format of docs/format.md.

        Examples
        --------
        >>> from bneuralt import NeuralTree
        >>> tree = NeuralTree.random(4, 3, random_state=0)
        >>> NeuralTree.from_json(tree.to_json()) == tree
        True
        """
        from bneuralt.files import format_json

        return format_json(self.to_dict()) + "\n"

    @classmethod
    def from_json(cls, text: str) -> NeuralTree:
        """Read a tree from the text of `to_json`; raise a `ValueError` if it is not valid."""
        from bneuralt.files import parse_json

        return cls.from_dict(parse_json(text))

    # -- Python's protocols --------------------------------------------------------------

    @property
    def _arrays(self) -> TreeArrays:
        return TreeArrays(*(self.__dict__[name] for name in TreeArrays._fields))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NeuralTree):
            return NotImplemented
        return self.dtype == other.dtype and all(
            np.array_equal(np.asarray(a), np.asarray(b))
            for a, b in zip(self._arrays, other._arrays, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return NeuralTree, tuple(self._arrays)

    def __repr__(self) -> str:
        return (
            f"NeuralTree(n_inputs={self.n_inputs}, n_outputs={self.n_outputs}, "
            f"size={self.size}, depth={self.depth}, n_parameters={self.n_parameters}, "
            f"hidden_activation={self.hidden_activation!r}, "
            f"output_activation={self.output_activation!r}, dtype={self.dtype.name})"
        )


def _of_each(values: ArrayLike, n: int) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    return array if array.shape == (n,) else np.broadcast_to(array, (n,))


@dataclass(frozen=True)
class PlannedTree:
    """A random tree that is grown when it is needed, such as by the thread that trains it.

    Attributes
    ----------
    grower : TreeGrower
    seed : int
    """

    grower: TreeGrower
    seed: int

    @property
    def n_inputs(self) -> int:
        """Number of inputs."""
        return self.grower.n_inputs

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return self.grower.n_outputs

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the weights."""
        return self.grower.dtype

    @property
    def output_activation(self) -> str:
        """Name of the activation of the outputs."""
        name: str = NAMES[self.grower.fields["output"][0]]
        return name

    @property
    def core(self) -> _core.PlannedTree:
        """The tree for a training of the core."""
        return _core.PlannedTree(self.grower.rule, self.seed, self.dtype == np.float32)

    @cached_property
    def tree(self) -> NeuralTree:
        """The tree."""
        return NeuralTree.of_core(*self.grower.grow(self.seed))


#: A tree, or the plan of one.
AnyTree: TypeAlias = NeuralTree | PlannedTree


def grown(tree: AnyTree) -> NeuralTree:
    """Return a tree, which is grown if it was only planned."""
    return tree.tree if isinstance(tree, PlannedTree) else tree


#: Attributes shared by trees that differ only in their weights.
_STRUCTURE = (*(name for name in TreeArrays._fields if name != "parameters"), "structure")
