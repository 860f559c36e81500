"""Import paths of earlier releases: modules that moved are found under their old names too."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

#: Old name of a module -> where its content is now.
MOVED = {
    "bneuralt.activations": "bneuralt.tree.activations",
    "bneuralt.authors_format": "bneuralt.tree.authors_format",
    "bneuralt.catalogue": "bneuralt.datasets.catalogue",
    "bneuralt.encoding": "bneuralt.tables.encoding",
    "bneuralt.fetch": "bneuralt.datasets.fetching",
    "bneuralt.forest": "bneuralt.estimators",
    "bneuralt.generate": "bneuralt.tree.generate",
    "bneuralt.losses": "bneuralt.training.losses",
    "bneuralt.model_file": "bneuralt.estimators.model_file",
    "bneuralt.optimizers": "bneuralt.training.optimizers",
    "bneuralt.persistence": "bneuralt.files",
    "bneuralt.plot": "bneuralt.drawing.pictures",
    "bneuralt.progress": "bneuralt.estimators.callbacks",
    "bneuralt.sampling": "bneuralt.tree.sampling",
}


class _Alias(MetaPathFinder, Loader):
    """Gives the module at the new place to whoever asks for the old one."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in MOVED else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(MOVED[spec.name])
        spec.loader_state = module.__spec__  # which the import system is about to replace
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Put things back; the module has been executed under its own name."""
        if module.__spec__ is not None:
            module.__spec__ = module.__spec__.loader_state


def install_aliases() -> None:
    """Make the old names importable."""
    sys.meta_path.append(_Alias())
