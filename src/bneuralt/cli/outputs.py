"""Where results go: checked before the work starts, written in one piece when it is done."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from bneuralt.cli.errors import CANNOT_WRITE, CommandError


def check_output(path: str, *, inputs: tuple[str, ...] = ()) -> None:
    """Refuse an output file that cannot be written, or that is one of the inputs."""
    target = Path(path)
    if target.is_dir():
        raise CommandError(f"--out {path}: is a folder; name a file in it.", CANNOT_WRITE)
    folder = target.resolve().parent
    if not folder.is_dir():
        raise CommandError(f"--out {path}: there is no folder {folder}; make it.", CANNOT_WRITE)
    if not os.access(folder, os.W_OK):
        raise CommandError(f"--out {path}: the folder {folder} is not writable.", CANNOT_WRITE)
    for source in inputs:
        if source != "-" and target.resolve() == Path(source).resolve():
            raise CommandError(f"--out {path}: would overwrite its own input.", CANNOT_WRITE)


def terminal_width(most: int = 120) -> int:
    return min(shutil.get_terminal_size().columns, most)


class Progress:
    """Says on the standard error output what is going on.

    On a terminal that is one line, overwritten; elsewhere nothing. With `verbose` it is a line for
    each step, on both, since the training then has a progress line of its own.
    """

    def __init__(self, verbose: bool = False) -> None:
        self._verbose = verbose
        self._live = not verbose and sys.stderr.isatty()

    def __call__(self, text: str = "") -> None:
        if self._verbose and text:
            print(text, file=sys.stderr, flush=True)
        elif self._live:
            print(f"\r\033[K{text[: terminal_width() - 1]}", end="", file=sys.stderr, flush=True)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self("")
