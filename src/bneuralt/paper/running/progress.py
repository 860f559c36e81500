"""How far a long computation is: a live bar in a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any, TextIO

__all__ = ["Progress"]

_SECONDS_BETWEEN_LINES = 15.0


class Progress:
    """Counts finished runs and tells their rate and the time left.

    Parameters
    ----------
    total, present : int
        Runs in all, and those that were there at the start.
    weight : float
        How much work the missing ones are, in any unit.
    quiet : bool
        Show nothing.
    stream : file, optional
        Default: standard error.
    """

    def __init__(
        self,
        total: int,
        present: int,
        weight: float,
        *,
        quiet: bool = False,
        stream: TextIO | None = None,
    ) -> None:
        self._total, self._done, self._weight = total, present, weight
        self._computed, self._computed_weight = 0, 0.0
        self._stream = sys.stderr if stream is None else stream
        self._quiet = quiet
        self._start = self._shown = time.monotonic()
        self._last_note = ""
        self._bar = None if quiet else _rich_bar(self._stream, total, present)
        if self._bar is None:
            self._say(f"{present} of {total} runs are in the store")

    def advance(self, runs: int, weight: float) -> None:
        """Count runs that this process has finished."""
        self._computed += runs
        self._computed_weight += weight
        self.update(self._done + runs)

    def update(self, done: int) -> None:
        """Set how many runs the store holds."""
        changed, self._done = done != self._done, done
        if self._bar is not None:
            bar, task = self._bar
            bar.update(task, completed=done, status=self._status())
        elif changed and (time.monotonic() - self._shown > _SECONDS_BETWEEN_LINES):
            self._say(f"{self._done}/{self._total} runs, {self._status()}")

    def note(self, text: str) -> None:
        """Say something in between; the same thing again is not repeated."""
        if text != self._last_note and not self._quiet:
            self._last_note = text
            if self._bar is not None:
                self._bar[0].console.print(text, markup=False, highlight=False)
            else:
                self._say(text)

    def close(self) -> None:
        """End the display."""
        if self._bar is not None:
            self._bar[0].stop()
        elif self._computed:
            self._say(f"{self._done}/{self._total} runs, {self._status()}")

    def _status(self) -> str:
        seconds = time.monotonic() - self._start
        if not self._computed or seconds <= 0:
            return "no rate yet"
        rate = self._computed / seconds
        pace = f"{rate:.1f} runs/s" if rate >= 1 else f"{60 * rate:.1f} runs/min"
        left = seconds * max(0.0, self._weight / self._computed_weight - 1.0)
        return f"{pace}, about {_duration(left)} left" if self._done < self._total else pace

    def _say(self, text: str) -> None:
        if not self._quiet:
            self._shown = time.monotonic()
            print(text, file=self._stream, flush=True)


def _duration(seconds: float) -> str:
    """Round a time to what can be promised.

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
    """Return a live bar and its task, or None where there is no terminal or no rich."""
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
