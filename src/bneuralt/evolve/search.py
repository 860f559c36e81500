"""Running a search: progress, requests to stop, Ctrl-C and checkpoints."""

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
    """What `run_search` runs. A step happens in full or, if it is interrupted, not at all."""

    n_done: int

    @property
    def n_steps(self) -> int:
        """Steps in all."""

    def step(self) -> None:
        """Go on by one step."""

    def state(self) -> dict[str, Any]:
        """Return what the search can be continued from."""

    def figures(self) -> tuple[float, int]:
        """Return the lowest error so far, and the number of weights of its tree."""


@dataclass(frozen=True)
class GenerationState:
    """What a callback is told after each step of a search.

    Attributes
    ----------
    n_done, n_steps : int
        Generations so far, and in the end.
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
    """Take the steps that a search has left.

    Parameters
    ----------
    search : Search
    report : callable, optional
        Called after each step; anything true ends the search.
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
                told = GenerationState(
                    search.n_done, search.n_steps, error, n_weights, seconds, left
                )
                if report(told):
                    break
    finally:
        if checkpoint is not None and search.n_done > 0:
            write_checkpoint(checkpoint, depends_on or {}, search.state())
