"""Progress of a long computation: a live bar in a terminal, occasional lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any, TextIO

__all__ = ["Progress"]

_SECONDS_BETWEEN_LINES = 15.0


class Progress:
    """Counts finished runs, and shows their rate and the estimated time left.

    Parameters
    ----------
    total : int
        Number of requested runs.
    present : int
        Number of runs that were finished before.
    cost : float
        Total cost of the other runs, in any unit.
    quiet : bool
        Show nothing.
    stream : file, optional
        Default: standard error.
    """

    def __init__(
        self,
        total: int,
        present: int,
        cost: float,
        *,
        quiet: bool = False,
        stream: TextIO | None = None,
    ) -> None:
        self._total, self._done, self._cost = total, present, cost
        self._computed, self._computed_cost = 0, 0.0
        self._stream = sys.stderr if stream is None else stream
        self._quiet = quiet
        self._start = self._shown = time.monotonic()
        self._last_note = ""
        self._bar = None if quiet else _rich_bar(self._stream, total, present)
        if self._bar is None:
            self._print(f"{present} of {total} runs are in the store")

    def advance(self, runs: int, cost: float) -> None:
        """Count runs that this process has finished, and their total cost."""
        self._computed += runs
        self._computed_cost += cost
        self.update(self._done + runs)

    def update(self, done: int) -> None:
        """Set the number of requested runs that the store contains."""
        changed, self._done = done != self._done, done
        if self._bar is not None:
            bar, task = self._bar
            bar.update(task, completed=done, status=self._status())
        elif changed and (time.monotonic() - self._shown > _SECONDS_BETWEEN_LINES):
            self._print(f"{self._done}/{self._total} runs, {self._status()}")

    def note(self, text: str) -> None:
        """Show a message, unless it is the same as the last one."""
        if text != self._last_note and not self._quiet:
            self._last_note = text
            if self._bar is not None:
                self._bar[0].console.print(text, markup=False, highlight=False)
            else:
                self._print(text)

    def close(self) -> None:
        """Stop the display."""
        if self._bar is not None:
            self._bar[0].stop()
        elif self._computed:
            self._print(f"{self._done}/{self._total} runs, {self._status()}")

    def _status(self) -> str:
        seconds = time.monotonic() - self._start
        if not self._computed or seconds <= 0:
            return "no rate yet"
        rate = self._computed / seconds
        pace = f"{rate:.1f} runs/s" if rate >= 1 else f"{60 * rate:.1f} runs/min"
        left = seconds * max(0.0, self._cost / self._computed_cost - 1.0)
        return f"{pace}, about {_duration(left)} left" if self._done < self._total else pace

    def _print(self, text: str) -> None:
        if not self._quiet:
            self._shown = time.monotonic()
            print(text, file=self._stream, flush=True)


def _duration(seconds: float) -> str:
    """Format a duration, rounded to a sensible precision.

    Examples
    --------
    >>> _duration(42), _duration(130), _duration(8000)
    ('42 s', '2 min', '2 h 13 min')
    """
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def _rich_bar(stream: TextIO, total: int, present: int) -> tuple[Any, Any] | None:
    """Return a live bar and its task, or None without a terminal or without rich."""
    if not stream.isatty():
        return None
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as RichProgress
    except ImportError:
        return None
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("runs  {task.fields[status]}"))
    bar = RichProgress(*columns, console=Console(file=stream))
    task = bar.add_task("", total=total, completed=present, status="")
    bar.start()
    return bar, task
