"""Readable reference implementation of the core in plain Python, with which tests compare it.

The compiled core computes the same numbers many thousand times faster. Here a tree consists of
`TreeNode` objects, and the passes over it are recursive:

- forward, *post-order*: the value of a node follows from the values of its children,

      h = phi(b + sum of w_c h_c over the children c),       h = x_i for a leaf of input i;

- backward, *pre-order*: the error term of a node follows from that of its parent,

      delta = phi'(h) * dE/dh                  at an output,
      delta = phi'(h) * w * delta_parent       below, w being the edge to the parent,

  and the gradient is dE/db = delta for a bias, dE/dw = delta_parent * h for an edge.

All trained numbers are in one vector, theta, in the order of `NeuralTree.parameters`; a node has
the positions of its numbers.
"""

from tests.reference.activations import PARAMETER_SLOPES, SLOPE, VALUE
from tests.reference.attributions import (
    integrated_gradients,
    jacobian,
    rescaled_contributions,
)
from tests.reference.growth import grow
from tests.reference.idle import contribution_bounds
from tests.reference.lines import inputs_of_rows, limited_line
from tests.reference.losses import LOSS, LOSS_GRADIENT, targets
from tests.reference.moving import LeafMover, Moved
from tests.reference.optimizers import RULE, Memory, viewpoint
from tests.reference.passes import (
    Example,
    backward_pass,
    batch_gradient,
    batch_loss,
    examples,
    forward,
    forward_pass,
    gradient,
    mean_gradient,
)
from tests.reference.signs import require_signs, weight_signs
from tests.reference.training import clipped, learning_rates, train
from tests.reference.tree_nodes import TreeNode, build

__all__ = [
    "LOSS",
    "LOSS_GRADIENT",
    "PARAMETER_SLOPES",
    "RULE",
    "SLOPE",
    "VALUE",
    "Example",
    "LeafMover",
    "Memory",
    "Moved",
    "TreeNode",
    "backward_pass",
    "batch_gradient",
    "batch_loss",
    "build",
    "clipped",
    "contribution_bounds",
    "examples",
    "forward",
    "forward_pass",
    "gradient",
    "grow",
    "inputs_of_rows",
    "integrated_gradients",
    "jacobian",
    "learning_rates",
    "limited_line",
    "mean_gradient",
    "require_signs",
    "rescaled_contributions",
    "targets",
    "train",
    "viewpoint",
    "weight_signs",
]
