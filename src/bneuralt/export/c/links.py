"""Links as C code: functions of all outputs of a tree together."""

from __future__ import annotations

from collections import Counter
from itertools import count

from bneuralt.export.c.mathematics import CMath
from bneuralt.expressions import OUTPUTS, Expression
from bneuralt.expressions.operations import VECTORS

__all__ = ["link_function"]


def link_function(link: Expression, n_outputs: int, name: str, math: CMath) -> str:
    """Return a C function that turns outputs into predictions, in place.

    Parameters
    ----------
    link : Expression
        A vector expression of `OUTPUTS`.
    n_outputs : int
    name : str
        Of the function.
    math : CMath

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
    return _LinkWriter(n_outputs, math).function(link, name)


class _LinkWriter:
    """Writes loops for the operations that take a whole vector, and for what is used twice."""

    def __init__(self, n_outputs: int, math: CMath) -> None:
        self.math, self.n = math, n_outputs
        self.loop = f"for (k = 0; k < {n_outputs}; k++)"
        self.lines: list[str] = []
        self.names: dict[Expression, str] = {OUTPUTS: "y[k]"}
        self.uses: Counter[Expression] = Counter()
        self.numbers = count()

    def function(self, link: Expression, name: str) -> str:
        self._count(link)
        result = self._text(link)
        self.lines += [self.loop, f"    y[k] = {result};"]
        inner = "\n".join(f"    {line}" for line in ["int k;", *self.lines])
        return f"static inline void {name}({self.math.type} *y)\n{{\n{inner}\n}}\n"

    def _count(self, expression: Expression) -> None:
        self.uses[expression] += 1
        if self.uses[expression] == 1:
            for part in expression.arguments:
                self._count(part)

    def _text(self, expression: Expression) -> str:
        """Return the entry k of an expression, for which loops may have been written before."""
        return self.math.text(expression, self._name)

    def _name(self, expression: Expression) -> str | None:
        """Return the name of what a loop has computed; None for what needs no loop."""
        if expression in self.names:
            return self.names[expression]
        if expression.operation in VECTORS:
            self.names[expression] = self._vector_operation(expression)
        elif self.uses[expression] > 1 and expression.arguments:
            self.uses[expression] = 0  # computed here, and named from then on
            self.names[expression] = self._stored(expression)
        return self.names.get(expression)

    def _new(self, letter: str, size: str = "", value: str = "") -> str:
        name = f"{letter}{next(self.numbers)}"
        self.lines.append(f"{self.math.type} {name}{size}{value};")
        return name

    def _stored(self, expression: Expression, is_copy: bool = False) -> str:
        """Write the entries of an expression to an array."""
        text = self._text(expression)
        if expression in self.names and not is_copy:
            return text
        name = self._new("v", f"[{self.n}]")
        self.lines += [self.loop, f"    {name}[k] = {text};"]
        return f"{name}[k]"

    def _vector_operation(self, expression: Expression) -> str:
        (vector,) = expression.arguments
        if expression.operation == "total":
            text = self._text(vector)
            name = self._new("s", value=" = 0")
            self.lines += [self.loop, f"    {name} += {text};"]
            return name
        if expression.operation == "largest":
            text = self._stored(vector)
            name = self._new("s", value=" = 0")
            self.lines += [self.loop, f"    if (k == 0 || {text} > {name})"]
            self.lines.append(f"        {name} = {text};")
            return name
        return self._ordered(vector, expression.value)

    def _ordered(self, vector: Expression, places: tuple[int, ...]) -> str:
        """Write the entries in ascending order to an array."""
        name = self._stored(vector, is_copy=True).removesuffix("[k]")
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
