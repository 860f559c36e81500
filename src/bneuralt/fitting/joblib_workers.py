"""Distribution of work over the workers of a joblib backend: Dask, Ray, loky and others.

A backend is used if the user has activated one with `joblib.parallel_config`. The tasks of a lost
worker are run again.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

from bneuralt._typing import Array

__all__ = ["active_backend", "aligned", "over_workers"]

#: Number of failures of the backend after which the remaining tasks run in this process.
MAX_FAILURES = 3

#: Backends that send an array to each worker once, however many tasks refer to it.
SHARE_ARRAYS = ("DaskDistributedBackend", "LokyBackend", "MultiprocessingBackend")


def active_backend(n_jobs: int | None) -> Any:
    """Return the joblib backend of other processes that the user has activated, or None.

    Within a worker, the result is None: nested forests are trained in the process of the worker.
    """
    # With this hint, joblib's own default is threads: anything else was chosen by the user.
    backend, _ = get_active_backend(prefer="threads")
    if getattr(backend, "supports_sharedmem", False) or _is_dask_worker():
        return None
    return backend if effective_n_jobs(n_jobs) > 1 else None


def _is_dask_worker() -> bool:
    worker = sys.modules.get("distributed.worker")
    return worker is not None and hasattr(worker.thread_state, "execution_state")


def over_workers(
    backend: Any,
    n_jobs: int | None,
    function: Callable[..., Any],
    items: Sequence[Any],
    arrays: Sequence[Array | None],
) -> Generator[tuple[int, Any], None, None]:
    """Call `function(item, *arrays)` for each item, and yield the positions with the results.

    Parameters
    ----------
    backend : joblib backend
        The active one.
    n_jobs : int or None
        Number of workers, as in joblib.
    function : callable
        Its results depend on its arguments only. Its exceptions are raised here.
    items : sequence
    arrays : sequence of arrays or None
        Arguments that all calls share; they are sent to each worker once.
    """
    left, n_failures = list(range(len(items))), 0
    while left and n_failures < MAX_FAILURES:
        tasks = [delayed(_attempt)(function, items[i], *arrays) for i in left]
        try:
            for outcome in _outcomes(backend, n_jobs, tasks, arrays):
                yield left.pop(0), _unpacked(outcome)
        except _BackendFailure as failure:
            n_failures += 1
            warnings.warn(
                f"{type(backend).__name__} failed ({failure}); {len(left)} trees are trained again",
                RuntimeWarning,
                stacklevel=2,
            )
    for i in left:
        yield i, function(items[i], *arrays)


class _BackendFailure(Exception):
    """The backend failed, not the work: a worker was killed, or cannot be reached."""


def _attempt(function: Callable[..., Any], *arguments: Any) -> tuple[Any, Any, list[Any]]:
    """Return the result of a call or its exception, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result, raised = function(*arguments), None
        except Exception as error:
            result, raised = None, error
    return result, raised, [(warning.category, str(warning.message)) for warning in caught]


def _unpacked(outcome: tuple[Any, Any, list[Any]]) -> Any:
    """Issue the warnings of a call, and return its result or raise its exception."""
    result, raised, warned = outcome
    for category, message in warned:
        warnings.warn(message, category, stacklevel=4)
    if raised is not None:
        raise raised
    return result


def _outcomes(
    backend: Any, n_jobs: int | None, tasks: list[Any], arrays: Sequence[Array | None]
) -> Iterator[Any]:
    """Run tasks, and yield their results in order, each as soon as it is available."""
    kind = type(backend).__name__
    context: AbstractContextManager[Any] = nullcontext()
    if kind == "DaskDistributedBackend":
        from joblib import parallel_config  # not in joblib 1.2, which works without Dask

        # All workers get the arrays: an array on one worker only would be lost with it.
        shared = [array for array in arrays if array is not None]
        context = parallel_config(
            "dask", client=backend.client, scatter=shared, **backend.submit_kwargs
        )
    options: dict[str, Any] = {"batch_size": 1}
    if kind not in SHARE_ARRAYS:  # one message for each worker
        options["batch_size"] = -(-len(tasks) // effective_n_jobs(n_jobs))
    if getattr(backend, "supports_return_generator", False):
        options["return_as"] = "generator"
    try:
        with context:
            results = Parallel(n_jobs=n_jobs, **options)(tasks)
            try:
                # `yield from` would close the results before the warnings are ignored
                for result in results:  # noqa: UP028
                    yield result
            finally:
                with warnings.catch_warnings():  # joblib warns of results that are not used
                    warnings.simplefilter("ignore")
                    getattr(results, "close", lambda: None)()
    except Exception as error:
        raise _BackendFailure(f"{type(error).__name__}: {error!s:.200}") from error


def aligned(array: Array | None) -> Array | None:
    """Return a received array with the memory layout that the core needs."""
    return None if array is None else np.require(array, requirements=["C", "A"])
