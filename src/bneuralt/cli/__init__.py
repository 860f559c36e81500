"""The program `bneuralt`."""

from bneuralt.cli.program import build_parser, main

__all__ = ["build_parser", "main"]
