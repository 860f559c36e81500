"""Change the kernels bit by bit and see whether tests notice: `python -m tests.tools.mutants_core`.

Each change is made in a copy of the project, which compiles the baseline only. A change that
crashes the process, or makes it hang, is noticed. What the tests do not notice is compiled again
with AddressSanitizer, as by `make sanitize`: most of these read or write beside an array. Prints
the changes that survive, and how many were noticed in each file.

The program needs python3 with NumPy, SciPy, scikit-learn, nanobind, pytest and hypothesis, and
CMake, Ninja and a compiler; the package need not be installed.

Options
-------
FILE...      the headers of cpp/kernels to change (default: those of training)
--limit N    make N of the changes of each file, drawn at random (default: all)
--seed N     draw others
--jobs N     work in N copies side by side
--folder F   keep the copies there, so that the next run need not compile everything again
"""

from __future__ import annotations

import argparse
import os
import queue
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tests.helpers.paths import ROOT
from tests.tools.mutants import changes_of

KERNELS = "cpp/kernels"
#: Of pytest in a copy: plugins of the project may be missing.
SETTINGS = "[pytest]\npythonpath = .\naddopts = --import-mode=importlib\n"
FILES = ("losses", "optimizers", "backward", "scoring", "online", "train")

#: The tests, the quick ones and those that notice most first; none that depends on time.
TESTS = (
    "tests/core/test_kernels.py",
    "tests/core/test_registry.py",
    "tests/training/test_epochs.py",
    "tests/training/test_losses.py",
    "tests/training/test_moving.py",
    "tests/core/test_engine.py",
    "tests/core/test_numbers.py",
    "tests/training/test_validation_scores.py",
    "tests/training/test_train_many.py",
)
#: The tests that are run with AddressSanitizer.
SANITIZED = ("tests/core/test_kernels.py", "tests/core/test_registry.py",
             "tests/core/test_engine.py")  # fmt: skip
#: Tests of what no kernel has a part in.
LEFT_OUT = "not importing and not other_threads and not objects_are_values and not pickled"
MEMORY = 8 * 2**30
#: Quick to compile, and a place beside an array ends the process.
FLAGS = "-O1;-fsanitize=bounds;-fsanitize-undefined-trap-on-error"

#: Changes that change no behaviour, by a part of the changed line.
EQUIVALENT: dict[str, dict[str, tuple[str, ...]]] = {
    "losses": {
        "each sample sets it": ("int n_targets = 2;",),
        "another way to the same number": ("(R != 1) return kN", "(R == 2) return kN"),
        "lanes without a row, whose factor is 0": ("target[r] = 1;",),
        "both are the same number there": (
            "constexpr int N = R <= Simd", "+ r] >= top[r] ? out", "block.n_outputs >= 1)",
            "return difference < d ?", "difference <= -delta", "difference >= delta",
            "return difference > 0 ?",
        ),
    },
    "optimizers": {
        "set before it is used": ("step_count = 1;", "int n_state_ = 1;", "looks_ahead_ = true;"),
        "looking ahead needs neither rate nor count": ("with({1, 1}", "with({0, 2}"),
        "room that is not used": ("[N ? N : 2];",),
        "multiplies by 1 instead of nothing": ("factor == T(2)",),
    },
    "backward": {
        "both are the same number there": ("j <= 4 ?",),
        "these leaves come with the next ones": ("leaf + 4 < n_ready",),
        "one more group, of no node": ("j <= t.n_nodes; j += 4",),
    },
    "scoring": {
        "scores are compared with each other only: a common factor does not matter": (
            ": 1.5;", "total_weight_ = 1;", "(int64_t i = 1; i < n_rows_; ++i) total_weight_",
        ),
        "a shortcut less; all rows are scored instead": (
            "if (best < 0 &&", "round(best) + 1", "best * (2 + 1e-9)",
        ),
        "what is returned is not below the best either way": ("return running * total_weight_",),
        "the order of rows, which decides nothing but how early to give up": (
            "memory_[rows[r]] - (std", "0.9 / memory_",
        ),
        "more room": ("x_((n_rows_ + R + 1)", "(n_rows_ + R - 1) * R * R"),
        "every buffer has a vector of room behind its end": ("i <= n_rows_; ++i) order_",),
        "how soon a stopped call ends, which tests that depend on time measure": (
            "thread != 0 && pulse", "thread == 0 || pulse", "thread == 1 && pulse",
        ),
    },
    "online": {
        "both are the same number there": ("j <= W ?",),
        "more room": ("? 4 : 2) + t.n",),
    },
    "train": {
        "more room": ("ps_sums ? 2 : 2)",),
        "threads never change a result": (
            "in_batch = batch_size != 1", "in_batch = batch_size == 2", "batch_size == 1 ? 2 :",
            "select != Select::update ? 1", "validation->n - 31", "+ 31) * 32",
            "Select::update ? 2", "in_scoring * 16", "std::min(in_batch",
        ),
        "both are the same number there": ("batch_size <= sample", "norm < settings_"),
        "another size of blocks for the same sums": ("batch_size_ < 16)",),
        "how often the clock is read": (
            "until_pulse = 1;", "until_pulse <= 0)", "until_pulse < 1)",
        ),
        "set before it is used": ("total_updates_ = 2;", "int epoch_ = 1;"),
    },
}  # fmt: skip


class Change(NamedTuple):
    """A line of a file, and what becomes of it."""

    file: str
    number: int
    line: str
    changed: str

    def __str__(self) -> str:
        place = f"{KERNELS}/{self.file}.hpp:{self.number + 1}"
        return f"{place}\n  - {self.line.strip()}\n  + {self.changed.strip()}"

    @property
    def is_equivalent(self) -> bool:
        """Whether it is known to change nothing."""
        parts = [part for parts in EQUIVALENT[self.file].values() for part in parts]
        return any(part in self.changed and part not in self.line for part in parts)


def changes(file: str) -> list[Change]:
    """All changes of a file that may matter: none of texts, none that is listed above."""
    text = (ROOT / KERNELS / f"{file}.hpp").read_text()
    all_changes = [Change(file, *change) for change in changes_of(text, is_python=False)]
    for parts in EQUIVALENT[file].values():
        for part in parts:
            assert any(part in c.changed and part not in c.line for c in all_changes), part
    without_texts = [(c, *(re.sub(r'"[^"]*"', "", line) for line in c[2:])) for c in all_changes]
    return [c for c, old, new in without_texts if old != new and not c.is_equivalent]


class CoreCopy:
    """A copy of the project with a core of its own."""

    def __init__(self, folder: Path) -> None:
        self.root, self.plain = folder / "project", folder / "build"
        self.sanitized = folder / "sanitized"
        self.package = self.root / "src" / "bneuralt"
        skipped = shutil.ignore_patterns(".git", ".venv", "build", "__pycache__", "docs", "*.so")
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(ROOT, self.root, ignore=skipped)
        shutil.copytree(ROOT / "docs", self.root / "docs", ignore=skipped)
        (self.root / "pytest.ini").write_text(SETTINGS)
        self.configured: set[Path] = set()

    def compile(self, sanitize: bool = False) -> bool:
        """Compile the baseline, quickly."""
        build = self.sanitized if sanitize else self.plain
        make = [
            "cmake", "-S", self.root, "-B", build, "-G", "Ninja",
            f"-DBNEURALT_SANITIZE={'address' if sanitize else 'OFF'}",
            "-DCMAKE_BUILD_TYPE=Release", "-DBNEURALT_SETS=baseline",
            f"-DBNEURALT_KERNEL_OPTIMIZATION={FLAGS}", f"-DPython_EXECUTABLE={sys.executable}",
        ]  # fmt: skip
        steps = [] if build in self.configured else [make]
        self.configured.add(build)
        for command in (*steps, ["cmake", "--build", build, "-j", "1"]):
            if subprocess.run(command, capture_output=True).returncode:
                return False
        for core in build.glob("_core*.so"):
            shutil.copy(core, self.package)
        return True

    def passes(
        self, tests: Sequence[str], sanitize: bool = False, seconds: float | None = None
    ) -> bool:
        """Whether the tests pass here, in that time; without one, say why they fail."""
        start = "import sys; sys.meta_path[:] = [f for f in sys.meta_path "
        start += "if 'editable' not in type(f).__module__ + type(f).__name__.lower()]; "
        start += "sys.path.insert(0, 'src'); import bneuralt, pytest; "
        start += "assert 'project/src' in bneuralt.__file__, bneuralt.__file__; "
        start += "sys.exit(pytest.main(sys.argv[1:]))"
        command = [sys.executable, "-B", "-c", start, "-q", "-x", "-p", "no:cacheprovider",
                   "--hypothesis-seed=0", "-k", LEFT_OUT, *tests]  # fmt: skip
        try:
            done = subprocess.run(
                command, cwd=self.root, capture_output=True, timeout=seconds or 1800,
                preexec_fn=None if sanitize else _limit_memory,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **(ADDRESS if sanitize else {})},
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return False
        if seconds is None and done.returncode:
            print((done.stdout + done.stderr).decode(errors="replace")[-3000:])
        return done.returncode == 0

    def survives(self, change: Change, tests: list[str], seconds: float) -> bool | None:
        """Whether no test notices a change in time; None if it does not compile."""
        path = self.root / KERNELS / f"{change.file}.hpp"
        original = path.read_text()
        lines = original.splitlines(keepends=True)
        lines[change.number] = change.changed
        path.write_text("".join(lines))
        try:
            if not self.compile():
                return None
            if not self.passes(tests, seconds=seconds):
                return False
            return self.compile(sanitize=True) and self.passes(SANITIZED, True, seconds)
        finally:
            path.write_text(original)


def _library(*names: str) -> str:
    """Where the compiler keeps the first of these libraries that it has."""
    for name in names:
        ask = [os.environ.get("CXX", "c++"), f"-print-file-name={name}"]
        path = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip()
        if os.path.isabs(path):
            break
    return path


ADDRESS = {
    "LD_PRELOAD": f"{_library('libasan.so')} {_library('libstdc++.so', 'libstdc++.so.6')}",
    "ASAN_OPTIONS": "detect_leaks=0",
}


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(drawn: list[Change], tests: list[str], folder: Path, n_jobs: int) -> dict[Change, bool]:
    """Make the changes; return for each that compiles whether it survives."""
    copies: queue.Queue[CoreCopy] = queue.Queue()
    outcome: dict[Change, bool] = {}

    def prepare(number: int) -> bool:
        """Compile; the first two copies see whether the tests pass without any change."""
        copy = CoreCopy(folder / f"copy{number}")
        copies.put(copy)
        passed = copy.compile(sanitize=True)
        if number == n_jobs - 1:
            passed = passed and copy.passes(SANITIZED, sanitize=True)
        return passed and copy.compile() and (number > 0 or copy.passes(tests))

    def try_out(change: Change) -> None:
        copy = copies.get()
        survives = copy.survives(change, tests, seconds)
        copies.put(copy)
        if survives is not None:
            outcome[change] = survives
        if survives:
            print(change, flush=True)
        if len(outcome) % 10 == 0:
            print(f"{len(outcome)} of {len(drawn)} made", flush=True)

    begun = time.monotonic()
    with ThreadPoolExecutor(n_jobs) as pool:
        if not all(pool.map(prepare, range(n_jobs))):
            raise SystemExit("the tests fail without any change, or the core does not compile")
        seconds = 60 + 5 * (time.monotonic() - begun)
        list(pool.map(try_out, drawn))
    return outcome


def main() -> int:
    """The program."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="*", default=FILES)
    parser.add_argument("--tests", nargs="+", default=list(TESTS))
    parser.add_argument("--limit", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    drawn: list[Change] = []
    for file in options.files:
        all_changes = changes(file)
        n = len(all_changes) if options.limit is None else min(options.limit, len(all_changes))
        drawn += random.Random(options.seed).sample(all_changes, n)
    with tempfile.TemporaryDirectory() as temporary:
        outcome = run(drawn, options.tests, options.folder or Path(temporary), options.jobs)
    for file in options.files:
        made = [survives for change, survives in outcome.items() if change.file == file]
        print(f"{file}: {made.count(False)} of {len(made)} changes noticed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
