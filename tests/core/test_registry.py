"""Every registered activation, loss and optimizer: twin, gradient, trajectory, documentation.

The tests are parametrised over what the compiled core registers, so that a new entry is tested as
soon as it is there, and fails where its twin in `reference` or its documentation is missing.
"""

from __future__ import annotations

import copy
import math
import pickle
import re
import zlib
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone

from bneuralt import BNeuralTClassifier, NeuralTree, TrainingSettings, _core, train
from bneuralt.training import epoch_order, gradient, losses, optimizers
from bneuralt.tree import activations
from tests import reference
from tests.helpers.paths import DOCS
from tests.helpers.strategies import draw_activation, draw_parameter, draw_targets

ENTRIES = {
    "activation": {entry.name: entry for entry in _core.activations()},
    "loss": {entry.name: entry for entry in _core.losses()},
    "optimizer": {entry.name: entry for entry in _core.optimizers()},
}
ALL = [(kind, name) for kind, entries in ENTRIES.items() for name in entries]
PARAMETRISED = [(kind, name) for kind, name in ALL if ENTRIES[kind][name].parameters]
CLASSES = {
    "activation": activations.ACTIVATIONS,
    "loss": losses.LOSSES,
    "optimizer": optimizers.OPTIMIZERS,
}
GET = {
    "activation": activations.get_activation,
    "loss": losses.get_loss,
    "optimizer": optimizers.get_optimizer,
}
every_entry = pytest.mark.parametrize(("kind", "name"), ALL)
every_activation = pytest.mark.parametrize("name", ENTRIES["activation"])
every_loss = pytest.mark.parametrize("name", ENTRIES["loss"])
every_optimizer = pytest.mark.parametrize("name", ENTRIES["optimizer"])


def generator(*key):
    """A random generator for a test case, the same in every run."""
    return np.random.default_rng(zlib.crc32(repr(key).encode()))


# -- twins and documentation -----------------------------------------------------------------


def test_every_entry_has_a_twin():
    names = set(ENTRIES["activation"])
    parametrised = {name for name, entry in ENTRIES["activation"].items() if entry.parameters}
    assert set(reference.VALUE) == set(reference.SLOPE) == names
    assert set(reference.PARAMETER_SLOPES) == parametrised
    assert set(reference.LOSS) == set(reference.LOSS_GRADIENT) == set(ENTRIES["loss"])
    assert set(reference.RULE) == set(ENTRIES["optimizer"])


def test_codes_of_activations_never_change():
    # pickled trees hold codes: new activations go to the end
    assert activations.NAMES[:10] == (
        "linear", "sigmoid", "tanh", "relu", "leaky_relu", "gaussian", "linear_sigmoid",
        "linear_tanh", "bipolar", "unipolar",
    )  # fmt: skip


@every_entry
def test_entries_are_documented(kind, name):
    entry, cls = ENTRIES[kind][name], CLASSES[kind][name]
    assert entry.about.strip()
    assert cls.__doc__.lower().startswith(entry.about.lower().rstrip("."))
    for parameter in entry.parameters:
        assert f"\n{parameter.name} : " in cls.__doc__
    page = DOCS / ("format.md" if kind == "activation" else "training.md")
    assert re.search(rf"\b{name}\b", page.read_text()), f"{page.name} does not mention {name!r}"


@every_entry
def test_classes_can_be_imported_by_their_names(kind, name):
    cls = CLASSES[kind][name]
    module = {"activation": activations, "loss": losses, "optimizer": optimizers}[kind]
    assert getattr(module, cls.__name__) is cls
    assert (cls.__name__, cls.__module__) == (ENTRIES[kind][name].title, module.__name__)


# -- objects are values ----------------------------------------------------------------------


def draw_values(rng, entry):
    """Values for all parameters, other than their defaults."""
    return tuple(
        tuple(draw_parameter(rng, parameter) for _ in range(3))
        if parameter.is_list
        else draw_parameter(rng, parameter)
        for parameter in entry.parameters
    )


@every_entry
def test_objects_are_values(kind, name):
    cls, entry = CLASSES[kind][name], ENTRIES[kind][name]
    values = draw_values(generator(kind, name), entry)
    one, same, default = cls(*values), cls(*values), cls()
    assert one == same and hash(one) == hash(same)
    assert (one == default) is (not values)
    assert one != "something else"
    assert len({one, same, default}) == 1 + bool(values)
    for twin in (
        eval(repr(one), {cls.__name__: cls}),
        pickle.loads(pickle.dumps(one)),
        copy.copy(one),
        copy.deepcopy(one),
        GET[kind](one),
        GET[kind](one.to_dict()),
        cls(**dict(zip((p.name for p in entry.parameters), values, strict=True))),
    ):
        assert twin == one and type(twin) is cls
    assert GET[kind](name) == default
    for parameter, value in zip(entry.parameters, values, strict=True):
        assert getattr(one, parameter.name) == value
        with pytest.raises(AttributeError, match="do not change"):
            setattr(one, parameter.name, value)
    with pytest.raises(AttributeError, match="no attribute 'missing'"):
        _ = one.missing
    if kind != "loss":
        name = f"{'growth' if kind == 'activation' else 'training'}__{kind}"
        model = clone(BNeuralTClassifier().set_params(**{name: one}))
        assert model.get_params()[name] == one


WRONG = {
    "any": [math.nan, math.inf, -math.inf, "x", "0.5", None, [1.0, 2.0]],
    "nonzero": [0.0, math.nan, "x"],
    "positive": [0.0, -1.0, math.inf, "x"],
    "fraction": [-0.1, 1.0, 2.0, math.nan, "x"],
    "probability": [0.0, 1.0, -1.0, math.nan, "x"],
}


@pytest.mark.parametrize(("kind", "name"), PARAMETRISED)
def test_values_out_of_range_are_refused(kind, name):
    cls, entry = CLASSES[kind][name], ENTRIES[kind][name]
    for parameter in entry.parameters:
        for value in WRONG[parameter.range]:
            message = f"{cls.__name__}: {parameter.name}={value!r} is not "
            with pytest.raises(ValueError, match="^" + re.escape(message)):
                cls(**{parameter.name: [value] if parameter.is_list else value})
        if parameter.is_list:
            with pytest.raises(ValueError, match=f"{cls.__name__}: {parameter.name} is empty"):
                cls([])


@every_entry
def test_unknown_parameters_are_refused(kind, name):
    cls, entry = CLASSES[kind][name], ENTRIES[kind][name]
    with pytest.raises(TypeError, match=rf"{cls.__name__} has no parameter 'missing'"):
        cls(missing=1.0)
    with pytest.raises(TypeError, match=rf"{cls.__name__} takes {len(entry.parameters)} param"):
        cls(*[0.5] * (len(entry.parameters) + 1))
    if entry.parameters:
        first = entry.parameters[0].name
        with pytest.raises(TypeError, match=f"no parameter '{first}' left"):
            cls(0.5, **{first: 0.5})


@pytest.mark.parametrize("kind", ENTRIES)
def test_unknown_names_are_refused(kind):
    for wrong in ("nothing", None, 3, {"name": "nothing"}, {}, CLASSES[kind]):
        with pytest.raises(ValueError, match=rf"{kind}=.* is not known: choose one of \w+, \w+"):
            GET[kind](wrong)


# -- activations -----------------------------------------------------------------------------

#: Weighted sums on both sides of 0, near and far, where the slopes are continuous.
SUMS = np.array([-30.0, -6.0, -2.3, -0.7, -0.1, -1e-3, 1e-3, 0.2, 0.9, 2.5, 6.0, 30.0])
EXTREMES = np.array([-1e4, -750.0, -88.0, -1e-30, 0.0, 1e-30, 88.0, 750.0, 1e4])


def parameter_vectors(name):
    """The default parameters of an activation, and some others of both signs."""
    rng = generator("activation", name)
    drawn = [draw_activation(rng, name).numbers for _ in range(6)]
    return [
        GET["activation"](name).numbers,
        *(drawn if ENTRIES["activation"][name].parameters else []),
    ]


def slope_between(function, at, step=1e-6):
    """The slope of a function by the central difference of fourth order."""
    near = (function(at + step) - function(at - step)) / (2 * step)
    far = (function(at + 2 * step) - function(at - 2 * step)) / (4 * step)
    return (4 * near - far) / 3


@every_activation
def test_slopes_of_the_twin_match_central_differences(name):
    value = reference.VALUE[name]
    for phi in parameter_vectors(name):
        for z in SUMS.tolist():
            expected = slope_between(lambda z: value(z, *phi), z, 1e-5)  # noqa: B023
            assert reference.SLOPE[name](z, *phi) == pytest.approx(expected, rel=1e-7, abs=1e-9)
            if not phi:
                continue
            for i, slope in enumerate(reference.PARAMETER_SLOPES[name](z, *phi)):
                expected = slope_between(
                    lambda p: value(z, *phi[:i], p, *phi[i + 1 :]),  # noqa: B023
                    phi[i],
                    1e-5,
                )
                assert slope == pytest.approx(expected, rel=1e-7, abs=1e-9)


def single_node(name, phi, trained, dtype):
    """A tree whose only node computes `activation(x)`."""
    parameters = np.array([0.0, 1.0, *(phi if trained else [])], dtype=dtype)
    code = activations.NAMES.index(name)
    return NeuralTree(1, 1, [-1], [code], [0], [0], parameters, phi, trained)


#: Relative error, and absolute error in units of the largest number, that rounding explains.
TOLERANCES = [(np.float64, 1e-12, 1e-14), (np.float32, 1e-5, 2e-6)]
by_dtype = pytest.mark.parametrize(
    ("dtype", "rtol", "atol"), TOLERANCES, ids=["float64", "float32"]
)


@every_activation
@by_dtype
def test_compiled_values_are_those_of_the_twin(name, dtype, rtol, atol, engine):
    for phi in parameter_vectors(name):
        tree = single_node(name, phi, False, dtype)
        z = np.concatenate([SUMS, EXTREMES]).astype(dtype)
        phi = np.array(phi, dtype=dtype).tolist()  # as the tree sees them
        expected = np.array([reference.VALUE[name](float(x), *phi) for x in z])
        scale = max(1.0, max(map(abs, phi), default=1.0))
        # one row, and blocks of rows, are different kernels
        alone = np.array([tree.forward(np.array([x])) for x in z])
        for outputs in (tree.forward(z[:, None]), alone):
            assert outputs.dtype == dtype
            np.testing.assert_allclose(outputs[:, 0], expected, rtol=rtol, atol=atol * scale)


@every_activation
@pytest.mark.parametrize("trained", [False, True])
@by_dtype
def test_compiled_slopes_are_those_of_the_twin(name, trained, dtype, rtol, atol, engine):
    for phi in parameter_vectors(name):
        tree = single_node(name, phi, trained and bool(phi), dtype)
        phi = np.array(phi, dtype=dtype).tolist()
        for z in SUMS.astype(dtype).tolist():
            # h - y is 1, so that the gradient consists of the slopes of the activation
            y = reference.VALUE[name](z, *phi) - 1.0
            slope = reference.SLOPE[name](z, *phi)
            expected = [slope, slope * z]
            if trained and phi:
                expected += reference.PARAMETER_SLOPES[name](z, *phi)
            _, slopes = gradient(tree, np.array([[z]], dtype), [y], loss="squared_error")
            largest = max(1.0, abs(z), *map(abs, phi))
            np.testing.assert_allclose(slopes, expected, rtol=rtol, atol=10 * atol * largest)


def nearest_kink(tree, X):
    """How far the weighted sums of the rows are from 0, where a slope may jump."""
    theta, sums = tree.parameters.astype(float).tolist(), []
    outputs = reference.build(tree)

    def visit(node):
        sums.append(abs(node.sum) if not node.is_leaf else math.inf)
        for child in node.children:
            visit(child)

    for x in X.tolist():
        for output in outputs:
            reference.forward_pass(output, theta, x)
            visit(output)
    return min(sums)


@cache
def trees_and_gradients(name, trained):
    """Trees of one activation, outputs included, with rows and the reference's gradient."""
    rng = generator("tree", name, trained)
    cases = []
    while len(cases) < 4:
        activation = draw_activation(rng, name)
        tree = NeuralTree.random(
            4, 2, 3, 4, 0.5, init_scale=1.0, activation=activation, output_activation=activation,
            train_activations=trained, max_size=40, random_state=rng,
        )  # fmt: skip
        tree = tree.with_parameters(tree.parameters.astype(np.float32).astype(np.float64))
        X = rng.normal(size=(40, 4)).astype(np.float32).astype(np.float64)
        y = rng.normal(size=(40, 2)).astype(np.float32).astype(np.float64)
        weight = rng.uniform(0.5, 1.5, 40).astype(np.float32).astype(np.float64)
        if nearest_kink(tree, X) < 1e-4:
            continue
        for n in (1, 7, 40):  # one row; part of a block; a full block and part of another
            rest = (X[:n], y[:n], "squared_error", weight[:n])
            expected = reference.batch_loss(tree, *rest), reference.batch_gradient(tree, *rest)
            cases.append((tree, *rest, expected))
    return cases


@every_activation
@pytest.mark.parametrize("trained", [False, True])
@by_dtype
def test_compiled_gradient_of_a_tree_is_the_reference(name, trained, dtype, rtol, atol, engine):
    for tree, X, y, loss, weight, (value, expected) in trees_and_gradients(name, trained):
        loss_and_slopes = gradient(tree.astype(dtype), X, y, loss=loss, sample_weight=weight)
        scale = max(1.0, np.abs(expected).max())
        assert loss_and_slopes[0] == pytest.approx(value, rel=100 * rtol)
        np.testing.assert_allclose(
            loss_and_slopes[1], expected, rtol=100 * rtol, atol=100 * atol * scale
        )


# -- losses ----------------------------------------------------------------------------------


def loss_objects(name):
    """A loss with its default parameters and with others, each with a number of outputs."""
    entry, cls, rng = ENTRIES["loss"][name], CLASSES["loss"][name], generator("loss", name)
    if any(parameter.is_list for parameter in entry.parameters):
        return [(cls(), 1), *((cls([draw_parameter(rng, entry.parameters[0]) for _ in range(k)]), k)
                              for k in (2, 5))]  # fmt: skip
    several = (2, 5) if entry.compares == "labels" else (1, 2, 5)
    objects = [cls()]
    if entry.parameters:
        objects += [cls(*draw_values(rng, entry)) for _ in range(3)]
    return [(loss, k) for loss in objects for k in several]


def outputs_as_inputs(n_outputs, dtype):
    """A tree whose outputs are its inputs: a loss can be looked at by itself."""
    k = n_outputs
    parameters = np.concatenate([np.zeros(k), np.ones(k)]).astype(dtype)
    return NeuralTree(k, k, [-1] * k, [0] * k, np.arange(k), np.arange(k), parameters)


@every_loss
@by_dtype
@pytest.mark.parametrize("n_rows", [1, 5, 40])
def test_compiled_losses_are_those_of_the_twin(name, dtype, rtol, atol, n_rows, engine):
    rng = generator("rows", name, n_rows)
    for loss, k in loss_objects(name):
        for spread in (1.0, 8.0):
            tree = outputs_as_inputs(k, dtype)
            outputs = rng.normal(scale=spread, size=(n_rows, k)).astype(dtype)
            y = draw_targets(rng, loss, k, n_rows)
            if y.dtype.kind == "f":
                y = y.astype(dtype).astype(np.float64)
            weight = rng.uniform(0, 2, n_rows).astype(dtype).astype(np.float64)
            rows = reference.examples(tree, outputs, y, loss, weight)
            numbers = [float(dtype(number)) for number in loss.numbers]
            value = np.mean([w * reference.LOSS[name](o, t, *numbers) for o, t, w in rows])
            slopes = np.mean(
                [w * np.array(reference.LOSS_GRADIENT[name](o, t, *numbers)) for o, t, w in rows],
                axis=0,
            )
            loss_value, g = gradient(tree, outputs, y, loss=loss, sample_weight=weight)
            largest = max(1.0, np.abs(slopes).max(), abs(value))
            assert loss_value == pytest.approx(value, rel=10 * rtol, abs=10 * atol * largest)
            np.testing.assert_allclose(g[:k], slopes, rtol=rtol, atol=10 * atol * largest)


@every_loss
def test_gradients_of_losses_match_central_differences(name, engine):
    rng = generator("differences", name)
    for loss, k in loss_objects(name):
        tree = outputs_as_inputs(k, np.float64)
        outputs, y = rng.normal(size=(3, k)), draw_targets(rng, loss, k, 3)
        for row in range(3):
            X, target = outputs[row : row + 1], y[row : row + 1]
            _, slopes = gradient(tree, X, target, loss=loss)
            for j in range(k):

                def shifted(by, j=j, X=X, target=target, tree=tree, loss=loss):
                    parameters = tree.parameters.copy()
                    parameters[j] += by
                    return gradient(tree.with_parameters(parameters), X, target, loss=loss)[0]

                numeric = slope_between(shifted, 0.0, 1e-5)
                assert slopes[j] == pytest.approx(numeric, rel=1e-7, abs=1e-9)


@every_loss
def test_training_reports_the_loss(name, engine):
    rng = generator("history", name)
    for loss, k in loss_objects(name):
        tree = outputs_as_inputs(k, np.float64)
        X, y = rng.normal(size=(33, k)), draw_targets(rng, loss, k, 33)
        X_val, y_val = rng.normal(size=(20, k)), draw_targets(rng, loss, k, 20)
        if y.dtype.kind != y_val.dtype.kind:
            continue
        how = TrainingSettings(
            loss=loss, optimizer="gd", learning_rate=1e-3, batch_size=None, max_epochs=2
        )
        result = train(tree, X, y, settings=how, validation=(X_val, y_val))
        value = reference.batch_loss(tree, X, y, loss)
        assert result.history["train_loss"][0] == pytest.approx(value, rel=1e-11)
        value = reference.batch_loss(result.tree, X_val, y_val, loss)
        assert result.history["val_loss"][1] == pytest.approx(value, rel=1e-11)
        assert result.history["train_loss"][1] < result.history["train_loss"][0]


# -- optimizers ------------------------------------------------------------------------------

N_UPDATES = 200


@cache
def trajectory(name, case, batch_size):
    """A training problem, and where the reference ends after 200 updates."""
    rng = generator("optimizer", name, case, batch_size)
    optimizer = CLASSES["optimizer"][name](
        *(draw_values(rng, ENTRIES["optimizer"][name]) if case == "drawn" else ())
    )
    tree = NeuralTree.random(
        3, 2, 3, 3, 0.6, activation=["tanh", "sigmoid", "bipolar"], output_activation="linear",
        train_activations=True, max_size=25, init_scale=1.0, random_state=rng,
    )  # fmt: skip
    n_rows = 20
    X, y = rng.normal(size=(n_rows, 3)), rng.integers(0, 2, n_rows)
    options = {"loss": "cross_entropy", "optimizer": optimizer, "learning_rate": 0.005,
               "batch_size": batch_size, "schedule": "constant"}  # fmt: skip
    weight = None
    if case == "everything":
        weight = rng.uniform(0.5, 1.5, n_rows)
        options |= {"weight_decay": 0.5, "clip_norm": 0.3, "schedule": "cosine"}
    n_epochs = N_UPDATES * batch_size // n_rows
    order = [epoch_order(7, epoch, n_rows).tolist() for epoch in range(n_epochs)]
    expected = reference.train(tree, X, y, order=order, sample_weight=weight, **options)
    how = TrainingSettings(**options, max_epochs=n_epochs)
    return tree, X, y, weight, how, expected.parameters


@every_optimizer
@pytest.mark.parametrize("case", ["default", "drawn", "everything"])
@pytest.mark.parametrize("batch_size", [1, 4], ids=["online", "batch"])
def test_two_hundred_updates_are_those_of_the_twin(name, case, batch_size, engine):
    tree, X, y, weight, how, expected = trajectory(name, case, batch_size)
    result = train(tree, X, y, settings=how, seed=7, sample_weight=weight)
    assert result.optimizer_state.step == N_UPDATES
    assert result.optimizer_state.values.size == how.optimizer.n_state * tree.n_parameters
    assert np.abs(expected - tree.parameters).max() > 1e-2  # there is something to compare
    np.testing.assert_allclose(result.tree.parameters, expected, rtol=1e-10, atol=1e-10)


@every_optimizer
def test_training_in_two_calls_is_training_in_one(name, engine):
    tree, X, y, _, how, _ = trajectory(name, "drawn", 4)
    one_epoch = how.set_params(batch_size=None, max_epochs=1)  # the order of rows does not matter
    at_once = train(tree, X, y, settings=one_epoch.set_params(max_epochs=30)).tree
    state = None
    for _ in range(30):
        result = train(tree, X, y, settings=one_epoch, optimizer_state=state)
        tree, state = result.tree, result.optimizer_state
    np.testing.assert_allclose(tree.parameters, at_once.parameters, rtol=1e-11, atol=1e-11)
