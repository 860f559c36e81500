"""Variation: random subtrees, crossover and mutations that keep trees valid.

The first four mutations are those of HFNT (Ojha et al., 2017); the others make trees smaller, add a
single leaf, or exchange an activation. Every operation returns a tree within the limits of its
`Space`: it is repeated up to `TRIES` times, then the parent is returned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bneuralt._typing import FloatArray
from bneuralt.evolve.genome import FunctionNode, Genome, Leaf, Path
from bneuralt.tree.activations import get_activation_mixture

__all__ = ["MUTATIONS", "Space", "crossover", "mutate", "random_genome"]

#: Number of attempts of an operation before the parent is returned unchanged.
TRIES = 10

#: Largest number of levels of function nodes in the first generation.
FIRST_LEVELS = 5


@dataclass(frozen=True, eq=False)
class Space:
    """The trees that a search may visit.

    Parameters
    ----------
    n_inputs, n_outputs : int
    max_depth : int
        Edges from the root to the deepest function node.
    min_children, max_children : int
    leaf_probability : float
        Probability of a child in a new subtree to be a leaf.
    max_size, max_weights : int or None
        Most nodes and weights of a tree.
    activation, output_activation : str, Activation, list or dict
        Activations of inner nodes and outputs, as for `NeuralTree.random`.
    trains_activations : bool
        Whether parameters of activations are weights: they are drawn at random then.
    feature_chances : array of shape (n_inputs,), optional
        Probability of each input to be on a new leaf.
    low, high : float
        New weights are uniform in this range; parameters of activations in (0, 1].
    scale : float, optional
        New weights are normal instead, with this deviation by the root of the number of children,
        and biases 0.
    n_copies : int
        Sets of weights of each tree; they start equal.
    """

    n_inputs: int
    n_outputs: int = 1
    max_depth: int = 5
    min_children: int = 2
    max_children: int = 5
    leaf_probability: float = 0.5
    max_size: int | None = None
    max_weights: int | None = None
    activation: Any = "tanh"
    output_activation: Any = "linear"
    trains_activations: bool = False
    feature_chances: FloatArray | None = None
    low: float = -1.0
    high: float = 1.0
    scale: float | None = None
    n_copies: int = 1
    _cumulated: FloatArray | None = field(init=False, default=None, repr=False)
    _inner: Any = field(init=False, default=None, repr=False)
    _outer: Any = field(init=False, default=None, repr=False)

    def __post_init__(self) -> None:
        if self.feature_chances is not None:
            object.__setattr__(self, "_cumulated", np.cumsum(self.feature_chances))
        for name, value in (("_inner", self.activation), ("_outer", self.output_activation)):
            activations, chances = get_activation_mixture(value)
            object.__setattr__(self, name, (activations, np.cumsum(chances)))

    @property
    def top_depth(self) -> int:
        """Depth of the outputs."""
        return 0 if self.n_outputs == 1 else 1

    @property
    def least_weights(self) -> int:
        """Weights of the smallest tree: a bias and the fewest leaves for each output."""
        return self.n_outputs * (1 + self.min_children)

    def holds(self, genome: Genome) -> bool:
        """Return whether a tree is within the limits."""
        return (
            genome.depth <= self.max_depth
            and (self.max_size is None or genome.size <= self.max_size)
            and (self.max_weights is None or genome.n_weights <= self.max_weights)
        )

    # -- random parts --------------------------------------------------------------------

    def draw_feature(self, rng: np.random.Generator) -> int:
        """Draw an input for a leaf."""
        if self._cumulated is None:
            return int(rng.integers(self.n_inputs))
        place = rng.random() * self._cumulated[-1]
        return int(np.searchsorted(self._cumulated, place, side="right"))

    def draw_leaf(self, rng: np.random.Generator, n_siblings: int = 2) -> Leaf:
        """Draw a leaf of a node with `n_siblings` children."""
        return Leaf(self.draw_feature(rng), self._draw_weights(rng, 1, n_siblings))

    def draw_node(
        self,
        rng: np.random.Generator,
        children: tuple[FunctionNode | Leaf, ...],
        is_output: bool = False,
    ) -> FunctionNode:
        """Draw activation, bias and edge of a node with these children."""
        activations, cumulated = self._outer if is_output else self._inner
        i = 0
        if len(activations) > 1:
            i = min(int(np.searchsorted(cumulated, rng.random(), side="right")), len(cumulated) - 1)
        activation = activations[i]
        numbers = np.empty((2 + len(activation.numbers), self.n_copies))
        numbers[:2] = self._draw_weights(rng, 2, 2)
        if self.scale is not None:
            numbers[0] = 0.0
        numbers[2:] = np.array(activation.numbers)[:, np.newaxis]
        if self.trains_activations and activation.numbers:
            numbers[2:] = 1.0 - rng.random((len(activation.numbers), 1))
        return FunctionNode(activation.code, numbers, children)

    def draw_subtree(
        self, rng: np.random.Generator, n_levels: int, is_output: bool = False
    ) -> FunctionNode:
        """Draw a subtree of at most `n_levels` levels of function nodes."""
        n_children = int(rng.integers(self.min_children, self.max_children + 1))
        children = tuple(
            self.draw_leaf(rng, n_children)
            if n_levels <= 1 or rng.random() < self.leaf_probability
            else self.draw_subtree(rng, n_levels - 1)
            for _ in range(n_children)
        )
        return self.draw_node(rng, children, is_output)

    def _draw_weights(self, rng: np.random.Generator, n: int, n_siblings: int) -> FloatArray:
        if self.scale is None:
            drawn = rng.uniform(self.low, self.high, (n, 1))
        else:
            drawn = rng.normal(0.0, self.scale / n_siblings**0.5, (n, 1))
        return np.repeat(drawn, self.n_copies, axis=1)


def random_genome(space: Space, rng: np.random.Generator) -> Genome:
    """Draw a tree within the limits of a space.

    Examples
    --------
    >>> import numpy as np
    >>> space = Space(n_inputs=4, n_outputs=3, max_size=40)
    >>> random_genome(space, np.random.default_rng(0)).size <= 40
    True
    """
    # trees of up to a few levels: evolution makes deeper ones where they help
    most = min(space.max_depth - space.top_depth + 1, FIRST_LEVELS)
    n_levels = int(rng.integers(1, most + 1))
    for _ in range(TRIES):
        outputs = [space.draw_subtree(rng, n_levels, True) for _ in range(space.n_outputs)]
        genome = Genome(tuple(outputs), space.n_inputs, space.trains_activations)
        if space.holds(genome):
            return genome
        n_levels = max(1, n_levels - 1)  # smaller, and small enough in the end
    return _smallest(space, rng)


def _smallest(space: Space, rng: np.random.Generator) -> Genome:
    """Return a tree of outputs with the fewest leaves, and then some more where they fit."""
    n = space.min_children
    outputs = [
        space.draw_node(rng, tuple(space.draw_leaf(rng, n) for _ in range(n)), True)
        for _ in range(space.n_outputs)
    ]
    genome = Genome(tuple(outputs), space.n_inputs, space.trains_activations)
    for _ in range(int(rng.integers(2 * space.n_outputs))):
        larger = add_leaf(genome, space, rng)
        genome = larger if larger is not None and space.holds(larger) else genome
    return genome


# -- crossover ----------------------------------------------------------------------------


def crossover(one: Genome, other: Genome, space: Space, rng: np.random.Generator) -> Genome:
    """Return the first tree with a subtree that comes from the second one.

    A place below the outputs gets anything from below the outputs of the other tree. The subtree of
    an output is exchanged for that of the same output only, so that the outputs keep their classes.

    Examples
    --------
    >>> import numpy as np
    >>> rng, space = np.random.default_rng(0), Space(n_inputs=4, n_outputs=3)
    >>> one, other = random_genome(space, rng), random_genome(space, rng)
    >>> len(crossover(one, other, space, rng).outputs)
    3
    """
    places, donors = one.places(), other.places()
    k = len(one.outputs)
    for _ in range(TRIES):
        i = int(rng.integers(len(places) + k))
        if i < k:
            child = one.replaced((i,), other.outputs[i])
        else:
            path = places[i - k][0]
            child = one.replaced(path, donors[int(rng.integers(len(donors)))][1])
        if space.holds(child):
            return child
    return one


# -- mutations ----------------------------------------------------------------------------

#: Returns the changed tree, or None if the mutation does not apply.
Mutation = Callable[[Genome, Space, np.random.Generator], Genome | None]


def change_leaf(genome: Genome, space: Space, rng: np.random.Generator) -> Genome | None:
    """Give one leaf another input; it keeps its weight."""
    leaves = [(path, leaf) for path, leaf in genome.places() if isinstance(leaf, Leaf)]
    path, leaf = leaves[int(rng.integers(len(leaves)))]
    return genome.replaced(path, Leaf(space.draw_feature(rng), leaf.numbers))


def change_all_leaves(genome: Genome, space: Space, rng: np.random.Generator) -> Genome | None:
    """Redraw all leaves, their inputs and their weights."""

    def redrawn(node: FunctionNode) -> FunctionNode:
        n = len(node.children)
        return node.with_children(
            tuple(
                redrawn(child) if isinstance(child, FunctionNode) else space.draw_leaf(rng, n)
                for child in node.children
            )
        )

    return genome._replace(outputs=tuple(redrawn(output) for output in genome.outputs))


def replace_subtree(genome: Genome, space: Space, rng: np.random.Generator) -> Genome | None:
    """Replace a function node, an output possibly, by a random subtree."""
    inner = [path for path, node in genome.places() if isinstance(node, FunctionNode)]
    paths: list[Path] = [*((i,) for i in range(len(genome.outputs))), *inner]
    path = paths[int(rng.integers(len(paths)))]
    n_levels = min(space.max_depth - _depth(path, space) + 1, 1 + int(rng.integers(3)))
    return genome.replaced(path, space.draw_subtree(rng, n_levels, len(path) == 1))


def grow_leaf(genome: Genome, space: Space, rng: np.random.Generator) -> Genome | None:
    """Replace a leaf by a function node with leaves; the old leaf is one of them."""
    leaves = [
        (path, leaf)
        for path, leaf in genome.places()
        if isinstance(leaf, Leaf) and _depth(path, space) <= space.max_depth
    ]
    if not leaves:
        return None
    path, leaf = leaves[int(rng.integers(len(leaves)))]
    n = int(rng.integers(space.min_children, space.max_children + 1))
    others = tuple(space.draw_leaf(rng, n) for _ in range(n - 1))
    return genome.replaced(path, space.draw_node(rng, (leaf, *others)))


def drop_child(genome: Genome, space: Space, rng: np.random.Generator) -> Genome | None:
    """Remove a child with its subtree."""
    paths = [
        path
        for path, _ in genome.places()
        if len(genome.at(path[:-1]).children) > space.min_children  # type: ignore[union-attr]
    ]
    if not paths:
        return None
    path = paths[int(rng.integers(len(paths)))]
    above = genome.at(path[:-1])
    assert isinstance(above, FunctionNode)
    remaining = above.children[: path[-1]] + above.children[path[-1] + 1 :]
    return genome.replaced(path[:-1], above.with_children(remaining))


def shrink(genome: Genome, space: Space, rng: np.random.Generator) -> Genome | None:
    """Replace a function node by one of its children."""
    inner = [(path, node) for path, node in genome.places() if isinstance(node, FunctionNode)]
    if not inner:
        return None
    path, node = inner[int(rng.integers(len(inner)))]
    return genome.replaced(path, node.children[int(rng.integers(len(node.children)))])


def add_leaf(genome: Genome, space: Space, rng: np.random.Generator) -> Genome | None:
    """Add a leaf of weight 0, which changes nothing until it is trained, or of a random weight."""
    nodes: list[tuple[Path, FunctionNode]] = [((i,), node) for i, node in enumerate(genome.outputs)]
    nodes += [(path, node) for path, node in genome.places() if isinstance(node, FunctionNode)]
    nodes = [(path, node) for path, node in nodes if len(node.children) < space.max_children]
    if not nodes:
        return None
    path, node = nodes[int(rng.integers(len(nodes)))]
    leaf = space.draw_leaf(rng, len(node.children) + 1)
    if space.scale is not None:
        leaf = Leaf(leaf.feature, np.zeros_like(leaf.numbers))
    return genome.replaced(path, node.with_children((*node.children, leaf)))


def change_activation(genome: Genome, space: Space, rng: np.random.Generator) -> Genome | None:
    """Redraw the activation of a node; it keeps bias and edge."""
    nodes: list[tuple[Path, FunctionNode]] = [((i,), node) for i, node in enumerate(genome.outputs)]
    nodes += [(path, node) for path, node in genome.places() if isinstance(node, FunctionNode)]
    path, node = nodes[int(rng.integers(len(nodes)))]
    drawn = space.draw_node(rng, node.children, len(path) == 1)
    drawn.numbers[:2] = node.numbers[:2]
    return genome.replaced(path, drawn)


#: The mutations by name, in the order of the paper.
MUTATIONS: dict[str, Mutation] = {
    "change_leaf": change_leaf,
    "change_all_leaves": change_all_leaves,
    "replace_subtree": replace_subtree,
    "grow_leaf": grow_leaf,
    "drop_child": drop_child,
    "shrink": shrink,
    "add_leaf": add_leaf,
    "change_activation": change_activation,
}


def mutate(
    genome: Genome, space: Space, rng: np.random.Generator, names: tuple[str, ...]
) -> Genome:
    """Return a tree after one of the named mutations, drawn at random.

    Examples
    --------
    >>> import numpy as np
    >>> rng, space = np.random.default_rng(0), Space(n_inputs=4)
    >>> mutate(random_genome(space, rng), space, rng, ("shrink",)).depth <= 5
    True
    """
    for _ in range(TRIES):
        changed = MUTATIONS[names[int(rng.integers(len(names)))]](genome, space, rng)
        if changed is not None and space.holds(changed):
            return changed
    return genome


def _depth(path: Path, space: Space) -> int:
    """Return the depth of a place: that of an output is 0 or 1."""
    return len(path) - 1 + space.top_depth
