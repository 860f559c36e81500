"""The `bneuralt` program: finds the command and turns errors into messages and exit codes."""

from __future__ import annotations

import argparse
import errno
import importlib
import io
import os
import sys
import warnings
from collections.abc import Sequence

from bneuralt import __version__
from bneuralt.cli.commands.paper import add_paper_commands
from bneuralt.cli.errors import (
    BAD_DATA,
    BAD_MODEL,
    CANNOT_WRITE,
    EXIT_CODES,
    INTERRUPTED,
    OK,
    CommandError,
)

# Command, its module in bneuralt.cli.errors, and what it does in a line.
COMMANDS = (
    ("demo", "compare small trees with scikit-learn's models on embedded data"),
    ("train", "train a model on a CSV file"),
    ("predict", "predict the rows of a CSV file with a trained model"),
    ("draw", "draw the tree of a trained model"),
    ("data", "list or fetch the data sets of the paper"),
    ("config", "show versions and what the compiled core uses"),
)


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
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
        command = subparsers.add_parser(
            name,
            help=summary,
            description=module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(command)
        if hasattr(module, "run"):
            command.set_defaults(run=module.run)
    add_paper_commands(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A label that the terminal cannot show should not end the program.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            args = build_parser().parse_args(argv)
            code = args.run(args)
        sys.stdout.flush()
        return OK if code is None else code
    except KeyboardInterrupt:
        return _fail("interrupted; nothing was written.", INTERRUPTED)
    except BrokenPipeError:
        # The reader has seen enough (`bneuralt predict ... | head`). Python would complain once
        # more when it flushes at exit, so the descriptor is pointed elsewhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except CommandError as error:
        return _fail(str(error), error.code)
    except Exception as error:
        code = _code_of(error)
        if code is None:
            raise
        return _fail(str(error), code)


def _code_of(error: Exception) -> int | None:
    """The exit code of errors that are the user's to mend; None for those that are ours."""
    # Imported here: most runs end well and need none of them.
    from bneuralt.datasets.fetching import FetchError
    from bneuralt.datasets.loading import DatasetNotFoundError
    from bneuralt.files import ModelFileError
    from bneuralt.tables.reading import TableError

    if isinstance(error, ModelFileError):
        return BAD_MODEL
    if isinstance(error, (TableError, DatasetNotFoundError, FetchError)):
        return BAD_DATA
    if isinstance(error, OSError) and (error.filename is not None or error.errno == errno.ENOSPC):
        return CANNOT_WRITE
    return None


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """What a warning says, without the line of the program it comes from."""
    print(f"bneuralt: note: {message}", file=sys.stderr)


def _fail(message: str, code: int) -> int:
    print(f"bneuralt: {message}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
