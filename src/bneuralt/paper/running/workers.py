"""What happens in, and around, the processes that do the computing."""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import threading
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bneuralt.paper.experiments.protocols import Outcome
    from bneuralt.paper.running.runner import Task

__all__ = ["WorkerError", "attempt", "calm_about_workers", "dask_client", "require_jax"]


class WorkerError(RuntimeError):
    """The processes that compute cannot be had, or died; the message says what to do."""


def attempt(task: Task) -> tuple[Task, list[Outcome], str | None]:
    """Compute a task in a worker; an error comes back as text, and the other tasks go on."""
    from bneuralt.paper.running.runner import execute

    _end_with_parent()
    try:
        return task, execute(task), None
    except Exception:
        return task, [], traceback.format_exc()


@cache
def _end_with_parent() -> None:
    """Make a process of joblib's end when the one that started it is gone.

    After a kill -9 it would else compute on for nobody, and slow down those who start again.
    """
    if type(multiprocessing.current_process()).__name__ != "LokyProcess":
        return
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def require_jax() -> None:
    """Say how to get what the MLP experiments need, if it is not there."""
    for module in ("jax", "optax"):
        if importlib.util.find_spec(module) is None:
            raise WorkerError(
                f"the MLP experiments need {module}: pip install 'bneuralt[paper]', or choose "
                "other experiments"
            )


@contextmanager
def dask_client(address: str) -> Iterator[Any]:
    """Connect to the scheduler of a Dask cluster."""
    try:
        from distributed import Client
    except ImportError:
        raise WorkerError("a dask:// backend needs Dask: pip install 'bneuralt[dask]'") from None
    try:
        client = Client(f"tcp://{address}", timeout=5, set_as_default=False)
    except (OSError, ValueError) as error:
        raise WorkerError(f"no Dask scheduler answers at {address}: {error}") from error
    with client:
        if not client.ncores():
            raise WorkerError(
                f"the Dask scheduler at {address} has no workers: start some with "
                f"`dask worker {address}`"
            )
        yield client


@contextmanager
def calm_about_workers() -> Iterator[None]:
    """Put the death of workers into a sentence, and let those that grew be replaced in silence."""
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    try:
        with warnings.catch_warnings():
            # joblib replaces a process that has grown by 300 MB, as the compiler of jax makes it.
            warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
            yield
    except TerminatedWorkerError as error:
        raise WorkerError(
            "a worker process was killed, perhaps for want of memory: every finished run is "
            "stored, start again to go on (with fewer jobs if it happens again)"
        ) from error
