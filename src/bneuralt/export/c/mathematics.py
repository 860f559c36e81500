"""Expressions as C code: a template for each operation, and the functions that C lacks."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from string import Template

import numpy as np

from bneuralt.export.c.literals import real
from bneuralt.expressions import Expression, is_missing, select
from bneuralt.expressions.operations import EXP_LIMIT

__all__ = ["CMath"]

#: How tightly operators bind: ?:, comparisons, sums, products, and all else.
_CHOICE, _COMPARISON, _SUM, _PRODUCT, _ATOM = range(5)

_OPERATORS = {
    "add": ("+", _SUM),
    "subtract": ("-", _SUM),
    "multiply": ("*", _PRODUCT),
    "divide": ("/", _PRODUCT),
    "greater": (">", _COMPARISON),
}

#: Operations that are functions of <math.h>; with `libm=False` the code has its own.
_LIBRARY = ("exp", "log", "sqrt", "tanh")

#: What the function of an operation is called, if not as the operation.
_NAMES = {"exp": "limited_exp"}

_OWN = {
    "exp": """\
/* exp without a library: x = k ln 2 + r, a polynomial for exp(r), and k doublings or halvings. */
static inline $real ${NAME}_exp($real x)
{
    $real r, p, f;
    int k;
    if (!(x > $lowest))
        return x < 0 ? 0 : x;
    if (x > $highest)
        return $infinity * x; /* overflows as exp does */
    k = (int)(x * $per_ln2 + (x < 0 ? $minus_half : $half));
    r = x - ($real)k * $ln2_high;
    r -= ($real)k * $ln2_low;
    p = $exp_series;
    f = k < 0 ? $half : $two;
    for (k = k < 0 ? -k : k; k; k >>= 1) {
        if (k & 1)
            p *= f;
        f *= f;
    }
    return p;
}
""",
    "log": """\
/* log without a library: x = 2^k m, and a series of (m - 1) / (m + 1). */
static inline $real ${NAME}_log($real x)
{
    $real s, q;
    int k = 0;
    if (!(x > 0) || x > $infinity)
        return x > 0 ? x : x == 0 ? -$infinity * $two : (x - x) / (x - x);
    for (; x > $three_halves; k++)
        x *= $half;
    for (; x < $three_quarters; k--)
        x *= $two;
    s = (x - $one) / (x + $one);
    q = s * s;
    return ($real)k * $ln2 + $two * s * $log_series;
}
""",
    "sqrt": """\
/* sqrt without a library: x = 4^k m, and Newton's method. */
static inline $real ${NAME}_sqrt($real x)
{
    $real scale = $one, r;
    int i;
    if (!(x > 0) || x > $infinity)
        return x < 0 ? (x - x) / (x - x) : x;
    for (; x > 4; scale *= $two)
        x *= $quarter;
    for (; x < 1; scale *= $half)
        x *= 4;
    r = (x + $one) * $half;
    for (i = 0; i < 6; i++)
        r = (r + x / r) * $half;
    return r * scale;
}
""",
    "tanh": """\
static inline $real ${NAME}_tanh($real x)
{
    const $real e = $exp(x < 0 ? x + x : -x - x);
    return (x < 0 ? e - $one : $one - e) / ($one + e);
}
""",
}

_FUNCTIONS = {
    "limited_exp": """\
static inline $real ${NAME}_limited_exp($real x)
{
    return $exp(x < -$limit ? -$limit : x > $limit ? $limit : x);
}
""",
    "sigmoid": """\
static inline $real ${NAME}_sigmoid($real x)
{
    return $one / ($one + $exp(-x));
}
""",
    "minimum": """\
static inline $real ${NAME}_minimum($real a, $real b)
{
    return a < b || a != a ? a : b;
}
""",
    "maximum": """\
static inline $real ${NAME}_maximum($real a, $real b)
{
    return a > b || a != a ? a : b;
}
""",
    "absolute": """\
static inline $real ${NAME}_absolute($real x)
{
    return x < 0 ? -x : x;
}
""",
    "square": """\
static inline $real ${NAME}_square($real x)
{
    return x * x;
}
""",
}


class CMath:
    """Translates expressions to C, and knows which functions the result needs.

    Parameters
    ----------
    name : str
        What the names of functions begin with.
    is_float : bool
        Whether numbers are of type float, otherwise double.
    has_libm : bool
        Whether functions are taken from ``<math.h>``.

    Examples
    --------
    >>> from bneuralt.expressions import tanh, variable
    >>> CMath("m", is_float=True, has_libm=True).text(2 * tanh(variable("z") - 1))
    '2.0f * tanhf(z - 1.0f)'
    """

    def __init__(self, name: str, is_float: bool, has_libm: bool) -> None:
        self.name, self.is_float, self.has_libm = name, is_float, has_libm
        self.uses_libm = False
        self._used: dict[str, None] = {}

    @property
    def type(self) -> str:
        """The type of numbers."""
        return "float" if self.is_float else "double"

    def real(self, value: float) -> str:
        """Return a number as a literal."""
        return real(value, self.is_float)

    def call(self, function: str) -> str:
        """Return what to call for a function, which the code then has or includes."""
        if function in _LIBRARY:
            if self.has_libm:
                self.uses_libm = True
                return f"{function}f" if self.is_float else function
            if function == "tanh":
                self.call("exp")
        elif function in ("limited_exp", "sigmoid"):
            self.call("exp")
        self._used[function] = None
        return f"{self.name}_{function}"

    def functions(self) -> str:
        """Return the definitions of all functions that were called, each after those it calls."""
        parts = [self.fill({**_OWN, **_FUNCTIONS}[function]) for function in self._used]
        return "\n".join(parts)

    def fill(self, template: str, **more: object) -> str:
        """Return a template with the names and numbers of this code."""
        return Template(template).substitute(self._names, **more)

    @cached_property
    def _names(self) -> dict[str, object]:
        is_float = self.is_float
        degree = 6 if is_float else 13
        exp_series = self.real(1.0 / math.factorial(degree))
        for i in reversed(range(degree)):
            exp_series = f"({exp_series} * r + {self.real(1.0 / math.factorial(i))})"
        n_terms = 6 if is_float else 12
        log_series = self.real(1.0 / (2 * n_terms + 1))
        for i in reversed(range(n_terms)):
            log_series = f"({log_series} * q + {self.real(1.0 / (2 * i + 1))})"
        high = float(np.float32(0.693359375)) if is_float else 6.93147180369123816490e-01
        numbers = {
            "one": 1.0,
            "two": 2.0,
            "half": 0.5,
            "minus_half": -0.5,
            "quarter": 0.25,
            "three_quarters": 0.75,
            "three_halves": 1.5,
            "limit": 87.0 if is_float else EXP_LIMIT,
            "lowest": -87.0 if is_float else -708.0,
            "highest": 88.0 if is_float else 709.0,
            "infinity": 3.0e38 if is_float else 1.7e308,
            "ln2": math.log(2),
            "per_ln2": 1.0 / math.log(2),
            "ln2_high": high,
            "ln2_low": math.log(2) - high if is_float else 1.90821492927058770002e-10,
        }
        texts = {key: self.real(value) for key, value in numbers.items()}
        library = f"exp{'f' * is_float}" if self.has_libm else f"{self.name}_exp"
        more = {"exp": library, "exp_series": exp_series, "log_series": log_series}
        return {"NAME": self.name, "real": self.type, **texts, **more}

    # -- expressions ---------------------------------------------------------------------

    def text(
        self, expression: Expression, leaf: Callable[[Expression], str | None] = lambda _: None
    ) -> str:
        """Return an expression as C code.

        Parameters
        ----------
        expression : Expression
        leaf : callable
            Returns the text of cells, of vectors, and of whatever else is not translated; None for
            all other expressions. Variables have their names by default.
        """
        return self._bound(expression, leaf)[0]

    def _bound(
        self, expression: Expression, leaf: Callable[[Expression], str | None]
    ) -> tuple[str, int]:
        """Return an expression as text, and how tightly its operator binds."""
        name = leaf(expression)
        operation, parts = expression.operation, expression.arguments
        if name is not None:
            return name, _ATOM
        if operation == "variable":
            return str(expression.value), _ATOM
        if operation == "constant":
            return self._constant(expression.value), _ATOM
        if operation == "if_missing":
            return self._bound(select(is_missing(parts[0]), parts[1], parts[0]), leaf)
        texts = [self._bound(part, leaf) for part in parts]
        if operation == "select":
            condition, yes, no = texts
            return f"{_within(condition, _COMPARISON)} ? {yes[0]} : {no[0]}", _CHOICE
        if operation == "is_missing":
            value = _within(texts[0], _SUM)
            return f"{value} != {value}", _COMPARISON
        if operation in _OPERATORS:
            return self._operated(operation, texts)
        arguments = ", ".join(text for text, _ in texts)
        return f"{self.call(_NAMES.get(operation, operation))}({arguments})", _ATOM

    def _operated(self, operation: str, texts: list[tuple[str, int]]) -> tuple[str, int]:
        sign, binds = _OPERATORS[operation]
        left, right = _within(texts[0], binds), _within(texts[1], binds + 1)
        if sign in "+-" and right.startswith("-"):
            sign, right = "-" if sign == "+" else "+", right[1:]
        return f"{left} {sign} {right}", binds

    def _constant(self, value: float) -> str:
        if self.is_float and value and abs(value) < np.finfo(np.float32).tiny:
            value = math.copysign(float(np.finfo(np.float32).tiny), value)  # 0 may be divided by
        return self.real(value)


def _within(text: tuple[str, int], binds: int) -> str:
    """Return a text in brackets unless its operator binds as tightly as needed."""
    return text[0] if text[1] >= binds else f"({text[0]})"
