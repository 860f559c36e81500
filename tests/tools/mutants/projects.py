"""Copies of the project in which changes are tried: of its modules, and of its compiled core."""

from __future__ import annotations

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


class PythonProject:
    """Tries changes of modules with all tests, or with those of the package and the project."""

    def __init__(
        self,
        folder: Path,
        without: tuple[str, ...] = (),
        is_near: bool = False,
        first: tuple[str, ...] = (),
    ) -> None:
        self._copy = Copy(folder / "python")
        self._first = [Test(name, 10.0, {}, []) for name in first]
        self._is_near = is_near
        self._example_tests: dict[str, list[Test]] = {}
        self._record = cache(
            lambda name: record_tests(self._copy, folder / "reach-python", (name,), without)
        )

    def is_noticed(self, change: Change, seconds: float) -> bool:
        """Return whether a test fails, of those that execute the changed statement."""
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
        ordered = [*self._first, *self._examples(change.file), *in_order(reaching, package)]
        path = self._copy.root / change.file
        original = path.read_text()
        path.write_text(original[: change.start] + change.replacement + original[change.end :])
        try:
            return _some_fails(self._copy, ordered, seconds, {})
        finally:
            path.write_text(original)

    def _examples(self, file: str) -> list[Test]:
        """Return the test of the examples in the docstrings of a module, if it passes."""
        if file not in self._example_tests:
            module = file.removeprefix("src/").removesuffix(".py").replace("/", ".")
            module = module.removesuffix(".__init__")
            name = f"tests/project/test_docs.py::test_examples_of_docstrings[{module}]"
            passes = self._copy.run([name]) == 0
            self._example_tests[file] = [Test(name, 1.0, {}, [])] * passes
        return self._example_tests[file]

    def close(self) -> None:
        """End the process of the tests."""
        self._copy.close()


class CoreProject:
    """Tries changes of the compiled core."""

    def __init__(self, folder: Path, changes: list[Change], without: tuple[str, ...] = ()) -> None:
        core = SwitchedCore(folder / "switches")
        if not core.is_compiled(changes) and not all(core.compile(changes)):
            raise SystemExit("the compiler refuses a change of the list")
        self._numbers = {change: number for number, change in enumerate(changes)}
        self._copy = Copy(folder / "cpp", core.module)
        reach = folder / f"reach-{core.name}"
        self._tests = record_tests(self._copy, reach, _CORE_TESTS, without)

    def is_noticed(self, change: Change, seconds: float) -> bool:
        """Return whether a test fails, of those that ask for the change."""
        number = self._numbers[change]
        reaching = [test for test in self._tests if number in test.switches]
        reaching = reaching or self._tests  # the switch may be asked when the module is imported
        ordered = in_order(reaching, "core")
        return _some_fails(self._copy, ordered, seconds, {VARIABLE: str(number)})

    def close(self) -> None:
        """End the process of the tests."""
        self._copy.close()


def _some_fails(copy: Copy, tests: list[Test], seconds: float, environment: dict[str, str]) -> bool:
    """Run tests until one fails, for so long; one that takes much longer than usual fails."""
    for portion in _portions(tests, seconds):
        limit = 8 + 4 * sum(test.seconds for test in portion)
        names = [test.name for test in portion]
        if copy.run(names, "-x", cpu_seconds=limit, environment=environment):
            return True
    return False


def _portions(tests: list[Test], seconds: float) -> list[list[Test]]:
    """Divide tests into a few that are run first, and others up to a time."""
    times = list(accumulate(test.seconds for test in tests))
    most = min(seconds, _FIRST_SECONDS)
    first = max(1, sum(time <= most for time in times[:_FIRST_TESTS]))
    last = max(first, sum(time <= seconds for time in times))
    return [portion for portion in (tests[:first], tests[first:last]) if portion]
