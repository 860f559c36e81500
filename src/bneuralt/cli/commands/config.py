"""Show versions, and which kind of instructions and how many threads the compiled core uses."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """It takes none."""


def run(args: argparse.Namespace) -> None:
    import bneuralt

    print(bneuralt.show_config())
