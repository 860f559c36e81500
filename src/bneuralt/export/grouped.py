"""A pass over the statements of a program: those of one form become an operation on vectors.

Targets that compute with matrices print groups in place of statements. Every weighted sum gets a
statement of its own, so that a group is either a matrix product, the largest or the ordered ones of
several values, or one expression with vectors in place of its variables and constants.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import NamedTuple

from bneuralt.export.program import Statement
from bneuralt.expressions import Expression, variable
from bneuralt.expressions.operations import CELLS

__all__ = ["GATHERING", "Group", "form", "grouped"]

#: Operations whose arguments are listed in full, and are names.
GATHERING = ("weighted_sum", "largest", "ordered")


class Group(NamedTuple):
    """Statements of one form, which do not depend on each other.

    Attributes
    ----------
    names : list of str
    values : list of Expression
        Elementwise ones have the variables "0", "1", ...; others have names as arguments.
    arguments : list of tuple of str
        The names for which these variables stand, for each statement; otherwise the arguments.
    """

    names: list[str]
    values: list[Expression]
    arguments: list[tuple[str, ...]]

    @property
    def operation(self) -> str:
        """One of `GATHERING`, or "" for elementwise expressions."""
        operation = self.values[0].operation
        return operation if operation in GATHERING else ""


def form(expression: Expression) -> Hashable:
    """Return a key that is equal for expressions that differ in their numbers or cells only.

    Examples
    --------
    >>> from bneuralt.expressions import tanh
    >>> z = variable("z")
    >>> form(2 * tanh(z)) == form(3 * tanh(z)), form(2 * tanh(z)) == form(2 * z)
    (True, False)
    """
    if expression.is_constant or expression.operation in CELLS:
        return expression.operation
    return expression.operation, expression.value, tuple(map(form, expression.arguments))


def grouped(statements: Iterable[Statement]) -> list[Group]:
    """Return groups of statements, each after those that it needs, and as late as possible.

    The values of a group are then needed by few groups, as in the levels of a tree.

    Parameters
    ----------
    statements : iterable of Statement
        In the order of evaluation.

    Examples
    --------
    >>> from bneuralt.export.program import weighted_sum
    >>> from bneuralt.expressions import tanh
    >>> a, b = (weighted_sum(1.0, [(w, variable("i"))]) for w in (2.0, 3.0))
    >>> groups = grouped([Statement("x", tanh(a)), Statement("y", tanh(b))])
    >>> [(group.operation, group.names) for group in groups]
    [('weighted_sum', ['x.0', 'y.0']), ('', ['x', 'y'])]
    """
    simple = [each for s in statements for each in _simple(s.name, s.value)]
    before_end: dict[str, int] = {}  # how many groups must follow a value
    for name, value in reversed(simple):
        n = before_end.setdefault(name, 0)
        for part in value.variables:
            before_end[part] = max(before_end.get(part, 0), n + 1)
    groups: dict[tuple[int, Hashable], Group] = {}
    for name, value in simple:
        if value.operation in GATHERING:
            arguments = tuple(part.value for part in value.arguments)
            key: Hashable = value.operation
            if key != "weighted_sum":
                key = key, value.value, len(arguments)
        else:
            value, arguments = _with_slots(value)
            # Hidden nodes are apart from outputs, whose small numbers count.
            key = form(value), name[0] == "n"
        group = groups.setdefault((before_end[name], key), Group([], [], []))
        group.names.append(name)
        group.values.append(value)
        group.arguments.append(arguments)
    ordered = sorted(groups.items(), key=lambda pair: -pair[0][0])
    return [group for _, group in ordered]


def _simple(name: str, value: Expression) -> Iterator[tuple[str, Expression]]:
    """Yield a statement as several, in which arguments of `GATHERING` operations are names."""
    parts: list[tuple[str, Expression]] = []

    def named(part: Expression) -> Expression:
        if part.operation == "variable":
            return part
        parts.append((f"{name}.{len(parts)}", part))
        return variable(parts[-1][0])

    def simple(part: Expression, is_root: bool) -> Expression:
        if not part.arguments:
            return part
        gathers = part.operation in GATHERING
        arguments = [simple(each, False) for each in part.arguments]
        part = part.of([named(each) for each in arguments] if gathers else arguments)
        return named(part) if gathers and not is_root else part

    result = simple(value, True)
    yield from parts
    yield name, result


def _with_slots(expression: Expression) -> tuple[Expression, tuple[str, ...]]:
    """Return an expression of the variables "0", "1", ..., and what they stand for."""
    slots: dict[str, str] = {}

    def slotted(part: Expression) -> Expression:
        if part.operation == "variable":
            return variable(slots.setdefault(part.value, str(len(slots))))
        return part.of([slotted(each) for each in part.arguments])

    return slotted(expression), tuple(slots)
