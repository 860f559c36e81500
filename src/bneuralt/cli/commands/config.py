"""Show the versions of bneuralt, Python and NumPy, and the instruction set of the compiled core."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command, of which there are none."""


def run(args: argparse.Namespace) -> None:
    """Print the configuration."""
    from bneuralt.installation import show_config

    print(show_config())
