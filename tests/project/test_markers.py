"""Markers of tests follow from what the tests use."""

import subprocess

import pytest

from tests.helpers import chromium, databases
from tests.helpers.needs import MARKERS, USES, StartedPrograms, markers_of, needs
from tests.helpers.runners import available

COMMAND = ["gcc", "--version"]


@needs("slow")
def helper():
    """Declares what it needs."""


def _by_constant():
    subprocess.run(["clang", "m.c"])


def _by_global():
    subprocess.run(COMMAND)


def _by_default(compiler="gcc", *, other="clang"):
    return compiler, other


def _by_helper():
    helper()


def _by_function_of_another_module():
    with chromium.browser() as page:
        page.open("m.html")


def _by_import_in_a_function():
    from tests.helpers.chromium import browser

    return browser


def _by_package():
    pytest.importorskip("onnxruntime")


def _by_class():
    return databases.PostgreSQL()


def _inside():
    def nested():
        return [COMMAND for _ in range(3)]

    return nested


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (_by_constant, {"compiler"}),
        (_by_global, {"compiler"}),
        (_by_default, {"compiler"}),
        (_by_helper, {"slow"}),
        (_by_function_of_another_module, {"browser"}),
        (_by_import_in_a_function, {"browser"}),
        (_by_package, {"onnx"}),
        (_by_class, {"database"}),
        (_inside, {"compiler"}),
        (available, set()),  # what its argument needs is another matter
        ("firefox", {"browser"}),
        ("iris", set()),
    ],
)
def test_what_code_names_is_what_it_needs(function, expected):
    assert markers_of(function) == expected


def test_markers_are_described():
    assert set(USES.values()) <= set(MARKERS)
    with pytest.raises(AssertionError):
        needs("something else")


@pytest.mark.parametrize("name", ["gcc", "python3"])
def test_programs_that_are_started_are_noticed(name):
    plugin = StartedPrograms()
    plugin._allowed = {"slow", "browser"}
    plugin._note("subprocess.Popen", (name, [f"/usr/bin/{name}", "m.c"], None, None))
    plugin._note("open", ("gcc", "r", 0))
    plugin._allowed = None
    assert plugin._found == (["gcc"] if name == "gcc" else [])


def test_quick_tests_are_the_unmarked_ones(request):
    if request.config.option.quick:
        assert not [
            m.name for i in request.session.items for m in i.iter_markers() if m.name in MARKERS
        ]
