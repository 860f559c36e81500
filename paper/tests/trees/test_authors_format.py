"""Tree files of the paper's authors: read as they are, refused with the place of the error."""

import pytest

from bneuralt import NeuralTree
from bneuralt.files import ModelFileError
from bneuralt_paper import read_authors_tree


def function_node(*children, f=None, e=0.5, b=0.25, activation="sigmoid"):
    f = len(children) if f is None else f
    name = f"f:{f}; e:{e}; b:{b}; p:[0.1, 0.2, {activation}]"
    return f'{{"name":"{name}","children":[{",".join(children)} ]}}'


def leaf(i=0, e=1.5):
    return f'{{"name":" i:{i}; e:{e}" }}'


def read(text, **options):
    return read_authors_tree(text, **options)


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
