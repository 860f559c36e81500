"""Methods of fitted estimators that explain the influence of features."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from bneuralt import explaining
from bneuralt.explaining import (
    Effect,
    Explanation,
    FeatureUse,
    InteractionProof,
    MonotonicProof,
    Surface,
)
from bneuralt.shrinking import SaturatedNode, saturated_nodes

__all__ = ["ExplainingMethods"]


class ExplainingMethods(BaseEstimator):
    """Adds methods such as `explain`, `effect` and `check_monotonic` to an estimator."""

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
            self.model_,
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
            return explaining.surface(self.model_, column, table, output=output)
        return explaining.effect(self.model_, column, table, at=at, output=output)

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
        return explaining.feature_use(self.model_)

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
        return saturated_nodes(self.model_, self._checked_table(X), tolerance)

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
        return explaining.check_monotonic(self.model_)

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
        return explaining.check_interactions(self.model_)
