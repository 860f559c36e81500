"""Measure how small trees can be made, and the loss of accuracy, for docs/lab/times_and_sizes.md.

    python -m benchmarks.compact sizes --data-home ../shared --picture docs/compact.svg
    python -m benchmarks.compact simplify --data-home ../shared
    python -m benchmarks.compact monks

Splits are those of the paper's runs: 80 % training and 20 % test rows. Everything is decided on
training rows.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.targets import print_table, splits
from bneuralt import BNeuralTClassifier, BNeuralTRegressor
from bneuralt.fitting.problem import problem_of
from bneuralt.fitting.pruning import smaller_models
from bneuralt_paper import load_dataset
from bneuralt_paper.datasets.catalogue import PAPER_CLASSIFICATION, PAPER_REGRESSION
from tests.helpers import monks

SHARES = (1.0, 0.5, 0.25, 0.1)
#: Share of the weights that Optimal Brain Surgeon removed from a perceptron for each problem.
REMOVED_1992 = {1: 0.90, 2: 0.76, 3: 0.62}


def differences(name: str, n_splits: int, data_home: str | None) -> dict[str, np.ndarray]:
    """Return the accuracy of the whole trees, and the differences of smaller trees in points."""
    data = load_dataset(name, data_home=data_home)
    by_rule: dict[str, list[list[float]]] = {"surgeon": [], "magnitude": []}
    whole = []
    for split in splits(data.X, data.y, n_splits):
        model = BNeuralTClassifier(random_state=split.seed).fit(split.X, split.y)
        score = model.score(split.X_test, split.y_test)
        whole.append(score)
        problem = problem_of(model.model_, model._options(), split.X, split.y)
        sizes = [int(share * model.n_parameters_) for share in SHARES[1:]]
        for rule, results in by_rule.items():
            smaller = smaller_models(problem, model.recipe_, model.model_, sizes, rule=rule)
            scores = [model._with_model(each).score(split.X_test, split.y_test) for each in smaller]
            results.append([100 * (other - score) for other in scores])
    return {"whole": np.array(whole), **{rule: np.array(d) for rule, d in by_rule.items()}}


def sizes(n_splits: int, data_home: str | None, picture: str | None) -> None:
    """Print the loss of accuracy at each size, for each set."""
    header = ["set", "accuracy"]
    for rule in ("surgeon", "magnitude"):
        header += [f"{rule} 1/{round(1 / share)}" for share in SHARES[1:]]
    rows: list[list[Any]] = []
    means: dict[str, list[np.ndarray]] = {"surgeon": [], "magnitude": []}
    for name in PAPER_CLASSIFICATION:
        by_rule = differences(name, n_splits, data_home)
        cells = []
        for rule, values in means.items():
            values.append(by_rule[rule].mean(axis=0))
            cells += [f"{d:+.2f}" for d in values[-1]]
        rows.append([name, float(by_rule["whole"].mean()), *cells])
        print(rows[-1], flush=True)
    whole = float(np.mean([row[1] for row in rows]))
    cells = [f"{d:+.2f}" for values in means.values() for d in np.mean(values, axis=0)]
    print_table(header, [*rows, ["mean", whole, *cells]])
    if picture:
        draw({rule: np.array(values) for rule, values in means.items()}, picture)


def draw(means: dict[str, np.ndarray], path: str) -> None:
    """Draw the mean change of accuracy against size, with a thin line for each set."""
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams["svg.hashsalt"] = "compact"
    figure = Figure(figsize=(7, 4), layout="constrained")
    ax = figure.subplots()
    at = np.array(SHARES) * 100
    for rule, color in (("magnitude", "#2f6690"), ("surgeon", "#c8553d")):
        curves = np.hstack([np.zeros((len(means[rule]), 1)), means[rule]])
        for curve in curves:
            ax.plot(at, curve, color=color, alpha=0.25, linewidth=0.8)
        ax.plot(at, curves.mean(axis=0), color=color, marker="o", label=rule)
    ax.axhline(0, color="#999999", linewidth=0.8)
    ax.set_xscale("log")
    ax.set_xticks(at, [f"{share:g} %" for share in at], minor=False)
    ax.minorticks_off()
    ax.invert_xaxis()
    ax.set_xlabel("weights kept")
    ax.set_ylabel("change of test accuracy, points")
    ax.legend(frameon=False)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    figure.savefig(path, metadata={"Date": None})


def simplifications(data_home: str | None) -> None:
    """Print how much exact simplification removes from trees of the 14 sets."""
    rows: list[list[Any]] = []
    for name in (*PAPER_CLASSIFICATION, *PAPER_REGRESSION):
        data = load_dataset(name, data_home=data_home)
        kind = BNeuralTClassifier if name in PAPER_CLASSIFICATION else BNeuralTRegressor
        before, after, differs = [], [], []
        for seed in range(5):
            model = kind(random_state=seed).fit(data.X, data.y)
            small = model.simplify()
            X = np.asarray(data.X, dtype=np.float64)
            outputs = (m.tree_.astype(np.float64).forward(X) for m in (model, small))
            one, other = outputs
            differs.append(float(np.abs(one - other).max() / np.abs(one).max()))
            before.append(model.n_parameters_)
            after.append(small.n_parameters_)
        removed = 100 * (1 - np.mean(after) / np.mean(before))
        rows.append(
            [
                name,
                round(float(np.mean(before))),
                round(float(np.mean(after))),
                f"{removed:.1f} %",
                f"{max(differs):.0e}",
            ]
        )
    print_table(["set", "weights", "simplified", "removed", "largest relative difference"], rows)


def monk_problems() -> None:
    """Print how small trees become that solve the MONK's problems."""
    rows: list[list[Any]] = []
    for problem, removed in REMOVED_1992.items():
        X, y, X_all, y_all = monks.load(problem)
        for seed in range(3):
            model = BNeuralTClassifier(random_state=seed).fit(X, y)
            chosen = model.compact(X, y)
            whole = model.n_parameters_
            limit = int(whole * (1 - removed))
            if chosen.n_parameters_ > limit:  # the rule of one standard error keeps more
                chosen = model.compact(X, y, max_weights=limit, cv=None)
            rows.append(
                [
                    problem,
                    whole,
                    float(model.score(X_all, y_all)),
                    chosen.n_parameters_,
                    f"{100 * (1 - chosen.n_parameters_ / whole):.0f} %",
                    float(chosen.score(X_all, y_all)),
                    f"{100 * removed:.0f} %",
                ]
            )
    header = ["problem", "weights", "accuracy", "kept", "removed", "accuracy then", "removed 1992"]
    print_table(header, rows)


def main() -> None:
    """Run one of the measurements."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=("sizes", "simplify", "monks"))
    parser.add_argument("--data-home")
    parser.add_argument("--splits", type=int, default=30)
    parser.add_argument("--picture", help="where to draw the sizes")
    args = parser.parse_args()
    with threadpool_limits(1):
        if args.what == "sizes":
            sizes(args.splits, args.data_home, args.picture)
        elif args.what == "simplify":
            simplifications(args.data_home)
        else:
            monk_problems()


if __name__ == "__main__":
    main()
