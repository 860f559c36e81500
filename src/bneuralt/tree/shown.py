"""How trees show themselves: as an interactive page, and in notebooks.

Drawings are in a layer above that of trees, so they are imported when they are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

__all__ = ["Shown"]


class Shown:
    """Adds the interactive page to trees, and what notebooks show."""

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
        from bneuralt.drawing.pages import to_html

        return to_html(
            self, path, title=title, feature_names=feature_names, output_names=output_names
        )

    def _repr_html_(self) -> str:
        """Return a small page."""
        from bneuralt.drawing.pages import notebook_html

        return notebook_html(self)

    def _repr_svg_(self) -> str:
        """Return the drawing, for notebooks that show no pages."""
        from bneuralt.drawing.display import tree_svg

        return tree_svg(self, theme="auto")
