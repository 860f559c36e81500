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
from typing import TYPE_CHECKING, Any, TextIO

from bneuralt.fitting.progress import Attributes, Report, Step

if TYPE_CHECKING:
    from bneuralt.estimators.base import NeuralTreeEstimator

__all__ = ["TrainingData", "reporting", "show_unused"]


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
    estimator: NeuralTreeEstimator,
    data: TrainingData,
    callback: Callable[[Any], Any] | None,
    step: Step,
) -> Iterator[Report | None]:
    """Yield a function to call after each step, or None if there is nothing to report to."""
    with ExitStack() as stack:
        listeners: list[Report] = []
        if callback is not None:
            listeners.append(lambda state, score, fitted: bool(callback(state)))
        if estimator.verbose:
            listeners.append(stack.enter_context(_progress_line(step)))
        if getattr(estimator, "_skl_callbacks", None):
            listeners.append(stack.enter_context(_sklearn_callbacks(estimator, step, data)))

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
def _sklearn_callbacks(
    estimator: NeuralTreeEstimator, step: Step, data: TrainingData
) -> Iterator[Report]:
    """Call scikit-learn's callbacks: a task for the fit, and a subtask for each step."""
    context = estimator._init_callback_context(max_subtasks=step.n_steps)
    context.call_on_fit_task_begin(estimator=estimator, **data.arguments)
    n_done = 0
    model_now: Attributes = dict

    def begin_step() -> Any:
        return context.subcontext(task_name=step.name).call_on_fit_task_begin(
            estimator=estimator, **data.arguments
        )

    task = begin_step()

    def report_step(state: Any, score: float, fitted: Attributes) -> bool:
        nonlocal task, n_done, model_now
        n_done, model_now = n_done + 1, fitted
        stop = task.call_on_fit_task_end(
            estimator=estimator, **data.arguments, reconstruction_attributes=fitted
        )
        task = None if stop or n_done == step.n_steps else begin_step()
        return stop

    yield report_step
    if task is not None:  # training stopped before the step that was announced
        task.call_on_fit_task_end(estimator=estimator, **data.arguments)
    context.call_on_fit_task_end(  # the estimator gets its model after that
        estimator=estimator, **data.arguments, reconstruction_attributes=model_now
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
