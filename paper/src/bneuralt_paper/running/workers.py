"""Worker processes, and reports of their failures."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from joblib.externals.loky.process_executor import TerminatedWorkerError

from bneuralt_paper.experiments.protocols import Outcome
from bneuralt_paper.running.tasks import Task, execute

__all__ = ["WorkerError", "attempt", "dask_client", "quiet_worker_warnings"]


class WorkerError(RuntimeError):
    """Workers cannot be started, or were killed; the message says what to do."""


def attempt(task: Task) -> tuple[Task, list[Outcome], str | None]:
    """Compute a task in a worker; an error is returned as text, so that other tasks continue."""
    _follow_parent()
    try:
        return task, execute(task), None
    except Exception:
        return task, [], traceback.format_exc()


@cache
def _follow_parent() -> None:
    """Leave Ctrl-C to the parent of a worker process of joblib, and exit when it has ended.

    A terminal sends Ctrl-C to the workers too, which would print tracebacks; the parent stops them.
    After a ``kill -9`` of the parent, workers would continue and slow down its successor.
    """
    if type(multiprocessing.current_process()).__name__ != "LokyProcess":
        return
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def dask_client(address: str) -> Iterator[Any]:
    """Connect to the scheduler of a Dask cluster, and yield the client."""
    try:
        from distributed import Client
    except ImportError:
        raise WorkerError("a dask:// backend requires Dask: pip install 'bneuralt[dask]'") from None
    try:
        connect: Callable[..., Any] = Client
        client = connect(f"tcp://{address}", timeout=5, set_as_default=False)
    except (OSError, ValueError) as error:
        raise WorkerError(f"no Dask scheduler responds at {address}: {error}") from error
    with client:
        if not client.ncores():
            raise WorkerError(
                f"the Dask scheduler at {address} has no workers: start some with "
                f"`dask worker {address}`"
            )
        yield client


@contextmanager
def quiet_worker_warnings() -> Iterator[None]:
    """Suppress warnings about replaced workers, and raise `WorkerError` if one was killed."""
    try:
        with warnings.catch_warnings():
            # joblib replaces a process that has grown by 300 MB.
            warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
            yield
    except TerminatedWorkerError as error:
        raise WorkerError(
            "a worker process was killed, perhaps because memory ran out: all finished runs are "
            "stored; start again to continue, with fewer jobs if it happens again"
        ) from error
