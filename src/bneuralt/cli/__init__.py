"""The program `bneuralt`, and what commands of other packages share with it."""

from bneuralt.cli.errors import BAD_DATA, CANNOT_WRITE, INTERRUPTED, OK, CommandError
from bneuralt.cli.program import build_parser, main

__all__ = [
    "BAD_DATA",
    "CANNOT_WRITE",
    "INTERRUPTED",
    "OK",
    "CommandError",
    "build_parser",
    "main",
]
