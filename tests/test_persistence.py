"""Files: what is written is read back exactly; errors say what is broken and where."""

import contextlib
import json
import math
import os
import re
import stat
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_strategies import neural_trees

from bneuralt import NeuralTree
from bneuralt.files import ModelFileError, format_json, parse_json, write_atomically

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


# -- round trips --------------------------------------------------------------------------


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
    text = (Path(__file__).parents[1] / "docs" / "format.md").read_text()
    *ours, authors = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    trees = [NeuralTree.from_json(text) for text in ours]
    assert [tree.to_json() for tree in trees] == ours
    above, below = 0.5 + 2 * (-1 + 4 * 0.3 + 0.25 * 0.7) + 3 * 0.7, 0.5 + 2 * 0.2 * -1
    assert trees[0].forward([[0.3, 0.7], [0.0, 0.0]])[:, 0] == pytest.approx([above, below])
    value = 1 / (1 + math.exp(-(0.5 + 2.0 * 0.3 - 0.7)))
    assert NeuralTree.from_authors_json(authors).forward([0.3, 0, 0, 0.7]) == pytest.approx([value])


# -- broken files -------------------------------------------------------------------------


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
    ('{"name": "f:2", "children": []}', "use NeuralTree.from_authors_json"),
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


# -- writing ------------------------------------------------------------------------------


def test_a_key_that_occurs_twice_is_found_in_linear_time():
    text = "{" + ",".join(f'"k{i}":0' for i in range(200_000)) + ',"k199999":1}'
    start = time.perf_counter()
    with pytest.raises(ModelFileError, match="the key 'k199999' occurs twice"):
        parse_json(text)
    assert time.perf_counter() - start < 15  # minutes if each key is counted


def test_format_json_nests():
    value = {"a": [1, 2], "b": {"c": []}, "d": [{"e": 1}, {}], "f": {}}
    text = format_json(value)
    assert json.loads(text) == value
    assert text.splitlines()[1:4] == ['  "a": [1, 2],', '  "b": {', '    "c": []']
    assert parse_json(text) == value


def test_format_json_rejects_nan():
    with pytest.raises(ValueError, match="JSON compliant"):
        format_json([float("nan")])


@pytest.mark.parametrize("content", ["Grüße\n", b"\x00\xff"])
def test_writing_replaces_the_whole_file(tmp_path, content):
    path = tmp_path / "model.json"
    path.write_text("a longer text that was there before")
    write_atomically(path, content)
    assert path.read_bytes() == (content if isinstance(content, bytes) else content.encode())
    assert os.listdir(tmp_path) == ["model.json"]


def test_a_failed_write_changes_nothing(tmp_path):
    path = tmp_path / "model.json"
    path.write_text("before")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "\ud800")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        write_atomically(tmp_path / "folder", "text")
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "missing" / "model.json", "text")
    assert path.read_text() == "before"
    assert sorted(os.listdir(tmp_path)) == ["folder", "model.json"]


@pytest.mark.skipif(os.name != "posix", reason="pipes have names on POSIX only")
def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe, received = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()), daemon=True)
    reader.start()
    content = b"0123456789" * 20_000  # more than a pipe holds
    write_atomically(pipe, content)
    reader.join(30)
    assert received == [content]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.skipif(os.name != "posix", reason="devices are files on POSIX only")
def test_a_device_is_written_to_and_not_replaced(tmp_path, monkeypatch):
    def refuse(*_):
        raise AssertionError("the device would have been replaced")

    monkeypatch.setattr(os, "replace", refuse)
    link = tmp_path / "link"
    link.symlink_to(os.devnull)
    write_atomically(link, "text")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    assert sorted(tmp_path.iterdir()) == [link]


@pytest.mark.skipif(os.name != "posix", reason="permission bits are those of POSIX")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755, 0o444])
def test_a_file_keeps_its_permissions(tmp_path, mode):
    path = tmp_path / "model.json"
    path.write_text("before")
    path.chmod(mode)
    write_atomically(path, "after")
    assert path.read_text() == "after"
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.skipif(os.name != "posix", reason="folders are files on POSIX only")
def test_the_folder_is_synchronised_after_the_renaming(tmp_path, monkeypatch):
    calls = []
    replace, fsync = os.replace, os.fsync

    def record_replace(*names):
        calls.append("replace")
        replace(*names)

    def record_fsync(descriptor):
        calls.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    monkeypatch.setattr(os, "replace", record_replace)
    monkeypatch.setattr(os, "fsync", record_fsync)
    write_atomically(tmp_path / "model.json", "text")
    assert calls == ["file", "replace", "folder"]


def test_writing_follows_links(tmp_path):
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    target.write_text("before")
    link.symlink_to(target)
    write_atomically(link, "after")
    assert link.is_symlink()
    assert target.read_text() == "after"


def test_a_new_file_has_the_default_permissions(tmp_path):
    write_atomically(tmp_path / "ours", "text")
    (tmp_path / "usual").write_text("text")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("ours", "usual")]
    assert modes[0] == modes[1]


# -- the authors' format ------------------------------------------------------------------


def function_node(*children, f=None, e=0.5, b=0.25, activation="sigmoid"):
    f = len(children) if f is None else f
    name = f"f:{f}; e:{e}; b:{b}; p:[0.1, 0.2, {activation}]"
    return f'{{"name":"{name}","children":[{",".join(children)} ]}}'


def leaf(i=0, e=1.5):
    return f'{{"name":" i:{i}; e:{e}" }}'


def read(text, **options):
    return NeuralTree.from_authors_json(text, **options)


CLASSIFIER = function_node(
    function_node(leaf(2), function_node(leaf(0, "-1.0E-5"), leaf(1), b=7.0, e=-3.0), b=5.0),
    function_node(leaf(1, 9.0), b=6.0),
    b=1.0,
)


def test_an_authors_classifier():
    expected = NeuralTree(
        3, 2, [-1, -1, 0], [1, 1, 1], [0, 1, 2, 2], [2, 1, 0, 1],
        [5.0, 6.0, 7.0, -3.0, 1.5, 9.0, -1e-5, 1.5],
    )  # fmt: skip
    assert read(CLASSIFIER) == read(CLASSIFIER, task="classification", n_inputs=3) == expected


def test_the_same_file_as_a_regression_tree():
    tree = read(CLASSIFIER, task="regression", n_inputs=10)
    assert (tree.n_outputs, tree.n_inputs) == (1, 10)
    assert tree.parent.tolist() == [-1, 0, 0, 1]
    assert tree.bias.tolist() == [1.0, 5.0, 6.0, 7.0]
    assert tree.edge.tolist() == [0.5, 0.5, -3.0]


@pytest.mark.parametrize(
    "text",
    [
        function_node(function_node(leaf()), function_node(leaf()), b=0.99),
        function_node(function_node(leaf()), leaf(), b=1.0),
        function_node(function_node(leaf()), b=1.0),
    ],
)
def test_other_roots_are_regression(text):
    assert read(text).n_outputs == 1


def test_a_file_or_its_text(tmp_path):
    path = tmp_path / "tree.json"
    path.write_text(CLASSIFIER)
    assert read(path) == read(str(path)) == read("\n " + CLASSIFIER) == read(CLASSIFIER)
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "missing.json")


def test_errors_name_the_file(tmp_path):
    path = tmp_path / "tree.json"
    path.write_text(CLASSIFIER[:100])
    with pytest.raises(ModelFileError, match=r"tree\.json: "):
        read(path)
    path.write_bytes(b'{"name": "\xff"}')
    with pytest.raises(ModelFileError, match=r"tree\.json: the file is not UTF-8 text: byte 10"):
        read(path)


@pytest.mark.parametrize("cut", range(0, len(CLASSIFIER), 7))
def test_a_truncated_authors_file_is_rejected(cut):
    with pytest.raises(ModelFileError):
        read(CLASSIFIER[:cut])


BROKEN_AUTHORS_FILES = [
    ("", "the text ends where a node should be: is it truncated"),
    ("{}", r"character 0: '\{\}' where a node should be"),
    ("[1]", r"character 0: '\[1\]'"),
    (leaf(), "root: it is a leaf"),
    (CLASSIFIER + "]", "where the end of the file should be"),
    (function_node(leaf(), leaf(), f=3), "root: f is 3, but there are 2 children"),
    (
        function_node(leaf(), function_node(leaf(), function_node(leaf(), f=2))),
        r"root\[1\]\[1\]: f is 2, but there are 1 children",
    ),
    (function_node(leaf(), function_node()), "where a node should be"),
    (function_node(leaf(e="NaN")), r"root\[0\]: e is 'NaN', not a finite number"),
    (function_node(leaf(e="1E999")), r"root\[0\]: e is '1E999'"),
    (function_node(leaf(e="1_0")), r"root\[0\]: e is '1_0'"),
    (function_node(leaf(), b="Infinity"), "root: b is 'Infinity'"),
    (function_node(leaf(i=-1)), r"root\[0\]: the name of a leaf cannot be ' i:-1; e:1.5'"),
    (function_node(leaf(i="9" * 5000)), r"root\[0\]: the name of a leaf"),
    (function_node('{"name":"f:2; e:1; b:1; p:[sigmoid]"}'), "the name of a leaf cannot be"),
    ('{"name":" i:0; e:1.0","children":[' + leaf() + "]}", "the name of a function node"),
    (function_node(leaf(), activation="gauss"), "root: activation 'gauss' is not one of"),
]


@pytest.mark.parametrize(
    ("text", "message"),
    BROKEN_AUTHORS_FILES,
    ids=[message for _, message in BROKEN_AUTHORS_FILES],
)
def test_a_broken_authors_file_is_rejected_with_its_place(text, message):
    with pytest.raises(ModelFileError, match=message):
        read(text)


def test_an_input_out_of_range_is_rejected():
    with pytest.raises(ModelFileError, match=r"root\[0\]\[0\]: input 2, .* \(n_inputs=2\)"):
        read(CLASSIFIER, n_inputs=2)


def test_a_classifier_needs_function_nodes_below_its_root():
    with pytest.raises(ModelFileError, match=r"root\[1\]: a leaf, but the children of the root"):
        read(function_node(function_node(leaf()), leaf()), task="classification")
    with pytest.raises(ModelFileError, match="root: one child only"):
        read(function_node(function_node(leaf())), task="classification")


def test_the_task_must_be_known():
    with pytest.raises(ValueError, match="task='ranking' is not known"):
        read(CLASSIFIER, task="ranking")


def test_an_authors_file_may_nest_100_000_levels_deep():
    n = 100_000
    opening = '{"name":"f:1; e:0.5; b:0.5; p:[0.1, 0.2, sigmoid]","children":['
    assert read(opening * n + leaf() + "]}" * n).depth == n - 1
    with pytest.raises(ModelFileError, match="is it truncated"):
        read(opening * n)
    with pytest.raises(ModelFileError, match=r"root\[0\].* \(99980 levels\) .*: e is 'x'"):
        read(opening * n + leaf(e="x") + "]}" * n)
