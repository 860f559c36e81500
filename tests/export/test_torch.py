"""PyTorch modules compute what the models compute, can be trained, and go back."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from bneuralt import BNeuralTClassifier, BNeuralTRegressor, Growth, from_torch
from bneuralt.export.torch import to_torch
from bneuralt.expressions import evaluate, slope
from bneuralt.training import gradient
from bneuralt.tree.activations import NAMES
from tests.helpers.comparison import assert_same
from tests.helpers.expression_samples import CELL_EXPRESSIONS, NUMBERS, VECTORS, number_values
from tests.helpers.fitted_models import random_model
from tests.helpers.sample_models import (
    ALL_LINKS,
    model_with_activation,
    model_with_all_columns,
    model_with_cells,
    model_with_link,
    rows_of_cells,
)

torch = pytest.importorskip("torch", reason="torch is not installed (pip install bneuralt[torch])")
compute = pytest.importorskip("bneuralt.export.torch.functions").compute


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # other tests run beside this one
    yield
    torch.set_num_threads(before)


def check(seed, n_rows=100):
    """Compare one model with its module."""
    drawn = random_model(seed, n_rows)
    _, expected, model = drawn.expected
    module = drawn.model.to_torch(dtype=torch.float64)
    with torch.no_grad():
        outputs = module(module.encode(drawn.rows)).numpy()
    assert_same(outputs, expected, 1e-12, model, terms=drawn.terms)


@pytest.mark.parametrize("seed", range(32))
def test_torch_equals_the_model(seed):
    check(seed)


@pytest.mark.parametrize("seed", range(8))
def test_a_model_goes_to_torch_and_back(seed):
    model = random_model(seed).model
    back = from_torch(model.to_torch())
    assert back is not model and type(back) is type(model)
    for tree, other in zip(model._trees, back._trees, strict=True):
        assert tree == other


def test_gradients_are_those_of_the_core():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)), rng.normal(size=50)
    model = BNeuralTRegressor(
        max_epochs=2,
        dtype="float64",
        random_state=0,
        growth=Growth(train_activations=True, activation="bipolar"),
    ).fit(X, y)
    module = model.to_torch()
    difference = module.scores(module.encode(X))[0, :, 0] - torch.tensor(y)
    (difference**2 / 2).mean().backward()
    _, expected = gradient(model.tree_, X, y, loss="squared_error")
    assert_same(module.weights[0].grad.numpy(), expected, 1e-10)


def test_a_module_can_be_trained_and_used_as_a_model_again():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    model = BNeuralTClassifier(max_epochs=1, random_state=0).fit(X, y)
    module = model.to_torch()
    inputs, target = module.encode(X), torch.tensor(y)
    optimizer = torch.optim.Adam(module.parameters(), lr=0.02)
    losses = []
    for _ in range(60):
        loss = torch.nn.functional.cross_entropy(module.scores(inputs)[0], target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    trained = from_torch(module)
    with torch.no_grad():
        assert_same(trained.predict_proba(X), module(inputs).numpy(), 1e-5)
    assert not np.allclose(trained.predict_proba(X), model.predict_proba(X))


def test_a_module_is_saved_by_its_weights(tmp_path):
    drawn = random_model(1)
    module, other = drawn.model.to_torch(), drawn.model.to_torch()
    assert all(name.startswith("weights.") for name in module.state_dict())
    with torch.no_grad():
        for weights in module.weights:
            weights += 0.1
    torch.save(module.state_dict(), tmp_path / "weights.pt")
    other.load_state_dict(torch.load(tmp_path / "weights.pt", weights_only=True))
    assert all(torch.equal(a, b) for a, b in zip(module.weights, other.weights, strict=True))


def test_a_module_is_pickled_as_a_whole():
    drawn = random_model(3)
    module = pickle.loads(pickle.dumps(drawn.model.to_torch(dtype=torch.float64)))
    with torch.no_grad():
        outputs = module(module.encode(drawn.rows)).numpy()
    assert_same(outputs, drawn.expected[1], 1e-12, drawn.described, terms=drawn.terms)
    assert from_torch(module).n_parameters_ == drawn.model.n_parameters_


def test_a_module_can_be_converted_and_copied():
    drawn = random_model(10)
    module = copy.deepcopy(drawn.model.to_torch().double())
    with torch.no_grad():
        outputs = module(module.encode(drawn.rows))
    assert outputs.dtype == torch.float64
    assert_same(outputs.numpy(), drawn.expected[1], 1e-12, drawn.expected[2])


def test_bad_input_is_refused():
    with pytest.raises(NotFittedError):
        BNeuralTClassifier().to_torch()
    with pytest.raises(TypeError, match="a module that to_torch made, got Linear"):
        from_torch(torch.nn.Linear(1, 1))
    module = random_model(0).model.to_torch()
    with torch.no_grad():
        module.weights[0][0] = float("nan")
    with pytest.raises(ValueError, match="finite"):
        from_torch(module)


def test_a_module_of_a_model_alone_has_no_estimator():
    module = to_torch(random_model(0).model.model_)
    with pytest.raises(TypeError, match="a module that to_torch made"):
        from_torch(module)


# -- every operation, activation, kind of column and link --------------------------------


@pytest.mark.parametrize("name", NUMBERS)
def test_operations_equal_the_evaluator(name):
    values = number_values(np.random.default_rng(0), 200)
    tensors = {n: torch.tensor(v, requires_grad=True) for n, v in values.items()}
    results = compute(NUMBERS[name], tensors)
    with np.errstate(all="ignore"):
        expected = evaluate(NUMBERS[name], values)
    np.testing.assert_allclose(results.detach().numpy(), expected, rtol=1e-12, atol=1e-300)
    if "select" in repr(NUMBERS[name]) or "missing" in repr(NUMBERS[name]):
        return  # the evaluator has no derivatives of choices
    results.sum().backward()
    for n in sorted(NUMBERS[name].variables):
        with np.errstate(all="ignore"):
            slopes = slope(NUMBERS[name], values, n) * np.ones(200)
        usual = np.isfinite(slopes) & (np.abs(values["a"]) < 100) & (np.abs(values["b"]) < 100)
        np.testing.assert_allclose(
            tensors[n].grad.numpy()[usual], slopes[usual], rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("name", VECTORS)
def test_operations_on_vectors_equal_the_evaluator(name):
    vectors = np.random.default_rng(0).normal(size=(2, 50, 3))
    results = compute(VECTORS[name], {"outputs": torch.tensor(vectors)}).numpy()
    np.testing.assert_allclose(results, evaluate(VECTORS[name], {"outputs": vectors}), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", NAMES)
def test_every_activation(name, dtype):
    rng = np.random.default_rng(0)
    model = model_with_activation(rng, name)
    X = rng.normal(size=(100, 4))
    module = to_torch(model, dtype=getattr(torch, dtype))
    outputs = module(module.encode(X)).detach().numpy()
    assert_same(outputs, model.outputs(X)[0], 1e-12 if dtype == "float64" else 1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_activations_are_trained_with_the_slopes_of_the_core(name):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    model = BNeuralTRegressor(
        max_epochs=1,
        dtype="float64",
        random_state=0,
        growth=Growth(train_activations=True, activation=name),
    ).fit(X, y)
    module = model.to_torch()
    ((module(module.encode(X))[:, 0] - torch.tensor(y)) ** 2 / 2).mean().backward()
    _, expected = gradient(model.tree_, X, y, loss="squared_error")
    assert_same(module.weights[0].grad.numpy(), expected, 1e-10)


@pytest.mark.parametrize("n_trees", [1, 3])
@pytest.mark.parametrize("averages", ["outputs", "predictions"])
@pytest.mark.parametrize("name", ALL_LINKS)
def test_every_link(name, averages, n_trees):
    rng = np.random.default_rng(0)
    model = model_with_link(rng, ALL_LINKS[name], "numbers", averages, n_trees)
    X = rng.normal(size=(40, 4))
    expected = model.predictions(model.outputs(X))
    module = to_torch(model)
    assert_same(module(module.encode(X)).detach().numpy(), expected, 1e-12)
    single = to_torch(model, dtype=torch.float32)
    assert_same(single(single.encode(X)).detach().numpy(), expected, 1e-4)


def test_shares_of_zeros_are_numbers_in_float32():
    model = model_with_link(np.random.default_rng(0), ALL_LINKS["shares"])
    module = to_torch(model, dtype=torch.float32)
    with torch.no_grad():
        for weights in module.weights:
            weights.zero_()
        outputs = module(torch.zeros((2, 4)))
    np.testing.assert_allclose(outputs.numpy(), 1 / 3, rtol=1e-6)


@pytest.mark.parametrize("name", CELL_EXPRESSIONS)
def test_every_operation_on_cells(name):
    rng = np.random.default_rng(0)
    model, rows = model_with_cells(rng, name), rows_of_cells(rng, name, 100)
    module = to_torch(model)
    inputs = module.encode(rows)
    usable = torch.isfinite(inputs).all(dim=1)
    outputs = module(inputs[usable]).detach().numpy()
    assert_same(outputs, model.outputs(inputs[usable].numpy())[0], 1e-12)


def test_every_kind_of_column():
    model, rows = model_with_all_columns(np.random.default_rng(0), 300)
    module = to_torch(model)
    outputs = module(module.encode(rows)).detach().numpy()
    assert_same(outputs, model.outputs(model.encode(rows))[0], 1e-12)
