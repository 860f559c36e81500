"""Trees that are trained again: scaling is taken out of a tree and put back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bneuralt import NeuralTree
from bneuralt.model.scaling import Scaling, fold, unfold


@given(seed=st.integers(0, 1000), scales_target=st.booleans())
def test_taking_a_scaling_out_is_the_inverse_of_folding_it_in(seed, scales_target):
    rng = np.random.default_rng(seed)
    tree = NeuralTree.random(3, 2, 3, 3, dtype="float64", random_state=seed)
    inputs = Scaling(rng.normal(size=3), rng.uniform(0.1, 3.0, 3))
    target = Scaling(rng.normal(size=2), rng.uniform(0.1, 3.0, 2)) if scales_target else None
    X = rng.normal(size=(5, 3))
    again = unfold(fold(tree, inputs, target), inputs, target)
    np.testing.assert_allclose(again.forward(X), tree.forward(X), rtol=1e-9, atol=1e-12)


def test_folding_applies_the_scaling_to_inputs_and_outputs():
    tree = NeuralTree.random(2, 1, 2, 2, dtype="float64", random_state=0)
    inputs = Scaling(np.array([1.0, -2.0]), np.array([0.5, 4.0]))
    target = Scaling(np.array([3.0]), np.array([0.25]))
    X = np.array([[0.3, 0.1], [2.0, -1.0]])
    outputs = tree.forward((X - inputs.offset) * inputs.factor)
    expected = outputs / target.factor + target.offset
    assert fold(tree, inputs, target).forward(X) == pytest.approx(expected)
