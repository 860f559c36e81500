"""Copies of the project in which changes are tried: of its modules, and of its compiled core."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from itertools import accumulate
from pathlib import Path

from tests.tools.mutants.changes import Change
from tests.tools.mutants.copies import Copy
from tests.tools.mutants.reach import Test, in_order, record_tests
from tests.tools.mutants.switches import VARIABLE, SwitchedCore

_PACKAGE = "src/bneuralt/"
#: Tests that look at all modules without executing them.
_OF_ALL = "tests/project/"
#: Folders of tests that reach the core.
_CORE_TESTS = ("core", "training", "tree", "tables", "reference", "explaining", "evolve")
#: Few tests notice most changes: they are run first, in a process of their own.
_FIRST_SECONDS, _FIRST_TESTS = 3.0, 25


class _Project(ABC):
    """Runs tests of a copy, with a change and without it."""

    def __init__(self, copy: Copy) -> None:
        self._copy = copy
        self._passed: set[str] = set()
        self._unusable: set[str] = set()

    @abstractmethod
    def _fails(self, tests: list[Test], change: Change | None) -> bool:
        """Run tests with a change, or with none; one that takes much longer than usual fails."""

    def _run(self, tests: list[Test], environment: dict[str, str] | None = None) -> bool:
        limit = 8 + 4 * sum(test.seconds for test in tests)
        names = [test.name for test in tests]
        return self._copy.run(names, "-x", cpu_seconds=limit, environment=environment) != 0

    def _some_notices(self, tests: list[Test], change: Change, seconds: float) -> bool:
        """Run tests for so long until one fails that passes without the change."""
        for portion in _portions(tests, seconds):
            while portion := [test for test in portion if test.name not in self._unusable]:
                if not self._fails(portion, change):
                    break
                if self._all_pass(portion):
                    return True
        return False

    def _all_pass(self, tests: list[Test]) -> bool:
        """Return whether tests pass without a change; those that do not are not run again."""
        names = {test.name for test in tests}
        if names <= self._passed:
            return True
        if not self._fails(tests, None):
            self._passed |= names
            return True
        failing = {test.name for test in tests if self._fails([test], None)}
        self._unusable |= failing or names  # or they fail only together
        print("fail without a change:", *sorted(failing or names), flush=True)
        return False

    def close(self) -> None:
        """End the process of the tests."""
        self._copy.close()


class PythonProject(_Project):
    """Tries changes of modules with all tests, or with those of the package and the project."""

    def __init__(
        self,
        folder: Path,
        without: tuple[str, ...] = (),
        is_near: bool = False,
        first: tuple[str, ...] = (),
    ) -> None:
        super().__init__(Copy(folder / "python"))
        self._first = [Test(name, 10.0, {}, []) for name in first]
        self._is_near = is_near
        self._record = cache(
            lambda name: record_tests(self._copy, folder / "reach-python", (name,), without)
        )

    def is_noticed(self, change: Change, seconds: float) -> bool:
        """Return whether a test fails, of those that execute the changed statement."""
        module = change.file.removeprefix("src/").removesuffix(".py").replace("/", ".")
        module = module.removesuffix(".__init__")
        examples = f"tests/project/test_docs.py::test_examples_of_docstrings[{module}]"
        first = [*self._first, Test(examples, 1.0, {}, [])]
        return self._some_notices(first, change, seconds) or self._some_notices(
            self._reaching(change), change, seconds
        )

    def _reaching(self, change: Change) -> list[Test]:
        """Return the recorded tests that execute the changed statement."""
        module = change.file.removeprefix(_PACKAGE)
        package = module.partition("/")[0]
        has_tests = (self._copy.root / "tests" / package).is_dir()
        near = package if has_tests else "estimators"  # which use all modules
        folders = (near, "project") if self._is_near else ("",)
        tests = [test for name in folders for test in self._record(name)]
        if change.lines is None:  # it runs when the module is imported
            reaching = [test for test in tests if module in test.lines]
        else:
            lines = set(change.lines)
            reaching = [t for t in tests if not lines.isdisjoint(t.lines.get(module, ()))]
        reaching += [test for test in tests if test.name.startswith(_OF_ALL)]
        return in_order(reaching, package)

    def _fails(self, tests: list[Test], change: Change | None) -> bool:
        if change is None:
            return self._run(tests)
        path = self._copy.root / change.file
        original = path.read_text()
        path.write_text(original[: change.start] + change.replacement + original[change.end :])
        try:
            return self._run(tests)
        finally:
            path.write_text(original)


class CoreProject(_Project):
    """Tries changes of the compiled core."""

    def __init__(
        self,
        folder: Path,
        changes: list[Change],
        without: tuple[str, ...] = (),
        first: tuple[str, ...] = (),
    ) -> None:
        core = SwitchedCore(folder / "switches")
        if not core.is_compiled(changes) and not all(core.compile(changes)):
            raise SystemExit("the compiler refuses a change of the list")
        super().__init__(Copy(folder / "cpp", core.module))
        self._first = [Test(name, 10.0, {}, []) for name in first]
        self._numbers = {change: number for number, change in enumerate(changes)}
        self._record = cache(
            lambda: record_tests(self._copy, folder / f"reach-{core.name}", _CORE_TESTS, without)
        )

    def is_noticed(self, change: Change, seconds: float) -> bool:
        """Return whether a test fails, of those that ask for the change."""
        if self._some_notices(self._first, change, seconds):
            return True
        number, tests = self._numbers[change], self._record()
        reaching = [test for test in tests if number in test.switches]
        reaching = reaching or tests  # the switch may be asked when the module is imported
        return self._some_notices(in_order(reaching, "core"), change, seconds)

    def _fails(self, tests: list[Test], change: Change | None) -> bool:
        return self._run(tests, {VARIABLE: str(self._numbers[change])} if change else None)


def _portions(tests: list[Test], seconds: float) -> list[list[Test]]:
    """Divide tests into a few that are run first, and others up to a time."""
    times = list(accumulate(test.seconds for test in tests))
    most = min(seconds, _FIRST_SECONDS)
    first = max(1, sum(time <= most for time in times[:_FIRST_TESTS]))
    last = max(first, sum(time <= seconds for time in times))
    return [portion for portion in (tests[:first], tests[first:last]) if portion]
