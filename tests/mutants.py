"""Change a file bit by bit and see whether tests notice: `python -m tests.mutants FILE TESTS...`.

FILE is a Python module of the package or a file of the core. Each change is made in a copy of the
project, never here; a change of the core is compiled there. Prints the changes that survive.

Options
-------
--limit N    make N of the changes, drawn at random (default: 40)
--seed N     draw others
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]

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
    (r"\bTrue\b", "False"),
    (r"\bFalse\b", "True"),
    (r"\btrue\b", "false"),
    (r"\bfalse\b", "true"),
    (r"\bmin\(", "max("),
    (r"\bmax\(", "min("),
    (r"(?<![\w.])0(?![\w.])", "1"),
    (r"(?<![\w.])1(?![\w.])", "2"),
    (r"(?<![\w.])1\.0\b", "1.5"),
)


def mutants(text: str, is_python: bool) -> Iterator[tuple[int, str, str]]:
    """Give (line number, line, changed line) for all changes of a text; comments stay."""
    comment = "#" if is_python else "//"
    in_docstring = False
    for number, line in enumerate(text.splitlines(keepends=True)):
        quotes = line.count('"""')
        if is_python and (in_docstring or quotes):
            in_docstring ^= quotes % 2 == 1
            continue
        code = line.split(comment)[0]
        if code.lstrip().startswith(("import ", "from ", "#", "using ", "template")):
            continue
        for pattern, new in CHANGES:
            for found in re.finditer(pattern, code):
                yield number, line, line[: found.start()] + new + line[found.end() :]


class Copy:
    """A copy of the project, with a core of its own where the core is changed."""

    def __init__(self, folder: Path, changes_core: bool) -> None:
        self.root = folder / "project"
        self.build = folder / "build" if changes_core else None
        skipped = shutil.ignore_patterns(".git", ".venv", "build", "__pycache__", "_build")
        shutil.copytree(ROOT, self.root, ignore=skipped)
        self.package = self.root / "src" / "bneuralt"
        if not any(self.package.glob("_core*.so")):
            import bneuralt._core

            shutil.copy(str(bneuralt._core.__file__), self.package)

    def compile(self) -> bool:
        """Compile the core; False if the change does not compile."""
        assert self.build is not None
        make = ["cmake", "-S", self.root, "-B", self.build, "-G", "Ninja",
                "-DCMAKE_BUILD_TYPE=Release", f"-DPython_EXECUTABLE={sys.executable}"]  # fmt: skip
        for command in (make, ["cmake", "--build", self.build]):
            if subprocess.run(command, capture_output=True).returncode:
                return False
        for core in self.build.glob("_core*.so"):
            shutil.copy(core, self.package)
        return True

    def passes(self, tests: list[str]) -> bool:
        """Whether the tests pass here; the copy comes first, whatever is installed."""
        start = "import sys; sys.meta_path[:] = [f for f in sys.meta_path "
        start += "if 'editable' not in type(f).__module__ + type(f).__name__.lower()]; "
        start += f"sys.path.insert(0, {str(self.root / 'src')!r}); "
        start += "import bneuralt; "
        start += f"assert bneuralt.__file__.startswith({str(self.root)!r}), bneuralt.__file__; "
        start += "import pytest; sys.exit(pytest.main(sys.argv[1:]))"
        done = subprocess.run(
            [sys.executable, "-B", "-c", start, "-q", "-x", "-p", "no:cacheprovider",
             "-p", "no:xdist", "--timeout=120", *tests],
            cwd=self.root, capture_output=True,
            env={**os.environ, "PATH": sysconfig.get_path("scripts") + ":" + os.environ["PATH"]},
        )  # fmt: skip
        return done.returncode == 0


def main() -> int:
    """The program."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file")
    parser.add_argument("tests", nargs="+")
    parser.add_argument("--limit", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    is_python = options.file.endswith(".py")
    text = (ROOT / options.file).read_text()
    lines = text.splitlines(keepends=True)
    found = list(mutants(text, is_python))
    drawn = random.Random(options.seed).sample(found, min(options.limit, len(found)))
    n_survived = n_made = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder), changes_core=not is_python)
        if not (is_python or copy.compile()) or not copy.passes(options.tests):
            print("the tests fail without any change")
            return 2
        for number, line, changed in sorted(drawn):
            new = [*lines[:number], changed, *lines[number + 1 :]]
            (copy.root / options.file).write_text("".join(new))
            if not is_python and not copy.compile():
                continue
            n_made += 1
            if copy.passes(options.tests):
                n_survived += 1
                print(f"{options.file}:{number + 1}\n  - {line.strip()}\n  + {changed.strip()}")
                sys.stdout.flush()
    print(f"{n_survived} of {n_made} changes survive")
    return 0


if __name__ == "__main__":
    sys.exit(main())
