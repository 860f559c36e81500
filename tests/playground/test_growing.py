"""Random trees of the playground: those of Python for the same seed, bit for bit."""

import json
import subprocess

import numpy as np
import pytest

from bneuralt.tree.growing import MAX_DEPTH, TREE_GROWTH
from bneuralt.tree.growth import TreeGrower
from tests.helpers.playground import built

SCRIPT = """import { Core } from "./core.js";
import { growthRule } from "./grow.js"; import fs from "fs";
const question = JSON.parse(fs.readFileSync(0, "utf8"));
const { encoder, varies, k, nWeights, rampFraction, seeds } = question;
const core = await Core.of(await WebAssembly.compile(fs.readFileSync("playground.wasm")));
const rule = growthRule(encoder, varies, k, nWeights, rampFraction);
const trees = seeds.map((seed) => core.grow(rule, seed));
console.log(JSON.stringify(trees, (_, x) => ArrayBuffer.isView(x) ? [...x] : x))"""


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("ramp_fraction", [0.0, 0.8])
@pytest.mark.parametrize("is_plain", [True, False])
def test_the_tree_of_a_seed_is_that_of_python(is_plain, ramp_fraction, k):
    built()
    from playground.in_node import FOLDER

    # a number, one with two ramps, a category of three values, a constant
    groups = [0, 1, 2, 3] if is_plain else [0, 1, 1, 1, 2, 2, 2, 3]
    drawn = [True] * 4 if is_plain else [True, True, False, False, True, True, True, True]
    n_ramps = np.array([0] * 4 if is_plain else [0, 2, 0, 0, 0, 0, 0, 0], dtype=np.int32)
    seeds = [0, 1, 2**31, 2**32 + 5, 2**64 - 1, *range(100, 145)]
    question = {
        "encoder": {
            "nInputs": len(groups), "groups": groups, "drawn": drawn,
            "isPlain": is_plain, "hasRamps": not is_plain,
        },
        "varies": [1] * (len(groups) - 1) + [0], "k": k, "nWeights": 80,
        "rampFraction": ramp_fraction, "seeds": [[seed % 2**32, seed >> 32] for seed in seeds],
    }  # fmt: skip
    done = subprocess.run(
        ["node", "--input-type=module", "-e", SCRIPT], input=json.dumps(question),
        cwd=FOLDER, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    names = ("min_children", "max_children", "activation", "output_activation", "init_scale")
    grower = TreeGrower(
        len(groups), k, MAX_DEPTH, **{name: TREE_GROWTH[name] for name in names}, n_weights=80,
        feature_sampling=[1, 1, 1, 0], groups=None if is_plain else np.where(drawn, groups, -1),
        dtype="float32", ramp_fraction=ramp_fraction, n_ramps=n_ramps,
    )  # fmt: skip
    for seed, tree in zip(seeds, json.loads(done.stdout), strict=True):
        structure, weights = grower.grow(seed)
        for name, values in (("parent", structure.parent), ("leafParent", structure.leaf_parent),
                             ("leafInput", structure.leaf_input),
                             ("activation", structure.activation)):  # fmt: skip
            assert tree[name] == values.tolist()
        assert tree["theta"] == weights.astype(float).tolist()
