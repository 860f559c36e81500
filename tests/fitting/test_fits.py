"""Details of fits: rows, weights, scaling, starts, progress, and what is reported."""

from __future__ import annotations

import gc
import io
import math
import warnings
import weakref

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    Growth,
    NeuralTree,
)
from bneuralt.estimators.callbacks import TrainingData
from bneuralt.fitting.canonical import canonical_rows
from bneuralt.fitting.forest import features_of_tree, number_of
from bneuralt.fitting.problem import read_problem
from bneuralt.fitting.progress import ForestState, describe_epoch, describe_forest
from bneuralt.fitting.rows import Rows
from bneuralt.fitting.splits import hold_out
from bneuralt.fitting.weights import RowWeights, class_weights
from bneuralt.model.scaling import Scaling, fold, learn_scaling
from bneuralt.tables.moments import ColumnMoments
from bneuralt.training import EpochState
from bneuralt.tree.sampling import VarianceSampling
from bneuralt.warnings import TinyDataWarning, TrainingDiverged
from tests.helpers.flat import flat
from tests.helpers.tables import IRIS

SMALL = {"max_depth": 2, "max_epochs": 2, "random_state": 0}
NAN = math.nan


def blob(n_rows, n_columns=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    return X, (X[:, 0] > 0).astype(int)


# -- rows ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_rows", "weight", "times"),
    [(10, 0.2, 1), (10, 1.0, 1), (10, 1.5, 1), (10, 3.0, 3), (10, 10.0, 10), (10, 11.0, 1),
     (2048, 3.0, 2), (4096, 3.0, 1), (5000, 3.0, 1)],
)  # fmt: skip
def test_an_epoch_goes_over_rows_as_often_as_they_were_there(n_rows, weight, times):
    X = np.arange(float(n_rows))[:, np.newaxis]
    weights = RowWeights.of(np.full(n_rows, weight))
    rows = canonical_rows(X, np.zeros(n_rows, dtype=np.int32), weights)
    assert rows.times == times and rows.n_examples == n_rows * times
    once = rows.one_epoch()
    assert len(once) == n_rows * times and once.n_examples == n_rows * times
    np.testing.assert_allclose(once.weight, weights.weight[0] / times)
    assert np.bincount(once.X[:, 0].astype(int)).tolist() == [times] * n_rows


def test_weights_of_mean_one_keep_their_proportions():
    rows = Rows(np.zeros((3, 1)), np.zeros(3), np.array([1.0, 2.0, 6.0]))
    np.testing.assert_allclose(rows.with_mean_weight_one().weight, [1 / 3, 2 / 3, 2.0])
    same = Rows(np.zeros((3, 1)), np.zeros(3), np.full(3, 0.1)).with_mean_weight_one()
    assert same.weight.tolist() == [1.0] * 3 and same.sample_weight is None
    assert rows.sample_weight is rows.weight


def test_rows_that_weigh_nothing_then_are_left_out():
    rows = Rows(np.arange(3.0)[:, np.newaxis], np.arange(3.0), np.array([1.0, 2.0, 3.0]))
    less = rows.weighed(np.array([2.0, 0.0, 1.0]))
    assert less.X[:, 0].tolist() == [0, 2] and less.y.tolist() == [0, 2]
    assert less.weight.tolist() == [2, 3]
    assert less.take(np.array([1])).X.tolist() == [[2.0]]
    assert rows.weighed(np.full(3, 2.0)).index is None


def test_copies_are_found_in_large_tables():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 5))  # hashed in several parts
    y = np.zeros(60_000, dtype=np.int32)
    rows = canonical_rows(np.concatenate([X, X[::-1]]), y, RowWeights.ones(60_000))
    assert len(rows) == 30_000 and set(rows.weight.tolist()) == {2.0}
    changed = np.concatenate([X, X[::-1]])
    changed[-1, -1] += 1
    assert len(canonical_rows(changed, y, RowWeights.ones(60_000))) == 30_001


def splits(n_rows, fraction, seed=0, y=None):
    y = np.arange(n_rows, dtype=np.int32) % 2 if y is None else y
    rows = Rows(np.arange(float(n_rows))[:, np.newaxis], y, np.ones(n_rows))
    return hold_out(rows, fraction, np.random.default_rng(seed))


def test_sixty_rows_are_enough_to_hold_some_out():
    training, validation = splits(60, 0.15)
    assert (len(training), len(validation)) == (51, 9)
    with pytest.warns(TinyDataWarning, match=r"59 rows .* \(the least is 60\)"):
        assert splits(59, 0.15)[1] is None


@pytest.mark.parametrize(("fraction", "n_held"), [(0.001, 1), (0.5, 50), (0.999, 99)])
def test_some_rows_are_held_out_and_some_are_not(fraction, n_held):
    y = np.linspace(0, 1, 100)
    assert len(splits(100, fraction, y=y)[1]) == n_held
    halves = {tuple(splits(100, 0.5, seed, y)[1].y) for seed in range(5)}
    assert len(halves) > 1


def test_a_class_of_one_row_is_trained_on():
    y = np.array([0] * 40 + [1] * 59 + [2], dtype=np.int32)
    with pytest.warns(TinyDataWarning, match=r"\(1 such classes\)"):
        training, validation = splits(100, 0.9, y=y)
    assert set(training.y) == {0, 1, 2} and 2 not in validation.y
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        splits(100, 0.9)


@pytest.mark.parametrize("weights", [{0: -1, 1: 1}, {0: 0, 1: 0}, {0: NAN, 1: 1}])
def test_weights_of_classes_that_make_no_sense_are_refused(weights):
    with pytest.raises(ValueError, match="must not be negative, NaN or infinite"):
        flat(BNeuralTClassifier, class_weight=weights, **SMALL).fit(*blob(20))


def test_a_class_may_weigh_nothing():
    X, y = blob(60)
    clf = flat(BNeuralTClassifier, class_weight={0: 0, 1: 1}, **SMALL).fit(X, y)
    assert clf.classes_.tolist() == [0, 1]
    rows = Rows(X, np.zeros(60, dtype=np.int32), np.ones(60))  # none of the second class
    np.testing.assert_allclose(class_weights("balanced", np.array([0, 1]), rows), 0.5)


def test_tables_in_any_form_are_predicted_alike():
    X, y = IRIS
    clf = flat(BNeuralTClassifier, **SMALL).fit(X, y)
    expected = clf.predict_proba(X)
    for other in (X.tolist(), np.asfortranarray(X), X[:, ::-1][:, ::-1], X.astype(object)):
        np.testing.assert_allclose(clf.predict_proba(other), expected, rtol=1e-6)
    for bad in (X[0], X[:0], X[:, :3], X[np.newaxis]):
        with pytest.raises(ValueError, match=r"[Rr]eshape|0 sample|3 features|dim"):
            clf.predict_proba(bad)


def test_a_table_without_names_is_told_apart_from_one_with_names():
    pd = pytest.importorskip("pandas")
    X, y = IRIS
    clf = flat(BNeuralTClassifier, **SMALL).fit(pd.DataFrame(X, columns=list("abcd")), y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        clf.predict(X)


def test_all_values_that_are_not_finite_are_counted():
    X, y = IRIS
    bad = X.copy()
    bad[3, 1] = bad[7, 0] = -np.inf
    with pytest.raises(ValueError, match=r"infinity: row 3, column 1 \(2 such values in all\)"):
        BNeuralTClassifier().fit(bad, y)
    bad[7, 0] = NAN
    with pytest.raises(ValueError, match="contains infinity: row 3, column 1"):
        flat(BNeuralTClassifier, **SMALL).fit(X, y).predict(bad)


@pytest.mark.parametrize("y", [np.arange(40).reshape(20, 2), [[0, 1], [2, 0]] * 10])
def test_several_columns_of_classes_are_refused(y):
    X, _ = blob(20)
    with pytest.raises(ValueError, match=r"y has 2 columns .*MultiOutputClassifier"):
        BNeuralTClassifier().fit(X, y)


# -- scaling ---------------------------------------------------------------------------------


def test_scaling_of_tables_that_are_read_in_parts():
    rng = np.random.default_rng(0)
    X = rng.normal([5, -3, 100], [1, 2, 30], (70_000, 3))
    weight = rng.uniform(0, 2, 70_000)
    scaling = learn_scaling("standard", ColumnMoments(X, weight))
    mean = np.average(X, axis=0, weights=weight)
    deviation = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))
    np.testing.assert_allclose(scaling.offset, mean, rtol=1e-11)
    np.testing.assert_allclose(scaling.factor, 1 / deviation, rtol=1e-11)


def test_columns_of_a_category_share_a_factor():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=500), np.eye(3)[rng.choice(3, 500, p=[0.7, 0.28, 0.02])]])
    alone = learn_scaling("standard", ColumnMoments(X, np.ones(500)))
    together = learn_scaling("standard", ColumnMoments(X, np.ones(500)), categories=[range(1, 4)])
    assert together.factor[0] == alone.factor[0]
    assert len(set(together.factor[1:].tolist())) == 1
    np.testing.assert_allclose(together.apply(X)[:, 1:].var(axis=0).sum(), 1.0)
    np.testing.assert_array_equal(together.offset, alone.offset)
    X[:, 1] = 0.0  # a category that these rows have not
    assert (
        learn_scaling("standard", ColumnMoments(X, np.ones(500)), categories=[range(1, 4)]).factor[
            1
        ]
        == 0.0
    )


def test_columns_that_do_not_vary_get_the_constant():
    X = np.array([[7.0, 1.0], [7.0, 3.0]])
    for kind in ("standard", "minmax"):
        assert learn_scaling(kind, ColumnMoments(X, np.ones(2))).factor[0] == 0.0
        assert learn_scaling(kind, ColumnMoments(X, np.ones(2)), constant=1.0).factor[0] == 1.0
        assert learn_scaling(kind, ColumnMoments(X, np.ones(2))).factor[1] != 0.0
    assert learn_scaling(None, ColumnMoments(X, np.ones(2))) is None


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("sign", [1, -1])
def test_columns_that_vary_by_rounding_only_do_not_vary(dtype, sign):
    eps = np.finfo(dtype).eps
    for n_steps, varies in ((3, False), (16, True)):
        X = (sign * 1000 * np.array([[1.0], [1 + n_steps * eps]])).astype(dtype)
        assert bool(learn_scaling("minmax", ColumnMoments(X, np.ones(2))).factor[0]) == varies


@pytest.mark.parametrize(
    ("offset", "factor", "fits"),
    [(0.0, 1.0, True), (255.0, 1.0, True), (256.0, 1.0, False), (-256.0, 1.0, False),
     (0.0, 1e18, False), (0.0, 9e17, True), (0.0, 1.1e-18, True), (0.0, 1e-18, False),
     (1e9, 0.0, True), (0.0, -1e18, False)],
)  # fmt: skip
def test_folded_weights_are_float32_where_digits_suffice(offset, factor, fits):
    assert Scaling(np.array([offset]), np.array([factor])).fits_float32 == fits
    tree = NeuralTree.random(1, 2, output_activation="linear", dtype="float32", random_state=0)
    folded = fold(tree, Scaling(np.array([offset]), np.array([factor])), None)
    assert folded.dtype == (np.float32 if fits else np.float64)


# -- single trees ----------------------------------------------------------------------------


@pytest.mark.parametrize("output", ["linear", "sigmoid"])
def test_history_has_the_scores_of_the_model(output):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = 30 + 5 * X[:, 0] + rng.normal(size=120)
    alone = {"n_init": 2, "linear_share": 0.0}  # the history is that of the trained tree
    reg = BNeuralTRegressor(
        max_epochs=30,
        output_factor=1.0,
        random_state=0,
        growth=Growth(output_activation=output, **alone),
    )
    reg.fit(X, y, X_val=X[:50], y_val=y[:50])
    assert reg.history_["val_score"][-1] == pytest.approx(reg.score(X[:50], y[:50]), abs=1e-4)
    assert 0 < reg.history_["train_score"][-1] < 1
    clf = BNeuralTClassifier(max_epochs=5, random_state=0, growth=Growth(n_joined=1))
    clf.fit(*IRIS, X_val=IRIS[0][::3], y_val=IRIS[1][::3])
    assert clf.history_["val_score"][-1] == pytest.approx(clf.score(IRIS[0][::3], IRIS[1][::3]))
    assert set(flat(BNeuralTClassifier, **SMALL).fit(*IRIS).history_) == {
        "train_loss", "train_score", "learning_rate"}  # fmt: skip


def test_the_score_of_a_constant_target_is_one_less_the_error():
    X, _ = blob(40)
    reg = BNeuralTRegressor(max_epochs=3, random_state=0, growth=Growth(max_depth=2, n_init=1))
    history = reg.fit(X, np.full(40, 7.0)).history_
    np.testing.assert_allclose(history["train_score"], 1 - 2 * history["train_loss"])


@pytest.mark.parametrize("output", ["linear", "sigmoid"])
def test_probabilities_of_a_forest_are_means(output):
    forest = flat(
        BNeuralForestClassifier,
        n_estimators=3,
        loss="squared_error",
        **SMALL,
        output_activation=output,
    ).fit(*IRIS)
    members = [member.predict_proba(IRIS[0]) for member in forest.estimators_]
    np.testing.assert_allclose(forest.predict_proba(IRIS[0]), np.mean(members, axis=0), rtol=1e-5)
    np.testing.assert_allclose(forest.predict_proba(IRIS[0]).sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(
        np.exp(forest.predict_log_proba(IRIS[0])), forest.predict_proba(IRIS[0]), rtol=1e-5
    )


def test_scores_in_callbacks_lines_are_those_of_history(capsys):
    reg = BNeuralTRegressor(max_epochs=3, verbose=1, random_state=0, growth=Growth(n_joined=1))
    X, _ = blob(80)
    for more in ({}, {"X_val": X[:30], "y_val": 3 * X[:30, 0]}):
        reg.fit(X, 3 * X[:, 0], **more)
        lines = capsys.readouterr().err.splitlines()
        which = "val_score" if more else "train_score"
        shown = [line.partition("r2 ")[2].split()[0] for line in lines]
        assert shown == [f"{score:.4f}" for score in reg.history_[which]]
        assert all(("validation loss" in line) == bool(more) for line in lines)


def features_of_leaves(model):
    """The columns of which the tree has an input."""
    return set(model.encoder_.groups[model.tree_.leaf_input].tolist())


def test_features_that_do_not_vary_are_drawn_only_if_no_other_is_allowed():
    X, y = blob(40)
    X[:, 2] = 7
    clf = flat(BNeuralTClassifier, **SMALL).fit(X, y)
    assert features_of_leaves(clf) <= {0, 1}
    clf = flat(BNeuralTClassifier, **SMALL, feature_sampling=[0, 1, 1]).fit(X, y)
    assert features_of_leaves(clf) == {1}
    clf = flat(BNeuralTClassifier, **SMALL, feature_sampling=[0, 0, 1]).fit(X, y)
    assert features_of_leaves(clf) == {2}
    clf = flat(BNeuralTClassifier, scale=None, **SMALL, feature_sampling=[0, 0, 1]).fit(X, y)
    assert features_of_leaves(clf) == {2}
    with pytest.raises(ValueError, match="feature_sampling has shape"):
        flat(BNeuralTClassifier, **SMALL, feature_sampling=[0, 1]).fit(X, y)


def test_partial_fit_counts_epochs_and_keeps_the_history():
    reg = BNeuralTRegressor(random_state=0, growth=Growth(max_depth=2))
    X, _ = blob(50)
    first = reg.partial_fit(X, X[:, 0]).history_["train_loss"].tolist()
    second = reg.partial_fit(X, X[:, 0]).history_["train_loss"].tolist()
    assert reg.n_iter_ == 2 and len(second) == 2 and second[:1] == first
    assert reg.history_["learning_rate"].tolist() == [0.02] * 2


def test_partial_fit_learns_from_features_that_vary_later():
    X, y = blob(400)
    first = X[:50].copy()
    first[:, 0] = 1.0
    clf = BNeuralTClassifier(random_state=0, growth=Growth(max_depth=3))
    clf.partial_fit(first, y[:50], classes=[0, 1])
    for _ in range(30):
        clf.partial_fit(X, y)
    assert clf.score(X, y) > 0.9


def test_partial_fit_needs_the_same_classes_again():
    X, y = blob(40)
    clf = BNeuralTClassifier(random_state=0, growth=Growth(max_depth=2))
    with pytest.raises(ValueError, match="classes must be given in the first call"):
        clf.partial_fit(X, y)
    clf.partial_fit(X, y, classes=[1, 0]).partial_fit(X, y).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="are not those of the first call"):
        clf.partial_fit(X, y, classes=[0, 1, 2])


def test_warm_start_keeps_the_scaling_and_draws_no_tree():
    X, y = blob(60)
    clf = flat(BNeuralTClassifier, warm_start=True, **SMALL, n_init=3).fit(X, y)
    structure = clf.tree_.parent.tolist(), clf.tree_.leaf_input.tolist()
    lines = io.StringIO()
    clf.fit(100 * X + 5, y, callback=lambda state: print(state.job, file=lines))
    assert (clf.tree_.parent.tolist(), clf.tree_.leaf_input.tolist()) == structure
    assert lines.getvalue().split() == ["0", "0"]


# -- forests ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "number"),
    [(None, 80), (1, 1), (80, 80), (500, 80), (0.5, 40), (1.0, 80), (0.001, 1), (0.019, 2)],
)
def test_numbers_and_shares(setting, number):
    assert number_of(setting, 80) == number
    X, y = blob(80)
    forest = flat(BNeuralForestClassifier, n_estimators=1, max_samples=setting, **SMALL).fit(X, y)
    assert hasattr(forest, "oob_score_") == (number < 80)


def test_forests_have_an_out_of_bag_score_only_if_rows_are_drawn():
    X, y = blob(60)
    forest = flat(BNeuralForestRegressor, n_estimators=2, bootstrap=True, **SMALL).fit(X, y)
    assert hasattr(forest, "oob_score_")
    # of two rows, a tree may draw both, and no row is left to judge it
    scores = set()
    for seed in range(20):
        forest = BNeuralForestClassifier(
            n_estimators=1,
            bootstrap=True,
            max_epochs=1,
            random_state=seed,
            growth=Growth(max_depth=2),
        )
        scores.add(str(forest.fit([[0.0], [1.0]], [0, 1]).oob_score_))
    assert "nan" in scores and scores & {"0.0", "1.0"}


def test_members_have_the_parameters_of_the_forest_and_no_threads_of_their_own():
    X, y = blob(60)
    forest = flat(
        BNeuralForestClassifier,
        n_estimators=3,
        n_jobs=2,
        verbose=0,
        learning_rate=0.03,
        warm_start=True,
        **SMALL,
    ).fit(X, y)
    assert forest.n_parameters_ == sum(m.tree_.n_parameters for m in forest.estimators_)
    for member in forest.estimators_:
        assert member.learning_rate == 0.03 and member.n_jobs is None
        assert member.warm_start is False and member.n_features_in_ == 3
    seeds = [member.random_state for member in forest.estimators_]
    assert len(set(seeds)) == 3
    same = flat(BNeuralForestClassifier, n_estimators=3, learning_rate=0.03, **SMALL).fit(X, y)
    assert [member.random_state for member in same.estimators_] == seeds
    trees = [member.tree_ for member in forest.estimators_]
    forest.set_params(n_estimators=3).fit(X, y)
    assert [member.tree_ for member in forest.estimators_] == trees
    with pytest.raises(ValueError, match="n_estimators=2 is less than the 3 trees"):
        forest.set_params(n_estimators=2).fit(X, y)


def test_each_tree_draws_from_features_of_its_own():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 12))
    y = (X[:, 0] > 0).astype(int)
    forest = flat(BNeuralForestClassifier, n_estimators=5, max_features=3, **SMALL).fit(X, y)
    problem = read_problem(forest._options(), X, y)
    seeds = [member.random_state for member in forest.estimators_]
    used = [tuple(np.flatnonzero(features_of_tree(problem, seed))) for seed in seeds]
    assert {len(features) for features in used} == {3} and len(set(used)) > 1
    for member, features in zip(forest.estimators_, used, strict=True):
        assert features_of_leaves(member) <= set(features)
    chances = np.arange(12.0)
    forest = flat(
        BNeuralForestClassifier, n_estimators=2, max_features=6, **SMALL, feature_sampling=chances
    )
    problem = read_problem(forest._options(), X, y)
    for seed in seeds:
        sampling = features_of_tree(problem, seed)
        kept = sampling != 0
        assert 5 <= kept.sum() <= 6  # the first may be drawn, and has no chance
        np.testing.assert_array_equal(sampling[kept], chances[kept])
    assert features_of_leaves(forest.fit(X, y).estimators_[0]) <= set(range(1, 12))
    assert chances.tolist() == list(range(12))
    drawn = BNeuralForestClassifier(max_features=3, growth=Growth(feature_sampling=lambda *a: None))
    with pytest.raises(ValueError, match="cannot be combined with a callable"):
        drawn.fit(X, y)


def test_a_refit_of_a_forest_keeps_the_history_of_the_search():
    X, y = blob(200)
    common = {"max_depth": 2, "max_epochs": 6, "random_state": 0, "n_estimators": 2}
    forest = flat(BNeuralForestClassifier, early_stopping="refit", **common).fit(X, y)
    search = flat(BNeuralForestClassifier, early_stopping=True, **common).fit(X, y)
    for member, searched in zip(forest.estimators_, search.estimators_, strict=True):
        assert member.best_epoch_ == searched.best_epoch_
        np.testing.assert_array_equal(member.history_["val_loss"], searched.history_["val_loss"])
        assert member.n_iter_ == member.best_epoch_ + 1
        assert member.tree_ != searched.tree_


@pytest.mark.parametrize(
    "model_type",
    [BNeuralTClassifier, BNeuralTRegressor, BNeuralForestClassifier, BNeuralForestRegressor],
)
def test_estimators_are_objects_as_those_of_scikit_learn(model_type):
    model = model_type(growth=Growth(max_depth=3))
    assert repr(model) == f"{model_type.__name__}(growth=Growth(max_depth=3))"
    twin = clone(model)
    assert model != twin and len({model, twin}) == 2
    assert twin.get_params() == model.get_params()
    with pytest.raises(TypeError, match="positional"):
        model_type(3)


def test_a_model_that_is_not_fitted_is_not_saved(tmp_path):
    for model in (BNeuralTClassifier(), BNeuralForestRegressor()):
        with pytest.raises(NotFittedError):
            model.save(tmp_path / "model.json")
        with pytest.raises(NotFittedError):
            model.predict([[1.0]])
    assert not list(tmp_path.iterdir())


# -- what is reported ------------------------------------------------------------------------


def test_the_line_of_an_epoch():
    state = EpochState(lambda: None, 1, 10, 0.5, 0.1, 0.25, 0.2, 0.0125, 3.0)
    assert describe_epoch(state, 0.75, "accuracy") == (
        "epoch  2/10  loss 0.5000  validation loss 0.2500  accuracy 0.7500  rate 0.013  12.0 s left"
    )
    state = EpochState(lambda: None, 8, 9, 0.5, 0.1, NAN, NAN, 0.02, 3.0)
    assert describe_epoch(state, 0.5, "r2") == (
        "epoch 9/9  loss 0.5000  r2 0.5000  rate 0.02  0.0 s left"
    )
    state = EpochState(lambda: None, 4, 10, 0.5, 0.1, NAN, NAN, 0.02, 5.0)
    assert describe_epoch(state, 0.5, "r2", n_trees=3, refits=True).startswith("refit on all rows")
    assert "tree" not in describe_epoch(state, 0.5, "r2", n_trees=3, refits=True)
    assert describe_epoch(state, 0.5, "r2", n_trees=3).startswith("tree 1/3  epoch  5/10")
    assert describe_epoch(state, 0.5, "r2", n_trees=3).endswith("25.0 s left")


def test_the_line_of_a_tree():
    assert describe_forest(ForestState(2, 5, 3.0), NAN) == "tree 2/5  4.5 s left"


@pytest.mark.parametrize(("n_epochs", "n_lines"), [(1, 1), (5, 5), (20, 10), (25, 13), (30, 10)])
def test_some_ten_lines_are_printed_and_the_last_one_is(n_epochs, n_lines, capsys):
    BNeuralTClassifier(
        max_epochs=n_epochs, verbose=1, random_state=0, growth=Growth(max_depth=2)
    ).fit(*IRIS)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == n_lines and lines[-1].startswith(f"epoch {n_epochs}/{n_epochs}")


def test_lines_are_counted_over_all_starts_and_the_refit(capsys):
    X, y = blob(100)
    common = {"max_depth": 2, "max_epochs": 10, "random_state": 0, "verbose": 1, "n_jobs": 1}
    flat(BNeuralTRegressor, **common, n_init=2).fit(X, y)
    assert len(capsys.readouterr().err.splitlines()) == 10  # every second of 20 epochs
    clf = flat(BNeuralTClassifier, early_stopping="refit", **common, patience=10).fit(X, y)
    n_epochs = len(clf.history_["val_loss"]) + clf.n_iter_
    assert len(capsys.readouterr().err.splitlines()) == n_epochs // 2
    warm = flat(BNeuralTClassifier, warm_start=True, **common, n_init=2).fit(X, y)
    capsys.readouterr()
    warm.fit(X, y)
    assert len(capsys.readouterr().err.splitlines()) == 10
    forest = flat(BNeuralForestClassifier, n_estimators=20, warm_start=True, **common).fit(X, y)
    assert len(capsys.readouterr().err.splitlines()) == 10
    forest.set_params(n_estimators=25).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 5 and lines[-1].startswith("tree 5/5")


def test_lines_are_seen_at_once(monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr("sys.stderr", io.TextIOWrapper(io.BufferedWriter(written)))
    seen = []
    clf = BNeuralTClassifier(max_epochs=4, verbose=1, random_state=0, growth=Growth(max_depth=2))
    clf.fit(*IRIS, callback=lambda state: seen.append(written.getvalue().count(b"epoch")))
    assert seen == [0, 1, 2, 3]


def test_callbacks_of_scikit_learn_are_given_the_data():
    assert TrainingData(1, 2).arguments == {"X": 1, "y": 2, "metadata": None}
    weighted = TrainingData(1, 2, [3.0]).arguments
    assert weighted == {"X": 1, "y": 2, "metadata": {"sample_weight": [3.0]}}


def test_callback_and_lines_go_together(capsys):
    seen = []
    clf = BNeuralTClassifier(max_epochs=5, verbose=1, random_state=0, growth=Growth(max_depth=2))
    clf.fit(*IRIS, callback=lambda state: seen.append(state.epoch) or state.epoch == 2)
    assert seen == [0, 1, 2] and clf.n_iter_ == 3
    assert len(capsys.readouterr().err.splitlines()) == 3


def test_a_stopped_start_ends_all_and_the_refit():
    X, y = blob(100)
    seen = []
    reg = BNeuralTRegressor(
        max_epochs=5, n_jobs=1, random_state=0, growth=Growth(n_init=3, max_depth=2)
    )
    reg.fit(X, y, callback=lambda state: seen.append(state.job) or len(seen) == 2)
    assert seen == [0, 0] and reg.n_iter_ <= 2
    clf = BNeuralTClassifier(
        early_stopping="refit", max_epochs=9, random_state=0, growth=Growth(max_depth=2)
    )
    clf.fit(X, y, callback=lambda state: state.epoch == 3)
    assert clf.n_iter_ == 4


def test_divergence_is_told_once_for_all_trees():
    X, y = blob(60)
    common = {"learning_rate": 1e30, "optimizer": "gd", "max_epochs": 50, "max_depth": 2,
              "activation": "relu", "random_state": 0}  # fmt: skip
    with pytest.warns(TrainingDiverged, match="^the weights overflowed; the best finite"):
        flat(BNeuralTRegressor, **common, n_init=1).fit(X, y)
    with pytest.warns(TrainingDiverged, match="^the weights of 3 trees overflowed") as caught:
        flat(BNeuralForestRegressor, n_estimators=3, **common).fit(X, y)
    assert len(caught) == 1


@pytest.mark.parametrize(
    "n_rows, n_classes, epochs, rate", [(10_000, 5, 50, 0.02), (10_001, 4, 50, 0.02),
                                        (10_001, 5, 100, 0.01)]
)  # fmt: skip
def test_large_tables_of_many_classes_are_learnt_more_slowly(n_rows, n_classes, epochs, rate):
    X = np.random.default_rng(0).random((n_rows, 1))
    clf = BNeuralTClassifier(n_weights=3 * n_classes, random_state=0)
    clf.fit(X, (n_classes * X[:, 0]).astype(int))
    assert clf.n_iter_ == epochs
    assert 0.99 * rate < clf.history_["learning_rate"][0] <= rate


def test_features_of_several_inputs_are_drawn_by_their_first_number():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"word": rng.choice(["u", "v", "w"], 90), "a": rng.normal(size=90)})
    growth = Growth(feature_sampling=VarianceSampling())
    model = BNeuralTClassifier(growth=growth, max_epochs=2, random_state=0)
    for columns in (["a", "word"], ["word", "a"]):
        model.fit(frame[columns], frame["a"] > 0)
        assert len(model.encoder_.first_numbers) == 3  # the last is the number of inputs


@pytest.mark.parametrize("cls", [BNeuralTClassifier, BNeuralForestClassifier])
def test_a_model_is_freed_with_its_estimator(cls):
    estimator = cls(max_epochs=20, random_state=0).fit(*IRIS)
    estimator.predict_proba(IRIS[0])
    gc.disable()  # which frees cycles of references, but late
    try:
        model = weakref.ref(estimator.model_)
        del estimator
        assert model() is None
    finally:
        gc.enable()
