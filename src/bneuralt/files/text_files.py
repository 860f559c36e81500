"""Reading of text files, and errors that name them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike

__all__ = ["ModelFileError", "errors_naming", "read_text"]


class ModelFileError(ValueError):
    """A file or text is not valid; the message says what is wrong and where."""


def read_text(path: str | PathLike[str]) -> str:
    """Read a UTF-8 text file.

    Parameters
    ----------
    path : str or path-like
        File to read.

    Returns
    -------
    str
        Its content.

    Raises
    ------
    ModelFileError
        The file is not valid UTF-8.
    """
    with open(path, "rb") as file:
        data = file.read()
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ModelFileError(f"the file is not UTF-8 text: byte {error.start} is invalid") from None


@contextmanager
def errors_naming(path: str | PathLike[str]) -> Iterator[None]:
    """Prefix the messages of `ModelFileError` with the name of the file."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from None
