"""Writing files: in full, or not at all."""

from __future__ import annotations

import os
import secrets
from os import PathLike

__all__ = ["write_atomically"]


def write_atomically(path: str | PathLike[str], content: str | bytes) -> None:
    """Write a file so that it is there in full, or not at all.

    The content goes to a new file beside `path`, which then takes its place; a reader, or a
    machine that stops half-way, never sees a part of it.

    Parameters
    ----------
    path : str or path-like
        File to write; an existing one is replaced.
    content : str or bytes
        Text is written as UTF-8.
    """
    target = os.path.realpath(path)  # write through a link, do not replace it
    temporary = f"{target}.{secrets.token_hex(6)}.tmp"
    data = content.encode() if isinstance(content, str) else content
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        if os.path.exists(temporary):
            os.remove(temporary)
        raise
