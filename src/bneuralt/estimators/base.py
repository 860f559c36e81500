"""Base class of all estimators: parameters, `fit`, and attributes that read the fitted model.

`fit` makes one immutable value, `model_`. Every other fitted attribute is a property that reads it,
and every method a function of it. An estimator has no other state: a fit that fails leaves the
model of before (or none), and one that is interrupted by Ctrl-C has the trees that were finished.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache, partial
from os import PathLike
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from bneuralt._sklearn import CallbackSupportMixin, fit_context
from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.estimators.callbacks import TrainingData, reporting, show_unused
from bneuralt.estimators.edits import edits_to_store
from bneuralt.estimators.methods import ModelMethods
from bneuralt.files import format_json, write_atomically
from bneuralt.fitting.finish import FitInterrupted
from bneuralt.fitting.large_integers import warn_of_rounding
from bneuralt.fitting.options import Options, merged_training
from bneuralt.fitting.plan import drawn_seed
from bneuralt.fitting.problem import Problem, read_problem
from bneuralt.fitting.progress import Listen
from bneuralt.frozen_settings import FrozenSettings, is_auto
from bneuralt.model import Model, Recipe
from bneuralt.model.file_writing import model_to_dict
from bneuralt.model.inputs import columns_of, read_features, read_table
from bneuralt.tables.encoder import TableEncoder
from bneuralt.tables.sparse_rows import dense
from bneuralt.training import TrainingSettings
from bneuralt.tree import NeuralTree
from bneuralt.tree.growing import TREE_GROWTH, Growth

__all__ = ["OBJECTS", "NeuralTreeEstimator"]

#: The objects that None stands for.
OBJECTS: Mapping[str, FrozenSettings] = MappingProxyType(
    {"growth": Growth(), "training": TrainingSettings()}
)

_OPTIONS = frozenset(entry.name for entry in fields(Options))

#: Arguments of `fit` of other libraries, and what to use here.
OTHER_NAMES = {
    "eval_set": "X_val and y_val",
    "validation_data": "X_val and y_val",
    "sample_weights": "sample_weight",
    "weight": "sample_weight",
    "callbacks": "callback",
    "epochs": "max_epochs of the constructor",
}


class NeuralTreeEstimator(CallbackSupportMixin, ModelMethods):
    """Base class of all estimators; a subclass says which function of `fitting` fits it."""

    model_: Model

    #: The function that fits a model, and the one that trains for an epoch, if there is one.
    _fit_problem: ClassVar[staticmethod[[Problem, Listen], Model]]
    _fit_part: ClassVar[staticmethod[[Problem], Model] | None] = None
    _holds_many_trees: ClassVar[bool] = False
    _can_learn: ClassVar[bool] = True
    #: Automatic values of `growth`, and fields of `growth` and `training` that are not used.
    _growth_values: ClassVar[Mapping[str, Any]] = TREE_GROWTH
    _unused: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType({})

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        callback: Callable[[Any], Any] | None = None,
        **unknown: Any,
    ) -> Self:
        """Fit the model.

        If an error is raised, the estimator keeps the model that it had before, or has none. After
        Ctrl-C it has the trees that were finished, if there are any.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            A data frame (pandas, polars, Arrow), an array or a sparse matrix. Text, dates and
            missing values are encoded; see `categorical_features`. float64, float32 and uint8
            arrays without missing values are used as they are. Or a table that is read in blocks
            (`bneuralt.open_table`), which has the target too.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)
            The target of each row: a label for classifiers, a number for regressors. With several
            columns: for classifiers 1 where a row has a label and 0 elsewhere (multilabel), for
            regressors several numbers to predict.
        sample_weight : array-like of shape (n_rows,), optional
            Weight of each row. Whole weights with a total of at most ten times the number of rows
            count equal rows: a row of weight 2 is equivalent to two equal rows. All others are
            relative: multiplying them by a constant changes nothing. For a table that is read in
            blocks, also the name of a column.
        X_val, y_val : array-like, optional
            Validation rows, used instead of a part of the training rows.
        callback : callable, optional
            Called with a state object after each epoch (`bneuralt.training.EpochState`) or, by
            forests, after each tree (`bneuralt.fitting.progress.ForestState`). Training stops
            if it returns a true value.
        **unknown
            Raises an error that names the right argument.

        Returns
        -------
        self
        """
        for name in unknown:
            hint = f": use {OTHER_NAMES[name]}" if name in OTHER_NAMES else ""
            raise TypeError(
                f"{type(self).__name__}.fit() got an unexpected keyword argument {name!r}{hint}"
            )
        problem = read_problem(
            self._options(), X, y, sample_weight, X_val, y_val, before=self._before()
        )
        warn_of_rounding(X, problem.encoder)
        listen = partial(reporting, self, TrainingData(X, y, sample_weight), callback)
        try:
            self.model_ = type(self)._fit_problem(problem, listen)
        except FitInterrupted as interruption:
            if interruption.model is not None:
                self.model_ = interruption.model
            raise
        if self.verbose:
            show_unused(self._unused_features())
        return self

    def _before(self) -> Model | None:
        """Return the model that `fit` continues from; None if it starts anew."""
        if not (getattr(self, "warm_start", False) and self.__sklearn_is_fitted__()):
            return None
        return self._trainable()

    def _trainable(self) -> Model:
        """Return the model for further training."""
        if not self.model_.can_learn:
            raise ValueError(
                f"this {type(self).__name__} cannot be trained further, since the scaling of its "
                "training is not known (an old file, or from_torch): fit it with warm_start=False"
            )
        return self.model_.in_scaled_units()

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Self:
        """Train for one epoch on some rows."""
        conformal = getattr(self, "conformal", None)
        if conformal is not None:
            raise ValueError(
                f"conformal={conformal!r} holds out rows of the whole table, and partial_fit "
                "gets a part of it: use fit, or conformal=None"
            )
        before = self._trainable() if self.__sklearn_is_fitted__() else None
        problem = read_problem(
            self._options(), X, y, sample_weight, before=before, classes=classes, in_parts=True
        )
        fit_part = type(self)._fit_part
        assert fit_part is not None
        self.model_ = fit_part(problem)
        return self

    # -- parameters ----------------------------------------------------------------------

    def _options(self) -> Options:
        """Return the parameters as plain values."""
        parameters, name = self.get_params(deep=False), type(self).__name__
        classifies = is_classifier(self)
        values = {key: value for key, value in parameters.items() if key in _OPTIONS}
        values["growth"] = self._object("growth").filled(self._growth_values)
        values["training"] = merged_training(parameters, self._object("training"), classifies, name)
        return Options(
            **values,
            estimator=name,
            is_classifier=classifies,
            seed=drawn_seed(parameters.get("random_state")),
            n_threads=self._n_threads(),
            parameters=parameters,
            tables_in_blocks=self._fit_part is not None,
        )

    def _object(self, name: str) -> Any:
        value = getattr(self, name, None)
        return (
            value if isinstance(value, FrozenSettings) else OBJECTS[name]
        )  # other types are refused

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:  # scikit-learn inspects the signature in each call
        names: list[str] = super()._get_param_names()
        return names

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool
            Whether to include nested parameters, such as `growth__max_depth`.
        """
        parameters: dict[str, Any] = super().get_params(deep=deep)
        if deep:
            for owner in OBJECTS:
                if owner in parameters:
                    inner = self._object(owner).get_params()
                    parameters |= {f"{owner}__{name}": value for name, value in inner.items()}
        return parameters

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters; a nested one, such as `growth__max_depth`, replaces the whole object.

        Parameters
        ----------
        **parameters
            Values by name.

        Returns
        -------
        self
        """
        plain: dict[str, Any] = {}
        inner: dict[str, dict[str, Any]] = {}
        for name, value in parameters.items():
            owner, _, field = name.partition("__")
            if field and owner in OBJECTS and hasattr(self, owner):
                inner.setdefault(owner, {})[field] = value
            else:
                plain[name] = value
        super().set_params(**plain)
        for owner, values in inner.items():
            setattr(self, owner, self._object(owner).set_params(**values))
        return self

    def _validate_params(self) -> None:
        """Check all parameters; raise an error if one is not used."""
        super()._validate_params()
        for owner, names in self._unused.items():
            for name in names:
                value = getattr(self._object(owner), name)
                if not is_auto(value):
                    raise ValueError(
                        f"{name}={value!r} of {owner} has no meaning for {type(self).__name__}: "
                        "leave it out"
                    )
        if getattr(self, "n_weights", None) == "readable" and getattr(self, "warm_start", False):
            raise ValueError(
                "n_weights='readable' cannot be combined with warm_start=True: training would "
                "change the rounded weights; use another n_weights"
            )

    def _n_threads(self) -> int:
        # the core uses at most one thread per processor
        return min(effective_n_jobs(getattr(self, "n_jobs", None)), 2**31 - 1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        return tags

    # -- the fitted model ----------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in self.__dict__

    def _fitted(self) -> Model:
        """Return the fitted model; an estimator that is not fitted raises an error."""
        if "model_" not in self.__dict__:
            check_is_fitted(self)
        return self.model_

    def _raw(self) -> Model:
        """Return the fitted model in raw units."""
        return self._fitted().in_raw_units()

    def _attribute(self, name: str, value: Any) -> Any:
        """Return a fitted attribute; raise an AttributeError if the model does not have it."""
        if value is None:
            raise AttributeError(f"this {type(self).__name__} has no {name}")
        return value

    def _read_features(self, X: Any) -> Any:
        return read_features(self._fitted(), X)

    def _checked_table(self, X: Any) -> Any:
        """Return a table after scikit-learn has checked its columns."""
        model = self._fitted()
        return dense(read_table(X, model.kind, columns_of(model))[0])

    @property
    def _model_or_error(self) -> Model:
        """The fitted model, for attributes, which are absent before a fit."""
        if "model_" not in self.__dict__:
            raise AttributeError(f"this {type(self).__name__} is not fitted yet")
        return self.model_

    @property
    def n_features_in_(self) -> int:
        """Number of features: columns of X."""
        return len(self._model_or_error.encoder.features)

    @property
    def feature_names_in_(self) -> Array:
        """Names of the features, if X had names that are all strings."""
        names = self._model_or_error.encoder.names
        return np.array(self._attribute("feature_names_in_", names), dtype=object)

    @property
    def encoder_(self) -> TableEncoder:
        """How columns become inputs of trees."""
        return self._model_or_error.encoder

    @property
    def target_names_(self) -> tuple[str, ...]:
        """Names of the columns of the target; empty if it had none."""
        return self._model_or_error.target_names

    @property
    def recipe_(self) -> Recipe:
        """All settings of the fit, with their automatic values."""
        recipe: Recipe = self._attribute("recipe_", self._model_or_error.recipe)
        return recipe

    @property
    def tree_(self) -> NeuralTree:
        """The tree, for unscaled inputs; not of forests."""
        trees = self._model_or_error.in_raw_units().trees
        if self._holds_many_trees and len(trees) > 1:
            raise AttributeError(f"this {type(self).__name__} has {len(trees)} trees: estimators_")
        return trees[0]

    @property
    def n_parameters_(self) -> int:
        """Number of trainable weights of all trees together."""
        return self._model_or_error.in_raw_units().n_parameters

    @property
    def n_iter_(self) -> int:
        """Number of epochs of the tree that was trained longest."""
        states = self._model_or_error.states
        return int(max(state.n_iter for state in states)) if states else 0

    @property
    def best_epoch_(self) -> int | None:
        """The epoch, counted from 0, whose weights were selected on validation rows."""
        states = self._model_or_error.states
        return states[0].best_epoch if states else None

    @property
    def moved_leaves_(self) -> Mapping[str, IntArray] | None:
        """For each feature, how many leaves were moved to it, and how many stayed."""
        states = self._model_or_error.states
        return states[0].moved_leaves if states else None

    @property
    def history_(self) -> dict[str, Array]:
        """Loss, score and learning rate of each epoch."""
        states = self._model_or_error.states
        history = dict(states[0].history) if states else {}
        found: dict[str, Array] = self._attribute("history_", history or None)
        return found

    @property
    def feature_importances_(self) -> FloatArray:
        """Share of each feature in the mean absolute contributions to the outputs of the trees.

        The contributions are those of `explain` to the scores (of classifiers) or to the
        predictions, for up to 1,000 training rows and compared with their mean; `fit` computes
        them. They add up to 1.
        """
        importances = self._fitted().importances
        if importances is None:
            raise AttributeError(
                f"this {type(self).__name__} has no feature_importances_, which fit computes from "
                "the training rows: use explain(X).importances"
            )
        return importances

    @property
    def compaction_(self) -> Any:
        """Sizes and scores of smaller models, if this one was made smaller."""
        return self._attribute("compaction_", self._model_or_error.compaction)

    @property
    def edits_(self) -> list[Mapping[str, Any]]:
        """What was edited by hand after training."""
        edits: list[Mapping[str, Any]] = self._attribute(
            "edits_", list(self._model_or_error.edits) or None
        )
        return edits

    @property
    def extra_(self) -> Mapping[str, Any]:
        """Content that was added to the file of the model."""
        return self._model_or_error.extra

    def _unused_features(self) -> list[str]:
        """Return the names of the features that no leaf of any tree uses."""
        model = self.model_
        n_leaves = np.sum([tree.input_counts for tree in model.trees], axis=0)
        n_leaves = np.bincount(
            model.encoder.groups, n_leaves, minlength=len(model.encoder.features)
        )
        return [model.encoder.name(i) for i in np.flatnonzero(n_leaves == 0).tolist()]

    # -- copies and files ----------------------------------------------------------------

    def _with_model(self, model: Model) -> Self:
        """Return an estimator of the same parameters with another model."""
        other = type(self)(**self.get_params(deep=False))
        other.model_ = model
        return other

    def _file_content(self, model: Model, extra: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return what `save` writes."""
        return model_to_dict(model, self.get_params(deep=False), edits_to_store(model), extra)

    def save(self, path: str | PathLike[str], extra: dict[str, Any] | None = None) -> None:
        """Write the model to a JSON file; `bneuralt.load_model` reads it.

        The file is written in full or not at all. It holds everything that predictions need.

        Parameters
        ----------
        path : str or path-like
            File to write; an existing one is replaced.
        extra : dict, optional
            Any other content that JSON can represent; the loaded model has it as `extra_`.
        """
        content = self._file_content(self._fitted(), extra)
        content["kind"] = self._registered_kind()
        write_atomically(path, format_json(content) + "\n")

    def _registered_kind(self) -> str:
        from bneuralt.estimators.kinds import kind_of

        return kind_of(self)
