"""Load the paper's 14 tables, MNIST and Fashion-MNIST.

`load_dataset` looks in the data folder first: ``data_home=``, else the environment variable
``BNEURALT_DATA``, else a cache folder of the user. Five tables need no file: scikit-learn has iris,
wine, wdbc and diabetese, and friedman is generated. The module
`fetching` downloads most of the others into the data folder.

The data folder contains ``data/NAME.csv`` or ``NAME.csv`` (a header row, the target in the last
column), ``mnist/*-ubyte[.gz]`` and ``fashion_mnist/*-ubyte[.gz]``. This module never writes to it.

For comparability with the paper, a column that is not numeric is encoded by the rank of its text in
sorted order, classes are numbered in the sorted order of their text, where a number counts as its
decimal form ("1" as "1.0"), and rows keep the order of the file.
"""

from __future__ import annotations

import csv
import hashlib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bneuralt_paper._typing import Array, FloatArray, IntArray
from bneuralt_paper.datasets.catalogue import CATALOGUE, IMAGES, CatalogueEntry
from bneuralt_paper.datasets.embedded import EMBEDDED, embedded_source, embedded_table
from bneuralt_paper.datasets.idx import has_images, read_images
from bneuralt_paper.datasets.packages import fetchable

__all__ = [
    "Dataset",
    "DatasetNotFoundError",
    "DatasetStatus",
    "content_checksum",
    "data_folder",
    "data_status",
    "list_datasets",
    "load_dataset",
]


class DatasetNotFoundError(FileNotFoundError):
    """There is no copy of a data set; the message says how to get one."""

    exit_code = 3  # of the program: the data cannot be used


@dataclass(frozen=True)
class Dataset:
    """A data set and where it comes from.

    Attributes
    ----------
    name : str
        Its name in the catalogue.
    X : array of shape (n_rows, n_features), read-only
        float64; uint8 pixels for the image sets.
    y : array of shape (n_rows,), read-only
        int32 indices into ``class_names``, or float64 targets.
    feature_names : tuple of str
        Names of the columns of `X`.
    class_names : tuple of str
        Names of the classes; empty for regression.
    target_name : str
        Name of the target.
    task : {"classification", "regression"}
        What is predicted.
    source : str
        The file, library or formula that the numbers come from.
    licence : str
        Whom to credit, and the terms of use.
    checksum : str
        SHA-256 of the numbers, see `content_checksum`.
    note : str
        What is special about this table.
    n_train : int or None
        First row of the data set's own test rows (image sets), else None.

    Examples
    --------
    >>> from bneuralt_paper import load_dataset
    >>> iris = load_dataset("iris")
    >>> iris.X.shape, iris.task, iris.class_names
    ((150, 4), 'classification', ('setosa', 'versicolor', 'virginica'))
    >>> iris.is_paper_table
    True
    """

    name: str
    X: Array = field(repr=False)
    y: Array = field(repr=False)
    feature_names: tuple[str, ...] = field(repr=False)
    class_names: tuple[str, ...]
    target_name: str
    task: str
    source: str
    licence: str
    checksum: str = field(repr=False)
    note: str = ""
    n_train: int | None = None

    @property
    def is_paper_table(self) -> bool:
        """Whether every number equals that of the table used in the paper."""
        return self.checksum == CATALOGUE[self.name].checksum


@dataclass(frozen=True)
class DatasetStatus:
    """A line of ``bneuralt data list``: a data set and whether it can be loaded.

    Attributes
    ----------
    entry : CatalogueEntry
        Title, task, shape, names, licence and note.
    source : str
        Where it would be read from; empty if there is no copy.
    advice : str
        How to get it if there is no copy.
    """

    entry: CatalogueEntry
    source: str
    advice: str

    @property
    def name(self) -> str:
        """The name that `load_dataset` takes."""
        return self.entry.name

    @property
    def available(self) -> bool:
        """Whether `load_dataset` would succeed."""
        return bool(self.source)


def list_datasets(task: str | None = None) -> tuple[str, ...]:
    """Return the names of all data sets.

    Parameters
    ----------
    task : {"classification", "regression"}, optional
        Only return data sets for this task.

    Returns
    -------
    tuple of str
        The paper's tables in the paper's order, then the image sets.

    Examples
    --------
    >>> from bneuralt_paper.datasets.loading import list_datasets
    >>> list_datasets("regression")
    ('baseball', 'dee', 'diabetese', 'friedman', 'mpg6')
    """
    if task not in (None, "classification", "regression"):
        raise ValueError(f"task must be 'classification', 'regression' or None, got {task!r}")
    return tuple(name for name, entry in CATALOGUE.items() if task in (None, entry.task))


def data_folder(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder in which data sets are looked up.

    Parameters
    ----------
    data_home : path, optional
        The folder. By default ``$BNEURALT_DATA``, or ``bneuralt`` in the user's cache folder if
        that is not set.

    Returns
    -------
    Path
        The folder, which may not exist.
    """
    if data_home is not None:
        return Path(data_home).expanduser()
    if os.environ.get("BNEURALT_DATA"):
        return Path(os.environ["BNEURALT_DATA"]).expanduser()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "bneuralt"


def load_dataset(name: str, data_home: str | os.PathLike[str] | None = None) -> Dataset:
    """Load a data set by name.

    Parameters
    ----------
    name : str
        One of `list_datasets`.
    data_home : path, optional
        The data folder, see `data_folder`.

    Returns
    -------
    Dataset
        Its arrays are read-only.

    Raises
    ------
    ValueError
        The name is not known, or a file in the data folder does not contain the expected table.
    DatasetNotFoundError
        There is no copy of the data set.

    Examples
    --------
    >>> from bneuralt_paper import load_dataset
    >>> wine = load_dataset("wine")
    >>> wine.X.shape, wine.y.dtype
    ((178, 13), dtype('int32'))
    """
    if name not in CATALOGUE:
        raise ValueError(f"unknown data set {name!r}; choose one of {', '.join(CATALOGUE)}")
    entry = CATALOGUE[name]
    folder = data_folder(data_home)
    path = _find_files(entry, folder)
    if path is not None:
        X, y = _read_image_set(entry, path) if name in IMAGES else _read_table(entry, path)
        return _record(entry, X, y, f"file {path}")
    if name in EMBEDDED:
        return _record(entry, *embedded_table(name))
    raise DatasetNotFoundError(_how_to_get(entry, folder))


def data_status(data_home: str | os.PathLike[str] | None = None) -> list[DatasetStatus]:
    """Return which data sets there are and which can be loaded, without loading any.

    Parameters
    ----------
    data_home : path, optional
        The data folder, see `data_folder`.

    Returns
    -------
    list of DatasetStatus
        One per data set, in the order of `list_datasets`.

    Examples
    --------
    >>> from bneuralt_paper.datasets.loading import data_status
    >>> [s.available for s in data_status() if s.name == "iris"]
    [True]
    """
    folder = data_folder(data_home)
    lines = []
    for entry in CATALOGUE.values():
        path = _find_files(entry, folder)
        if path is not None:
            source, advice = f"file {path}", ""
        elif entry.name in EMBEDDED:
            source, advice = embedded_source(entry.name), ""
        else:
            source, advice = "", _how_to_get(entry, folder)
        lines.append(DatasetStatus(entry, source, advice))
    return lines


def content_checksum(X: Array, y: Array) -> str:
    """Return the SHA-256 of the numbers, which does not depend on the file they come from."""
    digest = hashlib.sha256()
    for array in (X, y):
        little_endian = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        digest.update(f"{little_endian.dtype.str}{little_endian.shape}".encode())
        digest.update(little_endian.data)
    return digest.hexdigest()


def encode_columns(rows: Sequence[Sequence[str]], columns: int) -> FloatArray:
    """Convert cells to numbers; a column that is not numeric becomes the ranks of its text.

    Examples
    --------
    >>> from bneuralt_paper.datasets.loading import encode_columns
    >>> encode_columns([["1", "red"], ["2.5", "blue"]], 2).tolist()
    [[1.0, 1.0], [2.5, 0.0]]
    """
    X = np.empty((len(rows), columns))
    for j in range(columns):
        cells = [row[j] for row in rows]
        try:
            X[:, j] = [float(cell) for cell in cells]
        except ValueError:
            X[:, j] = np.unique(cells, return_inverse=True)[1]
    return X


def encode_labels(labels: Sequence[str]) -> tuple[IntArray, tuple[str, ...]]:
    """Return class indices and class names; classes are in the sorted order of their text.

    Examples
    --------
    >>> from bneuralt_paper.datasets.loading import encode_labels
    >>> codes, names = encode_labels(["van ", "bus", "van"])
    >>> codes.tolist(), names
    ([1, 0, 1], ('bus', 'van'))
    """
    stripped = [label.strip() for label in labels]
    names = sorted(set(stripped), key=_decimal_form)
    index = {label: i for i, label in enumerate(names)}
    return np.array([index[label] for label in stripped], dtype=np.int32), tuple(names)


def _decimal_form(label: str) -> str:
    """Return the text by which the paper's program sorted a label: "1.0" for "1"."""
    try:
        return repr(float(label))
    except ValueError:
        return label


def _find_files(entry: CatalogueEntry, folder: Path) -> Path | None:
    """Return the file of a table or the folder of an image set, or None."""
    if entry.name in IMAGES:
        image_folder = folder / entry.name
        return image_folder if has_images(image_folder) else None
    for path in (folder / "data" / f"{entry.name}.csv", folder / f"{entry.name}.csv"):
        if path.is_file():
            return path
    return None


def _how_to_get(entry: CatalogueEntry, folder: Path) -> str:
    if entry.name in fetchable():
        return (
            f"{entry.name} is not in {folder}: run `bneuralt data fetch {entry.name}`, or set "
            "BNEURALT_DATA (or data_home=) to a folder that contains it"
        )
    return (
        f"{entry.name} cannot be fetched: download it from the KEEL repository and save it as "
        f"{folder / 'data' / entry.name}.csv with a header row and the target in the last column, "
        "or set BNEURALT_DATA (or data_home=) to a folder that contains it"
    )


def _record(entry: CatalogueEntry, X: Array, y: Array, source: str) -> Dataset:
    X, y = np.ascontiguousarray(X), np.ascontiguousarray(y)
    checksum = content_checksum(X, y)
    X.flags.writeable = y.flags.writeable = False
    return Dataset(
        entry.name, X, y, entry.feature_names, entry.class_names, entry.target_name, entry.task,
        source, entry.licence, checksum, entry.note, entry.n_train,
    )  # fmt: skip


def _read_table(entry: CatalogueEntry, path: Path) -> tuple[FloatArray, Array]:
    """Read a CSV file with a header row and the target last; drop empty columns after it."""
    width = entry.n_features + 1
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = [[cell.strip() for cell in line] for line in csv.reader(file) if any(line)]
    rows = lines[1:]
    for number, row in enumerate(rows, start=2):
        if len(row) < width or any(row[width:]) or not all(row[:width]):
            raise ValueError(
                f"{path}, line {number}: expected {width} values ({entry.n_features} inputs and "
                f"the target), got {len([c for c in row if c])}; fetch {entry.name} again or "
                "correct the file"
            )
    if len(rows) != entry.n_rows:
        raise ValueError(
            f"{path} has {len(rows)} rows, but {entry.name} has {entry.n_rows}; "
            "fetch it again or correct the file"
        )
    X = encode_columns(rows, entry.n_features)
    labels = [row[width - 1] for row in rows]
    if entry.task == "regression":
        return X, np.array([float(label) for label in labels])
    y, names = encode_labels(labels)
    if names != entry.class_names:
        raise ValueError(
            f"{path} has the classes {names}, but {entry.name} has {entry.class_names}; "
            "fetch it again or correct the file"
        )
    return X, y


def _read_image_set(entry: CatalogueEntry, folder: Path) -> tuple[Array, Array]:
    X, y = read_images(folder)
    if X.shape != (entry.n_rows, entry.n_features) or y.shape != (entry.n_rows,):
        raise ValueError(
            f"{folder} has images {X.shape} and labels {y.shape}, but {entry.name} has images "
            f"{(entry.n_rows, entry.n_features)}; fetch it again"
        )
    return X, y
