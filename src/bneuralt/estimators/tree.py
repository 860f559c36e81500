"""Estimators of one tree, trained by backpropagation; `bneuralt.fitting.tree` fits them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from bneuralt.estimators.classification import Classifier
from bneuralt.estimators.parameters import TreeParameters, declared
from bneuralt.estimators.regression import Regressor
from bneuralt.fitting.tree import fit_part_of_tree, fit_tree

__all__ = ["BNeuralTClassifier", "BNeuralTRegressor"]


@declared
@dataclass(kw_only=True, eq=False, repr=False)
class BNeuralTClassifier(Classifier, TreeParameters):
    """Classify with one neural tree.

    The tree is drawn at random, with one subtree for each class, and all its weights are trained
    by backpropagation. Features are scaled internally, so no scaler is needed.

    {parameters}

    Attributes
    ----------
    tree_ : NeuralTree
        The trained tree; it works on unscaled inputs. `tree_.forward(encoder_.encode(X))` gives the
        scores of the classes.
    {classes}
    n_parameters_ : int
        Number of trainable weights.
    {columns}
    n_iter_ : int
        Number of epochs that the tree was trained, those of the trial included.
    history_ : dict of arrays
        For each epoch: `train_loss`, `train_score` (accuracy), `learning_rate` and, where there
        were validation rows, `val_loss` and `val_score`. Training figures are means over the
        updates of the epoch. `pandas.DataFrame(clf.history_)` is a table of it.
    {training}

    Examples
    --------
    >>> from bneuralt import BNeuralTClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = BNeuralTClassifier(random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.95
    True
    >>> clf.predict(X[:2])
    array([0, 0])
    """

    class_weight: Mapping[Any, float] | str | None = None

    _fit_problem = staticmethod(fit_tree)
    _fit_part = staticmethod(fit_part_of_tree)


@declared
@dataclass(kw_only=True, eq=False, repr=False)
class BNeuralTRegressor(Regressor, TreeParameters):
    """Predict numbers with one neural tree.

    The tree is drawn at random, and all its weights are trained by backpropagation. Features and
    target are scaled internally, so no scaler is needed.

    {parameters}

    Attributes
    ----------
    tree_ : NeuralTree
        The trained tree, from unscaled inputs to the target in its own units.
        `tree_.forward(encoder_.encode(X))` predicts; with ``loss="poisson"`` its outputs are
        logarithms, with ``loss="quantile"`` they are not sorted.
    n_outputs_ : int
        Number of columns of y.
    calibration_ : Calibration or None
        Residuals of the rows that were held out by `conformal`.
    n_parameters_ : int
        Number of trainable weights.
    {columns}
    n_iter_ : int
        Number of epochs that the tree was trained, those of the trial included.
    history_ : dict of arrays
        For each epoch: `train_loss` (of the scaled target), `train_score` (r2), `learning_rate`
        and, where there were validation rows, `val_loss` and `val_score`. Training figures are
        means over the updates of the epoch. `pandas.DataFrame(reg.history_)` is a table of it.
    {training}

    Examples
    --------
    >>> from bneuralt import BNeuralTRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> reg = BNeuralTRegressor(random_state=0).fit(X, y)
    >>> reg.score(X, y) > 0.5
    True
    >>> reg.predict(X[:2]).round(-2)
    array([200., 100.])
    """

    quantiles: ArrayLike = (0.05, 0.5, 0.95)
    conformal: int | float | None = None

    _fit_problem = staticmethod(fit_tree)
    _fit_part = staticmethod(fit_part_of_tree)
