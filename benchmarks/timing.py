"""Timing: the least of many repetitions, which other programs disturb least."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SHARED = Path(os.environ.get("BNEURALT_SHARED", Path(__file__).parents[2] / "shared"))


def processor_time(call: Callable[[], Any], repeat: int = 30) -> float:
    """Return the seconds that the calling thread spent in `call`, the least of `repeat` times."""
    return _least(time.thread_time_ns, call, repeat)


def interleaved(
    calls: dict[str, Callable[[], Any]],
    repeat: int,
    clock: Callable[[], int] = time.thread_time_ns,
) -> dict[str, float]:
    """Return the least seconds of each call, measured in turns on the same machine."""
    least = dict.fromkeys(calls, float("inf"))
    for _ in range(repeat):
        for name, call in calls.items():
            least[name] = min(least[name], _least(clock, call, 1))
    return least


def _least(clock: Callable[[], int], call: Callable[[], Any], repeat: int) -> float:
    least = float("inf")
    for _ in range(repeat):
        start = clock()
        call()
        least = min(least, (clock() - start) / 1e9)
    return least


def table(title: str, header: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    """Print rows under a title, columns aligned."""
    cells = [[f"{v:.3g}" if isinstance(v, float) else str(v) for v in row] for row in rows]
    widths = [max(len(row[i]) for row in [list(header), *cells]) for i in range(len(header))]
    print(f"\n{title}")
    for row in [list(header), ["-" * w for w in widths], *cells]:
        aligned = [row[0].ljust(widths[0])]
        aligned += [cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True)]
        print("  " + "  ".join(aligned))
