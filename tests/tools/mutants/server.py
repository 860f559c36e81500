"""Run tests, each time in a fork of a process that has imported the large packages.

Each line of the standard input is a task, a JSON object of the arguments of pytest, variables of
the environment, and limits of time; the answer is the exit code. The folders in the arguments of
the program come first on the path, whatever is installed. With `record`, a task writes for each
test whether it passed, its time, and what it executed.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import resource
import signal
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import coverage
import hypothesis
import numpy as np
import pandas  # noqa: F401 - imported once for all forks, like those below
import pytest
import scipy.stats  # noqa: F401
import sklearn.ensemble
import sklearn.model_selection  # noqa: F401

MEMORY = 8 * 2**30
#: So many parameters and examples of a test are run at most, and a recorded test for so long.
MOST_PARAMETERS, MOST_EXAMPLES, MOST_SECONDS = 4, 15, 4.0


class Fewer:
    """A plugin of pytest that takes a part of what takes long: most changes need no more."""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        functions = defaultdict(list)
        for item in items:
            functions[item.nodeid.partition("[")[0]].append(item)
            function = getattr(item, "function", None)
            if hypothesis.is_hypothesis_test(function):
                usual = function._hypothesis_internal_use_settings
                few = hypothesis.settings(
                    usual, max_examples=min(MOST_EXAMPLES, usual.max_examples)
                )
                function._hypothesis_internal_use_settings = few
        steps = {name: -(-len(same) // MOST_PARAMETERS) for name, same in functions.items()}
        items[:] = [item for name, same in functions.items() for item in same[:: steps[name]]]


class Record:
    """A plugin of pytest that records what each test executes.

    Lines of Python are those below `package`. A core that was compiled with switches records the
    switches that were asked.
    """

    def __init__(self, package: str) -> None:
        self.package = package
        self.tests: dict[str, dict[str, Any]] = {}
        self._coverage = coverage.Coverage(
            data_file=None, source=[package], config_file=False, messages=False
        )
        self._coverage.start()

    def _switches(self) -> np.ndarray[Any, Any]:
        """Return the flags of the switches, none without a compiled one."""
        from bneuralt import _core

        core = ctypes.CDLL(_core.__file__)
        if not hasattr(core, "bneuralt_asked"):
            return np.zeros(0, np.uint8)
        flags = ctypes.c_uint8 * ctypes.c_int.in_dll(core, "bneuralt_n_switches").value
        return np.frombuffer(flags.in_dll(core, "bneuralt_asked"), np.uint8)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._switches()[:] = 0
        self.tests[nodeid] = {"passed": True, "started": _cpu_seconds(), "lines": {}}
        self._coverage.switch_context(nodeid)
        signal.signal(signal.SIGVTALRM, _give_up)
        signal.setitimer(signal.ITIMER_VIRTUAL, MOST_SECONDS)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        test = self.tests[report.nodeid]
        test["passed"] = test["passed"] and report.passed

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        self._coverage.switch_context("")
        test = self.tests[nodeid]
        test["seconds"] = _cpu_seconds() - test.pop("started")
        test["switches"] = np.flatnonzero(self._switches()).tolist()

    def write(self, path: str) -> None:
        """Write the tests, with the lines that each executes."""
        self._coverage.stop()
        data = self._coverage.get_data()
        for file in data.measured_files():
            name = str(Path(file).relative_to(self.package))
            for line, tests in data.contexts_by_lineno(file).items():
                for test in filter(None, tests):
                    self.tests[test]["lines"].setdefault(name, []).append(line)
        Path(path).write_text(json.dumps(self.tests))


def _give_up(*_: object) -> None:
    raise TimeoutError("the test takes too long to be tried with each change")


def _cpu_seconds() -> float:
    """Return the processor time of this process and of those that it has started."""
    return sum(os.times()[:4])


def run(task: dict[str, Any], package: str) -> int:
    """Run the tests of a task in this process, and return the exit code."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    log = os.open(task["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream, file in enumerate((nowhere, log, log)):
        os.dup2(file, stream)
    signal.alarm(task["seconds"])
    cpu = task["cpu_seconds"]
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))
    if not any(argument.startswith("tests/export/") for argument in task["arguments"]):
        # Exported programs are compiled with sanitizers, which reserve far more addresses.
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.environ.update(task["environment"])
    # A failure is enough: the smallest example of it is of no interest.
    phases = [hypothesis.Phase.explicit, hypothesis.Phase.generate]
    hypothesis.settings.register_profile(
        "mutants", phases=phases, database=None, deadline=None, print_blob=False
    )
    record = Record(package) if task["record"] else None
    plugins = [Fewer()] if record is None else [Fewer(), record]
    code = int(pytest.main(task["arguments"], plugins))
    if record is not None:
        record.write(task["record"])
    return code


def main() -> None:
    """Answer tasks until the input ends."""
    sys.meta_path[:] = [
        finder
        for finder in sys.meta_path
        if "editable" not in type(finder).__module__ + type(finder).__name__.lower()
    ]
    sys.path[:0] = sys.argv[1:]
    package = str(Path(sys.argv[1]) / "bneuralt")
    with contextlib.redirect_stdout(sys.stderr):
        pytest.main(["--version"])  # imports the plugins
    gc.freeze()  # pytest collects garbage; in forks there is none of what was imported before
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            code = 70
            try:
                code = run(json.loads(line), package)
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # what its tests have started and left
        print(code, flush=True)


if __name__ == "__main__":
    main()
