"""What training accepts: settings at the ends of their ranges, targets, weights, rows, scaling."""

from __future__ import annotations

import dataclasses
import pickle
import re
import warnings

import numpy as np
import pytest

from bneuralt import NeuralTree, TrainingSettings, _core, train
from bneuralt.estimators.callbacks import TrainingData
from bneuralt.fitting.progress import ForestState, Step
from bneuralt.fitting.rows import Rows
from bneuralt.training import (
    EpochState,
    OptimizerState,
    TrainingDiverged,
    TrainingInterrupted,
    TrainingJob,
    gradient,
    train_many,
)
from bneuralt.tree.growth import GrowthRule
from bneuralt.tree.sampling import ReceptiveFields, VarianceSampling
from tests import reference
from tests.helpers.strategies import draw_rows, draw_tree

RNG = np.random.default_rng(0)
TREE = draw_tree(RNG, 2, n_inputs=3)
X, Y = draw_rows(RNG, TREE, 20)
ONCE = TrainingSettings(max_epochs=1)


# -- the settings that the core declares -----------------------------------------------------


def outside(setting):
    """Values that a setting must refuse, with the error of each."""
    values = [(Plain(), TypeError)]
    if setting.kind in ("loss", "optimizer"):
        return [("nothing", ValueError)]
    if not setting.may_be_none:
        values += [(None, TypeError)]
    if setting.kind == "flag":
        return [*values, ("abc", TypeError), (2, TypeError)]
    if setting.kind == "choice":
        return [*values, ("nothing", ValueError), (setting.choices[0] + "\0", ValueError),
                ("\ud800", ValueError), (1, TypeError)]  # fmt: skip
    values += [("abc", TypeError), (True, TypeError), (np.True_, TypeError), ([], TypeError),
               (10**400, ValueError), (-(10**400), ValueError)]  # fmt: skip
    below = setting.low if setting.is_above_low else np.nextafter(setting.low, -1)
    if setting.kind == "whole":
        return [*values, (2.0, TypeError), (setting.low - 1, ValueError),
                (setting.high + 1, ValueError), (2**64, ValueError)]  # fmt: skip
    values += [(number, ValueError) for number in (np.nan, np.inf, -np.inf, below)]
    if setting.high < 1e300:
        values.append((np.nextafter(setting.high, np.inf), ValueError))
    return values


class Plain:
    """An object that is nothing that a setting may be."""


def inside(setting):
    """Values at the ends of the range of a setting."""
    values = [None] if setting.may_be_none else []
    if setting.kind == "flag":
        return [False, True]
    if setting.kind == "choice":
        return values + setting.choices
    if setting.kind == "whole":
        return [*values, setting.low, setting.high]
    lowest = np.nextafter(setting.low, 1) if setting.is_above_low else setting.low
    return [*values, float(lowest), setting.high]


def core_settings(**values):
    return _core.Settings({"loss": ("cross_entropy", [0.0]), "optimizer": ("gd", []), **values})


CASES = [(s.name, value, error) for s in _core.settings() for value, error in outside(s)]


@pytest.mark.parametrize(("name", "value", "error"), CASES)
def test_values_out_of_range_are_refused_by_name_in_python_and_in_the_core(name, value, error):
    seen = re.escape(repr(value)) if len(repr(value)) < 80 else "of type int"
    with pytest.raises(error, match=rf"^{name}(=| is ){seen}.*(it must be|choose one of)"):
        TrainingSettings(**{name: value})
    with pytest.raises((TypeError, ValueError), match=f"^{name} is"):
        core_settings(**{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [(s.name, v) for s in _core.settings() if "parameters" not in s.allowed for v in inside(s)],
)
def test_settings_at_the_ends_of_their_ranges_are_taken(name, value):
    settings = TrainingSettings(**{name: value})
    assert getattr(settings, name) == value
    assert settings.for_core is not None and core_settings(**{name: value}) is not None


@pytest.mark.parametrize("setting", _core.settings(), ids=lambda setting: setting.name)
def test_settings_are_documented_with_their_defaults(setting):
    text = " ".join(TrainingSettings.__doc__.split())
    assert f"{setting.name} : " in text and setting.about in text
    assert f"'auto': {setting.default!r}." in text
    default = getattr(TrainingSettings().complete, setting.name)
    assert default == getattr(TrainingSettings(**{setting.name: setting.default}), setting.name)
    assert getattr(TrainingSettings(), setting.name) == "auto"
    assert len(setting.about.split()) > 2 and setting.about.endswith(".")


@pytest.mark.parametrize(("name", "value"), [("moving_share", 5.0), ("moving_share", -0.5),
                                             ("leaf_moves", 2**31 - 1), ("leaf_moves", -5),
                                             ("moving_share", "abc")])  # fmt: skip
def test_moves_that_crashed_or_never_ended_are_refused(name, value):
    allowed = next(s.allowed for s in _core.settings() if s.name == name)
    with pytest.raises((TypeError, ValueError), match=f"^{name} is {value!r}, .* {allowed}"):
        core_settings(**{name: value})


def test_settings_of_unknown_names_are_refused():
    with pytest.raises(TypeError, match="TrainingSettings has no parameter 'rate'; it has: loss, "):
        TrainingSettings(rate=0.1)
    for name in ("rate", "score_all_rows"):  # the latter is for tests, and no setting
        with pytest.raises(ValueError, match=f"unknown setting '{name}'"):
            core_settings(**{name: True})
    with pytest.raises(TypeError, match="no parameter 'score_all_rows'"):
        TrainingSettings(score_all_rows=True)


def test_jobs_have_the_fields_that_a_training_job_has():
    job = {"tree": TREE.core, "settings": ONCE.for_core, "seed": 0}
    for name in {field.name for field in dataclasses.fields(TrainingJob)} - set(job):
        assert isinstance(_core.Job(**job, **{name: None}), _core.Job)
    with pytest.raises(TypeError, match="a job has no field 'weights'"):
        _core.Job(**job, weights=None)


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
    results, expected = (
        train(TREE, X, Y, settings=settings, validation=(X, Y)).tree for settings in (again, how)
    )
    assert results == expected


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
    name = list(vars(value))[-1]
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
    loss_and_slopes = gradient(single, X, counts, loss="squared_error")
    assert loss_and_slopes[0] == gradient(single, X, counts.astype(float), loss="squared_error")[0]
    # whole numbers in two columns are numbers
    tree = draw_tree(np.random.default_rng(1), 2, n_inputs=3)
    pairs = np.arange(40).reshape(20, 2)
    loss_and_slopes = gradient(tree, X, pairs, loss="squared_error")
    assert loss_and_slopes[0] == gradient(tree, X, pairs.astype(float), loss="squared_error")[0]


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
    _, loss_and_slopes = gradient(tree, X, y, loss="absolute_error")
    expected = reference.batch_gradient(tree.astype(np.float64), X, y, "absolute_error")
    np.testing.assert_allclose(loss_and_slopes, expected, rtol=1e-4, atol=1e-5)
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
    loss_and_slopes, part = (
        gradient(TREE, X, Y, sample_weight=weight),
        gradient(TREE, X[5:], Y[5:]),
    )
    np.testing.assert_allclose(loss_and_slopes[1], part[1] * 15 / 20, rtol=1e-12)
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
    (result,) = train_many(
        [TrainingJob(TREE, ONCE, rows=chosen, sample_weight=weight[chosen])], X, Y
    )
    (table,) = train_many([TrainingJob(TREE, ONCE, rows=chosen)], X, Y, sample_weight=weight)
    both = TrainingJob(TREE, ONCE, rows=chosen, sample_weight=weight[chosen])
    (first,) = train_many([both], X, Y, sample_weight=np.ones(20))
    alone = train(TREE, X[chosen], Y[chosen], settings=ONCE, sample_weight=weight[chosen])
    assert result.tree == table.tree == first.tree == alone.tree
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
    (result,) = train_many([TrainingJob(TREE, ONCE, input_scaling=scaling)], X, Y,
                        input_scaling=(0.0, 1.0))  # fmt: skip
    assert result.tree == train(TREE, X, Y, settings=ONCE, input_scaling=scaling).tree
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
