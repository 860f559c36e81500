"""Forests that are trained on the partitions of a Dask collection, where these are.

The columns are described from summaries of all partitions, which are merged. Each tree belongs to a
worker and is trained on partitions that this worker holds, so rows do not move between workers. The
tasks of a lost worker are run again by others.
"""

from __future__ import annotations

import importlib
import inspect
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score

from bneuralt._typing import Array, FloatArray
from bneuralt.estimators.forest import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    Forest,
)
from bneuralt.fitting.canonical import canonical_rows
from bneuralt.fitting.finish import finished, new_model
from bneuralt.fitting.forest import Member, limit_weights, rows_of_tree, train_here, tree_seeds
from bneuralt.fitting.options import Options
from bneuralt.fitting.problem import Problem, constrained, learn_from_sample, weighed
from bneuralt.fitting.recipe import resolve
from bneuralt.fitting.rows import Rows
from bneuralt.fitting.target import numbers_in_texts
from bneuralt.fitting.tree import check_max_weights
from bneuralt.fitting.trial import Trial, run_trial
from bneuralt.fitting.value_means import cross_fitted, with_codes
from bneuralt.fitting.weights import MAX_COPIES_PER_ROW, RowWeights
from bneuralt.model import Model, Recipe
from bneuralt.model.inputs import training_inputs
from bneuralt.tables import frames
from bneuralt.tables.block_learning import TableSummary
from bneuralt.tables.columns import Column, DataFrame, Frame
from bneuralt.tables.encoder import categorical_mask
from bneuralt.tables.targets import missing_targets

__all__ = ["ClusterClassifier", "ClusterForest", "ClusterRegressor", "with_client"]

#: Number of rows of the sample from which the columns are described.
SAMPLE_ROWS = 20_000

#: A tree is trained on at most about as many rows of the partitions that its worker holds.
ROWS_PER_TREE = 1_000_000

#: Parameters that need all rows in one place, with the value that turns them off.
REFUSED = {"conformal": None, "warm_start": False}


def with_client(cls: Any) -> Any:
    """Add the parameter `client` to the constructor of a forest."""
    base = inspect.signature(cls.__init__)
    client = inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None)

    def __init__(self: Any, *, client: Any = None, **parameters: Any) -> None:
        super(cls, self).__init__(**parameters)
        self.client = client

    __init__.__signature__ = base.replace(  # type: ignore[attr-defined]
        parameters=[*base.parameters.values(), client]
    )
    cls.__init__ = __init__
    cls._parameter_constraints = {**cls._parameter_constraints, "client": "no_validation"}
    return cls


@dataclass(frozen=True, eq=False)
class PartitionRows:
    """Rows of a partition."""

    frame: Any
    target: Array
    weight: FloatArray

    def __len__(self) -> int:
        return len(self.target)

    def __sizeof__(self) -> int:  # by which Dask decides where to run a task
        size = self.frame.nbytes if hasattr(self.frame, "nbytes") else frames.n_bytes(self.frame)
        return int(size + self.target.nbytes)


class ClusterForest(Forest):
    """Base class of forests over a Dask cluster."""

    client: Any
    _local_type: ClassVar[type[Forest]]

    @property
    def client_(self) -> Any:
        """The Dask client: the one of the constructor, or the current one."""
        distributed: Any = importlib.import_module("distributed")
        return distributed.default_client() if self.client is None else self.client

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **more: Any) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : dask.dataframe.DataFrame or dask.array.Array of shape (n_rows, n_features)
            Other tables are fitted in this process.
        y : dask Series, DataFrame or Array of shape (n_rows,) or (n_rows, n_outputs)
            With the partitions of X.
        sample_weight : dask Series or Array of shape (n_rows,), optional
        **more
            Other arguments of `fit`, for tables in this process.

        Returns
        -------
        self
        """
        if not is_collection(X):
            return super().fit(X, y, sample_weight, **more)
        for name in more:
            raise ValueError(f"{name} is not possible with Dask collections: leave it out")
        for name, off in REFUSED.items():
            if getattr(self, name, off) != off:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} is not possible with Dask collections, whose "
                    f"rows are in several places: use {name}={off!r}"
                )
        self._validate_params()
        with self.client_.as_current():  # which need not be the default one
            self.model_ = fit_partitions(self._options(), self.client_, X, y, sample_weight)
        return self

    def _local_parameters(self) -> dict[str, Any]:
        parameters = self.get_params(deep=False)
        del parameters["client"]
        return parameters

    def _options(self) -> Options:
        return replace(super()._options(), parameters=self._local_parameters())

    def to_local(self) -> Forest:
        """Return the fitted model as an ordinary forest, which needs no Dask."""
        forest = self._local_type(**self._local_parameters())
        forest.model_ = self._fitted()
        return forest

    def __sklearn_clone__(self) -> Self:
        return type(self)(**self.get_params(deep=False))

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "client": None}

    def _over_partitions(self, method: str, X: Any) -> Any:
        """Return a Dask collection of what a method of the local model returns."""
        model = self.to_local()
        if hasattr(X, "map_partitions"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # nothing is known of the row that is an example
                meta = _predict_part(X._meta, model, method)
            return X.map_partitions(_predict_part, model, method, meta=meta, enforce_metadata=False)
        example = getattr(model, method)(np.ones((1, X.shape[1]), dtype=X.dtype))
        X = X.rechunk({1: -1})
        if example.ndim == 1:
            return X.map_blocks(
                _predict_block, model, method, drop_axis=1, dtype=example.dtype, meta=example[:0]
            )
        chunks = (X.chunks[0], (example.shape[1],))
        return X.map_blocks(
            _predict_block, model, method, chunks=chunks, dtype=example.dtype, meta=example[:0]
        )

    def predict(self, X: Any) -> Any:
        """Predict the target of each row; a Dask collection for a Dask collection.

        Parameters
        ----------
        X : dask.dataframe.DataFrame, dask.array.Array or array-like
        """
        return self._over_partitions("predict", X) if is_collection(X) else super().predict(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy or r2 of the predictions, as the ordinary forest does.

        Parameters
        ----------
        X : dask.dataframe.DataFrame, dask.array.Array or array-like
        y : of the same kind
        sample_weight : of the same kind, optional
        """
        if not is_collection(X):
            return float(super().score(X, y, sample_weight))

        dask: Any = importlib.import_module("dask")
        with nullcontext() if self.client is None else self.client.as_current():
            predicted, target, weight = dask.compute(self.predict(X), y, sample_weight)
        values = np.asarray(predicted)
        if is_classifier(self):
            return float(accuracy_score(np.asarray(target), values, sample_weight=weight))
        y = np.asarray(numbers_in_texts(target))
        weights = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64)
        columns = values.reshape(len(values), -1).astype(np.float64)
        y = y.ravel() if columns.shape[1] == 1 or y.ndim == 1 else y
        assert self.model_.target is not None
        return self.model_.target.score(columns, y.astype(np.float64), weights)


class ClusterClassifier(ClusterForest, BNeuralForestClassifier):
    """Base class of classifiers over a Dask cluster."""

    _local_type = BNeuralForestClassifier

    def predict_proba(self, X: Any) -> Any:
        """Predict the probability of each class; a Dask collection for a Dask collection.

        Parameters
        ----------
        X : dask.dataframe.DataFrame, dask.array.Array or array-like
        """
        if is_collection(X):
            return self._over_partitions("predict_proba", X)
        return super().predict_proba(X)


class ClusterRegressor(ClusterForest, BNeuralForestRegressor):
    """Base class of regressors over a Dask cluster."""

    _local_type = BNeuralForestRegressor


def is_collection(X: Any) -> bool:
    """Return whether a table is a collection of Dask."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed")


# -- what runs on workers -----------------------------------------------------------------


def _predict_part(frame: Any, model: Forest, method: str) -> Any:
    import pandas as pd

    if len(frame) == 0:  # as for a row whose values are all missing
        missing = frame.reset_index(drop=True).reindex([0])
        return _predict_part(missing, model, method).iloc[:0].set_axis(frame.index)
    result = getattr(model, method)(frame)
    if method == "predict_proba":
        return pd.DataFrame(result, index=frame.index, columns=list(model.classes_))
    if result.ndim == 2:
        return pd.DataFrame(result, index=frame.index)
    return pd.Series(result, index=frame.index, name="prediction")


def _predict_block(block: Array, model: Forest, method: str) -> Array:
    if len(block) == 0:
        return getattr(model, method)(np.ones((1, block.shape[1]), dtype=block.dtype))[:0]
    result: Array = getattr(model, method)(block)
    return result


def _new_part(
    i: int, has_labels: bool, frame: Any, target: Any, weight: Any = None
) -> PartitionRows:
    """Return a partition with its targets, after a check of its rows."""
    y = np.asarray(target if has_labels else numbers_in_texts(target))
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    w = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64)
    for name, array in (("y", y), ("sample_weight", w)):
        if len(array) != len(frame):
            raise ValueError(
                f"partition {i} of {name} has {len(array)} rows, that of X has {len(frame)}: "
                "divide both in the same way"
            )
    if not (np.isfinite(w).all() and (w >= 0).all()):
        raise ValueError(
            f"partition {i} of sample_weight has numbers that are missing, negative or infinite"
        )
    if missing_targets(y).any():
        raise ValueError(f"partition {i} of y has missing values: leave these rows out")
    return PartitionRows(frame, y, w)


def _size(part: PartitionRows) -> tuple[int, int, float, bool]:
    """Return the numbers of rows and of used rows, the total weight, and if weights are whole."""
    weight = part.weight
    is_whole = bool(np.all(weight == np.floor(weight)))
    return len(part), int(np.count_nonzero(weight)), float(weight.sum()), is_whole


def _split_part(i: int, has_labels: bool, frame: Any, n_targets: int) -> PartitionRows:
    """Return a partition of `_joined` with its targets and weights apart."""
    names = [_TARGET.format(k) for k in range(n_targets)]
    target = frame[names[0]] if n_targets == 1 else frame[names]
    weight = frame[_WEIGHT] if _WEIGHT in frame.columns else None
    features = frame[[name for name in frame.columns if name not in (*names, _WEIGHT)]]
    return _new_part(i, has_labels, features, target, weight)


def _cells(part: PartitionRows, names: Sequence[str] | None) -> Frame:
    """Return the columns of a partition."""
    if names is None:
        table = np.asarray(part.frame, dtype=np.float64)
        return Frame([Column("number", column) for column in table.T])
    return DataFrame(part.frame).select(names).typed()


def _summary_of_parts(
    numbers: Sequence[int],
    starts: Sequence[int],
    names: Sequence[str] | None,
    listed: Sequence[bool],
    has_labels: bool,
    *parts: PartitionRows,
) -> tuple[TableSummary, set[Any]]:
    """Describe some partitions."""
    columns = names or [f"x{i}" for i in range(len(listed))]
    summary, labels = TableSummary(columns, listed, SAMPLE_ROWS), set()
    for i, start, part in zip(numbers, starts, parts, strict=True):
        summary.add(_cells(part, names), part.target, part.weight, start, f"partition {i}")
        if has_labels and part.target.ndim == 1:
            used = part.target[part.weight > 0]
            labels |= set(used.tolist() if used.dtype.kind == "O" else np.unique(used).tolist())
    return summary, labels


def _rows_of_parts(problem: Problem, are_counts: bool, *parts: PartitionRows) -> Rows:
    """Return the encoded rows of some partitions."""
    columns, task = problem.columns, problem.task
    encoder = with_codes(problem.encoder, task)
    inputs = np.concatenate(
        [training_inputs(_cells(part, columns.names), columns, encoder) for part in parts]
    )
    weight = np.concatenate([part.weight for part in parts])
    is_used = (weight > 0).astype(np.float64)
    weights = RowWeights(weight, weight)
    if not are_counts:
        weights = RowWeights(weight * (is_used.sum() / weight.sum()), is_used)
    target = task.encode(np.concatenate([part.target for part in parts]), weight)
    rows = canonical_rows(inputs, target, weights).with_lines(encoder.lines)
    return cross_fitted(encoder, weighed(problem.options, task, rows), task)[1]


def _same(value: Any) -> Any:
    return value


def _recipe(problem: Problem, seed: int, rows: Rows) -> Recipe:
    """Return the settings of trees of a worker, from the rows of one of them."""
    return resolve(replace(problem, rows=rows), rows_of_tree(problem.options, rows, seed))


def _train_on(problem: Problem, seed: int, rows: Rows, trial: Trial, place: int) -> Member:
    """Train a tree on rows of the worker; its linear part is that of the trial."""
    problem, recipe = replace(problem, rows=rows), trial.recipe
    member = Member(seed, place, trial.linear)
    train_here(problem, recipe, [member])
    limit_weights(problem, recipe, member)
    return member


# -- what runs at the client --------------------------------------------------------------


def fit_partitions(options: Options, client: Any, X: Any, y: Any, sample_weight: Any) -> Model:
    """Fit a forest, each tree on partitions of one worker.

    Parameters
    ----------
    options : Options
    client : distributed.Client
    X, y, sample_weight : collections of Dask
    """
    cluster = _Cluster(client, X, y, sample_weight, options.is_classifier)
    problem = _problem_of_sample(options, cluster)
    check_max_weights(problem)
    assert options.n_estimators is not None
    recipe, members = cluster.train(problem, tree_seeds(options.seed, options.n_estimators))
    trees = [member.tree for member in members if member.tree is not None]
    model = new_model(problem, recipe, trees, [member.state for member in members])
    return finished(problem, model)


def _problem_of_sample(options: Options, cluster: _Cluster) -> Problem:
    """Learn columns and target from all partitions; the rows are a sample of them."""
    listed = categorical_mask(options.categorical_features, cluster.n_columns, cluster.names)
    summary, labels = cluster.summarize(listed)
    frame, y, weight, counts = summary.learning_rows()
    frame = frame if cluster.names is not None else Frame(frame.columns)
    y = y if labels is None else y.astype(labels.dtype)
    columns, encoder, task, loss = learn_from_sample(
        options, frame, y, RowWeights(weight, counts), labels, summary.total
    )
    if summary.total > len(frame):  # rows of a sample count once
        counts = np.ones(len(frame))
    inputs = training_inputs(frame, columns, encoder)
    rows = canonical_rows(inputs, task.encode(y, weight), RowWeights(weight, counts))
    rows = weighed(options, task, rows).with_lines(encoder.lines)
    problem = Problem(
        options, columns, encoder, task, loss, rows, target_names=cluster.target_names
    )
    encoder, rows = cross_fitted(encoder, rows, task)
    return replace(constrained(problem), encoder=encoder, rows=rows).scaled()


class _Cluster:
    """The partitions of a table, and the workers that hold them."""

    def __init__(
        self, client: Any, X: Any, y: Any, sample_weight: Any, has_labels: bool = False
    ) -> None:
        distributed: Any = importlib.import_module("distributed")
        if y is None:
            raise ValueError("y is missing: it must be a Dask collection with the partitions of X")
        self._client, self._has_labels = client, has_labels
        self.target_names = _target_names(y)
        self.parts = self._parts(X, y, sample_weight)
        distributed.wait(self.parts)
        sizes = client.gather([client.submit(_size, part) for part in self.parts])
        self.lengths, self.n_used, total, is_whole = zip(*sizes, strict=True)
        self.are_counts = all(is_whole) and sum(total) <= MAX_COPIES_PER_ROW * sum(self.n_used)
        self.n_columns = int(X.shape[1])
        self.names: list[str] | None = None
        if hasattr(X, "columns"):
            self.names = [str(name) for name in X.columns]
        self.held = self._held()

    def _parts(self, X: Any, y: Any, sample_weight: Any) -> list[Any]:
        """Return the partitions of all rows, each with its targets and weights."""
        submit, compute = self._client.submit, self._client.compute
        joined = _joined(X, y, sample_weight)
        if joined is not None:
            n_targets = len(_series(y))
            parts = compute(_delayed_parts(joined, "X"))
            return [
                submit(_split_part, i, self._has_labels, part, n_targets, pure=False)
                for i, part in enumerate(parts)
            ]
        collections = {"X": X, "y": y, "sample_weight": sample_weight}
        columns: list[Any] = [
            compute(_delayed_parts(_divided_as(X, collection), name))
            for name, collection in collections.items()
            if collection is not None
        ]
        if len({len(parts) for parts in columns}) > 1:
            raise ValueError(
                f"X has {len(columns[0])} partitions, y or sample_weight has another number, and "
                "they cannot be aligned, since they are not columns of one frame and have no "
                "divisions: divide them in the same way, or take them from one frame"
            )
        return [
            submit(_new_part, i, self._has_labels, *each, pure=False)
            for i, each in enumerate(zip(*columns, strict=True))
        ]

    def _held(self) -> dict[str, list[int]]:
        """Return the partitions that each worker holds."""
        holders = self._client.who_has(self.parts)
        held: dict[str, list[int]] = {}
        for i, part in enumerate(self.parts):
            workers = sorted(holders.get(part.key, ()))
            if self.n_used[i]:
                held.setdefault(workers[0] if workers else "", []).append(i)
        return dict(sorted(held.items()))

    def _submit(self, worker: str, function: Any, *arguments: Any) -> Any:
        """Run a function at a worker, or at another one if that is lost."""
        place = {"workers": [worker], "allow_other_workers": True} if worker else {}
        return self._client.submit(function, *arguments, **place)

    def summarize(self, listed: Array) -> tuple[TableSummary, Array | None]:
        """Return the summary of all partitions, and the labels of a classifier."""
        if not any(self.n_used):
            raise ValueError("X has no rows, or none of a positive weight: at least one is needed")
        starts = np.cumsum([0, *self.lengths])
        tasks = [
            self._submit(
                worker,
                _summary_of_parts,
                numbers,
                [int(starts[i]) for i in numbers],
                self.names,
                listed.tolist(),
                self._has_labels,
                *(self.parts[i] for i in numbers),
            )
            for worker, numbers in self.held.items()
        ]
        (summary, labels), *others = self._client.gather(tasks)
        for other, more in others:
            summary.merge(other)
            labels |= more
        if not labels:
            return summary, None
        if any(isinstance(label, str) for label in labels):
            array = np.empty(len(labels), dtype=object)
            array[:] = sorted(labels, key=str)
            return summary, array
        return summary, np.array(sorted(labels))

    def train(self, problem: Problem, seeds: Sequence[int]) -> tuple[Recipe, list[Member]]:
        """Train a tree with each seed; the settings are those for the rows of the first one."""
        options = replace(problem.options, n_threads=1, n_jobs=1)
        empty = np.zeros((0, 0))
        bare = replace(problem, options=options, rows=Rows(empty, empty, np.zeros(0)))
        sent = self._client.submit(_same, bare)  # which can be repeated, unlike `scatter`
        n_rows = {w: sum(self.lengths[i] for i in held) for w, held in self.held.items()}
        workers = _worker_of_each(len(seeds), n_rows)

        def submit(i: int, function: Any, *arguments: Any) -> Any:
            """Run a function with the rows of a tree, at its worker."""
            parts = (self.parts[k] for k in self._drawn(self.held[workers[i]], seeds[i]))
            rows = self._submit(workers[i], _rows_of_parts, sent, self.are_counts, *parts)
            return self._submit(workers[i], function, sent, seeds[i], rows, *arguments)

        trial = run_trial(problem, submit(0, _recipe).result())
        tasks = [submit(i, _train_on, trial, i) for i in range(len(seeds))]
        return trial.recipe, self._client.gather(tasks)

    def _drawn(self, held: list[int], seed: int) -> list[int]:
        """Return the partitions that a tree is trained on: all, or some if they are large."""
        order = np.random.default_rng([3, seed]).permutation(held).tolist()
        ends = np.cumsum([self.lengths[i] for i in order])
        n_parts = max(1, int(np.searchsorted(ends, ROWS_PER_TREE, side="right")))
        return sorted(order[:n_parts])


def _worker_of_each(n_trees: int, n_rows: dict[str, int]) -> list[str]:
    """Return the worker of each tree, from the number of rows that workers hold.

    Workers get the same number of trees, since all trees take about the same time; those with less
    than half of the mean number of rows get fewer, in proportion to their rows.

    Examples
    --------
    >>> _worker_of_each(6, {"a": 500, "b": 300})
    ['a', 'b', 'a', 'b', 'a', 'b']
    >>> _worker_of_each(6, {"a": 500, "b": 90})
    ['a', 'b', 'a', 'a', 'b', 'a']
    """
    enough = sum(n_rows.values()) / len(n_rows) / 2
    workers: list[str] = []
    for _ in range(n_trees):
        shares = {w: (workers.count(w) + 1) / min(n, enough) for w, n in n_rows.items()}
        workers.append(min(shares, key=lambda w: shares[w]))
    return workers


#: How columns of targets and weights are called in a frame that has all of them.
_TARGET, _WEIGHT = "__bneuralt_target_{}__", "__bneuralt_weight__"


def _series(y: Any) -> list[Any]:
    """Return the columns of a target."""
    is_frame = hasattr(y, "columns") and y.ndim == 2
    return [y[name] for name in y.columns] if is_frame else [y]


def _joined(X: Any, y: Any, sample_weight: Any) -> Any:
    """Return one frame of features, targets and weights; None if there can be none.

    Columns of one frame have other partitions if Dask plans to read them one by one, as it joins
    small files. Together they have the same.
    """
    others = [*_series(y), *([] if sample_weight is None else [sample_weight])]
    if not all(hasattr(each, "map_partitions") and is_collection(each) for each in (X, *others)):
        return None
    if hasattr(X, "rechunk") or any(hasattr(each, "rechunk") for each in others):
        return None
    columns = {_TARGET.format(i): each for i, each in enumerate(_series(y))}
    if sample_weight is not None:
        columns[_WEIGHT] = sample_weight
    try:
        joined = X.assign(**columns)
    except (ValueError, TypeError, AssertionError, NotImplementedError):
        return None
    # Columns of other frames would be joined by the index, which need not say which rows belong
    # together unless the frames have divisions.
    is_joined_by_index = any("Align" in type(each).__name__ for each in joined.expr.walk())
    has_divisions = all(each.known_divisions for each in (X, *others))
    return None if is_joined_by_index and not has_divisions else joined


def _divided_as(X: Any, other: Any) -> Any:
    """Return an array with the partitions of X, if both are arrays of the same known length."""
    if not (hasattr(X, "rechunk") and hasattr(other, "rechunk")) or len(X.shape) == 0:
        return other
    return other.rechunk({0: X.chunks[0]}) if X.shape[0] == other.shape[0] else other


def _target_names(y: Any) -> tuple[str, ...]:
    names = list(getattr(y, "columns", [getattr(y, "name", None)]))
    is_frame = hasattr(y, "map_partitions")
    return tuple(names) if is_frame and all(isinstance(n, str) for n in names) else ()


def _delayed_parts(collection: Any, name: str) -> list[Any]:
    """Return the partitions of a collection."""
    if not is_collection(collection):
        raise TypeError(
            f"{name} is a {type(collection).__name__}, and X is a Dask collection: make it one, "
            "with the same partitions"
        )
    if hasattr(collection, "rechunk"):
        if any(np.isnan(size) for size in collection.shape[1:]):
            raise ValueError(f"{name} has an unknown number of columns")
        if collection.ndim == 2:
            collection = collection.rechunk({1: -1})
        return list(collection.to_delayed().ravel())
    return list(collection.to_delayed())
