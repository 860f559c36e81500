"""Sources of tables that are read in pieces: files, datasets of Arrow, and series of frames."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from bneuralt.tables import frames
from bneuralt.tables.block_files import naming, open_files, slices
from bneuralt.tables.csv_files import near_file

__all__ = ["Piece", "Source", "matching_files", "open_source"]

#: Endings of the names of files that are read from a folder.
ENDINGS = (".parquet", ".pq", ".feather", ".arrow", ".ipc", ".csv", ".tsv", ".txt")


class Piece(NamedTuple):
    """Some neighbouring rows of a source.

    Attributes
    ----------
    frame : data frame of pandas, polars or Arrow
    place : str
        The file, or the position of a frame in a series.
    first_row : int
        Position of the first of these rows in the file.
    """

    frame: Any
    place: str
    first_row: int


@dataclass(frozen=True, eq=False)
class Source:
    """Rows that can be read in pieces, again and again.

    Attributes
    ----------
    names : list of str
        Names of all columns.
    pieces : callable
        From names of columns and a number of rows to an iterator of `Piece`, each of at most as
        many rows.
    """

    names: list[str]
    pieces: Callable[[Sequence[str], int], Iterator[Piece]]


def open_source(source: Any) -> Source:
    """Return what can be read of a source; see `bneuralt.open_table`."""
    if isinstance(source, (str, os.PathLike)):
        source = [source]
    if isinstance(source, (list, tuple)) and all(isinstance(s, (str, os.PathLike)) for s in source):
        return _of_files([path for each in source for path in matching_files(os.fspath(each))])
    if hasattr(source, "get_fragments") and hasattr(source, "schema"):
        return _of_dataset(source)
    if frames.is_data_frame(frames.known_frame(source)):
        source = [source]
    if not isinstance(source, Iterable):
        raise TypeError(
            f"source is a {type(source).__name__}: it must be a file, a pattern such as "
            "'sales/*.parquet', a folder, a pyarrow.dataset.Dataset, or an iterable of data frames"
        )
    if iter(source) is source:
        raise TypeError(
            f"source is a {type(source).__name__}, whose frames can be read only once, and they "
            "are needed several times: pass a list, or an object whose __iter__ begins anew"
        )
    return _of_frames(source)


def _of_files(paths: Sequence[str]) -> Source:
    if not paths:
        raise ValueError("source is an empty list: it needs at least one file")
    files = open_files(paths)

    def pieces(columns: Sequence[str], n_rows: int) -> Iterator[Piece]:
        for file in files:
            with naming(file.path):
                for part, first_row in slices(file.batches(columns, n_rows), n_rows):
                    yield Piece(part, file.path, first_row)

    return Source(list(files[0].types), pieces)


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
    paths = sorted(filter(os.path.isfile, glob.glob(pattern, recursive=True)))
    if not paths and glob.has_magic(pattern):
        raise FileNotFoundError(f"{pattern}: no file matches this pattern.")
    if not paths:
        raise FileNotFoundError(f"{pattern}: no such file.{near_file(Path(pattern))}")
    return paths


def _of_dataset(dataset: Any) -> Source:
    def pieces(columns: Sequence[str], n_rows: int) -> Iterator[Piece]:
        for i, fragment in enumerate(dataset.get_fragments()):
            place = getattr(fragment, "path", None) or f"fragment {i}"
            with naming(place):
                batches = fragment.to_batches(
                    schema=dataset.schema,
                    columns=list(columns),
                    batch_size=n_rows,
                    batch_readahead=1,
                    fragment_readahead=1,
                )
                for part, first_row in slices(batches, n_rows):
                    yield Piece(part, place, first_row)

    return Source(list(dataset.schema.names), pieces)


def _of_frames(series: Iterable[Any]) -> Source:
    first = next(iter(series), None)
    if first is None:
        raise ValueError("source has no frames: it needs at least one")
    names = [str(name) for name in frames.frame_names(_frame(first, 0))]

    def pieces(columns: Sequence[str], n_rows: int) -> Iterator[Piece]:
        for i, item in enumerate(series):
            frame, place = _frame(item, i), f"frame {i}"
            positions = {str(name): j for j, name in enumerate(frames.frame_names(frame))}
            absent = next((name for name in columns if name not in positions), None)
            if absent is not None:
                raise ValueError(f"{place} has no column {absent!r}, which frame 0 has")
            chosen = frames.select_columns(frame, [positions[name] for name in columns])
            for start in range(0, len(chosen), n_rows):
                yield Piece(frames.slice_rows(chosen, start, start + n_rows), place, start)

    return Source(names, pieces)


def _frame(frame: Any, i: int) -> Any:
    frame = frames.known_frame(frame)
    if not frames.is_data_frame(frame):
        raise TypeError(
            f"source has a {type(frame).__name__} as its frame {i}: every item must be a data "
            "frame of pandas, polars or Arrow"
        )
    return frame
