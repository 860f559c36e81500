"""Format and parse JSON text.

Parsing is strict: any problem with a file raises a `ModelFileError` that says what is wrong and
where.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from typing import Any

from bneuralt.files.text_files import ModelFileError

__all__ = ["ModelFileError", "check_format", "check_keys", "format_json", "parse_json"]

#: Largest nesting of a text: more than our formats need, less than the limit of the parser.
MAX_NESTING = 20


def format_json(value: Any, indent: str = "") -> str:
    """Return JSON text with one key per line and lists of plain values on a single line.

    Parameters
    ----------
    value : dict, list, str, number, bool or None
        What to format; numbers must be finite.
    indent : str
        Blanks in front of each line but the first.

    Returns
    -------
    str
        The text, without a final newline.

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
        lines = [f"{_plain(key)}: {format_json(v, deeper)}" for key, v in value.items()]
    elif isinstance(value, list) and any(isinstance(v, (dict, list)) for v in value):
        lines = [format_json(v, deeper) for v in value]
    else:
        return _plain(value)
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    body = ",\n".join(deeper + line for line in lines)
    return f"{opening}\n{body}\n{indent}{closing}"


_ENCODER = json.JSONEncoder(allow_nan=False)


def _plain(value: Any) -> str:
    text = _ENCODER.encode(value)
    if _SURROGATE.search(text):
        _check_values(value)
    return text


def parse_json(text: str) -> Any:
    """Parse JSON text strictly.

    Parameters
    ----------
    text : str
        The text.

    Returns
    -------
    dict, list, str, number, bool or None
        The parsed value.

    Raises
    ------
    ModelFileError
        The text is not valid, nested too deeply, repeats a key, contains a number that is not
        finite or too large for float64, or half of a pair of surrogates.
    """
    _check_nesting(text)
    try:
        value = json.loads(
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
    except ValueError as error:  # for example an integer of thousands of digits
        raise ModelFileError(f"the text is not valid JSON: {error}") from None
    if _LARGE.search(text) or _SURROGATE.search(text):
        _check_values(value)
    return value


# The closing quote is optional so that an unclosed string is scanned once, not from every quote.
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
                f"the text is nested more than {MAX_NESTING} levels deep at character "
                f"{token.start()}: it is not a bneuralt file"
            )


# Texts without these need no look at every value.
_LARGE = re.compile(r"[eE]\+?\d{3}|\d{300}")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def _check_values(value: Any, place: str = "") -> None:
    """Raise an error if a number is too large for float64 or a text is not valid Unicode."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            what = f"the text {value!r} has half of a pair of surrogates: it is not valid Unicode"
            raise ModelFileError(f"{place}: {what}" if place else what) from None
    elif isinstance(value, int | float):
        try:
            is_finite = math.isfinite(value)
        except OverflowError:
            is_finite = False
        if not is_finite:
            raise ModelFileError(
                f"{place or 'the value'} is not a finite number: it is too large for float64"
            )
    elif isinstance(value, dict):
        for key, part in value.items():
            _check_values(key, place)
            _check_values(part, f'{place}."{key}"' if place else f'"{key}"')
    elif isinstance(value, list):
        for i, part in enumerate(value):
            _check_values(part, f"{place}[{i}]")


def _refuse_constant(name: str) -> None:
    raise ModelFileError(f"the text contains {name}: numbers must be finite")


def _unambiguous_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise ModelFileError(f"the key {key!r} occurs twice")
        result[key] = value
    return result


def check_format(data: Any, name: str, supported: int) -> None:
    """Check that parsed JSON has the expected format and version.

    Parameters
    ----------
    data : dict
        The parsed JSON.
    name : str
        The expected value of its key "format".
    supported : int
        The version that this release reads.

    Raises
    ------
    ModelFileError
        The format is another one, or the version is not supported.
    """
    if not isinstance(data, dict) or "format" not in data:
        hint = ""
        if isinstance(data, dict) and {"name", "children"} <= data.keys():
            hint = "; for a tree of the paper's authors, use read_authors_tree of bneuralt-paper"
        raise ModelFileError(f'not a {name} file: it has no key "format"{hint}')
    if data["format"] != name:
        raise ModelFileError(f'not a {name} file: its "format" is {data["format"]!r}')
    version = data.get("version")
    if type(version) is not int or version < 1:
        raise ModelFileError(f'"version" is {version!r}, but must be a positive integer')
    if version > supported:
        raise ModelFileError(
            f"the file has version {version} of the {name} format, but this release of bneuralt "
            f"reads version {supported}: install a newer bneuralt"
        )
    if version < supported:
        raise ModelFileError(
            f"the file has version {version} of the {name} format, which was never part of a "
            f"release: write it again as version {supported}"
        )


def check_keys(data: dict[str, Any], expected: Iterable[str], where: str) -> None:
    """Check that a JSON object has the expected keys and no others.

    Parameters
    ----------
    data : dict
        The parsed object.
    expected : iterable of str
        Its keys.
    where : str
        Name of the object, for messages.

    Raises
    ------
    ModelFileError
        A key is missing or unknown.
    """
    expected = set(expected)
    if missing := expected - data.keys():
        raise ModelFileError(f"{where} lacks the key {min(missing)!r}")
    if unknown := data.keys() - expected:
        raise ModelFileError(f"{where} has a key that does not belong there: {min(unknown)!r}")
