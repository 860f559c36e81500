"""Samplers of leaf inputs, and trees of a wanted number of weights."""

import copy
import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_digits

from bneuralt import BNeuralForestClassifier, BNeuralTClassifier, Growth, NeuralTree, load_model
from bneuralt.tree.sampling import ReceptiveFields, VarianceSampling, sampler_from_dict
from bneuralt.tree.walk import outputs_above

SAMPLERS = [
    VarianceSampling(),
    VarianceSampling(power=0.5),
    ReceptiveFields((8, 8)),
    ReceptiveFields([4, 4, 4], spread=(0.5, 2), depth=1),
]


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X.astype(np.uint8), y


def subtrees(tree, depth=2):
    """For each leaf the node at `depth` above it, -1 where there is none."""
    top = 0 if tree.n_outputs == 1 else 1
    groups = []
    for node in tree.leaf_parent.tolist():
        path = [node]
        while tree.parent[path[-1]] >= 0:
            path.append(int(tree.parent[path[-1]]))
        path.reverse()
        groups.append(path[depth - top] if len(path) > depth - top else -1)
    return np.array(groups)


# -- receptive fields ---------------------------------------------------------------------


@given(
    shape=st.lists(st.integers(1, 7), min_size=1, max_size=3),
    n_channels=st.integers(1, 3),
    n_outputs=st.integers(1, 3),
    spread=st.one_of(st.floats(0.01, 20), st.just((0.1, 5.0))),
    seed=st.integers(0, 2**32),
)
def test_any_shape_gives_inputs_in_range(shape, n_channels, n_outputs, spread, seed):
    n_inputs = int(np.prod(shape)) * n_channels
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (3, n_inputs), dtype=np.uint8)
    varies = X.max(axis=0) > X.min(axis=0)
    sampler = ReceptiveFields(shape, spread).learn(X)
    tree = NeuralTree.random(n_inputs, n_outputs, feature_sampling=sampler, random_state=seed)
    if varies.any():
        assert varies[tree.leaf_input].all()
    assert tree == NeuralTree.random(
        n_inputs, n_outputs, feature_sampling=sampler, random_state=seed
    )


@pytest.mark.parametrize("n_outputs", [1, 4])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_leaves_of_a_subtree_are_near_each_other(n_outputs, depth):
    shape, spread = (200, 300), 3.0
    tree = NeuralTree.random(
        60_000, n_outputs, 4, 12, 0.2, feature_sampling=ReceptiveFields(shape, spread, depth),
        min_size=3000, random_state=0,
    )  # fmt: skip
    place = np.stack(np.unravel_index(tree.leaf_input, shape), axis=1)
    owner, deviations, degrees = subtrees(tree, depth), [], 0
    for subtree in np.unique(owner[owner >= 0]):
        here = place[owner == subtree]
        deviations.append(here - here.mean(axis=0))
        degrees += len(here) - 1
    total = np.square(np.concatenate(deviations)).sum(axis=0) / degrees
    # Discrete and cut at the edges of the image: near the spread, not equal to it.
    assert np.all(np.abs(np.sqrt(total) - spread) < 0.25)
    if (owner < 0).sum() > 10:
        assert place[owner < 0].std(axis=0).min() > 30


def test_centres_cover_the_image():
    sampler = ReceptiveFields((10, 10), spread=0.01)
    tree = NeuralTree.random(100, 10, 2, 40, 0.0, feature_sampling=sampler, random_state=0)
    assert len(np.unique(tree.leaf_input)) > 60
    for subtree in np.unique(subtrees(tree)):
        assert len(np.unique(tree.leaf_input[subtrees(tree) == subtree])) == 1


def test_each_subtree_draws_its_spread():
    sampler = ReceptiveFields((120, 120), spread=(0.5, 15))
    tree = NeuralTree.random(
        14_400, 10, 2, 50, 0.0, min_children=40, feature_sampling=sampler, random_state=0
    )
    rows, owner = np.unravel_index(tree.leaf_input, (120, 120))[0], subtrees(tree)
    widths = [rows[owner == subtree].std() for subtree in np.unique(owner[owner >= 0])]
    assert min(widths) < 1.5
    assert max(widths) > 8


def test_images_of_another_size_are_refused(digits):
    with pytest.raises(ValueError, match="49 pixels, and the 64 inputs"):
        BNeuralTClassifier(growth=Growth(feature_sampling=ReceptiveFields((7, 7)))).fit(*digits)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"shape": ()}, "shape="),
        ({"shape": (0, 3)}, "shape="),
        ({"shape": (3,), "spread": 0.0}, "spread=0.0"),
        ({"shape": (3,), "spread": (2, 1)}, "spread="),
        ({"shape": (3,), "spread": (1, 2, 3)}, "spread="),
        ({"shape": (3,), "spread": float("nan")}, "spread=nan"),
        ({"shape": (3,), "depth": 0}, "depth=0"),
    ],
)
def test_wrong_fields_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        ReceptiveFields(**settings)


# -- by variance --------------------------------------------------------------------------


@given(seed=st.integers(0, 2**32), power=st.sampled_from([0.0, 0.5, 1.0, 2.0]))
def test_weights_are_powers_of_the_variance(seed, power):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 6)) * [0, 1, 2, 3, 4, 5] + 1000
    weight = rng.integers(1, 4, 40)
    repeated = np.repeat(X, weight, axis=0)
    expected = np.where(X.std(axis=0) > 0, repeated.var(axis=0) ** power, 0.0)
    np.testing.assert_allclose(VarianceSampling(power).learn(X, weight), expected, rtol=1e-6)


def test_variance_needs_rows_that_vary():
    with pytest.raises(ValueError, match="no input varies"):
        VarianceSampling().learn(np.ones((5, 3)))
    with pytest.raises(ValueError, match=r"needs training rows: use .*\.learn\(X\)"):
        NeuralTree.random(3, feature_sampling=VarianceSampling())
    with pytest.raises(ValueError, match="power=-1"):
        VarianceSampling(-1)


# -- as parameters of estimators ----------------------------------------------------------


@pytest.mark.parametrize("sampler", SAMPLERS, ids=str)
def test_samplers_are_values(sampler, tmp_path, digits):
    assert sampler_from_dict(json.loads(json.dumps(sampler.to_dict()))) == sampler
    for other in (pickle.loads(pickle.dumps(sampler)), copy.deepcopy(sampler)):
        assert other == sampler
        assert hash(other) == hash(sampler)
    X, y = digits
    model = clone(
        BNeuralTClassifier(max_epochs=2, random_state=0, growth=Growth(feature_sampling=sampler))
    )
    model.fit(X, y)
    model.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.growth.feature_sampling == sampler
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert np.ptp(X, axis=0)[model.tree_.leaf_input].all()


def test_an_unknown_sampler_is_refused():
    with pytest.raises(ValueError, match="sampler 'best' is unknown"):
        sampler_from_dict({"name": "best"})


def test_forests_draw_fields_of_their_own(digits):
    forest = BNeuralForestClassifier(
        n_estimators=2,
        max_epochs=1,
        random_state=0,
        growth=Growth(feature_sampling=ReceptiveFields((8, 8))),
    ).fit(*digits)
    first, second = (member.tree_ for member in forest.estimators_)
    assert not np.array_equal(first.leaf_input[:100], second.leaf_input[:100])


# -- a wanted number of weights -----------------------------------------------------------


@pytest.mark.parametrize(
    ("n_weights", "n_outputs", "max_depth", "max_children", "min_children"),
    [
        (24_000, 10, 2, 53, 43),
        (20_000, 10, 5, 10, 2),
        (242_000, 10, 6, 12, 2),
        (300, 1, 5, 5, 2),
        (344, 3, 5, 4, 2),
        (12, 2, 3, 3, 2),
    ],
)
def test_trees_of_a_wanted_number_of_weights(
    n_weights, n_outputs, max_depth, max_children, min_children
):
    for seed in range(3):
        tree = NeuralTree.random(
            784, n_outputs, max_depth, max_children,
            min_children=min_children, n_weights=n_weights, random_state=seed,
        )  # fmt: skip
        least = min(0.97 * n_weights, n_weights - min_children)
        assert least <= tree.n_parameters <= n_weights
        assert tree.depth <= max_depth


def test_no_output_is_starved_of_weights():
    for seed in range(30):
        tree = NeuralTree.random(784, 10, 5, 9, min_children=2, n_weights=23_835, random_state=seed)
        n_leaves = np.bincount(outputs_above(tree.parent)[tree.leaf_parent])
        assert n_leaves.min() >= 0.1 * n_leaves.mean()


@given(
    n_outputs=st.integers(1, 10),
    max_depth=st.integers(1, 6),
    min_children=st.integers(1, 5),
    more=st.integers(0, 10),
    spare=st.integers(0, 2000),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_number_of_weights_can_be_had(n_outputs, max_depth, min_children, more, spare, seed):
    n_weights = max(3, n_outputs * (1 + min_children) + spare)
    tree = NeuralTree.random(
        5, n_outputs, max_depth, max(2, min_children + more), min_children=min_children,
        n_weights=n_weights, random_state=seed,
    )  # fmt: skip
    assert min(0.97 * n_weights, n_weights - min_children) <= tree.n_parameters <= n_weights


def test_outputs_have_the_same_share_of_the_weights():
    tree = NeuralTree.random(784, 10, 5, 9, n_weights=24_000, random_state=0)
    owner = outputs_above(tree.parent)
    weights = np.bincount(owner, minlength=10) * 2 + np.bincount(owner[tree.leaf_parent])
    assert np.ptp(weights) <= 10


def test_a_tree_gets_deeper_where_its_weights_need_it():
    assert NeuralTree.random(784, 10, 3, 15, n_weights=12_000, random_state=0).depth > 3


def test_too_few_weights_are_refused():
    with pytest.raises(ValueError, match=r"n_weights=29 is too few: .* has 30 weights or more"):
        NeuralTree.random(784, 10, n_weights=29)
    with pytest.raises(ValueError, match="cannot be combined"):
        NeuralTree.random(784, 10, n_weights=12_000, min_size=3)


def test_estimators_take_a_number_of_weights(digits):
    model = BNeuralTClassifier(n_weights=2000, max_epochs=1, random_state=0).fit(*digits)
    assert 1940 <= model.n_parameters_ <= 2000


# -- at the ends of what is allowed -------------------------------------------------------


def test_settings_at_the_ends_of_their_ranges():
    assert ReceptiveFields((1,), spread=(2, 2), depth=1).spread == (2.0, 2.0)
    assert ReceptiveFields((2, 1), spread=1).spread == 1
    assert VarianceSampling(0).power == 0
    for bad in (np.inf, (1, np.inf), (0, 1)):
        with pytest.raises(ValueError, match="spread="):
            ReceptiveFields((3,), spread=bad)
    with pytest.raises(ValueError, match="power=inf"):
        VarianceSampling(np.inf)


def test_with_power_zero_all_inputs_that_vary_are_equally_likely():
    X = np.array([[0, 0, 5], [0, 1, 9], [0, 0, 1]])
    assert VarianceSampling(0.0).learn(X).tolist() == [0, 1, 1]


def test_variances_of_tables_that_are_read_in_parts():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (7, 400_001), dtype=np.uint8)  # two rows at a time
    weight = rng.integers(1, 4, 7)
    expected = np.repeat(X, weight, axis=0).var(axis=0, dtype=np.float64)
    np.testing.assert_allclose(VarianceSampling().learn(X, weight), expected, rtol=1e-9)


def test_variances_of_numbers_far_from_zero():
    X = 1e8 + np.random.default_rng(0).normal(size=(50, 3))
    np.testing.assert_allclose(VarianceSampling().learn(X), X.var(axis=0), rtol=1e-6)
    with pytest.raises(ValueError, match="no input varies"):
        VarianceSampling().learn(X[:1])


def test_pixels_that_do_not_vary_are_never_drawn():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (20, 64))
    X[:, ::2] = 7
    fields = ReceptiveFields((8, 8), spread=2.0)
    tree = NeuralTree.random(64, 3, feature_sampling=fields.learn(X), random_state=0)
    assert set((tree.leaf_input % 2).tolist()) == {1}
    nothing_varies = fields.learn(np.ones((5, 64)))
    tree = NeuralTree.random(64, 3, feature_sampling=nothing_varies, random_state=0)
    assert set((tree.leaf_input % 2).tolist()) == {0, 1}


@pytest.mark.parametrize("n_inputs", [0, 63, 65, 32])
def test_inputs_must_be_a_multiple_of_the_pixels(n_inputs):
    with pytest.raises(ValueError, match=f"64 pixels, and the {n_inputs} inputs"):
        ReceptiveFields((8, 8)).learn(np.ones((3, n_inputs)))


def test_distances_are_those_of_a_normal_density():
    # one field, a spread of 3 pixels in a line of 201: the variance of two leaves' difference is 18
    rng = np.random.default_rng(0)
    leaf_parent, parent = np.zeros(2000, dtype=np.int64), np.array([-1, -1])
    differences = []
    for _ in range(40):
        chosen = ReceptiveFields((201,), spread=3.0, depth=1)(rng, leaf_parent, parent, 201)
        differences.append(np.diff(chosen))
    inner = np.concatenate(differences)
    assert np.var(inner) == pytest.approx(18, rel=0.1)


@pytest.mark.parametrize(
    ("parent", "groups"),
    [
        ([-1, 0, 0], [None, 0, 1]),  # a regression: the root is at depth 0, its children at 1
        ([-1, -1, 0], [0, 1, 0]),  # two classes, which are at depth 1 themselves
    ],
)
def test_fields_start_at_their_depth(parent, groups):
    fields = ReceptiveFields((1000,), spread=1e-3, depth=1)
    leaf_parent = np.repeat(np.arange(3), 50)
    chosen = fields(np.random.default_rng(0), leaf_parent, np.array(parent), 1000)
    pixels = {}
    for node, group in enumerate(groups):
        pixels.setdefault(group, set()).update(chosen[leaf_parent == node].tolist())
    assert len(pixels[0]) == len(pixels[1]) == 1 and pixels[0] != pixels[1]
    assert None not in pixels or len(pixels[None]) > 10
