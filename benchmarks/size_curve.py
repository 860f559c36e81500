"""Honest scores against the number of weights, from 8 to 400: the curve of docs/lab/small_trees.md.

    python -m benchmarks.size_curve run --splits 3 --jobs 2
    python -m benchmarks.size_curve report
    python -m benchmarks.size_curve plot --picture docs/evolved.svg

Splits are those of the reproduction's honest protocol: 80 % of the rows train, the others are used
once, for the score; all choices are made on training rows. All models have the same splits.
``run`` computes what the file of results lacks, in parts of one family, data set and split;
``merge`` adds the results of other machines. ``--tables FOLDER`` uses the tables of
`benchmarks.tables` on which settings may be chosen, instead of the paper's data sets.
"""

from __future__ import annotations

import argparse
import csv
import io
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_limits

import bneuralt
from benchmarks.size_curve_report import plot, report
from benchmarks.tables import TABLES, read_table
from benchmarks.timing import SHARED
from bneuralt.files import write_atomically
from bneuralt.fitting.problem import problem_of
from bneuralt.fitting.pruning import smaller_models
from bneuralt_paper import load_dataset
from bneuralt_paper.datasets.catalogue import PAPER_DATASETS
from bneuralt_paper.experiments.definitions import parse_experiment
from bneuralt_paper.experiments.evolved_trees import make_evolved
from bneuralt_paper.experiments.protocols import derive_seed

SIZES = (8, 12, 16, 24, 32, 48, 64, 96, 128, 200, 300, 400)
#: `max_weights` of further searches; the front of one search has the sizes of `FRONT_SIZES`.
EVOLVED_LIMITS = (16, 64, 128, 400)
FRONT_SIZES = (8, 12, 16, 24, 32)
#: Hidden units of perceptrons, and the penalties among which four folds of training rows choose.
HIDDEN = {"classification": (1, 2, 4, 8, 16), "regression": (1, 2, 4, 8, 16, 32)}
PENALTIES = (0.1, 1.0, 10.0)


class Problem(NamedTuple):
    """One split of a data set."""

    name: str
    task: str
    split: int
    X: Any
    y: Any
    X_test: Any
    y_test: Any

    @property
    def n_outputs(self) -> int:
        """Number of outputs of a tree."""
        return len(np.unique(self.y)) if self.task == "classification" else 1

    @property
    def seed(self) -> int:
        """Seed of all models."""
        return derive_seed(self.split, "model", self.name)

    def at_least(self, n_weights: int, per_output: int) -> int:
        """Return a number of weights, or the fewest that a tree for these outputs can have."""
        return max(n_weights, per_output * self.n_outputs)

    def make(self, kind: str, **settings: Any) -> Any:
        """Return an estimator of this library."""
        kind += "Classifier" if self.task == "classification" else "Regressor"
        return getattr(bneuralt, kind)(random_state=self.seed, **settings)

    def fit(self, model: Any) -> float:
        """Fit a model to the training rows; return the seconds of processor time that it took."""
        start = time.process_time()
        model.fit(self.X, self.y)
        return time.process_time() - start


class Fitted(NamedTuple):
    """A model, its name, its size, and its validation score."""

    family: str
    limit: int | None
    model: Any
    n_weights: int
    n_nodes: int
    seconds: float
    validation: float | None = None


class Row(NamedTuple):
    """A line of the file of results."""

    family: str
    limit: str
    task: str
    dataset: str
    split: int
    n_weights: int
    n_nodes: int
    score: float
    validation: str
    seconds: float

    @classmethod
    def read(cls, cells: dict[str, str]) -> Row:
        """Return the row of a line of the file."""
        kinds = {"split": int, "n_weights": int, "n_nodes": int, "score": float, "seconds": float}
        return cls(**{name: kinds.get(name, str)(cell) for name, cell in cells.items()})


# -- the families ------------------------------------------------------------------------------


def _single(family: str, limit: int | None, model: Any, seconds: float) -> Fitted:
    return Fitted(family, limit, model, model.n_parameters_, model.tree_.size, seconds)


def default_trees(problem: Problem) -> Iterator[Fitted]:
    """Yield the default tree, and the default tree with a number of weights."""
    model = problem.make("BNeuralT")
    yield _single("default", None, model, problem.fit(model))
    for n in SIZES:
        model = problem.make("BNeuralT", n_weights=problem.at_least(n, 3))
        yield _single("default", n, model, problem.fit(model))


def compacted_trees(problem: Problem) -> Iterator[Fitted]:
    """Yield the default tree after `compact`, by its rule and for each size."""
    whole = problem.make("BNeuralT")
    seconds = problem.fit(whole)
    start = time.process_time()
    chosen = whole.compact(problem.X, problem.y)
    yield _single("compact", None, chosen, seconds + time.process_time() - start)
    limits = [n for n in reversed(SIZES) if n < whole.n_parameters_]
    sizes = [problem.at_least(n, 2) for n in limits]
    start = time.process_time()
    of_rows = problem_of(whole.model_, whole._options(), problem.X, problem.y)
    smaller = [
        whole._with_model(model)
        for model in smaller_models(
            of_rows, whole.recipe_, whole.model_, sorted(set(sizes), reverse=True)
        )
    ]
    by_size = dict(zip(sorted(set(sizes), reverse=True), smaller, strict=True))
    seconds += time.process_time() - start
    for limit, n in zip(limits, sizes, strict=True):
        yield _single("compact", limit, by_size[n], seconds)


def evolved_trees(problem: Problem) -> Iterator[Fitted]:
    """Yield the tree that a search chooses, that of another rule, and trees of its front."""
    model = problem.make("EvolvedTree")
    seconds = problem.fit(model)
    front = model.pareto_front_
    (best,) = (entry for entry in front if entry.model.tree_ == model.tree_)
    enough = best.score - best.standard_error
    smallest = next(entry for entry in front if entry.score >= enough)
    chosen: list[tuple[str, int | None, Any]] = [
        ("evolved", None, best),
        ("evolved-1se", None, smallest),
    ]
    for n in FRONT_SIZES:  # by size, and the validation loss falls: the last is the best
        within = [entry for entry in front if entry.n_weights <= problem.at_least(n, 2)]
        chosen.append(("front", n, within[-1] if within else front[0]))
    for family, limit, entry in chosen:
        yield Fitted(family, limit, entry.model, entry.n_weights, entry.size, seconds, entry.score)


def limited_evolved_trees(problem: Problem) -> Iterator[Fitted]:
    """Yield the trees of searches with a limit."""
    for n in EVOLVED_LIMITS:
        model = problem.make("EvolvedTree", max_weights=problem.at_least(n, 2))
        seconds = problem.fit(model)
        (best,) = (entry for entry in model.pareto_front_ if entry.model.tree_ == model.tree_)
        yield _single("limited", n, model, seconds)._replace(validation=best.score)


def _from_the_paper(name: str) -> Callable[[Problem], Iterator[Fitted]]:
    def fit(problem: Problem) -> Iterator[Fitted]:
        experiment: Any = parse_experiment(name)
        model = make_evolved(experiment, problem.task, problem.seed)
        yield _single(name, None, model, problem.fit(model))

    return fit


def cart(problem: Problem) -> Iterator[Fitted]:
    """Yield decision trees; a split has two numbers, feature and threshold, a leaf has one."""
    kind = DecisionTreeClassifier if problem.task == "classification" else DecisionTreeRegressor
    for n in SIZES:
        model = kind(max_leaf_nodes=max(2, (n + 2) // 3), random_state=problem.seed)
        seconds = problem.fit(model)
        n_weights = 3 * model.get_n_leaves() - 2
        yield Fitted("cart", n, model, n_weights, model.tree_.node_count, seconds)


def perceptrons(problem: Problem) -> Iterator[Fitted]:
    """Yield perceptrons with one hidden layer, on scaled inputs and targets."""
    is_classifier = problem.task == "classification"
    kind = MLPClassifier if is_classifier else MLPRegressor
    for n_hidden in HIDDEN[problem.task]:
        mlp = kind(
            hidden_layer_sizes=(n_hidden,),
            solver="lbfgs",
            max_iter=500,
            random_state=problem.seed % 2**32,
        )
        pipeline = Pipeline([("scale", StandardScaler()), ("mlp", mlp)])
        if not is_classifier:
            pipeline = TransformedTargetRegressor(pipeline, transformer=StandardScaler())
        prefix = "mlp__" if is_classifier else "regressor__mlp__"
        model = GridSearchCV(pipeline, {f"{prefix}alpha": PENALTIES}, cv=4)
        seconds = problem.fit(model)
        best = model.best_estimator_
        network = best["mlp"] if is_classifier else best.regressor_["mlp"]
        n_weights = sum(part.size for part in (*network.coefs_, *network.intercepts_))
        n_nodes = sum(bias.size for bias in network.intercepts_)
        yield Fitted("mlp", n_hidden, model, n_weights, n_nodes, seconds)


#: The slowest first, so that all processes end at about the same time.
FAMILIES: dict[str, Callable[[Problem], Iterator[Fitted]]] = {
    "limited": limited_evolved_trees,
    "HFNT-S": _from_the_paper("HFNT-S"),
    "mlp": perceptrons,
    "HFNT-M": _from_the_paper("HFNT-M"),
    "MONT3": _from_the_paper("MONT3"),
    "evolved": evolved_trees,
    "compact": compacted_trees,
    "default": default_trees,
    "cart": cart,
}


# -- running -----------------------------------------------------------------------------------


def problem_names(tables: Path | None) -> list[str]:
    """Return the names of the data sets."""
    if tables is None:
        return list(PAPER_DATASETS)
    return [f.name for f in TABLES.values() if f.half == "chosen on" and f.n_rows <= 1100]


def read_problem(name: str, split: int, tables: Path | None) -> Problem:
    """Return a split of a data set, the same one for all models."""
    data: Any = read_table(name, tables) if tables else load_dataset(name, SHARED / "data")
    X, y = np.asarray(data.X, dtype=np.float64), np.asarray(data.y)
    order = np.random.default_rng(derive_seed(split, "split")).permutation(len(y))
    train, test = np.split(order, [int(0.8 * len(y))])
    return Problem(name, data.task, split, X[train], y[train], X[test], y[test])


def measure(family: str, name: str, split: int, tables: Path | None = None) -> list[Row]:
    """Fit the models of a family to a split, and score them on its test rows."""
    problem = read_problem(name, split, tables)
    rows = []
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for fitted in FAMILIES[family](problem):
            rows.append(
                Row(
                    fitted.family,
                    "" if fitted.limit is None else str(fitted.limit),
                    problem.task,
                    name,
                    split,
                    fitted.n_weights,
                    fitted.n_nodes,
                    round(float(fitted.model.score(problem.X_test, problem.y_test)), 5),
                    "" if fitted.validation is None else f"{fitted.validation:.5f}",
                    round(fitted.seconds, 3),
                )
            )
    return rows


def read_rows(path: Path) -> list[Row]:
    """Return the results of a file, or none if there is no file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [Row.read(cells) for cells in csv.DictReader(file)]


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write results, sorted, each once."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Row._fields)
    by_key = {row[:5]: row for row in rows}
    writer.writerows(
        by_key[key] for key in sorted(by_key, key=lambda k: (k[0], int(k[1] or 0), *k[2:]))
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text.getvalue())


def run(
    out: Path,
    families: Sequence[str],
    names: Sequence[str],
    n_splits: int,
    n_jobs: int,
    tables: Path | None = None,
) -> None:
    """Measure what the file of results lacks; it is written after each part."""
    rows = read_rows(out)
    done = {(row.family, row.dataset, row.split) for row in rows}
    parts = [
        (family, name, split)
        for split in range(n_splits)  # if the time is up, some splits are complete
        for family in families
        for name in names
        if (family, name, split) not in done
    ]
    measured = Parallel(n_jobs, return_as="generator_unordered")(
        delayed(measure)(*part, tables) for part in parts
    )
    start = time.monotonic()
    for n_done, new in enumerate(measured, start=1):
        rows += new
        write_rows(out, rows)
        if n_done % 50 == 0 or n_done == len(parts):
            print(f"{n_done} of {len(parts)} parts, {time.monotonic() - start:.0f} s", flush=True)


def main() -> None:
    """Run one of the commands."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run", help="compute what the file of results lacks")
    running.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    running.add_argument("--datasets", nargs="+")
    running.add_argument("--splits", type=int, default=3)
    running.add_argument("--jobs", type=int, default=1)
    running.add_argument("--tables", type=Path)
    merging = commands.add_parser("merge", help="add the results of other files")
    merging.add_argument("files", nargs="+", type=Path)
    commands.add_parser("report", help="print the tables of the documentation")
    plotting = commands.add_parser("plot", help="draw the curve")
    plotting.add_argument("--picture", type=Path, default=Path("docs/evolved.svg"))
    for command in commands.choices.values():
        command.add_argument("--out", type=Path, default=Path("benchmarks/size_curve.csv"))
    args = parser.parse_args()
    if args.command == "run":
        names = args.datasets or problem_names(args.tables)
        run(args.out, args.families, names, args.splits, args.jobs, args.tables)
    elif args.command == "merge":
        write_rows(args.out, [row for path in (args.out, *args.files) for row in read_rows(path)])
    elif args.command == "report":
        report(read_rows(args.out))
    else:
        plot(read_rows(args.out), args.picture)


if __name__ == "__main__":
    main()
