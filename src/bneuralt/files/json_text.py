"""JSON text: formatted for people, parsed strictly.

Reading trusts nothing: whatever is wrong with a file ends in a `ModelFileError` that says what
and where.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Any

__all__ = [
    "ModelFileError",
    "check_format",
    "check_keys",
    "errors_naming",
    "format_json",
    "parse_json",
    "read_text",
]


class ModelFileError(ValueError):
    """A file or text is not what it should be; the message says what is wrong and where."""


# -- files and JSON text ------------------------------------------------------------------

#: More than any of our formats needs, far less than what troubles a parser.
MAX_NESTING = 20


def read_text(path: str | PathLike[str]) -> str:
    """Read a whole text file as UTF-8."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ModelFileError(f"the file is not UTF-8 text: byte {error.start} is wrong") from None


@contextmanager
def errors_naming(path: str | PathLike[str]) -> Iterator[None]:
    """Put the name of the file in front of what is wrong with it."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from None


def format_json(value: Any, indent: str = "") -> str:
    """Return JSON text with one key per line, and lists of plain values on a single line.

    Examples
    --------
    >>> print(format_json({"size": 3, "parent": [-1, 0]}))
    {
      "size": 3,
      "parent": [-1, 0]
    }
    """
    deeper = indent + "  "
    if isinstance(value, dict) and value:
        lines = [f"{json.dumps(key)}: {format_json(v, deeper)}" for key, v in value.items()]
    elif isinstance(value, list) and any(isinstance(v, (dict, list)) for v in value):
        lines = [format_json(v, deeper) for v in value]
    else:
        return json.dumps(value, allow_nan=False)
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    body = ",\n".join(deeper + line for line in lines)
    return f"{opening}\n{body}\n{indent}{closing}"


def parse_json(text: str) -> Any:
    """Parse JSON text; complain about broken, deeply nested or ambiguous text, and NaN."""
    _check_nesting(text)
    try:
        return json.loads(
            text, parse_constant=_refuse_constant, object_pairs_hook=_unambiguous_object
        )
    except json.JSONDecodeError as error:
        at_end = not text[error.pos :].strip()
        what = "ends too early (is it truncated?)" if at_end else "is not valid JSON"
        raise ModelFileError(
            f"the text {what}: {error.msg} at line {error.lineno}, column {error.colno}"
        ) from None
    except ModelFileError:
        raise
    except ValueError as error:  # such as an integer of thousands of digits
        raise ModelFileError(f"the text is not valid JSON: {error}") from None


# The closing quote is optional so that a string without one is read once, not again and again.
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+"?|[][{}]', re.DOTALL)


def _check_nesting(text: str) -> None:
    depth = 0
    for token in _STRING_OR_BRACKET.finditer(text):
        bracket = token.group()
        if bracket in ("[", "{"):
            depth += 1
        elif bracket in ("]", "}"):
            depth -= 1
        if depth > MAX_NESTING:
            raise ModelFileError(
                f"the text nests more than {MAX_NESTING} levels deep at character "
                f"{token.start()}: this is not one of our files"
            )


def _refuse_constant(name: str) -> None:
    raise ModelFileError(f"the text contains {name}: numbers must be finite")


def _unambiguous_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ModelFileError(f"the key {twice!r} is there twice")
    return result


def check_format(data: Any, name: str, newest: int) -> int:
    """Check that parsed JSON says it is of our format `name`, and return its version.

    Parameters
    ----------
    data : parsed JSON
    name : str
        What its key "format" must say.
    newest : int
        The newest version this release reads; versions count from 1.
    """
    if not isinstance(data, dict) or "format" not in data:
        hint = ""
        if isinstance(data, dict) and {"name", "children"} <= data.keys():
            hint = " (a tree of the paper's authors? use NeuralTree.from_authors_json)"
        raise ModelFileError(f'this is not a {name} file: it has no key "format"{hint}')
    if data["format"] != name:
        raise ModelFileError(f'this is not a {name} file: its "format" is {data["format"]!r}')
    version = data.get("version")
    if type(version) is not int or version < 1:
        raise ModelFileError(f'"version" is {version!r}, it must be a whole number from 1')
    if version > newest:
        raise ModelFileError(
            f"this file is of version {version} of the {name} format, and this release of "
            f"bneuralt reads up to version {newest}: install a newer bneuralt"
        )
    return version


def check_keys(data: dict[str, Any], wanted: Iterable[str], where: str) -> None:
    """Check that a JSON object has the wanted keys and no others."""
    wanted = set(wanted)
    if missing := wanted - data.keys():
        raise ModelFileError(f"{where} lacks the key {min(missing)!r}")
    if unknown := data.keys() - wanted:
        raise ModelFileError(f"{where} has a key that does not belong there: {min(unknown)!r}")
