"""Speed of searches: populations, compared with NumPy, gplearn and DEAP, and whole fits.

Requires gplearn and DEAP for their rows; they are left out where they are not installed. All
programs evaluate expressions of about 100 nodes for 500 rows of 10 inputs. gplearn and DEAP
evaluate sums, products and hyperbolic tangents of inputs: they have neither weights nor gradients.
"""

from __future__ import annotations

import operator
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.timing import SHARED, interleaved, table
from bneuralt import (
    EvolvedTreeClassifier,
    NeuralTree,
    TrainingJob,
    TrainingSettings,
    forward_many,
    load_dataset,
    train_many,
)
from bneuralt_paper import HFNTClassifier

N_ROWS, N_INPUTS, N_TREES, SIZE = 500, 10, 200, 100
THREADS = 2


def main(repeat: int = 5) -> None:
    population(repeat)
    fits()


def population(repeat: int, clock: Callable[[], int] = time.perf_counter_ns) -> None:
    """Evaluate a population, and compute its gradients."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, N_INPUTS)).astype(np.float32)
    y = rng.normal(size=N_ROWS)
    trees = _trees()
    settings = TrainingSettings(
        loss="squared_error", optimizer="gd", batch_size=None, max_epochs=1, learning_rate=1e-3
    )
    jobs = [TrainingJob(tree, settings) for tree in trees]
    few = trees[:20]
    # name: (call, candidates, nodes)
    calls: dict[str, tuple[Any, int, int]] = {
        "forward_many": (partial(forward_many, trees, X, THREADS), N_TREES, _size(trees)),
        "NumPy": (lambda: [_forward(tree, X) for tree in few], len(few), _size(few)),
        "train_many, one gradient step": (
            lambda: train_many(jobs, X, y, n_threads=THREADS), N_TREES, _size(trees),
        ),
        "NumPy, one gradient": (
            lambda: [_gradient(tree, X, y) for tree in few], len(few), _size(few),
        ),
    }  # fmt: skip
    calls |= _gplearn(X, rng) | _deap(X)
    seconds = interleaved({name: call for name, (call, _, _) in calls.items()}, repeat, clock)
    reference = {
        name: seconds[name] / calls[name][1]
        for name in ("forward_many", "train_many, one gradient step")
    }
    rows = []
    for name, (_, n_candidates, n_nodes) in calls.items():
        baseline = "train_many, one gradient step" if "gradient" in name else "forward_many"
        per_candidate = seconds[name] / n_candidates
        rows.append(
            (
                name,
                f"{1 / per_candidate:,.0f}",
                f"{n_nodes * N_ROWS / seconds[name] / 1e6:,.1f}",
                per_candidate / reference[baseline],
            )
        )
    title = f"trees of about {SIZE} nodes, {N_ROWS} rows, {THREADS} threads"
    header = ("", "candidates / s", "million node evaluations / s", "times the core's time")
    table(title, header, rows)


def _trees() -> list[NeuralTree]:
    trees: list[NeuralTree] = []
    seed = 0
    while len(trees) < N_TREES:
        tree = NeuralTree.random(
            N_INPUTS, activation="tanh", output_activation="linear", dtype=np.float32,
            random_state=seed,
        )  # fmt: skip
        seed += 1
        if 0.8 * SIZE <= tree.size <= 1.2 * SIZE:
            trees.append(tree)
    return trees


def _size(trees: list[NeuralTree]) -> int:
    return sum(tree.size for tree in trees)


# -- NumPy: one array operation for each node ---------------------------------------------


def _values(tree: NeuralTree, X: Any) -> list[Any]:
    values: list[Any] = [None] * tree.parent.size
    edge = np.concatenate([np.zeros(tree.n_outputs), tree.edge])
    for i in range(tree.parent.size - 1, -1, -1):
        leaves = slice(tree.leaf_start[i], tree.leaf_start[i + 1])
        total = X[:, tree.leaf_input[leaves]] @ tree.leaf_weight[leaves] + tree.bias[i]
        for child in range(tree.child_start[i], tree.child_start[i + 1]):
            total = total + edge[child] * values[child]
        values[i] = total if i < tree.n_outputs else np.tanh(total)
    return values


def _forward(tree: NeuralTree, X: Any) -> Any:
    return _values(tree, X)[0]


def _gradient(tree: NeuralTree, X: Any, y: Any) -> Any:
    values = _values(tree, X)
    k, n_nodes = tree.n_outputs, tree.parent.size
    gradient = np.zeros(tree.n_parameters)
    deltas: list[Any] = [None] * n_nodes
    deltas[0] = (values[0] - y) / len(y)
    for i in range(n_nodes):
        if i >= k:
            above = deltas[tree.parent[i]]
            gradient[n_nodes + i - k] = above @ values[i]
            deltas[i] = above * tree.edge[i - k] * (1 - values[i] ** 2)
        gradient[i] = deltas[i].sum()
        leaves = slice(tree.leaf_start[i], tree.leaf_start[i + 1])
        first = 2 * n_nodes - k
        gradient[first + leaves.start : first + leaves.stop] = (
            deltas[i] @ X[:, tree.leaf_input[leaves]]
        )
    return gradient


# -- other programs -----------------------------------------------------------------------


def _gplearn(X: Any, rng: np.random.Generator) -> dict[str, tuple[Any, int, int]]:
    try:
        from gplearn._program import _Program
        from gplearn.functions import _function_map, make_function
    except ImportError:
        return {}
    tanh = make_function(function=np.tanh, name="tanh", arity=1)
    state = np.random.RandomState(0)
    functions = [_function_map["add"], _function_map["mul"], tanh]
    arities = {1: [tanh], 2: functions[:2]}
    programs: list[Any] = []
    while len(programs) < 20:
        program = _Program(
            functions, arities, (7, 8), "full", N_INPUTS, None, None, 0.7, 0.0, state
        )
        if 0.8 * SIZE <= program.length_ <= 1.2 * SIZE:
            programs.append(program)
    n_nodes = sum(program.length_ for program in programs)
    return {"gplearn": (lambda: [p.execute(X) for p in programs], len(programs), n_nodes)}


def _deap(X: Any) -> dict[str, tuple[Any, int, int]]:
    try:
        from deap import gp
    except ImportError:
        return {}
    primitives = gp.PrimitiveSet("tree", N_INPUTS)
    primitives.addPrimitive(operator.add, 2)
    primitives.addPrimitive(operator.mul, 2)
    primitives.addPrimitive(np.tanh, 1, name="tanh")
    trees: list[Any] = []
    while len(trees) < 20:
        tree = gp.PrimitiveTree(gp.genFull(primitives, 7, 8))
        if 0.8 * SIZE <= len(tree) <= 1.2 * SIZE:
            trees.append(tree)
    columns = list(X.T.copy())
    n_nodes = sum(map(len, trees))
    return {
        "DEAP": (
            lambda: [gp.compile(tree, primitives)(*columns) for tree in trees], len(trees), n_nodes,
        )
    }  # fmt: skip


# -- whole fits ---------------------------------------------------------------------------


def fits() -> None:
    data = load_dataset("australian", SHARED)
    rows = []
    for name, model in {
        "HFNTClassifier, the paper's budget": HFNTClassifier(
            n_generations=500, n_tuning=1000, random_state=0, n_jobs=THREADS
        ),
        "EvolvedTreeClassifier, defaults": EvolvedTreeClassifier(random_state=0, n_jobs=THREADS),
    }.items():
        started = time.perf_counter()
        model.fit(data.X, data.y)
        rows.append((name, time.perf_counter() - started, model.score(data.X, data.y)))
    title = f"fits on australian ({len(data.y)} rows), {THREADS} threads"
    table(title, ("", "s", "accuracy on the training rows"), rows)


if __name__ == "__main__":
    main()
