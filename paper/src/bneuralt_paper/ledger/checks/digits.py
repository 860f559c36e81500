"""Claims about MNIST and dendritic k-trees."""

from __future__ import annotations

import numpy as np

from bneuralt_paper.images.k_trees import PUBLISHED
from bneuralt_paper.images.paper_runs import (
    GROWTHS,
    PRINTED,
    RATES,
    SHALLOW,
    SIZE_EPOCHS,
    PaperImageRun,
    printed_grid,
    size_runs,
)
from bneuralt_paper.images.paper_trees import ImageGrowth, draw_tree
from bneuralt_paper.ledger.checks.registry import check
from bneuralt_paper.ledger.evidence import Check, Evidence, NotTested
from bneuralt_paper.reporting import published
from bneuralt_paper.reporting.tree_shapes import outputs_above

__all__: list[str] = []

#: Function nodes of BNeuralT-200K, from a comment in the LaTeX source of the paper.
_ACTIVATIONS_200K = 2_098


def _main_runs(evidence: Evidence, label: str, rate: float = RATES[0]) -> list[PaperImageRun]:
    """Return the runs of a size with the growth of the authors' published trees."""
    runs = [
        r
        for r in evidence.image_results.paper_runs
        if r.label == label and r.is_main and r.rate == rate
    ]
    if not runs:
        raise NotTested(f"there are no runs of BNeuralT-{label} with the rate {rate:g}")
    return runs


def _percent(values: list[float]) -> str:
    mean = 100 * float(np.mean(values))
    spread = f" ± {100 * float(np.std(values, ddof=1)):.2f}" if len(values) > 1 else ""
    return f"{mean:.2f}{spread}"


def _unlearned(runs: list[PaperImageRun]) -> str:
    """Count the digits that a run does not tell from others."""
    areas = [area for run in runs for area in run.areas["test"]]
    return f"{sum(area < 0.9 for area in areas)} of {len(areas)} digits with an area below .9"


@check
def digit_error(evidence: Evidence, label: str, subtrees: bool = False) -> Check:
    """Compare the lowest test error of a size of Table 4 with the printed one.

    `subtrees` adds the smallest number of leaves that a digit has, in each of the trees.
    """
    runs = _main_runs(evidence, label)
    lowest, last = ([getattr(r, f"{w}_error") for r in runs] for w in ("lowest", "last"))
    printed = PRINTED[label][2]
    text = f"{_percent(lowest)} %, honest {_percent(last)} % ({len(runs)} seeds)"
    if subtrees:
        weights = PRINTED[label][0]
        trees = [draw_tree(ImageGrowth(*GROWTHS[label][0]), weights, 784, r.seed) for r in runs]
        leaves = [np.bincount(outputs_above(t.parent)[t.leaf_parent]).min() for t in trees]
        text += f"; {_unlearned(runs)}; the smallest random subtrees of a digit have "
        text += f"{', '.join(map(str, leaves))} leaves"
    return Check(text, abs(100 * float(np.mean(lowest)) - printed) <= 1.0)


@check
def digit_table(evidence: Evidence) -> Check:
    """Count the sizes of Table 4 whose error is within one point."""
    near, parts = 0, []
    for label, (_, _, printed) in PRINTED.items():
        lowest = [run.lowest_error for run in _main_runs(evidence, label)]
        near += abs(100 * float(np.mean(lowest)) - printed) <= 1.0
        parts.append(f"{label} {_percent(lowest)} ({printed})")
    return Check("; ".join(parts), near >= 3)


@check
def large_tree_rate(evidence: Evidence) -> Check:
    """Compare rates, depth and number of nodes of the largest tree as reasons for its error."""
    parts, lowest = [], []
    for rate in RATES:
        runs = _main_runs(evidence, "200K", rate)
        lowest += [run.lowest_error for run in runs]
        errors = _percent([run.lowest_error for run in runs])
        training = _percent([run.train_error[-1] for run in runs])
        parts.append(f"rate {rate:g}: {errors} % (training rows {training})")
    text = "; ".join(parts)
    if shallow := [r for r in evidence.image_results.paper_runs if r.label in SHALLOW]:
        error = [run.lowest_error for run in shallow]
        text += (
            f"; as many weights in a tree of depth {shallow[0].max_depth}, which no printed "
            f"setting draws: {_percent(error)} % ({len(shallow)} seeds), {_unlearned(shallow)}"
        )
    n_children = max(growth.max_children for growth in printed_grid()) - 1
    # the class nodes are no child of another function node
    n_leaves = (n_children - 1) * _ACTIVATIONS_200K + ImageGrowth.n_classes
    text += (
        f"; a comment in the paper's LaTeX source gives this tree {_ACTIVATIONS_200K:,} "
        f"activations, for which printed settings draw at most "
        f"{2 * _ACTIVATIONS_200K + n_leaves:,} weights"
    )
    return Check(text, 100 * min(lowest) <= PRINTED["200K"][2] + 0.5)


@check
def reachable_sizes(evidence: Evidence) -> Check:
    """Count the sizes of Table 4 that the printed settings draw in more than one of 1,000 trees."""
    records = evidence.measured("sizes_of_image_trees")
    shares = {label: max(r[f"share_{label}"] for r in records) for label in PRINTED}
    means = sorted({int(r["mean_nodes"]) for r in records})
    text = ", ".join(f"{label} {100 * share:.2g} %" for label, share in shares.items())
    text = f"share of random trees with the size: {text}; mean sizes {means[0]:,} to {means[-1]:,}"
    return Check(text, all(share > 1e-3 for share in shares.values()))


@check
def accuracy_and_size(evidence: Evidence) -> Check:
    """Correlate training accuracy after ten epochs with the number of nodes."""
    runs = size_runs(evidence.image_results.paper_runs)
    points = [(run.size, 1 - run.train_error[SIZE_EPOCHS - 1]) for run in runs]
    if len({size for size, _ in points}) < 3:
        raise NotTested("there are too few sizes")
    size, accuracy = np.array(points).T
    linear = float(np.corrcoef(size, accuracy)[0, 1])
    small = size < 100_000
    logarithmic = float(np.corrcoef(np.log(size[small]), accuracy[small])[0, 1])
    text = (
        f"correlation of training accuracy ({SIZE_EPOCHS} epochs) with the size {linear:.2f}; up "
        f"to 30,000 nodes with its logarithm {logarithmic:.2f}"
    )
    return Check(text, linear > 0.9)


@check
def digits_by_difficulty(evidence: Evidence) -> Check:
    """Compare the order of the digits by area under the ROC curves with the printed one."""
    from scipy.stats import spearmanr

    runs = _main_runs(evidence, "20K")
    areas = np.mean([run.areas["test"] for run in runs], axis=0)
    ours = [int(k) for k in np.argsort(areas)]
    printed = list(published.DIGITS_BY_DIFFICULTY)
    places = [[order.index(k) for k in range(10)] for order in (ours, printed)]
    agreement = float(spearmanr(*places)[0])
    text = f"hardest first: {', '.join(map(str, ours))}; rank correlation {agreement:.2f}"
    return Check(text, agreement >= 0.8)


@check
def sensitivity(evidence: Evidence) -> Check:
    """Report the lowest area under a ROC curve, on training and test rows."""
    runs = _main_runs(evidence, "20K")
    lowest = {part: min(min(run.areas[part]) for run in runs) for part in ("train", "test")}
    text = (
        f"lowest area under a ROC curve: training {lowest['train']:.4f}, test {lowest['test']:.4f}"
    )
    return Check(text, lowest["test"] >= 0.98)


@check
def drawn_digit_tree(evidence: Evidence, functions: int, leaves: int) -> Check:
    """Compare the numbers of nodes of the drawn tree with the printed ones."""
    trees = evidence.image_results.drawn_trees
    if not trees:
        raise NotTested("there is no drawn tree")
    tree = trees[0]
    n_functions = len(tree.parent) - tree.n_outputs
    text = (
        f"{n_functions:,} function nodes, {len(tree.leaf_parent):,} leaves, 10 class nodes; error "
        f"{100 * tree.test_error:.2f} %"
    )
    near = (
        abs(n_functions / functions - 1) < 0.05 and abs(len(tree.leaf_parent) / leaves - 1) < 0.05
    )
    return Check(text, near)


@check
def best_of_trees(evidence: Evidence) -> Check:
    """Compare BNeuralT with the quoted classification trees, and with CART of scikit-learn."""
    table = published.mnist()
    quoted = table[table["group"] != "BNeuralT"]["error_percent"]
    lowest = 100 * float(np.mean([r.lowest_error for r in _main_runs(evidence, "20K")]))
    last = 100 * float(np.mean([r.last_error for r in _main_runs(evidence, "20K")]))
    ahead = int((quoted > lowest).sum())
    carts = [b.test_error for b in evidence.image_results.baselines if b.name == "CART-mnist"]
    ours = f"; CART of scikit-learn {100 * carts[0]:.2f} %" if carts else ""
    text = f"BNeuralT-20K {lowest:.2f} % (honest {last:.2f})"
    text += f" is ahead of {ahead} of {len(quoted)}{ours}"
    return Check(text, ahead == len(quoted))


@check
def k_tree(evidence: Evidence, name: str) -> Check:
    """Compare the accuracy of dendritic trees for 3 against 5 with the published one."""
    found = [entry for entry in evidence.image_results.k_trees if entry.name == name]
    if not found:
        raise NotTested(f"there are no trials of the {name}")
    accuracies = [trial.accuracy for trial in found[0].trials]
    error = [1 - accuracy for accuracy in accuracies]
    text = f"error {_percent(error)} % ({len(error)} trials)"
    return Check(text, abs(float(np.mean(accuracies)) - PUBLISHED[name]) <= 0.015)


@check
def convolutions(evidence: Evidence) -> Check:
    """Report our lowest honest error, beside the quoted one of CapsNet."""
    runs = [r for r in evidence.image_results.runs if r.data == "mnist"]
    if not runs:
        raise NotTested("CapsNet was not run; its figure is quoted")
    best = min(r.test_error for r in runs)
    raise NotTested(f"CapsNet was not run; our lowest honest error is {100 * best:.2f} %")
