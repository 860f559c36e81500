"""Atomic writing of files."""

from __future__ import annotations

import os
from os import PathLike

__all__ = ["write_atomically"]


def write_atomically(path: str | PathLike[str], content: str | bytes) -> None:
    """Write a file in full or not at all.

    The content is written to a temporary file in the same folder, which then replaces `path`.
    Readers never see a partial file, even if the machine crashes.

    Parameters
    ----------
    path : str or path-like
        File to write. An existing file is replaced.
    content : str or bytes
        Content of the file; text is written as UTF-8.
    """
    target = os.path.realpath(path)  # replace the target of a link, not the link
    temporary = f"{target}.{os.urandom(6).hex()}.tmp"
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
