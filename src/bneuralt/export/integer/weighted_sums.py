"""Weighted sums with integer weights: rounding, largest magnitudes and errors.

A sum is the argument of the activation of a node. Its terms are inputs and values of other nodes.
The range and the error of the sum follow from those of its terms. Of the inputs of a category,
only one is not 0.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

from bneuralt.export.activation_forms import ActivationForm
from bneuralt.export.integer.formats import IntegerFormat
from bneuralt.export.integer.shared_errors import Interval, SharedError, sum_of_errors
from bneuralt.export.nodes import Node

__all__ = ["SLACK", "RoundedSum", "Term", "WeightedSum"]

#: Factor of bounds for the rounding of float64.
SLACK = 1.0 + 1e-9


class Term(NamedTuple):
    """An input, or the value of a function node that was converted before.

    Its value is ``offset + unit * integer`` with an integer of magnitude `top` at most. The real
    value is between `low` and `high`. `input` is the position of an input, -1 for a node.

    Inputs of the same `group` are 0 or 1, and no more than one of them is 1. If a node has as many
    of them as `group_size`, one is 1. For an unknown category, the integer is `share`.
    """

    offset: float
    unit: float
    top: int
    low: float
    high: float
    error: SharedError
    input: int = -1
    group: int = -1
    group_size: int = 0
    share: int = 0


class WeightedSum:
    """The argument of an activation, in real numbers.

    Parameters
    ----------
    node : Node
    form : ActivationForm
        The activation.
    bias : float
    weights : list of float
    terms : list of Term
    """

    def __init__(
        self,
        node: Node,
        form: ActivationForm,
        bias: float,
        weights: list[float],
        terms: list[Term],
    ) -> None:
        self.node, self.form, self.bias = node, form, bias
        self.weights, self.terms = weights, terms
        self._single = [i for i, term in enumerate(terms) if term.group < 0]
        groups: dict[int, list[int]] = {}
        for i, term in enumerate(terms):
            if term.group >= 0:
                groups.setdefault(term.group, []).append(i)
        self._groups = list(groups.values())

    def shifted(self, by: float) -> WeightedSum:
        """Return the sum plus a number."""
        return WeightedSum(self.node, self.form, self.bias + by, self.weights, self.terms)

    @cached_property
    def middle(self) -> float:
        """The sum where all integers are 0."""
        return self.bias + sum(
            w * term.offset for w, term in zip(self.weights, self.terms, strict=True)
        )

    @cached_property
    def range(self) -> Interval:
        """The smallest and the largest sum over the training range."""
        low, high = self._spread(self.weights, self._single, lambda term: (term.low, term.high))
        return self.bias + low, self.bias + high

    @cached_property
    def reach(self) -> float:
        """The largest magnitude of the sum, whatever the inputs are."""
        per_integer = [w * t.unit for w, t in zip(self.weights, self.terms, strict=True)]
        return abs(self.middle) + self._reach(per_integer)

    def least_unit(self, format: IntegerFormat) -> float:
        """Return the smallest unit in which the integers fit."""
        pairs = zip(self.weights, self.terms, strict=True)
        most = max((abs(w * term.unit) for w, term in pairs), default=0.0)
        return max(most / format.top, self.reach / (format.top_sum - 1), 1e-290) * SLACK

    def rounded(self, unit: float, flat: float = 1.0) -> RoundedSum:
        """Return the sum with integer weights in a unit.

        The bias compensates the mean error of the weights. The sum is multiplied by `flat`.
        """
        weights = [
            round(flat * w * term.unit / unit)
            for w, term in zip(self.weights, self.terms, strict=True)
        ]
        effective = [
            weight * unit / term.unit if term.unit else w
            for weight, w, term in zip(weights, self.weights, self.terms, strict=True)
        ]
        too_much = [e - w for e, w in zip(effective, self.weights, strict=True)]
        error = self._error(effective, too_much)
        low, high = error.range
        center = (low + high) / 2 if flat == 1.0 else 0.0
        bias = round((flat * self.middle - center) / unit)
        constant = bias * unit - self.middle
        reach = abs(bias) + int(self._reach([float(weight) for weight in weights]))
        return RoundedSum(bias, weights, reach, error.plus(constant, constant))

    def _error(self, effective: list[float], too_much: list[float]) -> SharedError:
        """Return the error of the sum, from those of its terms and of its weights."""
        errors = [self.terms[i].error.times((effective[i], effective[i])) for i in self._single]
        nodes = []
        for i in self._single:
            term = self.terms[i]
            if term.input < 0:
                nodes.append(i)
            else:
                most = too_much[i] * (term.high - term.low) / 2
                errors.append(SharedError(factors={("position", term.input): (most, most)}))
        by_weights = self._spread(too_much, nodes, lambda t: (t.low - t.offset, t.high - t.offset))
        return sum_of_errors([SharedError(by_weights), *errors])

    def _spread(
        self, factors: list[float], single: list[int], ends: Callable[[Term], Interval]
    ) -> Interval:
        """Return the range of the sum of terms times factors, some of them between their ends.

        All groups are part of the sum.
        """
        low = high = 0.0
        for i in single:
            products = sorted(factors[i] * end for end in ends(self.terms[i]))
            low += products[0]
            high += products[1]
        for group in self._groups:
            choices = [factors[i] for i in group]
            if len(group) != self.terms[group[0]].group_size:
                choices.append(0.0)
            low += min(choices)
            high += max(choices)
        return low, high

    def _reach(self, factors: list[float]) -> float:
        """Return the largest magnitude of the sum of integers times factors."""
        reach = sum(abs(factors[i]) * self.terms[i].top for i in self._single)
        for group in self._groups:
            one = max(abs(factors[i]) * self.terms[i].top for i in group)
            reach += max(one, sum(abs(factors[i]) * self.terms[i].share for i in group))
        return reach


class RoundedSum(NamedTuple):
    """A weighted sum with integers.

    Attributes
    ----------
    bias : int
    weights : list of int
    reach : int
        The largest magnitude of the sum and of all its parts, whatever the inputs are.
    error : SharedError
        The difference to the real sum, over the training range.
    """

    bias: int
    weights: list[int]
    reach: int
    error: SharedError

    def fits(self, format: IntegerFormat) -> bool:
        """Return whether nothing can overflow."""
        most = max((abs(weight) for weight in self.weights), default=0)
        return self.reach <= format.top_sum and most <= format.top
