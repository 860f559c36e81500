"""Write a trained model as code for another language or program.

The code includes the encoding of the table: categories, missing values, dates and scaling.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bneuralt.cli.errors import CANNOT_WRITE, USAGE, CommandError
from bneuralt.cli.exports import TARGETS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command and of all targets."""
    parser.add_argument("model", metavar="MODEL.json", help="a file written by bneuralt train")
    listed = "; ".join(f"{name}: {summary}" for name, summary in TARGETS.items())
    parser.add_argument("--to", choices=list(TARGETS), required=True, help=listed)
    parser.add_argument("--out", metavar="FILE", required=True, help="the file to write")
    parser.add_argument(
        "--force", action="store_true", help="overwrite files that were not written by export"
    )
    own: dict[str, set[str]] = {}
    for name in TARGETS:
        before = {action.dest for action in parser._actions}
        _module(name).add_arguments(parser.add_argument_group(f"options of --to {name}"))
        own[name] = {action.dest for action in parser._actions} - before
    options = {text for action in parser._actions for text in action.option_strings}
    parser.set_defaults(options_of_targets=own, default_of=parser.get_default, all_options=options)


def run(args: argparse.Namespace) -> None:
    """Write the files of the chosen target."""
    from bneuralt.cli.outputs import check_output
    from bneuralt.cli.trained_models import load_trained_model
    from bneuralt.files import write_together
    from bneuralt.tables.reading import TableError

    _refuse_other_options(args, args.default_of)
    check_output(args.out, inputs=(args.model,))
    model = load_trained_model(args.model)
    try:
        files = _module(args.to).export(model, args)
    except (ValueError, TypeError) as error:
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


def _message(error: Exception, args: argparse.Namespace) -> str:
    """Return what is wrong, with the option where the error names a parameter."""
    parameter, is_assigned, rest = str(error).partition("=")
    option = _module(args.to).OPTIONS.get(parameter, f"--{parameter}")
    if is_assigned and option in args.all_options:
        return f"{option} {rest}."
    return f"{args.model}: {error}."


def _check_replaces_export(path: str) -> None:
    """Check that a file does not exist, is empty, or was generated, and may be replaced."""
    if not Path(path).is_file():
        return
    try:
        with open(path, "rb") as file:
            beginning = file.read(4000)
    except OSError:
        beginning = b"?"
    if beginning and b"bneuralt" not in beginning:
        raise CommandError(
            f"--out {path}: the file exists and was not written by export, so it is not "
            "overwritten; choose another name, or use --force.",
            CANNOT_WRITE,
        )


def _module(target: str) -> Any:
    return importlib.import_module(f"bneuralt.cli.exports.{target}")


def _refuse_other_options(args: argparse.Namespace, default_of: Callable[[str], Any]) -> None:
    """Refuse options that belong to other targets only, which would have no effect."""
    wanted = args.options_of_targets[args.to]
    for target, options in args.options_of_targets.items():
        for option in sorted(options - wanted):
            if getattr(args, option) != default_of(option):
                name = "--" + option.replace("_", "-")
                raise CommandError(f"{name} is an option of --to {target}, not of --to {args.to}.")
