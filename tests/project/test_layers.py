"""What the packages know of each other, beyond what import-linter checks."""

import ast

import pytest

from tests.helpers.paths import ROOT

SOURCES = ROOT / "src/bneuralt"
ESTIMATORS = SOURCES / "estimators"
BY_NAME = ("getattr", "setattr", "hasattr", "delattr")


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def is_own(node):
    """Whether a value is the object or class itself, or another of it, in one of its methods."""
    return isinstance(node, ast.Name) and node.id in ("self", "cls", "other")


def private_names_of_estimators():
    """The private methods and attributes of all classes in `estimators`."""
    names = set()
    for path in ESTIMATORS.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                for member in node.body:
                    if isinstance(member, (ast.FunctionDef, ast.AnnAssign, ast.Assign)):
                        targets = getattr(member, "targets", [getattr(member, "target", member)])
                        names |= {getattr(t, "id", getattr(t, "name", "")) for t in targets}
            elif isinstance(node, ast.Attribute) and is_own(node.value):
                names.add(node.attr)
    return {name for name in names if is_private(name)}


PRIVATE = private_names_of_estimators()
MODULES = [path for path in sorted(SOURCES.rglob("*.py")) if path.parent != ESTIMATORS]


def private_uses(source):
    """Yield the line and text of each private attribute of an estimator that a source uses."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr in PRIVATE and not is_own(node.value):
            yield node.lineno, ast.unparse(node)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in BY_NAME:
            name = node.args[1]
            if isinstance(name, ast.Constant) and name.value in PRIVATE:
                yield node.lineno, ast.unparse(node)


def test_private_attributes_are_found():
    assert {"_options", "_fitted", "_raw", "_read_features"} <= PRIVATE
    source = "model._raw()\nself._raw\nself.model._fitted()\ngetattr(model, '_options')\n"
    assert sorted(line for line, _ in private_uses(source)) == [1, 3, 4]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCES)))
def test_only_estimators_use_their_private_attributes(path):
    uses = [f"line {line}: {text}" for line, text in private_uses(path.read_text(encoding="utf-8"))]
    assert not uses, "; ".join(uses)


# -- rooms of tests ---------------------------------------------------------------------------

#: Folders of tests that are about something else than a package of `src/bneuralt`.
OTHER_ROOMS = {"benchmarks", "core", "playground", "project", "reference"}


def test_files_of_tests_with_the_name_of_a_module_are_in_the_folder_of_its_package():
    rooms = {}
    for path in SOURCES.rglob("*.py"):
        module = path.parent if path.stem == "__init__" else path.with_suffix("")
        *packages, name = module.relative_to(SOURCES.parent).parts[1:] or ("",)
        rooms.setdefault(name, set()).add(packages[0] if packages else "")
    misplaced = []
    for path in (ROOT / "tests").rglob("test_*.py"):
        *folders, file = path.relative_to(ROOT / "tests").parts
        folder, name = folders[0] if folders else "", file[len("test_") : -len(".py")]
        if folder not in OTHER_ROOMS and name != folder and folder not in rooms.get(name, {folder}):
            misplaced.append(f"{folder}/{file}: {sorted(rooms[name])} has {name}.py")
    assert misplaced == []
    packages = {path.parent.name for path in SOURCES.glob("*/__init__.py")}
    tested = {path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")}
    assert packages <= tested and tested - packages == OTHER_ROOMS
