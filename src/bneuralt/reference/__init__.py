"""The algorithms of the paper in plain Python: slow, readable, and what the tests trust.

The compiled core computes the same numbers many thousand times faster. Here a tree is made of
`Node` objects and the passes over it are recursive, as one would write them on a blackboard:

- forward, *post-order*: the value of a node follows from the values of its children,

      h = phi(b + sum of w_c h_c over the children c),       h = x_i for a leaf of input i;

- backward, *pre-order*: the error term of a node follows from that of its parent,

      delta = phi'(h) * dE/dh                  at an output,
      delta = phi'(h) * w * delta_parent       below, w being the edge to the parent,

  and the gradient is dE/db = delta for a bias, dE/dw = delta_parent * h for an edge.

All numbers that are trained stand in one vector, theta, in the order of
`NeuralTree.parameters`; a node knows the places of its own.
"""

from bneuralt.reference.activations import PARAMETER_SLOPES, SLOPE, VALUE
from bneuralt.reference.attributions import (
    integrated_gradients,
    jacobian,
    rescaled_contributions,
)
from bneuralt.reference.losses import LOSS, LOSS_GRADIENT, targets
from bneuralt.reference.moving import LeafMover, Moved
from bneuralt.reference.nodes import Node, build
from bneuralt.reference.optimizers import RULE, Memory, viewpoint
from bneuralt.reference.passes import (
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
from bneuralt.reference.signs import require_signs, wanted_signs
from bneuralt.reference.training import clipped, learning_rates, train

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
    "Node",
    "backward_pass",
    "batch_gradient",
    "batch_loss",
    "build",
    "clipped",
    "examples",
    "forward",
    "forward_pass",
    "gradient",
    "integrated_gradients",
    "jacobian",
    "learning_rates",
    "mean_gradient",
    "require_signs",
    "rescaled_contributions",
    "targets",
    "train",
    "viewpoint",
    "wanted_signs",
]
