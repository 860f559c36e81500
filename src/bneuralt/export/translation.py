"""Translation of expressions to code, one template or method for each operation.

A language is a table of templates, which are plain data, and a few methods for operations that a
template cannot express. A template is a pair: the level of its outermost operator, one of `LEVELS`,
and a format string. ``{0}``, ``{1}``, ... stand for the arguments, ``{cell}`` for the cell of a
column. ``{0:sum}`` puts parentheses around an argument whose operator binds less than a sum.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bneuralt._typing import FloatArray
from bneuralt.export.spellings import spellings
from bneuralt.expressions import Expression, Lookup
from bneuralt.expressions.operations import CELLS, EXP_LIMIT, VECTORS
from bneuralt.model import ModelColumn

__all__ = [
    "ARITHMETIC",
    "EXP_LIMITS",
    "LEVELS",
    "Case",
    "Cell",
    "Code",
    "Define",
    "Template",
    "Translator",
    "count_uses",
    "may_be_missing",
    "needed_helpers",
    "occurrences",
    "representable",
]

#: Arguments of exp are limited as in the core, by the bytes of a number.
EXP_LIMITS = {2: 11.0, 4: 87.0, 8: EXP_LIMIT}

#: Operators from those that bind least to those that bind most.
LEVELS = ("choice", "comparison", "sum", "product", "sign", "atom")

#: Level of the outermost operator, and format string.
Template = tuple[str, str]

#: Operations that most languages write in the same way. Equal operators are grouped from the left.
ARITHMETIC: dict[str, Template] = {
    "add": ("sum", "{0:sum} + {1:product}"),
    "subtract": ("sum", "{0:sum} - {1:product}"),
    "multiply": ("product", "{0:product} * {1:sign}"),
    "divide": ("product", "{0:product} / {1:sign}"),
    "negate": ("sign", "-{0:atom}"),
    "greater": ("comparison", "{0:sum} > {1:sum}"),
}


class Code(str):
    """The code of an expression, and the level of its outermost operator.

    Examples
    --------
    >>> "{0:product} * 2".format(Code("a + b", "sum"))
    '(a + b) * 2'
    """

    __slots__ = ("level",)
    level: str

    def __new__(cls, text: str, level: str = "atom") -> Code:
        """Return the code of an expression."""
        code = super().__new__(cls, text)
        code.level = level
        return code

    def __format__(self, level: str) -> str:
        """Return the code as the operand of an operator of a level."""
        if level and LEVELS.index(self.level) < LEVELS.index(level):
            return f"({self})"
        return str(self)


class Cell(NamedTuple):
    """A cell of a column, in generated code.

    Attributes
    ----------
    codes : dict
        Operation that reads cells -> code of what it reads.
    texts : frozenset of str
        The texts that the lookups of the column list: its categories.
    """

    codes: Mapping[str, Code]
    texts: frozenset[str] = frozenset()

    @classmethod
    def of_column(cls, column: ModelColumn, read: Callable[[str], Code]) -> Cell:
        """Return the cell of a column, given the code of what each operation reads."""
        codes = {operation: read(operation) for operation in column.cell_operations}
        return cls(codes, frozenset(column.categories))


class Case(NamedTuple):
    """Some texts with the same number in a lookup.

    Attributes
    ----------
    number : float
    texts : list of str
        All spellings.
    is_missing : bool
        Whether missing cells have this number as well.
    """

    number: float
    texts: list[str]
    is_missing: bool


#: From a name and a value to the code that stands for the value from then on.
Define = Callable[[str, Code], Code]


class Translator:
    """Base class of languages.

    Attributes
    ----------
    templates : dict
        Operation -> template. "negate" is multiplication by -1. A part of a date has the entry
        ``date_part year``, where one template is not enough for all.
    most_terms : int
        Longer sums are divided by parentheses, because compilers limit the depth of nesting.
    """

    templates: Mapping[str, Template]
    most_terms: ClassVar[int] = 100

    # -- defined by languages -------------------------------------------------------------

    def number(self, value: float) -> Code:
        """Return a number."""
        raise NotImplementedError

    def lookup(self, cell: Code, cases: Sequence[Case], unknown: float) -> Code:
        """Return the number that stands for the text of a cell."""
        raise NotImplementedError

    def ordered(self, values: Sequence[Code], places: Sequence[int], define: Define) -> list[Code]:
        """Return the values of some ranks."""
        raise NotImplementedError

    def bounded(self, code: Code) -> Code:
        """Return code that may be nested in more code."""
        return code

    # -- shared by languages ---------------------------------------------------------------

    def expand(self, operation: str, *arguments: Code, **names: Any) -> Code:
        """Return the template of an operation with its arguments.

        Examples
        --------
        >>> class Language(Translator):
        ...     templates = ARITHMETIC
        >>> Language().expand("multiply", Code("a + b", "sum"), Code("c"))
        '(a + b) * c'
        """
        if operation not in self.templates:
            raise ValueError(
                f"{type(self).__name__} has no template for the operation {operation!r}"
            )
        level, template = self.templates[operation]
        return self.bounded(Code(template.format(*arguments, **names), level))

    def scalar(
        self, expression: Expression, variables: Mapping[str, Code], cell: Cell | None = None
    ) -> Code:
        """Translate an expression of numbers, or of a cell.

        Parameters
        ----------
        expression : Expression
        variables : dict
            The code of each variable.
        cell : Cell, optional
            The cell that `number`, `lookup` and `date_part` read.
        """
        operation, value = expression.operation, expression.value
        if operation == "variable":
            return variables[value]
        if operation == "constant":
            return self.number(value)
        if operation in CELLS:
            assert cell is not None
            return self._cell(expression, cell)
        parts = (self.scalar(part, variables, cell) for part in expression.arguments)
        return self._operate(expression, *parts)

    def vector(
        self, expression: Expression, variables: Mapping[str, Sequence[Code]], define: Define
    ) -> list[Code]:
        """Translate a vector expression, such as a link, to the code of each component.

        Parameters
        ----------
        expression : Expression
        variables : dict
            The codes of the components of each variable.
        define : callable
            Called with a name for a value and its code; returns the code to use from then on.
            Values that are needed more than once get names.
        """
        uses = count_uses(expression)
        codes: dict[Expression, list[Code]] = {}

        def translate(part: Expression) -> list[Code]:
            if part not in codes:
                codes[part] = components(part)
                if uses[part] > 1 and part.arguments and part.operation not in VECTORS:
                    codes[part] = [
                        define(f"{part.operation}{j}", code) for j, code in enumerate(codes[part])
                    ]
            return codes[part]

        def components(part: Expression) -> list[Code]:
            if part.operation == "variable":
                return list(variables[part.value])
            if part.operation == "constant":
                return [self.number(part.value)]
            values = [translate(argument) for argument in part.arguments]
            if part.operation == "ordered":
                return self.ordered(values[0], part.value, define)
            if part.operation in VECTORS:
                return [define(part.operation, self._reduce(part.operation, values[0]))]
            k = max(map(len, values))
            rows = zip(*(v * (k // len(v)) for v in values), strict=True)
            return [self._operate(part, *row) for row in rows]

        return translate(expression)

    def weighted_sum(self, bias: float, terms: Sequence[tuple[float, Code]]) -> Code:
        """Return a bias and the products of weights and values, added.

        Examples
        --------
        >>> class Language(Translator):
        ...     templates = ARITHMETIC
        ...     def number(self, value):
        ...         return Code(repr(value), "sign" if value < 0 else "atom")
        >>> Language().weighted_sum(0.5, [(2.0, Code("a")), (-1.5, Code("b"))])
        '0.5 + 2.0 * a - 1.5 * b'
        """
        products = [self._operate_product(self.number(weight), value) for weight, value in terms]
        return self.total([self.number(bias), *products] if bias or not terms else products)

    def total(self, terms: Sequence[Code]) -> Code:
        """Return the sum of terms; a minus sign takes the place of a plus."""
        if len(terms) == 1:
            return terms[0]
        if len(terms) > self.most_terms:
            half = len(terms) // 2
            parts = (self.total(terms[:half]), self.total(terms[half:]))
            return Code(" + ".join(f"({part})" for part in parts), "sum")
        first, *others = (f"{term:product}" for term in terms)
        signed = (f"- {term[1:]}" if term[0] == "-" else f"+ {term}" for term in others)
        return Code(" ".join([first, *signed]), "sum")

    def product(self, a: Code, b: Code) -> Code:
        """Return the product of two values."""
        return self._operate_product(a, b)

    def limited_product(self, a: Code, b: Code) -> Code:
        """Return a product that may be too large, where that is an error as the largest number."""
        return self.product(a, b)

    def quotient(self, a: Code, b: Code) -> Code:
        """Return the quotient of two values."""
        return self.expand("divide", a, b)

    def difference(self, a: Code, b: Code) -> Code:
        """Return the difference of two values."""
        return self.expand("subtract", a, b)

    def means(self, vectors: Sequence[Sequence[Code]]) -> list[Code]:
        """Return the mean of each component over some vectors."""
        if len(vectors) == 1:
            return list(vectors[0])
        n = self.number(float(len(vectors)))
        return [self.expand("divide", self.total(v), n) for v in zip(*vectors, strict=True)]

    def cases(self, table: Lookup, texts: frozenset[str]) -> list[Case]:
        """Return the texts of each number, with all their spellings."""
        by_number: dict[float, list[str]] = {}
        if table.missing != table.unknown:
            by_number[table.missing] = []
        for text, number in zip(table.texts, table.numbers, strict=True):
            by_number.setdefault(number, []).extend(spellings(text, texts))
        return [
            Case(number, listed, number == table.missing) for number, listed in by_number.items()
        ]

    def _cell(self, expression: Expression, cell: Cell) -> Code:
        operation, value = expression.operation, expression.value
        code = cell.codes[operation]
        if operation == "lookup":
            return self.bounded(self.lookup(code, self.cases(value, cell.texts), value.unknown))
        name = f"{operation} {value}"
        return self.expand(name if name in self.templates else operation, cell=code, value=value)

    def _operate(self, expression: Expression, *parts: Code) -> Code:
        if expression.operation == "multiply":
            return self._operate_product(*parts)
        return self.expand(expression.operation, *parts)

    def _operate_product(self, a: Code, b: Code) -> Code:
        for factor, other in ((a, b), (b, a)):
            if factor == self.number(-1.0):
                return self.expand("negate", other)
            if factor == self.number(1.0):
                return other
        return self.expand("multiply", a, b)

    def _reduce(self, operation: str, values: Sequence[Code]) -> Code:
        if len(values) == 1:
            return values[0]
        if operation == "total":
            return self.bounded(self.total(values))
        if len(values) > self.most_terms:
            half = len(values) // 2
            values = [self._reduce(operation, part) for part in (values[:half], values[half:])]
        return self.expand(operation, Code(", ".join(values)))


def occurrences(expression: Expression, name: str) -> int:
    """Return how often a variable occurs in an expression.

    Examples
    --------
    >>> from bneuralt.expressions import maximum, minimum, variable
    >>> z = variable("z")
    >>> occurrences(maximum(z, 0.0) + 0.1 * minimum(z, 0.0), "z")
    2
    """
    if expression.operation == "variable":
        return int(expression.value == name)
    return sum(occurrences(part, name) for part in expression.arguments)


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


def may_be_missing(expression: Expression) -> bool:
    """Return whether the value of an expression is missing for some cells.

    Examples
    --------
    >>> from bneuralt.expressions import NUMBER, if_missing
    >>> may_be_missing(NUMBER), may_be_missing(if_missing(NUMBER, 0.5))
    (True, False)
    """
    if expression.operation in ("number", "date_part"):
        return True
    skipped = {"is_missing": 1, "if_missing": 1, "select": 1}.get(expression.operation, 0)
    return any(may_be_missing(part) for part in expression.arguments[skipped:])


def needed_helpers(text: str, helpers: Mapping[str, str]) -> list[str]:
    """Return the helper functions that code calls, those first that others call.

    Parameters
    ----------
    text : str
    helpers : dict
        Name -> code, those first that others call.

    Examples
    --------
    >>> needed_helpers("sigmoid(z)", {"exp": "A", "tanh": "B", "sigmoid": "exp(-z)"})
    ['A', 'exp(-z)']
    """
    called: list[str] = []
    for name, code in reversed(list(helpers.items())):
        if re.search(rf"\b{name}\(", text):
            called.insert(0, code)
            text += code
    return called


def representable(numbers: Any, limits: Any) -> FloatArray:
    """Return numbers that stay finite, and do not become 0, in a type.

    Parameters
    ----------
    numbers : float or array
    limits : object with the attributes `tiny` and `max`
        Of the type: `numpy.finfo` or `torch.finfo`.

    Examples
    --------
    >>> representable([1e300, -1e-300, 0.0, 0.5], np.finfo(np.float32)).astype(np.float32)
    array([ 3.4028235e+38, -1.1754944e-38,  0.0000000e+00,  5.0000000e-01],
          dtype=float32)
    """
    values = np.asarray(numbers, dtype=np.float64)
    sizes = np.clip(np.abs(values), float(limits.tiny), float(limits.max))
    return np.where(values == 0, values, np.copysign(sizes, values))
