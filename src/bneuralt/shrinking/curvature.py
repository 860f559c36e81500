"""The Gauss-Newton matrix of a loss with respect to all weights of a tree.

For every loss of this library, the second derivative with respect to the outputs is
``diag(diagonal) - common common'``, and each weight influences one output only. So the matrix of
all weights is the sum of one block for each output and, for a softmax, a product of rank n_rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.training.losses import Loss
from bneuralt.tree import NeuralTree
from bneuralt.tree.contributions import jacobian
from bneuralt.tree.walk import outputs_above

__all__ = ["WeightCurvature", "outputs_of_parameters"]


class WeightCurvature(NamedTuple):
    """Derivatives of outputs by weights, and second derivatives of the loss by outputs.

    Attributes
    ----------
    jacobian : array of shape (n_rows, n_parameters)
    output : int array of shape (n_parameters,)
        The output that each parameter influences.
    diagonal, common : array of shape (n_rows, n_outputs), or None
        The second derivatives are ``diag(diagonal) - common common'``.
    weight : array of shape (n_rows,)
        Weights of the rows, whose sum is 1.
    """

    jacobian: FloatArray
    output: IntArray
    diagonal: FloatArray
    common: FloatArray | None
    weight: FloatArray

    @classmethod
    def of(cls, tree: NeuralTree, X: Array, loss: Loss, weight: FloatArray) -> WeightCurvature:
        """Return the curvature of the mean loss of a tree on some rows."""
        diagonal, common = loss.curvature(tree.forward(X).astype(np.float64))
        return cls(
            jacobian(tree, X), outputs_of_parameters(tree), diagonal, common, weight / weight.sum()
        )

    def matrix(self) -> FloatArray:
        """Return the Gauss-Newton matrix of all weights."""
        root = np.sqrt(self.weight)[:, np.newaxis]
        scaled = self.jacobian * (root * np.sqrt(self.diagonal))[:, self.output]
        n = self.jacobian.shape[1]
        matrix = np.zeros((n, n))
        for k in range(self.diagonal.shape[1]):
            block = np.flatnonzero(self.output == k)
            part = scaled[:, block]
            matrix[np.ix_(block, block)] = part.T @ part
        if self.common is not None:
            mixed = self.jacobian * (root * self.common)[:, self.output]
            matrix -= mixed.T @ mixed
        return matrix

    def slopes_along(self, change: FloatArray, output: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return second derivatives of the loss along changes of outputs.

        Parameters
        ----------
        change : array of shape (n_rows, n_changes)
            Each column is a change of one output.
        output : int array of shape (n_changes,)
            The output.

        Returns
        -------
        gradients : array of shape (n_parameters, n_changes)
            Mixed second derivatives by weights and change.
        curvatures : array of shape (n_changes,)
            Second derivatives by the change.
        """
        weighted = change * self.weight[:, np.newaxis]
        diagonal = self.diagonal[:, output]
        same = self.output[:, np.newaxis] == output
        gradients = np.where(same, self.jacobian.T @ (diagonal * weighted), 0.0)
        if self.common is not None:
            mixed = self.jacobian * self.common[:, self.output]
            gradients -= mixed.T @ (self.common[:, output] * weighted)
            diagonal = diagonal - np.square(self.common[:, output])
        return gradients, (diagonal * weighted * change).sum(axis=0)


def outputs_of_parameters(tree: NeuralTree) -> IntArray:
    """Return the output that each parameter influences.

    Examples
    --------
    >>> outputs_of_parameters(NeuralTree(1, 2, [-1, -1], [0, 0], [0, 1], [0, 0], [0.0] * 4))
    array([0, 1, 0, 1])
    """
    nodes = outputs_above(tree.parent)
    trained = []
    if tree.trains_activations:
        trained.append(np.repeat(nodes, np.diff(tree.activation_parameter_start)))
    return np.concatenate([nodes, nodes[tree.n_outputs :], nodes[tree.leaf_parent], *trained])
