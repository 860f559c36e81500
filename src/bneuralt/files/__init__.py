"""Strict reading of JSON text, and atomic writing of files."""

from bneuralt.files.atomic import write_atomically, write_together, writing_atomically
from bneuralt.files.json_text import check_format, check_keys, format_json, parse_json
from bneuralt.files.text_files import ModelFileError, errors_naming, read_text

__all__ = [
    "ModelFileError",
    "check_format",
    "check_keys",
    "errors_naming",
    "format_json",
    "parse_json",
    "read_text",
    "write_atomically",
    "write_together",
    "writing_atomically",
]
