"""The estimators as scikit-learn's users meet them."""

import io
import os
import pickle
import signal
import subprocess
import sys
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_blobs
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, r2_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_param_validation, parametrize_with_checks

from bneuralt import PAPER_SETTINGS, BNeuralTClassifier, BNeuralTRegressor, Growth
from bneuralt.estimators.callbacks import _progress_line
from bneuralt.fitting.progress import Step
from bneuralt.training.optimizers import RMSprop
from bneuralt.warnings import TinyDataWarning, TrainingDiverged
from tests.helpers.flat import flat
from tests.helpers.tables import BREAST_CANCER, DIABETES, IRIS


def classifier(**parameters):
    return flat(BNeuralTClassifier, **{"max_epochs": 20, "random_state": 0, **parameters})


def regressor(**parameters):
    return flat(BNeuralTRegressor, **{"max_epochs": 20, "random_state": 0, **parameters})


#: One tree, without the trial that otherwise precedes its training.
ALONE = {"n_joined": 1, "weight_decay": 0.1, "output_factor": 1.0, "ramp_fraction": 0.0,
         "linear_share": 0.0}  # fmt: skip


# -- scikit-learn's conventions -----------------------------------------------------------


@parametrize_with_checks([BNeuralTClassifier(), BNeuralTRegressor()])
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", [BNeuralTClassifier(), BNeuralTRegressor()])
def test_every_parameter_is_checked(estimator):
    check_param_validation(type(estimator).__name__, estimator)


@pytest.mark.parametrize("estimator", [BNeuralTClassifier, BNeuralTRegressor])
def test_every_parameter_is_documented(estimator):
    for name, value in estimator().get_params(deep=False).items():
        assert f"\n    {name} : " in estimator.__doc__
        assert f"default={value!r}\n" in estimator.__doc__


def test_the_defaults_learn():
    X, y = IRIS
    assert cross_val_score(BNeuralTClassifier(random_state=0), X, y).mean() > 0.93
    X, y = DIABETES
    assert cross_val_score(BNeuralTRegressor(random_state=0), X, y).mean() > 0.35


@pytest.mark.parametrize("X", [IRIS[0], IRIS[0].astype("float32"), (IRIS[0] * 10).astype("uint8")])
def test_attributes_after_a_fit(X):
    y = IRIS[1]
    clf = classifier().fit(X, y)
    assert clf.classes_.tolist() == [0, 1, 2]
    assert clf.n_features_in_ == 4
    assert clf.tree_.n_inputs == clf.encoder_.n_inputs == (4 if X.dtype == np.uint8 else 36)
    assert clf.n_parameters_ == clf.tree_.n_parameters
    # two trees: 8 epochs in the trial, and 10 afterwards
    assert clf.n_iter_ == 18 and clf.recipe_.max_epochs == 20 and clf.best_epoch_ is None
    assert {name: len(values) for name, values in clf.history_.items()} == {
        "train_loss": 18,
        "train_score": 18,
        "learning_rate": 18,
    }
    alone = classifier(**ALONE).fit(X, y)
    assert alone.n_iter_ == len(alone.history_["train_loss"]) == 20
    assert {name: len(values) for name, values in clf.moved_leaves_.items()} == {
        "tried": 4,
        "stayed": 4,
    }
    # tree_ works on raw features: its outputs are the scores.
    np.testing.assert_array_equal(
        clf.tree_.forward(clf.encoder_.encode(X)), clf.decision_function(X)
    )
    np.testing.assert_array_equal(
        clf.predict(X), clf.tree_.forward(clf.encoder_.encode(X)).argmax(axis=1)
    )


def test_probabilities_belong_together():
    X, y = BREAST_CANCER
    clf = classifier().fit(X, y)
    p = clf.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    # probabilities come from the kernel, in the tree's dtype
    np.testing.assert_allclose(p, np.exp(clf.predict_log_proba(X)), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(
        p[:, 1], 1 / (1 + np.exp(-clf.decision_function(X))), rtol=1e-6, atol=1e-12
    )
    np.testing.assert_array_equal(clf.predict(X), p.argmax(axis=1))


@pytest.mark.parametrize("labels", [["no", "yes"], [False, True], [-1, 1], [3, 7], [0.0, 1.0]])
def test_labels_of_any_kind(labels):
    X, y = BREAST_CANCER
    labels = np.array(labels)
    clf = classifier().fit(X, labels[y])
    assert clf.predict(X).dtype == labels.dtype
    np.testing.assert_array_equal(clf.predict(X), labels[classifier().fit(X, y).predict(X)])


def test_many_classes():
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    X, y = make_blobs(1300, n_features=8, centers=26, random_state=0)
    clf = classifier(max_epochs=40).fit(X, letters[y])
    assert clf.predict_proba(X).shape == (1300, 26)
    assert clf.score(X, letters[y]) > 0.95


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_tables_with_names(package):
    make_table = pytest.importorskip(package).DataFrame
    X, y = IRIS
    table = make_table({name: X[:, i] for i, name in enumerate("abcd")})
    clf = classifier().fit(table, make_table({"y": y})["y"])
    assert clf.feature_names_in_.tolist() == list("abcd")
    np.testing.assert_array_equal(clf.predict_proba(table), classifier().fit(X, y).predict_proba(X))
    with pytest.raises(ValueError, match="in the same order as they were in fit"):
        clf.predict(table[["b", "a", "c", "d"]])


def test_works_with_the_tools_of_scikit_learn():
    X, y = IRIS
    tree = classifier(max_epochs=50)
    grid = GridSearchCV(tree, {"growth__leaf_probability": [0.2, 0.4]}, cv=3).fit(X, y)
    assert grid.best_score_ > 0.9
    pipeline = make_pipeline(StandardScaler(), clone(grid.best_estimator_))
    assert (cross_val_predict(pipeline, X, y, cv=3) == y).mean() > 0.9
    assert CalibratedClassifierCV(tree, cv=3).fit(X, y).score(X, y) > 0.9
    voters = [("tree", tree), ("line", LogisticRegression(max_iter=1000))]
    assert VotingClassifier(voters, voting="soft").fit(X, y).score(X, y) > 0.9

    X, y = DIABETES
    model = regressor().fit(X, y)
    importance = permutation_importance(model, X, y, n_repeats=2, random_state=0)
    assert importance.importances_mean.argmax() in (2, 8)  # bmi and s5 matter most


def test_metadata_routing():
    X, y = IRIS
    weight = np.where(y == 0, 0.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        clf = classifier().set_fit_request(sample_weight=True)
        pipeline = make_pipeline(scaler, clf).fit(X, y, sample_weight=weight)
    assert pipeline.classes_.tolist() == [1, 2]  # rows of weight 0 are not there


def test_weights_of_classes_and_rows():
    X, y = IRIS
    by_class = classifier(class_weight={0: 2.0, 2: 0.5}).fit(X, y)
    by_row = classifier().fit(X, y, sample_weight=np.array([2.0, 1.0, 0.5])[y])
    np.testing.assert_array_equal(by_class.predict_proba(X), by_row.predict_proba(X))
    rare = np.flatnonzero((y > 0) & (np.arange(150) % 50 < np.where(y == 1, 50, 5)))
    plain, balanced = classifier(), classifier(class_weight="balanced")
    counts = [(model.fit(X[rare], y[rare]).predict(X) == 2).sum() for model in (plain, balanced)]
    assert counts[1] > counts[0]


def test_many_rows_of_few_kinds_are_many_rows():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(2000, 4)).astype(float)
    y = rng.random(2000) < 1 / (1 + np.exp(-X @ [2, -1, 1, -3] - 1))
    best = log_loss(y, LogisticRegression().fit(X, y).predict_proba(X))
    clf = BNeuralTClassifier(random_state=0).fit(X, y)
    assert log_loss(y, clf.predict_proba(X)) < best + 0.005


def test_numbers_of_jobs_that_make_no_sense():
    X, y = IRIS
    with pytest.raises(ValueError, match="The 'n_jobs' parameter"):
        classifier(n_jobs=0).fit(X, y)
    expected = classifier().fit(X, y).predict(X)
    for n_jobs in (10**30, -(10**30)):
        np.testing.assert_array_equal(classifier(n_jobs=n_jobs).fit(X, y).predict(X), expected)


@pytest.mark.parametrize(("make", "data"), [(classifier, IRIS), (regressor, DIABETES)])
def test_neither_order_nor_threads_matter(make, data):
    X, y = data
    expected = make().fit(X, y).predict(X)
    order = np.random.default_rng(0).permutation(len(y))
    np.testing.assert_array_equal(make().fit(X[order], y[order]).predict(X), expected)
    np.testing.assert_array_equal(make(n_jobs=2).fit(X, y).predict(X), expected)
    code = (
        "import sys, numpy as np; from sklearn.datasets import load_iris, load_diabetes;"
        "from bneuralt import BNeuralTClassifier as C, BNeuralTRegressor as R;"
        f"M, load = {'C, load_iris' if make is classifier else 'R, load_diabetes'};"
        "X, y = load(return_X_y=True);"
        "sys.stdout.write(M(max_epochs=20, random_state=0).fit(X, y).predict(X).tobytes().hex())"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert bytes.fromhex(other.stdout) == expected.tobytes()


def test_copies_of_a_model():
    X, y = IRIS
    clf = classifier().fit(X, y)
    expected = clf.predict_proba(X)
    buffer = io.BytesIO()
    joblib.dump(clf, buffer)
    for copy in (pickle.loads(pickle.dumps(clf)), joblib.load(buffer)):
        np.testing.assert_array_equal(copy.predict_proba(X), expected)
    with pytest.raises(NotFittedError):
        clone(clf).predict(X)


def test_skops_lists_our_types_and_no_others():
    skops = pytest.importorskip("skops.io")
    X, y = IRIS
    clf = classifier(optimizer=RMSprop()).fit(X, y)
    data = skops.dumps(clf)
    unknown = skops.get_untrusted_types(data=data)
    assert unknown and all(name.startswith("bneuralt.") for name in unknown)
    loaded = skops.loads(data, trusted=unknown)
    np.testing.assert_array_equal(loaded.predict_proba(X), clf.predict_proba(X))


# -- settings -----------------------------------------------------------------------------


def test_settings_of_the_paper():
    X, y = IRIS
    settings = {**PAPER_SETTINGS, "max_epochs": 30, "random_state": 0}
    clf = BNeuralTClassifier(**settings).fit(X, y)
    assert clf.score(X, y) > 0.9 and clf.best_epoch_ is not None
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1.0)
    outputs = clf.tree_.forward(X)
    np.testing.assert_allclose(
        clf.predict_proba(X), outputs / outputs.sum(axis=1, keepdims=True), rtol=1e-5
    )
    X, y = DIABETES
    reg = BNeuralTRegressor(**settings).fit(X, y)
    assert reg.score(X, y) > 0
    np.testing.assert_allclose(reg.tree_.forward(X)[:, 0], reg.predict(X))
    assert y.min() <= reg.predict(X).min() and reg.predict(X).max() <= y.max()


@pytest.mark.parametrize("scale", ["robust", "standard", "minmax", None])
@pytest.mark.parametrize("ramps", ["auto", 0, 3])
def test_scale_and_ramps(scale, ramps):
    X, y = IRIS
    clf = classifier(scale=scale, ramps=ramps, max_epochs=50).fit(X, y)
    assert clf.score(X, y) > 0.9
    n_ramps = (8 if scale == "robust" else 0) if ramps == "auto" else ramps
    assert clf.tree_.n_inputs == 4 * (1 + n_ramps)
    inputs = clf.encoder_.encode(X)
    np.testing.assert_array_equal(clf.tree_.forward(inputs), clf.decision_function(X))
    far = X * 1e30
    if scale == "robust":  # numbers are limited, and so is the change of the outputs
        np.testing.assert_array_equal(clf.decision_function(far), clf.decision_function(1e9 * X))


def test_leaves_avoid_features_that_do_not_vary():
    X, y = IRIS
    clf = classifier().fit(np.insert(X, 2, 7.0, axis=1), y)
    assert 2 not in clf.encoder_.groups[clf.tree_.leaf_input]
    chosen = classifier(feature_sampling=[0, 0, 1, 1]).fit(X, y)
    assert chosen.encoder_.groups[chosen.tree_.leaf_input].min() == 2
    called = classifier(feature_sampling=lambda rng, leaves, *_: np.zeros(leaves.size, int))
    assert called.fit(X, y).tree_.input_counts[1:].sum() == 0


def test_size_limits():
    clf = classifier(min_size=200, max_size=210).fit(*IRIS)
    assert 200 <= clf.tree_.size <= 210
    with pytest.raises(ValueError, match=r"no tree of size .* change min_size"):
        classifier(min_size=10**6).fit(*IRIS)


@pytest.mark.parametrize(
    ("make", "parameters", "message"),
    [
        (classifier, {"validation_fraction": 0}, r"'validation_fraction' .* \(0.0, 1.0\). Got 0 "),
        (classifier, {"learning_rate": -1}, r"'learning_rate' .* \(0.0, inf\) .* Got -1 instead"),
        (classifier, {"optimizer": "sgd"}, "optimizer='sgd' is not known"),
        (classifier, {"max_depth": 0}, "max_depth=0 must be 1 or more"),
        (classifier, {"output_activation": "sigmoid"}, "needs linear output nodes"),
        (regressor, {"loss": "cross_entropy"}, "loss='cross_entropy' is for classifiers"),
        (classifier, {"class_weight": {0: -1.0}}, "class_weight=.* must not be negative"),
        (classifier, {"feature_sampling": [1.0]}, "feature_sampling has shape"),
    ],
)
def test_settings_out_of_range(make, parameters, message):
    with pytest.raises(ValueError, match=message):
        make(**parameters).fit(*IRIS)


# -- validation rows ----------------------------------------------------------------------


@pytest.mark.parametrize(("make", "data"), [(classifier, IRIS), (regressor, DIABETES)])
def test_early_stopping_restores_the_best_epoch(make, data):
    X, y = data
    model = make(early_stopping=True, patience=5, max_epochs=500, learning_rate=0.1)
    model.fit(X, y)
    assert model.n_iter_ == model.best_epoch_ + 6 < 500
    assert model.best_epoch_ == model.history_["val_loss"].argmin()
    assert len(model.history_["val_score"]) == model.n_iter_


@pytest.mark.parametrize(("make", "data"), [(classifier, IRIS), (regressor, DIABETES)])
def test_validation_rows_of_the_user(make, data):
    X, y = data
    model = make(early_stopping=True, max_epochs=50)
    model.fit(X[::2], y[::2], X_val=X[1::2], y_val=y[1::2])
    best = model.history_["val_score"][model.best_epoch_]
    assert best == pytest.approx(model.score(X[1::2], y[1::2]), abs=1e-5)
    # With no selection asked for, they are only looked at.
    watched = make().fit(X[::2], y[::2], X_val=X[1::2], y_val=y[1::2])
    np.testing.assert_array_equal(watched.predict(X), make().fit(X[::2], y[::2]).predict(X))
    losses = watched.history_["val_loss"]
    assert len(losses) == watched.n_iter_ == 18
    np.testing.assert_array_equal(np.isnan(losses), np.arange(18) < 8)  # unknown in the trial


def test_refit_uses_all_rows_for_the_best_number_of_epochs():
    X, y = DIABETES
    settings = {**ALONE, "max_epochs": 200, "learning_rate": 0.1}
    searched = regressor(early_stopping=True, **settings).fit(X, y)
    refitted = regressor(early_stopping="refit", **settings).fit(X, y)
    assert refitted.n_iter_ == searched.best_epoch_ + 1
    assert refitted.best_epoch_ == searched.best_epoch_
    np.testing.assert_array_equal(refitted.history_["val_loss"], searched.history_["val_loss"])
    direct = regressor(**{**settings, "max_epochs": refitted.n_iter_}).fit(X, y)
    np.testing.assert_array_equal(refitted.predict(X), direct.predict(X))


@pytest.mark.parametrize("early_stopping", [False, True, "refit"])
def test_the_best_of_several_drawn_trees_is_kept(early_stopping):
    X, y = DIABETES
    kind = "val" if early_stopping else "train"
    settings = {"early_stopping": early_stopping, "leaf_probability": 0.5, "min_size": None,
                "weight_decay": 0.1}  # fmt: skip
    trained = [regressor(n_init=n, **settings).fit(X, y) for n in range(1, 7)]
    losses = [
        model.history_[f"{kind}_loss"][-1 if model.best_epoch_ is None else model.best_epoch_]
        for model in trained
    ]
    assert losses == sorted(losses, reverse=True)  # the first trees are the same for any n_init
    assert len({model.tree_.size for model in trained}) > 1
    again = regressor(n_init=6, **settings).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), trained[-1].predict(X))


def test_stopping_in_the_middle_of_several_trees_keeps_the_best_so_far():
    n_epochs = 0

    def stop_in_the_second_tree(state):
        nonlocal n_epochs
        n_epochs += 1
        return n_epochs == 22

    def interrupt_in_the_second_tree(state):
        if stop_in_the_second_tree(state):
            raise KeyboardInterrupt

    X, y = DIABETES
    first = regressor(n_init=1, **ALONE).fit(X, y)
    stopped = regressor(n_init=4, **ALONE).fit(X, y, callback=stop_in_the_second_tree)
    np.testing.assert_array_equal(stopped.predict(X), first.predict(X))
    n_epochs = 0
    interrupted = regressor(n_init=4, **ALONE)
    with pytest.raises(KeyboardInterrupt):
        interrupted.fit(X, y, callback=interrupt_in_the_second_tree)
    np.testing.assert_array_equal(interrupted.predict(X), first.predict(X))


@pytest.mark.parametrize("early_stopping", [True, "refit"])
def test_tiny_data_says_what_it_does(early_stopping):
    X, y = IRIS
    with pytest.warns(TinyDataWarning, match="rows are too few"):
        few = classifier(early_stopping=early_stopping).fit(X[::4], y[::4])
    assert few.n_iter_ == 20 and few.best_epoch_ is None
    y = np.where(np.arange(150) == 0, 7, y)
    with pytest.warns(TinyDataWarning, match="only row of a class is used for training"):
        single = classifier(early_stopping=early_stopping).fit(X, y)
    assert single.classes_.tolist() == [0, 1, 2, 7]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier().fit(X[::4], y[::4])


@pytest.mark.parametrize(
    ("validation", "message"),
    [
        ({"X_val": IRIS[0]}, "y_val is missing"),
        ({"y_val": IRIS[1]}, "X_val is missing"),
        ({"X_val": IRIS[0], "y_val": IRIS[1] + 1}, "y_val has a label .* 3"),
        ({"X_val": IRIS[0][:, :2], "y_val": IRIS[1]}, "X has 2 features"),
    ],
)
def test_bad_validation_rows(validation, message):
    with pytest.raises(ValueError, match=message):
        classifier().fit(*IRIS, **validation)


# -- learning in parts --------------------------------------------------------------------


def test_partial_fit_classifier():
    X, y = BREAST_CANCER
    clf = classifier()
    with pytest.raises(ValueError, match="classes must be given in the first call"):
        clf.partial_fit(X, y)
    for epoch in range(30):
        for part in np.array_split(np.random.default_rng(epoch).permutation(len(y)), 4):
            clf.partial_fit(X[part], y[part], classes=[0, 1])
    assert clf.score(X, y) > 0.95
    assert clf.n_iter_ == len(clf.history_["train_loss"]) == 120
    with pytest.raises(ValueError, match=r"classes=\[0, 2\] are not those of the first call"):
        clf.partial_fit(X, y, classes=[0, 2])
    with pytest.raises(ValueError, match="not among the classes: 5"):
        clf.partial_fit(X, y + 5)
    with pytest.raises(ValueError, match="class_weight='balanced' needs all rows"):
        classifier(class_weight="balanced").partial_fit(X, y, classes=[0, 1])


def test_partial_fit_regressor_from_a_single_row_on():
    X = np.random.default_rng(0).normal(size=(300, 2))
    y = X[:, 0]
    reg = regressor(weight_decay=0.0, batch_size=4)
    reg.partial_fit(X[:1], y[:1])  # nothing varies yet
    for _ in range(5):
        for part in np.array_split(np.arange(300), 10):
            reg.partial_fit(X[part], y[part])
    assert reg.score(X, y) > 0.9


def test_partial_fit_after_fit_goes_on():
    X, y = IRIS
    clf = classifier(max_epochs=2).fit(X, y)
    before = clf.history_["train_loss"][0]
    for _ in range(30):
        clf.partial_fit(X, y)
    assert clf.n_iter_ == 32 and clf.history_["train_loss"][-1] < before
    assert clf.fit(X, y).n_iter_ == 2


def test_warm_start_goes_on():
    X, y = IRIS
    clf = classifier(max_epochs=5, warm_start=True).fit(X, y)
    first = clf.history_["train_loss"]
    structure = clf.tree_.leaf_input
    clf.fit(X, y)
    assert clf.history_["train_loss"][-1] < first[-1]
    np.testing.assert_array_equal(clf.tree_.leaf_input, structure)
    with pytest.raises(ValueError, match="not among the classes"):
        clf.fit(X, y + 10)


# -- progress and interruption ------------------------------------------------------------


def test_callback_sees_every_epoch_and_may_stop():
    states = []

    def stop_after_seven(state):
        states.append(state)
        return len(states) == 7

    clf = classifier(**ALONE).fit(*IRIS, callback=stop_after_seven)
    assert [state.epoch for state in states] == list(range(7))
    assert clf.n_iter_ == 7
    np.testing.assert_array_equal(
        clf.history_["train_loss"], [state.train_loss for state in states]
    )


def test_an_error_in_a_callback_is_raised():
    def fail(state):
        raise ZeroDivisionError("in the callback")

    with pytest.raises(ZeroDivisionError, match="in the callback"):
        classifier().fit(*IRIS, callback=fail)


def test_ctrl_c_keeps_the_weights_so_far():
    def interrupt(state):
        if state.epoch == 4:
            os.kill(os.getpid(), signal.SIGINT)

    clf = classifier(max_epochs=10**5, **ALONE)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(*IRIS, callback=interrupt)
    assert 4 <= clf.n_iter_ <= 6
    assert len(clf.history_["train_loss"]) == clf.n_iter_
    assert clf.predict(IRIS[0]).shape == (150,)


def test_verbose_prints_lines(capsys):
    regressor(verbose=1, early_stopping=True).fit(*DIABETES)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 10
    for part in ("epoch 20/20", "loss ", "validation loss ", "r2 ", "rate ", " s left"):
        assert part in lines[-1]
    classifier().fit(*IRIS)
    assert capsys.readouterr().err == ""


def test_verbose_keeps_one_line_in_a_terminal():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    step = Step("epoch", 1000, lambda state, score: f"step {state}")
    with _progress_line(step, terminal) as show:
        for i in range(1000):
            show(i, 0.5, dict)
    text = terminal.getvalue()
    assert text.startswith("\rstep 0") and text.endswith("\rstep 999\x1b[K\n")
    assert text.count("\n") == 1 and text.count("\r") < 100


@pytest.mark.skipif(not hasattr(BNeuralTClassifier, "set_callbacks"), reason="scikit-learn < 1.9")
@pytest.mark.parametrize("early_stopping", [False, True, "refit"])
def test_callbacks_of_scikit_learn(early_stopping):
    class Recorder:
        def __init__(self, stop_at=None):
            self.events, self.stop_at = [], stop_at

        def setup(self, estimator, context):
            self.events.append("setup")

        def teardown(self, estimator, context):
            self.events.append("teardown")

        def on_fit_task_begin(self, estimator, context):
            self.events.append(f"begin {context.task_name}")

        def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
            assert X is IRIS[0]
            self.events.append(f"end {context.task_name}")
            return context.task_name == "epoch" and context.task_id == self.stop_at

    recorder = Recorder()
    clf = classifier(early_stopping=early_stopping, patience=3, max_epochs=50)
    clf.set_callbacks(recorder).fit(*IRIS)
    epochs = recorder.events[2:-2]
    assert recorder.events[:2] == ["setup", "begin fit"]
    assert recorder.events[-2:] == ["end fit", "teardown"]
    assert epochs == ["begin epoch", "end epoch"] * (len(epochs) // 2)
    if early_stopping is False:  # 25 epochs of each of two trees, after a trial
        assert len(epochs) == 100

    stopper = Recorder(stop_at=3)
    assert classifier(**ALONE).set_callbacks(stopper).fit(*IRIS).n_iter_ == 4


# -- bad input ----------------------------------------------------------------------------


def test_infinite_values_are_named():
    X, y = IRIS[0].copy(), IRIS[1]
    clf = classifier().fit(pd.DataFrame(X, columns=["a", "b", "width", "d"]), y)
    X[3, 1] = -np.inf
    with pytest.raises(ValueError, match=r"infinity: row 3, column 1 \(1 such values"):
        classifier().fit(X, y)
    table = pd.DataFrame(X, columns=["a", "b", "width", "d"])
    with pytest.raises(ValueError, match=r"infinity: row 3, column 'b' \(1 such values"):
        clf.predict(table)
    table.iloc[2, 2] = np.nan
    with pytest.raises(ValueError, match=r"column 'b' of X has infinity in row 3"):
        clf.predict(table)


def test_duplicated_names_are_refused():
    with pytest.raises(ValueError, match="several columns with the same name: 'a'"):
        classifier().fit(pd.DataFrame(IRIS[0], columns=["a", "b", "a", "c"]), IRIS[1])


def test_targets_that_cannot_be_learnt():
    X, y = IRIS
    with pytest.raises(ValueError, match="only one class: 'a'"):
        classifier().fit(X, np.full(150, "a"))
    with pytest.raises(ValueError, match="only one class: 2"):
        classifier().fit(X, y, sample_weight=y == 2)
    with pytest.raises(ValueError, match="continuous"):
        classifier().fit(X, X[:, 0])
    with pytest.raises(TypeError, match="of type int, str, cannot be used"):
        classifier().fit(X, np.array(["u", 1, 2], dtype=object)[y])
    two = 2 * (y > 0)
    for targets in (np.c_[y, y], np.c_[y, y].tolist(), pd.DataFrame(np.c_[y, y]), np.c_[two, two]):
        with pytest.raises(ValueError, match=r"2 columns.* 2 in.*MultiOutputClassifier\(BNeuralTC"):
            classifier().fit(X, targets)


def test_features_of_the_wrong_kind():
    X, y = IRIS
    with pytest.raises(ValueError, match=r"column 0 of X has text, such as 'red'"):
        table = np.array([["red", "2"], ["blue", "3"]], dtype=object)
        classifier(categorical_features=None).fit(table, [0, 1])
    with pytest.raises(ValueError, match=r"y has text.*'setosa'.*use BNeuralTClassifier"):
        regressor().fit(X, load_iris().target_names[y])
    as_objects = classifier().fit(X.astype(object), y)
    np.testing.assert_array_equal(as_objects.predict(X), classifier().fit(X, y).predict(X))
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        classifier().fit(X[:0], y[:0])


def test_one_row_and_constant_tables():
    X, y = IRIS
    assert regressor().fit(X[:1], [4.5]).predict(X[:2]).tolist() == [4.5, 4.5]
    assert regressor().fit(X, np.full(150, -3.0)).predict(X[:1]).tolist() == [-3.0]
    constant = classifier().fit(np.ones((150, 3)), y)
    np.testing.assert_allclose(constant.predict_proba(np.full((1, 3), 9.0)), 1 / 3, atol=0.1)


@pytest.mark.parametrize("unit", [1e-300, 1e-30, 1e30, 1e300])
def test_features_and_targets_in_odd_units(unit):
    X, y = IRIS
    odd = classifier().fit(X * unit, y)
    assert odd.score(X * unit, y) > 0.9
    X, y = DIABETES
    assert r2_score(y, regressor().fit(X, y * unit).predict(X) / unit) > 0.3


def test_features_far_from_zero():
    X, y = IRIS
    straight = {"scale": "standard", "ramps": 0, "weight_decay": 0.1}
    clf = classifier(**straight).fit(X + 1e7, y)
    assert clf.tree_.dtype == "float64"
    np.testing.assert_allclose(
        clf.predict_proba(X + 1e7), classifier(**straight).fit(X, y).predict_proba(X), atol=0.2
    )
    assert classifier().fit(X + 1e7, y).score(X + 1e7, y) > 0.93


def test_values_too_large_to_predict_from():
    clf = classifier(scale="standard", ramps=0).fit(*IRIS)
    assert clf.tree_.dtype == "float32"
    with pytest.raises(ValueError, match="overflows in the float32"):
        clf.predict(IRIS[0] * 1e300)


def test_values_that_are_limited_are_never_too_large():
    clf = classifier().fit(*IRIS)
    assert np.isfinite(clf.decision_function(IRIS[0] * 1e300)).all()
    assert (
        clf.predict(np.full((1, 4), 1e308)).tolist() == clf.predict(np.full((1, 4), 1e9)).tolist()
    )
    with pytest.raises(ValueError, match="infinity"):
        clf.predict(np.full((1, 4), np.inf))


def test_divergence_is_told():
    with pytest.warns(TrainingDiverged):
        clf = classifier(activation="relu", learning_rate=1e10).fit(*IRIS)
    assert np.isfinite(clf.predict_proba(IRIS[0])).all()


def test_few_rows_are_gone_over_more_often():
    X, y = IRIS
    alone = {"n_weights": 100, "random_state": 0, "growth": Growth(n_joined=1)}
    assert BNeuralTClassifier(**alone).fit(X, y).n_iter_ > 100
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    for model, y, n_epochs in (
        (BNeuralTClassifier(**alone), X[:, 0] > 0, 50),
        (BNeuralTRegressor(**alone), X[:, 0], 100),
    ):
        assert model.fit(X, y).n_iter_ == model.recipe_.max_epochs == n_epochs


def test_share_of_the_usual_size_gives_way_to_a_wanted_size():
    assert classifier(max_size=60).fit(*IRIS).tree_.size <= 60
    assert classifier(n_weights=100).fit(*IRIS).n_parameters_ <= 100
