"""Formulas as data: a small closed set of operations that every export translates.

Activations, links and the inputs that a column becomes are expressions. `evaluate` computes them
with NumPy; `bneuralt.export` translates them to other languages, one function or template for each
operation. Operations on vectors (`largest`, `total`, `ordered`) are for links, which take all
outputs of a tree together; operations on cells (`number`, `lookup`, `date_part`) are for inputs.
"""

from bneuralt.expressions.analysis import Affine, Direction, affine, direction, interval
from bneuralt.expressions.bend_points import distinct_knots, knots
from bneuralt.expressions.derivatives import derivative
from bneuralt.expressions.making import (
    NUMBER,
    OUTPUTS,
    Expression,
    Operand,
    absolute,
    constant,
    date_part,
    differs,
    exp,
    greater,
    if_missing,
    is_missing,
    largest,
    log,
    lookup,
    maximum,
    minimum,
    ordered,
    select,
    sigmoid,
    sqrt,
    square,
    substitute,
    tanh,
    total,
    variable,
    without_order,
)
from bneuralt.expressions.numerics import evaluate, is_elementwise, slope, vector_jacobian
from bneuralt.expressions.operations import OPERATIONS, Lookup

__all__ = [
    "NUMBER",
    "OPERATIONS",
    "OUTPUTS",
    "Affine",
    "Direction",
    "Expression",
    "Lookup",
    "Operand",
    "absolute",
    "affine",
    "constant",
    "date_part",
    "derivative",
    "differs",
    "direction",
    "distinct_knots",
    "evaluate",
    "exp",
    "greater",
    "if_missing",
    "interval",
    "is_elementwise",
    "is_missing",
    "knots",
    "largest",
    "log",
    "lookup",
    "maximum",
    "minimum",
    "ordered",
    "select",
    "sigmoid",
    "slope",
    "sqrt",
    "square",
    "substitute",
    "tanh",
    "total",
    "variable",
    "vector_jacobian",
    "without_order",
]
