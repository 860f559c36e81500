"""Selection, differential evolution, and the search of HFNT and MONT."""

import numpy as np
import pytest
import scipy
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.algorithms.moo.nsga3 import NSGA3, ReferenceDirectionSurvival
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.indicators.hv import HV
from pymoo.operators.survival.rank_and_crowding import RankAndCrowding
from pymoo.optimize import minimize
from pymoo.util.ref_dirs import get_reference_directions
from scipy.optimize import differential_evolution

from bneuralt import NeuralTree, forward_many
from bneuralt.evolve import Space, non_dominated
from bneuralt_paper.evolution.differential import STRATEGIES, DifferentialEvolution
from bneuralt_paper.evolution.genetic_search import GeneticSearch, GeneticSettings
from bneuralt_paper.evolution.population import PopulationScorer, diversities, weight_vectors
from bneuralt_paper.evolution.selection import survivors, tournament
from tests.helpers.search_checks import (
    check_that_interrupted_steps_have_not_happened,
    check_that_it_goes_on_from_any_state,
    check_that_it_improves,
    finished,
)

X = np.random.default_rng(0).uniform(-1, 1, (120, 3)).astype(np.float32)
Y = X[:, 0] * X[:, 1]


# -- differential evolution ---------------------------------------------------------------


def rastrigin(x):
    return np.sum(x * x - 10 * np.cos(2 * np.pi * x) + 10, axis=-1)


def scipy_version():
    return tuple(int(part) for part in scipy.__version__.split(".")[:2])


@pytest.mark.skipif(scipy_version() < (1, 15), reason="draws numbers in another order")
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_differential_evolution_is_that_of_scipy(strategy):
    start = np.random.default_rng(1).uniform(-2, 3, (12, 5))
    bounds = [(-2, 3)] * 4 + [(-1, 1.5)]
    n_generations = 20
    theirs = differential_evolution(
        lambda x: rastrigin(x.T),
        bounds,
        strategy=strategy,
        maxiter=n_generations,
        init=start,
        mutation=0.7,
        recombination=0.9,
        tol=0,
        updating="deferred",
        vectorized=True,
        polish=False,
        rng=np.random.default_rng(7),
    )
    low, high = np.array(bounds).T
    search = DifferentialEvolution(
        rastrigin, start, low, high, strategy, 0.7, 0.9, rng=np.random.default_rng(7)
    )
    for _ in range(n_generations):
        search.step()
    np.testing.assert_array_equal(search.best, theirs.x)
    np.testing.assert_array_equal(search.members, theirs.population)
    assert search.energies[0] == theirs.fun


def test_differential_evolution_says_what_is_wrong():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="strategy='rand3bin' is not known"):
        DifferentialEvolution(rastrigin, np.zeros((9, 2)), 0, 1, "rand3bin", rng=rng)
    with pytest.raises(ValueError, match="at least 6 vectors"):
        DifferentialEvolution(rastrigin, np.zeros((5, 2)), 0, 1, rng=rng)


# -- selection ----------------------------------------------------------------------------


def test_a_tournament_prefers_what_dominates():
    figures = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    winners = tournament(figures, 4000, np.random.default_rng(0))
    counts = np.bincount(winners, minlength=4)
    assert counts[0] > counts[1] > counts[2] > counts[3]


@pytest.mark.parametrize("n_objectives", [2, 3])
@pytest.mark.parametrize("method", ["nsga2", "nsga3"])
def test_survivors_are_those_of_pymoo(method, n_objectives):

    partitions = {2: 24, 3: 9}[n_objectives]
    for seed in range(5):
        figures = np.random.default_rng(seed).random((60, n_objectives))
        places = survivors(figures, 25, method, seed)
        survival = RankAndCrowding()
        if method == "nsga3":
            directions = get_reference_directions(
                "das-dennis", n_objectives, n_partitions=partitions
            )
            survival = ReferenceDirectionSurvival(directions)
        theirs = survival.do(
            Problem(n_obj=n_objectives),
            Population.new("F", figures),
            n_survive=25,
            random_state=np.random.default_rng(seed),
        )
        np.testing.assert_array_equal(figures[places], theirs.get("F"))


@pytest.mark.parametrize("method", ["nsga2", "nsga3"])
def test_a_toy_front_is_that_of_pymoo(method):
    """Two parabolas: x^2 and (x - 2)^2, whose front is x from 0 to 2."""

    def figures_of(x):
        return np.column_stack([x**2, (x - 2) ** 2])

    class Parabolas(Problem):
        def __init__(self):
            super().__init__(n_var=1, n_obj=2, xl=-5, xu=5)

        def _evaluate(self, x, out, *args, **kwargs):
            out["F"] = figures_of(x[:, 0])

    directions = get_reference_directions("das-dennis", 2, n_partitions=24)
    algorithm = NSGA2(40) if method == "nsga2" else NSGA3(directions, 40)
    theirs = minimize(Parabolas(), algorithm, ("n_gen", 40), seed=1)

    rng = np.random.default_rng(1)
    x = rng.uniform(-5, 5, 40)
    for generation in range(40):
        parents = x[tournament(figures_of(x), 40, rng)]
        both = np.concatenate([x, parents + rng.normal(0, 0.3, 40)])
        x = both[survivors(figures_of(both), 40, method, generation)]
    volume = HV(ref_point=np.array([5.0, 5.0]))
    front = figures_of(x)[non_dominated(figures_of(x))]
    assert volume(front) == pytest.approx(volume(theirs.F), rel=0.01)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"objectives": ("error", "sise")}, "'sise' is not known"),
        ({"objectives": ("size",)}, "must begin with 'error'"),
        ({"objectives": ("error", "error")}, "each once"),
        ({"population_size": 1}, "population_size=1 is too small"),
        ({"n_generations": 0, "n_tuning": 0}, "leave nothing to search"),
        ({"strategy": "best3"}, "strategy='best3' is not known"),
    ],
)
def test_settings_say_what_is_wrong(settings, message):
    with pytest.raises(ValueError, match=message):
        GeneticSettings(**settings)


# -- judging ------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", ["squared_error", "error_rate"])
def test_errors_of_many_trees_are_those_of_each(measure):
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, len(X)).astype(np.int32)
    weight = rng.uniform(0.5, 2, len(X))
    scorer = PopulationScorer(X, y, weight, measure)
    trees = [NeuralTree.random(3, 3, dtype=np.float32, random_state=i) for i in range(9)]
    for tree, error in zip(trees, scorer.errors(trees), strict=True):
        outputs = tree.forward(X).astype(float)
        squared = np.average(np.square(outputs - np.eye(3)[y]).mean(axis=1), weights=weight)
        wrong = np.average(outputs.argmax(axis=1) != y, weights=weight)
        expected = squared if measure == "squared_error" else wrong
        assert error == pytest.approx(expected, abs=1e-6 if measure == "squared_error" else 1e-3)


def test_trees_that_overflow_are_the_worst():
    tree = NeuralTree(3, 1, [-1], [0], [0], [0], np.array([0.0, 1e38], dtype=np.float32))
    huge = np.full((4, 3), 1e30, dtype=np.float32)
    assert PopulationScorer(huge, np.zeros(4), np.ones(4)).errors([tree]) == np.inf


def test_many_weight_vectors_share_a_structure():
    tree = NeuralTree.random(3, random_state=0)
    vectors = np.random.default_rng(0).normal(size=(5, tree.n_parameters))
    outputs = forward_many(weight_vectors(tree, vectors), X)
    for weights, expected in zip(vectors, outputs, strict=True):
        np.testing.assert_array_equal(tree.with_parameters(weights).forward(X), expected)


def test_equal_trees_have_no_diversity():
    space, rng = Space(6, activation=["tanh", "gaussian"]), np.random.default_rng(0)
    search = GeneticSearch(space, PopulationScorer(np.zeros((5, 6)), np.zeros(5), np.ones(5)),
                           GeneticSettings(population_size=8), rng)  # fmt: skip
    assert (diversities(search.population[:1] * 4) == 0).all()
    diversity = diversities(search.population)
    assert (diversity >= 0).all() and (diversity <= 1).all() and diversity.max() > 0


# -- searches -----------------------------------------------------------------------------


def genetic_search(n_threads=1, **settings):
    space = Space(3, max_depth=3, output_activation="tanh", max_size=60)
    chosen = {"population_size": 12, "n_generations": 6, "n_tuning": 6, "tuning_size": 8}
    rng = np.random.default_rng(5)
    return GeneticSearch(
        space,
        PopulationScorer(X, Y, np.ones(len(X)), n_threads=n_threads),
        GeneticSettings(**{**chosen, **settings}),
        rng,
    )


SEARCHES = {
    "one objective": genetic_search,
    "rounds": lambda **how: genetic_search(n_rounds=2, **how),
}


@pytest.mark.parametrize("make", SEARCHES.values(), ids=SEARCHES)
def test_a_search_improves_and_does_not_depend_on_threads(make):
    check_that_it_improves(make)


@pytest.mark.parametrize("make", SEARCHES.values(), ids=SEARCHES)
def test_a_search_goes_on_from_any_of_its_states(make):
    check_that_it_goes_on_from_any_state(make)


@pytest.mark.parametrize("make", SEARCHES.values(), ids=SEARCHES)
def test_a_step_that_is_interrupted_has_not_happened(make):
    check_that_interrupted_steps_have_not_happened(make, PopulationScorer, "errors")


@pytest.mark.parametrize("selection", ["nsga2", "nsga3"])
def test_several_objectives_give_a_front(selection):
    search = finished(genetic_search(objectives=("error", "size", "diversity"),
                                     selection=selection, n_generations=15))  # fmt: skip
    front = search.front()
    sizes = [genome.size for genome in front]
    errors = search.scorer.errors([genome.trees()[0] for genome in front])
    assert sizes == sorted(set(sizes))
    assert (np.diff(errors) < 0).all()
    assert errors[-1] == pytest.approx(search.best_error)
