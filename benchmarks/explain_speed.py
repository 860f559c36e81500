"""Measure the speed of attributions, and their agreement with Shapley values.

    python -m benchmarks.explain_speed speed
    python -m benchmarks.explain_speed shapley --data-home ../shared
    python -m benchmarks.explain_speed picture --out docs/explain.svg

Times are those of the processor in one thread, the least of several repetitions taken in turns.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from threadpoolctl import threadpool_limits

from benchmarks.targets import print_table, splits
from benchmarks.timing import interleaved
from bneuralt import BNeuralTClassifier, BNeuralTRegressor, NeuralTree
from bneuralt_paper import load_dataset
from bneuralt_paper.datasets.catalogue import PAPER_CLASSIFICATION, PAPER_REGRESSION
from tests.reference.shapley import shapley_values

N_ROWS, N_INPUTS, N_OUTPUTS = 100_000, 13, 3
#: Rows that are explained with TreeExplainer; its time is in proportion to their number.
N_EXPLAINED_BY_SHAP = 200
#: Exact Shapley values take 2 ** features predictions; beyond, permutations are sampled.
MOST_EXACT, N_PERMUTATIONS, N_SHAPLEY_ROWS = 14, 500, 20


def speed() -> None:
    """Print the time of attributions, of outputs, and of TreeExplainer."""
    rng = np.random.default_rng(0)
    rows: list[list[Any]] = []
    for dtype in (np.float32, np.float64):
        tree = NeuralTree.random(
            N_INPUTS, N_OUTPUTS, n_weights=200, output_activation="linear", dtype=dtype,
            random_state=0,
        )  # fmt: skip
        X = rng.normal(size=(N_ROWS, N_INPUTS)).astype(dtype)
        start = X.mean(axis=0)
        times = interleaved(
            {
                "forward": lambda tree=tree, X=X: tree.forward(X),
                "input": lambda tree=tree, X=X, s=start: tree.contributions(X, s, by="input"),
                "leaf": lambda tree=tree, X=X, s=start: tree.contributions(X, s, by="leaf"),
            },
            repeat=25,
        )
        for name, seconds in times.items():
            ratio = seconds / times["forward"]
            rows.append(
                [f"{np.dtype(dtype).name}, {name}", f"{1e9 * seconds / N_ROWS:.0f}", f"{ratio:.1f}"]
            )
    rows.append(["shap.TreeExplainer, forest of 100", f"{_tree_explainer(rng):.0f}", ""])
    print_table(["100,000 rows, tree of 198 weights", "ns per row", "x forward"], rows)


def _tree_explainer(rng: np.random.Generator) -> float:
    """Return the nanoseconds that shap takes for a row and a random forest of 100 trees."""
    import shap
    from sklearn.ensemble import RandomForestClassifier

    X = rng.normal(size=(1000, N_INPUTS))
    y = (X[:, :N_OUTPUTS] + 0.3 * rng.normal(size=(1000, N_OUTPUTS))).argmax(axis=1)
    forest = RandomForestClassifier(100, random_state=0).fit(X, y)
    explainer = shap.TreeExplainer(forest)
    rows = rng.normal(size=(N_EXPLAINED_BY_SHAP, N_INPUTS))
    least = np.inf
    for _ in range(3):
        begin = time.process_time_ns()
        explainer.shap_values(rows, check_additivity=False)
        least = min(least, time.process_time_ns() - begin)
    return float(least / N_EXPLAINED_BY_SHAP)


def shapley(data_home: str | None) -> None:
    """Print the rank correlation with Shapley values, for the data sets of the paper."""
    rows: list[list[Any]] = []
    for name in (*PAPER_CLASSIFICATION, *PAPER_REGRESSION):
        data = load_dataset(name, data_home=data_home)
        kind = BNeuralTClassifier if name in PAPER_CLASSIFICATION else BNeuralTRegressor
        correlations: dict[str, list[float]] = {"rescale": [], "integrated_gradients": []}
        for split in splits(data.X, data.y, 2):
            model = kind(random_state=split.seed).fit(split.X, split.y)
            X = split.X_test[:N_SHAPLEY_ROWS]
            start = model.model_.mean_inputs
            tree = model.tree_.astype(np.float64)
            values = {m: tree.contributions(X, start, by="input", method=m) for m in correlations}
            for i, x in enumerate(X):
                exact = _shapley(tree, np.asarray(x, dtype=np.float64), start)
                for method, results in correlations.items():
                    for k in range(tree.n_outputs):
                        results.append(spearmanr(values[method][i, :, k], exact[:, k])[0])
        how = "exact" if data.X.shape[1] <= MOST_EXACT else f"{N_PERMUTATIONS} permutations"
        means = [float(np.nanmean(results)) for results in correlations.values()]
        rows.append([name, data.X.shape[1], *means, how])
        print(rows[-1], flush=True)
    mean = [float(np.mean([row[i] for row in rows])) for i in (2, 3)]
    header = ["set", "features", "rescale", "integrated gradients", "Shapley values"]
    print_table(header, [*rows, ["mean", "", *mean, ""]])


def _shapley(tree: NeuralTree, x: np.ndarray, start: np.ndarray) -> np.ndarray:
    if x.size <= MOST_EXACT:
        return shapley_values(tree.forward, x, start)
    rng = np.random.default_rng(0)
    total = np.zeros((x.size, tree.n_outputs))
    order = np.arange(x.size)
    for i in range(N_PERMUTATIONS):
        # the reverse of an order cancels much of its error
        order = rng.permutation(x.size) if i % 2 == 0 else order[::-1]
        steps = np.tile(start, (x.size + 1, 1))
        for j, feature in enumerate(order):
            steps[j + 1 :, feature] = x[feature]
        total[order] += np.diff(tree.forward(steps), axis=0)
    return total / N_PERMUTATIONS


def picture(path: str) -> None:
    """Draw the contributions to predictions for iris flowers, for the documentation."""
    import matplotlib
    from matplotlib.figure import Figure
    from sklearn.datasets import load_iris

    matplotlib.rcParams["svg.hashsalt"] = "explain"
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = load_iris().target_names
    model = BNeuralTClassifier(dtype="float64", random_state=0).fit(X, names[y])
    figure = Figure(figsize=(10, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    model.explain(X, output="probability").plot("waterfall", row=100, ax=left)
    model.explain(X[::3]).plot("beeswarm", output="virginica", ax=right)
    right.set_xlabel("contribution to the score of virginica")
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Run one of the measurements."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=("speed", "shapley", "picture"))
    parser.add_argument("--data-home")
    parser.add_argument("--out", default="docs/explain.svg", help="where to draw the picture")
    args = parser.parse_args()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if args.what == "speed":
            speed()
        elif args.what == "picture":
            picture(args.out)
        else:
            shapley(args.data_home)


if __name__ == "__main__":
    main()
