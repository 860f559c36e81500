"""The store of finished runs: an SQLite file with one row for each run.

Runs are stored in transactions, so that an interruption never leaves an incomplete run. Several
processes may write to one store; `bneuralt_paper.running.locks` divides the work among them.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sqlite3
import threading
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import bneuralt
from bneuralt_paper.experiments.protocols import Outcome
from bneuralt_paper.running.environment import current_commit, machine_name

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Finished", "Key", "Store", "StoreError"]

_APPLICATION_ID = 0x424E5452  # "BNTR"
_FORMAT = 1
_SCHEMA = """
CREATE TABLE runs (
    protocol TEXT NOT NULL, experiment TEXT NOT NULL, dataset TEXT NOT NULL, run INTEGER NOT NULL,
    settings TEXT NOT NULL, data_checksum TEXT NOT NULL, seed INTEGER NOT NULL,
    train_score REAL, val_score REAL, test_score REAL,
    size INTEGER, weights INTEGER, epochs INTEGER, fit_seconds REAL, predict_seconds REAL,
    curves BLOB NOT NULL, tree BLOB,
    version TEXT NOT NULL, git_commit TEXT, machine TEXT NOT NULL, finished_at TEXT NOT NULL,
    UNIQUE (protocol, experiment, dataset, run)
);
"""
_FRAME_COLUMNS = (
    "protocol, experiment, dataset, run, train_score, val_score, test_score, size, weights, "
    "fit_seconds, predict_seconds, epochs, curves, tree, machine"
)
# The results of a run, without columns that depend on the machine or the time.
_CONTENT_COLUMNS = (
    "protocol, experiment, dataset, run, settings, data_checksum, seed, train_score, val_score, "
    "test_score, size, weights, epochs, curves, tree"
)


class StoreError(RuntimeError):
    """The store cannot be used; the message says why, and what to do."""


class Key(NamedTuple):
    """The identity of a run."""

    protocol: str
    experiment: str
    dataset: str
    run: int


@dataclass(frozen=True)
class Finished:
    """A finished run with its settings and the checksum of its data."""

    key: Key
    settings: dict[str, Any]
    data_checksum: str
    outcome: Outcome


class Store:
    """Finished runs in an SQLite file.

    Parameters
    ----------
    path : path
        The file; created if it does not exist.
    must_exist : bool
        Raise an error instead of creating a file.
    timeout : float
        Seconds to wait while another process is writing.

    Examples
    --------
    >>> with Store(":memory:") as store:
    ...     len(store), sorted(store.finished())
    (0, [])
    """

    def __init__(
        self, path: str | os.PathLike[str], *, must_exist: bool = False, timeout: float = 30.0
    ) -> None:
        self.path = os.fspath(path)
        self._timeout = timeout
        self._lock = threading.RLock()
        if must_exist and not Path(self.path).is_file():
            raise StoreError(
                f"there is no store at {self.path}: create one with `bneuralt paper run`"
            )
        with self._explained():
            # Shared by the threads of this process; `_lock` serialises access.
            self._connection = sqlite3.connect(
                self.path, timeout=timeout, isolation_level=None, check_same_thread=False
            )
        try:
            with self._explained():
                self._open()
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return int(self.execute("SELECT count(*) FROM runs").fetchone()[0])

    def close(self) -> None:
        """Close the file. Everything that was added has already been written."""
        with self._lock:
            self._connection.close()

    def add(self, finished: Iterable[Finished]) -> None:
        """Store runs, all or none.

        Runs that the store already contains are not changed.
        """
        rows = [_row(item) for item in finished]
        with self.transaction() as execute:
            for row in rows:
                execute(_INSERT, row)

    def merge(self, other: Store) -> int:
        """Add the runs of another store that this one lacks, and return how many they are.

        Runs with other settings or data than the runs of the same experiment and data set in this
        store are refused, and nothing is added.
        """
        different = (
            "SELECT DISTINCT protocol, experiment, dataset, settings, data_checksum FROM runs"
        )
        stored = {tuple(row[:3]): tuple(row[3:]) for row in self._rows(different)}
        for row in other._rows(different):
            if stored.get(row[:3], row[3:]) != row[3:]:
                raise StoreError(
                    f"{other.path} has runs of {row[1]} on {row[2]} (protocol {row[0]}) with other "
                    f"settings or data than {self.path}: compute one of them again"
                )
        before = len(self)
        with self.transaction() as execute:
            for row in other._rows("SELECT * FROM runs"):
                execute(_INSERT, row)
        return len(self) - before

    def finished(self) -> set[Key]:
        """Return the keys of all finished runs."""
        return {Key(*row) for row in self._rows(f"SELECT {KEY_COLUMNS} FROM runs")}

    def has(self, key: Key) -> bool:
        """Return whether a run is finished."""
        return self.execute(f"SELECT 1 FROM runs WHERE {KEY_MATCHES}", key).fetchone() is not None

    def data_checksums(self) -> dict[str, set[str]]:
        """Return, for each data set, the checksums of the data that its runs used."""
        checksums: dict[str, set[str]] = {}
        for dataset, checksum in self._rows("SELECT DISTINCT dataset, data_checksum FROM runs"):
            checksums.setdefault(dataset, set()).add(checksum)
        return checksums

    def to_frame(self) -> pd.DataFrame:
        """Return all runs as a table, one row each, sorted by their keys.

        The columns are protocol, experiment, dataset, run, train_score, val_score, test_score,
        size, weights, fit_seconds, predict_seconds (per example), epochs, curves (a dict of
        sequences with one number per epoch), tree_json and machine. Scores are accuracies or r2.
        Values that do not apply are missing. A damaged record is a `StoreError` that names it.
        """
        import pandas as pd

        names = [name.strip() for name in _FRAME_COLUMNS.split(",")]
        rows = list(self._rows(f"SELECT {_FRAME_COLUMNS} FROM runs ORDER BY 1, 2, 3, 4"))
        frame = pd.DataFrame(rows, columns=names).rename(columns={"tree": "tree_json"})
        numbers = [name for name in names if name.endswith(("_score", "_seconds"))]
        numbers += ["size", "weights", "epochs"]
        curves, trees = [], []
        for row in rows:
            entries = dict(zip(names, row, strict=True))
            with self._damage_named(row[:4]):
                _check_numbers(entries, numbers)
                curves.append(_unpack_curves(entries["curves"]))
                trees.append(_unpack_text(entries["tree"]))
        frame["curves"] = pd.Series(curves, dtype=object)
        frame["tree_json"] = pd.Series(trees, dtype=object)
        return frame.astype(dict.fromkeys(numbers, "float64"))

    def checksum(self) -> str:
        """Return the SHA-256 checksum of the results, without times, machine and commit.

        The same runs on the same machine with the same software versions have the same checksum,
        regardless of their order and of interruptions.
        """
        digest = hashlib.sha256()
        for row in self._rows(f"SELECT {_CONTENT_COLUMNS} FROM runs ORDER BY 1, 2, 3, 4"):
            with self._damage_named(row[:4]):
                content = [zlib.decompress(v).decode() if isinstance(v, bytes) else v for v in row]
            digest.update(json.dumps(content, separators=(",", ":")).encode())
            digest.update(b"\n")
        return digest.hexdigest()

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Run one statement, with SQLite errors converted to `StoreError`."""
        with self._lock, self._explained():
            return self._connection.execute(sql, parameters)

    def _rows(self, sql: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query; SQLite finds some damage only while it reads them."""
        cursor = self.execute(sql)
        while True:
            with self._lock, self._explained():
                rows = cursor.fetchmany(1000)
            if not rows:
                return
            yield from rows

    @contextmanager
    def _damage_named(self, key: Sequence[Any]) -> Iterator[None]:
        """Convert errors of unpacking a record to a `StoreError` that names the record."""
        try:
            yield
        except (zlib.error, ValueError, TypeError, AttributeError, OverflowError) as error:
            raise StoreError(
                f"{self.path}: the record of run {key[3]} of {key[1]} on {key[2]} (protocol "
                f"{key[0]}) is damaged: {error!s:.200}; restore a backup, or delete the record"
            ) from error

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """Yield a function that runs statements in one transaction, with a lock for writing."""
        with self._lock, self._explained():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection.execute
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def _open(self) -> None:
        """Check that the file is a store of a known format, or create its tables."""
        execute = self._connection.execute
        self._check_format()
        if execute("PRAGMA journal_mode").fetchone()[0] != "wal" and self.path != ":memory:":
            self._use_write_ahead_log()
        execute("PRAGMA synchronous = FULL")
        if self._check_format() == 0:
            with self.transaction():
                # Another process may have created them since the first check.
                if self._check_format() == 0:
                    for statement in filter(str.strip, _SCHEMA.split(";")):
                        execute(statement)
                    execute(f"PRAGMA application_id = {_APPLICATION_ID}")
                    execute(f"PRAGMA user_version = {_FORMAT}")

    def _use_write_ahead_log(self) -> None:
        # With it, readers never wait for a writer. Enabling it can fail while another process opens
        # the file, or on a network drive; the store works without it, only slower.
        try:
            self._connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if _primary_code(error) != sqlite3.SQLITE_BUSY:
                raise

    def _check_format(self) -> int:
        """Return the format of the file, 0 if it is empty."""
        execute = self._connection.execute
        # Read in one transaction: meanwhile, another process may create the tables.
        execute("SAVEPOINT format")
        try:
            has_tables = execute("SELECT count(*) FROM sqlite_master").fetchone()[0] > 0
            application = execute("PRAGMA application_id").fetchone()[0]
            version = execute("PRAGMA user_version").fetchone()[0]
        finally:
            execute("RELEASE format")
        if application != _APPLICATION_ID and (has_tables or application or version):
            raise StoreError(
                f"{self.path} is an SQLite file, but not a store of runs: use another path"
            )
        if version > _FORMAT:
            raise StoreError(
                f"{self.path} was written by a newer bneuralt (format {version}; version "
                f"{bneuralt.__version__} reads formats up to {_FORMAT}): update bneuralt"
            )
        return int(version)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(_explain(error, self.path, self._timeout)) from error


KEY_COLUMNS = "protocol, experiment, dataset, run"
#: The condition that selects one run; its parameters are the parts of the key.
KEY_MATCHES = "protocol = ? AND experiment = ? AND dataset = ? AND run = ?"
_INSERT = f"INSERT INTO runs VALUES ({', '.join('?' * 21)}) ON CONFLICT ({KEY_COLUMNS}) DO NOTHING"


def _primary_code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _explain(error: sqlite3.Error, path: str, timeout: float) -> str:
    kept = "all runs finished so far are stored"
    match _primary_code(error):
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return (
                f"{path} has been locked by another program for {timeout:g} s: close that program, "
                f"or use another store ({kept})"
            )
        case sqlite3.SQLITE_FULL:
            return f"no space left for {path}: free some space, then start again ({kept})"
        case sqlite3.SQLITE_IOERR:
            return (
                f"{path} cannot be read or written ({error}): check for a full disk, a quota or a "
                f"removed drive, then start again ({kept})"
            )
        case sqlite3.SQLITE_NOTADB:
            return f"{path} is not a store of runs (not an SQLite file): use another path"
        case sqlite3.SQLITE_CORRUPT:
            return f"{path} is damaged ({error}): restore a backup, or delete it and start again"
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            return f"{path} cannot be written: check its permissions, or use another store"
        case sqlite3.SQLITE_CANTOPEN:
            return f"{path} cannot be opened: check that its folder exists and is writable"
    return f"{path}: {error}"


def _row(finished: Finished) -> tuple[Any, ...]:
    outcome, scores = finished.outcome, finished.outcome.scores
    return (
        *finished.key,
        json.dumps(finished.settings, sort_keys=True),
        finished.data_checksum,
        outcome.seed,
        _finite(scores.train),
        _finite(scores.validation),
        _finite(scores.test),
        outcome.size,
        outcome.weights,
        outcome.epochs,
        outcome.fit_seconds,
        scores.predict_seconds,
        _pack_curves(outcome.curves),
        None if outcome.tree_json is None else zlib.compress(outcome.tree_json.encode()),
        bneuralt.__version__,
        current_commit(),
        machine_name(),
        datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _finite(score: float | None) -> float | None:
    return None if score is None or not math.isfinite(score) else score


def _pack_curves(curves: dict[str, list[float]]) -> bytes:
    """Compress curves, rounded to six digits, which is enough for figures."""
    rounded = {name: [float(f"{v:.6g}") for v in values] for name, values in curves.items()}
    return zlib.compress(json.dumps(rounded, separators=(",", ":")).encode())


def _check_numbers(entries: dict[str, Any], names: Iterable[str]) -> None:
    # SQLite stores a value of any type in a column.
    if not all(isinstance(entries[name], str) for name in ("protocol", "experiment", "dataset")):
        raise ValueError("its name is not text")
    if not isinstance(entries["run"], int):
        raise ValueError("the number of the run is not a whole number")
    for name in names:
        if not isinstance(entries[name], int | float | None):
            raise ValueError(f"{name} is not a number")


def _unpack_curves(blob: bytes) -> dict[str, array[float]]:
    # Arrays, because lists would take gigabytes for a large store.
    return {name: array("d", values) for name, values in json.loads(zlib.decompress(blob)).items()}


def _unpack_text(blob: bytes | None) -> str | None:
    return None if blob is None else zlib.decompress(blob).decode()
