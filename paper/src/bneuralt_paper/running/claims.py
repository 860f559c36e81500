"""Claims: which process computes which run, so that processes sharing a store repeat no work.

Each process that runs experiments is an owner. It claims runs before it starts them; storing a run
deletes the claim. The claims of an owner that was killed expire as soon as its process no longer
exists or, if it ran on another machine, when its last heartbeat is too old.
"""

from __future__ import annotations

import os
import platform
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from bneuralt_paper.running.store import KEY_MATCHES, Key, Store, StoreError

__all__ = ["Claims"]

_HEARTBEAT_SECONDS = 15.0
_EXPIRY_SECONDS = 120.0


class Claims:
    """The claims of this process on the runs of a store.

    Examples
    --------
    >>> from bneuralt_paper.running.store import Key, Store
    >>> key = Key("paper", "DT", "iris", 0)
    >>> with Store(":memory:") as store, Claims(store) as mine, Claims(store) as other:
    ...     mine.take([key]), other.take([key]), mine.take([key])
    ([Key(protocol='paper', experiment='DT', dataset='iris', run=0)], [], [])
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        with store.transaction() as execute:
            _delete_dead_owners(execute)
            cursor = execute(
                "INSERT INTO owners (host, pid, started, heartbeat) VALUES (?, ?, ?, ?)",
                (platform.node(), os.getpid(), _process_start(os.getpid()), time.time()),
            )
            self._owner = int(cursor.lastrowid)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._send_heartbeats, daemon=True)
        self._thread.start()

    def __enter__(self) -> Claims:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def take(self, keys: Iterable[Key]) -> list[Key]:
        """Claim the runs that are neither finished nor claimed, and return them."""
        taken = []
        with self._store.transaction() as execute:
            _delete_dead_owners(execute)
            for key in keys:
                if execute(f"SELECT 1 FROM runs WHERE {KEY_MATCHES}", key).fetchone():
                    continue
                claim = (*key, self._owner)
                cursor = execute("INSERT OR IGNORE INTO claims VALUES (?, ?, ?, ?, ?)", claim)
                if cursor.rowcount:
                    taken.append(key)
        return taken

    def drop(self, keys: Iterable[Key]) -> None:
        """Release claims on runs that will not be finished."""
        with self._store.transaction() as execute:
            for key in keys:
                execute(
                    f"DELETE FROM claims WHERE {KEY_MATCHES} AND owner = ?", (*key, self._owner)
                )

    def close(self) -> None:
        """Release all claims."""
        self._closing.set()
        self._thread.join()
        # If the store cannot be written, claims expire when this process ends.
        with suppress(StoreError), self._store.transaction() as execute:
            execute("DELETE FROM owners WHERE id = ?", (self._owner,))

    def _send_heartbeats(self) -> None:
        """Record every few seconds that this process is alive."""
        while not self._closing.wait(_HEARTBEAT_SECONDS):
            with suppress(StoreError):  # storing the next run will raise it again
                self._store.execute(
                    "UPDATE owners SET heartbeat = ? WHERE id = ?", (time.time(), self._owner)
                )


def _delete_dead_owners(execute: Callable[..., Any]) -> None:
    """Delete owners whose process has ended; the database deletes their claims."""
    for owner, host, pid, started, heartbeat in execute("SELECT * FROM owners").fetchall():
        if not _is_alive(host, pid, started, heartbeat):
            execute("DELETE FROM owners WHERE id = ?", (owner,))


def _is_alive(host: str, pid: int, started: str, heartbeat: float) -> bool:
    if host == platform.node() and os.name == "posix":
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass  # it exists, and belongs to another user
        # The process number may have been reused.
        return _process_start(pid) == started
    return time.time() - heartbeat < _EXPIRY_SECONDS


def _process_start(pid: int) -> str:
    """Return the start time of a process in clock ticks, or "" where it is unknown."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]
