"""Change files bit by bit and list what no test notices: `python -m tests.tools.mutants`.

Arguments are FILE TESTS...: a Python module of a package (`tests.tools.mutants_core` changes the
core) and files of tests. Without TESTS, FILE is a part of the names in `MODULES` and
`PAPER_MODULES`, and without FILE all of these are changed. Each change is made in a copy of the
project, never here. Prints the changes that survive, and for each file how many were noticed.
Only those tests are run that execute the changed line.

Options
-------
--limit N    make N of the changes of a file, drawn at random (default: 30)
--seed N     draw others
--jobs N     work in N copies side by side (default: 2)
"""

from __future__ import annotations

import argparse
import ast
import importlib
import io
import json
import os
import queue
import random
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import tokenize
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tests.helpers.paths import ROOT
from tests.tools.unnoticeable import UNNOTICEABLE

_OPTIMIZATION = ("training/losses", "core/registry")
_TRAINING = (
    "training/settings",
    "training/epochs",
    "training/train_many",
    "training/losses",
    "training/validation_scores",
    "core/numbers",
)
_ESTIMATORS = (
    "estimators/fits",
    "estimators/parameters",
    "training/settings",
    "estimators/training_jobs",
    "estimators/forest",
    "estimators/rows",
    "estimators/numbers",
    "training/losses",
    "estimators/estimators",
)
_FILES = ("files/atomic", "files/json_text", "tree/json_format", "tree/authors_format")
_MODEL_FILES = (*_FILES, "estimators/model_files")
_CSV = ("tables/csv_files", "tables/table_layout", "tables/large_csv")
_COLUMNS = ("tables/encoder", "tables/features", "estimators/tables", "cli/messy_tables")

#: The modules that matter, in `src/bneuralt`, and the tests that are to notice their changes:
#: those that notice most come first.
MODULES: dict[str, tuple[str, ...]] = {
    "training/losses.py": _OPTIMIZATION,
    "training/optimizers.py": _OPTIMIZATION,
    "training/results.py": _TRAINING,
    "training/settings.py": _TRAINING,
    "training/trainer.py": _TRAINING,
    "estimators/base.py": _ESTIMATORS,
    "estimators/callbacks.py": _ESTIMATORS,
    "estimators/fitting.py": _ESTIMATORS,
    "estimators/forest.py": _ESTIMATORS,
    "estimators/model_file.py": _MODEL_FILES,
    "estimators/model_loading.py": _MODEL_FILES,
    "estimators/parameters.py": _ESTIMATORS,
    "estimators/parts.py": ("estimators/parts", *_ESTIMATORS),
    "estimators/canonical.py": _ESTIMATORS,
    "estimators/inputs.py": _ESTIMATORS,
    "estimators/rows.py": _ESTIMATORS,
    "estimators/splits.py": _ESTIMATORS,
    "estimators/weights.py": _ESTIMATORS,
    "estimators/scaling.py": _ESTIMATORS,
    "estimators/single.py": _ESTIMATORS,
    "tree/growth.py": ("tree/generate", "tree/sampling", "tree/groups", "tree/tree"),
    "tree/sampling.py": ("tree/sampling",),
    "files/atomic.py": _MODEL_FILES,
    "files/json_text.py": _MODEL_FILES,
    "files/text_files.py": _MODEL_FILES,
    "tables/cell_columns.py": (*_CSV, "cli/messy_tables"),
    "tables/columns.py": _COLUMNS,
    "tables/encoder.py": _COLUMNS,
    "tables/table_layout.py": (*_CSV, *_FILES),
    "tables/features/feature.py": _COLUMNS,
    "tables/features/category.py": _COLUMNS,
    "tables/features/date.py": _COLUMNS,
    "tables/features/number.py": _COLUMNS,
    "tables/layout_learning.py": (*_CSV, "cli/messy_tables"),
    "tables/moments.py": (*_COLUMNS, "estimators/fits", "estimators/rows"),
    "tables/numbers.py": (*_CSV, "tables/encoder"),
    "tables/large_csv.py": _CSV,
    "tables/csv_files.py": _CSV,
}

#: The same for the reproduction: modules in `paper/src/bneuralt_paper`, tests in `paper/tests`.
PAPER_MODULES = {
    "experiments/protocols.py": ("experiments/protocols",),
    "reporting/statistics.py": ("reporting/statistics",),
}

#: What is replaced by what: comparisons, signs, conditions, constants.
CHANGES: tuple[tuple[str, str], ...] = (
    (r" < ", " <= "),
    (r" <= ", " < "),
    (r" > ", " >= "),
    (r" >= ", " > "),
    (r" == ", " != "),
    (r" != ", " == "),
    (r" \+ ", " - "),
    (r" - ", " + "),
    (r" \* ", " / "),
    (r" / ", " * "),
    (r" and ", " or "),
    (r" or ", " and "),
    (r" && ", " || "),
    (r" \|\| ", " && "),
    (r" is None", " is not None"),
    (r" is not None", " is None"),
    (r"\bnot ", ""),
    (r"(?<!strict=)\bTrue\b", "False"),  # zip(strict=True) is an assertion
    (r"(?<!strict=)\bFalse\b", "True"),
    (r"\btrue\b", "false"),
    (r"\bfalse\b", "true"),
    (r"\bmin\(", "max("),
    (r"\bmax\(", "min("),
    (r"(?<![\w.])0(?![\w.])", "1"),
    (r"(?<![\w.])1(?![\w.])", "2"),
    (r"(?<![\w.])1\.0\b", "1.5"),
)


#: Lines that stay: they do nothing, or tell a type checker something.
UNCHANGED = ("import ", "from ", "#", "using ", "template", "assert ", "static_assert")


class Change(NamedTuple):
    """A line of a file, counted from 0, and what becomes of it."""

    number: int
    line: str
    changed: str


def changes_of(text: str, is_python: bool) -> list[Change]:
    """Return all changes of a file. Comments stay as they are, and texts in Python."""
    lines = text.splitlines(keepends=True)
    code = code_of(text) if is_python else [line.split("//")[0] for line in lines]
    changes = list(removed_statements(text, lines)) if is_python else []
    for number, line in enumerate(lines):
        if code[number].lstrip().startswith(UNCHANGED):
            continue
        for pattern, new in CHANGES:
            for place in re.finditer(pattern, code[number]):
                changed = line[: place.start()] + new + line[place.end() :]
                changes.append(Change(number, line, changed))
    return sorted(set(changes))


def code_of(text: str) -> list[str]:
    """Return the lines of a Python module with texts and comments blackened."""
    lines = text.splitlines(keepends=True)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in (tokenize.STRING, tokenize.COMMENT):
            continue
        (first, start), (last, end) = token.start, token.end
        for i in range(first - 1, last):
            line = lines[i]
            a, b = (start if i == first - 1 else 0), (end if i == last - 1 else len(line))
            lines[i] = line[:a] + "\0" * (b - a) + line[b:]
    return lines


def removed_statements(text: str, lines: list[str]) -> Iterator[Change]:
    """Leave out calls whose result is not used, and changes of attributes and entries."""
    for node in ast.walk(ast.parse(text)):
        is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        is_change = isinstance(node, ast.AugAssign) or (
            isinstance(node, ast.Assign) and not isinstance(node.targets[0], ast.Name | ast.Tuple)
        )
        if (is_call or is_change) and node.lineno == node.end_lineno:
            line = lines[node.lineno - 1]
            changed = line[: node.col_offset] + "pass" + line[node.end_col_offset :]
            yield Change(node.lineno - 1, line, changed)


#: Runs tests of a copy, each time in a fork of a process that has imported the large packages. The
#: copy comes first, whatever is installed.
RUNNER = """
import json, os, signal, sys
import hypothesis, numpy, pandas, pytest, scipy.stats, sklearn.model_selection
sys.meta_path[:] = [
    finder for finder in sys.meta_path
    if "editable" not in type(finder).__module__ + type(finder).__name__.lower()
]
sys.path[:0] = sys.argv[1:]
for line in sys.stdin:
    seconds, arguments = json.loads(line)
    child = os.fork()
    if child == 0:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nowhere, stream)
        signal.alarm(seconds)
        import bneuralt
        assert bneuralt.__file__.startswith(sys.argv[1]), bneuralt.__file__
        os._exit(pytest.main(arguments))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""

#: The tests that execute each line of each file.
Executed = dict[str, dict[int, list[str]]]


class Copy:
    """A copy of the project."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        skipped = shutil.ignore_patterns(".git", ".venv", "build", "__pycache__", "_build")
        shutil.copytree(ROOT, self.root, ignore=skipped)
        packages = {
            "bneuralt._core": self.root / "src" / "bneuralt",
            "bneuralt_paper._mlp": self.root / "paper" / "src" / "bneuralt_paper",
        }
        for module, package in packages.items():
            if not any(package.glob("_*.so")):
                shutil.copy(str(importlib.import_module(module).__file__), package)
        environment = {"BNEURALT_SHARED": str(ROOT.parent / "shared"), **os.environ}
        environment |= {"SCIPY_ARRAY_API": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        environment["PATH"] = sysconfig.get_path("scripts") + ":" + os.environ["PATH"]
        self.runner = subprocess.Popen(
            [sys.executable, "-c", RUNNER, *(str(path.parent) for path in packages.values())],
            cwd=self.root, env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def run(self, tests: list[str], *options: str, seconds: int = 3600) -> int:
        """Run tests and return pytest's exit code, or that of the signal that ended them."""
        common = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--timeout=120",
                  "--hypothesis-seed=0"]  # fmt: skip
        assert self.runner.stdin is not None and self.runner.stdout is not None
        task = json.dumps([seconds, [*common, *options, *tests]])
        print(task, file=self.runner.stdin, flush=True)
        return int(self.runner.stdout.readline())

    def fails(self, tests: list[str], seconds: int) -> bool:
        """Return whether one of these tests of a file fails."""
        result = self.run(tests, seconds=seconds)
        if result == 4:  # a test of this name is not there any more
            result = self.run([tests[0].partition("::")[0]], seconds=seconds)
        return result != 0

    def executed_lines(self, tests: list[str]) -> Executed | None:
        """Return for each module the tests that execute each line, None if some test fails."""
        from coverage import CoverageData

        recorded = self.root / "build" / "coverage" / "data"
        recorded.unlink(missing_ok=True)
        options = (
            "--cov=bneuralt",
            "--cov=bneuralt_paper",
            "--cov-context=test",
            "--cov-report=",
            "--cov-append",
        )
        if any(self.run([file], *options) for file in tests):  # one by one, as they are run later
            return None
        data = CoverageData(str(recorded))
        data.read()
        executed: Executed = {}
        for file in data.measured_files():
            lines = executed[str(Path(file).relative_to(self.root))] = {}
            for line, contexts in data.contexts_by_lineno(file).items():
                if "" not in contexts:  # what runs at import concerns all tests
                    names = {name.rpartition("|")[0] for name in contexts}
                    lines[line - 1] = sorted(names)
        return executed


class Tester:
    """Makes changes in copies of the project, several at a time."""

    def __init__(self, folder: Path, n_jobs: int) -> None:
        self.copies: queue.SimpleQueue[Copy] = queue.SimpleQueue()
        self.n_jobs = n_jobs
        self.unchanged: dict[tuple[str, ...], tuple[Executed, int]] = {}
        for i in range(n_jobs):
            self.copies.put(Copy(folder / str(i)))

    def _without_changes(self, file: str, tests: list[str]) -> tuple[Executed, int]:
        """Return which tests execute what, and a generous time for all of them."""
        key = tuple(tests)
        if key not in self.unchanged:
            copy = self.copies.get()
            started = time.perf_counter()
            executed = copy.executed_lines(tests)
            if executed is None:
                raise SystemExit(f"{file}: the tests fail without any change")
            self.unchanged[key] = executed, 60 + 3 * round(time.perf_counter() - started)
            self.copies.put(copy)
        return self.unchanged[key]

    def test(self, file: str, tests: list[str], limit: int, seed: int) -> tuple[int, int]:
        """Print the changes that survive; return how many were noticed, and of how many."""
        text = (ROOT / file).read_text()
        changes = changes_of(text, is_python=True)
        drawn = sorted(random.Random(seed).sample(changes, min(limit, len(changes))))
        unnoticeable = {(old, new) for name, old, new, _ in UNNOTICEABLE if file.endswith(name)}
        matter = [c for c in drawn if (c.line.strip(), c.changed.strip()) not in unnoticeable]
        executed, seconds = self._without_changes(file, tests)

        def is_noticed(change: Change) -> bool:
            copy = self.copies.get()
            lines = text.splitlines(keepends=True)
            lines[change.number] = change.changed
            try:
                (copy.root / file).write_text("".join(lines))
                chosen = executed.get(file, {}).get(change.number, tests)
                return any(copy.fails(part, seconds) for part in by_file(chosen, tests))
            finally:
                (copy.root / file).write_text(text)
                self.copies.put(copy)

        def report(change: Change) -> bool:
            noticed = is_noticed(change)
            if not noticed:
                lines = f"  - {change.line.strip()}\n  + {change.changed.strip()}"
                print(f"{file}:{change.number + 1}\n{lines}", flush=True)
            return noticed

        with ThreadPoolExecutor(self.n_jobs) as pool:
            noticed = list(pool.map(report, matter))
        n_noticed, n_made = noticed.count(True), len(noticed)
        n_others = len(drawn) - len(matter)
        others = f", {n_others} cannot be noticed" if n_others else ""
        print(f"{file}: noticed {n_noticed} of {n_made}{others}", flush=True)
        return n_noticed, n_made


def by_file(chosen: list[str], files: list[str]) -> list[list[str]]:
    """Group tests by their files, in the order of these: those that notice most come first."""
    groups = [[test for test in chosen if test.partition("::")[0] == file] for file in files]
    return [group for group in groups if group]


def selected(
    package: str, folder: str, modules: dict[str, tuple[str, ...]], part: str
) -> dict[str, list[str]]:
    """Return the files of a package whose names have this part, and the files of their tests."""
    return {
        f"{package}/{name}": [f"{folder}/{test.replace('/', '/test_')}.py" for test in tests]
        for name, tests in modules.items()
        if part in name
    }


def all_modules(part: str) -> dict[str, list[str]]:
    """Return the files of both packages whose names have this part, and their tests."""
    return {
        **selected("src/bneuralt", "tests", MODULES, part),
        **selected("paper/src/bneuralt_paper", "paper/tests", PAPER_MODULES, part),
    }


def main() -> int:
    """The program."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", nargs="?", help="a file, or a part of names in MODULES")
    parser.add_argument("tests", nargs="*")
    parser.add_argument("--limit", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    table = {options.file: options.tests} if options.tests else all_modules(options.file or "")
    counts = []
    with tempfile.TemporaryDirectory() as folder:
        tester = Tester(Path(folder), options.jobs)
        for file, tests in table.items():
            counts.append(tester.test(file, tests, options.limit, options.seed))
    noticed, made = map(sum, zip(*counts, strict=True))
    print(f"noticed {noticed} of {made} changes ({noticed / max(made, 1):.0%})")
    print("changes that cannot be noticed:")
    for name, old, new, why in UNNOTICEABLE:
        if any(file.endswith(name) for file in table):
            print(f"{name}: {why}\n  - {old}\n  + {new}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
