"""Runs of many random cases in a process of their own, with limits on memory and time.

A case that kills the process, or takes too long, is reported by its seed; the cases after it are
run in a new process.
"""

from __future__ import annotations

import faulthandler
import importlib
import os
import resource
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

from tests.helpers.paths import ROOT

#: Limits of a case: bytes of memory on top of those in use at the start, and seconds.
MEMORY, SECONDS = 500 * 2**20, 5


def limit_memory() -> None:
    """Let this process grow by no more than `MEMORY`, where its size can be told."""
    sizes = Path("/proc/self/statm")
    if not sizes.exists():
        return
    pages = int(sizes.read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def run_cases(module: str, first: int, n: int) -> None:
    """Call `module.run(seed)` for seeds from `first`; a line for each that complains.

    Before each case its seed goes to a line of the standard error, which is what is left of it
    if the process dies.
    """
    cases: Any = importlib.import_module(module)
    cases.prepare()
    limit_memory()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for seed in range(first, first + n):
        os.write(2, f"\nseed {seed}\n".encode())
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        try:
            complaint = cases.run(seed)
        except Exception:
            complaint = traceback.format_exc()
        faulthandler.cancel_dump_traceback_later()
        if complaint:
            print(f"seed {seed}: {complaint}", flush=True)
    if n >= 100 and cases.n_results < n / 20:
        print(f"only {cases.n_results} of {n} cases gave a result", flush=True)
    os.write(2, b"\nall done\n")


def complaints(module: str, first: int, n: int) -> list[str]:
    """Run the cases of a module in processes of their own; return what was wrong."""
    texts: list[str] = []
    end = first + n
    while first < end:
        code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); "
        code += "from tests.helpers.limits import run_cases; "
        code += f"run_cases({module!r}, {first}, {end - first})"
        done = subprocess.run(
            [sys.executable, "-X", "faulthandler", "-c", code],
            capture_output=True,
            text=True,
            errors="replace",
            env={**os.environ, "MALLOC_ARENA_MAX": "2", "OPENBLAS_NUM_THREADS": "1"},
            preexec_fn=_limit_processor_time,
        )
        texts += [line for line in done.stdout.split("\nseed ") if line]
        if done.stderr.endswith("\nall done\n"):
            break
        *before, last = done.stderr.split("\nseed ")
        if not before:  # it did not even start
            return [*texts, done.stderr]
        seed = int(last.split()[0])
        texts.append(f"seed {seed} ended the process with {done.returncode}: {last[:2000]}")
        first = seed + 1
    return texts


def _limit_processor_time() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (3600, 3600))


def main(module: str) -> int:
    """The program: number of cases, and the first seed."""
    numbers = [int(argument) for argument in sys.argv[1:]] or [1000]
    n, first = numbers[0], numbers[1] if len(numbers) > 1 else 0
    texts = complaints(module, first, n)
    print("\n".join(texts))
    print(f"{n} cases, {len(texts)} complaints")
    return bool(texts)
