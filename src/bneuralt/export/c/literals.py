"""Pieces of C source text: identifiers, strings, comments, numbers and tables."""

from __future__ import annotations

import importlib.resources
import re
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from bneuralt.export.printer import representable

__all__ = [
    "array",
    "c_name",
    "c_string",
    "c_templates",
    "check_name",
    "comment",
    "real",
    "unique_identifiers",
]

#: Keywords of C99 to C23 and C++, which are not allowed as names.
_KEYWORDS = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t
    char32_t char8_t class co_await co_return co_yield compl concept const const_cast
    consteval constexpr constinit continue decltype default delete do double dynamic_cast
    else enum explicit export extern false float for friend goto if inline int long mutable
    namespace new noexcept not not_eq nullptr operator or or_eq private protected public
    register reinterpret_cast requires restrict return short signed sizeof static
    static_assert static_cast struct switch template this thread_local throw true try
    typedef typeid typename typeof typeof_unqual union unsigned using virtual void volatile
    wchar_t while xor xor_eq
"""
KEYWORDS = frozenset(_KEYWORDS.split())

#: C99 compilers may compare only the first 63 characters of names.
MOST_CHARACTERS = 40


@cache
def c_templates(file: str) -> Any:
    r"""Return the parts of a file in the folder ``embedded`` as attributes.

    Placeholders such as ``$real`` are filled in by `ModelCode.fill`.

    Examples
    --------
    >>> c_templates("model.c").NUMBERS
    '    ${NAME}_$totals(x, out);\n'
    """
    folder = importlib.resources.files("bneuralt") / "export" / "embedded"
    text = (folder / file).read_text(encoding="utf-8")
    _, *parts = re.split(r"/\* ---- (\w+) ---- \*/\n", text)
    return SimpleNamespace(**dict(zip(parts[::2], parts[1::2], strict=True)))


def check_name(name: str) -> str:
    """Return a name if it is valid in C and C++; raise ValueError otherwise.

    Examples
    --------
    >>> check_name("iris")
    'iris'
    """
    if not isinstance(name, str):
        raise TypeError(f"name={name!r} must be a text")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) or "__" in name or name in KEYWORDS:
        raise ValueError(
            f"name={name!r:.80} is not a name that C and C++ allow: use letters, digits and "
            "single underscores, a letter first, and no keyword"
        )
    if len(name) > MOST_CHARACTERS:
        raise ValueError(f"name={name!r:.80} is longer than {MOST_CHARACTERS} characters")
    return name


def c_name(text: str) -> str:
    """Return a valid name that is close to a text, such as the stem of a file.

    Examples
    --------
    >>> c_name("my model-2"), c_name("int"), c_name("2x")
    ('my_model_2', 'm_int', 'm2x')
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    name = re.sub(r"[^A-Za-z0-9]+", "_", plain).strip("_")[:MOST_CHARACTERS] or "model"
    name = name if name[0].isalpha() else f"m{name}"[:MOST_CHARACTERS]
    return f"m_{name}" if name in KEYWORDS else name


def unique_identifiers(texts: Sequence[str]) -> list[str]:
    """Return different upper-case identifiers for texts, to be put behind a prefix.

    Examples
    --------
    >>> unique_identifiers(["sepal length (cm)", "Ä", "a", "A", ""])
    ['SEPAL_LENGTH_CM', 'A', 'A_2', 'A_3', 'X']
    """
    names: dict[str, None] = {}
    for text in texts:
        plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
        base = re.sub(r"[^A-Z0-9]+", "_", plain.upper()).strip("_")[:MOST_CHARACTERS] or "X"
        name, n = base, 1
        while name in names:
            n += 1
            name = f"{base}_{n}"
        names[name] = None
    return list(names)


def c_string(text: str) -> str:
    r"""Return a text as a C string literal, in UTF-8.

    Examples
    --------
    >>> print(c_string('a "b"\n'), c_string("??/"))
    "a \"b\"\012" "\?\?/"
    """
    return f'"{"".join(map(_escaped, text.encode("utf-8", "surrogatepass")))}"'


def _escaped(byte: int) -> str:
    character = chr(byte)
    if character in '"\\?':  # two question marks may begin a trigraph
        return f"\\{character}"
    return character if 32 <= byte < 127 else f"\\{byte:03o}"


def comment(text: str) -> str:
    """Return a text as a comment; nothing in the text ends the comment.

    Examples
    --------
    >>> print(comment("end */ of /* it"))
    /* end * / of / * it */
    """
    plain = re.sub(r"\*(?=/)", "* ", re.sub(r"/(?=\*)", "/ ", text))
    plain = re.sub(r"\?(?=\?)", "? ", plain).encode("ascii", "backslashreplace").decode()
    lines = [
        line
        for part in "".join(c if c == "\n" or c.isprintable() else " " for c in plain).split("\n")
        for line in (textwrap.wrap(part, 96) or [""])
    ]
    joined = "\n * ".join(line.rstrip("\\ ") for line in lines)
    return f"/* {joined} */".replace(" \n", "\n")


def real(value: float, is_float: bool = False) -> str:
    """Return a number as a C literal that is read back as the same number.

    A float is neither infinite nor 0 for a number that is not.

    Examples
    --------
    >>> real(0.1), real(2.0), real(0.1, is_float=True), real(1e300, is_float=True)
    ('0.1', '2.0', '0.1f', '3.4028235e+38f')
    """
    if not is_float:
        return repr(float(value))
    text = str(np.float32(representable(value, np.finfo(np.float32))))
    return f"{text if '.' in text or 'e' in text else text + '.0'}f"


def array(declaration: str, values: Iterable[object]) -> str:
    """Return the definition of an array.

    Examples
    --------
    >>> print(array("static const int a[2]", [1, 2]))
    static const int a[2] = {
        1, 2};
    """
    body = textwrap.fill(
        ", ".join(str(value) for value in values),
        width=100,
        initial_indent="    ",
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return f"{declaration} = {{\n{body}}};"
