"""The distribution and its place beside the product."""

import ast
import importlib.metadata
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
    assert named == {name: f"bneuralt_paper:{name}" for name in bneuralt_paper.__all__}
    for entry in importlib.metadata.entry_points(group="bneuralt.estimators"):
        assert entry.load().__name__ == entry.name


def test_nothing_private_of_the_product_is_imported():
    private = []
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            private += [
                f"{path.name}: {name}"
                for name in names
                if name.split(".")[0] == "bneuralt" and "._" in name
            ]
    assert len(SOURCES) > 50 and private == []


def test_the_stub_is_up_to_date():
    stub = ast.parse((PAPER / "src" / "bneuralt_paper" / "_mlp.pyi").read_text())
    declared = {node.name for node in stub.body if isinstance(node, ast.FunctionDef)}
    assert declared == {name for name in vars(_mlp) if not name.startswith("_")}
