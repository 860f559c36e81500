"""Tables that are read in blocks, so that any number of rows fits in a given memory."""

from __future__ import annotations

import queue
import re
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bneuralt._typing import Array
from bneuralt.tables.block_sources import Block, Source, open_source
from bneuralt.tables.cells import concatenated
from bneuralt.tables.csv_files import near, quoted
from bneuralt.tables.row_hashes import row_hashes

__all__ = ["BLOCK_SHARE", "Block", "BlockTable", "bytes_of", "open_table", "read_ahead"]

#: Share of `max_memory` for one block; a table of this size is read as a whole.
BLOCK_SHARE = 1 / 16

#: Rows that are read to find out how much memory a row takes.
FIRST_ROWS = 4096

#: The smallest `max_memory`, in bytes.
LEAST_MEMORY = 2**20

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


@dataclass(frozen=True)
class Division:
    """A division of the rows of a table at random, and one of its parts.

    Attributes
    ----------
    seed : int
    fraction : float
        Share of the rows that are held out.
    depth : int
        Number of the divisions before, which are independent of this one.
    is_held_out : bool
        Whether the part is the one that is held out.
    """

    seed: int
    fraction: float
    depth: int
    is_held_out: bool = True

    def has_row(self, start: int, n_rows: int) -> Array:
        """Return which of some neighbouring rows belong to the part."""
        hashes = row_hashes(self.seed + 2**40 * self.depth, start, n_rows)
        is_held_out: Array = hashes < np.uint64(int(self.fraction * 2**64))
        return is_held_out if self.is_held_out else ~is_held_out


@dataclass(frozen=True, eq=False)
class BlockTable:
    """A table that is read in blocks; `open_table` makes it.

    Attributes
    ----------
    source : Source
    names : tuple of str
        Names of the columns, without the target.
    target : tuple of str
        Names of the target; empty if the table has none.
    max_memory : int
        Number of bytes that reading and training may take, beside the program itself.
    """

    source: Source
    names: tuple[str, ...]
    target: tuple[str, ...]
    max_memory: int
    _divisions: tuple[Division, ...] = ()  # of which this table is a part

    @cached_property
    def _row_bytes(self) -> float:
        """Memory of a row, from the first ones."""
        with closing(self._pieces((*self.names, *self.target), FIRST_ROWS)) as pieces:
            first = next(pieces, None)
        if first is None:
            raise ValueError("the table has no rows: at least one is needed")
        # Numbers are read as float64, and texts as positions.
        least = 8 * (len(self.names) + len(self.target))
        return max(least, first.frame.nbytes / max(1, len(first.frame)))

    def _pieces(self, columns: Sequence[str], n_rows: int) -> Generator[Block, None, None]:
        start = 0
        for piece in self.source.pieces(columns, n_rows):
            frame, n = piece.frame, len(piece.frame)
            if self._divisions and n:
                has_row = [division.has_row(start, n) for division in self._divisions]
                frame = frame.take(np.flatnonzero(np.all(has_row, axis=0)))
            if len(frame):
                yield piece._replace(frame=frame, start=start)
            start += n

    @property
    def block_bytes(self) -> int:
        """Size of a block in memory."""
        return max(1, int(BLOCK_SHARE * self.max_memory))

    def blocks(self, more: Sequence[str] = ()) -> Generator[Block, None, None]:
        """Yield all rows in blocks, in the order of the source.

        Parameters
        ----------
        more : sequence of str
            Names of columns to be read beside `names` and `target`.
        """
        columns = dict.fromkeys((*self.names, *self.target, *more))
        n_rows = max(1, int(self.block_bytes / self._row_bytes))
        yield from self._pieces(list(columns), n_rows)

    def whole(self, more: Sequence[str] = ()) -> Block | None:
        """Return the table as one block; None if it is larger than a block may be."""
        parts: list[Any] = []
        size = 0.0
        with closing(self.blocks(more)) as blocks:
            for block in blocks:
                parts.append(block)
                size += len(block.frame) * self._row_bytes
                if size > self.block_bytes:
                    return None
        if not parts:
            raise ValueError("the table has no rows: at least one is needed")
        place = parts[0].place if len(parts) == 1 else "the table"
        return Block(concatenated([block.frame for block in parts]), place)

    def select(self, columns: Sequence[str]) -> BlockTable:
        """Return the table with these columns, in this order, beside the target."""
        self._check(columns)
        return replace(self, names=tuple(columns))

    def without(self, columns: Sequence[str]) -> BlockTable:
        """Return the table without some columns."""
        self._check(columns)
        return replace(self, names=tuple(name for name in self.names if name not in columns))

    def split(self, fraction: float, seed: int = 0) -> tuple[BlockTable, BlockTable]:
        """Return two parts of the table: a random fraction of the rows is in the second one.

        Parameters
        ----------
        fraction : float
            Between 0 and 1.
        seed : int
            The same seed gives the same parts.

        Examples
        --------
        >>> import pandas as pd
        >>> table = open_table([pd.DataFrame({"x": range(100), "y": range(100)})], "y")
        >>> train, test = table.split(0.2)
        >>> len(train.head(100)) + len(test.head(100))
        100
        """
        if not 0.0 < fraction < 1.0:
            raise ValueError(f"fraction={fraction!r} must be between 0 and 1")
        divisions = (*self._divisions, Division(seed, fraction, len(self._divisions)))
        left = (*self._divisions, replace(divisions[-1], is_held_out=False))
        return replace(self, _divisions=left), replace(self, _divisions=divisions)

    def sample(self, n_rows: int, seed: int = 0) -> Any:
        """Return about as many rows, drawn at random, as a data frame; all rows if there are fewer.

        The table is read twice.
        """
        n_all = self.count_rows()
        if n_rows >= n_all:
            return self.head(n_all)
        return self.split(n_rows / n_all, seed)[1].head(2 * n_rows)

    def count_rows(self) -> int:
        """Return the number of rows."""
        counted = replace(self, names=self.names[:1], target=())
        return sum(len(block.frame) for block in counted.blocks())

    def head(self, n_rows: int = 5) -> Any:
        """Return the first rows as a data frame."""
        parts, size = [], 0
        with closing(self._pieces([*self.names, *self.target], n_rows)) as blocks:
            for block in blocks:
                parts.append(block.frame.take(slice(0, n_rows - size)))
                size += len(parts[-1])
                if size >= n_rows:
                    break
        return concatenated(parts).as_data_frame()

    def _check(self, columns: Iterable[str]) -> None:
        _check_columns(columns, self.source.names)

    def __repr__(self) -> str:
        target = f", target={', '.join(self.target)!r}" if self.target else ""
        return f"<BlockTable of {len(self.names)} columns{target}>"


def open_table(
    source: Any, target: str | Sequence[str] | None = None, *, max_memory: int | str = "1GB"
) -> BlockTable:
    """Open a table that is read in blocks: one that may be larger than the memory.

    `fit`, `predict` and `score` of trees and forests take the result in the place of a data frame.
    A table of at most a sixteenth of `max_memory` is read as a whole: then all is as with a data
    frame. Files need pyarrow (``pip install "bneuralt[parquet]"``).

    Parameters
    ----------
    source : str, path, list of them, pyarrow.dataset.Dataset, or iterable of data frames
        A file, a folder, or a pattern such as ``"sales/*.parquet"``: Parquet, Feather or CSV, which
        may be compressed (gzip, bzip2, xz). All files need the same columns, in any order. Or an
        object that gives the same data frames each time that it is iterated over, such as a list.
    target : str or list of str, optional
        Name of the column to predict, or of several.
    max_memory : int or str
        Memory for reading and training, in bytes or such as ``"500MB"``. Beside it, training takes
        some 8 bytes for each row.

    Returns
    -------
    BlockTable

    Raises
    ------
    TableError
        A file is damaged, or its columns are not those of the others.
    FileNotFoundError
        No file matches.

    Examples
    --------
    >>> import pandas as pd
    >>> from bneuralt import BNeuralTRegressor, open_table
    >>> months = [pd.DataFrame({"size": range(50), "price": range(50)}) for _ in range(3)]
    >>> table = open_table(months, target="price")
    >>> table
    <BlockTable of 1 columns, target='price'>
    >>> BNeuralTRegressor(random_state=0).fit(table).score(table) > 0.99
    True
    """
    opened = source if isinstance(source, Source) else open_source(source)
    targets = (target,) if isinstance(target, str) else tuple(target or ())
    _check_columns(targets, opened.names)
    names = tuple(name for name in opened.names if name not in targets)
    if not names:
        raise ValueError("the table has no columns beside the target")
    return BlockTable(opened, names, targets, bytes_of(max_memory))


def _check_columns(columns: Iterable[str], names: Sequence[str]) -> None:
    for name in columns:
        if name not in names:
            raise ValueError(
                f"the table has no column {name!r}.{near(str(name), names)} Its columns are "
                f"{quoted(names)}"
            )


def bytes_of(max_memory: int | str) -> int:
    """Return a number of bytes.

    Examples
    --------
    >>> bytes_of("1.5 GB"), bytes_of("64MiB")
    (1500000000, 67108864)
    """
    size = -1.0
    if isinstance(max_memory, str):
        parts = re.fullmatch(r"\s*(\d+\.?\d*)\s*([kmgt]?)(i?)b?\s*", max_memory.lower())
        if parts is not None and (parts[2] or not parts[3]):
            size = float(parts[1]) * (_BINARY if parts[3] else _UNITS)[parts[2]]
    elif isinstance(max_memory, (int, np.integer)) and not isinstance(max_memory, bool):
        size = float(max_memory)
    if size < LEAST_MEMORY:
        raise ValueError(
            f"max_memory={max_memory!r} must be a number of bytes, at least {LEAST_MEMORY:,}, or a "
            "text such as '500MB' or '1GB'"
        )
    return int(size)


def read_ahead(items: Iterable[Any]) -> Iterator[Any]:
    """Yield items while the next one is made in another thread.

    Examples
    --------
    >>> list(read_ahead(range(3)))
    [0, 1, 2]
    """
    ready: queue.Queue[tuple[bool, Any]] = queue.Queue(maxsize=1)
    is_over = threading.Event()

    def put(item: tuple[bool, Any]) -> None:
        while not is_over.is_set():
            try:
                ready.put(item, timeout=0.1)
                return
            except queue.Full:
                pass

    def make() -> None:
        try:
            for item in items:
                put((True, item))
                if is_over.is_set():
                    return
            put((False, None))
        except BaseException as error:
            put((False, error))

    worker = threading.Thread(target=make, daemon=True)
    worker.start()
    try:
        while True:
            is_item, item = ready.get()
            if is_item:
                yield item
            elif item is not None:
                raise item
            else:
                return
    finally:
        is_over.set()
        worker.join()
