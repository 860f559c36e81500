"""Errors name the weight that is not finite, as a part of the tree and of a file."""

import numpy as np
import pytest

from bneuralt import NeuralTree
from bneuralt.files import ModelFileError

# an output with one child, which has the second leaf
TREE = NeuralTree(1, 1, [-1, 0], [0, 7], [0, 1], [0, 0], [0.1, 0.2, 0.3, 0.4, 0.5])


@pytest.mark.parametrize(
    ("i", "place"),
    [
        (0, "the bias of node 0"),
        (1, "the bias of node 1"),
        (2, "the edge above node 1"),
        (3, "the weight of leaf 0"),
        (4, "the weight of leaf 1"),
    ],
)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_not_finite(i, place, value):
    parameters = TREE.parameters.copy()
    parameters[i] = value
    with pytest.raises(ValueError, match=rf"parameters\[{i}\] is {value}, {place}: weights must"):
        TREE.with_parameters(parameters)


@pytest.mark.parametrize("text", ["1e999", "-1e999", "1" + "0" * 400, str(2**1023 * 2)])
def test_numbers_of_files_that_are_too_large(text):
    content = TREE.to_json()
    assert content.count("0.4") == 1
    with pytest.raises(ModelFileError, match=r"not a finite number|too large"):
        NeuralTree.from_json(content.replace("0.4", text))
    assert NeuralTree.from_json(content.replace("0.4", str(2**1023))).leaf_weight[0] == 2.0**1023
