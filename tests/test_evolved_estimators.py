"""HFNT, MONT and evolved trees as scikit-learn's users meet them."""

import os
import pickle
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.utils.estimator_checks import check_param_validation, parametrize_with_checks

from bneuralt import (
    EvolvedTreeClassifier,
    EvolvedTreeRegressor,
    HFNTClassifier,
    HFNTRegressor,
    MONTClassifier,
    MONTRegressor,
    load_model,
)
from bneuralt.drawing import draw_tree
from bneuralt.evolve import CheckpointError
from bneuralt.export import make_plan

pytest.importorskip("pymoo")

IRIS = load_iris(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)

GENETIC = {
    "population_size": 20,
    "n_generations": 12,
    "n_tuning": 30,
    "tuning_size": 16,
    "max_size": 30,
}
EVOLVED = {"population_size": 6, "n_generations": 1, "n_folds": 2, "max_epochs": 10}
SMALL = {
    HFNTClassifier: GENETIC,
    HFNTRegressor: GENETIC,
    MONTClassifier: GENETIC,
    MONTRegressor: GENETIC,
    EvolvedTreeClassifier: EVOLVED,
    EvolvedTreeRegressor: EVOLVED,
}
CLASSES = list(SMALL)


def small(cls, **parameters):
    return cls(**{**SMALL[cls], "random_state": 0, **parameters})


def data_for(cls):
    return IRIS if cls.__name__.endswith("Classifier") else DIABETES


@parametrize_with_checks([small(cls) for cls in CLASSES])
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("cls", CLASSES)
def test_every_parameter_is_checked_and_documented(cls):
    check_param_validation(cls.__name__, small(cls))
    for name, value in cls().get_params().items():
        assert f"\n    {name} : " in cls.__doc__
        assert f"default={value!r}\n" in cls.__doc__


@pytest.mark.parametrize("cls", CLASSES)
def test_a_seed_decides_all_for_any_number_of_threads(cls):
    X, y = data_for(cls)
    one, two = small(cls).fit(X, y), small(cls, n_jobs=2).fit(X, y)
    assert one.tree_ == two.tree_
    other = small(cls, random_state=1).fit(X, y)
    assert one.tree_ != other.tree_


@pytest.mark.parametrize("cls", CLASSES)
def test_models_are_saved_pickled_and_drawn(cls, tmp_path):
    X, y = data_for(cls)
    model = small(cls).fit(X, y)
    model.save(tmp_path / "model.json", extra={"note": 1})
    loaded = load_model(tmp_path / "model.json")
    assert type(loaded) is cls and loaded.extra_ == {"note": 1}
    assert loaded.get_params() == {**model.get_params(), **_as_lists(model)}
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    assert len(copy.pareto_front_) == len(model.pareto_front_)
    assert "leaf" in draw_tree(model.tree_) or "x" in draw_tree(model.tree_)


def _as_lists(model):
    """Files hold tuples as lists."""
    return {k: list(v) for k, v in model.get_params().items() if isinstance(v, tuple)}


@pytest.mark.parametrize("cls", CLASSES)
def test_the_front_is_made_of_usable_models(cls, tmp_path):
    X, y = data_for(cls)
    model = small(cls, n_generations=8).fit(X, y)
    front = model.pareto_front_
    sizes = [entry.size for entry in front]
    assert sizes == sorted(sizes)
    for entry in front:
        assert entry.n_weights == entry.model.n_parameters_ == entry.model.tree_.n_parameters
        assert entry.standard_error >= 0 and entry.score <= 1
        assert np.isfinite(entry.model.score(X, y))
    front[0].model.save(tmp_path / "smallest.json")
    assert load_model(tmp_path / "smallest.json").tree_ == front[0].model.tree_
    assert any(entry.model.tree_ == model.tree_ for entry in front)
    small_one = clone(model).set_params(choose="one_standard_error").fit(X, y)
    assert small_one.tree_.size <= model.tree_.size


def test_scores_of_genetic_fronts_are_those_of_the_rows_judged():
    X, y = IRIS
    model = small(MONTClassifier).fit(X, y)
    for entry in model.pareto_front_:
        assert entry.score == pytest.approx(entry.model.score(X, y))
    held = small(MONTClassifier).fit(X[::2], y[::2], X_val=X[1::2], y_val=y[1::2])
    for entry in held.pareto_front_:
        assert entry.score == pytest.approx(entry.model.score(X[1::2], y[1::2]))


@pytest.mark.parametrize(("X", "y"), [IRIS, DIABETES], ids=["classes", "numbers"])
def test_evolved_trees_learn_with_few_weights(X, y):
    cls = EvolvedTreeClassifier if y.dtype.kind == "i" else EvolvedTreeRegressor
    model = cls(n_generations=3, population_size=20, max_weights=25, random_state=0)
    model.fit(X[::2], y[::2])
    assert model.n_parameters_ <= 25
    assert all(entry.n_weights <= 25 for entry in model.pareto_front_)
    assert model.score(X[1::2], y[1::2]) > (0.9 if cls is EvolvedTreeClassifier else 0.35)


def test_nodes_can_be_limited_too():
    X, y = load_breast_cancer(return_X_y=True)
    model = small(EvolvedTreeClassifier, max_size=8).fit(X, y)
    assert model.tree_.size <= 8 and model.score(X, y) > 0.85


def test_evolved_trees_take_validation_rows():
    X, y = IRIS
    model = small(EvolvedTreeClassifier).fit(X[::2], y[::2], X_val=X[1::2], y_val=y[1::2])
    best = max(model.pareto_front_, key=lambda entry: entry.n_weights)
    assert best.score == pytest.approx(best.model.score(X[1::2], y[1::2]))


def test_tables_with_gaps_and_categories():
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue"], 300)
    size = rng.normal(size=300)
    y = ((colour == "red") ^ (size > 0)).astype(int)
    size[rng.random(300) < 0.1] = np.nan
    frame = pd.DataFrame({"colour": colour, "size": size})
    for cls in CLASSES:
        model = small(cls).fit(frame, y)
        assert np.isfinite(model.score(frame, y))


def test_several_labels_and_targets():
    X, y = IRIS
    labels = np.column_stack([y == 0, y > 0, X[:, 0] > 6]).astype(int)
    model = small(EvolvedTreeClassifier, n_generations=3).fit(X, labels)
    assert model.predict(X).shape == labels.shape
    for cls in (HFNTClassifier, MONTClassifier):
        with pytest.raises(ValueError, match="predicts one label"):
            small(cls).fit(X, labels)
    for cls in (EvolvedTreeRegressor, HFNTRegressor, MONTRegressor):
        assert small(cls).fit(X, X[:, :2] * 10).predict(X).shape == (150, 2)


def test_an_ensemble_is_the_mean_of_its_trees(tmp_path):
    X, y = DIABETES
    model = small(HFNTRegressor, n_ensemble=4, n_generations=10).fit(X, y)
    assert len(model.trees_) == 4 and model.trees_[0] == model.tree_
    mean = np.mean([tree.forward(X.astype(np.float32)) for tree in model.trees_], axis=0)[:, 0]
    np.testing.assert_allclose(model.predict(X), mean, rtol=1e-4)
    model.save(tmp_path / "model.json")
    np.testing.assert_array_equal(load_model(tmp_path / "model.json").predict(X), model.predict(X))


# -- progress, Ctrl-C, checkpoints --------------------------------------------------------


@pytest.mark.parametrize("cls", [HFNTRegressor, EvolvedTreeRegressor])
def test_a_callback_is_told_and_can_stop(cls):
    told = []
    X, y = DIABETES
    model = small(cls, n_generations=5).fit(
        X, y, callback=lambda state: told.append(state) or len(told) == 2
    )
    assert [state.n_done for state in told] == [1, 2]
    assert model.n_iter_ == 2 and np.isfinite(model.score(X, y))


def test_progress_is_shown(capsys):
    X, y = IRIS
    small(EvolvedTreeClassifier, verbose=1).fit(X, y)
    line = capsys.readouterr().err.splitlines()[-1]
    assert "generation 2/2" in line and "weights" in line and "s left" in line


@pytest.mark.parametrize("cls", [HFNTRegressor, EvolvedTreeRegressor])
def test_ctrl_c_gives_the_best_so_far(cls):
    X, y = DIABETES
    model = small(cls, n_generations=100_000)
    began = threading.Event()

    def interrupt():
        began.wait(60)
        time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y, callback=lambda state: began.set())
    thread.join()
    assert np.isfinite(model.score(X, y)) and model.pareto_front_


@pytest.mark.parametrize("cls", [HFNTRegressor, MONTClassifier, EvolvedTreeClassifier])
def test_a_fit_continues_from_its_checkpoint(cls, tmp_path):
    X, y = data_for(cls)
    path = tmp_path / "search.json"
    expected = small(cls, n_generations=3).fit(X, y)
    model = small(cls, n_generations=3, checkpoint=path)
    told = []
    model.fit(X, y, callback=lambda state: told.append(state.n_done) or state.n_done == 2)
    model.fit(X, y, callback=lambda state: told.append(state.n_done))
    assert told == list(range(1, told[-1] + 1))
    assert model.tree_ == expected.tree_
    text = path.read_text()
    with pytest.raises(CheckpointError, match="another table"):
        model.fit(X[:-1], y[:-1])
    with pytest.raises(CheckpointError, match=r"with max_children='[45]', not '3'"):
        clone(model).set_params(max_children=3).fit(X, y)
    path.write_text(text.replace('"parent"', '"parents"'))
    with pytest.raises(CheckpointError, match="damaged"):
        model.fit(X, y)
    assert '"parents"' in path.read_text()


# -- bad input ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cls", "parameters", "message"),
    [
        (HFNTClassifier, {"n_generations": 0, "n_tuning": 0}, "leave nothing to search"),
        (EvolvedTreeClassifier, {"n_generations": 0}, "leaves nothing to search"),
        (HFNTClassifier, {"population_size": 1}, "population_size"),
        (EvolvedTreeClassifier, {"max_weights": 5}, "3 outputs has 6 weights or more"),
        (EvolvedTreeClassifier, {"max_size": 6}, "3 outputs has 7 nodes or more"),
        (MONTClassifier, {"max_size": 9}, "3 outputs has 10 nodes or more"),
        (HFNTClassifier, {"objectives": ("error", "sice")}, "'sice' is not known"),
    ],
)
def test_bad_parameters_say_what_is_wrong(cls, parameters, message):
    with pytest.raises(ValueError, match=message):
        small(cls, **parameters).fit(*IRIS)


@pytest.mark.parametrize("cls", CLASSES)
def test_constant_targets_are_refused(cls):
    X, y = data_for(cls)
    message = "only one class" if cls.__name__.endswith("Classifier") else "y is constant, 3"
    with pytest.raises(ValueError, match=message):
        small(cls).fit(X, np.full(len(y), 3))


@pytest.mark.parametrize("n_ensemble", [1, 3])
def test_explanations_and_exports_have_the_probabilities_of_hfnt(n_ensemble):
    X, y = IRIS
    model = HFNTClassifier(
        population_size=10, n_generations=5, n_tuning=5, n_ensemble=n_ensemble, random_state=0
    ).fit(X, y)
    probabilities = model.predict_proba(X)
    found = model.explain(X, output="probability")
    np.testing.assert_allclose(found.baseline + found.values.sum(axis=1), probabilities, atol=1e-6)
    plan = make_plan(model)
    outputs = plan.outputs(X)
    np.testing.assert_allclose(plan.combined(outputs), probabilities, atol=1e-6)
    np.testing.assert_array_equal(model.classes_[plan.decided(outputs)], model.predict(X))
