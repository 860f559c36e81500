"""What the documentation shows is what the library does."""

import ast
import doctest
import importlib
import pkgutil
import re
import shlex
from importlib.util import find_spec

import pytest

import bneuralt
from bneuralt.cli.program import build_parser
from tests.helpers.paths import ROOT

PAPER = "bneuralt_paper"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
if find_spec(PAPER):
    PAGES.append(ROOT / "paper" / "README.md")
PACKAGES = [bneuralt, *([importlib.import_module(PAPER)] if find_spec(PAPER) else [])]
MODULES = sorted(
    module.name
    for package in PACKAGES
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not module.name.endswith(("__main__", "._core", "._mlp"))
)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def import_or_skip(name):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and error.name.startswith("bneuralt"):
            raise
        pytest.skip(f"{name} needs {error.name}, which is not installed")


def assert_examples_hold(test):
    report = []
    result = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append)
    assert result.failed == 0, "".join(report)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings(name, tmp_path, monkeypatch):
    module = import_or_skip(name)
    monkeypatch.chdir(tmp_path)
    for test in doctest.DocTestFinder().find(module, name):
        if test.examples:
            assert_examples_hold(test)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_of_pages(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # A fence ends the output above it; doctest knows only blank lines.
    text = re.sub(r"(?m)^```.*$", "", page.read_text(encoding="utf-8"))
    if ">>> from river import" in text:
        pytest.importorskip("river", reason="river is not installed")
    assert_examples_hold(doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0))


def shown_commands():
    for page in PAGES:
        for line in re.findall(r"(?m)^\$ (bneuralt .*)$", page.read_text(encoding="utf-8")):
            yield pytest.param(line, id=f"{page.name}: {line}")


@pytest.mark.parametrize("line", list(shown_commands()))
def test_commands_shown_in_pages_exist(line):
    arguments = shlex.split(line, comments=True)[1:]
    if arguments[0] == "paper":
        pytest.importorskip("bneuralt_paper")
    args = build_parser(arguments).parse_args(arguments)
    assert callable(args.run)


def test_public_names_are_documented():
    api = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    for name in bneuralt.__all__:
        if name != "__version__":
            assert re.search(rf"\b{name}\b", api), f"docs/api.md does not mention {name}"
            value = getattr(bneuralt, name)
            assert not callable(value) or value.__doc__, f"{name} has no docstring"


def test_defaults_shown_beside_those_of_scikit_learn():
    from sklearn.neural_network import MLPClassifier

    page = (ROOT / "docs" / "from_mlp.md").read_text(encoding="utf-8")
    checked = 0
    for row in re.findall(r"(?m)^\|(.+)\|(.+)\|.*\|$", page):
        for cell, estimator in zip(
            row, (MLPClassifier(), bneuralt.BNeuralTClassifier()), strict=True
        ):
            for name, value in re.findall(r"`(\w+)=([^`]+)`", cell):
                if re.fullmatch(r"[\d.]+|\(.*\)|\".*\"|None", value):
                    assert estimator.get_params()[name] == ast.literal_eval(value), name
                    checked += 1
    assert checked >= 10


def test_exit_codes_are_documented():
    from bneuralt.cli.errors import EXIT_CODES

    page = (ROOT / "docs" / "command_line.md").read_text(encoding="utf-8")
    for line in EXIT_CODES.splitlines()[1:]:
        code, meaning = line.split(None, 1)
        assert f"| {code} | {meaning} |" in page
