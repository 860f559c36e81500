"""Errors and diversity of a population of trees, computed for all trees at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bneuralt.evolve import Genome
from bneuralt.tree import NeuralTree, forward_many
from bneuralt.tree.activations import NAMES
from bneuralt_paper._typing import Array, FloatArray

__all__ = ["OBJECTIVES", "PopulationScorer", "check_objectives", "diversities", "weight_vectors"]

#: Objectives of a search, which are minimised: the error on the training rows, the number of nodes,
#: and the similarity to the other trees.
OBJECTIVES = ("error", "size", "diversity")

#: Number of outputs computed at a time, so that they stay in the cache of the processor.
MOST_OUTPUTS = 400_000


def weight_vectors(tree: NeuralTree, vectors: FloatArray) -> list[Any]:
    """Return compiled trees of one structure, one for each row of an array of weights.

    Examples
    --------
    >>> import numpy as np
    >>> from bneuralt import NeuralTree, forward_many
    >>> tree = NeuralTree.random(4, 3, random_state=0)
    >>> trees = weight_vectors(tree, np.zeros((10, tree.n_parameters)))
    >>> forward_many(trees, np.ones((5, 4))).shape
    (10, 5, 3)
    """
    return [tree.compiled(weights) for weights in np.ascontiguousarray(vectors, dtype=tree.dtype)]


@dataclass(frozen=True, eq=False)
class PopulationScorer:
    """Scoring of trees on the rows of a table.

    Parameters
    ----------
    X : array of shape (n_rows, n_inputs)
        Scaled inputs.
    y : int array of classes, or float array of targets
        Scaled targets, of shape (n_rows,) or (n_rows, n_outputs).
    weight : array of shape (n_rows,)
    measure : {"squared_error", "error_rate"}
        The mean squared error of the outputs (of classifiers: against 1 for the class and 0 for the
        others); or the share of rows that are in the wrong class, with the squared error to
        order trees of equal error rates.
    n_threads : int
        It never changes a result.
    """

    X: Array
    y: Array
    weight: FloatArray
    measure: str = "squared_error"
    n_threads: int = 1

    @property
    def is_classification(self) -> bool:
        """Whether targets are classes."""
        return bool(self.y.dtype.kind in "iu")

    @property
    def n_outputs(self) -> int:
        """Number of outputs of a tree: classes or targets."""
        if self.is_classification:
            return int(self.y.max()) + 1
        return 1 if self.y.ndim == 1 else int(self.y.shape[1])

    def errors(self, trees: Sequence[Any]) -> FloatArray:
        """Return the error of each tree, compiled or not; infinite where outputs overflow.

        Examples
        --------
        >>> import numpy as np
        >>> from bneuralt import NeuralTree
        >>> tree = NeuralTree(1, 1, [-1], [0], [0], [0], [0.0, 1.0])
        >>> scorer = PopulationScorer(np.array([[1.0], [2.0]]), np.array([1.0, 1.0]), np.ones(2))
        >>> scorer.errors([tree])
        array([0.5])
        """
        step = max(1, MOST_OUTPUTS // (len(self.y) * self.n_outputs))
        errors = np.empty(len(trees))
        for start in range(0, len(trees), step):
            outputs = forward_many(trees[start : start + step], self.X, self.n_threads)
            with np.errstate(over="ignore", invalid="ignore"):
                errors[start : start + step] = self._errors_of(outputs)
        return np.where(np.isnan(errors), np.inf, errors)

    def _errors_of(self, outputs: Array) -> Array:
        share: Array = (self.weight / self.weight.sum()).astype(outputs.dtype)
        if not self.is_classification:
            target = self.y.reshape(len(self.y), -1).astype(outputs.dtype)
            return (np.square(outputs - target).mean(axis=2) @ share).astype(np.float64)
        rows = np.arange(len(self.y))
        # sum of (o - t)^2 with a t that is 1 for one class: sum of o^2, less 2 o_y, plus 1
        of_class = outputs[:, rows, self.y]
        square = np.einsum("trk,trk->tr", outputs, outputs)
        squared = ((square - 2 * of_class + 1) @ share).astype(np.float64) / outputs.shape[2]
        if self.measure == "squared_error":
            return squared
        # as argmax decides: of equal outputs, the first class is predicted
        wrong = (outputs.argmax(axis=2) != self.y).astype(outputs.dtype)
        return (wrong @ share).astype(np.float64) + 1e-3 * squared / (1 + squared)


def diversities(genomes: Sequence[Genome]) -> FloatArray:
    """Return the mean distance of each tree from the others, from 0 to 1.

    It is the mean over the other trees of the Jaccard distance between the sets of inputs and
    activations that two trees use.
    """
    n_inputs = genomes[0].n_inputs
    uses = np.zeros((len(genomes), n_inputs + len(NAMES)))
    for uses_of_tree, genome in zip(uses, genomes, strict=True):
        for node in genome.nodes():
            uses_of_tree[n_inputs + node.activation] = 1.0
            for child in node.children:
                if not hasattr(child, "children"):  # a leaf
                    uses_of_tree[child.feature] = 1.0
    common = uses @ uses.T
    count = uses.sum(axis=1)
    distance = 1.0 - common / (count[:, np.newaxis] + count - common)
    diversity: FloatArray = distance.sum(axis=1) / max(1, len(genomes) - 1)
    return diversity


def check_objectives(objectives: Any) -> tuple[str, ...]:
    """Return the objectives of a search, checked."""
    names = (objectives,) if isinstance(objectives, str) else tuple(objectives)
    unknown = [name for name in names if name not in OBJECTIVES]
    if unknown or not names or len(set(names)) < len(names) or names[0] != "error":
        raise ValueError(
            f"objectives={objectives!r} must begin with 'error' and have no others than "
            f"{', '.join(map(repr, OBJECTIVES))}, each once"
            + (f"; {unknown[0]!r} is not known" if unknown else "")
        )
    return names
