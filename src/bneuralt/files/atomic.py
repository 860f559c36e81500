"""Atomic writing of files."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from os import PathLike
from typing import Any

__all__ = ["write_atomically", "write_together"]


def write_atomically(path: str | PathLike[str], content: str | bytes) -> None:
    """Write a file in full or not at all.

    The content is written to a temporary file in the same folder, which then replaces `path`.
    Readers never see a partial file, even if the machine crashes.

    Parameters
    ----------
    path : str or path-like
        File to write. An existing file is replaced; the new one has its permissions. A device or a
        pipe is written to, and not replaced.
    content : str or bytes
        Content of the file; text is written as UTF-8.
    """
    data = content.encode() if isinstance(content, str) else content
    mode = _mode(path)
    if mode is not None and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        with open(path, "wb", buffering=0) as device:
            _write_all(device.fileno(), data)
        return
    target = os.path.realpath(path)  # replace the target of a link, not the link
    temporary = f"{target}.{os.urandom(6).hex()}.tmp"

    def create(name: str, flags: int) -> int:
        # Nobody else may read the content before the permissions are those of the old file.
        return os.open(name, flags, 0o666 if mode is None else 0o600)

    try:
        with open(temporary, "xb", opener=create) as file:
            if mode is not None:
                os.chmod(temporary, stat.S_IMODE(mode))
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        if os.path.exists(temporary):
            os.remove(temporary)
        if isinstance(error, OSError) and error.errno is not None:
            # Name the file of the user instead of the temporary file.
            raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
        raise
    _sync_folder(os.path.dirname(target))


def write_together(files: Mapping[Any, str | bytes]) -> None:
    """Write several files, all of them or, if one of them cannot be written, none.

    Parameters
    ----------
    files : dict
        From path to content.
    """
    waiting: dict[str, str] = {}
    try:
        for path, content in files.items():
            if os.path.isdir(path):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
            temporary = f"{os.path.realpath(path)}.{os.urandom(6).hex()}.tmp"
            waiting[temporary] = os.path.realpath(path)
            try:
                write_atomically(temporary, content)
            except OSError as error:  # name the file of the user
                raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
        for temporary, target in waiting.items():
            os.replace(temporary, target)
    except BaseException:
        for temporary in waiting:
            with suppress(OSError):
                os.remove(temporary)
        raise


def _mode(path: str | PathLike[str]) -> int | None:
    """Return the type and the permissions of a file, or None if it does not exist."""
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _sync_folder(folder: str) -> None:
    """Make a renaming in a folder survive a crash, where the system can do that."""
    if os.name != "posix":
        return
    # The file is in place already; folders that cannot be opened or synchronised are no error.
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
