"""The trees the paper's authors published: they load, and score what the authors recorded."""

import csv
import gzip
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from bneuralt import NeuralTree
from bneuralt_paper import read_authors_tree

REGRESSION = {"baseball", "dee", "diabetese", "friedman", "mpg6"}
OPTIMIZERS = {
    "adagrad",
    "adam",
    "gd",
    "momentum_gd",
    "nesterov_accelerated_gd",
    "rmsprop",
}


@pytest.fixture(scope="module")
def models(shared: Path) -> Path:
    return shared / "authors_models"


@pytest.fixture(scope="module")
def expected(models: Path) -> list[dict[str, str]]:
    with open(models / "expected.csv", newline="") as file:
        return list(csv.DictReader(file))


def load(models: Path, row: dict[str, str], **options) -> NeuralTree:
    path = models / row["dataset"] / row["run"] / f"{row['optimizer']}.json"
    return read_authors_tree(path, **options)


def name(row: dict[str, str]) -> str:
    return f"{row['dataset']}/{row['run']}/{row['optimizer']}"


# -- the authors' way to prepare a table --------------------------------------------------


def encode(column: list[str]) -> np.ndarray:
    """Numbers as they are; other columns by the rank of their text."""
    try:
        return np.array([float(value) for value in column])
    except ValueError:
        return np.unique(column, return_inverse=True)[1].astype(float)


def encode_classes(column: list[str]) -> np.ndarray:
    """Class index: the rank of the label's text, with numbers in Java's form ("1" is "1.0")."""

    def text(value: str) -> str:
        try:
            return repr(float(value))
        except ValueError:
            return value

    return np.unique([text(value) for value in column], return_inverse=True)[1]


def min_max(values: np.ndarray) -> np.ndarray:
    low, high = values.min(axis=0), values.max(axis=0)
    return (values - low) / np.where(high > low, high - low, 1.0)


@cache
def table(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Scaled inputs and encoded target of a whole table."""
    with open(path, newline="") as file:
        header, *rows = csv.reader(file)
    rows = [row for row in rows if row]
    n_inputs = header.index("target")  # what stands to the right of it is empty
    columns = list(zip(*rows, strict=False))
    X = min_max(np.column_stack([encode(column) for column in columns[:n_inputs]]))
    is_regression = path.stem in REGRESSION
    y = encode(columns[n_inputs]) if is_regression else encode_classes(columns[n_inputs])
    return X, min_max(y) if is_regression else y


@cache
def held_out_rows(experiment: Path) -> np.ndarray:
    """Rows of the authors' test set: the last fifth of their shuffled order."""
    order = json.loads(json.loads(experiment.read_text())["n_data_rand_secquence"])
    return np.array(order[int(0.8 * len(order)) :])


def r2(y: np.ndarray, predicted: np.ndarray) -> float:
    return 1.0 - np.sum((y - predicted) ** 2) / np.sum((y - y.mean()) ** 2)


def score(tree: NeuralTree, X: np.ndarray, y: np.ndarray) -> float:
    outputs = tree.forward(X)
    if tree.n_outputs == 1:
        return r2(y, outputs[:, 0])
    return float(np.mean(np.argmax(outputs, axis=1) == y))


# -- tests --------------------------------------------------------------------------------


def test_there_are_270_trees_by_six_optimizers(expected):
    assert len(expected) == 270
    assert {row["optimizer"] for row in expected} == OPTIMIZERS


def test_every_tree_has_the_recorded_structure(models, expected):
    for row in expected:
        tree = load(models, row)
        counts = (tree.size, tree.n_function_nodes, tree.n_leaves, tree.paper_parameter_count)
        recorded = [int(row[key]) for key in ("size", "function_nodes", "leaves", "parameters")]
        assert counts == tuple(recorded), name(row)
        assert (tree.n_outputs == 1) == (row["dataset"] in REGRESSION), name(row)
        assert tree.hidden_activation == tree.output_activation == "sigmoid", name(row)
        assert tree.depth <= 5, name(row)


def test_the_task_can_be_given(models, expected):
    for row in expected[::30]:
        task = "regression" if row["dataset"] in REGRESSION else "classification"
        assert load(models, row, task=task) == load(models, row), name(row)


def test_our_format_keeps_every_tree(models, expected):
    for row in expected[::10]:
        tree = load(models, row)
        assert NeuralTree.from_json(tree.to_json()) == tree, name(row)


def test_every_tree_scores_what_the_authors_recorded(shared, models, expected):
    for row in expected:
        X, y = table(shared / "data" / f"{row['dataset']}.csv")
        test = held_out_rows(models / row["dataset"] / row["run"] / "experiment.txt")
        tree = load(models, row, n_inputs=X.shape[1])
        assert score(tree, X[test], y[test]) == pytest.approx(
            float(row["test_score"]), rel=0, abs=1e-9
        ), name(row)


def read_idx(path: Path, header_size: int) -> np.ndarray:
    with gzip.open(path) as file:
        return np.frombuffer(file.read(), dtype=np.uint8, offset=header_size)


def test_the_mnist_tree_errs_on_774_of_10000_digits(shared, models):
    X = read_idx(shared / "mnist" / "t10k-images-idx3-ubyte.gz", 16).reshape(-1, 784)
    y = read_idx(shared / "mnist" / "t10k-labels-idx1-ubyte.gz", 8)
    tree = read_authors_tree(models / "mnist_10k.json", n_inputs=784)
    assert tree.paper_parameter_count == 11_987
    wrong = np.argmax(tree.forward(X / 256.0), axis=1) != y
    assert wrong.sum() == 774
    # the same with the scaling inside the tree, on the bytes themselves
    scaled = tree.with_input_scaling(0.0, 1.0 / 256.0)
    assert np.array_equal(np.argmax(scaled.forward(X), axis=1) != y, wrong)
