"""How estimators show themselves: as an interactive page, and in notebooks.

Drawings are in a layer above that of estimators, so they are imported when they are asked for.
"""

from __future__ import annotations

from os import PathLike
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

__all__ = ["PageDisplay"]


class PageDisplay(BaseEstimator):
    """Adds the interactive page to an estimator, and a small one to its display in notebooks."""

    def to_html(
        self,
        path: str | PathLike[str] | None = None,
        *,
        examples: Any = None,
        title: str | None = None,
    ) -> str:
        """Return a page on which the model can be looked at and tried out, as one file.

        The page needs no network. It has the tree (of a forest, each tree), a form for an example
        with what is predicted for it and why, and the curves of the training.

        Parameters
        ----------
        path : str or path-like, optional
            A file to write the page to, as well.
        examples : array-like of shape (n_rows, n_features), optional
            Rows to step through; at most 1,000 are kept. Whoever has the page can read them.
        title : str, optional
            Heading of the page; the name of the estimator by default.

        Returns
        -------
        str
            The page.
        """
        from bneuralt.drawing.pages import to_html

        check_is_fitted(self)
        return to_html(self, path, examples=examples, title=title)

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._small_page()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._small_page()
        return bundle

    def _small_page(self) -> str:
        from bneuralt.drawing.pages import notebook_html

        return notebook_html(self) if self.__sklearn_is_fitted__() else ""
