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
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score, r2_score

from bneuralt._typing import Array, FloatArray
from bneuralt.estimators.canonical import canonical_rows
from bneuralt.estimators.forest import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    Forest,
)
from bneuralt.estimators.inputs import names_of, read_table, training_inputs
from bneuralt.estimators.rows import Rows
from bneuralt.estimators.single import SingleTree
from bneuralt.estimators.trials import choose
from bneuralt.tables import frames
from bneuralt.tables.block_learning import TableSummary
from bneuralt.tables.block_table import Block
from bneuralt.tables.columns import Column, Frame
from bneuralt.tables.encoder import categorical_mask, learn_encoder

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
    weight: FloatArray | None

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
        for name in ("calibration_", "compaction_", "edits_", "oob_score_", "_fingerprints"):
            self.__dict__.pop(name, None)  # of an earlier fit
        with self.client_.as_current():  # which need not be the default one
            cluster = _Cluster(self.client_, X, y, sample_weight)
            rows = self._learn_columns(cluster)
            seed = self._draw_seed()
            members = self._new_members(seed, 0, choose(self, rows, seed))
            self.estimators_ = cluster.train(self._local(), members)
        self._learn_importances(rows)
        return self

    def _learn_columns(self, cluster: _Cluster) -> Rows:
        """Learn features and target from all partitions, and return a sample of the rows."""
        names = cluster.names
        listed = categorical_mask(self.categorical_features, cluster.n_columns, names)
        summary, labels = cluster.summarize(listed, is_classifier(self))
        if summary.total == 0:
            raise ValueError("X has no rows, or none of a positive weight: at least one is needed")
        frame, y, weight = summary.learning_rows()
        if names is None:
            frame = Frame(frame.columns)
        cells = read_table(self, frame, reset=True)
        self.target_names_ = cluster.target_names
        self._learn_target(y, labels)
        target = self._encode(y if labels is None else y.astype(labels.dtype), weight)
        self.encoder_ = learn_encoder(
            cells,
            weight,
            self.categorical_features,
            names_of(self),
            target,
            self._bending(cells, summary.total),
            self._finds_sentinels(cells),
        )
        inputs = training_inputs(self, cells, self.encoder_)
        rows = Rows(inputs, target, weight)
        if summary.total <= len(frame):
            rows = canonical_rows(inputs, target, weight)
        return self._with_lines(self._weighed(rows), reset=True)

    def _local(self) -> Forest:
        """Return an ordinary forest with the same parameters and features, without trees."""
        parameters = self.get_params(deep=False)
        del parameters["client"]
        forest = self._local_type(**{**parameters, "n_jobs": 1, "verbose": 0})
        self._pass_on(forest)
        return forest

    def to_local(self) -> Forest:
        """Return the fitted model as an ordinary forest, which needs no Dask."""
        parameters = self.get_params(deep=False)
        del parameters["client"]
        forest = self._local_type(**parameters)
        learnt = {key: value for key, value in vars(self).items() if key != "client"}
        forest.__dict__.update(learnt)
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
                warnings.simplefilter("ignore")  # the values of the example mean nothing
                meta = _predict_part(X._meta_nonempty, model, method)
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
        metric = accuracy_score if is_classifier(self) else r2_score
        return float(metric(np.asarray(target), np.asarray(predicted), sample_weight=weight))


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


def _predict_part(frame: Any, model: Any, method: str) -> Any:
    import pandas as pd

    n_columns = len(model.classes_) if method == "predict_proba" else 0
    result = getattr(model, method)(frame) if len(frame) else np.empty((0, n_columns))
    if method == "predict_proba":
        return pd.DataFrame(result, index=frame.index, columns=list(model.classes_))
    if len(frame) == 0:
        result = getattr(model, "classes_", np.empty(0))[:0]
    if result.ndim == 2:
        return pd.DataFrame(result, index=frame.index)
    return pd.Series(result, index=frame.index, name="prediction")


def _predict_block(block: Array, model: Any, method: str) -> Array:
    if len(block) == 0:
        return getattr(model, method)(np.ones((1, block.shape[1]), dtype=block.dtype))[:0]
    result: Array = getattr(model, method)(block)
    return result


def _new_part(i: int, frame: Any, target: Any, weight: Any) -> PartitionRows:
    """Return a partition with its targets, after a check of its rows."""
    y = np.asarray(target)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    w = None if weight is None else np.asarray(weight, dtype=np.float64)
    for name, array in (("y", y), ("sample_weight", w)):
        if array is not None and len(array) != len(frame):
            raise ValueError(
                f"partition {i} of {name} has {len(array)} rows, that of X has {len(frame)}: "
                "divide both in the same way"
            )
    if y.dtype.kind == "O":
        is_gap = np.array([v is None or v != v for v in y.ravel().tolist()], dtype=bool)
    else:
        is_gap = np.asarray(y != y).ravel()
    if is_gap.any():
        raise ValueError(f"partition {i} of y has missing values: leave these rows out")
    return PartitionRows(frame, y, w)


def _cells(part: PartitionRows, names: Sequence[str] | None) -> Frame:
    """Return the columns of a partition."""
    if names is None:
        table = np.asarray(part.frame, dtype=np.float64)
        return Frame([Column("number", column) for column in table.T])
    return Block(part.frame, "", 0, 0).columns(names)


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
        if len(part) == 0:
            continue
        weight = np.ones(len(part)) if part.weight is None else part.weight
        summary.add(_cells(part, names), part.target, weight, start, f"partition {i}")
        if has_labels and part.target.ndim == 1:
            used = part.target[weight > 0]
            labels |= set(used.tolist() if used.dtype.kind == "O" else np.unique(used).tolist())
    return summary, labels


def _rows_of_parts(forest: Forest, *parts: PartitionRows) -> Rows:
    """Return the encoded rows of some partitions."""
    names = names_of(forest)
    used = [part for part in parts if len(part)]
    inputs = np.concatenate([forest.encoder_.numbers(_cells(part, names)) for part in used])
    y = np.concatenate([part.target for part in used])
    weight = np.concatenate(
        [np.ones(len(part)) if part.weight is None else part.weight for part in used]
    )
    rows = canonical_rows(inputs, forest._encode(y, weight), weight)
    return forest._weighed(rows).with_lines(forest.encoder_.lines)


def _same(value: Any) -> Any:
    return value


def _train_on(forest: Forest, member: SingleTree, rows: Rows) -> SingleTree:
    """Train a tree on rows of the worker."""
    forest._train_here([member], rows, None)
    forest._shrink(member, rows)
    return member


# -- what runs at the client --------------------------------------------------------------


class _Cluster:
    """The partitions of a table, and the workers that hold them."""

    def __init__(self, client: Any, X: Any, y: Any, sample_weight: Any) -> None:
        distributed: Any = importlib.import_module("distributed")
        if y is None:
            raise ValueError("y is missing: it must be a Dask collection with the partitions of X")
        self._client = client
        self.target_names = _target_names(y)
        collections = {"X": X, "y": y, "sample_weight": sample_weight}
        columns: list[Any] = [
            client.compute(_delayed_parts(collection, name))
            for name, collection in collections.items()
            if collection is not None
        ]
        if len({len(parts) for parts in columns}) > 1:
            raise ValueError(
                f"X has {len(columns[0])} partitions, y or sample_weight has another number: "
                "divide them in the same way"
            )
        if sample_weight is None:
            columns.append([None] * len(columns[0]))
        self.parts = [
            client.submit(_new_part, i, *each, pure=False)
            for i, each in enumerate(zip(*columns, strict=True))
        ]
        del columns  # the parts hold them
        distributed.wait(self.parts)
        self.lengths: list[int] = client.gather([client.submit(len, p) for p in self.parts])
        self.n_columns = int(X.shape[1])
        self.names: list[str] | None = None
        if hasattr(X, "columns"):
            self.names = [str(name) for name in X.columns]
        self.held = self._held()

    def _held(self) -> dict[str, list[int]]:
        """Return the partitions that each worker holds."""
        holders = self._client.who_has(self.parts)
        held: dict[str, list[int]] = {}
        for i, part in enumerate(self.parts):
            workers = sorted(holders.get(part.key, ()))
            if self.lengths[i]:
                held.setdefault(workers[0] if workers else "", []).append(i)
        return dict(sorted(held.items()))

    def _submit(self, worker: str, function: Any, *arguments: Any) -> Any:
        """Run a function at a worker, or at another one if that is lost."""
        place = {"workers": [worker], "allow_other_workers": True} if worker else {}
        return self._client.submit(function, *arguments, **place)

    def summarize(self, listed: Array, has_labels: bool) -> tuple[TableSummary, Array | None]:
        """Return the summary of all partitions, and the labels of a classifier."""
        if not any(self.lengths):
            raise ValueError("X has no rows: at least one is needed")
        starts = np.cumsum([0, *self.lengths])
        tasks = [
            self._submit(
                worker,
                _summary_of_parts,
                numbers,
                [int(starts[i]) for i in numbers],
                self.names,
                listed.tolist(),
                has_labels,
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

    def train(self, forest: Forest, members: Sequence[SingleTree]) -> list[SingleTree]:
        """Train all trees."""
        n_rows = {w: sum(self.lengths[i] for i in held) for w, held in self.held.items()}
        sent = self._client.submit(_same, forest)  # which can be repeated, unlike `scatter`
        tasks = []
        for member, worker in zip(members, _worker_of_each(len(members), n_rows), strict=True):
            parts = self._drawn(self.held[worker], member.random_state)
            rows = self._submit(worker, _rows_of_parts, sent, *(self.parts[i] for i in parts))
            tasks.append(self._submit(worker, _train_on, sent, member, rows))
        trained: list[SingleTree] = self._client.gather(tasks)
        return trained

    def _drawn(self, held: list[int], seed: Any) -> list[int]:
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
