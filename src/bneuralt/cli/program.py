"""The program `bneuralt`: run a command and turn errors into messages and exit codes."""

from __future__ import annotations

import argparse
import errno
import importlib
import io
import os
import sys
import warnings
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from bneuralt import __version__
from bneuralt.cli.errors import (
    BAD_DATA,
    BAD_MODEL,
    CANNOT_WRITE,
    EXIT_CODES,
    INTERRUPTED,
    OK,
    CommandError,
)
from bneuralt.cli.outputs import escape_control, to_standard_output

__all__ = ["build_parser", "main"]

_LAYOUT = "\n\t"  # control characters that messages may contain

# Each command is a module of bneuralt.cli.commands.
COMMANDS = (
    ("demo", "compare small trees with scikit-learn's models"),
    ("train", "train a model on a CSV file"),
    ("predict", "predict the rows of a CSV file with a trained model"),
    ("explain", "explain the predictions of a trained model by its columns"),
    ("card", "write a page about a trained model, for those who decide on its use"),
    ("compact", "remove weights from a trained model"),
    ("draw", "draw the tree of a trained model"),
    ("export", "write a trained model as code for another language"),
    ("playground", "open a page that trains models in a browser"),
    ("config", "show versions and the instruction set in use"),
)


#: Commands of other packages: name, summary, and how to install the package.
OTHER_COMMANDS = {
    "data": (
        "list or download the data sets of the paper (needs bneuralt-paper)",
        "the command 'data' is part of the package bneuralt-paper: run pip install ./paper in a "
        "clone of bneuralt.",
    ),
    "paper": (
        "reproduce the paper's tables and figures (needs bneuralt-paper)",
        "the command 'paper' is part of the package bneuralt-paper: run pip install ./paper in a "
        "clone of bneuralt.",
    ),
}

#: Packages add commands by entry points of this group: the name of the command, and a module as
#: those of bneuralt.cli.commands.
ENTRY_POINTS = "bneuralt.commands"


def build_parser(argv: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Return the parser of the command line.

    Parameters
    ----------
    argv : sequence of str
        The arguments to be parsed. Only if they name a command that is not one of this package are
        other packages looked through for it: that takes longer than ``--help`` takes otherwise.
    """
    requested = next((argument for argument in argv if not argument.startswith("-")), None)
    parser = argparse.ArgumentParser(
        prog="bneuralt",
        description="Neural trees: small models that train in milliseconds.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"bneuralt {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, summary in COMMANDS:
        module = importlib.import_module(f"bneuralt.cli.commands.{name}")
        _add_command(subparsers, name, summary, module)
    for name, (summary, _) in OTHER_COMMANDS.items():
        if name != requested:
            subparsers.add_parser(name, help=summary, add_help=False)
    if requested is not None and requested not in dict(COMMANDS):
        other = _module_of_another_package(requested)
        if other is not None:
            _add_command(subparsers, requested, "", other)
        elif requested in OTHER_COMMANDS:
            raise CommandError(OTHER_COMMANDS[requested][1])
    return parser


def _add_command(
    subparsers: argparse._SubParsersAction[Any], name: str, summary: str, module: ModuleType
) -> None:
    command = subparsers.add_parser(
        name,
        help=summary,
        description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.add_arguments(command)
    if hasattr(module, "run"):
        command.set_defaults(run=module.run)


def _module_of_another_package(command: str) -> ModuleType | None:
    from importlib.metadata import entry_points

    for entry in entry_points(group=ENTRY_POINTS, name=command):
        module: ModuleType = entry.load()
        return module
    return None


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; those of the process by default.

    Returns
    -------
    int
        The exit code.
    """
    argv = sys.argv[1:] if argv is None else argv
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Labels that the terminal cannot encode are escaped instead of raising an error.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            args = build_parser(argv).parse_args(argv)
            command = args.run.__module__.rpartition(".")[2]
            if getattr(args, "out", None) == "-" and command != "predict":
                code = to_standard_output(args.run, args, command)
            else:
                code = args.run(args)
        sys.stdout.flush()
        return OK if code is None else code
    except KeyboardInterrupt:
        return _fail("interrupted; nothing was written.", INTERRUPTED)
    except BrokenPipeError:
        # The reader closed the pipe (`bneuralt predict ... | head`). Python flushes the standard
        # output again at exit, so the descriptor must not point to the pipe any more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except CommandError as error:
        return _fail(str(error), error.code)
    except Exception as error:
        code = _exit_code(error)
        if code is None:
            raise
        return _fail(str(error), code)


def _exit_code(error: Exception) -> int | None:
    """Return the exit code of errors that the user can correct, or None for internal errors."""
    # Imported here because they load NumPy, which --help does not need.
    from bneuralt.files import ModelFileError
    from bneuralt.tables.csv_files import TableError

    if isinstance(error, ModelFileError):
        return BAD_MODEL
    if isinstance(error, TableError):
        return BAD_DATA
    if isinstance(code := getattr(error, "exit_code", None), int):  # of another package
        return code
    if isinstance(error, OSError) and (error.filename is not None or error.errno == errno.ENOSPC):
        return CANNOT_WRITE
    return None


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print the message of a warning without the place in the code."""
    print(f"bneuralt: note: {escape_control(str(message), keep=_LAYOUT)}", file=sys.stderr)


def _fail(message: str, code: int) -> int:
    print(f"bneuralt: {escape_control(message, keep=_LAYOUT)}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
