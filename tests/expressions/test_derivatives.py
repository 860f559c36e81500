"""Derivatives of expressions."""

import pytest

from bneuralt.expressions import OUTPUTS, derivative, largest, variable


def test_an_operation_without_derivative_is_named():
    z = variable("z")
    with pytest.raises(ValueError, match="'largest' has no derivative"):
        derivative(largest(OUTPUTS), "outputs")
    assert derivative(largest(OUTPUTS), "z").value == 0.0
    assert derivative(z, "z").value == 1.0
