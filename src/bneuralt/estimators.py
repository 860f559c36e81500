"""Scikit-learn estimators: one tree, trained by backpropagation.

A fit reads the input, makes rows of it, draws a tree, trains it, and folds the scaling into its
weights. How rows are prepared is in `rows` and `scaling`, how trees are drawn in `generate`,
training in `training`, and the parameters with their defaults in `parameters`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from bneuralt.losses import check_loss
from bneuralt.parameters import (
    PAPER_SETTINGS,
    ClassifierParameters,
    RegressorParameters,
    TreeParameters,
    declared,
)
from bneuralt.progress import (
    CallbackSupportMixin,
    Report,
    Step,
    TrainingData,
    describe_epoch,
    reporting,
)
from bneuralt.rows import (
    Rows,
    canonical_rows,
    class_weights,
    hold_out,
    read_features,
    read_training,
    read_weights,
)
from bneuralt.sampling import FeatureSampler
from bneuralt.scaling import Scaling, fold, learn_scaling
from bneuralt.training import (
    OptimizerState,
    TrainingInterrupted,
    TrainingResult,
    TrainingSettings,
    train,
)
from bneuralt.tree import NeuralTree

__all__ = ["PAPER_SETTINGS", "BNeuralTClassifier", "BNeuralTRegressor"]


# -- what trees and forests share ---------------------------------------------------------


class NeuralTreeEstimator(CallbackSupportMixin, BaseEstimator, TreeParameters):
    """Reads the input of a fit, and leaves the rest to `_fit_rows`."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        callback: Callable[[Any], Any] | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Numbers, none of them missing. float64, float32 and uint8 tables are used as they are.
        y : array-like of shape (n_rows,)
            The target of each row: a label for classifiers, a number for regressors.
        sample_weight : array-like of shape (n_rows,), optional
            How much each row counts. A row of weight 2 is exactly two equal rows.
        X_val, y_val : array-like, optional
            Validation rows, to be used instead of a part of the training rows.
        callback : callable, optional
            Called with a state object after each epoch (`bneuralt.training.EpochState`) or, by
            forests, after each tree (`bneuralt.progress.ForestState`). Training stops if it
            returns something true.

        Returns
        -------
        self
        """
        rows = self._read_rows(X, y, sample_weight, reset=not self._goes_on())
        validation = self._read_validation_rows(X_val, y_val)
        data = TrainingData(X, y, sample_weight)
        with reporting(self, self._step(), data, callback) as report:
            self._fit_rows(rows.with_mean_weight_one(), validation, report)
        return self

    def _goes_on(self) -> bool:
        return self.warm_start and self.__sklearn_is_fitted__()

    def _read_rows(
        self, X: Any, y: Any, sample_weight: Any, reset: bool, classes: Any = None
    ) -> Rows:
        """Read training rows; with `reset`, their features and classes are those of the model."""
        X, y = read_training(self, X, y, reset)
        weight = read_weights(sample_weight, X)
        if reset:
            self._learn_classes(y[weight > 0] if classes is None else classes)
        y = self._encode(y, weight)
        return canonical_rows(X, y, self._weigh(y, weight))

    def _read_validation_rows(self, X_val: Any, y_val: Any) -> Rows | None:
        if X_val is None and y_val is None:
            return None
        if X_val is None or y_val is None:
            missing = "X_val" if X_val is None else "y_val"
            raise ValueError(f"{missing} is missing: validation rows need both X_val and y_val")
        X, y = read_training(self, X_val, y_val, reset=False)
        weight = np.ones(len(y))
        return Rows(X, self._encode(y, weight, "y_val"), weight)

    def _read_features(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return read_features(self, X)

    def _draw_seed(self) -> int:
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _n_threads(self) -> int:
        return effective_n_jobs(self.n_jobs)

    def save(self, path: str | PathLike[str], extra: dict[str, Any] | None = None) -> None:
        """Write the model to a JSON file; `bneuralt.load_model` reads it.

        The file is written in full or not at all, and holds all that predicting needs.

        Parameters
        ----------
        path : str or path-like
            File to write; an existing one is replaced.
        extra : dict, optional
            Anything else that JSON can hold; the loaded model has it as `extra_`.
        """
        from bneuralt.model_file import save_model

        check_is_fitted(self)
        save_model(self, path, extra)


class ClassifierTask(ClassifierMixin):
    """Targets are labels; predictions come from one score for each class."""

    _score_name = "accuracy"

    def _learn_classes(self, y: Any) -> None:
        try:
            check_classification_targets(y)
            classes = np.unique(y)
        except TypeError as error:
            kinds = ", ".join(sorted({type(label).__name__ for label in y}))
            raise TypeError(
                f"the labels in y, of type {kinds}, cannot be used: {error}. Make them all "
                "numbers or all text, for instance with y.astype(str)"
            ) from None
        if classes.size < 2:
            raise ValueError(
                f"{type(self).__name__} needs rows of at least 2 classes, and y has only one "
                f"class: {classes.tolist()[0]!r}"
            )
        self.classes_ = classes

    def _encode(self, y: np.ndarray, weight: np.ndarray, name: str = "y") -> np.ndarray:
        """Return the class of each row as a position in `classes_`; rows of weight 0 may err."""
        index = np.searchsorted(self.classes_, y).clip(max=self.classes_.size - 1)
        unknown = (self.classes_[index] != y) & (weight > 0)
        if unknown.any():
            raise ValueError(
                f"{name} has a label that is not among the classes: {y[unknown].tolist()[0]!r}; "
                f"they are {', '.join(map(repr, self.classes_.tolist()))}"
            )
        return index.astype(np.int32)

    def _weigh(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return class_weights(self.class_weight, self.classes_, y, weight)

    def _n_outputs(self) -> int:
        return self.classes_.size

    def _learn_target_scaling(self, rows: Rows, constant: float) -> Scaling | None:
        return None

    def _error_unit(self, rows: Rows) -> float:
        return 1.0

    def predict(self, X: Any) -> np.ndarray:
        """Predict the label of each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows,)
            Labels, out of `classes_`.
        """
        best = self._scores(self._read_features(X)).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows, n_classes)
            Columns in the order of `classes_`.
        """
        return softmax(self._scores(self._read_features(X)))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Predict the logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows, n_classes)
            Columns in the order of `classes_`.
        """
        scores = self._scores(self._read_features(X))
        return log_softmax(scores.astype(np.float64), axis=1)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores whose softmax is `predict_proba`.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows, n_classes), or (n_rows,) if there are two classes
            With two classes, the score of the second less that of the first.
        """
        scores = self._scores(self._read_features(X)).astype(np.float64)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


class RegressorTask(RegressorMixin):
    """Targets are numbers, scaled while the tree is trained."""

    _score_name = "r2"

    def _learn_classes(self, y: Any) -> None:
        """Regression has none."""

    def _encode(self, y: np.ndarray, weight: np.ndarray, name: str = "y") -> np.ndarray:
        return np.asarray(y, dtype=np.float64)

    def _weigh(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return weight

    def _n_outputs(self) -> int:
        return 1

    def _learn_target_scaling(self, rows: Rows, constant: float) -> Scaling | None:
        kind = "standard" if self.output_activation == "linear" else "minmax"
        return learn_scaling(kind, rows.y[:, np.newaxis], rows.weight, constant)

    def _error_unit(self, rows: Rows) -> float:
        """Return the error of always predicting the mean: what r2 compares errors with."""
        mean = np.average(rows.y, weights=rows.weight)
        return float(np.average(np.square(rows.y - mean), weights=rows.weight)) or 1.0

    def predict(self, X: Any) -> np.ndarray:
        """Predict the target of each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows,)
        """
        return self._values(self._read_features(X))


# -- one tree -----------------------------------------------------------------------------


class SingleTree(NeuralTreeEstimator):
    """Draws a tree, trains it, and folds the scaling into it."""

    tree_: NeuralTree
    n_iter_: int
    best_epoch_: int | None
    history_: dict[str, np.ndarray]
    _trained_tree: NeuralTree  # as it came out of training: for scaled features
    _optimizer_state: OptimizerState | None

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "tree_")

    @property
    def n_parameters_(self) -> int:
        """Number of trainable weights of the tree."""
        return self.tree_.n_parameters

    def _step(self) -> Step:
        n_epochs = self.max_epochs * (2 if self.early_stopping == "refit" else 1)
        return Step("epoch", n_epochs, partial(describe_epoch, score_name=self._score_name))

    def _fit_rows(self, rows: Rows, validation: Rows | None, report: Report | None) -> None:
        goes_on = self._goes_on()
        structure, split, order = np.random.default_rng(self._draw_seed()).spawn(3)
        seed = int(order.integers(2**63))
        settings = self._settings()
        training = rows
        if validation is None and settings.select is not None:
            training, validation = hold_out(rows, self.validation_fraction, split)
        if validation is None:
            settings = replace(settings, select=None, patience=None)

        start = self._last_tree() if goes_on else self._draw_tree(training, structure)
        self._train(start, training, validation, settings, seed, report)

        if self.early_stopping == "refit" and training is not rows and self.best_epoch_ is not None:
            search = self.history_, self.best_epoch_
            settings = replace(
                settings, max_epochs=self.best_epoch_ + 1, select=None, patience=None
            )
            if not goes_on:
                self._learn_scaling(rows)
            self._train(start, rows, None, settings, seed, report)
            self.history_, self.best_epoch_ = search

    def _settings(self) -> TrainingSettings:
        label_smoothing = getattr(self, "label_smoothing", 0.0)
        check_loss(self.loss, self._n_outputs(), self.output_activation, label_smoothing)
        return TrainingSettings(
            loss=self.loss,
            label_smoothing=label_smoothing,
            optimizer=self.optimizer,
            learning_rate=self.learning_rate,
            schedule=self.schedule,
            weight_decay=self.weight_decay,
            clip_norm=self.clip_norm,
            batch_size=self.batch_size,
            max_epochs=self.max_epochs,
            select=self.select or ("epoch" if self.early_stopping else None),
            monitor=self.monitor,
            patience=self.n_iter_no_change if self.early_stopping else None,
        )

    def _draw_tree(self, rows: Rows, rng: np.random.Generator, constant: float = 0.0) -> NeuralTree:
        """Learn the scaling, and draw a tree that uses the features that vary."""
        self._learn_scaling(rows, constant)
        return NeuralTree.random(
            self.n_features_in_,
            self._n_outputs(),
            self.max_depth,
            self.max_children,
            self.leaf_probability,
            min_children=self.min_children,
            min_size=self.min_size,
            max_size=self.max_size,
            n_weights=self.n_weights,
            init=self.init,
            init_scale=self.init_scale,
            activation=self.activation,
            output_activation=self.output_activation,
            feature_sampling=self._leaf_probabilities(rows),
            dtype=self.dtype,
            random_state=rng,
        )

    def _learn_scaling(self, rows: Rows, constant: float = 0.0) -> None:
        self._input_scaling = learn_scaling(self.scale, rows.X, rows.weight, constant)
        self._target_scaling = self._learn_target_scaling(rows, constant)

    def _leaf_probabilities(self, rows: Rows) -> Any:
        """Return `feature_sampling`, with no chance for features that do not vary."""
        if isinstance(self.feature_sampling, FeatureSampler):
            return self.feature_sampling.learn(rows.X, rows.weight)
        if callable(self.feature_sampling) or self._input_scaling is None:
            return self.feature_sampling
        chances = np.ones(self.n_features_in_)
        if self.feature_sampling is not None:
            chances = np.asarray(self.feature_sampling, dtype=np.float64)
        if chances.shape != (self.n_features_in_,):
            return chances  # to be refused
        varying = chances * (self._input_scaling.factor != 0.0)
        return varying if varying.any() else chances

    def _train(
        self,
        tree: NeuralTree,
        rows: Rows,
        validation: Rows | None,
        settings: TrainingSettings,
        seed: int,
        report: Report | None,
        optimizer_state: Any = None,
    ) -> TrainingResult:
        """Train a tree and keep what comes out, also if Ctrl-C cuts it short."""
        rows = rows.with_scaled_target(self._target_scaling)
        if validation is not None:
            validation = validation.with_scaled_target(self._target_scaling)

        X, y, weight = rows.arrays
        unit = self._error_unit(rows if validation is None else validation)

        def tell(state: Any) -> bool:
            assert report is not None
            error = state.train_error if validation is None else state.val_error
            return report(state, 1.0 - error / unit, lambda: self._attributes_at(state))

        try:
            result = train(
                tree,
                X,
                y,
                settings=settings,
                seed=seed,
                sample_weight=weight,
                validation=None if validation is None else validation.arrays,
                input_scaling=self._input_scaling,
                n_threads=self._n_threads(),
                callback=tell if report else None,
                optimizer_state=optimizer_state,
            )
        except TrainingInterrupted as interruption:
            self._keep(interruption.result, rows, validation)
            raise
        self._keep(result, rows, validation)
        return result

    def _keep(self, result: TrainingResult, rows: Rows, validation: Rows | None) -> None:
        self._trained_tree = result.tree
        self._optimizer_state = None
        self.tree_ = self._fold(result.tree)
        self.n_iter_ = result.n_epochs
        self.best_epoch_ = result.best_epoch
        self.history_ = {}
        for kind, judged in {"train": rows, "val": validation}.items():
            if judged is not None:
                error = result.history[f"{kind}_error"] / self._error_unit(judged)
                self.history_[f"{kind}_loss"] = result.history[f"{kind}_loss"]
                self.history_[f"{kind}_score"] = 1.0 - error
        self.history_["learning_rate"] = result.history["learning_rate"]

    def _attributes_at(self, state: Any) -> dict[str, Any] | None:
        """Return what makes a copy of this estimator one that is fitted up to `state`."""
        tree = getattr(state, "tree", None)
        return None if tree is None else {"tree_": self._fold(tree)}

    def _fold(self, tree: NeuralTree) -> NeuralTree:
        return fold(tree, self._input_scaling, self._target_scaling)

    def _last_tree(self) -> NeuralTree:
        if not hasattr(self, "_trained_tree"):
            raise ValueError(
                f"this {type(self).__name__} was loaded from a file, which holds what predicting "
                "needs: it cannot be trained further. Fit it anew with warm_start=False."
            )
        return self._trained_tree

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Self:
        """Go once over the rows, with the scaling of the first call and no end in sight."""
        is_first = not self.__sklearn_is_fitted__()
        rows = self._read_rows(X, y, sample_weight, is_first, classes)
        seed, n_before, earlier, state = self._draw_seed(), 0, {}, None
        if is_first:
            # What does not vary among the first rows may do so among later ones.
            tree = self._draw_tree(rows, np.random.default_rng(seed), constant=1.0)
        else:
            tree, state = self._last_tree(), self._optimizer_state
            n_before, earlier = self.n_iter_, self.history_
        settings = replace(
            self._settings(), max_epochs=1, schedule="constant", select=None, patience=None
        )
        result = self._train(tree, rows, None, settings, seed + n_before, None, state)
        self._optimizer_state = result.optimizer_state
        self.n_iter_ += n_before
        for name, figures in self.history_.items():
            self.history_[name] = np.concatenate([earlier.get(name, []), figures])
        return self


def outputs_of(tree: NeuralTree, X: np.ndarray, n_threads: int) -> np.ndarray:
    """Return the outputs of a tree, none of them infinite."""
    outputs = tree.forward(X, n_threads)
    finite = np.isfinite(outputs)
    if not finite.all():
        raise ValueError(
            f"row {int(np.argmin(finite.all(axis=1)))} of X has values too large for a tree that "
            f"computes in {tree.dtype}: they are far beyond those that it was trained on"
        )
    return outputs


def scores_of(tree: NeuralTree, X: np.ndarray, n_threads: int) -> np.ndarray:
    """Return a score for each class; the softmax of the scores are the probabilities."""
    outputs = outputs_of(tree, X, n_threads)
    if tree.output_activation == "linear":
        return outputs
    return np.log(np.maximum(outputs, np.finfo(outputs.dtype).tiny))  # softmax undoes the log


def softmax(scores: np.ndarray) -> np.ndarray:
    """Return probabilities of the classes, computed column by column: much faster than by row."""
    columns = np.array(scores.T, dtype=np.float64, order="C")
    columns -= columns.max(axis=0)
    np.exp(columns, out=columns)
    columns /= columns.sum(axis=0)
    return columns.T


# -- the public classes -------------------------------------------------------------------


@declared
class BNeuralTClassifier(ClassifierTask, SingleTree, ClassifierParameters):
    """A classifier that is one small tree of neurons.

    The tree is drawn at random, with one subtree for each class, and all its weights are trained
    by backpropagation. Features are scaled on the way, so there is no need for a scaler.

    {parameters}

    Attributes
    ----------
    tree_ : NeuralTree
        The trained tree; it works on raw features. `tree_.forward(X)` gives the scores of the
        classes without any checks or conversions by scikit-learn.
    classes_ : array of shape (n_classes,)
        The labels.
    n_parameters_ : int
        Number of trainable weights.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X had names that are all strings.
    n_iter_ : int
        Number of epochs run.
    history_ : dict of arrays
        For each epoch: `train_loss`, `train_score` (accuracy), `learning_rate` and, where there
        were validation rows, `val_loss` and `val_score`. Training figures are means over the
        updates of the epoch.
    best_epoch_ : int or None
        The epoch, counted from 0, whose weights were selected on validation rows.

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

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Go once over some rows, and keep the state of the optimizer for the next call.

        The features are scaled as the rows of the first call suggest. The learning rate is
        constant, and sample weights count as they are.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        classes : array-like of shape (n_classes,), optional
            All labels that may ever occur; needed in the first call.
        sample_weight : array-like of shape (n_rows,), optional

        Returns
        -------
        self
        """
        is_first = not self.__sklearn_is_fitted__()
        if is_first and classes is None:
            raise ValueError("classes must be given in the first call of partial_fit")
        if (
            not is_first
            and classes is not None
            and not np.array_equal(np.unique(classes), self.classes_)
        ):
            raise ValueError(
                f"classes={np.unique(classes).tolist()!r} are not those of the first call, "
                f"{self.classes_.tolist()!r}"
            )
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' needs to see all rows at once, partial_fit does not: "
                "give the weights as a dict, or sample_weight"
            )
        return self._partial_fit(X, y, sample_weight, classes)

    def _scores(self, X: np.ndarray) -> np.ndarray:
        return scores_of(self.tree_, X, self._n_threads())


@declared
class BNeuralTRegressor(RegressorTask, SingleTree, RegressorParameters):
    """A regressor that is one small tree of neurons.

    The tree is drawn at random, and all its weights are trained by backpropagation. Features and
    target are scaled on the way, so there is no need for a scaler.

    {parameters}

    Attributes
    ----------
    tree_ : NeuralTree
        The trained tree, from raw features to the target in its own units. `tree_.forward(X)`
        predicts without any checks or conversions by scikit-learn.
    n_parameters_ : int
        Number of trainable weights.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X had names that are all strings.
    n_iter_ : int
        Number of epochs run.
    history_ : dict of arrays
        For each epoch: `train_loss` (of the scaled target), `train_score` (r2), `learning_rate`
        and, where there were validation rows, `val_loss` and `val_score`. Training figures are
        means over the updates of the epoch.
    best_epoch_ : int or None
        The epoch, counted from 0, whose weights were selected on validation rows.

    Examples
    --------
    >>> from bneuralt import BNeuralTRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> reg = BNeuralTRegressor(random_state=0).fit(X, y)
    >>> reg.score(X, y) > 0.5
    True
    """

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Go once over some rows, and keep the state of the optimizer for the next call.

        Features and target are scaled as the rows of the first call suggest. The learning rate
        is constant, and sample weights count as they are.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        sample_weight : array-like of shape (n_rows,), optional

        Returns
        -------
        self
        """
        return self._partial_fit(X, y, sample_weight)

    def _values(self, X: np.ndarray) -> np.ndarray:
        return outputs_of(self.tree_, X, self._n_threads())[:, 0].astype(np.float64)
