"""Output of the program: result files, and a status line on the terminal."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bneuralt.cli.errors import CANNOT_WRITE, CommandError

__all__ = [
    "StatusLine",
    "check_output",
    "count",
    "escape_control",
    "terminal_width",
    "to_standard_output",
    "write_data",
]

#: How the files of commands end that are written to the standard output by ``--out -``.
ENDINGS = {"draw": ".svg", "card": ".html", "explain": ".csv"}

#: Control characters, line separators, and characters that change the direction of writing.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def escape_control(text: str, keep: str = "") -> str:
    r"""Return a text with control characters written as escape sequences.

    Names and labels come from files; terminals would obey the control characters in them.

    Parameters
    ----------
    text : str
        Any text.
    keep : str
        Characters to leave as they are, such as line ends.

    Returns
    -------
    str
        The text that is safe to print.

    Examples
    --------
    >>> print(escape_control("\033[2Jwidth"))
    \x1b[2Jwidth
    """
    return _CONTROL.sub(lambda match: _escape(match.group(), keep), text)


def _escape(character: str, keep: str) -> str:
    return character if character in keep else character.encode("unicode_escape").decode()


def write_data(content: str | bytes) -> None:
    """Write the result of a command to the standard output, as UTF-8 whatever the locale is."""
    data = content.encode() if isinstance(content, str) else content
    if hasattr(sys.stdout, "buffer"):
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        sys.stdout.write(data.decode())


def to_standard_output(run: Callable[[Any], int | None], args: Any, command: str) -> int | None:
    """Run a command with ``--out -``: its file goes to the standard output, all else to stderr."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"output{_ending(args, command)}"
        args.out = str(path)
        said = io.StringIO()
        try:
            with contextlib.redirect_stdout(said):
                code = run(args)
        finally:
            print(said.getvalue().replace(args.out, "standard output"), end="", file=sys.stderr)
        written = sorted(Path(folder).iterdir())
        if len(written) > 1:
            raise CommandError(
                "--out -: several files are written; name one of them.", CANNOT_WRITE
            )
        write_data(written[0].read_bytes())
    return code


def _ending(args: Any, command: str) -> str:
    if command != "export":
        return ENDINGS.get(command, ".json")
    from bneuralt.export.targets import TARGETS

    return TARGETS[args.to].suffix


def check_output(path: str, *, inputs: tuple[str, ...] = ()) -> None:
    """Check that an output file can be written and is none of the inputs.

    Commands call it before they start to work.

    Parameters
    ----------
    path : str
        The value of ``--out``.
    inputs : tuple of str
        Files that the command reads; ``"-"`` is the standard input.

    Raises
    ------
    CommandError
        The file cannot be written.
    """
    target = Path(path)
    if target.is_dir():
        raise CommandError(f"--out {path}: is a folder; give the name of a file.", CANNOT_WRITE)
    if target.exists() and not target.is_file():  # a device or a pipe, which is written to directly
        if not os.access(target, os.W_OK):
            raise CommandError(f"--out {path}: is not writable; choose another one.", CANNOT_WRITE)
        return
    folder = target.parent  # as the user typed it
    if not folder.is_dir():
        absent = next(part for part in reversed([folder, *folder.parents]) if not part.is_dir())
        raise CommandError(
            f"--out {path}: the folder {str(absent)!r} does not exist; create it first.",
            CANNOT_WRITE,
        )
    if not os.access(folder, os.W_OK):
        raise CommandError(
            f"--out {path}: the folder {str(folder)!r} is not writable; choose another one.",
            CANNOT_WRITE,
        )
    for source in inputs:
        if source != "-" and target.resolve() == Path(source).resolve():
            raise CommandError(
                f"--out {path}: would overwrite the input file; choose another name.", CANNOT_WRITE
            )


def count(n: int, noun: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> count(1, "row"), count(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def terminal_width(most: int = 120) -> int:
    """Return the width of the terminal in columns, at most `most`."""
    return min(shutil.get_terminal_size().columns, most)


class StatusLine:
    """Shows on the standard error output what the program is doing.

    Call it with a text to show it. On a terminal, each text replaces the previous one; elsewhere,
    nothing is shown.

    Parameters
    ----------
    verbose : bool
        Print each text on a separate line, also where there is no terminal. Use it if training
        prints its progress.
    """

    def __init__(self, verbose: bool = False) -> None:
        self._verbose = verbose
        self._is_live = not verbose and sys.stderr.isatty()

    def __call__(self, text: str = "") -> None:
        """Show a text; the empty text clears the line."""
        text = escape_control(text)
        if self._verbose and text:
            print(text, file=sys.stderr, flush=True)
        elif self._is_live:
            print(f"\r\033[K{text[: terminal_width() - 1]}", end="", file=sys.stderr, flush=True)

    def __enter__(self) -> StatusLine:
        return self

    def __exit__(self, *_: object) -> None:
        self("")
