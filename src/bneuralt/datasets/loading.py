"""The paper's 14 tables, MNIST and Fashion-MNIST, as one kind of record.

`load_dataset` looks in the data folder first (``data_home=``, else the environment variable
``BNEURALT_DATA``, else a cache folder of the user), then takes what scikit-learn carries (iris,
wine, wdbc, diabetese) or what a formula gives (friedman). `bneuralt.datasets.fetching` downloads the rest
into the data folder.

A data folder holds ``data/NAME.csv`` (or ``NAME.csv``: a header row, the target last),
``mnist/*-ubyte[.gz]`` and ``fashion_mnist/*-ubyte[.gz]``. It is never written to here.

Conventions, chosen so that results can be set beside the paper's: a column that is not numeric is
encoded by the rank of its sorted text; classes are numbered by their sorted text, where a number
counts as its decimal form ("1" as "1.0"); rows stay in the order of the file.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import os
import sys
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bneuralt.datasets.catalogue import CATALOGUE, IMAGES, Entry

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

IDX_FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
_FRIEDMAN_SEED = 1991


class DatasetNotFoundError(FileNotFoundError):
    """The data set is known, but no copy of it is at hand; the message says how to get one."""


@dataclass(frozen=True)
class Dataset:
    """A data set and where it came from.

    Attributes
    ----------
    name : str
        Its name in the catalogue.
    X : ndarray of shape (n_rows, n_features), read-only
        float64; uint8 pixels for the image sets.
    y : ndarray of shape (n_rows,), read-only
        int32 indices into ``class_names``, or float64 targets.
    feature_names, class_names : tuple of str
        ``class_names`` is empty for regression.
    target_name : str
    task : {"classification", "regression"}
    source : str
        The file, library or formula the numbers came from.
    licence : str
        Who to thank, and under which terms.
    checksum : str
        SHA-256 of the numbers, see `content_checksum`.
    note : str
        What a reader should know about this table.
    n_train : int or None
        Where the data's own test rows begin (the image sets), else None.

    Examples
    --------
    >>> from bneuralt import load_dataset
    >>> iris = load_dataset("iris")
    >>> iris.X.shape, iris.task, iris.class_names
    ((150, 4), 'classification', ('setosa', 'versicolor', 'virginica'))
    >>> iris.is_paper_table
    True
    """

    name: str
    X: np.ndarray = field(repr=False)
    y: np.ndarray = field(repr=False)
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
        """Whether these are, number for number, the rows that the paper used."""
        return self.checksum == CATALOGUE[self.name].checksum


@dataclass(frozen=True)
class DatasetStatus:
    """One line of ``bneuralt data list``: what a data set is and whether it can be loaded now.

    Attributes
    ----------
    entry : Entry
        Title, task, shape, names, licence and note.
    source : str
        Where it would be read from; empty if there is no copy at hand.
    advice : str
        How to get it, if there is no copy at hand.
    """

    entry: Entry
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
    """Names that `load_dataset` knows, the paper's tables first, in the paper's order.

    Parameters
    ----------
    task : {"classification", "regression"}, optional
        Only those of one kind.

    Examples
    --------
    >>> from bneuralt.datasets.loading import list_datasets
    >>> list_datasets("regression")
    ('baseball', 'dee', 'diabetese', 'friedman', 'mpg6')
    """
    if task not in (None, "classification", "regression"):
        raise ValueError(f"task must be 'classification', 'regression' or None, got {task!r}")
    return tuple(name for name, entry in CATALOGUE.items() if task in (None, entry.task))


def data_folder(data_home: str | os.PathLike[str] | None = None) -> Path:
    """The folder that data sets are looked for in; it need not exist.

    ``data_home`` if given, else ``$BNEURALT_DATA``, else ``bneuralt`` in the user's cache folder.
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

    Raises
    ------
    ValueError
        The name is not known, or a file in the data folder does not hold the expected table.
    DatasetNotFoundError
        There is no copy at hand.

    Examples
    --------
    >>> from bneuralt import load_dataset
    >>> wine = load_dataset("wine")
    >>> wine.X.shape, wine.y.dtype
    ((178, 13), dtype('int32'))
    """
    entry = _entry(name)
    folder = data_folder(data_home)
    path = _find_files(entry, folder)
    if path is not None:
        X, y = _read_images(entry, path) if name in IMAGES else _read_table(entry, path)
        return _record(entry, X, y, f"file {path}")
    if name in _EMBEDDED:
        X, y, source = _EMBEDDED[name]()
        return _record(entry, X, y, source)
    raise DatasetNotFoundError(_how_to_get(entry, folder))


def data_status(data_home: str | os.PathLike[str] | None = None) -> list[DatasetStatus]:
    """What is known and what is at hand, without loading anything.

    Examples
    --------
    >>> from bneuralt.datasets.loading import data_status
    >>> [s.available for s in data_status() if s.name == "iris"]
    [True]
    """
    folder = data_folder(data_home)
    lines = []
    for entry in CATALOGUE.values():
        path = _find_files(entry, folder)
        if path is not None:
            source, advice = f"file {path}", ""
        elif entry.name in _EMBEDDED:
            source, advice = "generated" if entry.name == "friedman" else "scikit-learn", ""
        else:
            source, advice = "", _how_to_get(entry, folder)
        lines.append(DatasetStatus(entry, source, advice))
    return lines


def content_checksum(X: np.ndarray, y: np.ndarray) -> str:
    """SHA-256 of the numbers themselves, the same whatever file they were read from."""
    digest = hashlib.sha256()
    for array in (X, y):
        little_endian = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        digest.update(f"{little_endian.dtype.str}{little_endian.shape}".encode())
        digest.update(little_endian.data)
    return digest.hexdigest()


def encode_columns(rows: Sequence[Sequence[str]], columns: int) -> np.ndarray:
    """Text cells as a float64 array; a column with any other text becomes ranks of sorted text.

    Examples
    --------
    >>> from bneuralt.datasets.loading import encode_columns
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


def encode_labels(labels: Sequence[str]) -> tuple[np.ndarray, tuple[str, ...]]:
    """Class indices and class names, in the order of the labels' sorted text.

    Examples
    --------
    >>> from bneuralt.datasets.loading import encode_labels
    >>> codes, names = encode_labels(["van ", "bus", "van"])
    >>> codes.tolist(), names
    ([1, 0, 1], ('bus', 'van'))
    """
    stripped = [label.strip() for label in labels]
    names = sorted(set(stripped), key=_decimal_form)
    index = {label: i for i, label in enumerate(names)}
    return np.array([index[label] for label in stripped], dtype=np.int32), tuple(names)


def _decimal_form(label: str) -> str:
    """ "1" -> "1.0": the text under which the paper's program saw a numeric label."""
    try:
        return repr(float(label))
    except ValueError:
        return label


def _entry(name: str) -> Entry:
    if name not in CATALOGUE:
        raise ValueError(f"unknown data set {name!r}; the known ones are {', '.join(CATALOGUE)}")
    return CATALOGUE[name]


def _find_files(entry: Entry, folder: Path) -> Path | None:
    """The table's file, or the folder with the four image files."""
    if entry.name in IMAGES:
        place = folder / entry.name
        return place if all(_idx_path(place, stem) for stem in IDX_FILES) else None
    for place in (folder / "data" / f"{entry.name}.csv", folder / f"{entry.name}.csv"):
        if place.is_file():
            return place
    return None


def _how_to_get(entry: Entry, folder: Path) -> str:
    from bneuralt.datasets.fetching import fetchable

    if entry.name in fetchable():
        return (
            f"{entry.name} is not in {folder}: run `bneuralt data fetch {entry.name}`, or set "
            "BNEURALT_DATA (or data_home=) to a folder that has it"
        )
    return (
        f"{entry.name} is in no package index: get its table from the KEEL repository, save it "
        f"as {folder / 'data' / entry.name}.csv with a header row and the target last, or set "
        "BNEURALT_DATA (or data_home=) to a folder that has it"
    )


def _record(entry: Entry, X: np.ndarray, y: np.ndarray, source: str) -> Dataset:
    X, y = np.ascontiguousarray(X), np.ascontiguousarray(y)
    checksum = content_checksum(X, y)
    X.flags.writeable = y.flags.writeable = False
    return Dataset(
        entry.name, X, y, entry.feature_names, entry.class_names, entry.target_name, entry.task,
        source, entry.licence, checksum, entry.note, entry.n_train,
    )  # fmt: skip


def _read_table(entry: Entry, path: Path) -> tuple[np.ndarray, np.ndarray]:
    """A CSV with a header row and the target last; empty columns after it are dropped."""
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
            f"{path} holds {len(rows)} rows, but {entry.name} has {entry.n_rows}; "
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


def _idx_path(folder: Path, stem: str) -> Path | None:
    for path in (folder / stem, folder / f"{stem}.gz"):
        if path.is_file():
            return path
    return None


def _read_idx(path: Path) -> np.ndarray:
    """One array of the IDX format: two zero bytes, a type byte, the rank, the sizes, the data."""
    data = path.read_bytes()
    if path.suffix == ".gz":
        try:
            data = gzip.decompress(data)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            data = b""
    rank = data[3] if len(data) > 3 else 0
    header = 4 + 4 * rank
    shape = tuple(int(n) for n in np.frombuffer(data[4:header], dtype=">u4"))
    if data[:3] != b"\0\0\x08" or len(data) != header + int(np.prod(shape)):
        raise ValueError(f"{path} is not a whole IDX file of bytes; fetch it again")
    return np.frombuffer(data, dtype=np.uint8, offset=header).reshape(shape)


def _read_images(entry: Entry, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    arrays = [_read_idx(path) for stem in IDX_FILES if (path := _idx_path(folder, stem))]
    X = np.concatenate([a.reshape(len(a), -1) for a in arrays[0::2]])
    y = np.concatenate(arrays[1::2]).astype(np.int32)
    if X.shape != (entry.n_rows, entry.n_features) or y.shape != (entry.n_rows,):
        raise ValueError(
            f"{folder} holds images {X.shape} and labels {y.shape}, but {entry.name} has "
            f"{(entry.n_rows, entry.n_features)}; fetch it again"
        )
    return X, y


def _embedded_iris() -> tuple[np.ndarray, np.ndarray, str]:
    from sklearn.datasets import load_iris

    bunch = load_iris()
    X = bunch.data.copy()
    # scikit-learn follows Fisher's article; the paper used the UCI file, which has two other rows.
    X[[34, 37]] = (4.9, 3.1, 1.5, 0.1)
    return X, bunch.target.astype(np.int32), "scikit-learn, rows 34 and 37 as in the UCI file"


def _embedded_wine() -> tuple[np.ndarray, np.ndarray, str]:
    from sklearn.datasets import load_wine

    bunch = load_wine()
    return bunch.data, bunch.target.astype(np.int32), "scikit-learn"


def _embedded_wdbc() -> tuple[np.ndarray, np.ndarray, str]:
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer()
    # There 0 is malignant; sorted text puts B before M.
    return bunch.data, (1 - bunch.target).astype(np.int32), "scikit-learn"


def _embedded_diabetese() -> tuple[np.ndarray, np.ndarray, str]:
    from sklearn.datasets import load_diabetes

    bunch = load_diabetes()
    return bunch.data, bunch.target.astype(np.float64), "scikit-learn"


def _generated_friedman() -> tuple[np.ndarray, np.ndarray, str]:
    rng = np.random.default_rng(_FRIEDMAN_SEED)
    X = rng.random((CATALOGUE["friedman"].n_rows, 5))
    signal = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    y = signal + 10 * X[:, 3] + 5 * X[:, 4] + rng.standard_normal(len(X))
    return X, y, f"generated by Friedman's formula with noise of sd 1, seed {_FRIEDMAN_SEED}"


_EMBEDDED = {
    "iris": _embedded_iris,
    "wine": _embedded_wine,
    "wdbc": _embedded_wdbc,
    "diabetese": _embedded_diabetese,
    "friedman": _generated_friedman,
}
