"""Threads of the linear algebra library of NumPy and SciPy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from threadpoolctl import ThreadpoolController

__all__ = ["one_blas_thread"]


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Use one thread for small matrices: threads that wait cost most of the time of a fit.

    Examples
    --------
    >>> import numpy as np
    >>> with one_blas_thread():
    ...     (np.eye(2) @ np.ones(2)).tolist()
    [1.0, 1.0]
    """
    with _libraries().limit(limits=1, user_api="blas"):
        yield


@lru_cache(maxsize=1)
def _libraries() -> ThreadpoolController:
    """Return the controller of the loaded libraries, which takes 10 ms to find."""
    return ThreadpoolController()
