"""What the compiled engine promises, with each instruction set."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bneuralt import NeuralTree, TrainingSettings, _core, train
from bneuralt.training import (
    TrainingDiverged,
    TrainingInterrupted,
    epoch_order,
    gradient,
)
from bneuralt.training.losses import get_loss
from tests import reference
from tests.helpers.comparison import scores
from tests.helpers.strategies import (
    HIDDEN,
    INSTRUCTION_SETS,
    KINKED,
    TASKS,
    draw_rows,
    draw_tree,
    seeds,
)


def test_no_instruction_set_is_missing_from_the_tests():
    assert set(_core.engines()) <= set(INSTRUCTION_SETS)


pytestmark = pytest.mark.usefixtures("engine")  # every test with each instruction set


# -- outputs and gradients -------------------------------------------------------------------


@given(seed=seeds, hidden=st.sampled_from(HIDDEN), mixed=st.booleans())
def test_a_row_has_the_same_outputs_alone_and_in_company(seed, hidden, mixed):
    rng = np.random.default_rng(seed)
    tree = draw_tree(rng, 3, hidden, mixed=mixed)
    X, _ = draw_rows(rng, tree, 45)
    together = tree.forward(X)
    alone = np.array([tree.forward(x) for x in X])
    # two kernels: compilers may round their multiply-adds differently
    np.testing.assert_allclose(alone, together, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8])
def test_rows_of_each_dtype_are_read_as_they_are(dtype):
    rng = np.random.default_rng(0)
    tree = draw_tree(rng, 3, n_inputs=6)
    X = rng.integers(0, 255, (50, 6)).astype(dtype)
    np.testing.assert_array_equal(tree.forward(X), tree.forward(X.astype(np.float64)))


@given(seed=seeds, task=st.sampled_from(TASKS), hidden=st.sampled_from(HIDDEN))
def test_gradient_is_the_slope_of_the_loss(seed, task, hidden):
    rng = np.random.default_rng(seed)
    loss, n_outputs, output = get_loss(task[0]), *task[1:]
    tree = draw_tree(rng, n_outputs, hidden, output)
    # away from biases of 0, where a node whose children are all dead sits exactly on a kink
    tree = tree.with_parameters(tree.parameters + rng.normal(0, 0.1, tree.n_parameters))
    X, y = draw_rows(rng, tree, 20)
    _, slopes = gradient(tree, X, y, loss=loss)
    # along a random direction, so that one pair of losses tests every weight
    direction = rng.normal(size=tree.n_parameters)
    direction /= np.linalg.norm(direction)
    step = 1e-6
    there, back = (
        gradient(tree.with_parameters(tree.parameters + s * direction), X, y, loss=loss)
        for s in (step, -step)
    )
    slope = (there[0] - back[0]) / (2 * step)
    kinked = hidden in KINKED or loss.name == "huber"  # a kink may lie between the two points
    tolerance = 1e-3 * (1 + np.linalg.norm(slopes)) if kinked else 1e-6 * (1 + abs(slope))
    assert abs(slope - slopes @ direction) < tolerance


# -- training --------------------------------------------------------------------------------


@pytest.mark.parametrize("batch_size", [1, 8, 16, 100, None])
def test_float32_training_follows_float64(batch_size):
    rng = np.random.default_rng(3)
    tree = draw_tree(rng, 3)
    X, y = draw_rows(rng, tree, 120)
    how = TrainingSettings(max_epochs=5, learning_rate=0.01, batch_size=batch_size)
    double = train(tree, X, y, settings=how).tree
    single = train(tree.astype(np.float32), X, y, settings=how).tree
    np.testing.assert_allclose(single.parameters, double.parameters, atol=2e-3)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_threads_never_change_a_bit(dtype):
    rng = np.random.default_rng(1)
    tree = NeuralTree.random(7, 4, max_depth=4, output_activation="linear", dtype=dtype,
                             random_state=1)  # fmt: skip
    X, y = draw_rows(rng, tree, 3000)
    how = TrainingSettings(max_epochs=3, batch_size=200, select="epoch")
    results = [
        train(tree, X, y, settings=how, validation=(X[:700], y[:700]), n_threads=n)
        for n in (1, 2, 3, 8)
    ]
    for result in results[1:]:
        np.testing.assert_array_equal(result.tree.parameters, results[0].tree.parameters)
        for name, column in result.history.items():
            np.testing.assert_array_equal(column, results[0].history[name])
    np.testing.assert_array_equal(tree.forward(X, n_threads=3), tree.forward(X))


def test_the_order_of_rows_depends_on_seed_and_epoch_alone():
    a = epoch_order(5, 0, 1000)
    assert sorted(a.tolist()) == list(range(1000))
    np.testing.assert_array_equal(a, epoch_order(5, 0, 1000))
    assert (a != epoch_order(5, 1, 1000)).any()
    assert (a != epoch_order(6, 0, 1000)).any()
    # each row comes first about equally often
    firsts = np.bincount([epoch_order(s, e, 10)[0] for s in range(50) for e in range(40)])
    assert firsts.min() > 140 and firsts.max() < 260


def test_training_in_two_calls_is_training_in_one():
    rng = np.random.default_rng(0)
    tree = draw_tree(rng, 2)
    X, y = draw_rows(rng, tree, 50)
    how = TrainingSettings(max_epochs=1, schedule="constant")
    once = train(tree, X, y, settings=how, seed=4)
    again = train(once.tree, X, y, settings=how, seed=5, optimizer_state=once.optimizer_state)
    order = [epoch_order(4, 0, 50).tolist(), epoch_order(5, 0, 50).tolist()]
    expected = reference.train(tree, X, y, order=order, loss="cross_entropy", optimizer="adam",
                               learning_rate=0.02, batch_size=16)  # fmt: skip
    np.testing.assert_allclose(again.tree.parameters, expected.parameters, atol=1e-10)


def test_scaling_on_the_fly_is_scaling_beforehand():
    rng = np.random.default_rng(0)
    tree = draw_tree(rng, 3, n_inputs=4)
    X, y = draw_rows(rng, tree, 60)
    offset, factor = rng.normal(size=4), rng.uniform(0.5, 2, 4)
    how = TrainingSettings(max_epochs=3)
    on_the_fly = train(tree, X, y, settings=how, input_scaling=(offset, factor)).tree
    beforehand = train(tree, (X - offset) * factor, y, settings=how).tree
    np.testing.assert_array_equal(on_the_fly.parameters, beforehand.parameters)
    raw = on_the_fly.with_input_scaling(offset, factor)
    np.testing.assert_allclose(raw.forward(X), beforehand.forward((X - offset) * factor), atol=1e-9)


def test_one_more_update_on_the_first_row():
    rng = np.random.default_rng(0)
    tree = draw_tree(rng, 2)
    X, y = draw_rows(rng, tree, 12)
    how = TrainingSettings(batch_size=1, max_epochs=2, optimizer="rmsprop", schedule="constant",
                           repeat_first_row=True)  # fmt: skip
    result = train(tree, X, y, settings=how, seed=9).tree
    order = [[*epoch_order(9, e, 12).tolist(), 0] for e in range(2)]
    expected = reference.train(tree, X, y, order=order, loss="cross_entropy", optimizer="rmsprop",
                               learning_rate=0.02)  # fmt: skip
    np.testing.assert_allclose(result.parameters, expected.parameters, atol=1e-10)


# -- selection and stopping ------------------------------------------------------------------


@given(seed=seeds, n_outputs=st.sampled_from([1, 3]), monitor=st.sampled_from(["loss", "error"]),
       batch_size=st.sampled_from([1, 4]), weighted=st.booleans())  # fmt: skip
@settings(max_examples=25)
def test_giving_up_early_selects_what_full_scoring_selects(
    seed, n_outputs, monitor, batch_size, weighted
):
    rng = np.random.default_rng(seed)
    loss = "cross_entropy" if n_outputs > 1 else "squared_error"
    tree = draw_tree(rng, n_outputs)
    X, y = draw_rows(rng, tree, 40)
    X_val, y_val = draw_rows(rng, tree, 75)
    w_val = rng.uniform(0, 2, 75) if weighted else None
    how = {"loss": (loss, get_loss(loss).numbers), "optimizer": ("rmsprop", [0.9, 1e-8]),
           "schedule": "constant", "max_epochs": 8, "learning_rate": 0.05,
           "batch_size": batch_size, "select": "update", "monitor": monitor}  # fmt: skip
    kind = np.int32 if n_outputs > 1 else np.float64
    data, validation = _core.Data(X, y.astype(kind)), _core.Data(X_val, y_val.astype(kind))
    result, full = (
        _core.train(
            [_core.Job(tree=tree.core, settings=_core.Settings(how, score_all_rows=patient),
                       seed=seed, validation_weight=w_val)],
            1, data, validation, 1, None, None,
        )[0][0]
        for patient in (False, True)
    )  # fmt: skip
    np.testing.assert_array_equal(result.parameters, full.parameters)
    assert result.best_epoch == full.best_epoch


def test_selection_by_epoch_and_patience():
    rng = np.random.default_rng(2)
    tree = draw_tree(rng, 2, n_inputs=5)
    X, y = draw_rows(rng, tree, 60)  # labels are noise: validation soon gets worse
    X_val, y_val = draw_rows(rng, tree, 60)
    how = TrainingSettings(max_epochs=300, select="epoch", patience=7, schedule="constant")
    result = train(tree, X, y, settings=how, validation=(X_val, y_val))
    assert result.status == "early_stopped"
    losses = result.history["val_loss"]
    assert result.best_epoch == losses.argmin()
    assert result.n_epochs == len(losses) == result.best_epoch + 1 + 7
    assert scores(result.tree, X_val, y_val, "loss") == pytest.approx(losses.min())


def test_history_tells_losses_and_errors():
    rng = np.random.default_rng(2)
    tree = draw_tree(rng, 3)
    X, y = draw_rows(rng, tree, 64)
    X_val, y_val = draw_rows(rng, tree, 33)
    how = TrainingSettings(max_epochs=4, batch_size=None)
    result = train(tree, X, y, settings=how, validation=(X_val, y_val))
    assert result.history["train_loss"][0] == pytest.approx(scores(tree, X, y, "loss"))
    assert result.history["train_error"][0] == pytest.approx(scores(tree, X, y, "error"))
    assert result.history["val_loss"][-1] == pytest.approx(
        scores(result.tree, X_val, y_val, "loss")
    )
    assert result.best_epoch is None


def test_a_callback_sees_every_epoch_and_may_stop():
    rng = np.random.default_rng(2)
    tree = draw_tree(rng, 3)
    X, y = draw_rows(rng, tree, 64)
    seen = []

    def watch(state):
        seen.append(state.epoch)
        return state.epoch == 4

    result = train(tree, X, y, settings=TrainingSettings(), callback=watch)
    assert seen == [0, 1, 2, 3, 4]
    assert result.status == "callback" and result.n_epochs == 5


def test_an_error_in_a_callback_is_the_callers():
    rng = np.random.default_rng(2)
    tree = draw_tree(rng, 3)
    X, y = draw_rows(rng, tree, 64)
    with pytest.raises(ZeroDivisionError):
        train(tree, X, y, settings=TrainingSettings(), callback=lambda state: 1 / 0)


@pytest.mark.parametrize("batch_size", [1, 16])
@pytest.mark.parametrize("select", [None, "epoch", "update"])
def test_overflowing_weights_end_training_with_finite_ones(batch_size, select):
    rng = np.random.default_rng(0)
    tree = NeuralTree.random(4, 1, activation="relu", output_activation="linear", random_state=3)
    X, y = draw_rows(rng, tree, 60)
    how = TrainingSettings(loss="squared_error", optimizer="gd", learning_rate=50.0,
                           batch_size=batch_size, select=select, monitor="error")  # fmt: skip
    with pytest.warns(TrainingDiverged, match="overflowed in epoch"):
        result = train(tree, X * 100, y, settings=how, validation=(X, y))
    assert result.status == "diverged"
    assert np.isfinite(result.tree.parameters).all()
    assert np.isfinite(result.tree.forward(X)).all()


def test_clipping_keeps_such_training_finite():
    rng = np.random.default_rng(0)
    tree = NeuralTree.random(4, 1, activation="relu", output_activation="linear", random_state=3)
    X, y = draw_rows(rng, tree, 60)
    how = TrainingSettings(loss="squared_error", optimizer="gd", learning_rate=0.01,
                           clip_norm=1.0, batch_size=1)  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = train(tree, X * 100, y, settings=how)
    assert np.isfinite(result.tree.parameters).all()


# -- threads and signals ---------------------------------------------------------------------


def test_many_threads_may_predict_with_one_tree():
    rng = np.random.default_rng(0)
    tree = draw_tree(rng, 3)
    X, _ = draw_rows(rng, tree, 500)
    expected = tree.forward(X)
    wrong = []

    def work():
        for _ in range(50):
            if (tree.forward(X) != expected).any():
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("batch_size", [1, 64])
def test_ctrl_c_ends_training_and_keeps_the_weights(batch_size):
    rng = np.random.default_rng(0)
    tree = draw_tree(rng, 3)
    X, y = draw_rows(rng, tree, 2000)
    how = TrainingSettings(max_epochs=10_000_000, batch_size=batch_size)
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt) as caught:
        train(tree, X, y, settings=how)
    timer.join()
    assert isinstance(caught.value, TrainingInterrupted)
    result = caught.value.result
    assert result.status == "interrupted"
    assert (result.tree.parameters != tree.parameters).any()


@pytest.mark.parametrize("n_threads", [1, 2])
def test_training_lets_other_threads_run(n_threads, engine):
    # In a process of its own: if training held the GIL, nothing could end it but a signal that
    # needs no Python. There is no callback, which would hand over the GIL now and then.
    code = f"""
import os, signal, threading, time
import numpy as np
from bneuralt import NeuralTree, TrainingSettings, _core, train
_core.use_engine({engine!r})
signal.signal(signal.SIGINT, signal.default_int_handler)
rng = np.random.default_rng(0)
tree = NeuralTree.random(4, 3, output_activation="linear", random_state=0)
X, y = rng.normal(size=(2000, 4)), rng.integers(0, 3, 2000)
ticks = 0
def count():
    global ticks
    while True:
        time.sleep(0.001)
        ticks += 1
        if ticks == 300:
            os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=count, daemon=True).start()
try:
    train(tree, X, y, settings=TrainingSettings(max_epochs=10**7), n_threads={n_threads})
except KeyboardInterrupt:
    print("ticks", ticks >= 300)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "ticks True\n", done.stderr


# -- bad input -------------------------------------------------------------------------------


@pytest.fixture
def small():
    rng = np.random.default_rng(0)
    tree = draw_tree(rng, 3, n_inputs=4)
    return tree, *draw_rows(rng, tree, 20)


def test_wrong_number_of_features(small):
    tree, X, y = small
    with pytest.raises(ValueError, match="X has 3 features, but the tree has 4 inputs"):
        tree.forward(X[:, :3])
    with pytest.raises(ValueError, match="3 features"):
        train(tree, X[:, :3], y, settings=TrainingSettings())


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_that_are_not_finite_are_named(small, bad, dtype):
    tree, X, y = small
    X = X.astype(dtype)
    X[7, 2] = bad
    with pytest.raises(ValueError, match="row 7, column 2"):
        tree.forward(X)
    with pytest.raises(ValueError, match="row 0, column 2"):
        tree.forward(X[7])
    with pytest.raises(ValueError, match=r"X has the value .* in row 7, column 2"):
        train(tree, X, y, settings=TrainingSettings())
    with pytest.raises(ValueError, match=r"X_val has the value .* in row 7, column 2"):
        train(tree, np.abs(X[:5]), y[:5], settings=TrainingSettings(), validation=(X, y))


def test_values_too_large_for_float32_are_named(small):
    tree, X, _ = small
    X[3, 1] = 1e300
    with pytest.raises(ValueError, match=r"row 3, column 1, too large for float32"):
        tree.astype(np.float32).forward(X)
    assert np.isfinite(tree.forward(X)).all()


def test_empty_arrays(small):
    tree, X, y = small
    assert tree.forward(X[:0]).shape == (0, 3)
    with pytest.raises(ValueError, match="X has no rows"):
        train(tree, X[:0], y[:0], settings=TrainingSettings())
    with pytest.raises(ValueError, match="selection needs validation rows"):
        train(tree, X, y, settings=TrainingSettings(select="epoch"))


def test_labels_out_of_range(small):
    tree, X, y = small
    y[5] = 3
    with pytest.raises(ValueError, match=r"y\[5\] is 3, but classes run from 0 to 2"):
        train(tree, X, y, settings=TrainingSettings())
    with pytest.raises(ValueError, match=r"y_val\[5\] is 3, but classes run from 0 to 2"):
        train(tree, X, y % 3, settings=TrainingSettings(), validation=(X, y))
    y[5] = 2**32  # 0 as a 32-bit number
    with pytest.raises(ValueError, match=r"y\[5\] is 4294967296, but classes run from 0 to 2"):
        train(tree, X, y, settings=TrainingSettings())
    with pytest.raises(TypeError, match="class numbers"):
        train(tree, X, y + 0.5, settings=TrainingSettings())
    y[5] = 0
    with pytest.raises(ValueError, match="19 entries, X has 20 rows"):
        train(tree, X, y[1:], settings=TrainingSettings())


def test_arrays_of_any_layout_and_dtype_give_the_same(small):
    tree, X, _ = small
    expected = tree.forward(X)
    np.testing.assert_array_equal(tree.forward(np.asfortranarray(X)), expected)
    np.testing.assert_array_equal(tree.forward(np.repeat(X, 2, axis=0)[::2]), expected)
    np.testing.assert_array_equal(tree.forward(X.tolist()), expected)
    np.testing.assert_array_equal(tree.forward(X.astype(">f8")), expected)
    ints = (X * 10).astype(int)
    np.testing.assert_array_equal(tree.forward(ints), tree.forward(ints.astype(float)))
    read_only = X.copy()
    read_only.flags.writeable = False
    np.testing.assert_array_equal(tree.forward(read_only), expected)
    with pytest.raises((TypeError, ValueError), match="number"):
        tree.forward([["a", "b", "c", "d"]])


def test_weights_must_not_be_negative(small):
    tree, X, y = small
    weight = np.ones(20)
    weight[4] = -1
    with pytest.raises(ValueError, match=r"sample_weight\[4\] is -1"):
        train(tree, X, y, settings=TrainingSettings(), sample_weight=weight)


def test_cross_entropy_needs_linear_outputs():
    tree = draw_tree(np.random.default_rng(0), 3, output="sigmoid", n_inputs=4)
    with pytest.raises(ValueError, match="cross_entropy"):
        gradient(tree, np.ones((2, 4)), [0, 1])


def test_unknown_instruction_set():
    with pytest.raises(ValueError, match="no instruction set 'mmx'"):
        _core.use_engine("mmx")


def test_importing_is_light():
    code = (
        "import sys, bneuralt; bneuralt.NeuralTree; "
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'sklearn', 'scipy', 'matplotlib', "
        "'pandas', 'joblib'}))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


@given(seed=seeds, n_outputs=st.integers(2, 12), n_rows=st.sampled_from([1, 5, 40, 100]))
def test_probabilities_are_the_softmax_of_the_outputs(seed, n_outputs, n_rows):
    rng = np.random.default_rng(seed)
    tree = draw_tree(rng, n_outputs)
    X, _ = draw_rows(rng, tree, n_rows)
    out = tree.forward(X)
    expected = np.exp(out - out.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(tree.probabilities(X), expected, rtol=1e-12, atol=1e-15)


def test_a_callback_sees_the_tree_of_its_epoch():
    rng = np.random.default_rng(2)
    tree = draw_tree(rng, 3)
    X, y = draw_rows(rng, tree, 64)
    trees = []
    how = TrainingSettings(max_epochs=3, schedule="constant")
    last = train(tree, X, y, settings=how, callback=lambda state: trees.append(state.tree)).tree
    assert [t == last for t in trees] == [False, False, True]
    fewer = TrainingSettings(max_epochs=2, schedule="constant")
    assert train(tree, X, y, settings=fewer).tree == trees[1]
