"""One SQL expression: see `bneuralt.to_sql`."""

from __future__ import annotations

import argparse
from typing import Any

OPTIONS: dict[str, str] = {}


def add_arguments(group: Any) -> None:
    """Add the options of the target."""
    group.add_argument(
        "--dialect",
        choices=["sqlite", "postgresql", "duckdb"],
        default="sqlite",
        help="the database (default: sqlite)",
    )
    group.add_argument(
        "--of",
        metavar="OUTPUT",
        help="compute the probability of this class, or this one of several numbers "
        "(default: the predicted class or number)",
    )


def export(model: Any, args: argparse.Namespace) -> dict[str, str | bytes]:
    """Return the files to write."""
    from bneuralt import __version__
    from bneuralt.export import to_sql

    expression = to_sql(model, args.dialect, args.of)
    return {args.out: f"/* written by bneuralt {__version__} */ {expression}\n"}
