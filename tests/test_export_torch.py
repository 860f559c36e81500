"""PyTorch modules compute what the models compute, can be trained, and go back."""

import copy

import numpy as np
import pytest
from exported import assert_same, random_model
from sklearn.exceptions import NotFittedError

from bneuralt import BNeuralTClassifier, BNeuralTRegressor, Growth, from_torch, to_torch
from bneuralt.training import gradient

torch = pytest.importorskip("torch", reason="torch is not installed (pip install bneuralt[torch])")


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # other tests run beside this one
    yield
    torch.set_num_threads(before)


def check(seed, n_rows=100):
    """Compare one model with its module."""
    drawn = random_model(seed, n_rows)
    _, expected, plan = drawn.expected
    module = to_torch(drawn.model, torch.float64)
    with torch.no_grad():
        found = module(module.encode(drawn.rows)).numpy()
    assert_same(found, expected, 1e-12, plan, terms=drawn.terms)


@pytest.mark.parametrize("seed", range(32))
def test_torch_equals_the_model(seed):
    check(seed)


@pytest.mark.parametrize("seed", range(8))
def test_a_model_goes_to_torch_and_back(seed):
    model = random_model(seed).model
    back = from_torch(to_torch(model))
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
    module = to_torch(model)
    difference = module.scores(module.encode(X))[0, :, 0] - torch.tensor(y)
    (difference**2 / 2).mean().backward()
    _, expected = gradient(model.tree_, X, y, loss="squared_error")
    assert_same(module.weights[0].grad.numpy(), expected, 1e-10)


def test_a_module_can_be_trained_and_used_as_a_model_again():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    model = BNeuralTClassifier(max_epochs=1, random_state=0).fit(X, y)
    module = to_torch(model)
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
    module, other = to_torch(drawn.model), to_torch(drawn.model)
    assert all(name.startswith("weights.") for name in module.state_dict())
    with torch.no_grad():
        for weights in module.weights:
            weights += 0.1
    torch.save(module.state_dict(), tmp_path / "weights.pt")
    other.load_state_dict(torch.load(tmp_path / "weights.pt", weights_only=True))
    assert all(torch.equal(a, b) for a, b in zip(module.weights, other.weights, strict=True))


def test_a_module_can_be_converted_and_copied():
    drawn = random_model(10)
    module = copy.deepcopy(to_torch(drawn.model).double())
    with torch.no_grad():
        found = module(module.encode(drawn.rows))
    assert found.dtype == torch.float64
    assert_same(found.numpy(), drawn.expected[1], 1e-12, drawn.expected[2])


def test_bad_input_is_refused():
    with pytest.raises(NotFittedError):
        to_torch(BNeuralTClassifier())
    with pytest.raises(TypeError, match="a module that to_torch made, got Linear"):
        from_torch(torch.nn.Linear(1, 1))
    module = to_torch(random_model(0).model)
    with torch.no_grad():
        module.weights[0][0] = float("nan")
    with pytest.raises(ValueError, match="finite"):
        from_torch(module)
