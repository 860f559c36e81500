"""Views of a whole model: the features that it uses, and their importances over several seeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, clone

from bneuralt._typing import FloatArray, IntArray
from bneuralt.model import Model

__all__ = ["FeatureUse", "Stability", "feature_use", "importance_stability"]


@dataclass(frozen=True, eq=False)
class FeatureUse:
    """Which features a model uses.

    Attributes
    ----------
    feature_names : list of str
    n_paths : int array of shape (n_features,)
        Number of leaves of each feature with a weight other than 0, in all trees.
    n_trees : int array of shape (n_features,)
        Number of trees that use each feature.
    """

    feature_names: list[str]
    n_paths: IntArray
    n_trees: IntArray

    @property
    def used(self) -> list[str]:
        """Features that predictions may depend on."""
        return [self.feature_names[i] for i in np.flatnonzero(self.n_paths).tolist()]

    @property
    def unused(self) -> list[str]:
        """Features that predictions do not depend on."""
        return [self.feature_names[i] for i in np.flatnonzero(self.n_paths == 0).tolist()]

    def __str__(self) -> str:
        n, total = len(self.used), len(self.feature_names)
        unused = f"; not used: {', '.join(self.unused)}" if self.unused else ""
        return f"{n} of {total} features are used{unused}"


def feature_use(model: Model) -> FeatureUse:
    """Return which features a model uses; see `ExplainingMethods.feature_use`.

    Examples
    --------
    >>> from bneuralt import NeuralTree
    >>> tree = NeuralTree(3, 1, [-1], [0], [0, 0], [0, 2], [0.5, 2.0, -1.0])
    >>> print(feature_use(Model.of_tree(tree)))
    2 of 3 features are used; not used: x1
    """
    model = model.in_raw_units()
    names = [column.name for column in model.columns]
    counts = [
        np.bincount(
            model.column_of_input[tree.leaf_input[tree.leaf_weight != 0]], minlength=len(names)
        )
        for tree in model.trees
    ]
    return FeatureUse(names, np.sum(counts, axis=0), np.sum(np.array(counts) > 0, axis=0))


@dataclass(frozen=True, eq=False)
class Stability:
    """Importances of features in models that differ only in their seeds.

    Attributes
    ----------
    feature_names : list of str
    importances : array of shape (n_seeds, n_features)
        `feature_importances_` of each model.
    used : array of shape (n_seeds, n_features)
        Whether each model uses each feature.
    """

    feature_names: list[str]
    importances: FloatArray
    used: Any

    @property
    def mean(self) -> FloatArray:
        """Mean importance of each feature."""
        mean: FloatArray = self.importances.mean(axis=0)
        return mean

    @property
    def deviation(self) -> FloatArray:
        """Standard deviation of the importance of each feature over the seeds."""
        deviation: FloatArray = self.importances.std(axis=0, ddof=1)
        return deviation

    @property
    def rank_correlation(self) -> float:
        """Mean rank correlation of the importances between two seeds."""
        ranks = np.array([rankdata(row) for row in self.importances])
        with np.errstate(invalid="ignore"):
            pairs = np.corrcoef(ranks)[np.triu_indices(len(ranks), 1)]
        return float(np.nanmean(pairs)) if np.isfinite(pairs).any() else 1.0

    def __str__(self) -> str:
        lines = [f"rank correlation between seeds: {self.rank_correlation:.2f}"]
        for i in np.argsort(-self.mean, kind="stable").tolist():
            share = 100 * np.mean(self.used[:, i])
            lines.append(
                f"{self.feature_names[i]}: {self.mean[i]:.3f} +- {self.deviation[i]:.3f}, used by "
                f"{share:.0f} % of the models"
            )
        return "\n".join(lines)


def importance_stability(model: BaseEstimator, X: Any, y: Any, n_seeds: int = 10) -> Stability:
    """Fit a model with several seeds and compare the importances of the features.

    Parameters
    ----------
    model : estimator
        A tree or forest of this library, fitted or not. It is not modified.
    X, y : array-like
        The training rows.
    n_seeds : int
        Number of models to fit, with the seeds 0, 1, ...

    Returns
    -------
    Stability

    Examples
    --------
    >>> from bneuralt import BNeuralTClassifier, importance_stability
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> stability = importance_stability(BNeuralTClassifier(max_epochs=20), X, y, n_seeds=3)
    >>> stability.importances.shape
    (3, 4)
    """
    if isinstance(n_seeds, bool) or not isinstance(n_seeds, (int, np.integer)) or n_seeds < 2:
        raise ValueError(f"n_seeds={n_seeds!r} must be a whole number, 2 or more")
    fitted = [
        clone(model).set_params(random_state=seed, warm_start=False).fit(X, y)
        for seed in range(n_seeds)
    ]
    uses = [each.feature_use() for each in fitted]
    return Stability(
        uses[0].feature_names,
        np.array([each.feature_importances_ for each in fitted]),
        np.array([use.n_paths > 0 for use in uses]),
    )
