"""The two protocols: which rows are used for training, for selection, and for the test score.

An algorithm gets its training rows and monitored rows from a `Partition`, and passes its prediction
function to it to be scored. It never handles row indices, so the protocol alone determines which
rows it can use.

Both protocols shuffle the rows with a seed that depends only on the number of the run, as paired
tests require: run 7 has the same training and test rows for all algorithms and both protocols.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bneuralt_paper._typing import Array, FloatArray, IntArray

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

Rows = tuple[FloatArray, Array]


def derive_seed(run: int, purpose: str, dataset: str = "") -> int:
    """Return the seed for one purpose in one run, the same for all algorithms.

    The seeds of splits do not depend on the data set. Those of trees do: otherwise one lucky tree
    would influence the scores of all data sets in a mean.

    Examples
    --------
    >>> derive_seed(0, "split") == derive_seed(0, "split") != derive_seed(0, "training")
    True
    """
    state = np.random.SeedSequence([run, _PURPOSES.index(purpose), *dataset.encode()])
    return int(state.generate_state(1)[0])


@dataclass(frozen=True, eq=False)
class Problem:
    """A data set in numeric form.

    Attributes
    ----------
    name : str
    task : {"classification", "regression"}
    X : ndarray of shape (n_rows, n_inputs), float64
    y : ndarray of shape (n_rows,)
        Class indices (int32) or target values (float64).
    n_classes : int
        0 for regression.
    checksum : str
        The checksum of the data set, from `load_dataset`.
    """

    name: str
    task: str
    X: FloatArray
    y: Array
    n_classes: int
    checksum: str = ""

    @classmethod
    def from_dataset(cls, dataset: Any) -> Problem:
        """Convert a data set that `load_dataset` returned."""
        X = np.ascontiguousarray(dataset.X, dtype=np.float64)
        y: Array = np.asarray(dataset.y)
        n_classes = 0
        if dataset.task == "regression":
            y = y.astype(np.float64)
        else:
            classes, codes = np.unique(y, return_inverse=True)
            y, n_classes = codes.astype(np.int32), len(classes)
        return cls(dataset.name, dataset.task, X, y, n_classes, dataset.checksum)


@dataclass(frozen=True)
class Scores:
    """Accuracies or r2 of a trained model, and its prediction time per example."""

    train: float
    validation: float | None
    test: float
    predict_seconds: float


@dataclass(frozen=True)
class Outcome:
    """The results of one finished run."""

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
    """The scaled rows of one run, with access as the protocol allows it.

    Attributes
    ----------
    name, task, n_classes
        See `Problem`.
    """

    name: str
    task: str
    n_classes: int
    _X: FloatArray
    _y: Array
    _train: IntArray
    _fit: IntArray
    _validation: IntArray
    _test: IntArray
    _monitors_test: bool
    _is_scored: bool = False

    def _rows(self, index: IntArray) -> Rows:
        return self._X[index], self._y[index]

    def training_rows(self, selects: bool) -> Rows:
        """Return the rows to train on.

        Parameters
        ----------
        selects : bool
            Whether the algorithm stops early or selects weights, and so needs monitored rows.
        """
        return self._rows(self._fit if selects else self._train)

    def monitored_rows(self, selects: bool) -> Rows | None:
        """Return the rows for learning curves, early stopping and selection, or None."""
        if self._monitors_test:
            return self._rows(self._test)
        return self._rows(self._validation) if selects else None

    def score(self, predict: Callable[[FloatArray], Array], selects: bool) -> Scores:
        """Return the scores of a trained model.

        Unless the protocol monitors the test rows, it can be called only once.

        Parameters
        ----------
        predict : callable
            Returns class indices, or targets on the scale of `training_rows`.
        selects : bool
            See `training_rows`.
        """
        if self._is_scored and not self._monitors_test:
            raise RuntimeError("the test rows have been used: a partition scores one model only")
        self._is_scored = True
        X_test, y_test = self._rows(self._test)
        seconds = math.inf
        for _ in range(3):
            start = time.perf_counter()
            predicted = predict(X_test)
            seconds = min(seconds, time.perf_counter() - start)
        validation = None
        if selects and not self._monitors_test:
            X, y = self._rows(self._validation)
            validation = self._accuracy_or_r2(y, predict(X))
        X, y = self.training_rows(selects)
        return Scores(
            train=self._accuracy_or_r2(y, predict(X)),
            validation=validation,
            test=self._accuracy_or_r2(y_test, predicted),
            predict_seconds=seconds / len(X_test),
        )

    def _accuracy_or_r2(self, y: Array, predicted: Array) -> float:
        """Return the accuracy, or r2, which does not depend on the scale of the target."""
        if self.n_classes:
            return float(np.mean(y == predicted))
        total = np.sum((y - y.mean()) ** 2)
        residual = np.sum((y - np.asarray(predicted, dtype=np.float64)) ** 2)
        return float(1.0 - residual / total) if total > 0 else math.nan


class Protocol:
    """How rows are split, scaled and used; see `PaperProtocol` and `HonestProtocol`.

    `follows_authors_program` is whether training reproduces two peculiarities of the authors'
    program, see `bneuralt_paper.experiments.neural_trees`.
    """

    name: str
    scaling: str
    selection: str
    follows_authors_program: bool
    _scales_on_all_rows: bool
    _monitors_test: bool

    def describe(self) -> dict[str, str]:
        """Return the description that is stored with every result."""
        return {"protocol": self.name, "scaling": self.scaling, "selection": self.selection}

    def partition(self, problem: Problem, run: int) -> Partition:
        """Return the rows of one run.

        Parameters
        ----------
        problem : Problem
        run : int
            Number of the run, counted from 0.
        """
        n = len(problem.X)
        order = np.random.default_rng(derive_seed(run, "split")).permutation(n)
        train, test = np.split(order, [int(_TRAINING_SHARE * n)])
        fit, validation = np.split(train, [int(_FIT_SHARE * len(train))])
        scaled_by = order if self._scales_on_all_rows else train
        return Partition(
            problem.name,
            problem.task,
            problem.n_classes,
            _scaled(problem.X, scaled_by),
            problem.y if problem.n_classes else _scaled(problem.y, scaled_by),
            train,
            train if self._monitors_test else fit,
            validation,
            test,
            self._monitors_test,
        )


class PaperProtocol(Protocol):
    """The paper's protocol, which selects weights on the rows that they are scored on.

    Inputs and regression targets are scaled to [0, 1] by the minimum and maximum of ALL rows. 80 %
    of the rows are used for training. Early stopping and selection use the TEST rows, on which the
    model is then scored. For algorithms that select, the scores are therefore the best test scores
    during training, not estimates of the performance on new data.
    """

    name = "paper"
    scaling = "min-max on all rows, test rows included"
    selection = "on the test rows, where it is also scored"
    follows_authors_program = True
    _scales_on_all_rows = True
    _monitors_test = True


class HonestProtocol(Protocol):
    """The same training and test rows, with the test rows used for the final score only.

    Scaling uses the training rows. An algorithm that stops early or selects weights is trained on
    the first 80 % of the training rows and monitors the rest; any other is trained on all training
    rows. The test rows are used once, to score the trained model.
    """

    name = "honest"
    scaling = "min-max on the training rows"
    selection = "on a validation part of the training rows; test rows used once"
    follows_authors_program = False
    _scales_on_all_rows = False
    _monitors_test = False


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
            f"protocol={name!r} is unknown: choose one of {', '.join(PROTOCOLS)}"
        ) from None


def _scaled(values: Array, rows: IntArray) -> FloatArray:
    """Scale values so that those of the given rows span [0, 1]; constant columns become 0."""
    low, high = values[rows].min(axis=0), values[rows].max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    return np.ascontiguousarray((values - low) / width)
