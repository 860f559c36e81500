"""Reports of the progress of a fit, and requests to stop it.

They are sent to the user's `callback`, to the progress line of `verbose`, and to callbacks that
are registered with `set_callbacks` of scikit-learn (from version 1.9 on).
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, TextIO

__all__ = ["ForestState", "Report", "Step", "TrainingData", "reporting", "show_unused"]

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


@dataclass(frozen=True)
class TrainingData:
    """The arguments of `fit`, for callbacks that compute scores."""

    X: Any
    y: Any
    sample_weight: Any = None

    @property
    def arguments(self) -> dict[str, Any]:
        """The data as arguments of scikit-learn's callback hooks."""
        has_weight = self.sample_weight is not None
        metadata = {"sample_weight": self.sample_weight} if has_weight else None
        return {"X": self.X, "y": self.y, "metadata": metadata}


@contextmanager
def reporting(
    estimator: Any,
    new_step: Callable[[], Step],
    data: TrainingData,
    callback: Callable[[Any], Any] | None = None,
) -> Iterator[Report | None]:
    """Yield a function to call after each step, or None if there is nothing to report to."""
    with ExitStack() as stack:
        listeners: list[Report] = []
        if callback is not None:
            listeners.append(lambda state, score, fitted: bool(callback(state)))
        if estimator.verbose:
            listeners.append(stack.enter_context(_progress_line(new_step())))
        if getattr(estimator, "_skl_callbacks", None):
            listeners.append(stack.enter_context(_sklearn_callbacks(estimator, new_step(), data)))

        def report(state: Any, score: float, fitted: Attributes) -> bool:
            requests = [listener(state, score, fitted) for listener in listeners]
            return any(requests)  # every listener is called, whatever the others return

        yield report if listeners else None


@contextmanager
def _progress_line(step: Step, stream: TextIO | None = None) -> Iterator[Report]:
    """Show one line that is updated in a terminal, and about ten plain lines elsewhere."""
    out = sys.stderr if stream is None else stream
    live = out.isatty()
    every = max(1, step.n_steps // 10)
    n_done, last_shown = 0, -math.inf

    def show(state: Any, score: float, fitted: Attributes) -> bool:
        nonlocal n_done, last_shown
        n_done += 1
        now = time.monotonic()
        is_last = n_done == step.n_steps
        if is_last or (now - last_shown > 0.1 if live else n_done % every == 0):
            last_shown = now
            text = step.describe(state, score)
            out.write(f"\r{text}\x1b[K" if live else f"{text}\n")
            out.flush()
        return False

    try:
        yield show
    finally:
        if live and n_done:
            out.write("\n")


@contextmanager
def _sklearn_callbacks(estimator: Any, step: Step, data: TrainingData) -> Iterator[Report]:
    """Call scikit-learn's callbacks: a task for the fit, and a subtask for each step."""
    context = estimator._init_callback_context(max_subtasks=step.n_steps)
    context.call_on_fit_task_begin(estimator=estimator, **data.arguments)
    n_done = 0

    def begin_step() -> Any:
        return context.subcontext(task_name=step.name).call_on_fit_task_begin(
            estimator=estimator, **data.arguments
        )

    task = begin_step()

    def report_step(state: Any, score: float, fitted: Attributes) -> bool:
        nonlocal task, n_done
        n_done += 1
        stop = task.call_on_fit_task_end(
            estimator=estimator, **data.arguments, reconstruction_attributes=fitted
        )
        task = None if stop or n_done == step.n_steps else begin_step()
        return stop

    yield report_step
    if task is not None:  # training stopped before the step that was announced
        task.call_on_fit_task_end(estimator=estimator, **data.arguments)
    context.call_on_fit_task_end(
        estimator=estimator, **data.arguments, reconstruction_attributes=dict
    )


def show_unused(features: list[str], stream: TextIO | None = None) -> None:
    """Write the names of the features that a model does not use, if there are any.

    Examples
    --------
    >>> show_unused(["width", "depth"], sys.stdout)
    2 features are not used: width, depth
    """
    if features:
        n, out = len(features), sys.stderr if stream is None else stream
        shown = ", ".join(features[:20]) + (f" and {n - 20} more" if n > 20 else "")
        out.write(f"{n} feature{'s are' if n > 1 else ' is'} not used: {shown}\n")


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
