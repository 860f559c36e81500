"""Claims about trees themselves: numbers of nodes and weights, unused inputs, times, memory."""

from __future__ import annotations

import math

import numpy as np

from bneuralt.tree import NeuralTree
from bneuralt_paper.datasets.catalogue import CATALOGUE
from bneuralt_paper.experiments.neural_trees import paper_tree
from bneuralt_paper.ledger.checks.registry import check
from bneuralt_paper.ledger.checks.scores import GROUPS
from bneuralt_paper.ledger.evidence import Check, Evidence, NotTested
from bneuralt_paper.reporting import published
from bneuralt_paper.reporting.cells import format_number

__all__: list[str] = []


def _paper_trees(n_outputs: int, count: int = 50) -> list[NeuralTree]:
    return [paper_tree(8, n_outputs, seed=seed) for seed in range(count)]


@check
def node_limit(evidence: Evidence, depth: int, children: int) -> Check:
    """Compare the largest tree of the authors' rule with the printed limit of nodes."""
    limit = (children ** (depth + 1) - 1) // (children - 1)
    fewer = children - 1  # the authors' trees have at most one child fewer
    largest = (fewer ** (depth + 2) - 1) // (fewer - 1)
    text = (
        f"limit {limit:,} for p = {depth}, m = {children}; the authors' trees have leaves one "
        f"level below p and at most {fewer} children, so up to {largest:,} nodes"
    )
    return Check(text, largest <= limit)


@check
def weight_count(evidence: Evidence) -> Check:
    """Compare 2 V + T with the number of trained values."""
    differences = []
    for n_outputs in (1, 3):
        for tree in _paper_trees(n_outputs, 5):
            differences.append(abs(tree.paper_parameter_count - tree.n_parameters))
    text = (
        "trained are 2 V + T less the edges to the class nodes, or plus the bias of a regression "
        f"root: differs by {min(differences)} to {max(differences)}"
    )
    return Check(text, max(differences) <= 3)


@check
def separate_classes(evidence: Evidence) -> Check:
    """Check that every class has a subtree of its own and every leaf one input."""
    trees = _paper_trees(3)
    separate = all(
        tree.n_outputs == 3 and (tree.parent[:3] == -1).all() and (tree.parent[3:] >= 0).all()
        for tree in trees
    )
    arity = [n for tree in trees for n in _arities(tree)]
    text = f"in {len(trees)} trees each class has its own subtree"
    text += f"; {min(arity)} to {max(arity)} children"
    return Check(text, separate)


def _arities(tree: NeuralTree) -> list[int]:
    n = tree.parent.size
    inner = np.bincount(tree.parent[tree.n_outputs :], minlength=n)
    counts = inner + np.bincount(tree.leaf_parent, minlength=n)
    return [int(count) for count in counts]


@check
def traversal(evidence: Evidence) -> Check:
    """Check that children have higher numbers than parents, so that both passes follow them."""
    good = all((tree.parent < np.arange(tree.parent.size)).all() for tree in _paper_trees(3))
    return Check("children are computed before, gradients after their parents", good)


@check
def children(evidence: Evidence, printed: int) -> Check:
    """Compare the largest number of children with the printed maximum."""
    largest = max(max(_arities(tree)) for tree in _paper_trees(3))
    text = f"the rule of the authors' published trees gives 2 to {largest}"
    return Check(text, largest == printed)


@check
def unused_inputs(evidence: Evidence) -> Check:
    """Count inputs that no leaf of a tree has."""
    parts = evidence.measured("unused_inputs")
    unused = {name: part["unused"] / part["inputs"] for name, part in parts.items()}
    complete = sum(part["trees_with_all_inputs"] for part in parts.values())
    total = sum(part["trees"] for part in parts.values())
    most = max(unused, key=lambda name: unused[name])
    mean = 100 * sum(unused.values()) / len(unused)
    text = (
        f"{mean:.1f} % of the inputs are unused on average ({100 * unused[most]:.0f} % on {most}); "
        f"{complete} of {total} trees use all"
    )
    return Check(text, complete < total / 2)


@check
def linear_cost(evidence: Evidence, quantity: str) -> Check:
    """Fit the exponent of time or memory against the number of nodes."""
    records = evidence.measured("cost_by_size")
    x = np.log([record["nodes"] for record in records])
    y = np.log([record[quantity] for record in records])
    exponent = float(np.polyfit(x, y, 1)[0])
    first, last = ((record["nodes"], record[quantity]) for record in (records[0], records[-1]))
    text = (
        f"exponent {exponent:.2f} from {first[0]:,} to {last[0]:,} nodes "
        f"({round(first[1], 2):,} to {last[1]:,.0f} {quantity.split('_')[-1]})"
    )
    return Check(text, exponent <= 1.1)


@check
def training_time(evidence: Evidence) -> Check:
    """Compare the processor time of 500 epochs of a tree and of an MLP."""
    parts = evidence.measured("training_seconds")
    ratios = {name: part["tree"] / part["mlp"] for name, part in parts.items()}
    faster = sum(ratio < 1 for ratio in ratios.values())
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    per_weight = math.exp(
        sum(
            math.log(p["tree"] / p["tree_weights"] / (p["mlp"] / p["mlp_weights"]))
            for p in parts.values()
        )
        / len(parts)
    )
    text = (
        f"500 epochs of a tree take {mean:.2f} times the time of an MLP (faster on {faster} of "
        f"{len(ratios)}); per weight {per_weight:.1f} times"
    )
    return Check(text, mean < 1)


@check
def single_row_times(evidence: Evidence) -> Check:
    """Compare the times of predicting one row."""
    parts = evidence.measured("single_row_microseconds")
    names = [
        name for name in CATALOGUE if name in parts and CATALOGUE[name].task == "classification"
    ]
    algorithms = ("BNeuralT", "MLP", "DT", "RF", "GP", "NBC", "SVM")
    means = {a: float(np.mean([parts[name][a] for name in names])) for a in algorithms}
    ordered = sorted(means, key=lambda a: means[a])
    text = ", ".join(f"{a} {means[a]:.1f}" for a in ordered)
    return Check(f"microseconds: {text}", ordered[:2] == ["DT", "BNeuralT"])


@check
def edges(evidence: Evidence, functions: int, leaves: int, classes: int, printed: int) -> Check:
    """Count the edges of a tree from the printed numbers of nodes."""
    ours = functions + leaves + classes
    return Check(f"{ours:,} edges follow from the printed numbers of nodes", ours == printed)


@check
def facts_of_data(evidence: Evidence) -> Check:
    """Compare the printed numbers of inputs, classes and rows with the tables."""
    printed = published.data_facts()
    wrong = []
    for name, row in printed.iterrows():
        entry = CATALOGUE[str(name)]
        ours = {
            "inputs": len(entry.feature_names),
            "classes": len(entry.class_names),
            "rows": entry.n_rows,
        }
        wrong += [
            f"{name} has {ours[key]} {key}, not {int(row[key])}"
            for key in ours
            if ours[key] != int(row[key])
        ]
    return Check("; ".join(wrong) or "as printed", not wrong)


@check
def settings_without_runs(evidence: Evidence, prefixes: list[str]) -> Check:
    """Look for settings of the text in Tables A2 and A3."""
    names = list(published.experiments().index)
    missing = [p for p in prefixes if not any(name.startswith(p) for name in names)]
    text = f"Tables A2 and A3 have no experiment {', '.join(missing)}" if missing else "all there"
    return Check(text, not missing)


@check
def weights_columns(evidence: Evidence, experiment: str, dataset: str, printed: int) -> Check:
    """Compare a printed number of weights with that of an MLP on the data set of its column."""
    weights = evidence.results.summary("paper", experiment, dataset, "weights")
    if not weights.n:
        raise NotTested("there are no runs")
    text = (
        f"an MLP on {dataset} has {weights.mean:.0f} weights; the columns are in alphabetical order"
    )
    return Check(text, weights.mean == printed)


@check
def printed_twice(evidence: Evidence, first: float, second: float, what: str) -> Check:
    """Compare two printed values of the same quantity."""
    return Check(f"{what}: {first:g} and {second:g}", first == second)


@check
def average_of_rows(evidence: Evidence, group: str, part: str, printed: float) -> Check:
    """Compare a printed [Avg.] with the mean of the printed rows."""
    table = published.table2()
    mean = float(table.loc[GROUPS[group], part].dropna().mean())
    return Check(f"the rows give {format_number(mean)}", abs(mean - printed) <= 0.0015)
