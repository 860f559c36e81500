"""Atomic writing of files."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from os import PathLike
from typing import Any, BinaryIO

try:
    import fcntl
except ModuleNotFoundError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["write_atomically", "write_together", "writing_atomically"]


def write_atomically(path: str | PathLike[str], content: str | bytes) -> None:
    """Write a file in full or not at all.

    The content is written to a temporary file in the same folder, which then replaces `path`.
    Readers never see a partial file, even if the machine crashes. Temporary files that killed
    processes have left behind are removed.

    Parameters
    ----------
    path : str or path-like
        File to write. An existing file is replaced; the new one has its permissions. A device or a
        pipe is written to, and not replaced.
    content : str or bytes
        Content of the file; text is written as UTF-8.
    """
    mode = _mode(path)
    if mode is not None and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        with _naming(path), open(path, "wb", buffering=0) as device:
            _write_all(device.fileno(), _encoded(content))
        return
    write_together({path: content})


def write_together(files: Mapping[Any, str | bytes]) -> None:
    """Write several files, all of them or, if one of them cannot be written, none.

    Parameters
    ----------
    files : dict
        From path to content.
    """
    with ExitStack() as stack:
        waiting = [
            stack.enter_context(_TemporaryFile(path, _encoded(content)))
            for path, content in files.items()
        ]
        for file in waiting:
            file.replace_target()
    for folder in {os.path.dirname(file.target) for file in waiting}:
        _sync_folder(folder)


@contextmanager
def writing_atomically(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing that replaces `path` when the block ends without an error.

    Parameters
    ----------
    path : str or path-like
        File to write; see `write_atomically`.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "a.txt")
    ...     with writing_atomically(path) as file:
    ...         _ = file.write(b"text")
    ...         existed = os.path.exists(path)
    ...     existed, os.listdir(folder)
    (False, ['a.txt'])
    """
    with _TemporaryFile(path, b"") as temporary:
        yield temporary.file
        with _naming(path):
            temporary.file.flush()
            os.fsync(temporary.file.fileno())
        temporary.replace_target()
    _sync_folder(os.path.dirname(temporary.target))


class _TemporaryFile:
    """A complete file beside its target, which it replaces or disappears.

    It is locked while it exists, so that others can tell it from one that a killed process left.
    """

    def __init__(self, path: str | PathLike[str], data: bytes) -> None:
        self.path = path
        self.target = os.path.realpath(path)  # replace the target of a link, not the link
        self.data = data
        self.file: BinaryIO

    def __enter__(self) -> _TemporaryFile:
        if os.path.isdir(self.path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(self.path))
        _remove_abandoned(self.target)
        with _naming(self.path):
            self._create()
        try:
            with _naming(self.path):
                self.file.write(self.data)
                self.file.flush()
                os.fsync(self.file.fileno())
        except BaseException:
            self._discard()
            raise
        return self

    def _create(self) -> None:
        mode = _mode(self.path)

        def opener(name: str, flags: int) -> int:
            # Nobody else may read the content before the permissions are those of the old file.
            return os.open(name, flags, 0o666 if mode is None else 0o600)

        while True:
            self.name = f"{self.target}.{os.urandom(6).hex()}.tmp"
            self.file = open(self.name, "xb", opener=opener)  # noqa: SIM115
            if _lock(self.file.fileno()) and os.path.exists(self.name):
                break
            self._discard()  # another process took it for abandoned before it was locked
        if mode is not None:
            os.chmod(self.name, stat.S_IMODE(mode))

    def replace_target(self) -> None:
        """Put the file in the place of its target."""
        with _naming(self.path):
            if os.name == "nt":  # where open files cannot be renamed
                self.file.close()
            os.replace(self.name, self.target)

    def _discard(self) -> None:
        with suppress(OSError):
            self.file.close()
        with suppress(OSError):
            os.remove(self.name)

    def __exit__(self, *_: object) -> None:
        self._discard()


def _remove_abandoned(target: str) -> None:
    """Remove temporary files of a target that no process is writing."""
    folder, name = os.path.split(target)
    temporary = re.compile(rf"{re.escape(name)}\.[0-9a-f]{{12}}\.tmp")
    with suppress(OSError):  # of a folder that cannot be listed
        for entry in os.listdir(folder or "."):
            if temporary.fullmatch(entry):
                with suppress(OSError), open(os.path.join(folder, entry), "rb") as file:
                    if fcntl is not None and _lock(file.fileno()):
                        os.remove(file.name)


def _lock(descriptor: int) -> bool:
    """Lock a file until it is closed; return False if another process has locked it."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # of a file system without locks
        return True
    return True


@contextmanager
def _naming(path: str | PathLike[str]) -> Iterator[None]:
    """Let errors of the system have the name that users know, not that of a temporary file."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from None


def _encoded(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content


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
