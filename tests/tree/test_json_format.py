"""Tree files: what is written is read back exactly, and errors say what is broken and where."""

import contextlib
import json
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bneuralt import NeuralTree
from bneuralt.files import ModelFileError
from bneuralt_paper import read_authors_tree
from tests.helpers.paths import DOCS
from tests.helpers.strategies import neural_trees

TREE = NeuralTree(
    n_inputs=3,
    n_outputs=2,
    parent=[-1, -1, 0, 2],
    activation=[1, 1, 2, 3],
    leaf_parent=[1, 2, 3, 3],
    leaf_input=[0, 1, 2, 0],
    parameters=np.arange(10) / 8,
)


def changed(**changes):
    """The JSON text of TREE with some keys replaced, or removed if the new value is None."""
    data = {**json.loads(TREE.to_json()), **changes}
    return json.dumps({key: value for key, value in data.items() if value is not None})


@given(neural_trees(dtypes=(np.float64, np.float32)))
def test_a_tree_is_restored_bit_by_bit(tree):
    twin = NeuralTree.from_json(tree.to_json())
    assert twin == tree
    assert twin.parameters.tobytes() == tree.parameters.tobytes()


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(width=32, allow_nan=False))
def test_every_finite_weight_is_restored(wide, narrow):
    theta = np.resize([wide, -wide], TREE.n_parameters)
    tree = TREE.with_parameters(theta)
    assert NeuralTree.from_json(tree.to_json()).parameters.tobytes() == theta.tobytes()
    if np.isfinite(narrow):
        tree = TREE.with_parameters(np.full(TREE.n_parameters, narrow, np.float32))
        assert NeuralTree.from_json(tree.to_json()) == tree


def test_the_text_is_readable():
    lines = TREE.to_json().splitlines()
    assert lines[0] == "{"
    assert lines[1:3] == ['  "format": "bneuralt-tree",', '  "version": 2,']
    assert '  "activation": ["tanh", "relu"],' in lines
    assert '  "parent": [-1, -1, 0, 2],' in lines
    assert '  "bias": [0.0, 0.125, 0.25, 0.375],' in lines
    assert '  "activation_parameters": [],' in lines
    assert '  "trains_activations": false,' in lines
    assert len(lines) == 20


def test_the_examples_in_the_documentation():
    text = (DOCS / "format.md").read_text()
    *ours, authors = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    trees = [NeuralTree.from_json(text) for text in ours]
    assert [tree.to_json() for tree in trees] == ours
    above, below = 0.5 + 2 * (-1 + 4 * 0.3 + 0.25 * 0.7) + 3 * 0.7, 0.5 + 2 * 0.2 * -1
    assert trees[0].forward([[0.3, 0.7], [0.0, 0.0]])[:, 0] == pytest.approx([above, below])
    value = 1 / (1 + math.exp(-(0.5 + 2.0 * 0.3 - 0.7)))
    assert read_authors_tree(authors).forward([0.3, 0, 0, 0.7]) == pytest.approx([value])


@pytest.mark.parametrize("cut", [0, 1, 20, 100, 300, -2, -3])
def test_a_truncated_text_is_rejected(cut):
    with pytest.raises(ModelFileError, match=r"ends too early|not valid JSON"):
        NeuralTree.from_json(TREE.to_json()[:cut])


@given(st.integers(0, 10**6), st.characters())
def test_damage_to_one_character_raises_no_other_error(place, character):
    text = TREE.to_json()
    place %= len(text)
    with contextlib.suppress(ModelFileError):
        NeuralTree.from_json(text[:place] + character + text[place + 1 :])


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda s: st.lists(s)))
def test_no_value_of_a_key_raises_another_error(value):
    for key in json.loads(TREE.to_json()):
        with contextlib.suppress(ModelFileError):
            NeuralTree.from_json(changed(**{key: value}))


BROKEN = [
    ("[]", 'not a bneuralt-tree file: it has no key "format"'),
    ("3", 'it has no key "format"'),
    ('{"a": 1}', 'it has no key "format"'),
    ('{"name": "f:2", "children": []}', "use read_authors_tree of bneuralt-paper"),
    ('{"format": "other", "version": 1}', "its \"format\" is 'other'"),
    (changed(version=3), "has version 3 .* reads version 2: install a newer"),
    (changed(version=1), "version 1 .* never part of a release"),
    (changed(trains_activations=None), "lacks the key 'trains_activations'"),
    (changed(trains_activations=1), '"trains_activations" is 1, it must be true or false'),
    (changed(activation_parameters=[0.5]), '"activation_parameters" has 1 entries, it must have 0'),
    (
        changed(activation=["gaussian", "relu"], activation_parameters=[0.0, 0.0]),
        "Gaussian: width=0.0 is not a finite number other than 0",
    ),
    (
        changed(activation=["gaussian", "relu"], activation_parameters=[0.0, "x"]),
        r"\"activation_parameters\"\[1\] is 'x', not a number",
    ),
    (
        changed(
            activation=["gaussian", "relu"],
            activation_parameters=[0.0, 1.0],
            trains_activations=True,
        ),
        '"n_parameters" is 10, but 4 nodes .* have 12',
    ),
    (changed(version="1"), "\"version\" is '1'"),
    (changed(version=True), '"version" is True'),
    (changed(parent=None), "lacks the key 'parent'"),
    (changed(extra=1), "does not belong there: 'extra'"),
    ('{"format": 1, "format": 2}', "'format' occurs twice"),
    (changed(n_parameters=11), '"n_parameters" is 11, but 4 nodes .* have 10'),
    (changed(n_nodes=5, n_parameters=12), '"bias" has 4 entries, it must have 5'),
    (changed(n_leaves=3, n_parameters=9), '"leaf_weight" has 4 entries, it must have 3'),
    (changed(n_nodes=1), '"n_nodes" is 1, fewer than "n_outputs", 2'),
    (changed(n_nodes=10**12), '"n_nodes" is 1000000000000'),
    (changed(n_inputs=0), '"n_inputs" is 0'),
    (changed(n_inputs=2.0), '"n_inputs" is 2.0'),
    (changed(n_outputs=True), '"n_outputs" is True'),
    (changed(dtype="float16"), "\"dtype\" is 'float16'"),
    (changed(activation="softplus"), "\"activation\" has 'softplus', it must be one of linear"),
    (changed(activation=["tanh"]), '"activation" has 1 entries, it must have 2'),
    (changed(activation=["tanh", 3]), r'"activation"\[1\] is 3, not a name'),
    (changed(output_activation=["tanh"]), '"output_activation" has 1 entries, it must have 2'),
    (changed(output_activation={}), '"output_activation" has {}'),
    (changed(parent={}), '"parent" must be a list, not dict'),
    (changed(parent=[-1, -1, 0, 2.0]), r'"parent"\[3\] is 2.0, not a whole number'),
    (changed(parent=[-1, -1, 0, True]), r'"parent"\[3\] is True'),
    (changed(parent=[-1, -1, 0, 3]), r"parent\[3\] is 3"),
    (changed(parent=[-1, -1, 0, 10**30]), r'"parent"\[3\] is far out of range'),
    (changed(leaf_parent=[1, 2, 3, 4]), r"leaf_parent\[3\] is 4, nodes go from 0 to 3"),
    (changed(leaf_parent=[2, 2, 3, 3]), "function node 1 has no child"),
    (changed(leaf_input=[0, 3, 1, 1]), r"leaf_input\[1\] is 3, inputs go from 0 to 2"),
    (changed(leaf_input=[0, -1, 1, 1]), r"leaf_input\[1\] is -1"),
    (changed(edge=[1.0, float("nan")]), "contains NaN: numbers must be finite"),
    (changed(edge=[1.0, float("-inf")]), "contains -Infinity"),
    (changed(edge=[1.0, "2.0"]), r"\"edge\"\[1\] is '2.0', not a number"),
    (changed(edge=[1.0, 10**400]), r'"edge"\[1\] is not a finite number'),
    (changed(edge=[1.0, -77]).replace("-77", "1e999"), r'"edge"\[1\] is not a finite number'),
    (changed(edge=[1.0, 1e300], dtype="float32"), r"parameters\[5\] is inf, the edge above"),
    (changed(edge=[1.0, -77]).replace("-77", "7" * 5000), "not valid JSON|not a finite"),
    ("[" * 100_000, "is nested more than 20 levels deep at character 20"),
    ('{"a":' * 100_000 + "1" + "}" * 100_000, "is nested more than 20 levels"),
    (changed(edge=[1.0, -77]).replace("-77", "[" * 10**5 + "]" * 10**5), "is nested more than 20"),
    ('"' + '\\"' * 10**5, "ends too early|not valid JSON"),
    ("\ufeff{}", "not valid JSON"),
]


# Named by their messages: some of the texts are far too long for a name.
@pytest.mark.parametrize(("text", "message"), BROKEN, ids=[message for _, message in BROKEN])
def test_a_broken_text_is_rejected_with_its_place(text, message):
    with pytest.raises(ModelFileError, match=message):
        NeuralTree.from_json(text)


def test_the_first_number_that_is_not_finite_is_named():
    for weights, i in (([2**1023, 10**400], 1), ([-(10**400), 1e308], 0), ([2**1024, 0], 0)):
        with pytest.raises(ModelFileError, match=rf'"edge"\[{i}\] is not a finite number'):
            NeuralTree.from_json(changed(edge=weights))
        with pytest.raises(ModelFileError, match=rf'"edge"\[{i}\] is not a finite number'):
            NeuralTree.from_dict(json.loads(changed(edge=weights)))
