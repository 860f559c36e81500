"""Write a trained model as code for another language or program.

The code includes the encoding of the table: categories, missing values, dates and scaling.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile, is_zipfile

from bneuralt.cli.errors import CANNOT_WRITE, USAGE, CommandError
from bneuralt.export.targets import TARGETS, Option

if TYPE_CHECKING:
    pass


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command and of all targets."""
    parser.add_argument("model", metavar="MODEL.json", help="a file written by bneuralt train")
    listed = "; ".join(f"{name}: {target.description}" for name, target in TARGETS.items())
    parser.add_argument("--to", choices=list(TARGETS), required=True, help=listed)
    parser.add_argument("--out", metavar="FILE", required=True, help="the file to write")
    parser.add_argument(
        "--force", action="store_true", help="overwrite files that were not written by export"
    )
    group = parser.add_argument_group("options of targets")
    for flag, by_target in _options().items():
        helps: dict[str, list[str]] = {}
        for target, option in by_target.items():
            helps.setdefault(option.help, []).append(target)
        text = "; ".join(f"{', '.join(targets)}: {help_}" for help_, targets in helps.items())
        option = next(iter(by_target.values()))
        if option.sets is not None:
            group.add_argument(
                flag, dest=option.name, action="store_const", const=option.sets, help=text
            )
            continue
        choices = list(dict.fromkeys(c for option in by_target.values() for c in option.choices))
        group.add_argument(flag, choices=choices or None, metavar=option.metavar, help=text)


def _options() -> dict[str, dict[str, Option]]:
    """Return the options of all targets: option -> target -> what it means there."""
    options: dict[str, dict[str, Option]] = {}
    for target in TARGETS.values():
        for option in target.options:
            options.setdefault(option.flag, {})[target.name] = option
    return options


def run(args: argparse.Namespace) -> None:
    """Write the files of the chosen target."""
    import numpy as np

    from bneuralt.cli.outputs import check_output
    from bneuralt.cli.trained_models import ModelTable, is_known, load_trained_model
    from bneuralt.files import write_together
    from bneuralt.tables.csv_files import TableError

    options = _chosen_options(args)
    check_output(args.out, inputs=(args.model,))
    model = load_trained_model(args.model)
    try:
        if "data" in options:
            data = ModelTable.read(model, args.model, options.pop("data"), args)
            y = data.target("--data needs the target of each row")
            options["X"], options["y"] = data.rows(np.flatnonzero(is_known(y)))
        files = TARGETS[args.to].files(model.model_.in_raw_units(), args.out, **options)
    except (ValueError, TypeError, ImportError) as error:
        if isinstance(error, TableError):
            raise
        raise CommandError(_message(error, args), USAGE) from None
    for path in files:
        check_output(str(path), inputs=(args.model,))
        if not args.force:
            _check_replaces_export(str(path))
    try:
        write_together(files)
    except OSError as error:
        raise CommandError(
            f"--out {error.filename}: cannot be written: {error.strerror}.", CANNOT_WRITE
        ) from None
    print(f"Written: {', '.join(str(path) for path in files)}")


def _chosen_options(args: argparse.Namespace) -> dict[str, Any]:
    """Return the options that were given; refuse those that have no effect on the target."""
    options = {}
    for flag, by_target in _options().items():
        name = next(iter(by_target.values())).name
        value = getattr(args, name)
        if value is None:
            continue
        if args.to not in by_target:
            targets = " and ".join(f"--to {target}" for target in by_target)
            raise CommandError(f"{flag} is an option of {targets}, not of --to {args.to}.")
        choices = by_target[args.to].choices
        if choices and value not in choices:
            raise CommandError(
                f"{flag} {value} cannot be used with --to {args.to}: use one of "
                f"{', '.join(choices)}."
            )
        options[name] = value
    return options


def _message(error: Exception, args: argparse.Namespace) -> str:
    """Return what is wrong, with the option where the error names a parameter."""
    parameter, is_assigned, problem = str(error).partition("=")
    flags = {option.name: option.flag for option in TARGETS[args.to].options} | {"path": "--out"}
    if is_assigned and parameter in flags:
        return f"{flags[parameter]} {problem}."
    return f"{args.model}: {error}."


def _beginning(path: str) -> bytes:
    """Return the part of a file that says what wrote it: of a workbook, its properties."""
    if is_zipfile(path):
        with ZipFile(path) as archive:
            return archive.read("docProps/core.xml")
    with open(path, "rb") as file:
        return file.read(4000)


def _check_replaces_export(path: str) -> None:
    """Check that a file does not exist, is empty, or was generated, and may be replaced."""
    if not Path(path).is_file():
        return
    try:
        beginning = _beginning(path)
    except (OSError, KeyError, BadZipFile):
        beginning = b"?"
    if beginning and b"bneuralt" not in beginning:
        raise CommandError(
            f"--out {path}: the file exists and was not written by export, so it is not "
            "overwritten; choose another name, or use --force.",
            CANNOT_WRITE,
        )
