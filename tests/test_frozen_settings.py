"""Objects that are passed around do not change."""

import dataclasses
import importlib
import pkgutil

import bneuralt

#: Modules whose objects collect something or follow a computation, and parameters of estimators.
MUTABLE = {
    "bneuralt.drawing.display", "bneuralt.drawing.layered", "bneuralt.drawing.scene",
    "bneuralt.estimators.evolution_parameters", "bneuralt.estimators.evolved",
    "bneuralt.estimators.forest", "bneuralt.estimators.parameters", "bneuralt.estimators.tree",
    "bneuralt.explaining.effect_display", "bneuralt.fitting.forest", "bneuralt.fitting.train",
    "bneuralt.tables.block_learning", "bneuralt.tree.simplify",
}  # fmt: skip


def test_dataclasses_outside_of_a_few_modules_are_frozen():
    classes = set()
    for entry in pkgutil.walk_packages(bneuralt.__path__, "bneuralt."):
        if "torch" in entry.name or entry.name.endswith("__main__"):
            continue
        try:
            module = importlib.import_module(entry.name)
        except ModuleNotFoundError as error:  # of an optional package
            assert f"{entry.name} needs the package" in str(error)
            continue
        classes |= {
            value
            for value in vars(module).values()
            if isinstance(value, type) and "__dataclass_params__" in vars(value)
        }
    assert len(classes) > 30
    changeable = {cls.__module__ for cls in classes if not cls.__dataclass_params__.frozen}
    assert {name for name in changeable if name.startswith("bneuralt.")} <= MUTABLE
    assert dataclasses.is_dataclass(next(iter(classes)))
