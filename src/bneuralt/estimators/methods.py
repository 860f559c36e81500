"""What a fitted model can do besides predicting: be explained, drawn, made smaller and exported."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, ClassVar, Self

from bneuralt import explaining
from bneuralt.estimators.export_methods import ExportMethods
from bneuralt.explaining import (
    Effect,
    Explanation,
    FeatureUse,
    InteractionProof,
    MonotonicProof,
    Surface,
)
from bneuralt.fitting.compact import compact, simplified
from bneuralt.fitting.options import Options
from bneuralt.fitting.problem import Problem
from bneuralt.fitting.progress import Listen
from bneuralt.model import Model
from bneuralt.shrinking import SaturatedNode, saturated_nodes

__all__ = ["ModelMethods"]


class ModelMethods(ExportMethods):
    """Methods of fitted estimators; each is a function of the model."""

    _fit_problem: ClassVar[staticmethod[[Problem, Listen], Model]]
    _fitted: Callable[[], Model]
    _raw: Callable[[], Model]
    _options: Callable[[], Options]
    _with_model: Callable[[Model], Self]
    _checked_table: Callable[[Any], Any]
    _file_content: Callable[[Model, Mapping[str, Any] | None], dict[str, Any]]

    def explain(
        self,
        X: Any,
        baseline: Any = "mean",
        *,
        output: str | None = None,
        method: str = "rescale",
        n_steps: int = 32,
        interactions: bool = False,
    ) -> Explanation:
        """Return how much each feature contributes to the predictions for some rows.

        A prediction is compared with the one for a baseline row. The contributions of all features
        add up to the difference of the two: exactly with the rescale rule, which follows each path
        from a leaf to its output once; up to the error of integration with integrated gradients.
        Contributions of categories, parts of dates and missing values are added to those of their
        column. A feature that no leaf uses contributes 0.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to explain, as for `predict`.
        baseline : "mean", or array-like of shape (n_features,) or (n_baselines, n_features)
            The row to compare with. "mean" is the mean of the training rows; for a category, all
            its values in the proportions of the training rows. With several rows, the mean of the
            contributions for each of them.
        output : {"score", "probability"}, optional
            For classifiers, whether to explain the scores of `decision_function` or the
            probabilities. By default scores for a single tree, and probabilities for a forest,
            which averages them (scores, if `interaction_cst` is set). With two classes, that of
            the second class.
        method : {"rescale", "integrated_gradients"}
        n_steps : int
            Number of points of the integration.
        interactions : bool
            Whether to divide contributions among pairs of features as well. The interaction of
            two features is the part of the contribution of one of them that is gone if the other
            one is at its baseline, averaged over the two. It is exactly 0 for features that
            cannot interact (`check_interactions`), and takes one more pass through a tree for
            each feature that it uses.

        Returns
        -------
        Explanation

        Examples
        --------
        >>> import numpy as np
        >>> from bneuralt import BNeuralTClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> clf = BNeuralTClassifier(random_state=0).fit(X, y)
        >>> explanation = clf.explain(X)
        >>> explanation.values.shape
        (150, 4, 3)
        >>> total = explanation.baseline + explanation.values.sum(axis=1)
        >>> np.allclose(total, clf.decision_function(X), atol=1e-4)
        True
        """
        return explaining.explain(
            self._raw(),
            self._checked_table(X),
            baseline,
            output=output,
            method=method,
            n_steps=n_steps,
            interactions=interactions,
        )

    def effect(
        self,
        column: Any,
        X: Any = None,
        *,
        at: Any = None,
        output: str | None = None,
    ) -> Effect | Surface:
        """Return the mean prediction as a function of one column, or of two.

        This is the partial dependence: in all rows, the column gets the same value, and the
        predictions are averaged. The curve is not computed on a fixed grid: it has the bends of
        all inputs of the column, and so many points between them that straight lines from point to
        point are exact to 0.1 % of the range of the curve (in the middle between two points; an
        interval is halved at most 8 times). A category has one point for each value, a date
        one for each day, and a missing value its own point, where some were missing in training.

        Parameters
        ----------
        column : int or str, or a pair of them
            Name or position of the column. Two columns give a surface.
        X : array-like of shape (n_rows, n_features), optional
            The rows that predictions are averaged over; the curve ends at their smallest and
            largest value. By default up to 16 reference rows, which are stored in the model and
            in its file: means of groups of at least 5 training rows that are similar. The curve
            then ends where the training rows end.
        at : array-like, optional
            Values of the column at which to compute the curve, instead.
        output : {"probability", "score"}, optional
            For classifiers, the quantity to average: probabilities (the default), or the scores of
            `decision_function`. With two classes, that of the second class.

        Returns
        -------
        Effect
            For a pair of columns, `Surface`.

        Examples
        --------
        >>> from bneuralt import BNeuralTRegressor
        >>> from sklearn.datasets import load_diabetes
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> reg = BNeuralTRegressor(random_state=0).fit(X, y)
        >>> curve = reg.effect("bmi", X)
        >>> bool(curve.y[-1, 0] > curve.y[0, 0])
        True
        >>> reg.effect("bmi", at=[0.0, 0.05]).y.shape  # over the reference rows
        (2, 1)
        """
        table = None if X is None else self._checked_table(X)
        if isinstance(column, (tuple, list)):
            if at is not None:
                raise ValueError("at is for one column: omit it, or ask for one column")
            return explaining.surface(self._raw(), column, table, output=output)
        return explaining.effect(self._raw(), column, table, at=at, output=output)

    def feature_use(self) -> FeatureUse:
        """Return which features the trees use.

        Examples
        --------
        >>> from bneuralt import BNeuralTClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> print(BNeuralTClassifier(max_epochs=5, random_state=0).fit(X, y).feature_use())
        4 of 4 features are used
        """
        return explaining.feature_use(self._raw())

    def saturated_nodes(self, X: Any, tolerance: float = 1e-3) -> list[SaturatedNode]:
        """Return the function nodes whose values are almost constant over some rows.

        Such a node and its subtree can be replaced by a constant; see `saturated_on` of `simplify`.
        Outputs, and nodes below a saturated node, are not listed.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows, such as the training rows.
        tolerance : float
            The largest difference between two values of a saturated node.

        Examples
        --------
        >>> from bneuralt import BNeuralTClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = BNeuralTClassifier(max_epochs=5, random_state=0).fit(X, y)
        >>> all(node.span <= 0.1 for node in clf.saturated_nodes(X, tolerance=0.1))
        True
        """
        return saturated_nodes(self._raw(), self._checked_table(X), tolerance)

    def check_monotonic(self) -> MonotonicProof:
        """Prove monotone effects of features from the signs of the weights.

        If no activation decreases, the effect of a leaf has the sign of the product of the weights
        on its path to the output. A feature whose paths all have the same sign has a monotone
        effect for all values of all features. A feature can be monotone without such a proof.

        The method does not depend on `monotonic_cst`. It applies to regressors and to classifiers
        of two classes, where the effect is that on the probability of the second class. With
        several columns of y, or several quantiles, the effect is the same on all of them.

        Returns
        -------
        MonotonicProof
            `holds` is true if all constraints are met; its text lists all features.

        Examples
        --------
        >>> from bneuralt import BNeuralTRegressor
        >>> from sklearn.datasets import load_diabetes
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> X = X[["bmi", "bp", "s5"]]
        >>> reg = BNeuralTRegressor(monotonic_cst={"bmi": 1}, random_state=0).fit(X, y)
        >>> proof = reg.check_monotonic()
        >>> proof.holds, proof["bmi"].direction
        (True, 1)
        >>> all(path.sign in (0, 1) for path in proof["bmi"].paths)
        True
        """
        return explaining.check_monotonic(self._raw())

    def check_interactions(self) -> InteractionProof:
        """Prove from the structure which features can interact at all.

        Outputs are sums, so what is below different children of a linear output is added. Two
        features can interact only where leaves of both are below one node that is not linear, in
        different terms of its sum. The method does not depend on `interaction_cst`.

        The proof is about the outputs of the trees: the predictions of regressors, or the scores
        of classifiers, whose probabilities are a function of the scores of all classes. In a forest
        of classifiers without `interaction_cst`, which averages probabilities, all features that
        the trees use can interact.

        Returns
        -------
        InteractionProof
            `can_interact` is a matrix of all pairs; `holds` is true if `interaction_cst` is met;
            its text lists the pairs and the nodes at which they meet.

        Examples
        --------
        >>> from bneuralt import BNeuralTRegressor
        >>> from sklearn.datasets import load_diabetes
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> reg = BNeuralTRegressor(interaction_cst="no_interactions", random_state=0).fit(X, y)
        >>> print(reg.check_interactions())
        no columns interact: predictions are a sum of functions of one column each
        interaction_cst holds
        """
        return explaining.check_interactions(self._raw())

    def simplify(self, *, saturated_on: Any = None, tolerance: float = 1e-3) -> Self:
        """Return an estimator with fewer weights and the same predictions, up to rounding.

        Leaves of the same input under one parent are merged, weights of 0 are removed, subtrees
        that do not depend on any input become part of a bias, and linear nodes below other nodes
        are replaced by their children. Leaves of one column of numbers under one parent, of the
        number itself and of its ramps, become a single bent leaf with one weight; `encoder_` of
        the result has the bent inputs, whose bends are not counted as weights. Columns of
        `monotonic_cst` keep their leaves.

        Parameters
        ----------
        saturated_on : array-like of shape (n_rows, n_features), optional
            Rows, such as the training rows. If given, function nodes whose values vary by no more
            than `tolerance` over these rows are replaced by constants, too. This changes the
            predictions of these rows slightly, and those of other rows without a bound;
            `saturated_nodes` lists the nodes.
        tolerance : float
            See `saturated_on`.

        Returns
        -------
        estimator of the same class
            A copy; this one is not modified.

        Examples
        --------
        >>> import numpy as np
        >>> from bneuralt import BNeuralTClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = BNeuralTClassifier(max_epochs=20, random_state=0).fit(X, y)
        >>> small = clf.simplify()
        >>> small.n_parameters_ < clf.n_parameters_
        True
        >>> np.allclose(small.predict_proba(X), clf.predict_proba(X), atol=1e-5)
        True
        """
        model = self._raw()
        constants = []
        if saturated_on is not None:
            constants = saturated_nodes(model, self._checked_table(saturated_on), tolerance)
        return self._with_model(simplified(model, constants))

    def compact(
        self,
        X: Any,
        y: Any,
        max_weights: int | None = None,
        *,
        max_bytes: int | None = None,
        sample_weight: Any = None,
        cv: int | None = 5,
    ) -> Self:
        """Return an estimator with fewer weights, which are trained briefly after each removal.

        Weights are removed in steps by Optimal Brain Surgeon. The Hessian of the loss gives the
        cost of removing a leaf, a subtree, or the activation of a node after all other weights have
        been adjusted; units with the lowest cost per weight are removed first.

        Parameters
        ----------
        X, y : array-like
            The training rows.
        max_weights : int, optional
            Number of weights to keep at most. By default, and without `max_bytes`, the smallest
            size is chosen whose score on held-out rows is within one standard error of the best.
        max_bytes : int, optional
            The same in bytes of the tables of 16-bit integers that are exported to C for trees with
            one activation; the tables of the activation itself and of ramps are not counted.
        sample_weight : array-like of shape (n_rows,), optional
        cv : int or None
            Number of folds of the cross-validation that scores each size: in each fold, a model
            is fitted and pruned without the held-out rows. None: no scores; needs a size.

        Returns
        -------
        estimator of the same class
            A copy; this one is not modified. Its `compaction_` has the sizes and their scores
            (`bneuralt.shrinking.Compaction`). It is not calibrated for prediction intervals.

        Examples
        --------
        >>> from bneuralt import BNeuralTClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = BNeuralTClassifier(random_state=0).fit(X, y)
        >>> small = clf.compact(X, y, max_weights=20, cv=None)
        >>> small.n_parameters_ <= 20, small.score(X, y) > 0.93
        (True, True)
        >>> small.compaction_.n_weights_before == clf.n_parameters_
        True
        """
        return self._with_model(
            compact(
                self._fitted(),
                self._options(),
                type(self)._fit_problem,
                (X, y, sample_weight),
                max_weights,
                max_bytes,
                cv,
            )
        )

    def to_formula(
        self,
        path: str | PathLike[str] | None = None,
        *,
        format: str = "text",
        digits: int | str | None = "auto",
        tree: int | None = None,
        simplified: bool = True,
        feature_names: Sequence[str] | None = None,
        output_names: Sequence[object] | None = None,
    ) -> Any:
        r"""Return the outputs of a tree as formulas of its inputs.

        The outputs are predicted numbers (with ``loss="poisson"``, their logarithms), the log-odds
        of the second of two classes, or the scores of more classes, whose softmax are the
        probabilities. The symbols are the inputs,
        the columns of ``encoder_.encode(X)``: the name of a column of numbers is its value within
        the limits of the column (``scale="robust"``), the mean if it is missing; ``[age from 60 to
        65]`` is a ramp, which is 0 up to 60, rises to 1 at 65 and stays 1 (the name rounds both
        ends to a hundredth of the ramp); ``[colour=red]`` is 1 for rows with this category and 0
        for others. With ``scale="standard", ramps=0``, a formula
        of numbers is one of the columns themselves.

        Parameters
        ----------
        path : str or path-like, optional
            File to which a formula of text or LaTeX is written, too.
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
        from bneuralt.files import write_atomically

        formula = to_formula(
            self._raw(),
            format,
            digits=digits,
            tree=tree,
            simplified=simplified,
            feature_names=feature_names,
            output_names=output_names,
        )
        if path is not None:
            if not isinstance(formula, str):
                raise ValueError(f"format={format!r} is an object, not a text: leave path out")
            write_atomically(path, formula + "\n")
        return formula

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
        from bneuralt.files import format_json

        model = self._raw()  # an estimator that is not fitted raises an error here
        try:
            file = self._file_content(model, model.extra)
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

        return tree_svg(self._raw(), theme="auto")

    def _small_page(self) -> str:
        from bneuralt.drawing.pages import notebook_html

        return notebook_html(self._raw()) if self.__sklearn_is_fitted__() else ""
