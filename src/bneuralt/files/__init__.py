"""Strict reading of JSON text, and atomic writing of files."""

from bneuralt.files.atomic import write_atomically
from bneuralt.files.json_text import (
    ModelFileError,
    check_format,
    check_keys,
    errors_naming,
    format_json,
    parse_json,
    read_text,
)

__all__ = [
    "ModelFileError",
    "check_format",
    "check_keys",
    "errors_naming",
    "format_json",
    "parse_json",
    "read_text",
    "write_atomically",
]
