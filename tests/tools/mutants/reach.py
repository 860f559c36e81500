"""Find out which tests execute what, and how long they take."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from tests.tools.mutants.copies import Copy

#: Tests of pages, metadata, tools and builds, and tests that run for as long as they are told.
_LEFT_OUT = (
    *(f"tests/project/test_{name}" for name in ("architecture", "build", "docs", "extension")),
    *(
        f"tests/project/test_{name}"
        for name in ("fuzzers", "layers", "markers", "project", "tools")
    ),
    "tests/core/test_soak.py",
    "tests/core/test_large_counts.py",
)


class Test(NamedTuple):
    """A test that passes without changes."""

    name: str
    seconds: float
    lines: dict[str, list[int]]
    switches: list[int]


def record_tests(
    copy: Copy, folder: Path, folders: tuple[str, ...] = ("",), without: tuple[str, ...] = ()
) -> list[Test]:
    """Run the tests of folders, record what they execute, and return those that pass.

    Results are kept in a folder, one file for each file of tests and state of the sources.
    """
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    paths = [p for name in folders for p in sorted((copy.root / "tests" / name).rglob("test_*.py"))]
    state = _hash_of_sources(copy.root)
    tests = []
    for path in paths:
        file = str(path.relative_to(copy.root))
        if file.startswith(_LEFT_OUT + without):
            continue
        version = hashlib.sha256(state + path.read_bytes()).hexdigest()[:8]
        kept = folder / f"{file.replace('/', '-')}-{version}.json"
        if not kept.exists():
            copy.run([file], record=kept)
            print(file, copy.log().splitlines()[-1], flush=True)
        for name, test in json.loads(kept.read_text()).items() if kept.exists() else ():
            if test["passed"]:
                tests.append(Test(name, test["seconds"], test["lines"], test["switches"]))
    return tests


def _hash_of_sources(root: Path) -> bytes:
    """Return a hash of everything that tests execute besides themselves."""
    sha = hashlib.sha256()
    helpers = [root / "tests" / "conftest.py", *(root / "tests" / "helpers").rglob("*.py")]
    for path in sorted([*(root / "src" / "bneuralt").rglob("*.*"), *helpers]):
        if path.is_file() and path.suffix != ".pyc":
            sha.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return sha.digest()


def in_order(tests: list[Test], package: str) -> list[Test]:
    """Sort tests, those first that are likely to notice a change in little time.

    These are the tests of the package, then quick ones; different functions come before further
    parameters of the same.
    """
    entries = []
    seen: Counter[str] = Counter()
    for test in sorted(tests, key=lambda test: test.seconds):
        function = test.name.partition("[")[0]
        is_other = not test.name.startswith(f"tests/{package}/")
        entries.append((seen[function], is_other, test.seconds, test))
        seen[function] += 1
    return [entry[-1] for entry in sorted(entries, key=lambda entry: entry[:3])]
