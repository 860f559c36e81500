"""Compile a core that has many changes in it, each behind a switch.

An expression becomes `(switch 17 is on ? changed : original)`. The environment variable
`BNEURALT_MUTANT` turns one of them on. The module also remembers which switches were asked, so that
a change is tried with the tests that reach it only.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
import shutil
import subprocess
import sys
import sysconfig
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from tests.helpers.paths import ROOT
from tests.tools.mutants.changes import Change

VARIABLE = "BNEURALT_MUTANT"

_HEADER = """#pragma once
#pragma GCC visibility push(default)
extern "C" {
extern const int bneuralt_mutant, bneuralt_n_switches;
extern unsigned char bneuralt_asked[];
}
#pragma GCC visibility pop
#define BNT_SWITCH(i) (bneuralt_asked[i] = 1, bneuralt_mutant == (i))
"""
_SOURCE = """
#include <cstdlib>
extern "C" const int bneuralt_mutant = std::getenv("%s") ? std::atoi(std::getenv("%s")) : -1;
extern "C" const int bneuralt_n_switches = %d;
extern "C" unsigned char bneuralt_asked[%d] = {};
"""
_PLACE = r"sources/cpp/([\w/.]+\.[hc]pp):(\d+):(\d+)"
#: Where the variables are defined: a file that every program of the core has.
_HOME = "cpp/threads.cpp"


class Span(NamedTuple):
    """A part of a changed file that belongs to a switch."""

    number: int
    start: int
    end: int


def with_switches(text: str, changes: list[tuple[int, Change]]) -> tuple[str, list[Span]]:
    """Return a source with numbered changes behind switches, and where they are."""
    spans: list[Span] = []
    # The widest first. Where one change holds another, the original branch has that one.
    waiting = sorted(changes, key=lambda entry: (entry[1].start, -entry[1].end))

    def render(start: int, end: int, inner: list[tuple[int, Change]], at: int) -> str:
        out = ""
        position = start
        while inner:
            number, change = inner.pop(0)
            inside = [entry for entry in inner if entry[1].end <= change.end]
            inner = [entry for entry in inner if entry[1].start >= change.end]
            out += text[position : change.start]
            is_statement = change.kind == "removed statement"
            before = f"{{ if (!BNT_SWITCH({number})) " if is_statement else (
                f"(BNT_SWITCH({number}) ? ({change.replacement}) : ("
            )  # fmt: skip
            begin = at + len(out)
            body = render(change.start, change.end, inside, begin + len(before))
            out += before + body + (" }" if is_statement else "))")
            spans.append(Span(number, begin, at + len(out)))
            position = change.end
        return out + text[position:end]

    return render(0, len(text), waiting, 0), spans


class SwitchedCore:
    """A core with switches, compiled in a folder from a copy of its sources."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.sources, self.build = self.folder / "sources", self.folder / "build"

    @property
    def name(self) -> str:
        """A name that differs for different changes."""
        return (self.folder / "name.txt").read_text()

    @staticmethod
    def _name_of(changes: list[Change]) -> str:
        return hashlib.sha256(repr(changes).encode()).hexdigest()[:16]

    def is_compiled(self, changes: list[Change]) -> bool:
        """Whether the module has these changes already."""
        name = self.folder / "name.txt"
        return name.exists() and name.read_text() == self._name_of(changes)

    @property
    def module(self) -> Path:
        """The compiled module."""
        return next(self.build.glob("_core*.so"))

    def compile(self, changes: list[Change]) -> list[bool]:
        """Compile with these changes; return for each whether the compiler takes it."""
        shutil.rmtree(self.sources, ignore_errors=True)
        (self.folder / "name.txt").unlink(missing_ok=True)
        shutil.copytree(ROOT / "cpp", self.sources / "cpp")
        shutil.copy(ROOT / "CMakeLists.txt", self.sources)
        header = self.folder / "switches.hpp"
        header.write_text(_HEADER)
        numbered: dict[str, list[tuple[int, Change]]] = defaultdict(list)
        for number, change in enumerate(changes):
            numbered[change.file].append((number, change))
        self._spans, self._texts = {}, {}
        for file, inside in numbered.items():
            text, spans = with_switches((ROOT / file).read_text(), inside)
            self._texts[file], self._spans[file] = text, spans
            (self.sources / file).write_text(text)
        with (self.sources / _HOME).open("a") as home:
            n = len(changes)
            home.write(_SOURCE % (VARIABLE, VARIABLE, n, max(n, 1)))
        configure = [
            "cmake", "-S", self.sources, "-B", self.build, "-G", "Ninja",
            "-DCMAKE_BUILD_TYPE=Release", "-DBNEURALT_SETS=baseline;avx2",
            "-DBNEURALT_KERNEL_OPTIMIZATION=-O1", f"-DPython_EXECUTABLE={sys.executable}",
            f"-DCMAKE_CXX_FLAGS=-include {header} -w -fmax-errors=0",
        ]  # fmt: skip
        path = sysconfig.get_path("scripts") + os.pathsep + os.environ["PATH"]
        tools = {**os.environ, "PATH": path}
        subprocess.run(configure, check=True, capture_output=True, env=tools)
        done = subprocess.run(
            ["cmake", "--build", self.build, "-j", "1", "--", "-k", "0"],
            capture_output=True, text=True, env=tools,
        )  # fmt: skip
        (self.folder / "compiler.txt").write_text(done.stdout + done.stderr)
        if done.returncode == 0:
            (self.folder / "name.txt").write_text(self._name_of(changes))
        refused = self._refused(done.stdout + done.stderr) if done.returncode else set()
        if done.returncode and not refused:
            raise SystemExit(f"the core does not compile, see {self.folder / 'compiler.txt'}")
        return [number not in refused for number in range(len(changes))]

    def _refused(self, messages: str) -> set[int]:
        """Return the switches at whose places the compiler complains."""
        refused: set[int] = set()
        for part in re.split(r"(?m)(?=^\S+:\d+:\d+: error)|^FAILED", messages):
            # The place of the error itself, then those that it was instantiated from.
            errors = re.findall(_PLACE + ": error", part)
            for name, line, column in [*errors, *re.findall(_PLACE, part)]:
                file = "cpp/" + posixpath.normpath(name)
                found = self._switches_at(file, int(line), int(column))
                if found:
                    refused |= found
                    break
        return refused

    def _switches_at(self, file: str, line: int, column: int) -> set[int]:
        """Return the innermost switch at a place, otherwise all of its line."""
        if file not in self._texts:
            return set()
        lines = self._texts[file].splitlines(keepends=True)
        start = sum(map(len, lines[: line - 1]))
        at = start + column - 1
        around = [span for span in self._spans[file] if span.start <= at < span.end]
        if around:
            return {min(around, key=lambda span: span.end - span.start).number}
        end = start + len(lines[line - 1])
        return {span.number for span in self._spans[file] if span.start < end and span.end > start}
