"""The distribution and its place beside the product."""

import ast
import importlib
import importlib.metadata
import re
import tomllib

import bneuralt
import bneuralt_paper
from bneuralt_paper import _mlp
from tests.helpers.paths import ROOT

PAPER = ROOT / "paper"
SOURCES = sorted((PAPER / "src").rglob("*.py"))


def test_installed_version_is_that_of_the_product():
    assert importlib.metadata.version("bneuralt-paper") == bneuralt.__version__


def test_entry_points_name_all_estimators():
    project = tomllib.loads((PAPER / "pyproject.toml").read_text())["project"]
    named = project["entry-points"]["bneuralt.estimators"]
    estimators = [name for name in bneuralt_paper.__all__ if name.endswith(("ier", "sor"))]
    assert named == {name: f"bneuralt_paper:{name}" for name in estimators}
    for entry in importlib.metadata.entry_points(group="bneuralt.estimators"):
        assert entry.load().__name__ == entry.name


def imports_of(path):
    """Return pairs of a module of the product and the name that is imported from it."""
    pairs = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            pairs += [(node.module, alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            pairs += [(alias.name, "") for alias in node.names]
    return [(module, name) for module, name in pairs if module.split(".")[0] == "bneuralt"]


def is_public(module, name):
    """Return whether a package exports the name, or the documentation lists the module."""
    documented = re.findall(r"(?m)^   ([\w.]+)$", (ROOT / "docs" / "api.md").read_text())
    if module == "bneuralt":
        return name in ("", *bneuralt.__all__)
    short = module.removeprefix("bneuralt.")
    if short in documented or f"{short}.{name}" in documented:
        return True
    loaded = importlib.import_module(module)
    return hasattr(loaded, "__path__") and name in loaded.__all__


def test_only_public_names_of_the_product_are_imported():
    found = {pair: path for path in SOURCES for pair in imports_of(path)}
    private = {
        f"{path.name}: {module}.{name}"
        for (module, name), path in found.items()
        if not is_public(module, name)
    }
    assert len(SOURCES) > 50 and private == set()


def test_the_source_distribution_has_the_licence_and_the_headers_of_the_core():
    # a link to the licence would lead nowhere in the distribution
    assert not (PAPER / "LICENSE").is_symlink()
    assert (PAPER / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    assert (PAPER / "cpp" / "core" / "build.cmake").read_text() == (
        ROOT / "cpp" / "build.cmake"
    ).read_text()


def test_the_stub_is_up_to_date():
    stub = ast.parse((PAPER / "src" / "bneuralt_paper" / "_mlp.pyi").read_text())
    declared = {node.name for node in stub.body if isinstance(node, ast.FunctionDef)}
    assert declared == {name for name in vars(_mlp) if not name.startswith("_")}
