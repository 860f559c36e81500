"""What the documentation shows is what the library does."""

import doctest
import importlib
import math
import pkgutil
import re
import shlex
import shutil
import tomllib
from importlib.metadata import version
from importlib.util import find_spec

import pytest

import bneuralt
from bneuralt.cli.program import build_parser
from tests.helpers.paths import ROOT, page_paths

PAPER = "bneuralt_paper"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *page_paths()]
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
DECIMAL = re.compile(r"(?<![\w.])-?\d*\.\d+(?![\w.])")


def has_oldest_numpy():
    with (ROOT / "pyproject.toml").open("rb") as file:
        (bound,) = (
            re.search(r"numpy>=([\d.]+)", requirement)[1]
            for requirement in tomllib.load(file)["project"]["dependencies"]
            if requirement.startswith("numpy")
        )
    return f"{version('numpy')}.".startswith(f"{bound}.")


class RoughNumbers(doctest.OutputChecker):
    """Accept results of pages whose decimals differ a little, as on another processor.

    With the oldest packages other trees are trained: there, code only has to run.
    """

    def check_output(self, want, got, flags):
        if super().check_output(want, got, flags) or has_oldest_numpy():
            return True
        pairs = list(zip(DECIMAL.findall(want), DECIMAL.findall(got), strict=False))
        is_close = all(math.isclose(float(a), float(b), abs_tol=0.05) for a, b in pairs)
        texts = (DECIMAL.sub("#", text) for text in (want, got))
        return bool(pairs) and is_close and super().check_output(*texts, flags)


def import_or_skip(name):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and error.name.startswith("bneuralt"):
            raise
        pytest.skip(f"{name} needs {error.name}, which is not installed")


def assert_examples_hold(test, checker=None):
    report = []
    runner = doctest.DocTestRunner(checker=checker, optionflags=FLAGS)
    result = runner.run(test, out=report.append)
    assert result.failed == 0, "".join(report)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings(name, tmp_path, monkeypatch):
    module = import_or_skip(name)
    monkeypatch.chdir(tmp_path)
    for test in doctest.DocTestFinder().find(module, name):
        if test.examples:
            assert_examples_hold(test)


def runnable(text):
    """Return a page, each section up to the first code that needs a package that is absent."""
    kept = []
    for section in re.split(r"(?m)^(?=#+ )", text):
        for block in re.split(r"(?m)^(?=```pycon|```python)", section):
            imported = re.findall(r"(?m)^>>> (?:from|import) (\w+)", block)
            if not all(find_spec(name) for name in imported):
                break
            kept.append(block)
    return "".join(kept)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_of_pages(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    text = page.read_text(encoding="utf-8")
    for table in re.findall(r"<([\w/]+\.csv)>", text):
        shutil.copy(page.parent / table, tmp_path)
    if '>>> subprocess.run("cc' in text.replace("done = ", "") and not shutil.which("cc"):
        pytest.skip("needs a C compiler")
    # A fence ends the output above it; doctest knows only blank lines.
    text = re.sub(r"(?m)^```.*$", "", runnable(text))
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    assert_examples_hold(test, RoughNumbers())
    for name in re.findall(r"[(<]tutorial/(\w+\.(?:svg|html))[)>]", text):
        assert (tmp_path / name).stat().st_size > 1000  # made by the code of the page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_that_is_not_run_is_python(page):
    """The rest needs what a test has not, such as a cluster."""
    for code in re.findall(r"(?ms)^```python\n(.*?)^```", page.read_text(encoding="utf-8")):
        if ">>>" not in code:
            compile(code, page.name, "exec")


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


def test_exit_codes_are_documented():
    from bneuralt.cli.errors import EXIT_CODES

    page = (ROOT / "docs" / "command_line.md").read_text(encoding="utf-8")
    for line in EXIT_CODES.splitlines()[1:]:
        code, meaning = line.split(None, 1)
        assert f"| {code} | {meaning} |" in page
