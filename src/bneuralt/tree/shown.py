"""How trees show themselves: as an interactive page, and in notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from os import PathLike
from typing import Any

__all__ = ["ShownAsPage"]


def _pages() -> Any:
    # By name: drawings are made of trees, so their layer is above this one.
    return import_module("bneuralt.drawing.pages")


class ShownAsPage:
    """Adds the interactive page to trees, and a small one to their display in notebooks."""

    def to_html(
        self,
        path: str | PathLike[str] | None = None,
        *,
        feature_names: Sequence[str] | None = None,
        output_names: Sequence[object] | None = None,
        title: str | None = None,
    ) -> str:
        """Return a page on which the tree can be looked at and tried out, as one file.

        Parameters
        ----------
        path : str or path-like, optional
            A file to write the page to, as well.
        feature_names, output_names : sequence, optional
            Names of inputs and outputs.
        title : str, optional
            Heading of the page.

        Returns
        -------
        str
            The page.

        Examples
        --------
        >>> from bneuralt import NeuralTree
        >>> page = NeuralTree.random(2, random_state=0).to_html(feature_names=["age", "height"])
        >>> "height" in page
        True
        """
        names = {"feature_names": feature_names, "output_names": output_names}
        return str(_pages().to_html(self, path, title=title, **names))

    def _repr_html_(self) -> str:
        return str(_pages().notebook_html(self))
