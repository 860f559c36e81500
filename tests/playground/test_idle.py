"""Trees of the playground: one pass through them, and the removal of idle branches."""

import json
import subprocess

import numpy as np
import pandas as pd
import pytest

from bneuralt import NeuralTree
from bneuralt.fitting.capacity import N_JOINED
from bneuralt.shrinking import without_idle_branches
from tests.helpers.playground import built, trained
from tests.playground.test_tables import as_csv


@pytest.fixture(scope="module", autouse=True)
def modules():
    built()


def of_trees(module, call, trees, **more):
    """Return what a function of a module of the playground makes of each tree, in Node."""
    from playground.in_node import FOLDER

    script = f"""import * as module from "./{module}.js"; import fs from "fs";
    const {{ trees, {", ".join(more)} }} = JSON.parse(fs.readFileSync(0, "utf8"));
    const typed = {{ parent: Int32Array, leafParent: Int32Array, leafInput: Int32Array, theta: Float32Array }};
    for (const tree of trees) for (const name in typed) tree[name] = typed[name].from(tree[name]);
    const answers = trees.map((tree, t) => {call});
    console.log(JSON.stringify(answers, (_, x) => ArrayBuffer.isView(x) ? [...x] : x))"""  # noqa: E501
    done = subprocess.run(
        ["node", "--input-type=module", "-e", script],
        input=json.dumps({"trees": list(map(as_plain, trees)), **more}),
        cwd=FOLDER, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def as_plain(tree):
    return {
        "k": tree.n_outputs,
        "nInputs": tree.n_inputs,
        "parent": tree.parent.tolist(),
        "activation": tree.activation.tolist(),
        "leafParent": tree.leaf_parent.tolist(),
        "leafInput": tree.leaf_input.tolist(),
        "theta": tree.parameters.tolist(),
    }


def trees_with_idle_branches():
    """Return trees of which some weights are 0, or so small that they do not count."""
    rng = np.random.default_rng(0)
    trees = []
    for seed in range(40):
        tree = NeuralTree.random(
            4, 1 + seed % 3, n_weights=20 + 2 * seed, activation="tanh", output_activation="linear",
            dtype="float32", random_state=seed,
        )  # fmt: skip
        is_small = rng.random(tree.n_parameters) < (0.0, 0.2, 0.6, 1.0)[seed % 4]
        factor = np.where(is_small, rng.choice([0.0, 1e-10, 1e-8], tree.n_parameters), 1.0)
        trees.append(tree.with_parameters((tree.parameters * factor).astype(np.float32)))
    return trees


def test_idle_branches_are_removed_as_by_python():
    trees = trees_with_idle_branches()
    rng = np.random.default_rng(1)
    low = rng.normal(size=(40, 4))
    high = low + rng.random((40, 4))
    high[20:, 0] = low[20:, 0]  # a constant
    ends = [{"low": a.tolist(), "high": b.tolist()} for a, b in zip(low, high, strict=True)]
    seen = of_trees("idle", "module.withoutIdleBranches(tree, ends[t])", trees, ends=ends)
    n_smaller = 0
    for tree, one, *between in zip(trees, seen, low, high, strict=True):
        smaller = without_idle_branches(tree, *between)
        n_smaller += smaller.n_parameters < tree.n_parameters
        other = as_plain(smaller)
        np.testing.assert_allclose(one.pop("theta"), other.pop("theta"), rtol=1e-6, atol=1e-7)
        assert one == {name: other[name] for name in one}
    assert 25 < n_smaller < 40


def test_the_pass_through_a_tree_is_that_of_the_engine():
    trees = trees_with_idle_branches()
    X = np.random.default_rng(2).normal(size=(5, 4))
    weighted = "{ ...tree, ...module.weightsOf(tree) }"
    call = f"rows.map((row) => module.nodesOf({weighted}, row).sums)"
    seen = of_trees("tree", call, trees, rows=X.tolist())
    for sums, tree in zip(seen, trees, strict=True):
        outputs = np.array(sums)[:, : tree.n_outputs]
        expected = tree.astype("float64").forward(X)
        np.testing.assert_allclose(outputs, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("is_forest", [False, True])
def test_models_have_no_idle_branches(is_forest, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3)).round(4)
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=X[:, 0] + rng.normal(size=2000))
    answer, model = trained(as_csv(frame), "y", tmp_path, isForest=is_forest)
    inputs = model.encoder_.encode(X)
    for tree in model.model_.trees:
        ends = inputs.min(axis=0), inputs.max(axis=0)
        # what is removed changes what is left by a rounding error
        smaller = without_idle_branches(tree, *ends, tolerance=5e-8)
        assert smaller.n_parameters > 0.99 * tree.n_parameters
    n_drawn = answer["plan"]["n_weights"] * (1 if is_forest else N_JOINED)
    assert np.mean([tree.n_parameters for tree in model.model_.trees]) < 0.97 * n_drawn
