"""Selection, differential evolution, and searches that are watched, stopped and continued."""

import json

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import differential_evolution

from bneuralt import NeuralTree
from bneuralt.evolve.checkpoint import CheckpointError, read_checkpoint, write_checkpoint
from bneuralt.evolve.differential import STRATEGIES, DifferentialEvolution
from bneuralt.evolve.genetic import GeneticSearch, GeneticSettings
from bneuralt.evolve.memetic import Fold, MemeticSearch, MemeticSettings, TrainingRows
from bneuralt.evolve.operators import Space
from bneuralt.evolve.population import Judge, diversities, weight_vectors
from bneuralt.evolve.search import run_search
from bneuralt.evolve.selection import dominates, non_dominated, survivors, tournament
from bneuralt.training import TrainingSettings

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
    own = DifferentialEvolution(
        rastrigin, start, low, high, strategy, 0.7, 0.9, rng=np.random.default_rng(7)
    )
    for _ in range(n_generations):
        own.step()
    np.testing.assert_array_equal(own.best, theirs.x)
    np.testing.assert_array_equal(own.members, theirs.population)
    assert own.energies[0] == theirs.fun


def test_differential_evolution_says_what_is_wrong():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="strategy='rand3bin' is not known"):
        DifferentialEvolution(rastrigin, np.zeros((9, 2)), 0, 1, "rand3bin", rng=rng)
    with pytest.raises(ValueError, match="at least 6 vectors"):
        DifferentialEvolution(rastrigin, np.zeros((5, 2)), 0, 1, rng=rng)


# -- selection ----------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_the_front_is_what_nothing_dominates(seed, n_objectives):
    figures = np.random.default_rng(seed).integers(0, 5, (20, n_objectives)).astype(float)
    front = non_dominated(figures)
    for i, own in enumerate(figures):
        is_dominated = any(dominates(other, own) for other in figures)
        has_earlier_twin = any((other == own).all() for other in figures[:i])
        assert (i in front) == (not is_dominated and not has_earlier_twin)


def test_a_tournament_prefers_what_dominates():
    figures = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    winners = tournament(figures, 4000, np.random.default_rng(0))
    counts = np.bincount(winners, minlength=4)
    assert counts[0] > counts[1] > counts[2] > counts[3]


@pytest.mark.parametrize("n_objectives", [2, 3])
@pytest.mark.parametrize("method", ["nsga2", "nsga3"])
def test_survivors_are_those_of_pymoo(method, n_objectives):
    pytest.importorskip("pymoo")
    from pymoo.algorithms.moo.nsga3 import ReferenceDirectionSurvival
    from pymoo.core.population import Population
    from pymoo.core.problem import Problem
    from pymoo.operators.survival.rank_and_crowding import RankAndCrowding
    from pymoo.util.ref_dirs import get_reference_directions

    partitions = {2: 24, 3: 9}[n_objectives]
    for seed in range(5):
        figures = np.random.default_rng(seed).random((60, n_objectives))
        own = survivors(figures, 25, method, seed)
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
        np.testing.assert_array_equal(figures[own], theirs.get("F"))


@pytest.mark.parametrize("method", ["nsga2", "nsga3"])
def test_a_toy_front_is_that_of_pymoo(method):
    """Two parabolas: x^2 and (x - 2)^2, whose front is x from 0 to 2."""
    pytest.importorskip("pymoo")
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.algorithms.moo.nsga3 import NSGA3
    from pymoo.core.problem import Problem
    from pymoo.indicators.hv import HV
    from pymoo.optimize import minimize
    from pymoo.util.ref_dirs import get_reference_directions

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


def test_without_pymoo_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pymoo", None)
    with pytest.raises(ImportError, match=r"pip install 'bneuralt\[evolve\]'"):
        GeneticSettings(objectives=("error", "size"))
    GeneticSettings()  # one objective needs nothing


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
    judge = Judge(X, y, weight, measure)
    trees = [NeuralTree.random(3, 3, dtype=np.float32, random_state=i) for i in range(9)]
    for tree, error in zip(trees, judge.errors(trees), strict=True):
        outputs = tree.forward(X).astype(float)
        squared = np.average(np.square(outputs - np.eye(3)[y]).mean(axis=1), weights=weight)
        wrong = np.average(outputs.argmax(axis=1) != y, weights=weight)
        expected = squared if measure == "squared_error" else wrong
        assert error == pytest.approx(expected, abs=1e-6 if measure == "squared_error" else 1e-3)


def test_trees_that_overflow_are_the_worst():
    tree = NeuralTree(3, 1, [-1], [0], [0], [0], np.array([0.0, 1e38], dtype=np.float32))
    huge = np.full((4, 3), 1e30, dtype=np.float32)
    assert Judge(huge, np.zeros(4), np.ones(4)).errors([tree]) == np.inf


def test_many_weight_vectors_share_a_structure():
    tree = NeuralTree.random(3, random_state=0)
    vectors = np.random.default_rng(0).normal(size=(5, tree.n_parameters))
    trees = weight_vectors(tree, vectors)
    assert all(own.structure is tree.structure for own in trees)
    np.testing.assert_array_equal([own.parameters for own in trees], vectors)


def test_equal_trees_have_no_diversity():
    space, rng = Space(6, activation=["tanh", "gaussian"]), np.random.default_rng(0)
    search = GeneticSearch(space, Judge(np.zeros((5, 6)), np.zeros(5), np.ones(5)),
                           GeneticSettings(population_size=8), rng)  # fmt: skip
    assert (diversities(search.population[:1] * 4) == 0).all()
    found = diversities(search.population)
    assert (found >= 0).all() and (found <= 1).all() and found.max() > 0


# -- searches -----------------------------------------------------------------------------


def genetic_search(n_threads=1, **settings):
    space = Space(3, max_depth=3, output_activation="tanh", max_size=60)
    chosen = {"population_size": 12, "n_generations": 6, "n_tuning": 6, "tuning_size": 8}
    rng = np.random.default_rng(5)
    return GeneticSearch(
        space,
        Judge(X, Y, np.ones(len(X)), n_threads=n_threads),
        GeneticSettings(**{**chosen, **settings}),
        rng,
    )


def memetic_search(n_threads=1):
    rows = np.arange(len(X), dtype=np.int32)
    folds = [Fold(rows[rows % 3 != i], None, rows[rows % 3 == i], None) for i in range(3)]
    data = TrainingRows(X, Y, Fold(None, None), folds, n_threads=n_threads)
    training = TrainingSettings(loss="squared_error", max_epochs=4, leaf_moves=1)
    space = Space(3, max_depth=3, min_children=1, max_weights=25, scale=1.0, n_copies=4)
    settings = MemeticSettings(10, 4, 0.4, training, 8)
    return MemeticSearch(space, data, settings, np.random.default_rng(5))


SEARCHES = {
    "one objective": genetic_search,
    "rounds": lambda **how: genetic_search(n_rounds=2, **how),
    "trained": memetic_search,
}


def finished(search):
    while search.n_done < search.n_steps:
        search.step()
    return search


def plain(search):
    return json.dumps(search.state())


@pytest.mark.parametrize("make", SEARCHES.values(), ids=SEARCHES)
def test_a_search_improves_and_does_not_depend_on_threads(make):
    search = make()
    if search.n_done == 0:
        search.step()
    first, _ = search.figures()
    finished(search)
    last, n_weights = search.figures()
    assert last < first and n_weights > 0
    assert plain(search) == plain(finished(make(n_threads=2)))


@pytest.mark.parametrize("make", SEARCHES.values(), ids=SEARCHES)
def test_a_search_goes_on_from_any_of_its_states(make):
    expected = plain(finished(make()))
    search = make()
    while search.n_done < search.n_steps:
        search.step()
        state = json.loads(plain(search))
        search = make()
        search.restore(state)
    assert plain(search) == expected


@pytest.mark.parametrize("make", SEARCHES.values(), ids=SEARCHES)
def test_a_step_that_is_interrupted_has_not_happened(make, monkeypatch):
    expected = plain(finished(make()))
    owner, name = (Judge, "errors") if make is not memetic_search else (TrainingRows, "train")
    search, wrapped, n_calls = make(), getattr(owner, name), 0

    def interrupted(*args, **kwargs):
        nonlocal n_calls
        n_calls += 1
        if n_calls % 3 == 1:  # a step has two calls at most
            raise KeyboardInterrupt
        return wrapped(*args, **kwargs)

    monkeypatch.setattr(owner, name, interrupted)
    n_interrupts = 0
    while search.n_done < search.n_steps:
        try:
            search.step()
        except KeyboardInterrupt:
            n_interrupts += 1
    monkeypatch.undo()
    assert n_interrupts > 0
    assert plain(search) == expected


@pytest.mark.parametrize("selection", ["nsga2", "nsga3"])
def test_several_objectives_give_a_front(selection):
    pytest.importorskip("pymoo")
    search = finished(genetic_search(objectives=("error", "size", "diversity"),
                                     selection=selection, n_generations=15))  # fmt: skip
    front = search.front()
    sizes = [genome.size for genome in front]
    errors = search.judge.errors([genome.trees()[0] for genome in front])
    assert sizes == sorted(set(sizes))
    assert (np.diff(errors) < 0).all()
    assert errors[-1] == pytest.approx(search.best_error)


def test_the_trained_front_has_a_tree_for_each_size():
    front = finished(memetic_search()).front()
    weights = [candidate.n_weights for candidate in front]
    losses = [candidate.loss for candidate in front]
    assert weights == sorted(set(weights)) and max(weights) <= 25
    assert losses == sorted(losses, reverse=True)


def test_progress_is_reported_and_can_end_a_search():
    told = []
    search = genetic_search()
    run_search(search, lambda state: told.append(state) or len(told) == 4)
    assert [state.n_done for state in told] == [1, 2, 3, 4]
    assert all(state.n_steps == 12 and state.seconds_left >= 0 for state in told)
    assert told[-1].error <= told[0].error


# -- checkpoints --------------------------------------------------------------------------


def test_a_checkpoint_is_read_back(tmp_path):
    path = tmp_path / "search.json"
    assert read_checkpoint(path, {"table": "a"}) is None
    search = genetic_search()
    run_search(search, lambda state: state.n_done == 3, path, {"table": "a"})
    restored = genetic_search()
    restored.restore(read_checkpoint(path, {"table": "a"}))
    assert restored.n_done == 3
    assert plain(finished(restored)) == plain(finished(genetic_search()))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text[: len(text) // 2], "cannot be continued"),
        (lambda text: "", "cannot be continued"),
        (lambda text: text.replace("bneuralt-search", "other"), "cannot be continued"),
        (lambda text: text.replace('"version": 1', '"version": 99'), "cannot be continued"),
        (lambda text: text.replace('"a"', '"b"'), "on another table"),
        (lambda text: text.replace('"depth": 3', '"depth": 4'), "depth=4, not 3"),
        (lambda text: "[1, 2]", "cannot be continued"),
        (lambda text: "\udcff", "not a bneuralt-search file"),
    ],
)
def test_a_wrong_checkpoint_is_refused_and_left_alone(tmp_path, change, message):
    path = tmp_path / "search.json"
    wanted = {"table": "a", "depth": 3}
    write_checkpoint(path, wanted, {"n_done": 1})
    damaged = change(path.read_text()).encode(errors="surrogateescape")
    path.write_bytes(damaged)
    with pytest.raises(CheckpointError, match=message) as raised:
        read_checkpoint(path, wanted)
    assert "search.json" in str(raised.value)
    assert path.read_bytes() == damaged
