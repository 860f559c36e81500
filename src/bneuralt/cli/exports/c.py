"""C source code: see `bneuralt.export.export_c`."""

from __future__ import annotations

import argparse
from typing import Any


def add_arguments(group: Any) -> None:
    """Add the options of the target."""
    group.add_argument("--name", metavar="NAME", help="prefix of all names (default: the file's)")


def export(model: Any, args: argparse.Namespace) -> dict[str, str | bytes]:
    """Return the files to write."""
    raise NotImplementedError
