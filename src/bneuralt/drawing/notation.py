"""Expressions, numbers and names as text, in LaTeX, and as SymPy objects.

A notation has one template, or one function, for each operation that formulas of nodes can have.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from bneuralt.expressions import Expression, exp, variable

__all__ = ["LatexNotation", "Spelled", "SympyNotation", "TextNotation"]

#: Binding levels of a text; a text of a lower level than its place requires gets parentheses.
CONDITION, SUM, PRODUCT, POWER, ATOM = range(5)


class Spelled(NamedTuple):
    """An expression as text."""

    text: str
    level: int = ATOM


class Template(NamedTuple):
    """How an operation is written: its text, its level, and the least level of its arguments."""

    text: str
    level: int = ATOM
    arguments: int | tuple[int, ...] = CONDITION


#: Operations that are written as a function, with the definition that is added to a formula.
DEFINITIONS: dict[str, Expression] = {"sigmoid": 1.0 / (1.0 + exp(-variable("z")))}


class TextNotation:
    """Formulas as text, close to Python.

    Parameters
    ----------
    digits : int or None
        Number of significant digits; None writes numbers exactly.

    Examples
    --------
    >>> z, a = variable("z"), variable("a")
    >>> TextNotation().spelled(exp(-(z - a)) / (2.0 * a)).text
    'exp(-(z - a))/(2*a)'
    """

    templates: Mapping[str, Template] = {
        "add": Template("{} + {}", SUM, SUM),
        "subtract": Template("{} - {}", SUM, (SUM, PRODUCT)),
        "multiply": Template("{}*{}", PRODUCT, PRODUCT),
        "divide": Template("{}/{}", PRODUCT, (PRODUCT, POWER)),
        "minimum": Template("min({}, {})"),
        "maximum": Template("max({}, {})"),
        "absolute": Template("abs({})"),
        "square": Template("{}**2", POWER, ATOM),
        "sqrt": Template("sqrt({})"),
        "exp": Template("exp({})"),
        "log": Template("log({})"),
        "tanh": Template("tanh({})"),
        "sigmoid": Template("sigmoid({})"),
        "greater": Template("{} > {}", CONDITION, SUM),
        "is_missing": Template("isnan({})"),
        "select": Template("{1} if {0} else {2}", CONDITION, SUM),
        "if_missing": Template("{1} if isnan({0}) else {0}", CONDITION, SUM),
    }
    left, right = "(", ")"

    def __init__(self, digits: int | None = None) -> None:
        if digits is not None and digits < 1:
            raise ValueError(f"digits={digits!r} must be None or at least 1")
        self._digits = digits
        #: Heads such as "relu(z)" with their formulas, in the order of their use.
        self.definitions: dict[str, Expression] = {}

    def number(self, value: float) -> str:
        """Return a number that is not negative."""
        value = float(value) if self._digits is None else float(f"{value:.{self._digits}g}")
        return repr(value).removesuffix(".0")

    def name(self, text: str) -> str:
        """Return the name of a variable, as a parameter of an activation."""
        return text

    def function(self, name: str) -> str:
        """Return the name of a function."""
        return name

    def symbol(self, name: str, is_column: bool) -> str:
        """Return the name of an input: a column, or something that is computed from it."""
        return name if is_column and name.isidentifier() else f"[{name}]"

    def grouped(self, text: str) -> str:
        """Return a text in parentheses."""
        return f"{self.left}{text}{self.right}"

    def operation(self, name: str, *arguments: Spelled) -> Spelled:
        """Return an operation on what is spelled already."""
        if name in DEFINITIONS:
            z = Spelled(self.name("z"))
            self.definitions.setdefault(self._fill(name, z).text, DEFINITIONS[name])
        return self._fill(name, *arguments)

    def _fill(self, name: str, *arguments: Spelled) -> Spelled:
        template = self.templates[name]
        least = template.arguments
        levels = (least,) * len(arguments) if isinstance(least, int) else least
        texts = [
            part.text if part.level >= level else self.grouped(part.text)
            for part, level in zip(arguments, levels, strict=True)
        ]
        return Spelled(template.text.format(*texts), template.level)

    def spelled(self, expression: Expression) -> Spelled:
        """Return the text of an expression."""
        if expression.operation == "variable":
            return Spelled(self.name(expression.value))
        if expression.is_constant:
            text = self.number(abs(expression.value))
            return Spelled(f"-{text}", SUM) if expression.value < 0 else Spelled(text)
        parts = expression.arguments
        if expression.operation == "multiply" and parts[0].is_constant and parts[0].value == -1:
            inner = self.spelled(parts[1])
            text = inner.text if inner.level >= PRODUCT else self.grouped(inner.text)
            return Spelled(f"-{text}", SUM)
        return self.operation(expression.operation, *map(self.spelled, parts))


class LatexNotation(TextNotation):
    r"""Formulas in LaTeX.

    Examples
    --------
    >>> LatexNotation().spelled(exp(variable("z")) / 2.0).text
    '\\frac{\\exp\\left(z\\right)}{2}'
    """

    templates: Mapping[str, Template] = {
        **TextNotation.templates,
        "multiply": Template(r"{} \cdot {}", PRODUCT, PRODUCT),
        "divide": Template(r"\frac{{{}}}{{{}}}", PRODUCT),
        "minimum": Template(r"\min\left({}, {}\right)"),
        "maximum": Template(r"\max\left({}, {}\right)"),
        "absolute": Template(r"\left|{}\right|"),
        "square": Template("{}^{{2}}", POWER, ATOM),
        "sqrt": Template(r"\sqrt{{{}}}"),
        "exp": Template(r"\exp\left({}\right)"),
        "log": Template(r"\log\left({}\right)"),
        "tanh": Template(r"\tanh\left({}\right)"),
        "sigmoid": Template(r"\sigma\left({}\right)"),
        "is_missing": Template(r"{} \text{{ is missing}}", CONDITION, SUM),
        "select": Template(
            r"\begin{{cases}}{1} & \text{{if }} {0} \\ {2} & \text{{otherwise}}\end{{cases}}"
        ),
        "if_missing": Template(
            r"\begin{{cases}}{1} & \text{{if }} {0} \text{{ is missing}} \\ "
            r"{0} & \text{{otherwise}}\end{{cases}}"
        ),
    }
    left, right = r"\left(", r"\right)"

    def number(self, value: float) -> str:
        """Return a number that is not negative."""
        mantissa, _, exponent = super().number(value).partition("e")
        return f"{mantissa} \\cdot 10^{{{int(exponent)}}}" if exponent else mantissa

    def name(self, text: str) -> str:
        """Return a letter with an index as such, and other names as text."""
        parts = re.fullmatch(r"([A-Za-z])_?(\d*)", text)
        if not parts:
            return rf"\text{{{_escaped(text)}}}"
        return parts[1] if not parts[2] else f"{parts[1]}_{{{parts[2]}}}"

    def function(self, name: str) -> str:
        """Return the name of a function."""
        return rf"\operatorname{{{_escaped(name)}}}"

    def symbol(self, name: str, is_column: bool) -> str:
        """Return the name of an input: a column, or something that is computed from it."""
        return self.name(name) if is_column else rf"[\text{{{_escaped(name)}}}]"


_SPECIAL = {c: "\\" + c for c in "#$%&_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def _escaped(name: str) -> str:
    return "".join(_SPECIAL.get(c, c) for c in name)


class SympyNotation:
    """Formulas as SymPy objects.

    Parameters
    ----------
    digits : int or None
        Number of significant digits; None keeps numbers as they are.
    """

    def __init__(self, digits: int | None = None) -> None:
        try:
            import sympy
        except ModuleNotFoundError:
            raise ModuleNotFoundError(
                "to_formula(format='sympy') needs SymPy: run pip install sympy", name="sympy"
            ) from None
        self._sympy, self._digits = sympy, digits
        self.operations: dict[str, Callable[..., Any]] = {
            "add": operator.add,
            "subtract": operator.sub,
            "multiply": operator.mul,
            "divide": operator.truediv,
            # Comparing the arguments, as SymPy would do, takes very long.
            "minimum": lambda a, b: sympy.Min(a, b, evaluate=False),
            "maximum": lambda a, b: sympy.Max(a, b, evaluate=False),
            "absolute": sympy.Abs,
            "square": lambda a: a**2,
            "sqrt": sympy.sqrt,
            "exp": sympy.exp,
            "log": sympy.log,
            "tanh": sympy.tanh,
            "sigmoid": lambda a: 1 / (1 + sympy.exp(-a)),
            "greater": operator.gt,
            "is_missing": lambda a: sympy.false,  # a symbol is a number
            "select": lambda condition, a, b: sympy.Piecewise((a, condition), (b, True)),
            "if_missing": lambda a, b: a,
        }

    def number(self, value: float) -> Any:
        """Return a number."""
        if self._digits is not None:
            value = float(f"{value:.{self._digits}g}")
        return self._sympy.Integer(int(value)) if value == int(value) else self._sympy.Float(value)

    def symbol(self, name: str, is_column: bool) -> Any:
        """Return the symbol of an input."""
        return self._sympy.Symbol(name, real=True)

    def sum_of(self, parts: list[Any]) -> Any:
        """Return a sum."""
        return self._sympy.Add(*parts)

    def converted(self, expression: Expression, values: Mapping[str, Any]) -> Any:
        """Return an expression, given the values of its variables."""
        if expression.operation == "variable":
            return values[expression.value]
        if expression.is_constant:
            return self.number(expression.value)
        parts = [self.converted(part, values) for part in expression.arguments]
        return self.operations[expression.operation](*parts)
