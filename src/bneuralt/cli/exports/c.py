"""C source code: see the method `to_c` of estimators."""

from __future__ import annotations

import argparse
from typing import Any

from bneuralt.cli.errors import CommandError

DTYPES = ("double", "float", "int16", "int8")
STYLES = ("auto", "tables", "code")
OPTIONS = {"path": "--out"}


def add_arguments(group: Any) -> None:
    """Add the options of the target."""
    group.add_argument(
        "--name", metavar="NAME", help="what names begin with (default: the name of the file)"
    )
    group.add_argument(
        "--dtype",
        choices=DTYPES,
        default="double",
        help="type of weights and values; int16 and int8 compute with whole numbers only",
    )
    group.add_argument(
        "--style",
        choices=STYLES,
        default="auto",
        help="tables that a loop reads, or statements (code), which are faster and larger",
    )
    group.add_argument(
        "--no-libm", action="store_true", help="do not use exp of <math.h>, but an own function"
    )
    group.add_argument(
        "--main", action="store_true", help="add a program that predicts the rows of a CSV file"
    )
    group.add_argument(
        "--contributions",
        action="store_true",
        help="add a function that attributes predictions to features (double and float only)",
    )
    group.add_argument(
        "--data",
        metavar="DATA.csv",
        help="a table with the target, to measure the loss of accuracy of int16 and int8",
    )


def export(model: Any, args: argparse.Namespace) -> dict[Any, str]:
    """Return the files to write."""
    from bneuralt.estimators.exporting import c_files

    X, y = (None, None) if args.data is None else _rows(model, args)
    return c_files(
        model,
        args.out,
        args.name,
        args.dtype,
        style=args.style,
        libm=not args.no_libm,
        main=args.main,
        contributions=args.contributions,
        X=X,
        y=y,
    )


def _rows(model: Any, args: argparse.Namespace) -> tuple[Any, Any]:
    """Return the rows of a table whose target is known."""
    import numpy as np

    from bneuralt.cli.trained_models import is_known, stored_encoding
    from bneuralt.tables.reading import read_csv

    encoding = stored_encoding(model, args.model)
    table = read_csv(args.data)
    y = encoding.labels(table)
    if y is None:
        raise CommandError(f"--data {args.data}: has no target column {encoding.target!r}.")
    used = np.flatnonzero(is_known(y))
    return encoding.frame(table).take(used), np.array(y[used].tolist())
