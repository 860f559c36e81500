"""Tables in temporary files, of which a limited part is in memory."""

from __future__ import annotations

import mmap
import threading
import time
import weakref
from tempfile import TemporaryFile, gettempdir
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from bneuralt._typing import Array, IntArray

__all__ = ["TableFile", "copied_rows"]

#: Seconds between two looks at the memory that mapped tables take.
PERIOD = 0.02

#: Number of rows that are taken from anywhere in a table before pages are given back.
ROWS_AT_ONCE = 64


class TableFile:
    """A table that is written to a temporary file block by block, and then mapped.

    The file has no name, so that nothing of it is left when the process ends, however it ends.
    While the table exists, pages that were read are given back as soon as they are more than
    `max_resident` bytes; reading them again is a matter of the system's cache, or of the disk.

    Parameters
    ----------
    n_columns : int
    dtype : dtype
    max_resident : int
        Number of bytes.

    Examples
    --------
    >>> file = TableFile(2, np.float32, max_resident=2**20)
    >>> file.append(np.zeros((3, 2)))
    >>> file.append(np.ones((2, 2)))
    >>> file.table().sum(axis=0).tolist()
    [2.0, 2.0]
    """

    def __init__(self, n_columns: int, dtype: DTypeLike, max_resident: int) -> None:
        self.n_columns, self.dtype = n_columns, np.dtype(dtype)
        self.n_rows = 0
        self._max_resident = max_resident
        self._file: Any = TemporaryFile()  # noqa: SIM115
        weakref.finalize(self, self._file.close)  # also after an error

    def append(self, rows: Array) -> None:
        """Write rows to the end of the file.

        Raises
        ------
        OSError
            The disk is full.
        """
        try:
            self._file.write(np.ascontiguousarray(rows, dtype=self.dtype).data)
        except OSError as error:
            raise self._refused(error) from None
        self.n_rows += len(rows)

    def table(self) -> Array:
        """Return all rows as one array, which is read from the file where it is used."""
        try:
            self._file.flush()
        except OSError as error:
            raise self._refused(error) from None
        shape = self.n_rows, self.n_columns
        if 0 in shape:
            self._file.close()
            return np.empty(shape, dtype=self.dtype)
        mapped = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        self._file.close()
        _limit(mapped, self._max_resident)
        return np.frombuffer(mapped, dtype=self.dtype).reshape(shape)

    def close(self) -> None:
        """Give up the file."""
        self._file.close()

    def _refused(self, error: OSError) -> OSError:
        self._file.close()
        size = self.n_rows * self.n_columns * self.dtype.itemsize
        return type(error)(
            error.errno,
            f"{error.strerror} after {size:,} bytes of the encoded table: free some space, or set "
            "the environment variable TMPDIR to a folder with more of it",
            gettempdir(),
        )


def copied_rows(table: Array, positions: IntArray) -> Array:
    """Return a copy of some rows of a mapped table, without more of it in memory than before.

    Each row that is read maps its neighbours too, as the system sees fit.
    """
    mapped: Any = table
    while isinstance(mapped, (np.ndarray, memoryview)):
        mapped = mapped.base if isinstance(mapped, np.ndarray) else mapped.obj
    taken = np.empty((len(positions), *table.shape[1:]), dtype=table.dtype)
    for start in range(0, len(positions), ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        table.take(positions[part], axis=0, out=taken[part])
        if isinstance(mapped, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            mapped.madvise(mmap.MADV_DONTNEED)
    return taken


def _limit(mapped: mmap.mmap, max_resident: int) -> None:
    """Start a thread that limits the resident memory of a mapping for as long as it exists."""
    if hasattr(mmap, "MADV_DONTNEED") and len(mapped) > max_resident:
        libraries = _mapped_bytes() or 0
        arguments = weakref.ref(mapped), libraries + max_resident
        threading.Thread(target=_release_pages, args=arguments, daemon=True).start()


def _release_pages(reference: weakref.ref[mmap.mmap], max_resident: int) -> None:
    while True:
        mapped = reference()
        if mapped is None:
            return
        resident = _mapped_bytes()
        if resident is None or resident > max_resident:
            mapped.madvise(mmap.MADV_DONTNEED)
        del mapped
        time.sleep(PERIOD)


def _mapped_bytes() -> int | None:
    """Return how much of mapped files is in memory; None where the system does not say it."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[2]) * mmap.PAGESIZE
    except (OSError, ValueError, IndexError):
        return None
