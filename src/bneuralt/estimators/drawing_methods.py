"""Methods of estimators that draw the model: formulas, pages, cards, notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

from sklearn.base import BaseEstimator

__all__ = ["DrawingMethods"]


class DrawingMethods(BaseEstimator):
    """Adds formulas and pages to an estimator, and a small page to its display in notebooks."""

    def to_formula(
        self,
        format: str = "text",
        *,
        digits: int | str | None = "auto",
        tree: int | None = None,
        simplified: bool = True,
        feature_names: Sequence[str] | None = None,
        output_names: Sequence[object] | None = None,
    ) -> Any:
        r"""Return the outputs of a tree as formulas of its inputs.

        The outputs are predicted numbers (with ``loss="poisson"``, their logarithms), or the
        scores of the classes, whose softmax are the probabilities. The symbols are the inputs,
        the columns of ``encoder_.encode(X)``: the name of a column of numbers is its value within
        the limits of the column (``scale="robust"``), the mean if it is missing; ``[age from 60 to
        65]`` is a ramp, which is 0 up to 60, rises to 1 at 65 and stays 1 (the name rounds both
        ends to a hundredth of the ramp); ``[colour=red]`` is 1 for rows with this category and 0
        for others. With ``scale="standard", ramps=0``, a formula
        of numbers is one of the columns themselves.

        Parameters
        ----------
        format : {"text", "latex", "sympy"}, default "text"
            Text that is close to Python, where names that are not identifiers are in brackets;
            the lines of an ``aligned`` environment of LaTeX; or a dict with a SymPy expression for
            each output, whose symbols have the names of the inputs.
        digits : int, "auto" or None, default "auto"
            Number of significant digits of the weights; None writes them exactly. "auto": as many
            as matter, so that outputs change by at most 1 % of their standard deviation, measured
            on 256 rows from the ranges of the training rows; exact for SymPy, and if these ranges
            are not known.
        tree : int, optional
            Position of a tree of a forest, from 0; required for forests.
        simplified : bool, default True
            Write an equal tree with fewer weights, made by `bneuralt.tree.simplify`.
        feature_names, output_names : sequence, optional
            Names of the columns and of the outputs; those of the training table by default.

        Returns
        -------
        str, or dict of SymPy expressions

        Raises
        ------
        ValueError
            The tree has more than 1000 weights or 60 levels of nodes, or `tree` is not given for a
            forest.

        Examples
        --------
        >>> import numpy as np
        >>> from bneuralt import BNeuralTRegressor
        >>> X = np.random.default_rng(0).normal(size=(200, 2))
        >>> reg = BNeuralTRegressor(n_weights=10, random_state=0).fit(X, X[:, 0])
        >>> reg.to_formula(digits=2, feature_names=["age", "height"]).startswith("y = ")
        True
        """
        from bneuralt.drawing.formula import to_formula

        return to_formula(
            self.model_,
            format,
            digits=digits,
            tree=tree,
            simplified=simplified,
            feature_names=feature_names,
            output_names=output_names,
        )

    def to_html(
        self,
        path: str | PathLike[str] | None = None,
        *,
        examples: Any = None,
        title: str | None = None,
    ) -> str:
        """Return a page that shows the model and predicts examples, as one HTML file.

        The page needs no network. It shows the trees, a form for an example with its prediction
        and explanation, the effect of each column, the strongest interactions and the learning
        curves. The model can be edited on it; the file that it offers then is read by `load_model`.

        Parameters
        ----------
        path : str or path-like, optional
            File to which the page is written, too.
        examples : array-like of shape (n_rows, n_features), optional
            Rows to step through; at most 1,000 are used. Readers of the page can see them.
        title : str, optional
            Heading of the page; the name of the estimator by default.

        Returns
        -------
        str
            The page.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from bneuralt import BNeuralTClassifier
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> clf = BNeuralTClassifier(n_weights=30, random_state=0).fit(X, y)
        >>> page = clf.to_html(title="Iris")
        >>> "petal length (cm)" in page
        True
        """
        from bneuralt.drawing.pages import to_html
        from bneuralt.estimators.model_file import model_to_dict
        from bneuralt.files import format_json

        model = self.model_  # an estimator that is not fitted raises an error here
        try:
            file = model_to_dict(self, getattr(self, "extra_", None))
            format_json({key: file[key] for key in ("settings", "classes", "extra")})
        except (TypeError, ValueError):  # a model that cannot be saved cannot be edited either
            file = None
        return to_html(model, path, examples=examples, title=title, file=file)

    def card(
        self,
        X: Any,
        y: Any,
        path: str | PathLike[str] | None = None,
        *,
        group: Any = None,
        title: str | None = None,
    ) -> str:
        """Return a page about the model for people who decide on its use, as one HTML file.

        It can be printed, and needs neither scripts nor a network. It has scores with 95 %
        intervals, calibration, errors by group, columns with their ranges, effects, interactions,
        proofs from the structure, a drawing, and what is needed to train the model again. Its
        first lines say whether the rows were used in training: a model keeps hashes of up to 512
        of its training rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows that were not used in training.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)
            Their targets.
        path : str or path-like, optional
            File to which the page is written, too.
        group : str, int or array-like of shape (n_rows,), optional
            Column of X, or a value of each row, by which errors are divided. Numbers of more than
            8 different values are divided at their quartiles.
        title : str, optional
            Heading of the page; the name of the estimator by default.

        Returns
        -------
        str
            The page.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from bneuralt import BNeuralTClassifier
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> clf = BNeuralTClassifier(n_weights=30, random_state=0).fit(X[::2], y[::2])
        >>> page = clf.card(X[1::2], y[1::2], group="petal width (cm)")
        >>> "Groups of petal width (cm)" in page
        True
        """
        from bneuralt.estimators.card import card_html
        from bneuralt.files import write_atomically

        page = card_html(self, X, y, group, title)
        if path is not None:
            write_atomically(path, page)
        return page

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._small_page()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._small_page()
        return bundle

    def _repr_svg_(self) -> str | None:
        """Return the drawing of the (first) tree, for notebooks that show no pages."""
        if not self.__sklearn_is_fitted__():
            return None
        from bneuralt.drawing.display import tree_svg

        return tree_svg(self.model_, theme="auto")

    def _small_page(self) -> str:
        from bneuralt.drawing.pages import notebook_html

        return notebook_html(self.model_) if self.__sklearn_is_fitted__() else ""
