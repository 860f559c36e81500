"""The metadata of the project is consistent."""

import ast
import importlib
import importlib.metadata
import re
import tomllib

import pytest

import bneuralt
from bneuralt import _core
from tests.helpers.paths import ROOT

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")),
    ROOT / "paper" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
]


#: A group of entry points, which is named like a module.
ENTRY_POINTS = {"bneuralt.commands"}


def text_of(path):
    return (ROOT / path).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def pyproject():
    return tomllib.loads(text_of("pyproject.toml"))


def test_version_is_defined_once():
    """Once in each distribution; the two are equal."""
    for folder in (ROOT, ROOT / "paper"):
        pyproject = tomllib.loads(text_of(folder / "pyproject.toml"))
        assert "version" not in pyproject["project"]
        assert "version" in pyproject["project"]["dynamic"]
        source = folder / pyproject["tool"]["scikit-build"]["metadata"]["version"]["input"]
        defined = re.findall(r'(?m)^__version__ = "(.+?)"', text_of(source))
        assert defined == [bneuralt.__version__]
        for path in (folder / "src").rglob("*.py"):
            if path != source:
                assert not re.search(r"(?m)^_*version_*\s*=\s*[\"']\d", text_of(path), re.I), path


def test_public_names_are_listed_once():
    for name in bneuralt.__all__:
        getattr(bneuralt, name)  # a loaded name is an attribute of the module
    listed = dir(bneuralt)
    assert len(listed) == len(set(listed)) and set(listed) == set(bneuralt.__all__)
    assert len(bneuralt.__all__) == len(set(bneuralt.__all__))


def test_installed_version_is_that_of_the_package():
    assert importlib.metadata.version("bneuralt") == bneuralt.__version__


def test_changelog_has_the_version_and_a_section_for_the_next():
    sections = re.findall(r"(?m)^## (\S+)", text_of("CHANGELOG.md"))
    assert sections[0] == "Unreleased"
    assert bneuralt.__version__ in sections[1:]


def test_citation_has_the_version():
    assert re.findall(r"(?m)^version: (.+)$", text_of("CITATION.cff")) == [bneuralt.__version__]


def test_classifiers_name_the_tested_pythons(pyproject):
    project = pyproject["project"]
    classified = [
        (int(major), int(minor))
        for major, minor in re.findall(
            r":: Python :: (\d+)\.(\d+)", "\n".join(project["classifiers"])
        )
    ]
    oldest = tuple(int(part) for part in re.findall(r"\d+", project["requires-python"]))
    assert min(classified) == oldest
    assert classified == [(3, minor) for minor in range(oldest[1], max(classified)[1] + 1)]
    matrix = re.search(r"python: \[(.+)\]", text_of(".github/workflows/tests.yml"))[1]
    assert re.findall(r"\d+\.\d+", matrix) == [f"{major}.{minor}" for major, minor in classified]


def test_targets_of_make_are_described():
    """In `make help` or `make help-dev`, and those of developers in CONTRIBUTING.md, alone."""
    described = set(re.findall(r"(?m)^\| `make ([\w-]+)` \|", text_of("CONTRIBUTING.md")))
    expected = set()
    for path in ("Makefile", "dev.mk"):
        text = text_of(path).replace("\\\n", " ")
        targets = set(re.search(r"(?m)^\.PHONY:(.+)$", text)[1].split()) - {"help", "help-dev"}
        assert set(re.findall(r'echo "make ([\w-]+)', text)) - {"help-dev"} == targets
        expected |= targets
    assert described == expected - {"demo", "clean"}


def resolve(name):
    """Return what a dotted name stands for: a module, or something defined in one."""
    parts = name.split(".")
    value = pytest.importorskip(parts[0])
    for i, part in enumerate(parts[1:], start=2):
        try:
            value = importlib.import_module(".".join(parts[:i]))
        except ModuleNotFoundError as error:
            if error.name is None or not error.name.startswith("bneuralt"):
                pytest.skip(f"{name} needs {error.name}, which is not installed")
            value = getattr(value, part)
    return value


def named_in_pages():
    for page in PAGES:
        names = re.findall(r"\bbneuralt(?:_paper)?(?:\.[A-Za-z_]\w*)+", text_of(page))
        for name in sorted(set(names) - ENTRY_POINTS):
            yield pytest.param(name, id=f"{page.name}: {name}")


@pytest.mark.parametrize("name", list(named_in_pages()))
def test_names_in_pages_exist(name):
    resolve(name)


def test_the_product_has_nothing_of_the_reproduction():
    """Neither its sources, which are what its wheel is made of, nor its compiled core."""
    package = ROOT / "src" / "bneuralt"
    names = [
        path.relative_to(package).as_posix()
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]
    assert len(names) > 100
    assert not [name for name in names if re.search(r"paper|mlp|hfnt|mont\b", name, re.I)]
    assert not [name for name in dir(_core) if "mlp" in name.lower()]
    for path in package.rglob("*.py"):
        assert "bneuralt_paper" not in text_of(path), path
    product = tomllib.loads(text_of("pyproject.toml"))
    assert product["tool"]["scikit-build"]["wheel"]["packages"] == ["src/bneuralt"]
    assert not re.search(r"pymoo|rich", str(product["project"]))
    installed = importlib.metadata.files("bneuralt") or []
    assert not [str(path) for path in installed if re.search(r"paper|mlp", path.name)]


def test_the_stub_of_the_core_is_up_to_date():
    """What the stub declares is what the module has: nanobind's stubgen writes it anew."""
    stub = ast.parse((ROOT / "src/bneuralt/_core.pyi").read_text())
    declared = {
        node.name: {member.name for member in getattr(node, "body", []) if hasattr(member, "name")}
        for node in stub.body
        if isinstance(node, (ast.ClassDef, ast.FunctionDef))
    }
    public = {name for name in vars(_core) if not name.startswith("_")}
    assert declared.keys() == public
    for name, members in declared.items():
        if isinstance(getattr(_core, name), type):
            attributes = {
                member for member in vars(getattr(_core, name)) if not member.startswith("_")
            }
            assert members - {"__init__"} == attributes, name
