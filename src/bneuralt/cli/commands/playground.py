"""Open the playground, a page that trains models in a browser."""

from __future__ import annotations

import argparse
import webbrowser
from pathlib import Path

from bneuralt.cli.errors import CommandError

#: Where `make playground` writes it, in a clone of the repository.
PAGE = Path("build/playground.html")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "--path", action="store_true", help="print the path of the page instead of opening it"
    )


def run(args: argparse.Namespace) -> None:
    """Open the page, or print where it is."""
    page = find_page()
    if not args.path and not webbrowser.open(page.as_uri()):
        print("no browser was found; open this file in one:")
    print(page)


def find_page() -> Path:
    """Return the page of this folder, of one above it, or of the clone that is installed."""
    here = Path.cwd()
    for folder in (here, *here.parents, Path(__file__).resolve().parents[4]):
        if (folder / PAGE).is_file():
            return (folder / PAGE).resolve()
    raise CommandError(
        f"there is no {PAGE} here or in a folder above: run make playground in a clone of bneuralt."
    )
