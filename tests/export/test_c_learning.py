"""C code that goes on learning: its updates are those of the engine."""

import ctypes
import math
import shutil
import subprocess

import numpy as np
import pytest

from benchmarks.learning_devices import measure_learning
from bneuralt import (
    BNeuralForestClassifier,
    BNeuralTClassifier,
    BNeuralTRegressor,
    Growth,
    NeuralTree,
)
from bneuralt.export.c import c_files
from bneuralt.export.c.line_inputs import line_of
from bneuralt.export.c.update_code import learning_rule
from bneuralt.expressions import NUMBER, OUTPUTS, evaluate, if_missing, maximum, minimum
from bneuralt.model import Model
from bneuralt.model.scaling import Scaling
from bneuralt.tables.bends import Ramp
from bneuralt.tables.columns import Column
from bneuralt.tables.encoder import TableEncoder
from bneuralt.tables.features import NumberFeature
from bneuralt.training.losses import LOSSES, CrossEntropy
from bneuralt.training.optimizers import Adam, RMSprop
from bneuralt.tree.activations import ACTIVATIONS
from tests.helpers.c_programs import COMPILERS, FLAGS, SANITIZE
from tests.helpers.learners import Learner, order_of, random_learner
from tests.helpers.tables import IRIS
from tests.reference import gradient
from tests.tools.compare_learning import TOLERANCE, complaints

needs_gcc = pytest.mark.skipif("gcc" not in COMPILERS, reason="gcc is not installed")
pytestmark = needs_gcc


@pytest.fixture(scope="module")
def iris():
    X, y = IRIS
    return BNeuralTClassifier(n_weights=50, max_epochs=5, random_state=0).fit(X, y)


@pytest.mark.parametrize("rule", ["sgd", "rmsprop"])
@pytest.mark.parametrize("dtype", ["double", "float"])
def test_updates_are_those_of_the_engine(dtype, rule, tmp_path):
    """1,000 updates of models of all tasks; `make export-c` does the same with 100 models."""
    compiler = COMPILERS[-1] if rule == "sgd" else "gcc"
    assert complaints(tmp_path, range(10), dtype, rule, compiler) == []


@pytest.mark.parametrize("dtype", ["double", "float"])
def test_updates_pass_the_sanitizers(dtype, tmp_path):
    assert complaints(tmp_path, range(10, 16), dtype, "rmsprop", "gcc", (*SANITIZE, "-O1")) == []


def test_random_models_have_all_losses_and_activations():
    """Those of `make export-c`."""
    learners = [random_learner(seed, "double", n_updates=1) for seed in range(100)]
    codes = np.concatenate([learner.learning.tree.activation for learner in learners])
    assert set(codes.tolist()) == set(range(len(ACTIVATIONS)))
    assert {learner.learning.loss.name for learner in learners} == set(LOSSES)
    assert any(learner.learning.signs is not None for learner in learners)
    assert any(learner.learning.tree.trains_activations for learner in learners)


# -- a library that Python calls ------------------------------------------------------------


class Library:
    """The functions of a model of one tree, compiled; rows and numbers are doubles."""

    def __init__(self, folder, model, learning="sgd", **options):
        model.to_c(folder / "m.c", learning=learning, **options)
        command = ["gcc", *FLAGS, "-shared", "-fPIC", "m.c", "-o", "m.so", "-lm"]
        subprocess.run(command, cwd=folder, check=True)
        library = ctypes.CDLL(folder / "m.so")
        self.library, is_class = library, model.model_.task == "classes"
        number = ctypes.c_int if is_class else ctypes.c_double
        library.m_predict.restype = number
        library.m_weights.restype = ctypes.POINTER(ctypes.c_double)
        library.m_update.argtypes = [ctypes.c_void_p, number, ctypes.c_double]
        library.m_refused.restype = ctypes.c_ulong
        text = (folder / "m.h").read_text()
        n = int(text.partition("_N_WEIGHTS ")[2].split()[0])
        self.weights = np.ctypeslib.as_array(library.m_weights(), (n,))

    def predict(self, row):
        """The class or number."""
        return self.library.m_predict(np.asarray(row, dtype=np.float64).ctypes)

    def update(self, row, target, rate=0.01):
        """Whether the update was accepted."""
        return self.library.m_update(np.ascontiguousarray(row, np.float64).ctypes, target, rate)

    @property
    def n_refused(self):
        """How many updates were refused."""
        return self.library.m_refused()


def test_predictions_follow_the_weights(tmp_path):
    """Before updates they are those of the model, after them those of the tree of the engine."""
    learner = Learner(*_regression())
    library = Library(tmp_path, learner.estimator)
    X = learner.rows
    expected = learner.estimator.predict(X)
    assert np.allclose([library.predict(row) for row in X], expected, rtol=1e-9)
    for i in learner.order:
        assert library.update(X[i], learner.target[i], learner.rate) == 1
    weights = learner.engine_weights("sgd")
    np.testing.assert_allclose(library.weights, weights, atol=1e-12)
    learning = learner.learning
    offset, factor = learning.inputs
    inputs = (learner.estimator.encoder_.encode(X) - offset) * factor
    outputs = learning.tree.astype(float).with_parameters(weights).forward(inputs)
    values = outputs[:, 0] / learning.targets[1] + learning.targets[0]
    assert np.allclose([library.predict(row) for row in X], values, rtol=1e-9)
    assert np.abs(values - expected).max() > 1e-3


def _regression():
    rng = np.random.default_rng(0)
    X = rng.normal(3.0, 2.0, (60, 3))
    y = X[:, 0] - X[:, 1] * X[:, 2]
    model = BNeuralTRegressor(n_weights=40, max_epochs=3, dtype="float64", random_state=0)
    return model.fit(X, y), X, y, order_of(1, 60, 200), 0.01, 0.0, 1


def test_weights_can_be_stored_and_restored(iris, tmp_path):
    X, y = IRIS
    library = Library(tmp_path, iris)
    stored, before = library.weights.copy(), [library.predict(row) for row in X]
    for row, label in zip(X, (y + 1) % 3, strict=True):
        library.update(row, label, 0.1)
    assert [library.predict(row) for row in X] != before
    library.weights[:] = stored
    assert [library.predict(row) for row in X] == before == iris.predict(X).tolist()


@pytest.mark.parametrize("learning", ["sgd", "rmsprop"])
def test_refused_updates_change_nothing(learning, tmp_path):
    """Numbers without limits can be too large."""
    X, y = IRIS
    options = {"n_weights": 50, "max_epochs": 5, "scale": "standard", "ramps": 0}
    model = BNeuralTClassifier(**options, random_state=0).fit(X, y)
    library = Library(tmp_path, model, learning)
    before = library.weights.copy()
    huge = X[0] * 1e300
    refused = [
        (X[0], 3, 0.01),
        (X[0], -1, 0.01),
        (X[0] * np.inf, 0, 0.01),
        (X[0], 0, np.nan),
        (X[0], 0, np.inf),
        (X[0], 0, -0.01),
        (huge, 0, 0.01),
    ]
    for n, (row, target, rate) in enumerate(refused, start=1):
        assert library.update(row, target, rate) == 0
        assert library.n_refused == n
        assert np.array_equal(library.weights, before)
    assert library.update(X[0] * np.nan, 0) == 1  # a missing value has a replacement
    assert not np.array_equal(library.weights, before)


def test_numbers_beyond_the_limits_are_learnt_as_the_limits(iris, tmp_path):
    X, _ = IRIS
    assert all(feature.limits is not None for feature in iris.encoder_.features)
    library = Library(tmp_path, iris)
    start, learnt = library.weights.copy(), []
    for row in (X[0] * 1e3, X[0] * 1e300, X[0] * np.inf):
        library.weights[:] = start
        assert library.update(row, 0) == 1
        learnt.append(library.weights.copy())
    assert not np.array_equal(learnt[0], start)
    np.testing.assert_array_equal(learnt[1:], learnt[:1] * 2)


def test_a_target_that_is_no_number_is_refused(tmp_path):
    X = np.arange(20.0)[:, np.newaxis]
    for loss, bad in (("absolute_error", [np.nan, np.inf]), ("poisson", [-1.0, np.nan])):
        folder = tmp_path / loss
        folder.mkdir()
        model = BNeuralTRegressor(loss=loss, n_weights=10, max_epochs=1, random_state=0)
        library = Library(folder, model.fit(X, X[:, 0]))
        before = library.weights.copy()
        assert [library.update(X[3], target) for target in bad] == [0, 0]
        assert np.array_equal(library.weights, before)
        assert library.update(X[3], 4.0) == 1


@pytest.mark.parametrize("learning", ["sgd", "rmsprop"])
def test_weights_stay_finite_whatever_is_learnt(learning, tmp_path):
    """Rates far too large end in refused updates, not in weights that are lost."""
    model = BNeuralTRegressor(
        n_weights=30, max_epochs=1, growth=Growth(activation="relu"), random_state=0
    )
    X = np.random.default_rng(0).normal(size=(50, 3))
    library = Library(tmp_path, model.fit(X, X[:, 0]), learning)
    for i in range(2000):
        library.update(X[i % 50] * 100, 1e6, 1e3)
    assert library.n_refused > 0 or learning == "rmsprop"
    assert np.isfinite(library.weights).all()


@pytest.mark.parametrize("learns", ["outputs", "biases"])
@pytest.mark.parametrize("trains", [False, True])
def test_a_part_of_the_weights_learns(learns, trains, tmp_path):
    """Updates are those of the reference, restricted to these weights; RMSprop has its state."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 3, 40)
    growth = Growth(activation=["tanh", "gaussian"], train_activations=trains)
    model = BNeuralTClassifier(
        n_weights=40, max_epochs=2, dtype="float64", growth=growth, random_state=2
    ).fit(X, y)
    library = Library(tmp_path, model, RMSprop(beta=0.8), learns=learns)
    tree, (offset, factor) = model.model_.learning.tree, model.model_.learning.inputs
    moves = _moving(tree, learns)
    assert library.weights.size == np.count_nonzero(moves) < tree.n_parameters
    square = np.zeros(tree.n_parameters)
    inputs = (model.encoder_.encode(X) - offset) * factor
    for row, x, label in zip(X, inputs, y, strict=True):
        assert library.update(row, label, 0.01) == 1
        g = gradient(tree, x, label, "cross_entropy") * moves
        square = 0.8 * square + 0.2 * g**2
        tree = tree.with_parameters(tree.parameters - 0.01 * g / np.sqrt(square + 1e-8))
    np.testing.assert_allclose(library.weights, tree.parameters[moves], atol=1e-12)


def _moving(tree, learns):
    """Which weights learn."""
    n, k = tree.parent.size, tree.n_outputs
    nodes = np.arange(n) < (k if learns == "outputs" else n)
    edges = (tree.parent[k:] < k) & (learns == "outputs")
    leaves = (tree.leaf_parent < k) & (learns == "outputs")
    rest = np.zeros(tree.n_parameters - 2 * n + k - leaves.size, dtype=bool)  # linear outputs
    return np.concatenate([nodes, edges, leaves, rest])


# -- files ---------------------------------------------------------------------------------


def test_the_header_compiles_alone_in_c_and_cpp(iris, tmp_path):
    iris.to_c(tmp_path / "m.h", learning="rmsprop", dtype="float", libm=False)
    text = (tmp_path / "m.h").read_text()
    assert "math.h" not in text and "malloc" not in text
    (tmp_path / "m.cpp").write_text(
        '#include "m.h"\nint main() { float x[4] = {1, 2, 3, 4}; return !m_update(x, 1, 0.1f); }\n'
    )
    shutil.copy(tmp_path / "m.cpp", tmp_path / "p.c")
    (tmp_path / "p.c").write_text((tmp_path / "p.c").read_text().replace("main()", "main(void)"))
    subprocess.run(["gcc", *FLAGS, "p.c", "-o", "p"], cwd=tmp_path, check=True)
    subprocess.run(["./p"], cwd=tmp_path, check=True)
    if shutil.which("g++"):
        flags = ["-Wall", "-Wextra", "-Werror", "-std=c++11"]
        subprocess.run(["g++", *flags, "m.cpp", "-o", "q"], cwd=tmp_path, check=True)
        subprocess.run(["./q"], cwd=tmp_path, check=True)


def test_what_cannot_learn_is_refused(iris, tmp_path):
    X, y = IRIS
    path = tmp_path / "m.h"
    forest = BNeuralForestClassifier(n_estimators=2, n_weights=20, max_epochs=1).fit(X, y)
    for message, call in {
        "dtype='int8' has whole numbers": lambda: iris.to_c(path, dtype="int8", learning="sgd"),
        "style='code'": lambda: iris.to_c(path, style="code", learning="sgd"),
        "contributions are for": lambda: iris.to_c(path, contributions=True, learning="sgd"),
        "learning='adam' must be 'sgd' or": lambda: iris.to_c(path, learning="adam"),
        "learning=Adam": lambda: iris.to_c(path, learning=Adam()),
        "learns='all of them'": lambda: iris.to_c(path, learning="sgd", learns="all of them"),
        "weight_decay=-1": lambda: iris.to_c(path, learning="sgd", weight_decay=-1),
        "learns='biases' is for code that learns": lambda: iris.to_c(path, learns="biases"),
        "weight_decay=0.1 is for code that": lambda: iris.to_c(path, weight_decay=0.1),
        "this BNeuralForestClassifier has 2": lambda: forest.to_c(path, learning="sgd"),
    }.items():
        with pytest.raises(ValueError, match=message):
            call()
    assert not path.exists()


# -- parts ---------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [2.0, -2.0])
def test_lines_are_their_expressions(factor):
    inner = (if_missing(NUMBER, 0.5) - 1.0) * factor
    x = np.linspace(-3, 3, 41)
    for expression in (
        NUMBER,
        inner,
        minimum(maximum(inner, -1.0), 2.0),
        3.0 - minimum(maximum(inner, -1.0), 2.0) / 2.0,
        maximum(1.0, NUMBER),
    ):
        line = line_of(expression)
        value = np.clip(line.offset + line.factor * x, line.low, line.high)
        assert np.allclose(value, evaluate(expression, {}, Column("number", x)))


@pytest.mark.parametrize("dtype", ["double", "float"])
def test_inputs_are_taken_from_their_expressions(dtype, tmp_path):
    """Some inputs have limits, some have none; both are scaled."""
    rng = np.random.default_rng(0)
    ramps = Ramp(-1.0, 0.5, 0.25), Ramp(0.5, 1.0, 0.5)
    columns = (
        NumberFeature(0.25, limits=(-1.0, 2.0), ramps=ramps),
        NumberFeature(3.0),
        NumberFeature(-0.5, ramps=ramps[:1]),
    )
    encoder = TableEncoder(columns)
    n = encoder.n_inputs
    tree = NeuralTree.random(n, 2, 3, 4, activation="tanh", n_weights=60, random_state=0)
    inputs = rng.normal(size=n), rng.uniform(0.5, 2.0, n)
    model = Model(
        "Ramps", encoder, (tree,), "classes", OUTPUTS,
        scaling=Scaling(*inputs), loss=CrossEntropy(), can_learn=True,
    )  # fmt: skip
    (folder := tmp_path / dtype).mkdir()
    for path, text in c_files(model, folder / "m.c", dtype=dtype, learning="sgd")[1].items():
        path.write_text(text)
    command = ["gcc", *FLAGS, "-shared", "-fPIC", "m.c", "-o", "m.so", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    library = ctypes.CDLL(folder / "m.so")
    X = rng.normal(size=(100, 3)).astype(np.float32)
    X[::7, 0] = np.nan
    cells = [Column("number", column.astype(np.float64)) for column in X.T]
    values = [
        np.broadcast_to(evaluate(entry.expression, {}, cells[encoder.groups[j]]), 100)
        for j, entry in enumerate(encoder.inputs)
    ]
    outputs = tree.forward((np.stack(values, axis=1) - inputs[0]) * inputs[1])
    real = np.dtype(np.float32 if dtype == "float" else np.float64)
    out = np.zeros(2, dtype=real)
    for row, expected in zip(X.astype(real), outputs, strict=True):
        library.m_predict_proba(np.ascontiguousarray(row).ctypes, out.ctypes)
        np.testing.assert_allclose(out, expected, atol=1e-5 if dtype == "float" else 1e-13)


def test_inputs_that_are_no_lines_are_recognised():
    assert line_of(NUMBER * NUMBER) is None
    assert line_of(NUMBER * 0.0) is None
    assert line_of(maximum(NUMBER, NUMBER + 1.0)) is None


# -- devices -------------------------------------------------------------------------------


def needs(*programs):
    absent = [program for program in programs if not shutil.which(program)]
    return pytest.mark.skipif(bool(absent), reason=f"not installed: {', '.join(absent)}")


needs_avr = needs("avr-gcc", "simavr")
needs_arm = needs("arm-none-eabi-gcc", "qemu-system-arm")


@pytest.mark.parametrize("rule", ["sgd", "rmsprop"])
@pytest.mark.parametrize(
    "device",
    [
        pytest.param("atmega328p", marks=needs_avr),
        pytest.param("cortex-m4", marks=needs_arm),
    ],
)
def test_devices_learn_what_the_engine_learns(device, rule):
    """1,000 updates of a small tree."""
    X, y = IRIS
    X = X.astype(np.float32).astype(np.float64)
    model = BNeuralTClassifier(n_weights=40, max_epochs=5, random_state=0).fit(X, y)
    rows, labels, order = X[::5], y[::5], order_of(0, 30, 1000)
    learner = Learner(model, rows, labels, order, float(np.float32(0.003)), 0.0, 0)
    costs = measure_learning(model, rows, labels, order, rule, device)
    assert costs.n_refused == 0
    assert learner.error(costs.learnt.astype(np.float64), rule) < TOLERANCE["float"]


@needs_avr
@pytest.mark.parametrize(("rule", "device"), [("sgd", "atmega328p"), ("rmsprop", "atmega1284p")])
def test_a_tree_of_300_weights_learns_in_4_kilobytes(rule, device):
    """Without ramps, each of which is an input, and a number in RAM."""
    X, y = IRIS
    model = BNeuralTClassifier(n_weights=300, max_epochs=2, ramps=0, random_state=2).fit(X, y)
    assert model.n_parameters_ > 295
    costs = measure_learning(model, X[::30], y[::30], np.arange(5), rule, device)
    limit = 4096 if rule == "sgd" else 4352  # code, tables and mathematical functions
    assert costs.flash < limit + 24 * (model.encoder_.n_inputs - X.shape[1])
    assert costs.ram + costs.stack < (2048 if rule == "sgd" else 4096)


@needs_arm
def test_the_same_on_cortex_m4():
    X, y = IRIS
    model = BNeuralTClassifier(n_weights=300, max_epochs=2, random_state=0).fit(X, y)
    costs = measure_learning(model, X[::30], y[::30], np.arange(5), "rmsprop", "cortex-m4")
    assert costs.flash < 4096


@pytest.mark.parametrize("weight_decay", ["0.1", None, True, [0.1], -0.1, math.inf, math.nan])
def test_a_decay_is_a_number(weight_decay):
    with pytest.raises(ValueError, match=r"weight_decay=.* must be a number that is not negative"):
        learning_rule("sgd", "all", weight_decay)
