"""All changes of a C++ file, by kind.

The sources are formatted by clang-format: a binary operator has space on both sides, the bracket of
a template has none. That is enough to find operators and their operands without a parser. What is
computed by the compiler (`constexpr`, types, sizes, cases) stays, because it cannot be switched at
run time; where the rules below do not see it, the compiler says so, and another change is drawn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from tests.tools.mutants.changes import Change

_TOKEN = re.compile(
    r"(?P<skip>//[^\n]*|/\*.*?\*/|^[ \t]*#[^\n]*(?:\\\n[^\n]*)*)"
    r"|(?P<text>R\"(?P<mark>\w*)\(.*?\)(?P=mark)\"|\"(?:\\.|[^\"\\\n])*\"|(?<!\w)'(?:\\.|[^'\\\n])+')"
    r"|(?P<number>(?<![\w.])(?:0x[\da-fA-F']+|\d[\d']*(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+)[uUlLfF]*)"
    r"|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<sign><<=|>>=|->|\+\+|--|<=>|<=|>=|==|!=|&&|\|\||\+=|-=|\*=|/=|%=|&=|\|=|\^=|::|<<|>>"
    r"|[^\s\w])",
    re.DOTALL | re.MULTILINE,
)
#: How strongly binary operators bind.
_STRENGTH = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip
_ASSIGNMENTS = {"+=": "-=", "-=": "+=", "*=": "/=", "/=": "*="}
_BORDERS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_COMPARISONS = {"==": "!=", "!=": "==", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
_OPERATORS = {
    "+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "&": "|", "|": "&", "<<": ">>", ">>": "<<",
}  # fmt: skip
_BOOLEANS = {"&&": "||", "||": "&&"}
_EXTREMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum",
             "floor": "ceil", "ceil": "floor"}  # fmt: skip
_OPEN, _CLOSED = dict(zip("([{", ")]}", strict=True)), dict(zip(")]}", "([{", strict=True))
#: Statements with one of these words are for the compiler.
_COMPILED = {
    "constexpr", "consteval", "static_assert", "template", "using", "typename", "requires",
    "concept", "case", "enum", "alignas", "sizeof", "decltype", "namespace", "operator", "typedef",
    "struct", "class", "NB_MODULE", "asm",
}  # fmt: skip
_KEYWORDS = {"return", "if", "for", "while", "else", "do", "switch", "throw", "const", "auto",
             "static", "delete", "new", "default", "break", "continue", "goto", "try", "catch",
             "inline", "extern", "public", "private", "protected"}  # fmt: skip


class _Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


class _Source:
    """The tokens of a file, and its statements."""

    def __init__(self, file: str, text: str) -> None:
        self.file, self.text = file, text
        self.tokens = [
            _Token(str(match.lastgroup), match.group(), match.start(), match.end())
            for match in _TOKEN.finditer(text)
            if match.lastgroup not in ("skip", None)
        ]
        self.partner: dict[int, int] = {}
        opened: list[int] = []
        for i, token in enumerate(self.tokens):
            if token.text in _OPEN:
                opened.append(i)
            elif token.text in _CLOSED and opened:
                self.partner[i] = opened.pop()
                self.partner[self.partner[i]] = i
        self.compiled = self._compiled()
        self.scopes = self._scopes()

    def _compiled(self) -> list[bool]:
        """For each token whether its statement is for the compiler."""
        flags = [False] * len(self.tokens)
        start = 0
        for i, token in enumerate(self.tokens):
            if token.text in (";", "{", "}"):
                words = {t.text for t in self.tokens[start:i]}
                if words & _COMPILED:
                    flags[start : i + 1] = [True] * (i + 1 - start)
                start = i + 1
        return flags

    def _scopes(self) -> list[str]:
        """For each token the name of the function or of the types around it."""
        scopes: list[str] = []
        opened: list[tuple[str, bool]] = [("", False)]  # the name, and whether it is a function
        start = 0
        for i, token in enumerate(self.tokens):
            if token.text == "}" and len(opened) > 1:
                opened.pop()
            scopes.append(opened[-1][0])
            if token.text == "{":
                outer, is_function = opened[-1]
                name, is_call = ("", False) if is_function else self._header(start, i)
                opened.append(("::".join(filter(None, (outer, name))), is_function or is_call))
            if token.text in (";", "{", "}"):
                start = i + 1
        return scopes

    def _header(self, start: int, brace: int) -> tuple[str, bool]:
        """Return the name that is declared before a brace, and whether it is a function's."""
        depth = 0  # of the parameters of a template
        for before, token in pairwise(self.tokens[start:brace]):
            depth += {"<": 1, ">": -1, ">>": -2}.get(before.text, 0)
            if depth == 0 and before.text in ("struct", "class"):
                return token.text, False
            if depth == 0 and token.text == "(" and before.kind == "word":
                return before.text, True
        return "", False

    def is_binary(self, i: int) -> bool:
        """Whether a token is an operator with space on both sides."""
        token = self.tokens[i]
        return (
            token.text in _STRENGTH
            and self.text[token.start - 1].isspace()
            and self.text[token.end].isspace()
            and i > 0
            and (self.tokens[i - 1].kind in ("word", "number") or self.tokens[i - 1].text in ")]}>")
            and self.tokens[i - 1].text not in _KEYWORDS
        )

    def _ends_operand(self, i: int, strength: int) -> bool:
        """Whether an operand of an operator of this strength ends before a token."""
        text = self.tokens[i].text
        if self.is_binary(i):
            return _STRENGTH[text] < strength
        return text in ("return", "else", "throw", "co_return", ",", ";", "?", ":", "=") or (
            text.endswith("=") and len(text) > 1
        )

    def left_of(self, i: int) -> int:
        """Return the first token of the left operand of a binary operator."""
        strength = _STRENGTH.get(self.tokens[i].text, 0)
        first = i
        while first > 0:
            before = first - 1
            if self.tokens[before].text in _CLOSED:
                before = self.partner[before]
                if before > 0 and self.tokens[before - 1].text in ("if", "for", "while"):
                    break
            elif self.tokens[before].text in _OPEN or self._ends_operand(before, strength):
                break
            first = before
        return first

    def right_of(self, i: int, strength: int) -> int:
        """Return the last token of the right operand of an operator."""
        last = i
        while last + 1 < len(self.tokens):
            after = last + 1
            if self.tokens[after].text in _OPEN:
                after = self.partner[after]
            elif self.tokens[after].text in _CLOSED or self._ends_operand(after, strength):
                break
            last = after
        return last

    def code(self, first: int, last: int) -> str:
        """Return the text of tokens."""
        return self.text[self.tokens[first].start : self.tokens[last].end]

    def change(self, kind: str, first: int, last: int, new: str) -> Change:
        """Return a change of some tokens."""
        start, end = self.tokens[first].start, self.tokens[last].end
        line = self.text.count("\n", 0, start) + 1
        column = start - (self.text.rfind("\n", 0, start) + 1)
        old = self.text[start:end]
        scope = self.scopes[first]
        return Change(self.file, scope, kind, line, column, old, new, start, end, new, None)


def _binary(source: _Source, i: int) -> Iterator[Change]:
    """Changes of a binary operator."""
    text = source.tokens[i].text
    first, last = source.left_of(i), source.right_of(i, _STRENGTH[text] + 1)
    if first == i or last == i:
        return
    a, b = source.code(first, i - 1), source.code(i + 1, last)
    tables = {"border": _BORDERS, "comparison": _COMPARISONS, "operator": _OPERATORS,
              "boolean": _BOOLEANS}  # fmt: skip
    for kind, table in tables.items():
        if text in table:
            yield source.change(kind, first, last, f"{a} {table[text]} {b}")
    if text == "-":
        yield source.change("sign", first, last, f"({b}) - ({a})")
    if text in ("+", "-", "*", "/", "&&", "||", "&", "|"):
        yield source.change("dropped term", first, last, a)
    if text in ("+", "*", "&&", "||", "&", "|"):
        yield source.change("dropped term", first, last, b)


def _unary(source: _Source, i: int) -> Iterator[Change]:
    """Changes of a sign or a negation."""
    before, text = source.tokens[i - 1], source.tokens[i].text
    is_operand = before.kind in ("word", "number") and before.text not in _KEYWORDS
    if is_operand or before.text in ")]" or source.text[source.tokens[i].end].isspace():
        return
    last = source.right_of(i, 11)
    if last > i:
        kind = "sign" if text == "-" else "dropped not"
        yield source.change(kind, i, last, f"({source.code(i + 1, last)})")


def _number(source: _Source, i: int) -> Iterator[Change]:
    text = source.tokens[i].text
    if re.fullmatch(r"\d+", text):
        yield source.change("constant", i, i, str(int(text) + 1))
        if int(text) > 1:
            yield source.change("constant", i, i, str(int(text) - 1))
    elif re.fullmatch(r"[\d.]+(e[-+]?\d+)?", text):
        yield source.change("constant", i, i, repr(float(text) * 1.5 or 1.0))


def _arguments(source: _Source, opening: int) -> list[tuple[int, int]]:
    """Return the first and last token of each argument in brackets."""
    parts, first, i = [], opening + 1, opening + 1
    closing = source.partner[opening]
    while i < closing:
        if source.tokens[i].text in _OPEN:
            i = source.partner[i]
        elif source.tokens[i].text == ",":
            parts.append((first, i - 1))
            first = i + 1
        i += 1
    return [*parts, (first, closing - 1)] if closing > opening + 1 else []


def _call(source: _Source, opening: int) -> Iterator[Change]:
    """Changes of a call."""
    first = opening - 1
    name = source.tokens[first]
    if name.text == ">":  # template arguments
        depth = 0
        while first >= 0:
            depth += {">": 1, "<": -1, ">>": 2}.get(source.tokens[first].text, 0)
            if depth == 0 or source.tokens[first].text in ";{}":
                break
            first -= 1
        first -= 1
        name = source.tokens[first]
    if name.kind != "word" or name.text in _KEYWORDS:
        return
    while (
        source.tokens[first - 1].text in ("::", ".", "->")
        and source.tokens[first - 2].kind == "word"
    ):
        first -= 2
    before = source.tokens[first - 1]
    if (before.kind == "word" and before.text not in ("return", "else")) or before.text in ">*&.->":
        return
    closing = source.partner[opening]
    whole = source.code(first, closing)
    if name.text in _EXTREMES:
        at = name.start - source.tokens[first].start
        new = whole[:at] + _EXTREMES[name.text] + whole[at + len(name.text) :]
        yield source.change("extreme", first, closing, new)
    parts = _arguments(source, opening)
    start = source.tokens[first].start
    for (a, b), (c, d) in pairwise(parts):
        left, right = source.code(a, b), source.code(c, d)
        if left != right:
            new = (
                whole[: source.tokens[a].start - start]
                + right
                + source.text[source.tokens[b].end : source.tokens[c].start]
                + left
                + whole[source.tokens[d].end - start :]
            )
            yield source.change("swapped arguments", first, closing, new)


def _statement(source: _Source, first: int) -> Iterator[Change]:
    """Leave out a statement that begins with this token."""
    token, after = source.tokens[first], source.tokens[first + 1]
    is_jump = token.text in ("continue", "break", "throw")
    is_call = (
        token.kind == "word"
        and token.text not in _KEYWORDS
        and (
            after.text in ("(", ".", "->", "[", "=", "::", "++", "--") or after.text in _ASSIGNMENTS
        )
    )
    if not (is_jump or is_call or token.text in ("++", "--")):
        return
    i = first
    while source.tokens[i].text != ";":
        if source.tokens[i].text in _OPEN:
            i = source.partner[i]
        elif source.tokens[i].text in _CLOSED:
            return
        i += 1
        if i >= len(source.tokens):
            return
    yield source.change("removed statement", first, i, "")


def _assignment(source: _Source, i: int) -> Iterator[Change]:
    text = source.tokens[i].text
    first, last = source.left_of(i), source.right_of(i, 0)
    if first < i:
        a, b = source.code(first, i - 1), source.code(i + 1, last)
        yield source.change("operator", first, last, f"{a} {_ASSIGNMENTS[text]} {b}")


def changes_of(file: str, text: str) -> list[Change]:
    """Return all changes of a file, in the order of their places."""
    source = _Source(file, text)
    changes: list[Change] = []
    for i, token in enumerate(source.tokens[:-1]):
        if source.compiled[i]:
            continue
        if source.is_binary(i):
            changes += _binary(source, i)
        elif token.text in ("-", "!"):
            changes += _unary(source, i)
        elif token.kind == "number":
            changes += _number(source, i)
        elif token.text in _ASSIGNMENTS:
            changes += _assignment(source, i)
        elif token.text == "(" and i > 0 and i in source.partner:
            changes += _call(source, i)
            if source.tokens[i - 1].text in ("if", "while"):
                first, last = i + 1, source.partner[i] - 1
                for value in ("true", "false"):
                    if source.tokens[i - 1].text == "if" or value == "false":
                        changes.append(source.change("condition", first, last, value))
        elif token.text == "?":
            first = source.left_of(i)
            if first < i:
                for value in ("true", "false"):
                    changes.append(source.change("condition", first, i - 1, value))
        if i > 0 and (
            source.tokens[i - 1].text in (";", "{", "}", "else")
            or (
                source.tokens[i - 1].text == ")"
                and source.tokens[source.partner.get(i - 1, i - 1) - 1].text
                in ("if", "for", "while")
            )
        ):
            changes += _statement(source, i)
    return changes
