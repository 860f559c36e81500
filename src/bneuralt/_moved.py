"""Import paths of earlier releases, redirected to the modules that replaced them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, cast

__all__ = ["MOVED", "install_aliases"]

#: Former name of a module -> the module or package that has its content now.
MOVED = {
    "bneuralt.activations": "bneuralt.tree.activations",
    "bneuralt.authors_format": "bneuralt.tree.authors_format",
    "bneuralt.catalogue": "bneuralt.datasets.catalogue",
    "bneuralt.config": "bneuralt.installation",
    "bneuralt.encoding": "bneuralt.tables.encoding",
    "bneuralt.fetch": "bneuralt.datasets.fetching",
    "bneuralt.forest": "bneuralt.estimators",
    "bneuralt.generate": "bneuralt.tree.generate",
    "bneuralt.losses": "bneuralt.training.losses",
    "bneuralt.model_file": "bneuralt.estimators.model_loading",
    "bneuralt.optimizers": "bneuralt.training.optimizers",
    "bneuralt.persistence": "bneuralt.files",
    "bneuralt.plot": "bneuralt.drawing.pictures",
    "bneuralt.progress": "bneuralt.estimators.callbacks",
    "bneuralt.sampling": "bneuralt.tree.sampling",
    "bneuralt.scaling": "bneuralt.estimators.scaling",  # pickled estimators refer to it
}


class _AliasFinder:
    """Imports the new module under the former name as well.

    A finder and loader without the base classes of `importlib.abc`: importing those takes longer
    than everything else that `import bneuralt` does.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return a spec for former names."""
        return ModuleSpec(fullname, cast(Any, self)) if fullname in MOVED else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the new module."""
        module = importlib.import_module(MOVED[spec.name])
        spec.loader_state = module.__spec__  # the import system sets __spec__ after this call
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the module's own spec; the module itself has been executed already."""
        if module.__spec__ is not None:
            module.__spec__ = module.__spec__.loader_state


def install_aliases() -> None:
    """Make the former names importable."""
    if not any(isinstance(finder, _AliasFinder) for finder in sys.meta_path):
        sys.meta_path.append(cast(Any, _AliasFinder()))
