"""Locks on runs, so that processes sharing a store repeat no work.

A lock is a file beside the store, locked by the operating system: it is free again as soon as the
process that holds it ends, however it ends.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO

__all__ = ["RunLocks"]

Key = tuple[object, ...]  # what identifies a run


class RunLocks:
    """The locks that this process holds.

    Parameters
    ----------
    store : path
        The file to which finished runs are added; a store in memory needs no locks.

    Examples
    --------
    >>> import tempfile
    >>> key = ("paper", "DT", "iris", 0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with RunLocks(f"{folder}/runs") as mine, RunLocks(f"{folder}/runs") as other:
    ...         mine.take(key), other.take(key)
    (True, False)
    """

    def __init__(self, store: str | os.PathLike[str]) -> None:
        path = os.fspath(store)
        self._folder = None if path == ":memory:" else Path(f"{path}.locks")
        self._held: dict[Key, IO[bytes]] = {}

    def __enter__(self) -> RunLocks:
        return self

    def __exit__(self, *_: object) -> None:
        for key in list(self._held):
            self.drop(key)
        if self._folder is not None:
            with suppress(OSError):  # others still hold locks, or nobody took one
                self._folder.rmdir()

    def take(self, key: Key) -> bool:
        """Lock a run, and return whether it was free."""
        if self._folder is None:
            return True
        self._folder.mkdir(exist_ok=True)
        try:
            file = self._path(key).open("ab")
        except FileNotFoundError:  # another process has just removed the empty folder
            self._folder.mkdir(exist_ok=True)
            file = self._path(key).open("ab")
        if not _lock(file):
            file.close()
            return False
        self._held[key] = file
        return True

    def drop(self, key: Key) -> None:
        """Free a run, whether it was finished or not."""
        if (file := self._held.pop(key, None)) is not None:
            with suppress(OSError):
                self._path(key).unlink()
            file.close()

    def _path(self, key: Key) -> Path:
        assert self._folder is not None
        return self._folder / ".".join(map(str, key))


def _lock(file: IO[bytes]) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
