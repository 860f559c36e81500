"""The language C: a template for each operation, and the functions that C lacks."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from string import Template

import numpy as np

from bneuralt.export.c.literals import real
from bneuralt.export.printer import (
    ARITHMETIC,
    EXP_LIMITS,
    Code,
    Printer,
    needed_helpers,
)
from bneuralt.expressions import Expression, constant, variable
from bneuralt.expressions.operations import CELLS

__all__ = ["CMath"]

#: Operations that are functions of <math.h>, and the functions that replace them without it.
_LIBRARY = {
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
    k = (int)(x * $per_ln2 + (x < 0 ? -0.5$f : 0.5$f));
    r = x - ($real)k * $ln2_high;
    r -= ($real)k * $ln2_low;
    p = $exp_series;
    f = k < 0 ? 0.5$f : 2.0$f;
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
        return x > 0 ? x : x == 0 ? -$infinity * 2.0$f : (x - x) / (x - x);
    for (; x > 1.5$f; k++)
        x *= 0.5$f;
    for (; x < 0.75$f; k--)
        x *= 2.0$f;
    s = (x - 1.0$f) / (x + 1.0$f);
    q = s * s;
    return ($real)k * $ln2 + 2.0$f * s * $log_series;
}
""",
    "sqrt": """\
/* sqrt without a library: x = 4^k m, and Newton's method. */
static inline $real ${NAME}_sqrt($real x)
{
    $real scale = 1.0$f, r;
    int i;
    if (!(x > 0) || x > $infinity)
        return x < 0 ? (x - x) / (x - x) : x;
    for (; x > 4; scale *= 2.0$f)
        x *= 0.25$f;
    for (; x < 1; scale *= 0.5$f)
        x *= 4;
    r = (x + 1.0$f) * 0.5$f;
    for (i = 0; i < 6; i++)
        r = (r + x / r) * 0.5$f;
    return r * scale;
}
""",
    "tanh": """\
static inline $real ${NAME}_tanh($real x)
{
    const $real e = $exp(x < 0 ? x + x : -x - x);
    return (x < 0 ? e - 1.0$f : 1.0$f - e) / (1.0$f + e);
}
""",
}

#: Arguments and result of the functions that no library has.
_FUNCTIONS = {
    "limited_exp": ("x", "$exp(x < -$limit ? -$limit : x > $limit ? $limit : x)"),
    "sigmoid": ("x", "1.0$f / (1.0$f + $exp(-x))"),
    "minimum": ("a b", "a < b || a != a ? a : b"),
    "maximum": ("a b", "a > b || a != a ? a : b"),
    "absolute": ("x", "x < 0 ? -x : x"),
    "square": ("x", "x * x"),
    "logistic": ("z", "1.0$f / (1.0$f + $exp(z))"),
    "bell": ("z", "$exp(-z * z)"),
}


class CMath(Printer):
    """Translates expressions to C.

    Parameters
    ----------
    name : str
        Prefix of the names of functions.
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
        self.type = "float" if is_float else "double"
        library = {f: f + "f" * is_float if has_libm else f"{name}_{f}" for f in _LIBRARY}
        calls = {operation: f"{name}_{operation}" for operation in _FUNCTIONS}
        calls |= library | {"exp": f"{name}_limited_exp"}
        self.templates = {
            **ARITHMETIC,
            **{operation: ("atom", f"{call}({{0}})") for operation, call in calls.items()},
            "minimum": ("atom", f"{name}_minimum({{0}}, {{1}})"),
            "maximum": ("atom", f"{name}_maximum({{0}}, {{1}})"),
            "is_missing": ("comparison", "{0:sum} != {0:sum}"),
            "if_missing": ("choice", "{0:sum} != {0:sum} ? {1} : {0}"),
            "select": ("choice", "{0:comparison} ? {1} : {2}"),
        }
        #: Names and numbers that templates of C code contain.
        self.names = {"NAME": name, "real": self.type, "f": "f" * is_float, **library}
        self.names |= self._constants()

    def number(self, value: float) -> Code:
        """Return a number as a literal."""
        text = real(value, self.is_float)
        return Code(text, "sign" if text[0] == "-" else "atom")

    def scalar(self, expression: Expression, variables: Mapping[str, Code] | None = None) -> Code:
        """Return the code of an expression; two functions take the negative of their argument."""
        (inner,) = expression.arguments[:1] or (expression,)
        if inner.operation == "multiply" and inner.arguments[0] == constant(-1.0):
            part = inner.arguments[1]
            if expression.operation == "sigmoid":
                return Code(f"{self.name}_logistic({self.scalar(part, variables)})")
            if expression.operation == "exp" and part.operation == "square":
                return Code(f"{self.name}_bell({self.scalar(part.arguments[0], variables)})")
        return super().scalar(expression, variables)

    def operation(self, expression: Expression, parts: Sequence[Code]) -> Code:
        """Return an operation on code; a curve is a function of the file."""
        if expression.operation == "curve":
            return Code(f"{self.name}_{expression.value}({', '.join(parts)})")
        return super().operation(expression, parts)

    def text(
        self, expression: Expression, cell: Mapping[str, str] | None = None, **names: str
    ) -> str:
        """Return an expression as C code.

        Parameters
        ----------
        expression : Expression
        cell : dict, optional
            The code of what is read of a cell: "number", or the parts of a date.
        **names
            The code of variables; by default their names.
        """
        variables = {name: Code(code) for name, code in names.items()}
        return self.scalar(_with_names(expression, cell or {}), variables)

    def with_functions(self, code: str) -> str:
        """Return the functions that code calls, followed by the code."""
        return "\n".join([*needed_helpers(code, self._definitions), code])

    def headers(self, code: str) -> list[str]:
        """Return the lines that include the headers of code, followed by an empty line if any."""
        needs = {"<stdint.h>": r"\bu?int\d+_t\b"}
        if self.has_libm:
            needs = {"<math.h>": rf"\b({'|'.join(_LIBRARY)})f?\(", **needs}
        lines = [f"#include {header}" for header in needs if re.search(needs[header], code)]
        return [*lines, ""] if lines else []

    @cached_property
    def _definitions(self) -> dict[str, str]:
        """The functions that code may call, each after those that it calls."""
        definitions = {} if self.has_libm else dict(_LIBRARY)
        for function, (arguments, result) in _FUNCTIONS.items():
            listed = ", ".join(f"$real {argument}" for argument in arguments.split())
            head = f"static inline $real ${{NAME}}_{function}({listed})"
            definitions[function] = f"{head}\n{{\n    return {result};\n}}\n"
        return {f"{self.name}_{f}": self.fill(code) for f, code in definitions.items()}

    def fill(self, template: str) -> str:
        """Return a template with the names and numbers of this code."""
        return Template(template).substitute(self.names)

    def _constants(self) -> dict[str, str]:
        is_float = self.is_float
        degree, n_terms = (6, 6) if is_float else (13, 12)
        high = float(np.float32(0.693359375)) if is_float else 6.93147180369123816490e-01
        numbers = {
            "limit": EXP_LIMITS[4 if is_float else 8],
            "lowest": -87.0 if is_float else -708.0,
            "highest": 88.0 if is_float else 709.0,
            "infinity": 3.0e38 if is_float else 1.7e308,
            "ln2": math.log(2),
            "per_ln2": 1.0 / math.log(2),
            "ln2_high": high,
            "ln2_low": math.log(2) - high if is_float else 1.90821492927058770002e-10,
        }
        return {
            **{key: self.number(value) for key, value in numbers.items()},
            "exp_series": self._series([1.0 / math.factorial(i) for i in range(degree + 1)], "r"),
            "log_series": self._series([1.0 / (2 * i + 1) for i in range(n_terms + 1)], "q"),
        }

    def _series(self, coefficients: list[float], name: str) -> str:
        """Return a polynomial by Horner's rule."""
        *others, text = map(self.number, coefficients)
        for coefficient in reversed(others):
            text = Code(f"({text} * {name} + {coefficient})")
        return text


def _with_names(expression: Expression, cell: Mapping[str, str]) -> Expression:
    """Return an expression with variables in place of what it reads of a cell."""
    if expression.operation in CELLS:
        return variable(cell[expression.value or expression.operation])
    return expression.of([_with_names(part, cell) for part in expression.arguments])
