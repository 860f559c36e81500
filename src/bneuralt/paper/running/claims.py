"""Who is working on which run, so that processes that share a store do no work twice.

Each process that runs experiments is an owner. It claims runs before it starts them, and storing a
run drops the claim. An owner that died leaves claims behind; they count no more as soon as its
process is gone, or, if it was on another machine, when it has not been heard of for a while.
"""

from __future__ import annotations

import os
import platform
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from bneuralt.paper.running.store import KEY_MATCHES, Key, Store, StoreError

__all__ = ["Claims"]

_HEARTBEAT_SECONDS = 15.0
_SILENCE_SECONDS = 120.0


class Claims:
    """The claims of this process on the runs of a store.

    Examples
    --------
    >>> from bneuralt.paper.running.store import Key, Store
    >>> key = Key("paper", "DT", "iris", 0)
    >>> with Store(":memory:") as store, Claims(store) as mine, Claims(store) as other:
    ...     mine.take([key]), other.take([key]), mine.take([key])
    ([Key(protocol='paper', experiment='DT', dataset='iris', run=0)], [], [])
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        with store.transaction() as execute:
            self._forget_the_dead(execute)
            cursor = execute(
                "INSERT INTO owners (host, pid, started, heartbeat) VALUES (?, ?, ?, ?)",
                (platform.node(), os.getpid(), _start_of_process(os.getpid()), time.time()),
            )
            self._owner = int(cursor.lastrowid)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._thread.start()

    def __enter__(self) -> Claims:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def take(self, keys: Iterable[Key]) -> list[Key]:
        """Claim those runs that are neither finished nor claimed, and return them."""
        taken = []
        with self._store.transaction() as execute:
            self._forget_the_dead(execute)
            for key in keys:
                if execute(f"SELECT 1 FROM runs WHERE {KEY_MATCHES}", key).fetchone():
                    continue
                marks = (*key, self._owner)
                cursor = execute("INSERT OR IGNORE INTO claims VALUES (?, ?, ?, ?, ?)", marks)
                if cursor.rowcount:
                    taken.append(key)
        return taken

    def drop(self, keys: Iterable[Key]) -> None:
        """Give up claims on runs that will not be finished."""
        with self._store.transaction() as execute:
            for key in keys:
                execute(
                    f"DELETE FROM claims WHERE {KEY_MATCHES} AND owner = ?", (*key, self._owner)
                )

    def close(self) -> None:
        """Give up all claims."""
        self._closing.set()
        self._thread.join()
        # If the store is out of order that is known by now, and the end of this process will do.
        with suppress(StoreError), self._store.transaction() as execute:
            execute("DELETE FROM owners WHERE id = ?", (self._owner,))

    def _beat(self) -> None:
        """Show every few seconds that this process lives."""
        while not self._closing.wait(_HEARTBEAT_SECONDS):
            with suppress(StoreError):  # whoever stores the next run will hear of it
                self._store.execute(
                    "UPDATE owners SET heartbeat = ? WHERE id = ?", (time.time(), self._owner)
                )

    @staticmethod
    def _forget_the_dead(execute: Callable[..., Any]) -> None:
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
            pass  # it exists and is someone else's
        # A number may have been given to a new process since.
        return _start_of_process(pid) == started
    return time.time() - heartbeat < _SILENCE_SECONDS


def _start_of_process(pid: int) -> str:
    """Return when a process started, in the kernel's own words; empty where that is not known."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]
