"""Progress of a fit: what is reported after each step, and the texts of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

__all__ = ["ForestState", "Listen", "Report", "Step", "describe_epoch", "describe_forest", "silent"]

Attributes = Callable[[], dict[str, Any] | None]
#: (state, score, function that returns the fitted attributes as of now) -> whether to stop
Report = Callable[[Any, float, Attributes], bool]


@dataclass(frozen=True)
class ForestState:
    """State of the fit of a forest, passed to a callback after each tree.

    Attributes
    ----------
    n_done, n_estimators : int
        Number of trees trained so far, and in total, by this fit.
    seconds : float
        Time since the start of the fit.
    """

    n_done: int
    n_estimators: int
    seconds: float


@dataclass(frozen=True)
class Step:
    """The unit of the progress of a fit: an epoch, a tree or a generation."""

    name: str
    n_steps: int
    describe: Callable[[Any, float], str]


#: Opens the reports of a fit; None if there is nobody to report to.
Listen = Callable[[Step], AbstractContextManager[Report | None]]


def silent(step: Step) -> AbstractContextManager[Report | None]:
    """Report to nobody."""
    return nullcontext()


def describe_epoch(
    state: Any, score: float, score_name: str, n_trees: int = 1, refits: bool = False
) -> str:
    """Return one line about the last epoch of one of several trees.

    With `refits`, a training without validation rows is the final one on all rows.
    """
    width = len(str(state.max_epochs))
    has_validation = math.isfinite(state.val_loss)
    is_refit = refits and not has_validation
    n_trees = 1 if is_refit else n_trees
    n_done = state.job * state.max_epochs + state.epoch + 1
    left = state.seconds / n_done * max(0, n_trees * state.max_epochs - n_done)
    return "  ".join(
        [
            *(["refit on all rows"] if is_refit else []),
            *([f"tree {state.job + 1}/{n_trees}"] if n_trees > 1 else []),
            f"epoch {state.epoch + 1:{width}d}/{state.max_epochs}",
            f"loss {state.train_loss:.4f}",
            *([f"validation loss {state.val_loss:.4f}"] if has_validation else []),
            f"{score_name} {score:.4f}",
            f"rate {state.learning_rate:.2g}",
            f"{left:.1f} s left",
        ]
    )


def describe_forest(state: ForestState, score: float) -> str:
    """Return one line about the last tree."""
    left = state.seconds / state.n_done * (state.n_estimators - state.n_done)
    return f"tree {state.n_done}/{state.n_estimators}  {left:.1f} s left"
