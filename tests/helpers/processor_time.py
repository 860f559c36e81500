"""Processor time of tests: recorded for each, listed at the end, and limited for unmarked tests.

Processor time includes threads and processes that a test has waited for. It hardly depends on what
else a machine does, and `machine_factor` corrects for slower processors.
"""

from __future__ import annotations

import resource
import time

import pytest

from tests.helpers.needs import MARKERS

#: An unmarked test that takes longer, in seconds of the processor below, is refused.
MAX_SECONDS = 2.0
#: Processor time of `_work` where the limit was chosen, with Python 3.11.
_WORK_SECONDS = 0.014


def processor_seconds() -> float:
    """Return the processor time of this process, its threads and its ended children."""
    own, ended = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own.ru_utime + own.ru_stime + ended.ru_utime + ended.ru_stime


def _work() -> float:
    """Return the seconds of some arithmetic in Python."""
    start = time.thread_time()
    total = 0
    for i in range(500_000):
        total += i & 3
    return time.thread_time() - start


def machine_factor() -> float:
    """Return how many times longer this machine takes at the moment, at least 1."""
    return max(1.0, min(_work() for _ in range(3)) / _WORK_SECONDS)


class ProcessorTimes:
    """A plugin of pytest: lists the slowest tests, and fails unmarked ones that are slow."""

    def __init__(self, n_listed: int, refuses: bool) -> None:
        self.n_listed, self.refuses = n_listed, refuses
        self.seconds: dict[str, tuple[float, str]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        """Record the time of a test; fail it if it is unmarked and too long."""
        start = processor_seconds()
        try:
            return (yield)
        finally:
            seconds = processor_seconds() - start
            markers = sorted(MARKERS.keys() & {mark.name for mark in item.iter_markers()})
            item.user_properties.append(("processor seconds", (seconds, " ".join(markers))))
            if self.refuses and not markers and seconds > MAX_SECONDS:
                limit = MAX_SECONDS * machine_factor()
                if seconds > limit:
                    pytest.fail(
                        f"the test takes {seconds:.1f} s of processor time, more than {limit:.1f}: "
                        "share what it fits or computes with other tests, or let it use a helper "
                        'that declares needs("slow")',
                        pytrace=False,
                    )

    def pytest_runtest_logreport(self, report):
        """Collect the times, which come from other processes where tests are divided."""
        for name, value in report.user_properties if report.when == "call" else ():
            if name == "processor seconds":
                self.seconds[report.nodeid] = tuple(value)

    def pytest_terminal_summary(self, terminalreporter):
        """List the slowest tests with their markers."""
        if self.n_listed and self.seconds:
            total = sum(seconds for seconds, _ in self.seconds.values())
            terminalreporter.section(f"processor time: {total:.0f} s in {len(self.seconds)} tests")
            slowest = sorted(self.seconds.items(), key=lambda item: -item[1][0])
            for name, (seconds, markers) in slowest[: self.n_listed]:
                terminalreporter.write_line(f"{seconds:6.2f} s  {name}  {markers}")
