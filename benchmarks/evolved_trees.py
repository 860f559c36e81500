"""Scores of very small models on the paper's data sets: honest, against the number of weights.

Splits are those of the reproduction's honest protocol: 80 % of the rows train, the others are used
once, for the score. Nothing is selected on them. Results are appended to a CSV file, and what is in
the file is not computed again::

    python -m benchmarks.evolved_trees run --models evolved default --splits 3
    python -m benchmarks.evolved_trees report
    python -m benchmarks.evolved_trees plot --picture docs/evolved.svg
    python -m benchmarks.evolved_trees tenfold

``--tables FOLDER`` uses the tables of `benchmarks.tables` on which settings may be chosen, instead
of the paper's data sets.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import bneuralt
from benchmarks.tables import TABLES, read_table
from benchmarks.timing import SHARED
from bneuralt.datasets.catalogue import PAPER_DATASETS
from bneuralt.paper.experiments.protocols import derive_seed

FIELDS = ("model", "dataset", "task", "split", "n_weights", "size", "score", "seconds")
TASKS = ("classification", "regression")
#: Sizes of the curve.
SIZES = (8, 12, 20, 40, 80, 150, 400)


def _both(classifier: Any, regressor: Any) -> Callable[..., Any]:
    return lambda task, **settings: (classifier if task == "classification" else regressor)(
        **settings
    )


_EVOLVED = _both(bneuralt.EvolvedTreeClassifier, bneuralt.EvolvedTreeRegressor)
_TREE = _both(bneuralt.BNeuralTClassifier, bneuralt.BNeuralTRegressor)
_HFNT = _both(bneuralt.HFNTClassifier, bneuralt.HFNTRegressor)
_MONT = _both(bneuralt.MONTClassifier, bneuralt.MONTRegressor)
_CART = _both(DecisionTreeClassifier, DecisionTreeRegressor)
_MLP = _both(MLPClassifier, MLPRegressor)
_PAPER = {"n_generations": 500, "n_tuning": 1000}


def _least(n_outputs: int) -> int:
    return 2 * n_outputs


def _mlp(task: str, seed: int, n_weights: int, n_inputs: int, n_outputs: int) -> Any:
    """Return a perceptron of one hidden layer that has about so many weights."""
    outputs = 1 if n_outputs <= 2 else n_outputs
    n_hidden = max(1, round((n_weights - outputs) / (n_inputs + 1 + outputs)))
    mlp = _MLP(task, hidden_layer_sizes=(n_hidden,), max_iter=2000, random_state=seed)
    return make_pipeline(StandardScaler(), mlp)


def models(task: str, seed: int, n_inputs: int, n_outputs: int) -> dict[str, Callable[[], Any]]:
    """Return what can be measured, by name; those with a number have about so many weights."""
    found: dict[str, Callable[[], Any]] = {
        "default": lambda: _TREE(task, random_state=seed),
        "evolved": lambda: _EVOLVED(task, random_state=seed),
        "evolved-1se": lambda: _EVOLVED(task, random_state=seed, choose="one_standard_error"),
        "HFNT-S": lambda: _HFNT(task, random_state=seed, **_PAPER),
        "HFNT-M": lambda: _HFNT(
            task, random_state=seed, objectives=("error", "size", "diversity"), **_PAPER
        ),
        "MONT-3": lambda: _MONT(task, random_state=seed, **_PAPER),
    }
    for n in SIZES:
        fits = n >= _least(n_outputs)
        if fits:
            found[f"evolved-{n}"] = lambda n=n: _EVOLVED(task, random_state=seed, max_weights=n)
        if n >= 3 * n_outputs:
            found[f"random-{n}"] = lambda n=n: _TREE(task, random_state=seed, n_weights=n)
        # a split has a feature and a threshold, a leaf a value for each class
        leaves = max(2, (n + 2) // (2 + max(1, n_outputs - 1)))
        found[f"cart-{n}"] = lambda k=leaves: _CART(task, random_state=seed, max_leaf_nodes=k)
        found[f"mlp-{n}"] = lambda n=n: _mlp(task, seed, n, n_inputs, n_outputs)
    return found


def _problems(tables: Path | None) -> Iterator[tuple[str, str, Any, Any]]:
    if tables is None:
        for name in PAPER_DATASETS:
            data = bneuralt.load_dataset(name, SHARED / "data")
            yield name, data.task, np.asarray(data.X, dtype=np.float64), np.asarray(data.y)
        return
    for facts in TABLES.values():
        if facts.half == "chosen on" and facts.n_rows <= 1100:
            table = read_table(facts.name, tables)
            yield table.name, table.task, table.X, table.y


def run(out: Path, wanted: list[str], n_splits: int, tables: Path | None) -> None:
    done = {(r["model"], r["dataset"], int(r["split"])) for r in _read(out)}
    out.parent.mkdir(parents=True, exist_ok=True)
    is_new = not out.exists()
    with out.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if is_new:
            writer.writeheader()
        for split in range(n_splits):
            for name, task, X, y in _problems(tables):
                order = np.random.default_rng(derive_seed(split, "split")).permutation(len(y))
                train, test = np.split(order, [int(0.8 * len(y))])
                n_outputs = len(np.unique(y)) if task == "classification" else 1
                known = models(task, split, X.shape[1], n_outputs)
                for model in wanted:
                    if model not in known or (model, name, split) in done:
                        continue
                    estimator = known[model]()
                    started = time.process_time()
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        estimator.fit(X[train], y[train])
                    seconds = time.process_time() - started
                    if model == "evolved":
                        for row in _front_rows(estimator, X[test], y[test]):
                            given = (*row[:1], name, task, split, *row[1:], f"{seconds:.2f}")
                            writer.writerow(dict(zip(FIELDS, given, strict=True)))
                    n_weights, size = _sizes(estimator, n_outputs)
                    score = estimator.score(X[test], y[test])
                    row = (
                        model,
                        name,
                        task,
                        split,
                        n_weights,
                        size,
                        f"{score:.5f}",
                        f"{seconds:.2f}",
                    )
                    writer.writerow(dict(zip(FIELDS, row, strict=True)))
                    file.flush()


def _front_rows(model: Any, X: Any, y: Any) -> Iterator[tuple[Any, ...]]:
    """Yield, for some limits, the best tree of a front that has no more weights.

    A front is sorted by size, and its validation loss falls with the size: the last is the best.
    """
    for n in (n for n in SIZES if n <= 40):
        within = [entry for entry in model.pareto_front_ if entry.n_weights <= n]
        if within:
            score = within[-1].model.score(X, y)
            yield f"front-{n}", within[-1].n_weights, within[-1].size, f"{score:.5f}"


def _sizes(estimator: Any, n_outputs: int) -> tuple[int, int]:
    """Return the number of weights (of CART: thresholds, features and values), and of nodes."""
    if hasattr(estimator, "n_parameters_"):
        return estimator.n_parameters_, estimator.tree_.size
    last = estimator[-1] if hasattr(estimator, "steps") else estimator
    if hasattr(last, "coefs_"):
        parts = [*last.coefs_, *last.intercepts_]
        return sum(part.size for part in parts), sum(b.size for b in last.intercepts_)
    n_leaves = last.get_n_leaves()
    return 2 * (n_leaves - 1) + n_leaves * max(1, n_outputs - 1), last.tree_.node_count


def _read(out: Path) -> list[dict[str, str]]:
    if not out.exists():
        return []
    with out.open(newline="") as file:
        return list(csv.DictReader(file))


def means(
    rows: list[dict[str, str]],
) -> dict[tuple[str, str], tuple[float, float, float, float, int]]:
    """Return the means over data sets of score, weights, nodes and seconds, and their number."""
    groups: dict[Any, list[tuple[float, ...]]] = defaultdict(list)
    for row in rows:
        figures = tuple(float(row[name]) for name in ("score", "n_weights", "size", "seconds"))
        groups[row["model"], row["task"], row["dataset"]].append(figures)
    by_model: dict[Any, list[Any]] = defaultdict(list)
    for (model, task, _), figures in groups.items():
        by_model[model, task].append(np.mean(figures, axis=0))
    return {key: (*np.mean(v, axis=0).tolist(), len(v)) for key, v in by_model.items()}


def report(out: Path) -> None:
    print("| model | task | data sets | score | weights | nodes | s (processor) |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for (model, task), (score, weights, size, seconds, n) in sorted(means(_read(out)).items()):
        print(
            f"| {model} | {task} | {n} | {score:.4f} | {weights:.0f} | {size:.0f} | {seconds:.2f} |"
        )


def plot(out: Path, picture: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    found = means(_read(out))
    labels = {
        "front": "evolved trees (front of one search)",
        "evolved": "evolved trees",
        "random": "random trees with moving leaves",
        "cart": "CART",
        "mlp": "MLP, one hidden layer",
    }
    n_sets = {task: max(v[-1] for (_, own), v in found.items() if own == task) for task in TASKS}
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6))
    for ax, task in zip(axes, TASKS, strict=True):
        for kind, label in labels.items():
            points = sorted(
                (weights, score)
                for (model, own), (score, weights, *_, n) in found.items()
                if own == task and n == n_sets[task]  # a mean over all data sets, or none
                if model.rsplit("-", 1)[0] == kind and model[-1].isdigit()
            )
            if points:
                ax.plot(*zip(*points, strict=True), marker="o", label=label)
        for model in ("HFNT-S", "HFNT-M", "MONT-3", "default"):
            if (model, task) in found:
                score, weights, *_ = found[model, task]
                ax.plot([weights], [score], "x", color="black")
                ax.annotate(model, (weights, score), fontsize=8)
        ax.set(xscale="log", xlabel="weights", title=task)
    axes[0].set_ylabel("accuracy, mean over the data sets")
    axes[1].set_ylabel("r2, mean over the data sets")
    axes[0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(picture)


#: Accuracy and nodes of HFNT by ten-fold cross-validation, as its paper (2017) has them.
HFNT_TENFOLD = {
    "australian": (0.857, 5.1),
    "heart": (0.803, 7.5),
    "ionosphere": (0.861, 6.7),
    "pima": (0.703, 6.3),
    "wdbc": (0.937, 8.0),
}


def tenfold() -> None:
    """Print accuracy and nodes of evolved trees that have no more nodes than those of HFNT."""
    print("| data set | HFNT, nodes | HFNT, accuracy | evolved, nodes | evolved, accuracy |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, (printed, nodes) in HFNT_TENFOLD.items():
        data = bneuralt.load_dataset(name, SHARED / "data")
        X, y = np.asarray(data.X, dtype=np.float64), np.asarray(data.y)
        scores, sizes = [], []
        for train, test in StratifiedKFold(10, shuffle=True, random_state=0).split(X, y):
            # there are few trees of so few nodes: ten generations are enough
            model = bneuralt.EvolvedTreeClassifier(
                max_size=int(nodes), n_generations=10, random_state=0
            )
            model.fit(X[train], y[train])
            scores.append(model.score(X[test], y[test]))
            sizes.append(model.tree_.size)
        print(
            f"| {name} | {nodes} | {printed:.3f} | {np.mean(sizes):.1f} | {np.mean(scores):.3f} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("run", "report", "plot", "tenfold"))
    parser.add_argument("--out", type=Path, default=Path("build/evolved.csv"))
    parser.add_argument("--models", nargs="+", default=["default", "evolved"])
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--tables", type=Path)
    parser.add_argument("--picture", type=Path, default=Path("docs/evolved.svg"))
    args = parser.parse_args()
    if args.what == "run":
        run(args.out, args.models, args.splits, args.tables)
    elif args.what == "report":
        report(args.out)
    elif args.what == "tenfold":
        tenfold()
    else:
        plot(args.out, args.picture)


if __name__ == "__main__":
    main()
