"""Links as C code: functions of all outputs of a tree together."""

from __future__ import annotations

from collections import Counter
from itertools import count

from bneuralt.export.c.mathematics import CMath
from bneuralt.expressions import OUTPUTS, Expression, variable
from bneuralt.expressions.operations import VECTORS

__all__ = ["link_function"]


def link_function(
    link: Expression, n_outputs: int, name: str, math: CMath, arguments: str = ""
) -> str:
    """Return a C function that turns outputs into predictions, in place.

    Parameters
    ----------
    link : Expression
        A vector expression of `OUTPUTS`. Other variables have the C code of their entry k as their
        names.
    n_outputs : int
    name : str
        Of the function.
    math : CMath
    arguments : str
        Declarations of further arguments of the function.

    Examples
    --------
    >>> from bneuralt.expressions import total
    >>> print(link_function(OUTPUTS / total(OUTPUTS), 3, "share", CMath("m", False, True)))
    static inline void share(double *y)
    {
        int k;
        double s0 = 0;
        for (k = 0; k < 3; k++)
            s0 += y[k];
        for (k = 0; k < 3; k++)
            y[k] = y[k] / s0;
    }
    <BLANKLINE>
    """
    writer = _LinkWriter(link, n_outputs, math)
    writer.loop(f"y[k] = {writer.text(link)};")
    body = "\n".join(f"    {line}" for line in ["int k;", *writer.lines])
    declared = ", ".join([f"{math.type} *y", arguments] if arguments else [f"{math.type} *y"])
    return f"static inline void {name}({declared})\n{{\n{body}\n}}\n"


class _LinkWriter:
    """Writes a loop for each operation on a vector, and for each part that is used twice."""

    def __init__(self, link: Expression, n_outputs: int, math: CMath) -> None:
        self.math, self.n = math, n_outputs
        self.lines: list[str] = []
        self.uses = count_uses(link)
        self.numbers = count()
        #: The entry k of what loops have computed.
        self.results: dict[Expression, Expression] = {OUTPUTS: variable("y[k]")}

    def loop(self, *lines: str) -> None:
        """Write a loop over the outputs."""
        head = f"for (k = 0; k < {self.n}; k++)"
        self.lines += [head, *(f"    {line}" for line in lines)]

    def text(self, expression: Expression) -> str:
        """Return the entry k of an expression, after the loops that compute its parts."""
        return self.math.text(self._entry(expression))

    def _entry(self, expression: Expression) -> Expression:
        """Return an expression with the results of loops in place of its parts."""
        if expression not in self.results:
            if expression.operation in VECTORS:
                self.results[expression] = variable(self._vector_operation(expression))
            else:
                parts = tuple(map(self._entry, expression.arguments))
                entry = Expression(expression.operation, parts, expression.value)
                if self.uses[expression] < 2 or not parts:
                    return entry
                self.results[expression] = variable(self._stored(entry))
        return self.results[expression]

    def _new(self, letter: str, rest: str) -> str:
        name = f"{letter}{next(self.numbers)}"
        self.lines.append(f"{self.math.type} {name}{rest};")
        return name

    def _stored(self, entry: Expression) -> str:
        """Write the entries of an expression to an array."""
        name = self._new("v", f"[{self.n}]")
        self.loop(f"{name}[k] = {self.math.text(entry)};")
        return f"{name}[k]"

    def _vector_operation(self, expression: Expression) -> str:
        entry = self._entry(expression.arguments[0])
        if expression.operation == "ordered":
            return self._ordered(entry, expression.value)
        if expression.operation == "total":
            name = self._new("s", " = 0")
            self.loop(f"{name} += {self.math.text(entry)};")
            return name
        value = entry.value if entry.operation == "variable" else self._stored(entry)
        name = self._new("s", " = 0")
        self.loop(f"if (k == 0 || {value} > {name})", f"    {name} = {value};")
        return name

    def _ordered(self, entry: Expression, places: tuple[int, ...]) -> str:
        """Write the entries in ascending order to an array."""
        name = self._stored(entry).removesuffix("[k]")
        listed = ", ".join(map(str, places))
        self.lines += [
            f"static const int {name}_order[{self.n}] = {{{listed}}};",
            f"for (k = 1; k < {self.n}; k++) {{",
            f"    const {self.math.type} value = {name}[k];",
            "    int j;",
            f"    for (j = k; j > 0 && {name}[j - 1] > value; j--)",
            f"        {name}[j] = {name}[j - 1];",
            f"    {name}[j] = value;",
            "}",
        ]
        return f"{name}[{name}_order[k]]"


def count_uses(expression: Expression) -> Counter[Expression]:
    """Return how often each part of an expression is an argument; equal parts count as one."""
    uses: Counter[Expression] = Counter()
    waiting = [expression]
    while waiting:
        for part in waiting.pop().arguments:
            uses[part] += 1
            if uses[part] == 1:
                waiting.append(part)
    return uses
