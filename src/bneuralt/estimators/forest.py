"""Estimators that average several trees; `bneuralt.fitting.forest` fits them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import nan
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from bneuralt._typing import Array, FloatArray
from bneuralt.estimators.base import NeuralTreeEstimator
from bneuralt.estimators.classification import Classifier
from bneuralt.estimators.parameters import ForestParameters, declared
from bneuralt.estimators.regression import Regressor
from bneuralt.estimators.tree import BNeuralTClassifier, BNeuralTRegressor
from bneuralt.fitting.forest import fit_forest, fit_part_of_forest

__all__ = ["BNeuralForestClassifier", "BNeuralForestRegressor"]


class Forest(NeuralTreeEstimator):
    """Base class of forests: their trees, and out-of-bag scores."""

    _fit_problem = staticmethod(fit_forest)
    _fit_part = staticmethod(fit_part_of_forest)
    _tree_type: ClassVar[Any]
    _holds_many_trees: ClassVar[bool] = True

    def _validate_params(self) -> None:
        super()._validate_params()
        if getattr(self, "n_weights", None) == "readable":
            raise ValueError(
                f"n_weights='readable' is for a single tree, and {type(self).__name__} has "
                f"several: use {self._tree_type.__name__}, or another n_weights"
            )

    @property
    def estimators_(self) -> list[Any]:
        """The trees, each as an estimator of its own that can predict and be drawn."""
        model = self._model_or_error
        parameters = {f.name: getattr(self, f.name) for f in fields(self._tree_type)}
        parameters |= {"warm_start": False, "n_jobs": None, "verbose": 0}
        members = []
        for i in range(len(model.trees)):
            seed = model.states[i].seed if model.states else None
            member = self._tree_type(**{**parameters, "random_state": seed})
            member.model_ = model.member(i)
            members.append(member)
        return members

    @property
    def history_(self) -> dict[str, Array]:
        """Loss, score and learning rate of each epoch of each tree, concatenated."""
        histories = self._model_or_error.history
        if not histories or not all(histories):
            raise AttributeError(
                f"this {type(self).__name__} has no history_: it was loaded from a file, and files "
                "of forests hold none"
            )
        n_epochs = [len(history["train_loss"]) for history in histories]
        columns = {
            "tree": np.repeat(np.arange(len(histories)), n_epochs),
            "epoch": np.concatenate([np.arange(n) for n in n_epochs]),
        }
        for name in dict.fromkeys(name for history in histories for name in history):
            curves = [
                history.get(name, np.full(n, nan))
                for history, n in zip(histories, n_epochs, strict=True)
            ]
            columns[name] = np.concatenate(curves)
        return columns

    @property
    def oob_score_(self) -> float:
        """Score of the predictions of each row by the trees that were trained without it."""
        found = self._attribute("oob_score_", self._model_or_error.out_of_bag)
        return float(found.score)

    def _out_of_bag(self, name: str) -> FloatArray:
        found = self._attribute(name, self._model_or_error.out_of_bag)
        values: FloatArray = self._attribute(name, found.predictions)
        return values


@declared
@dataclass(kw_only=True, eq=False, repr=False)
class BNeuralForestClassifier(Forest, Classifier, ForestParameters):
    """Average the class probabilities of several neural trees.

    The trees are drawn and trained independently of each other. The mean of their probabilities is
    usually more accurate than those of each tree.

    {parameters}

    Attributes
    ----------
    estimators_ : list of BNeuralTClassifier
        The trees.
    {classes}
    {trees}
    {columns}
    oob_score_ : float
        Accuracy of the predictions that, for each training row, come from the trees trained
        without it. Only if trees are trained on a part of the rows (`max_samples`, `bootstrap`).
    oob_decision_function_ : array of shape (n_rows, n_classes)
        The probabilities behind `oob_score_`; NaN for rows that all trees were trained on.

    Examples
    --------
    >>> from bneuralt import BNeuralForestClassifier
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> clf = BNeuralForestClassifier(n_estimators=5, random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.95
    True
    >>> clf.predict(X[::60])
    array([0, 1, 1])
    """

    class_weight: Mapping[Any, float] | str | None = None

    _tree_type = BNeuralTClassifier

    @property
    def oob_decision_function_(self) -> FloatArray:
        """Out-of-bag probabilities of each row; NaN for rows that all trees were trained on."""
        return self._out_of_bag("oob_decision_function_")


@declared
@dataclass(kw_only=True, eq=False, repr=False)
class BNeuralForestRegressor(Forest, Regressor, ForestParameters):
    """Average the predictions of several neural trees.

    The trees are drawn and trained independently of each other.

    {parameters}

    Attributes
    ----------
    estimators_ : list of BNeuralTRegressor
        The trees.
    {trees}
    {columns}
    n_outputs_ : int
        Number of columns of y.
    calibration_ : Calibration or None
        Residuals of the rows that were held out by `conformal`; without it, of all rows, if trees
        are trained on a part of the rows.
    oob_score_ : float
        r2 of the predictions that, for each training row, come from the trees trained without it.
        Only if trees are trained on a part of the rows (`max_samples`, `bootstrap`).
    oob_prediction_ : array of shape (n_rows,) or (n_rows, n_columns)
        The predictions behind `oob_score_`; NaN for rows that all trees were trained on.

    Examples
    --------
    >>> from bneuralt import BNeuralForestRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> reg = BNeuralForestRegressor(n_estimators=5, random_state=0).fit(X, y)
    >>> reg.score(X, y) > 0.5
    True
    >>> reg.predict(X[:2]).round(-2)
    array([200., 100.])
    """

    quantiles: ArrayLike = (0.05, 0.5, 0.95)
    conformal: int | float | None = None

    _tree_type = BNeuralTRegressor

    @property
    def oob_prediction_(self) -> FloatArray:
        """Out-of-bag predictions of each row; NaN for rows that all trees were trained on."""
        values = self._out_of_bag("oob_prediction_")
        return values[:, 0] if values.shape[1] == 1 else values
