"""Each name means one thing."""

import ast
from collections import defaultdict
from pathlib import Path

from tests.helpers.paths import ROOT

SOURCES = [
    path
    for folder in ("src/bneuralt", "paper/src/bneuralt_paper")
    for path in sorted((ROOT / folder).rglob("*.py"))
    # the twins of the core have the names of what they are compared with, and each command of the
    # program is a module of its name with the same two functions; forests over a cluster have the
    # names of the ordinary ones, as in other packages
    if not {"reference", "commands", "dask.py"} & set(path.relative_to(ROOT).parts)
]


def several(places: dict[str, list[Path]]) -> dict[str, list[Path]]:
    return {name: paths for name, paths in places.items() if len(paths) > 1}


def test_no_two_modules_have_the_same_name():
    places = defaultdict(list)
    for path in SOURCES:
        if not path.stem.startswith("_"):
            places[path.stem].append(path)
    assert several(places) == {}


def test_no_two_public_functions_or_classes_have_the_same_name():
    places = defaultdict(list)
    for path in SOURCES:
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(path)
    assert several(places) == {}
