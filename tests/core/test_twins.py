"""The compiled engine against its naive twin in `reference`.

The twin is slow: what it computes is compared with all instruction sets at once.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bneuralt import TrainingSettings, train
from bneuralt.training import epoch_order, gradient
from bneuralt.training.optimizers import OPTIMIZERS
from tests import reference
from tests.helpers.comparison import scores
from tests.helpers.engines import each_engine
from tests.helpers.quick import cases
from tests.helpers.strategies import HIDDEN, TASKS, draw_rows, draw_tree, seeds


@given(seed=seeds, task=st.sampled_from(TASKS), hidden=st.sampled_from(HIDDEN), mixed=st.booleans())
def test_forward_is_that_of_the_reference(seed, task, hidden, mixed):
    rng = np.random.default_rng(seed)
    _, n_outputs, output = task
    tree = draw_tree(rng, n_outputs, hidden, output, mixed)
    X, _ = draw_rows(rng, tree, int(rng.integers(1, 70)))
    expected = np.array([reference.forward(tree, x) for x in X])
    for name in each_engine():
        np.testing.assert_allclose(tree.forward(X), expected, 1e-12, 1e-13, err_msg=name)
        single = tree.astype(np.float32).forward(X)
        assert single.dtype == np.float32
        size = abs(expected).max()
        np.testing.assert_allclose(single, expected, 2e-4, 2e-4 * size, err_msg=name)


@given(seed=seeds, task=st.sampled_from(TASKS), hidden=st.sampled_from(HIDDEN), mixed=st.booleans(),
       n_rows=st.sampled_from([1, 2, 16, 33, 100]))  # fmt: skip
def test_gradient_is_that_of_the_reference(seed, task, hidden, mixed, n_rows):
    rng = np.random.default_rng(seed)
    loss, n_outputs, output = task
    tree = draw_tree(rng, n_outputs, hidden, output, mixed)
    X, y = draw_rows(rng, tree, n_rows)
    weight = rng.uniform(0, 2, n_rows) if seed % 2 else None
    expected = reference.batch_gradient(tree, X, y, loss, sample_weight=weight)
    for name in each_engine():
        _, slopes = gradient(tree, X, y, loss=loss, sample_weight=weight)
        np.testing.assert_allclose(slopes, expected, 1e-10, 1e-12, err_msg=name)


@settings(max_examples=cases(15, quick=8))
@given(seed=seeds, name=st.sampled_from(sorted(OPTIMIZERS)), task=st.sampled_from(TASKS),
       hidden=st.sampled_from(("sigmoid", "tanh")),
       batch_size=st.sampled_from([1, 3, 16, 18, None]),
       extras=st.booleans())  # fmt: skip
def test_updates_are_those_of_the_reference(seed, name, task, hidden, batch_size, extras):
    rng = np.random.default_rng(seed)
    loss, n_outputs, output = task
    tree = draw_tree(rng, n_outputs, hidden, output)
    n_rows = 20
    X, y = draw_rows(rng, tree, n_rows)
    more = (
        {"weight_decay": 0.05, "clip_norm": 0.5, "schedule": "cosine"}
        if extras
        else {"schedule": "constant"}
    )
    rate = {"gd": 0.1, "momentum": 0.02, "nesterov": 0.02, "adagrad": 0.1}.get(name, 0.01)
    per_epoch = -(-n_rows // (batch_size or n_rows))
    n_epochs = -(-cases(200) // per_epoch)
    weight = rng.uniform(0.5, 1.5, n_rows) if extras else None
    how = TrainingSettings(loss=loss, optimizer=name, learning_rate=rate, batch_size=batch_size,
                           max_epochs=n_epochs, **more)  # fmt: skip
    order = [epoch_order(seed, epoch, n_rows).tolist() for epoch in range(n_epochs)]
    expected = reference.train(
        tree, X, y, order=order, loss=loss, optimizer=name, learning_rate=rate,
        batch_size=batch_size, sample_weight=weight, **more,
    )  # fmt: skip
    # Rounding differs in the last place. Now and then a trajectory is chaotic and blows that up:
    # how much, the same training tells, started one rounding error away. Where that is a million
    # times as much, there is nothing to compare.
    rounding = 1 + 1e-15 * rng.choice([-1, 1], tree.n_parameters)
    nearby = tree.with_parameters(tree.parameters * rounding)
    for engine in each_engine():
        result, moved = (
            train(start, X, y, settings=how, seed=seed, sample_weight=weight).tree.parameters
            for start in (tree, nearby)
        )
        start_matters = abs(moved - result).max()
        assume(start_matters < 1e-9)
        tolerance = 1e-10 + 100 * start_matters
        np.testing.assert_allclose(result, expected.parameters, 1e-10, tolerance, err_msg=engine)


@cache  # the same for both scores
def after_every_update(n_outputs):
    """Return a tree, rows, rows to choose by, settings, and the tree after every update."""
    rng = np.random.default_rng(7)
    loss = "cross_entropy" if n_outputs > 1 else "squared_error"
    tree = draw_tree(rng, n_outputs, n_inputs=3)
    X, y = draw_rows(rng, tree, 30)
    X_val, y_val = draw_rows(rng, tree, 50)
    common = {"loss": loss, "optimizer": "rmsprop", "learning_rate": 0.05}
    how = TrainingSettings(**common, schedule="constant", max_epochs=3, batch_size=1,
                           select="update")  # fmt: skip
    order = np.concatenate([epoch_order(0, e, 30) for e in range(3)]).tolist()
    after = [
        reference.train(tree, X, y, order=[order[:n]], **common) for n in range(1, len(order) + 1)
    ]
    return tree, (X, y), (X_val, y_val), how, after


@pytest.mark.parametrize("monitor", ["loss", "error"])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_selection_after_every_update_finds_the_best_of_all_updates(n_outputs, monitor):
    tree, (X, y), (X_val, y_val), how, after = after_every_update(n_outputs)
    how = how.set_params(monitor=monitor)
    best, best_value = None, np.inf
    for now in after:
        value = scores(now, X_val, y_val, monitor)
        if value < best_value - 1e-12:
            best, best_value = now, value
    for name in each_engine():
        result = train(tree, X, y, settings=how, validation=(X_val, y_val)).tree
        np.testing.assert_allclose(result.parameters, best.parameters, atol=1e-9, err_msg=name)
