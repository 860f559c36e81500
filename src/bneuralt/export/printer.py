"""Printing of programs: a template for each operation of a language, and its statements.

A template is a pair: the level of its outermost operator, one of `LEVELS`, and a format string.
``{0}``, ``{1}``, ... stand for the arguments, ``{value}`` for the value of the operation.
``{0:sum}`` puts parentheses around an argument whose operator binds less than a sum.
"""

from __future__ import annotations

import importlib.resources
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar

import numpy as np

from bneuralt._typing import FloatArray
from bneuralt.export.program import Cases, Forest, Function, Program, Reading, Statement
from bneuralt.expressions import Expression
from bneuralt.expressions.operations import EXP_LIMIT
from bneuralt.tables.columns import MISSING_TEXTS

__all__ = [
    "ARITHMETIC",
    "EXP_LIMITS",
    "LEVELS",
    "Code",
    "LinePrinter",
    "Printer",
    "Template",
    "checked_name",
    "comment_text",
    "needed_helpers",
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
    "entry": ("atom", "{0}[{value}]"),
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


#: Lookups with more different numbers than this are tables, and not comparisons.
MAX_CASES = 4


class Printer:
    """Base class of languages: expressions.

    Attributes
    ----------
    templates : dict
        Operation -> template. "negate" is multiplication by -1. A part of a date may have the entry
        ``date_part year``. An operation without an entry is refused by its name.
    most_terms : int
        Longer sums are divided by parentheses, because compilers limit the depth of nesting.
    """

    templates: Mapping[str, Template]
    most_terms: ClassVar[int] = 100

    # -- defined by languages -------------------------------------------------------------

    def number(self, value: float) -> Code:
        """Return a number."""
        text = repr(float(value))
        return Code(text, "sign" if text[0] == "-" else "atom")

    def member(self, text: Code, texts: Sequence[str]) -> str:
        """Return the condition that a text is one of several; "" stands for a missing one."""
        raise NotImplementedError

    def bounded(self, code: Code) -> Code:
        """Return code that may be nested in more code."""
        return code

    # -- shared by languages ---------------------------------------------------------------

    def expand(self, operation: str, *arguments: Code, value: Any = None) -> Code:
        """Return the template of an operation with its arguments.

        Examples
        --------
        >>> class Language(Printer):
        ...     templates = ARITHMETIC
        >>> Language().expand("multiply", Code("a + b", "sum"), Code("c"))
        '(a + b) * c'
        """
        name = f"{operation} {value}"
        if name not in self.templates:
            name = operation
        if name not in self.templates:
            raise ValueError(
                f"{type(self).__name__} has no template for the operation {operation!r}"
            )
        level, template = self.templates[name]
        return self.bounded(Code(template.format(*arguments, value=value), level))

    def scalar(self, expression: Expression, variables: Mapping[str, Code] | None = None) -> Code:
        """Return the code of an expression; variables have their names, or the given code."""
        operation, value = expression.operation, expression.value
        if operation == "variable":
            return (variables or {}).get(value, Code(value))
        if operation == "constant":
            return self.number(value)
        parts = [self.scalar(part, variables) for part in expression.arguments]
        return self.operation(expression, parts)

    def operation(self, expression: Expression, parts: Sequence[Code]) -> Code:
        """Return an operation on code."""
        name, value = expression.operation, expression.value
        if name == "multiply":
            return self.product(*parts)
        if name == "weighted_sum":
            return self.weighted_sum(value[0], list(zip(value[1:], parts, strict=True)))
        if name == "lookup":
            return self.bounded(self.lookup(parts[0], value))
        if name == "largest":
            return self.largest(parts)
        if name == "ordered":
            return self.expand("ordered", Code(", ".join(parts)), value=value)
        return self.expand(name, *parts, value=value)

    def weighted_sum(self, bias: float, terms: Sequence[tuple[float, Code]]) -> Code:
        """Return a bias and the products of weights and values, added.

        Examples
        --------
        >>> class Language(Printer):
        ...     templates = ARITHMETIC
        >>> Language().weighted_sum(0.5, [(2.0, Code("a")), (-1.5, Code("b"))])
        '0.5 + 2.0 * a - 1.5 * b'
        """
        products = [self.product(self.number(weight), value) for weight, value in terms]
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
        for factor, other in ((a, b), (b, a)):
            if factor == self.number(-1.0):
                return self.expand("negate", other)
            if factor == self.number(1.0):
                return other
        return self.expand("multiply", a, b)

    def largest(self, values: Sequence[Code]) -> Code:
        """Return the largest of several values."""
        if len(values) > self.most_terms:
            half = len(values) // 2
            return self.largest([self.largest(part) for part in (values[:half], values[half:])])
        return self.expand("largest", Code(", ".join(values)))

    def table(self, text: Code, numbers: Mapping[str, float], unknown: float) -> Code:
        """Return the number that stands for a text, by a search in a long table.

        Parameters
        ----------
        text : Code
        numbers : dict
            Text -> number, sorted by code points; the empty text stands for a missing cell.
        unknown : float
            For other texts.
        """
        raise NotImplementedError

    def lookup(self, text: Code, table: Cases) -> Code:
        """Return the number that stands for a text."""
        if len(table.cases) > MAX_CASES:
            gap = [("", case.number) for case in table.cases if case.is_missing]
            numbers = [(text, case.number) for case in table.cases for text in case.texts]
            return self.table(text, dict(sorted([*gap, *numbers])), table.unknown)
        code = self.number(table.unknown)
        for case in reversed(table.cases):
            condition = self.member(text, [*[""] * case.is_missing, *case.texts])
            code = self.expand("select", Code(condition), self.number(case.number), code)
        return code


class LinePrinter(Printer):
    """Base class of languages with assignments and functions.

    Attributes
    ----------
    language : str
        Its name, in messages.
    helpers : str
        Files of functions that the code may call: in the folder ``embedded``, or with a folder.
    indent, end : str
        Indentation of the lines of a function, and the end of a statement.
    cell : str
        Template of the cell of a column.
    vector : str
        Template of a vector of numbers.
    reader : str
        Template of the name of a function that reads cells.
    constants : str
        Template of a constant of a function of nodes; empty if constants are its parameters.
    most_nodes : int
        Trees with more nodes than this are tables.
    """

    language: ClassVar[str]
    helpers: ClassVar[str]
    indent: ClassVar[str] = "    "
    end: ClassVar[str] = ";"
    cell: ClassVar[str] = "row[{}]"
    vector: ClassVar[str] = "[{}]"
    constants: ClassVar[str] = ""
    reader: ClassVar[str] = "{0}"
    comment: ClassVar[str] = " // "
    most_nodes: ClassVar[int] = 1000

    # -- defined by languages -------------------------------------------------------------

    def assignment(self, name: str, value: str) -> str:
        """Return the statement that gives a name to a value."""
        raise NotImplementedError

    def head(self, function: Function) -> str:
        """Return the first line of a function."""
        raise NotImplementedError

    def requirement(self, name: str, message: str) -> str:
        """Return the statement that raises an error if a value is missing."""
        raise NotImplementedError

    def read(self, reading: Reading) -> str:
        """Return the call that reads a cell."""
        arguments = [self.cell.format(reading.column)]
        if reading.kind != "text":
            arguments += map(self.text, (reading.title, *reading.settings))
        if reading.gaps:
            arguments.append(self.texts(reading.gaps))
        return f"{self.reader.format(reading.kind, reading.kind.title())}({', '.join(arguments)})"

    def text(self, value: str | bool) -> str:
        """Return a text, or a truth value."""
        return json.dumps(value)

    def texts(self, values: Sequence[str]) -> str:
        """Return a list of texts."""
        return f"[{', '.join(map(self.text, values))}]"

    def forest(self, arguments: Sequence[Code], table: Forest) -> str:
        """Return the call that evaluates trees that are tables."""
        functions = ", ".join(f"[{f.name}, {len(f.parameters) - 1}]" for f in table.functions)
        inputs, shape = (
            self.vector.format(", ".join(map(str, v))) for v in (arguments, table.shape)
        )
        numbers = self.vector.format(", ".join(map(self.number, table.numbers)))
        return f"forest({inputs}, {shape}, {numbers}, [{functions}])"

    # -- shared by languages ---------------------------------------------------------------

    def body(self, program: Program) -> list[str]:
        """Return the statements of a program, indented."""
        lines = [self.assignment(each.name, self.read(each)) for each in program.readings]
        for statement in program.body:
            lines += self._statement(statement)
        return [self.indent + line for line in lines]

    def _statement(self, statement: Statement) -> Iterator[str]:
        value = statement.value
        if value.operation == "call":
            code: str = f"{value.value}({', '.join(map(self.scalar, value.arguments))})"
        elif value.operation == "forest":
            code = self.forest([self.scalar(part) for part in value.arguments], value.value)
        else:
            code = self.scalar(value)
        line = self.assignment(statement.name, code)
        yield line + (
            f"{self.comment}{comment_text(statement.comment)}" if statement.comment else ""
        )
        if statement.required:
            yield self.requirement(statement.name, statement.required)

    def functions(self, program: Program) -> list[str]:
        """Return the functions of a program, and the helpers that it needs, as blocks of lines."""
        blocks = []
        for function in program.functions:
            body = [line for statement in function.body for line in self._statement(statement)]
            is_curve = function.name.startswith("curve")
            if is_curve and self.constants:
                names = function.parameters[1:]
                body[:0] = [self.assignment(c, self.constants.format(c[1:])) for c in names]
            results = [self.scalar(result) for result in function.results]
            result = results[0] if is_curve else self.vector.format(", ".join(results))
            lines = [*body, f"return {result}{self.end}".rstrip()]
            tail = ["}"] if self.end else []
            lines = [self.head(function), *(f"    {line}" for line in lines), *tail]
            blocks.append("\n".join(lines))
        return blocks

    def with_helpers(self, code: str) -> list[str]:
        """Return the helpers that code needs, as blocks of lines."""
        files = self.helpers.split()
        return needed_helpers(code, {k: v for file in files for k, v in embedded(file).items()})

    def missing_texts(self) -> str:
        """Return the list of texts that stand for missing values."""
        return self.texts(sorted(MISSING_TEXTS))


# -- helpers ------------------------------------------------------------------------------


#: What precedes the name of a function in the languages of the folder ``embedded``.
_DEFINITION = r"\b(?:def|function|fn|func|enum|const|static [\w<>\[\].]+) (\w+)"


@cache
def embedded(file: str) -> Mapping[str, str]:
    """Return the functions of a file in the folder ``embedded`` by name.

    Functions are separated by empty lines, and have none in them.
    """
    folder = importlib.resources.files("bneuralt") / "export" / "embedded"
    if "/" in file:
        folder = importlib.resources.files("bneuralt")
    blocks = (folder / file).read_text(encoding="utf-8").strip("\n").split("\n\n")
    blocks = [block.removeprefix("export ") for block in blocks]
    names = [re.search(_DEFINITION, block) for block in blocks]
    return {match[1]: block for match, block in zip(names, blocks, strict=True) if match}


def needed_helpers(text: str, helpers: Mapping[str, str]) -> list[str]:
    """Return the helpers that code uses, in their order.

    Parameters
    ----------
    text : str
    helpers : dict
        Name -> code.

    Examples
    --------
    >>> needed_helpers("sigmoid(z)", {"exp": "A", "tanh": "B", "sigmoid": "exp(-z)"})
    ['A', 'exp(-z)']
    """
    needed: dict[str, str] = {}
    waiting = [text]
    while waiting:
        words = set(re.findall(r"\w+", waiting.pop()))
        for name in words & (helpers.keys() - needed.keys()):
            needed[name] = helpers[name]
            waiting.append(helpers[name])
    return [code for name, code in helpers.items() if name in needed]


def checked_name(name: str, reserved: str, language: str, pattern: str = "[A-Za-z_]\\w*") -> str:
    """Return the name of a function if a language allows it; raise an error otherwise."""
    if not isinstance(name, str):
        raise TypeError(f"name={name!r:.80} must be a text")
    if not re.fullmatch(pattern, name, re.ASCII) or name in reserved.split():
        raise ValueError(f"name={name!r:.80} is not a name that {language} allows")
    return name


def comment_text(text: str) -> str:
    """Return a text that cannot end a comment, a docstring, a script element or a line."""
    plain = ascii(text)[1:-1].replace('"', "'").replace("\\", "/")
    return plain.replace("<", "< ").replace("*/", "* /")


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
