"""Neural trees for streams, with the interface of river: one example at a time.

The first examples are collected. Then the tree is drawn, the scaling is learnt from them, and they
are learnt; each later example is one update of the weights, at a constant rate. Features and labels
are those of the first examples: a feature that is absent later is a missing value, and new features
and labels are ignored with a warning. docs/streams.md has examples and figures.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter, deque
from collections.abc import Hashable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from bneuralt import BNeuralTClassifier, BNeuralTRegressor, TrainingSettings
from bneuralt.tables.value_warnings import MissingValuesWarning, UnseenValuesWarning

try:
    from river import base
except ModuleNotFoundError:
    raise ModuleNotFoundError(
        "bneuralt.river needs the package river: pip install 'bneuralt[river]'", name="river"
    ) from None

__all__ = ["NeuralTreeClassifier", "NeuralTreeRegressor"]

_Row = Mapping[Hashable, Any]


class _Stream(base.Estimator):
    """Base class of both models: examples, their table, and updates."""

    grace_period: int
    n_weights: int
    learning_rate: float
    n_epochs: int
    batch_size: int
    weight_decay: float
    loss: str
    seed: int | None

    def _begin(self) -> None:
        """Check the parameters, and set what is learnt to nothing."""
        for name, least in (("grace_period", 2), ("n_epochs", 1), ("batch_size", 1)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ValueError(f"{name}={value!r} must be a whole number from {least} on")
        self._estimator: BaseEstimator | None = None
        self._waiting: deque[tuple[dict[Hashable, Any], Any]] = deque(maxlen=self.grace_period)
        self._features: dict[Hashable, bool] = {}  # whether each is a number
        self._ignored: dict[str, set[Hashable]] = {"feature": set(), "label": set()}

    @property
    def estimator(self) -> Any:
        """The fitted tree, a `BNeuralTClassifier` or `BNeuralTRegressor`; None before it is drawn.

        It can be drawn, explained, saved and exported. Its columns are the features in the order
        of their names, and its classes the positions of the labels.
        """
        return self._estimator

    # -- examples ------------------------------------------------------------------------

    def _checked(self, x: _Row) -> dict[Hashable, Any]:
        """Return a copy of a row: numbers as float, other values as text, None if missing."""
        row: dict[Hashable, Any] = {}
        for name, value in x.items():
            if isinstance(value, (Real, np.bool_)):
                number = float(value)
                if math.isinf(number):
                    raise ValueError(
                        f"the feature {name!r} is {number}: only finite numbers and missing "
                        "values can be learnt"
                    )
                row[name] = None if math.isnan(number) else number
            else:
                row[name] = None if value is None else str(value)
        if self._estimator is not None:
            self._check_features(row)
        return row

    def _check_features(self, row: dict[Hashable, Any]) -> None:
        """Compare a row with the features of the first examples."""
        self._ignore([name for name in row if name not in self._features], "feature")
        for name, is_number in self._features.items():
            value = row.get(name)
            if value is None:
                continue
            if is_number and isinstance(value, str):
                raise ValueError(
                    f"the feature {name!r} is the text {value!r:.50}, and was a number in the "
                    "first examples: convert it, or pass None for a missing value"
                )
            if not is_number and not isinstance(value, str):
                row[name] = str(value)

    def _ignore(self, names: Sequence[Hashable], what: str) -> None:
        """Warn of features or labels that the first examples did not have, once for each."""
        for name in names:
            if name not in self._ignored[what]:
                self._ignored[what].add(name)
                warnings.warn(
                    f"the {what} {name!r} is new and is ignored: only those of the first "
                    f"{self.grace_period} examples are learnt",
                    UserWarning,
                    stacklevel=4,
                )

    def _table(self, rows: Sequence[Mapping[Hashable, Any]]) -> Any:
        """Return rows as an array, one column for each feature."""
        cells = [[row.get(name) for name in self._features] for row in rows]
        if all(self._features.values()):
            return np.array(cells, dtype=np.float64)  # None becomes NaN
        return np.array(cells, dtype=object)

    def _draw_features(self, rows: Sequence[Mapping[Hashable, Any]]) -> None:
        """Choose the features: those that have a value in some of the first examples."""
        seen: dict[Hashable, bool] = {}
        for row in rows:
            for name, value in row.items():
                if value is not None:
                    seen[name] = seen.get(name, True) and not isinstance(value, str)
        self._features = {name: seen[name] for name in sorted(seen, key=repr)}

    # -- learning ------------------------------------------------------------------------

    def _settings(self) -> dict[str, Any]:
        training = TrainingSettings(batch_size=1, loss=self.loss)
        return {
            "n_weights": self.n_weights,
            "learning_rate": self.learning_rate,
            "weight_decay": self.weight_decay,
            "scale": "standard",  # without limits: streams leave the range of their first examples
            "random_state": self.seed,
            "training": training,
        }

    def _learn(self, x: _Row, y: Any) -> None:
        """Keep an example, and learn all that wait if they are enough."""
        self._waiting.append((self._checked(x), y))
        is_first = self._estimator is None
        if len(self._waiting) < (self.grace_period if is_first else self.batch_size):
            return
        rows, targets = zip(*self._waiting, strict=True)
        if not is_first:
            self._waiting.clear()
            self._update(self._estimator, self._table(rows), targets)
        elif self._can_begin(targets):
            self._draw_features(rows)
            for row in rows:
                self._check_features(row)
            estimator, table = self._new_estimator(), self._table(rows)
            for _ in range(self.n_epochs):
                self._update(estimator, table, targets)
            self._waiting.clear()
            self._estimator = estimator

    def _can_begin(self, targets: Sequence[Any]) -> bool:
        raise NotImplementedError

    def _new_estimator(self) -> Any:
        raise NotImplementedError

    def _update(self, estimator: BaseEstimator, table: Any, targets: Sequence[Any]) -> None:
        """Train on some rows, one update for each."""
        _quietly(estimator.partial_fit, table, **self._target(targets))
        estimator.model_ = estimator.model_.without_history()

    def _target(self, targets: Sequence[Any]) -> dict[str, Any]:
        """Return the arguments of `partial_fit` for targets."""
        raise NotImplementedError

    def _outputs(self, predict: Any, x: _Row) -> Any:
        """Return a prediction for one row."""
        return _quietly(predict, self._table([self._checked(x)]))[0]


def _quietly(call: Any, table: Any, **arguments: Any) -> Any:
    """Call a method of an estimator without warnings of missing values and of new texts.

    In a stream, features come and go.
    """
    if table.dtype != object and not np.isnan(table).any():
        return call(table, **arguments)
    with warnings.catch_warnings():
        for category in (MissingValuesWarning, UnseenValuesWarning):
            warnings.simplefilter("ignore", category)
        return call(table, **arguments)


class NeuralTreeClassifier(_Stream, base.Classifier):
    """Classify the examples of a stream with one neural tree.

    Before the tree is drawn, the probabilities are the frequencies of the labels.

    Parameters
    ----------
    grace_period : int
        Number of examples that are collected before the tree is drawn. Their features and labels
        are those that are learnt.
    n_weights : int
        Number of weights of the tree.
    learning_rate : float
        Of all updates.
    n_epochs : int
        How often the collected examples are learnt.
    batch_size : int
        Number of later examples that are learnt together, one update for each. Larger numbers save
        time: a call of the engine takes longer than an update.
    weight_decay : float
        Weight decay of all updates.
    labels : tuple, optional
        All labels, if they are known; otherwise those of the collected examples.
    loss : str
        See `BNeuralTClassifier`.
    seed : int, optional
        Seed of the tree and of the order of updates.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from bneuralt.river import NeuralTreeClassifier
    >>> model = NeuralTreeClassifier(seed=0)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy()).get() > 0.8
    True
    """

    def __init__(
        self,
        grace_period: int = 100,
        n_weights: int = 150,
        learning_rate: float = 0.005,
        n_epochs: int = 50,
        batch_size: int = 10,
        weight_decay: float = 0.0,
        labels: tuple[Any, ...] | None = None,
        loss: str = "auto",
        seed: int | None = None,
    ) -> None:
        self.grace_period = grace_period
        self.n_weights = n_weights
        self.learning_rate = learning_rate
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.weight_decay = weight_decay
        self.labels = labels
        self.loss = loss
        self.seed = seed
        self._begin()
        self._positions: dict[Any, int] = {}
        if labels is not None:
            self._positions = {label: i for i, label in enumerate(dict.fromkeys(labels))}
            if len(self._positions) < 2:
                raise ValueError(f"labels={labels!r} must have two or more different labels")

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_one(self, x: _Row, y: Any) -> None:
        """Learn an example.

        Parameters
        ----------
        x : dict
            Values by the names of features: numbers, texts, None or NaN if missing.
        y : hashable
            The label. A new one is ignored with a warning once the tree is drawn, or if the
            parameter `labels` does not have it.
        """
        if y is None or y != y:
            raise ValueError(f"y={y!r} is not a label")
        is_fixed = self._estimator is not None or self.labels is not None
        if is_fixed and y not in self._positions:
            self._ignore([y], "label")
            return
        self._learn(x, y)

    def predict_proba_one(self, x: _Row, **kwargs: Any) -> dict[Any, float]:
        """Return the probability of each label; 0 for labels that are ignored."""
        if self._estimator is None:
            counts = Counter(y for _, y in self._waiting)
            known = dict.fromkeys(self._positions, 0)
            n = counts.total()
            if n == 0:
                return {label: 1 / len(known) for label in known}
            return {label: count / n for label, count in {**known, **counts}.items()}
        shares = np.asarray(self._outputs(self._estimator.predict_proba, x), dtype=np.float64)
        found = dict(zip(self._positions, (shares / shares.sum()).tolist(), strict=True))
        return found | dict.fromkeys(self._ignored["label"], 0.0)

    def _can_begin(self, targets: Sequence[Any]) -> bool:
        return len(set(targets)) > 1

    def _new_estimator(self) -> Any:
        if self.labels is None:
            labels = sorted({y for _, y in self._waiting}, key=repr)
            self._positions = {label: i for i, label in enumerate(labels)}
        return BNeuralTClassifier(**self._settings())

    def _target(self, targets: Sequence[Any]) -> dict[str, Any]:
        y = np.array([self._positions[label] for label in targets])
        return {"y": y, "classes": np.arange(len(self._positions))}


class NeuralTreeRegressor(_Stream, base.Regressor):
    """Predict numbers of a stream with one neural tree.

    Before the tree is drawn, the prediction is the mean of the targets.

    Parameters
    ----------
    grace_period : int
        Number of examples that are collected before the tree is drawn. Their features are those
        that are learnt.
    n_weights : int
        Number of weights of the tree.
    learning_rate : float
        Of all updates.
    n_epochs : int
        How often the collected examples are learnt.
    batch_size : int
        Number of later examples that are learnt together, one update for each. Larger numbers save
        time: a call of the engine takes longer than an update.
    weight_decay : float
        Weight decay of all updates.
    loss : str
        See `BNeuralTRegressor`; "quantile" is none of them.
    seed : int, optional
        Seed of the tree and of the order of updates.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from bneuralt.river import NeuralTreeRegressor
    >>> model = NeuralTreeRegressor(seed=0)
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE()).get() < 1.0
    True
    """

    def __init__(
        self,
        grace_period: int = 100,
        n_weights: int = 150,
        learning_rate: float = 0.005,
        n_epochs: int = 50,
        batch_size: int = 10,
        weight_decay: float = 0.0,
        loss: str = "auto",
        seed: int | None = None,
    ) -> None:
        self.grace_period = grace_period
        self.n_weights = n_weights
        self.learning_rate = learning_rate
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.weight_decay = weight_decay
        self.loss = loss
        self.seed = seed
        self._begin()

    def learn_one(self, x: _Row, y: Any) -> None:
        """Learn an example.

        Parameters
        ----------
        x : dict
            Values by the names of features: numbers, texts, None or NaN if missing.
        y : float
            The target; a ValueError is raised if it is not a finite number.
        """
        if not isinstance(y, Real) or not math.isfinite(y):
            raise ValueError(f"y={y!r} is not a finite number")
        self._learn(x, float(y))

    def predict_one(self, x: _Row, **kwargs: Any) -> float:
        """Return the predicted number."""
        if self._estimator is None:
            return float(np.mean([y for _, y in self._waiting])) if self._waiting else 0.0
        return float(self._outputs(self._estimator.predict, x))

    def _can_begin(self, targets: Sequence[Any]) -> bool:
        return True

    def _new_estimator(self) -> Any:
        return BNeuralTRegressor(**self._settings())

    def _target(self, targets: Sequence[Any]) -> dict[str, Any]:
        return {"y": np.array(targets)}
