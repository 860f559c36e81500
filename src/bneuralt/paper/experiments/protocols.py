"""The two protocols: which rows an algorithm learns from, may look at, and is judged by.

An algorithm asks its `Partition` for rows to learn from and rows to watch, and hands over a
function that predicts. It never sees row numbers: what it may look at is decided here alone.

Both protocols shuffle the rows with the number of the run and nothing else: run 7 has the same
training and test rows for every algorithm and under both protocols, which paired tests need.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = [
    "PROTOCOLS",
    "HonestProtocol",
    "Outcome",
    "PaperProtocol",
    "Partition",
    "Problem",
    "Protocol",
    "Scores",
    "derive_seed",
    "get_protocol",
]

_PURPOSES = ("split", "structure", "training", "model")
_TRAINING_SHARE = 0.8
_FIT_SHARE = 0.8

Rows = tuple[np.ndarray, np.ndarray]


def derive_seed(run: int, purpose: str, dataset: str = "") -> int:
    """Return the seed of one purpose in one run: equal for all algorithms.

    Splits leave out the data set. Trees must not: the luck of one draw would else count once for
    each data set in the means over them.

    Examples
    --------
    >>> derive_seed(0, "split") == derive_seed(0, "split") != derive_seed(0, "training")
    True
    """
    state = np.random.SeedSequence([run, _PURPOSES.index(purpose), *dataset.encode()])
    return int(state.generate_state(1)[0])


@dataclass(frozen=True, eq=False)
class Problem:
    """A data set as numbers: inputs, and class numbers or target values.

    Attributes
    ----------
    name : str
    task : {"classification", "regression"}
    X : ndarray of shape (n, n_inputs), float64
    y : ndarray of shape (n,), int32 class numbers or float64 targets
    n_classes : int
        0 for regression.
    checksum : str
        Of the numbers, as `bneuralt.load_dataset` has it.
    """

    name: str
    task: str
    X: np.ndarray
    y: np.ndarray
    n_classes: int
    checksum: str = ""

    @classmethod
    def from_dataset(cls, dataset: Any) -> Problem:
        """Take over a data set as `bneuralt.load_dataset` returns it."""
        X = np.ascontiguousarray(dataset.X, dtype=np.float64)
        if dataset.task == "regression":
            y, n_classes = np.asarray(dataset.y, dtype=np.float64), 0
        else:
            classes, codes = np.unique(np.asarray(dataset.y), return_inverse=True)
            y, n_classes = codes.astype(np.int32), len(classes)
        return cls(dataset.name, dataset.task, X, y, n_classes, dataset.checksum)

    @property
    def n_outputs(self) -> int:
        """Number of outputs that a network for this problem has."""
        return self.n_classes or 1


@dataclass(frozen=True)
class Scores:
    """Accuracy or r2 of a finished model, and the time it takes to predict one example."""

    train: float
    validation: float | None
    test: float
    predict_seconds: float


@dataclass(frozen=True)
class Outcome:
    """What one finished run leaves behind."""

    seed: int
    scores: Scores
    fit_seconds: float
    size: int | None = None
    weights: int | None = None
    epochs: int | None = None
    curves: dict[str, list[float]] = field(default_factory=dict)
    tree_json: str | None = None


@dataclass(eq=False)
class Partition:
    """The rows of one run, scaled, with a say in who sees which.

    Attributes
    ----------
    name, task, n_classes
        As in `Problem`.
    """

    name: str
    task: str
    n_classes: int
    _X: np.ndarray
    _y: np.ndarray
    _train: np.ndarray
    _fit: np.ndarray
    _validation: np.ndarray
    _test: np.ndarray
    _watches_test: bool
    _judged: bool = False

    def _rows(self, index: np.ndarray) -> Rows:
        return self._X[index], self._y[index]

    def learn(self, choosing: bool) -> Rows:
        """Return the rows to learn from.

        Parameters
        ----------
        choosing : bool
            Whether the algorithm stops early or chooses among weights, and so needs rows to watch.
        """
        return self._rows(self._fit if choosing else self._train)

    def watch(self, choosing: bool) -> Rows | None:
        """Return the rows that curves, stopping and any choice look at, or None."""
        if self._watches_test:
            return self._rows(self._test)
        return self._rows(self._validation) if choosing else None

    def judge(self, predict: Callable[[np.ndarray], np.ndarray], choosing: bool) -> Scores:
        """Return the scores of a finished model.

        Where the test rows are not to be watched they can be used once: a second call is an error.
        `predict` returns class numbers, or targets on the scale of `learn`.
        """
        if self._judged and not self._watches_test:
            raise RuntimeError("the test rows were used before: a partition judges one model only")
        self._judged = True
        X_test, y_test = self._rows(self._test)
        seconds = math.inf
        for _ in range(3):
            start = time.perf_counter()
            predicted = predict(X_test)
            seconds = min(seconds, time.perf_counter() - start)
        validation = None
        if choosing and not self._watches_test:
            X, y = self._rows(self._validation)
            validation = self._score(y, predict(X))
        X, y = self.learn(choosing)
        return Scores(
            train=self._score(y, predict(X)),
            validation=validation,
            test=self._score(y_test, predicted),
            predict_seconds=seconds / len(X_test),
        )

    def _score(self, y: np.ndarray, predicted: np.ndarray) -> float:
        """Accuracy, or r2, which is the same on any scale of the target."""
        if self.n_classes:
            return float(np.mean(y == predicted))
        total = np.sum((y - y.mean()) ** 2)
        residual = np.sum((y - np.asarray(predicted, dtype=np.float64)) ** 2)
        return float(1.0 - residual / total) if total > 0 else math.nan


class Protocol:
    """How rows are split, scaled and shown; see `PaperProtocol` and `HonestProtocol`."""

    name: str
    scaling: str
    selection: str
    has_authors_oddities: bool
    _scales_on_all_rows: bool
    _watches_test: bool

    def describe(self) -> dict[str, str]:
        """Return what is stored with every result."""
        return {"protocol": self.name, "scaling": self.scaling, "selection": self.selection}

    def partition(self, problem: Problem, run: int) -> Partition:
        """Return the rows of one run.

        Parameters
        ----------
        problem : Problem
        run : int
            Number of the run, from 0.
        """
        n = len(problem.X)
        order = np.random.default_rng(derive_seed(run, "split")).permutation(n)
        train, test = np.split(order, [int(_TRAINING_SHARE * n)])
        fit, validation = np.split(train, [int(_FIT_SHARE * len(train))])
        seen = order if self._scales_on_all_rows else train
        return Partition(
            problem.name,
            problem.task,
            problem.n_classes,
            _scaled(problem.X, seen),
            problem.y if problem.n_classes else _scaled(problem.y, seen),
            train,
            train if self._watches_test else fit,
            validation,
            test,
            self._watches_test,
        )


class PaperProtocol(Protocol):
    """The paper's protocol: its scores are chosen on the rows that they are measured on.

    Inputs, and targets of regression, are scaled to [0, 1] by the least and largest value of ALL
    rows; 80 % of the rows are for training; whatever an algorithm stops by or chooses among, it
    does on the TEST rows, and it is then scored on them. So for algorithms that choose, these are
    the best test scores met on the way, not estimates of what to expect on new data.
    """

    name = "paper"
    scaling = "min-max on all rows, test rows included"
    selection = "on the test rows, where it is also scored"
    has_authors_oddities = True
    _scales_on_all_rows = True
    _watches_test = True


class HonestProtocol(Protocol):
    """The same training and test rows, the test rows kept out of everything but the last score.

    Scaling uses the training rows. An algorithm that stops early or chooses learns from the first
    80 % of the training rows and watches the rest; one that does neither learns from all training
    rows. The test rows are used once, by the finished model.
    """

    name = "honest"
    scaling = "min-max on the training rows"
    selection = "on a validation part of the training rows; test rows used once"
    has_authors_oddities = False
    _scales_on_all_rows = False
    _watches_test = False


PROTOCOLS: dict[str, Protocol] = {p.name: p for p in (PaperProtocol(), HonestProtocol())}


def get_protocol(name: str) -> Protocol:
    """Return a protocol by name.

    Examples
    --------
    >>> get_protocol("honest").selection
    'on a validation part of the training rows; test rows used once'
    """
    try:
        return PROTOCOLS[name]
    except KeyError:
        raise ValueError(
            f"protocol={name!r} is not known: choose one of {', '.join(PROTOCOLS)}"
        ) from None


def _scaled(values: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Scale values so that those at `seen` span [0, 1]; what is constant there becomes 0."""
    low, high = values[seen].min(axis=0), values[seen].max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    return np.ascontiguousarray((values - low) / width)
