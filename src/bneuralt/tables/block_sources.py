"""Sources of tables: files, folders, datasets of Arrow, data frames and series of them.

A source is a class in `SOURCES`: it says which objects it takes, which columns these have, and how
their rows are read, some at a time.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bneuralt._typing import Array
from bneuralt.tables import frames
from bneuralt.tables.block_files import TableFile, frame_of_batch, naming, open_files
from bneuralt.tables.columns import DataFrame, Frame
from bneuralt.tables.csv_files import CsvOptions, near_file
from bneuralt.tables.targets import natural_target

__all__ = ["SOURCES", "Block", "FileSource", "Source", "matching_files", "open_source"]

#: Endings of the names of files that are read from a folder.
ENDINGS = (
    *(".parquet", ".pq", ".feather", ".arrow", ".ipc", ".csv", ".tsv", ".txt", ".xlsx"),
    *(".jsonl", ".ndjson"),
)


class Block(NamedTuple):
    """Neighbouring rows of a table.

    Attributes
    ----------
    frame : Frame
        The columns that were asked for.
    place : str
        Where the rows are from, for messages: a file, or the position of a frame in a series.
    first_row : int
        Position of the first row in this place.
    start : int
        Position of the first row in the whole table.
    """

    frame: Frame
    place: str = "the table"
    first_row: int = 0
    start: int = 0

    def columns(self, names: Sequence[str]) -> Frame:
        """Return some columns as numbers, texts or dates."""
        return self.frame.select(names).typed()

    def array(self, name: str) -> Array:
        """Return one column as an array."""
        if isinstance(self.frame, DataFrame):
            return self.frame.natural(name)
        return natural_target(self.frame.select([name]).columns[0])


def pieces_of(tables: Iterable[Frame], place: str, n_rows: int) -> Iterator[Block]:
    """Yield the rows of one place, at most `n_rows` at a time."""
    first_row = 0
    for table in tables:
        for start in range(0, len(table), n_rows):
            part = table.take(slice(start, start + n_rows))
            yield Block(part, place, first_row)
            first_row += len(part)


class Source:
    """Rows that can be read in pieces, again and again.

    Attributes
    ----------
    names : list of str
        Names of all columns.
    """

    names: list[str]

    @classmethod
    def accepts(cls, source: Any) -> bool:
        """Return whether an object is of this kind."""
        raise NotImplementedError

    def pieces(self, columns: Sequence[str], n_rows: int) -> Iterator[Block]:
        """Yield some columns of all rows, each piece of at most `n_rows` rows."""
        raise NotImplementedError


def _is_path(source: Any) -> bool:
    return isinstance(source, (str, os.PathLike))


class FileSource(Source):
    """A file, a folder, a pattern, or a list of them.

    Parameters
    ----------
    source : str, path, or list of them
    options : CsvOptions, optional
        How CSV files are read.
    files : sequence of TableFile, optional
        Instead of those of the source.
    """

    def __init__(
        self,
        source: Any,
        options: CsvOptions | None = None,
        files: Sequence[TableFile] | None = None,
    ) -> None:
        if files is None:
            listed = [source] if _is_path(source) else source
            paths = [path for each in listed for path in matching_files(os.fspath(each))]
            files = open_files(paths, options)
        self.files = list(files)
        self.names = list(self.files[0].names)

    @classmethod
    def accepts(cls, source: Any) -> bool:
        """Return whether an object is a path, or a list of paths."""
        is_list = isinstance(source, (list, tuple)) and len(source) > 0
        return _is_path(source) or (is_list and all(map(_is_path, source)))

    def pieces(self, columns: Sequence[str], n_rows: int) -> Iterator[Block]:
        """Yield the rows of all files."""
        for file in self.files:
            with naming(file.path, file.content.program):
                yield from pieces_of(file.frames(columns, n_rows), file.path, n_rows)


def matching_files(pattern: str) -> list[str]:
    """Return the files that a name, a folder or a pattern stands for, sorted."""
    if os.path.isfile(pattern):
        return [pattern]
    if os.path.isdir(pattern):
        every = [path for path in Path(pattern).rglob("*") if path.is_file()]
        named = [path for path in every if not path.name.startswith(("_", "."))]
        listed = [path for path in named if any(s in ENDINGS for s in path.suffixes[-2:])]
        if not listed:
            raise FileNotFoundError(
                f"{pattern}: the folder has no Parquet, Feather or CSV files; name files by a "
                "pattern such as 'folder/*'."
            )
        return sorted(map(str, listed))
    if os.path.exists(pattern):  # a pipe, or a device
        return [pattern]
    paths = sorted(filter(os.path.isfile, glob.glob(pattern, recursive=True)))
    if not paths and glob.has_magic(pattern):
        raise FileNotFoundError(f"{pattern}: no file matches this pattern.")
    if not paths:
        raise FileNotFoundError(f"{pattern}: no such file.{near_file(Path(pattern))}")
    return paths


class DatasetSource(Source):
    """A `pyarrow.dataset.Dataset`."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        self.names = list(dataset.schema.names)

    @classmethod
    def accepts(cls, source: Any) -> bool:
        """Return whether an object is a dataset of Arrow."""
        return hasattr(source, "get_fragments") and hasattr(source, "schema")

    def pieces(self, columns: Sequence[str], n_rows: int) -> Iterator[Block]:
        """Yield the rows of all fragments."""
        for i, fragment in enumerate(self._dataset.get_fragments()):
            place = getattr(fragment, "path", None) or f"fragment {i}"
            with naming(place):
                batches = fragment.to_batches(
                    schema=self._dataset.schema,
                    columns=list(columns),
                    batch_size=n_rows,
                    batch_readahead=1,
                    fragment_readahead=1,
                )
                yield from pieces_of(map(frame_of_batch, batches), place, n_rows)


class FrameSource(Source):
    """A data frame, or an object that gives data frames each time that it is iterated over."""

    def __init__(self, source: Any) -> None:
        known = frames.known_frame(source)
        self._series: Iterable[Any] = [known] if frames.is_data_frame(known) else source
        first = next(iter(self._series), None)
        if first is None:
            raise ValueError("source has no frames: it needs at least one")
        self.names = list(_frame(first, 0).names or ())

    @classmethod
    def accepts(cls, source: Any) -> bool:
        """Return whether an object is a data frame, or can be iterated over."""
        return isinstance(source, Iterable) or frames.is_data_frame(frames.known_frame(source))

    def pieces(self, columns: Sequence[str], n_rows: int) -> Iterator[Block]:
        """Yield the rows of all frames."""
        for i, item in enumerate(self._series):
            frame, place = _frame(item, i), f"frame {i}"
            absent = next((name for name in columns if name not in (frame.names or ())), None)
            if absent is not None:
                raise ValueError(f"{place} has no column {absent!r}, which frame 0 has")
            yield from pieces_of([frame.select(columns)], place, n_rows)


def _frame(frame: Any, i: int) -> DataFrame:
    frame = frames.known_frame(frame)
    if not frames.is_data_frame(frame):
        raise TypeError(
            f"source has a {type(frame).__name__} as its frame {i}: every item must be a data "
            "frame of pandas, polars or Arrow"
        )
    return DataFrame(frame)


#: All kinds of sources; an object is read by the first that accepts it.
SOURCES: tuple[type[Any], ...] = (FileSource, DatasetSource, FrameSource)


def open_source(source: Any) -> Source:
    """Return what can be read of a source; see `bneuralt.open_table`."""
    for kind in SOURCES:
        if kind.accepts(source):
            opened: Source = kind(source)
            return opened
    raise TypeError(
        f"source is a {type(source).__name__}: it must be a file, a pattern such as "
        "'sales/*.parquet', a folder, a pyarrow.dataset.Dataset, or an iterable of data frames"
    )
