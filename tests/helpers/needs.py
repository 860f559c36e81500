"""Markers of tests: what a test needs follows from the programs, packages and helpers that it uses.

The code of a test and of its fixtures is searched, with all functions and classes of this
repository's tests and tools that it names, for names of programs (texts such as "gcc", also among
parameters) and of packages, and for helpers that declare what they need. No test is marked by hand,
and a test that starts a program which the search has missed fails.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePath
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

MARKERS = {
    "browser": "drives Chromium or Firefox",
    "compiler": "compiles C, C++, WebAssembly, Rust, Go or Java",
    "database": "runs DuckDB or a PostgreSQL server",
    "cluster": "runs workers of Dask",
    "device": "runs a program for another processor in a simulator",
    "onnx": "runs a model in onnxruntime",
    "slow": "uses a helper or package that takes a second of processor time, or more",
}
#: Names of programs and packages, as they are started, looked for or imported.
USES = {
    **dict.fromkeys(["chromium", "chromedriver", "firefox", "firefox-esr"], "browser"),
    **dict.fromkeys(["gcc", "g++", "cc", "c++", "clang", "cmake", "ziglang"], "compiler"),
    # and of languages, where these are parameters of tests
    **dict.fromkeys(["rustc", "rust", "javac", "java", "go"], "compiler"),
    "soffice": "slow",
    **dict.fromkeys(["duckdb", "postgresql", "initdb", "pg_ctl"], "database"),
    **dict.fromkeys(["distributed", "dask"], "cluster"),
    **dict.fromkeys(["avr-gcc", "simavr", "arm-none-eabi-gcc", "qemu-system-arm"], "device"),
    **dict.fromkeys(["onnx", "onnxruntime", "skl2onnx"], "onnx"),
    # packages whose import alone takes a second, or much more, and Pythons that import ours
    "sys.executable": "slow",
    "loky": "slow",
    sys.executable: "slow",
    **dict.fromkeys(["mapie", "river", "shap", "skops", "statsmodels", "sympy", "torch"], "slow"),
}
#: Packages in which functions are looked into.
_OURS = ("tests", "paper", "playground", "benchmarks", "conftest")


def needs(*markers: str):
    """Declare what every test needs that uses a function or class.

    Examples
    --------
    >>> @needs("slow")
    ... def many_fits(): ...
    >>> sorted(markers_of(many_fits))
    ['slow']
    """
    assert set(markers) <= set(MARKERS), markers

    def declare(item):
        item._needs = set(markers)
        return item

    return declare


@cache
def markers_of(item: Any) -> frozenset[str]:
    """Return what a function, class, module or text needs, with all that it uses."""
    found: set[str] = set()
    reached: set[int] = set()
    waiting = [item]
    while waiting:
        item = waiting.pop()
        if isinstance(item, ModuleType):
            item = item.__name__.partition(".")[0]
        if isinstance(item, str):
            found |= {USES[item]} if item in USES else set()
        elif isinstance(item, list | tuple | frozenset):
            waiting += [each for each in item if isinstance(each, str)]
        elif id(item) not in reached:
            reached.add(id(item))
            item = inspect.unwrap(getattr(getattr(item, "hypothesis", None), "inner_test", item))
            found |= getattr(item, "_needs", set())
            package = (getattr(item, "__module__", None) or "").partition(".")[0]
            found |= {USES[package]} if package in USES else set()
            waiting += _uses(getattr(item, "__func__", item))
    return frozenset(found)


def module_needs(path: Path) -> set[str]:
    """Return what a file of tests needs as a whole: packages without which it is skipped."""
    packages = re.findall(r'(?m)^(?:\w+ = )?pytest\.importorskip\("(\w+)', path.read_text("utf-8"))
    return {USES[name] for name in packages if name in USES}


def _uses(item: Any) -> Iterator[Any]:
    """Yield what the code of one function or class of ours names."""
    if (getattr(item, "__module__", None) or "").partition(".")[0] not in _OURS:
        return
    if isinstance(item, type):
        yield from item.__bases__
        yield from (value for value in vars(item).values() if callable(value))
    elif isinstance(item, FunctionType):
        names, constants = _names(item.__code__)
        yield from constants
        yield from (name.partition(".")[0] for name in names if "." in name)  # imported here
        yield from item.__defaults__ or ()
        yield from (item.__kwdefaults__ or {}).values()
        if {"sys", "executable"} <= names:
            yield "sys.executable"
        modules = [item.__globals__[name] for name in names & item.__globals__.keys()]
        yield from modules
        # modules that are imported in the function, and what is used of them
        modules += [importlib.import_module(name) for name in names if name.startswith("tests.")]
        for module in modules:
            if isinstance(module, ModuleType) and module.__name__.startswith(_OURS):
                yield from (vars(module)[name] for name in names & vars(module).keys())
        yield from (cell.cell_contents for cell in item.__closure__ or () if _is_filled(cell))


def _names(code: CodeType) -> tuple[set[str], list[Any]]:
    """Return the names and constants of some code, with those of functions inside of it."""
    names, constants = set(code.co_names), []
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            more = _names(constant)
            names, constants = names | more[0], constants + more[1]
        else:
            constants.append(constant)
    return names, constants


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


#: Programs that the product itself starts, if they are there.
MEASURING = ("avr-gcc", "avr-size", "arm-none-eabi-gcc", "arm-none-eabi-size")


class StartedPrograms:
    """A plugin of pytest: a test that starts a program of `USES` has its marker, or fails."""

    def __init__(self) -> None:
        self._allowed: set[str] | None = None
        self._found: list[str] = []
        sys.addaudithook(self._note)

    def _note(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "subprocess.Popen" and self._allowed is not None:
            started = arguments[1] if isinstance(arguments[1], list | tuple) else [arguments[1]]
            names = [PurePath(str(part)).name for part in started]
            # `to_c` measures its code with cross-compilers wherever they are installed
            names = [name for name in names if name not in MEASURING]
            self._found += [name for name in names if USES.get(name, "slow") not in self._allowed]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        """Fail a test that has started a program without a marker for it."""
        self._found, self._allowed = [], {"slow", *(mark.name for mark in item.iter_markers())}
        try:
            result = yield
        finally:
            self._allowed = None
        if self._found:
            pytest.fail(f"the test runs {self._found[0]!r}, which tests.helpers.needs did not find")
        return result
