"""Trees that the core grows: equal to the naive ones, and distributed as recorded."""

from pathlib import Path

import numpy as np
import pytest

from bneuralt import NeuralTree, _core
from bneuralt.tree.growth import TreeGrower
from bneuralt.tree.interactions import InteractionSets
from bneuralt.tree.sampling import ReceptiveFields
from bneuralt.tree.walk import node_levels
from tests import reference
from tests.helpers.quick import cases

N_GROWTHS = cases(1000)
N_DRAWN = cases(2000)

#: Quantiles of figures of random trees, of the sampler in Python that the core has replaced.
RECORDED = Path(__file__).with_name("growth_quantiles.csv")


def random_rule(name, rng):
    """Return parameters of `TreeGrower` that are drawn for one kind of growth."""
    n_inputs, n_outputs = int(rng.integers(1, 12)), int(rng.integers(1, 4))
    low = int(rng.integers(1, 4))
    settings = {
        "n_inputs": n_inputs,
        "n_outputs": n_outputs,
        "max_depth": int(rng.integers(1, 5)),
        "max_children": low + int(rng.integers(1, 4)),
        "min_children": low,
        "leaf_probability": float(rng.uniform(0.3, 0.9)),
        "init": str(rng.choice(["normal", "uniform"])),
        "init_scale": float(rng.uniform(0, 3)),
        "activation": ["tanh", ["tanh", "gaussian", "sigmoid"], {"tanh": 0.2, "relu": 0.8}][
            int(rng.integers(3))
        ],
        "train_activations": bool(rng.integers(2)),
    }
    if name in ("weights", "groups", "interactions", "ramps", "fields"):
        settings["n_weights"] = max(3, n_outputs * (1 + low)) + int(rng.integers(0, 120))
        settings["deepen"] = bool(rng.integers(2))
    elif name == "paper":
        settings["rule"] = "paper"
    elif name == "sizes":
        settings |= {"min_size": 4 + 3 * n_outputs, "max_size": 400}
    if name in ("groups", "ramps") or (name == "interactions" and rng.random() < 0.5):
        settings["groups"] = np.sort(rng.integers(0, 5, n_inputs))
        settings["groups"][rng.random(n_inputs) < 0.2] = -1
        settings["groups"][-1] = 4
    n_features = int(np.max(settings.get("groups", n_inputs - 1))) + 1
    if name != "fields" and rng.random() < 0.5:
        settings["feature_sampling"] = rng.integers(0, 4, n_features) + np.eye(n_features)[-1]
    if name == "interactions":
        half = list(range(0, n_features, 2))
        sets = ["no_interactions", "pairwise", [half]][int(rng.integers(3))]
        settings["interactions"] = InteractionSets.of(sets, n_features)
        if rng.random() < 0.2:  # the size says how many weights there are
            del settings["n_weights"]
    if name == "ramps":
        n_ramps = np.minimum(rng.integers(0, 3, n_inputs), np.arange(n_inputs)[::-1])
        settings |= {"n_ramps": n_ramps.astype(np.int32), "ramp_fraction": float(rng.random())}
    if name == "fields":
        shape, n_channels = rng.integers(1, 4, int(rng.integers(1, 4))), int(rng.integers(1, 3))
        settings["n_inputs"] = int(np.prod(shape)) * n_channels
        spread = np.sort(rng.uniform(0.1, 3, 2)).tolist()
        fields = ReceptiveFields(shape, spread, depth=int(rng.integers(1, 4)))
        if rng.random() < 0.5:
            fields = fields.learn(rng.integers(0, 2, (3, settings["n_inputs"])))
        settings["feature_sampling"] = fields
    return settings


KINDS = ("inclusive", "paper", "sizes", "weights", "groups", "interactions", "ramps", "fields")


@pytest.mark.parametrize("name", KINDS)
def test_the_core_grows_the_trees_of_the_reference(name):
    rng = np.random.default_rng(KINDS.index(name))
    for _ in range(N_GROWTHS):
        grower, seed = TreeGrower(**random_rule(name, rng)), int(rng.integers(2**63))
        try:
            structure, weights = _core.grow(grower.rule, seed)
        except ValueError:  # the limits of the size cannot be met
            with pytest.raises(ValueError, match="no tree"):
                reference.grow(grower.fields, seed)
            continue
        naive = reference.grow(grower.fields, seed)
        assert weights.tolist() == naive.pop("parameters")
        for name, expected in naive.items():
            assert getattr(structure, name).tolist() == expected


def figures(tree):
    """Return nodes, leaves, weights, depth, and the mean depths of nodes and leaves."""
    levels = node_levels(tree.parent)
    return (
        tree.n_function_nodes,
        tree.n_leaves,
        tree.n_parameters,
        levels[-1],
        levels.mean(),
        levels[tree.leaf_parent].mean(),
    )


FIGURES = ("nodes", "leaves", "weights", "depth", "depth_of_nodes", "depth_of_leaves")
RULES = {
    "inclusive": {"max_depth": 4, "max_children": 4, "leaf_probability": 0.4},
    "inclusive_classes": {
        "n_outputs": 3, "max_children": 4, "leaf_probability": 0.35, "min_size": 0.8,
    },
    "paper": {"rule": "paper", "init": "uniform"},
    "paper_classes": {
        "n_outputs": 3, "rule": "paper", "init": "uniform", "min_size": 40, "max_size": 400,
    },
    "weights": {"n_weights": 100, "max_children": 4},
    "weights_classes": {"n_outputs": 3, "n_weights": 301, "max_children": 4},
    "weights_shallow": {
        "n_outputs": 2, "n_weights": 300, "max_depth": 2, "min_children": 1,
    },
    "groups": {
        "n_outputs": 2, "n_weights": 150, "max_children": 4, "groups": [0, 0, 0, 1, 2, -1],
        "feature_sampling": [1.0, 2.0, 0.5],
    },
    "interactions": {
        "n_outputs": 2, "n_weights": 200, "max_children": 4,
        "interactions": InteractionSets.of([{0, 1, 2}, {3, 4}], 6),
    },
    "pairwise_groups": {
        "n_weights": 120, "max_children": 4, "groups": [0, 0, 1, 2, 2, 3],
        "interactions": InteractionSets.of("pairwise", 4),
    },
    "fields": {
        "n_inputs": 64, "n_outputs": 2, "n_weights": 150, "max_children": 4,
        "feature_sampling": ReceptiveFields((8, 8), (0.5, 2.0)),
    },
}  # fmt: skip


@pytest.mark.parametrize("name", RULES)
def test_sizes_and_depths_are_distributed_as_recorded(name):
    """Compare the share of trees at or below each recorded quantile with the recorded share."""
    settings = {"n_inputs": 6, **RULES[name]}
    drawn = np.array(
        [figures(NeuralTree.random(**settings, random_state=seed)) for seed in range(N_DRAWN)]
    )
    recorded = np.genfromtxt(RECORDED, delimiter=",", names=True, dtype=None, encoding="ascii")
    rows = recorded[recorded["rule"] == name]
    assert len(rows) > 0
    for rule, figure, quantile, share, n_recorded in rows.tolist():
        found = np.mean(drawn[:, FIGURES.index(figure)] <= quantile)
        error = np.sqrt(max(share * (1 - share), 1e-3) * (1 / n_recorded + 1 / N_DRAWN))
        assert abs(found - share) < 4.5 * error, (rule, figure, quantile)
