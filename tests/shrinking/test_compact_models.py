"""Smaller models: sizes, scores, curves and messages."""

import re

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.datasets import load_wine, make_multilabel_classification
from sklearn.exceptions import NotFittedError

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralTClassifier,
    BNeuralTRegressor,
    EvolvedTreeClassifier,
    Growth,
    NeuralTree,
    plot_score_against_size,
)
from bneuralt.fitting.problem import problem_of
from bneuralt.fitting.pruning import smaller_models
from bneuralt.shrinking import BYTES, WEIGHTS
from bneuralt.shrinking.compaction import smallest_good_size
from bneuralt.shrinking.curvature import WeightCurvature
from bneuralt.shrinking.sizes import table_bytes
from bneuralt.shrinking.surgery import operate
from bneuralt.training import gradient
from bneuralt.training.losses import CrossEntropy, SquaredError
from bneuralt.tree.simplify import simplify
from tests.helpers import monks
from tests.helpers.strategies import draw_tree
from tests.helpers.tables import DIABETES, IRIS


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return X, y, BNeuralTClassifier(random_state=0).fit(X, y)


def test_the_curvature_of_a_perfect_fit_is_the_hessian():
    # Where residuals are 0, the Gauss-Newton matrix is the matrix of second derivatives.
    rng = np.random.default_rng(0)
    tree = simplify(draw_tree(rng, 1, hidden="tanh", n_inputs=3))
    X = rng.normal(size=(30, 3))
    y = tree.forward(X)[:, 0]

    def slopes(parameters):
        return gradient(tree.with_parameters(parameters), X, y, loss="squared_error")[1]

    hessian = approx_fprime(tree.parameters, slopes, 1e-6)
    curvature = WeightCurvature.of(tree, X, SquaredError(), np.ones(30)).matrix()
    scale = np.trace(hessian) / np.trace(curvature)  # losses may have a factor of 1/2
    np.testing.assert_allclose(scale * curvature, hessian, atol=1e-4 * np.abs(hessian).max())


def test_the_curvature_of_a_softmax_is_that_of_its_outputs():
    # Linear outputs over leaves only: the Gauss-Newton matrix is exact for any targets.
    rng = np.random.default_rng(0)
    tree = NeuralTree(2, 3, [-1] * 3, [0] * 3, [0, 0, 1, 1, 2, 2], [0, 1] * 3, rng.normal(size=9))
    X, y = rng.normal(size=(20, 2)), rng.integers(0, 3, 20)

    def slopes(parameters):
        return gradient(tree.with_parameters(parameters), X, y, loss="cross_entropy")[1]

    hessian = approx_fprime(tree.parameters, slopes, 1e-6)
    curvature = WeightCurvature.of(tree, X, CrossEntropy(), np.ones(20)).matrix()
    np.testing.assert_allclose(curvature, hessian, atol=1e-5)


def test_a_useless_leaf_goes_first():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    # the last leaf has a small weight, but the second one has an input that is almost 0
    X[:, 1] *= 1e-3
    tree = NeuralTree(3, 1, [-1], [0], [0, 0, 0], [0, 1, 2], [0.0, 1.0, 0.5, 0.2])
    smaller = operate(tree, X, SquaredError(), np.ones(200), 1)
    assert smaller.leaf_input.tolist() == [0, 2]
    by_size = operate(tree, X, SquaredError(), np.ones(200), 1, rule="magnitude")
    assert by_size.leaf_input.tolist() == [0, 1]


def test_other_weights_make_up_for_a_copy():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    X[:, 1] = X[:, 0] + 0.01 * X[:, 1]
    tree = NeuralTree(2, 1, [-1], [0], [0, 0], [0, 1], [0.0, 1.0, 1.0])
    smaller = operate(tree, X, SquaredError(), np.ones(200), 1)
    assert smaller.leaf_weight == pytest.approx([2.0], abs=0.05)


def test_a_node_in_its_linear_range_is_contracted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    tree = NeuralTree(
        2, 1, [-1, 0], [0, 2], [0, 1, 1], [0, 0, 1], [0.0, 0.0, 50.0, 1.0, 0.02, 0.01]
    )
    smaller = operate(tree, X, SquaredError(), np.ones(300), 2)
    assert smaller.n_parameters == 3
    np.testing.assert_allclose(smaller.forward(X), tree.forward(X), atol=0.02)


@pytest.mark.parametrize(("problem", "seed", "removed"), [(1, 0, 0.90), (2, 4, 0.76)])
def test_monks_problems_keep_their_solution(problem, seed, removed):
    X, y, X_all, y_all = monks.load(problem)
    model = BNeuralTClassifier(random_state=seed).fit(X, y)
    assert model.score(X_all, y_all) == 1.0
    small = model.compact(X, y, max_weights=int(model.n_parameters_ * (1 - removed)), cv=None)
    assert small.score(X_all, y_all) == 1.0


def test_the_third_monks_problem_loses_nothing():
    X, y, X_all, y_all = monks.load(3)
    model = BNeuralTClassifier(random_state=0).fit(X, y)
    small = model.compact(X, y)
    assert small.n_parameters_ < (1 - 0.62) * model.n_parameters_
    assert small.score(X_all, y_all) >= model.score(X_all, y_all)


def test_sizes_are_kept_and_the_model_stays_as_it_was(wine):
    X, y, model = wine
    before = model.predict_proba(X)
    for size in (150, 40, WEIGHTS.per_output * 3):
        small = model.compact(X, y, max_weights=size, cv=None)
        assert type(small) is type(model)
        assert small.compaction_.n_weights == small.n_parameters_ <= size
        assert small.compaction_.chosen == size
        assert small.compaction_.size.size == 0
    np.testing.assert_array_equal(model.predict_proba(X), before)
    assert model.compact(X, y, max_weights=40, cv=None).score(X, y) > 0.95


def test_a_budget_in_bytes(wine):
    X, y, model = wine
    small = model.compact(X, y, max_bytes=200, cv=None)
    assert small.compaction_.n_bytes == table_bytes(small.tree_) <= 200


def test_bytes_are_those_of_the_c_code(wine, tmp_path):
    X, y, _ = wine
    model = BNeuralTClassifier(ramps=0, random_state=0).fit(X, y)  # ramps have another table

    def written(size):
        small = model.compact(X, y, max_weights=size, cv=None)
        small.to_c(tmp_path / "small.h", dtype="int16", style="tables")
        text = (tmp_path / "small.h").read_text()
        return table_bytes(small.tree_), int(re.search(r"Size: ([\d,]+) bytes", text)[1])

    (ours, theirs), (fewer, less) = written(120), written(60)
    assert ours - fewer == theirs - less > 0  # what differs is the table of the activation


def test_the_curve_and_the_chosen_size(wine):
    X, y, model = wine
    small = model.compact(X, y, cv=3)
    curve = small.compaction_
    assert curve.size[0] == curve.n_weights_before == model.n_parameters_
    assert np.all(np.diff(curve.size) < 0)
    assert small.n_parameters_ <= curve.chosen < model.n_parameters_ / 2
    assert curve.chosen == smallest_good_size(curve.size, curve.score, curve.standard_error)
    assert "weights=" in repr(curve)
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    assert plot_score_against_size(small, ax=Figure().subplots()).get_xlabel() == "weights"
    with pytest.raises(ValueError, match="no scores of several sizes"):
        plot_score_against_size(model, ax=Figure().subplots())
    small.set_params(max_epochs=1).fit(X, y)
    assert not hasattr(small, "compaction_")


def test_the_smallest_size_within_one_standard_error():
    size, score = np.array([100, 50, 25, 10]), np.array([0.9, 0.95, 0.94, 0.5])
    assert smallest_good_size(size, score, np.full(4, 0.02)) == 25


@pytest.mark.parametrize("settings", [{}, {"loss": "poisson"}, {"loss": "quantile"}])
def test_regressors(settings):
    X, y = DIABETES
    model = BNeuralTRegressor(random_state=0, **settings).fit(X, y)
    small = model.compact(X, y, max_weights=40, cv=None)
    assert small.n_parameters_ <= 40
    assert small.score(X, y) > model.score(X, y) - 0.2


def test_labels_and_trained_activations():
    X, y = make_multilabel_classification(n_samples=150, random_state=0)
    model = BNeuralTClassifier(
        max_epochs=30,
        random_state=0,
        growth=Growth(activation="linear_tanh", train_activations=True),
    ).fit(X, y)
    assert model.compact(X, y, max_weights=60, cv=None).n_parameters_ <= 60


def test_forests_share_the_budget(wine):
    X, y, _ = wine
    forest = BNeuralForestClassifier(n_estimators=3, random_state=0).fit(X, y)
    small = forest.compact(X, y, max_weights=150, cv=None)
    assert small.n_parameters_ <= 150
    assert small.score(X, y) > 0.95


def test_max_weights_of_estimators(wine):
    X, y, _ = wine
    model = BNeuralTClassifier(max_weights=40, random_state=0).fit(X, y)
    assert model.n_parameters_ <= 40
    assert model.score(X, y) > 0.95
    forest = BNeuralForestClassifier(n_estimators=2, max_weights=40, random_state=0).fit(X, y)
    assert all(member.n_parameters_ <= 40 for member in forest.estimators_)
    with pytest.raises(ValueError, match=r"max_weights=5 is too small: .* at least 6 weights"):
        BNeuralTClassifier(max_weights=5).fit(X, y)


def test_monotone_effects_stay_monotone():
    X, y = DIABETES
    signs = np.zeros(10, dtype=int)
    signs[[2, 8]] = 1
    model = BNeuralTRegressor(monotonic_cst=signs, random_state=0).fit(X, y)
    assert model.compact(X, y, max_weights=40, cv=None).check_monotonic().holds


def test_a_compact_model_can_be_saved_explained_and_trained(wine, tmp_path):
    from bneuralt import load_model

    X, y, model = wine
    small = model.compact(X, y, max_weights=40, cv=None)
    small.save(tmp_path / "small.json")
    loaded = load_model(tmp_path / "small.json")
    np.testing.assert_array_equal(loaded.predict_proba(X), small.predict_proba(X))
    assert loaded.compact(X, y, max_weights=20, cv=None).n_parameters_ <= 20
    assert small.explain(X).values.shape == (178, 13, 3)
    small.set_params(warm_start=True, max_epochs=2).fit(X, y)
    assert small.n_parameters_ <= 40


def test_what_cannot_be_compacted_is_refused(wine):
    X, y, model = wine
    with pytest.raises(NotFittedError):
        BNeuralTClassifier().compact(X, y)
    evolved = EvolvedTreeClassifier(n_generations=1, population_size=4, random_state=0).fit(X, y)
    with pytest.raises(TypeError, match="EvolvedTreeClassifier cannot be pruned"):
        evolved.compact(X, y, max_weights=20, cv=None)
    with pytest.raises(ValueError, match=r"max_weights=5 is too small: .* 3 outputs"):
        model.compact(X, y, max_weights=5)
    with pytest.raises(ValueError, match=f"at least {3 * BYTES.per_output} bytes"):
        model.compact(X, y, max_bytes=5)
    with pytest.raises(TypeError, match="max_weights must be an int, not float"):
        model.compact(X, y, max_weights=20.5)
    with pytest.raises(ValueError, match="exclude each other"):
        model.compact(X, y, max_weights=20, max_bytes=100)
    with pytest.raises(ValueError, match="cv=None computes no scores"):
        model.compact(X, y, cv=None)
    with pytest.raises(ValueError, match="cv=1 must be"):
        model.compact(X, y, cv=1)
    with pytest.raises(ValueError, match="label that is not among the classes"):
        model.compact(X, y + 1, max_weights=20)
    with pytest.raises(ValueError, match="features"):
        model.compact(X[:, :3], y, max_weights=20)
    iris = IRIS
    with pytest.raises(ValueError, match="features"):
        model.compact(*iris, max_weights=20)


@pytest.mark.parametrize("seed", range(3))
def test_of_two_ways_to_prune_the_better_one_is_taken(seed):
    X, y, *_ = monks.load(3)
    model = BNeuralTClassifier(n_weights=100, max_epochs=100, random_state=seed).fit(X, y)
    small = model.compact(X, y, max_weights=4, cv=2)
    steps = small.compaction_.size[1:].tolist()
    problem = problem_of(model.model_, model._options(), X, y)
    recipe = model.recipe_
    ways = [
        smaller_models(problem, recipe, model.model_, sizes, unit=WEIGHTS)[-1]
        for sizes in (steps, [4])
    ]
    assert len(steps) > 3 and steps[-1] == 4
    assert small.score(X, y) == max(model._with_model(way).score(X, y) for way in ways)
