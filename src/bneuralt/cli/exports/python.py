"""One Python function: see `bneuralt.to_python`."""

from __future__ import annotations

import argparse
from typing import Any

OPTIONS = {"name": "--function"}


def add_arguments(group: Any) -> None:
    """Add the options of the target."""
    group.add_argument(
        "--function", metavar="NAME", default="predict", help="its name (default: predict)"
    )


def export(model: Any, args: argparse.Namespace) -> dict[str, str | bytes]:
    """Return the files to write."""
    from bneuralt.export import to_python

    return {args.out: to_python(model, args.function)}
