"""The proven bound on the error of integer models equals that of another computation."""

import warnings

import numpy as np
import pytest

from tests.helpers import integer_bounds
from tests.helpers.random_models import TASKS, random_model
from tests.tools.compare_c import bound_complaints

#: One of each task, and further ones.
SEEDS = range(12)


def _integers(seed, dtype, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return random_model(seed, **options)[0].quantize(dtype).integer_model_


@pytest.mark.parametrize("dtype", ["int8", "int16"])
@pytest.mark.parametrize("seed", SEEDS)
def test_bounds_equal_those_of_another_computation_and_are_not_exceeded(seed, dtype):
    assert bound_complaints(seed, dtype) == []


@pytest.mark.parametrize("dtype", ["int8", "int16"])
@pytest.mark.parametrize("task", TASKS)
def test_bounds_of_every_task_are_those_of_the_steps_of_the_program(task, dtype):
    integers = _integers(100, dtype, tasks=(task,))
    assert integer_bounds.complaints(integers) == []
    for factor in (0.5, 0.99):  # a rounding that is left out is a smaller bound
        assert len(integer_bounds.complaints(integers, factor)) > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_every_bound_that_is_half_as_large_is_refused(seed):
    integers = _integers(seed, "int8")
    n_bounds = integers.bound.size + sum(tree.bound.size for tree in integers.trees)
    n_zero = sum(np.count_nonzero(tree.bound < 1e-280) for tree in integers.trees)
    assert len(integer_bounds.complaints(integers, 0.5)) >= n_bounds - n_zero - (n_zero > 0)
