"""Loop over the steps of a search, with progress, callbacks, Ctrl-C and checkpoints."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from typing import Any, Protocol

from bneuralt.evolve.checkpoint import write_checkpoint

__all__ = ["GenerationState", "Search", "run_search"]

#: A checkpoint is written when the last one is older than this, and at the end.
CHECKPOINT_SECONDS = 5.0


class Search(Protocol):
    """Protocol of searches. A step that is interrupted leaves the state unchanged."""

    n_done: int

    @property
    def n_steps(self) -> int:
        """Total number of steps."""

    def step(self) -> None:
        """Compute one step."""

    def state(self) -> dict[str, Any]:
        """Return the state, from which the search can be continued."""

    def figures(self) -> tuple[float, int]:
        """Return the lowest error so far, and the number of weights of its tree."""


@dataclass(frozen=True)
class GenerationState:
    """State of a search after a step, for callbacks.

    Attributes
    ----------
    n_done, n_steps : int
        Number of generations so far, and in total.
    error : float
        The lowest error so far; of evolved trees, the lowest validation loss.
    n_weights : int
        Number of weights of that tree.
    seconds : float
        Time since this fit began.
    seconds_left : float
        An estimate.
    """

    n_done: int
    n_steps: int
    error: float
    n_weights: int
    seconds: float
    seconds_left: float


def run_search(
    search: Search,
    report: Callable[[GenerationState], bool] | None = None,
    checkpoint: str | PathLike[str] | None = None,
    depends_on: dict[str, Any] | None = None,
) -> None:
    """Compute the remaining steps of a search.

    Parameters
    ----------
    search : Search
    report : callable, optional
        Called after each step; a true result ends the search.
    checkpoint : str or path-like, optional
        File to write the state to, every few seconds and at the end, also after Ctrl-C.
    depends_on : dict, optional
        See `bneuralt.evolve.checkpoint`.
    """
    started = written = time.monotonic()
    n_before = search.n_done
    try:
        while search.n_done < search.n_steps:
            search.step()
            now = time.monotonic()
            if checkpoint is not None and now - written > CHECKPOINT_SECONDS:
                write_checkpoint(checkpoint, depends_on or {}, search.state())
                written = now
            if report is not None:
                seconds = now - started
                per_step = seconds / (search.n_done - n_before)
                error, n_weights = search.figures()
                left = per_step * (search.n_steps - search.n_done)
                state = GenerationState(
                    search.n_done, search.n_steps, error, n_weights, seconds, left
                )
                if report(state):
                    break
    finally:
        if checkpoint is not None and search.n_done > 0:
            write_checkpoint(checkpoint, depends_on or {}, search.state())
