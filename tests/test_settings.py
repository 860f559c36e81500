"""What training accepts: settings at the ends of their ranges, targets, weights, rows, scaling."""

from __future__ import annotations

import dataclasses
import pickle
import re
import warnings

import numpy as np
import pytest
from strategies import draw_rows, draw_tree

from bneuralt import NeuralTree, TrainingSettings, reference, train
from bneuralt.estimators.callbacks import ForestState, Step, TrainingData
from bneuralt.estimators.rows import Rows
from bneuralt.training import (
    EpochState,
    OptimizerState,
    TrainingDiverged,
    TrainingInterrupted,
    TrainingJob,
    gradient,
    train_many,
)
from bneuralt.tree.generate import GrowthRule
from bneuralt.tree.sampling import ReceptiveFields, VarianceSampling

RNG = np.random.default_rng(0)
TREE = draw_tree(RNG, 2, n_inputs=3)
X, Y = draw_rows(RNG, TREE, 20)
ONCE = TrainingSettings(max_epochs=1)


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("loss", "hinge", ValueError),
        ("optimizer", "sgdd", ValueError),
        ("schedule", "step", ValueError),
        ("select", "never", ValueError),
        ("monitor", "r2", ValueError),
        ("learning_rate", 0.0, ValueError),
        ("learning_rate", float("nan"), ValueError),
        ("learning_rate", float("inf"), ValueError),
        ("learning_rate", "fast", TypeError),
        ("learning_rate", None, TypeError),
        ("weight_decay", -1e-9, ValueError),
        ("weight_decay", float("inf"), ValueError),
        ("clip_norm", 0.0, ValueError),
        ("clip_norm", -1.0, ValueError),
        ("batch_size", 0, ValueError),
        ("batch_size", 2**62 + 1, ValueError),
        ("batch_size", 2.0, TypeError),
        ("max_epochs", -1, ValueError),
        ("max_epochs", 2**31, ValueError),
        ("max_epochs", None, TypeError),
        ("max_epochs", True, TypeError),
        ("max_epochs", np.True_, TypeError),
        ("patience", 0, ValueError),
        ("patience", 2**31, ValueError),
        ("patience", "long", TypeError),
    ],
)
def test_settings_out_of_range_are_named(name, value, error):
    with pytest.raises(error, match=f"^{name}"):
        TrainingSettings(**{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("weight_decay", 0.0),
        ("clip_norm", None),
        ("clip_norm", 1e-300),
        ("batch_size", 1),
        ("batch_size", 2**62),
        ("batch_size", None),
        ("max_epochs", 0),
        ("max_epochs", 2**31 - 1),
        ("patience", 1),
        ("patience", 2**31 - 1),
        ("patience", None),
        ("select", None),
        ("select", "update"),
    ],
)
def test_settings_at_the_ends_of_their_ranges(name, value):
    how = TrainingSettings(**{name: value})
    assert getattr(how, name) == value
    assert how.for_core is not None


def test_numbers_of_numpy_become_plain_ones():
    how = TrainingSettings(max_epochs=np.int64(3), learning_rate=np.float32(0.5),
                           repeat_first_row=np.True_)  # fmt: skip
    assert type(how.max_epochs) is int and type(how.learning_rate) is float
    assert how.repeat_first_row is True


def test_settings_can_be_pickled_before_and_after_use():
    how = TrainingSettings(max_epochs=2, clip_norm=0.5, patience=3, select="epoch")
    assert pickle.loads(pickle.dumps(how)) == how
    train(TREE, X, Y, settings=how, validation=(X, Y))
    again = pickle.loads(pickle.dumps(how))
    assert again == how
    found, expected = (
        train(TREE, X, Y, settings=settings, validation=(X, Y)).tree for settings in (again, how)
    )
    assert found == expected


@pytest.mark.parametrize(
    "value",
    [
        ONCE,
        TrainingJob(TREE, ONCE),
        EpochState(lambda: TREE, 1, 2, 0.0, 0.0, 0.0, 0.0, 0.1, 0.0),
        OptimizerState(np.zeros(2), 1),
        Rows(X, Y, np.ones(20)),
        GrowthRule(),
        VarianceSampling(),
        ReceptiveFields((2, 2)),
        ForestState(1, 2, 3.0),
        Step("epoch", 3, str),
        TrainingData(X, Y),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_cannot_be_changed(value):
    name = dataclasses.fields(value)[-1].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, name, None)


def test_jobs_and_rows_are_compared_as_objects():
    for first, second in (
        (TrainingJob(TREE, ONCE), TrainingJob(TREE, ONCE)),
        (Rows(X, Y, np.ones(20)), Rows(X, Y, np.ones(20))),
    ):
        assert first == first and first != second and len({first, second}) == 2


def test_states_of_an_epoch_are_compared_and_shown_without_their_tree():
    first, second = (EpochState(lambda: TREE, 1, 2, 0.5, 0.0, 0.0, 0.0, 0.1, 0.0) for _ in "12")
    assert first == second and first.tree == TREE
    assert first.job == 0
    assert repr(first).startswith("EpochState(epoch=1, max_epochs=2, train_loss=0.5,")


def test_an_interruption_says_so_and_keeps_its_results():
    result = train(TREE, X, Y, settings=ONCE)
    interruption = TrainingInterrupted([result])
    assert str(interruption) == "training was interrupted"
    assert pickle.loads(pickle.dumps(interruption)).result.tree == result.tree


# -- targets and weights ---------------------------------------------------------------------


def test_whole_numbers_are_classes_for_a_loss_that_takes_either():
    for n_outputs in (2, 3):
        tree = draw_tree(np.random.default_rng(1), n_outputs, n_inputs=3)
        labels = np.arange(20) % n_outputs
        by_label = gradient(tree, X, labels, loss="squared_error")[1]
        by_number = gradient(tree, X, np.eye(n_outputs)[labels], loss="squared_error")[1]
        np.testing.assert_array_equal(by_label, by_number)
        expected = reference.batch_gradient(tree, X, labels, "squared_error")
        np.testing.assert_allclose(by_label, expected, rtol=1e-10, atol=1e-12)
    single = draw_tree(np.random.default_rng(1), 1, n_inputs=3)
    counts = np.arange(20) * 3
    found = gradient(single, X, counts, loss="squared_error")
    assert found[0] == gradient(single, X, counts.astype(float), loss="squared_error")[0]
    # whole numbers in two columns are numbers
    tree = draw_tree(np.random.default_rng(1), 2, n_inputs=3)
    pairs = np.arange(40).reshape(20, 2)
    found = gradient(tree, X, pairs, loss="squared_error")
    assert found[0] == gradient(tree, X, pairs.astype(float), loss="squared_error")[0]


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        (np.zeros(20), TypeError, "y must be class numbers (integers), got dtype float64"),
        (np.zeros((20, 1), int), ValueError, "y must have one dimension, it has 2"),
        (np.r_[np.zeros(7, int), 2, np.zeros(12, int)], ValueError,
         "y[7] is 2, but classes run from 0 to 1"),
        (np.r_[np.zeros(7, int), -1, np.zeros(12, int)], ValueError, "y[7] is -1, but classes"),
    ],
)  # fmt: skip
def test_labels_that_are_none_are_refused(y, error, message):
    with pytest.raises(error, match=re.escape(message)):
        train(TREE, X, y, settings=ONCE)
    with pytest.raises(error, match=re.escape(message.replace("y", "y_val", 1))):
        train(TREE, X, Y, settings=ONCE, validation=(X, y))


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones(19), "sample_weight has 19 entries, X has 20 rows"),
        (np.r_[np.ones(4), -0.5, np.ones(15)], "sample_weight[4] is -0.5; weights cannot"),
        (np.r_[np.ones(4), np.inf, np.ones(15)], "sample_weight[4] is inf, which is not finite"),
    ],
)
def test_weights_that_are_none_are_refused(weight, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        train(TREE, X, Y, settings=ONCE, sample_weight=weight)
    name = message.replace("sample_weight", "w_val").replace("X has", "X has")
    with pytest.raises(ValueError, match=re.escape(name)):
        train(TREE, X, Y, settings=ONCE, validation=(X, Y, weight))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_targets_may_be_the_largest_numbers(dtype):
    tree = draw_tree(np.random.default_rng(1), 1, n_inputs=3).astype(dtype)
    largest = float(np.finfo(dtype).max)
    y = np.r_[largest, np.zeros(19)]
    _, found = gradient(tree, X, y, loss="absolute_error")
    expected = reference.batch_gradient(tree.astype(np.float64), X, y, "absolute_error")
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match=rf"y\[0\] is .*not finite in {np.dtype(dtype)}"):
        gradient(tree, X, np.r_[largest * 1.0001 if dtype == np.float32 else np.inf, y[1:]],
                 loss="absolute_error")  # fmt: skip


def test_numbers_must_be_finite_for_all_trees_that_are_trained_together():
    wide = draw_tree(np.random.default_rng(1), 1, n_inputs=3)
    how = TrainingSettings(loss="squared_error", max_epochs=1)
    y = np.r_[1e39, np.zeros(19)]
    for trees in ((wide, wide.astype(np.float32)), (wide.astype(np.float32), wide)):
        with pytest.raises(ValueError, match=r"y\[0\] is 1e\+39, which is not finite in float32"):
            train_many([TrainingJob(tree, how) for tree in trees], X, y)


def test_a_weight_of_zero_is_allowed():
    weight = np.r_[np.zeros(5), np.ones(15)]
    found, part = (
        gradient(TREE, X, Y, sample_weight=weight),
        gradient(TREE, X[5:], Y[5:]),
    )
    np.testing.assert_allclose(found[1], part[1] * 15 / 20, rtol=1e-12)
    for weights in ({"validation_weight": np.zeros(3)}, {}):
        job = TrainingJob(TREE, ONCE, validation_rows=[1, 2, 3], **weights)
        if weights:
            with pytest.raises(ValueError, match=r"^validation_weight is zero for all rows"):
                train_many([job], X, Y)
        else:
            assert np.isfinite(train_many([job], X, Y)[0].history["val_loss"]).all()
    with pytest.raises(ValueError, match=r"^w_val is zero for all rows"):
        train(TREE, X, Y, settings=ONCE, validation=(X, Y, np.zeros(20)))


# -- jobs ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rows", "validation_rows"])
@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ([], ValueError, "is empty"),
        ([0.0, 1.0], TypeError, "must be positions (integers), got dtype float64"),
        ([[0, 1]], ValueError, "must have one dimension, it has 2"),
        ([0, 19, 20], ValueError, "[2] is 20, rows run from 0 to 19"),
        ([0, -1], ValueError, "[1] is -1, rows run from 0 to 19"),
    ],
)
def test_rows_that_are_not_there_are_refused(name, rows, error, message):
    job = TrainingJob(TREE, ONCE, **{name: rows})
    with pytest.raises(error, match=f"^{name}.*{re.escape(message)}"):
        train_many([job], X, Y)
    with pytest.raises(error, match=f"^job 1: {name}"):
        train_many([TrainingJob(TREE, ONCE), job], X, Y)
    with pytest.raises(error, match=f"^job 1: {name}"):
        train_many(iter([TrainingJob(TREE, ONCE), job]), X, Y)


def test_weights_of_a_job_come_before_those_of_the_table():
    weight = np.linspace(0.5, 1.5, 20)
    chosen = np.array([3, 17, 4, 8])
    (own,) = train_many([TrainingJob(TREE, ONCE, rows=chosen, sample_weight=weight[chosen])], X, Y)
    (table,) = train_many([TrainingJob(TREE, ONCE, rows=chosen)], X, Y, sample_weight=weight)
    both = TrainingJob(TREE, ONCE, rows=chosen, sample_weight=weight[chosen])
    (first,) = train_many([both], X, Y, sample_weight=np.ones(20))
    alone = train(TREE, X[chosen], Y[chosen], settings=ONCE, sample_weight=weight[chosen])
    assert own.tree == table.tree == first.tree == alone.tree
    with pytest.raises(ValueError, match="sample_weight has 20 entries, the job has 4 rows"):
        train_many([TrainingJob(TREE, ONCE, rows=chosen, sample_weight=weight)], X, Y)


def test_weights_of_training_rows_are_not_those_of_validation_rows():
    weight = np.linspace(0.1, 5, 20)
    job = TrainingJob(TREE, ONCE, validation_rows=np.arange(5))
    (result,) = train_many([job], X, Y, sample_weight=weight)
    plain = train(TREE, X, Y, settings=ONCE, sample_weight=weight, validation=(X[:5], Y[:5]))
    assert result.history["val_loss"][0] == pytest.approx(plain.history["val_loss"][0])
    # but those of a validation table are
    (judged,) = train_many([job], X, Y, validation=(X, Y, weight))
    same = train(TREE, X, Y, settings=ONCE, validation=(X[:5], Y[:5], weight[:5]))
    assert judged.history["val_loss"][0] == pytest.approx(same.history["val_loss"][0])


def test_the_scaling_of_a_job_comes_before_that_of_all():
    scaling = np.array([1.0, 2.0, 3.0]), np.array([0.5, 2.0, 1.0])
    (own,) = train_many([TrainingJob(TREE, ONCE, input_scaling=scaling)], X, Y,
                        input_scaling=(0.0, 1.0))  # fmt: skip
    assert own.tree == train(TREE, X, Y, settings=ONCE, input_scaling=scaling).tree
    one_number = train(TREE, X, Y, settings=ONCE, input_scaling=(1.0, 0.5)).tree
    many = train(TREE, X, Y, settings=ONCE, input_scaling=(np.full(3, 1.0), np.full(3, 0.5)))
    assert one_number == many.tree
    with pytest.raises(ValueError, match="for each of 3 inputs"):
        train(TREE, X, Y, settings=ONCE, input_scaling=(np.zeros(2), np.ones(2)))


def test_warnings_say_in_which_epoch_the_weights_overflowed():
    tree = NeuralTree.random(3, activation="relu", output_activation="linear", random_state=0)
    y = X[:, 0]
    common = {"loss": "squared_error", "optimizer": "gd", "schedule": "constant",
              "max_epochs": 300}  # fmt: skip
    seen = set()
    for rate, batch_size in ((1.0, None), (1e30, None), (1e300, None), (1e300, 1)):
        for select in (None, "epoch"):
            how = TrainingSettings(**common, learning_rate=rate, batch_size=batch_size,
                                   select=select)  # fmt: skip
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                result = train(tree, X * 5, y, settings=how, validation=(X * 5, y))
            assert result.status == "diverged"
            (warning,) = caught
            assert warning.category is TrainingDiverged and warning.filename == __file__
            expected = f"overflowed in epoch {result.n_epochs + 1};"
            if select and result.n_epochs and result.best_epoch is None:
                expected = "no score on the validation rows was finite"
            assert expected in str(warning.message)
            seen.add((expected[:2], result.best_epoch is None, result.n_epochs > 0))
    assert {("ov", True, True), ("ov", True, False), ("no", True, True)} <= seen
