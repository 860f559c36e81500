"""Forests of trees."""

import os
import pickle
import signal

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.utils.estimator_checks import check_param_validation, parametrize_with_checks

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    load_model,
)
from tests.helpers.flat import flat
from tests.helpers.tables import BREAST_CANCER, DIABETES, IRIS


def classifier(**parameters):
    defaults = {"n_estimators": 4, "max_epochs": 20, "random_state": 0}
    return flat(BNeuralForestClassifier, **{**defaults, **parameters})


def regressor(**parameters):
    defaults = {"n_estimators": 4, "max_epochs": 20, "random_state": 0}
    return flat(BNeuralForestRegressor, **{**defaults, **parameters})


BOTH = pytest.mark.parametrize(("make", "data"), [(classifier, IRIS), (regressor, DIABETES)])


@parametrize_with_checks(
    [BNeuralForestClassifier(n_estimators=3), BNeuralForestRegressor(n_estimators=3)]
)
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", [BNeuralForestClassifier(), BNeuralForestRegressor()])
def test_every_parameter_is_checked(estimator):
    check_param_validation(type(estimator).__name__, estimator)


def test_the_defaults_learn():
    assert cross_val_score(BNeuralForestClassifier(random_state=0), *IRIS).mean() > 0.93
    assert cross_val_score(BNeuralForestRegressor(random_state=0), *DIABETES).mean() > 0.4


@BOTH
def test_neither_order_nor_threads_matter(make, data):
    X, y = data
    expected = make().fit(X, y).predict(X)
    for n_jobs in (2, 3, -1):
        np.testing.assert_array_equal(make(n_jobs=n_jobs).fit(X, y).predict(X), expected)
    order = np.random.default_rng(0).permutation(len(y))
    np.testing.assert_array_equal(make().fit(X[order], y[order]).predict(X), expected)


@BOTH
@pytest.mark.parametrize("early_stopping", [False, True, "refit"])
def test_history_is_a_table_of_all_trees(make, data, early_stopping, tmp_path):
    pd = pytest.importorskip("pandas")
    forest = make(early_stopping=early_stopping).fit(*data)
    history = pd.DataFrame(forest.history_)
    for i, member in enumerate(forest.estimators_):
        part = history[history.tree == i].drop(columns="tree").set_index("epoch")
        expected = pd.DataFrame(member.history_)
        pd.testing.assert_frame_equal(part, expected, check_names=False, check_index_type=False)
    assert forest.n_iter_ == max(member.n_iter_ for member in forest.estimators_)
    forest.save(tmp_path / "forest.json")
    loaded = load_model(tmp_path / "forest.json")
    assert loaded.n_iter_ == forest.n_iter_ and not hasattr(loaded, "history_")


@BOTH
def test_members_are_trees_of_their_own(make, data):
    X, y = data
    settings = {"weight_decay": 0.1, "output_factor": 1.0, "ramp_fraction": 0.0, "n_joined": 1,
                "linear_share": 0.0, "plain_fraction": 0.0}  # fmt: skip
    n_weights = make().fit(X, y).recipe_.n_weights  # that of a tree alone is another one
    forest = make(n_weights=n_weights, **settings).fit(X, y)
    single = BNeuralTClassifier if make is classifier else BNeuralTRegressor
    for member in forest.estimators_:
        assert type(member) is single
        alone = clone(member).fit(X, y)
        assert alone.tree_ == member.tree_
    assert len({member.tree_.parent.size for member in forest.estimators_}) > 1
    assert forest.n_parameters_ == sum(member.n_parameters_ for member in forest.estimators_)


def test_predictions_are_means():
    X, y = IRIS
    clf = classifier().fit(X, np.array(["a", "b", "c"])[y])
    mean = np.mean([member.predict_proba(X) for member in clf.estimators_], axis=0)
    np.testing.assert_allclose(clf.predict_proba(X), mean)
    np.testing.assert_allclose(clf.predict_log_proba(X), np.log(mean))
    np.testing.assert_array_equal(clf.predict(X), clf.classes_[mean.argmax(axis=1)])
    reg = regressor().fit(*DIABETES)
    mean = np.mean([member.predict(DIABETES[0]) for member in reg.estimators_], axis=0)
    np.testing.assert_allclose(reg.predict(DIABETES[0]), mean)


def test_more_trees_give_better_probabilities():
    X, y = BREAST_CANCER
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
    forest = BNeuralForestClassifier(random_state=0).fit(X, y)
    alone = [log_loss(y_test, member.predict_proba(X_test)) for member in forest.estimators_]
    assert log_loss(y_test, forest.predict_proba(X_test)) < np.mean(alone)


@BOTH
def test_warm_start_adds_trees(make, data):
    X, y = data
    at_once = make(n_estimators=5).fit(X, y)
    grown = make(n_estimators=2, warm_start=True).fit(X, y)
    first = grown.estimators_[0].tree_
    grown.set_params(n_estimators=5).fit(X, y)
    assert grown.estimators_[0].tree_ == first
    np.testing.assert_array_equal(grown.predict(X), at_once.predict(X))
    with pytest.raises(ValueError, match="n_estimators=3 is less than the 5 trees"):
        grown.set_params(n_estimators=3).fit(X, y)


@BOTH
@pytest.mark.parametrize("drawn", [{"bootstrap": True}, {"max_samples": 0.5}, {"max_samples": 100}])
def test_out_of_bag_score_is_near_that_of_new_rows(make, data, drawn):
    X, y = data
    forest = make(n_estimators=12, max_epochs=50, **drawn).fit(X, y)
    fresh = cross_val_score(make(n_estimators=12, max_epochs=50), X, y, cv=3).mean()
    assert abs(forest.oob_score_ - fresh) < 0.1
    assert not hasattr(make().fit(X, y), "oob_score_")


def features_of_leaves(model):
    """The columns of which the tree has an input."""
    return np.unique(model.encoder_.groups[model.tree_.leaf_input])


def test_max_features():
    X, y = DIABETES
    forest = regressor(max_features=3).fit(X, y)
    used = [features_of_leaves(member) for member in forest.estimators_]
    assert all(len(features) <= 3 for features in used)
    assert len(np.unique(np.concatenate(used))) > 3
    share = regressor(max_features=0.5, feature_sampling=[1] * 5 + [0] * 5).fit(X, y)
    assert all((features_of_leaves(member) < 5).all() for member in share.estimators_)
    with pytest.raises(ValueError, match="max_features cannot be combined with a callable"):
        regressor(max_features=3, feature_sampling=lambda *_: 0).fit(X, y)


@BOTH
def test_early_stopping_in_each_tree(make, data):
    X, y = data
    forest = make(early_stopping=True, patience=3, max_epochs=300, learning_rate=0.1)
    epochs = [member.best_epoch_ for member in forest.fit(X, y).estimators_]
    assert len(set(epochs)) > 1
    given = make(early_stopping=True).fit(X[::2], y[::2], X_val=X[1::2], y_val=y[1::2])
    assert all("val_score" in member.history_ for member in given.estimators_)


def test_callback_may_stop():
    states = []

    def stop_after_two(state):
        states.append(state)
        return len(states) == 2

    clf = classifier(n_estimators=50).fit(*IRIS, callback=stop_after_two)
    assert [state.n_done for state in states] == [1, 2]
    np.testing.assert_array_equal(
        clf.predict_proba(IRIS[0]), classifier(n_estimators=2).fit(*IRIS).predict_proba(IRIS[0])
    )


def test_stopping_among_trees_that_are_trained_side_by_side_keeps_those_that_are_done():
    full = {tree.random_state: tree for tree in classifier(n_estimators=50).fit(*IRIS).estimators_}
    states = []

    def stop_after_two(state):
        states.append(state)
        return len(states) == 2

    stopped = classifier(n_estimators=50, n_jobs=2).fit(*IRIS, callback=stop_after_two)
    assert [state.n_done for state in states] == [1, 2]
    assert 2 <= len(stopped.estimators_) < 50
    for tree in stopped.estimators_:
        assert tree.tree_ == full[tree.random_state].tree_


def test_ctrl_c_keeps_the_trees_so_far():
    def interrupt(state):
        if state.n_done == 2:
            os.kill(os.getpid(), signal.SIGINT)

    clf = classifier(n_estimators=1000)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(*IRIS, callback=interrupt)
    assert 2 <= len(clf.estimators_) < 1000
    assert clf.predict_proba(IRIS[0]).shape == (150, 3)


def test_an_error_in_a_tree_is_raised():
    with pytest.raises(ValueError, match="no tree of size"):
        classifier(min_size=10**6).fit(*IRIS)


def test_verbose_prints_a_line_for_each_tree(capsys):
    regressor(verbose=1).fit(*DIABETES)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4 and lines[-1].startswith("tree 4/4")


@pytest.mark.skipif(
    not hasattr(BNeuralForestClassifier, "set_callbacks"), reason="scikit-learn < 1.9"
)
def test_callbacks_of_scikit_learn():
    from sklearn.callback import ScoringMonitor

    monitor = ScoringMonitor(scoring="accuracy")
    classifier().set_callbacks(monitor).fit(*IRIS)
    scores = [row["accuracy"] for row in monitor.get_logs().data if row["task_name"] == "tree"]
    assert len(scores) == 4 and all(0 < score <= 1 for score in scores)


@BOTH
def test_pickles(make, data):
    X, y = data
    forest = make().fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(forest)).predict(X), forest.predict(X))


# -- decay that follows the noise ---------------------------------------------------------


def categories(n_rows=240):
    return np.random.default_rng(0).integers(4, size=(n_rows, 4)).astype(float)


def decay(X, y, **parameters):
    forest = flat(BNeuralForestClassifier, n_estimators=2, random_state=0, **parameters).fit(X, y)
    return forest.recipe_.weight_decay


def is_damped(X, y, **parameters):
    """Return whether the effects in a forest are kept smaller than usual."""
    forest = flat(BNeuralForestClassifier, n_estimators=2, random_state=0, **parameters).fit(X, y)
    recipe = forest.recipe_
    return recipe.output_factor < 0.5 or recipe.reasons["weight_decay"].startswith("trial")


def test_effects_follow_the_noise_of_categories_and_of_numbers():
    X = categories()
    rule = (X[:, 0] > X[:, 1]) ^ (X[:, 2] == 1)
    noise = np.random.default_rng(1).random(len(X)) < 0.5
    listed = {"categorical_features": [0, 1, 2, 3]}
    assert not is_damped(X, rule, **listed)
    assert is_damped(X, noise, **listed)
    assert is_damped(X, noise)  # of numbers
    for columns in (listed, {}):
        fixed = {"weight_decay": 0.1, "output_factor": 1.0}
        assert not is_damped(X, noise, **fixed, **columns)
        assert decay(X, noise, weight_decay=0.1, **columns) == 0.1


def test_effects_of_larger_tables_follow_their_noise():
    X = categories(1200)
    noise = np.random.default_rng(1).random(len(X)) < 0.5
    X[:, 0] += np.arange(len(X)) / 5000  # so that no two rows are equal
    assert is_damped(X, noise, categorical_features=[1, 2, 3])


def test_trees_are_larger_where_a_leaf_has_a_weight_for_each_category():
    X = categories(3000)
    y = (X[:, 0] * 4 + X[:, 1]).astype(int)
    small = {"n_estimators": 1, "max_epochs": 1, "random_state": 1}
    numbers = classifier(**small).fit(X, y).n_parameters_
    listed = classifier(categorical_features=[0, 1, 2, 3], **small).fit(X, y).n_parameters_
    assert 1.5 * numbers < listed <= 4 * numbers
