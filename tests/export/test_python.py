"""The Python function computes what the model computes."""

import ast
import datetime as dt

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from bneuralt import BNeuralForestClassifier, BNeuralTClassifier, NeuralTree
from bneuralt.export.python import to_python
from bneuralt.expressions import OUTPUTS, ordered, square
from bneuralt.model import Model
from tests.helpers.fitted_models import random_model
from tests.helpers.runners import Python, compare, compare_contributions
from tests.helpers.sample_models import model_with_link

run = Python().results


@pytest.mark.parametrize("seed", range(32))
def test_python_equals_the_model(seed):
    compare(Python(), random_model(seed, 100))


def test_contributions_are_those_of_explain():
    attributed = [
        compare_contributions(Python().contributions, random_model(seed, 100)) for seed in range(32)
    ]
    assert sum(attributed) >= 16


def test_contributions_of_means_of_probabilities_are_refused():
    X, y = load_iris(return_X_y=True)
    forest = BNeuralForestClassifier(n_estimators=2, max_epochs=1, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="contributions are for means of numbers and for the"):
        forest.to_python(contributions=True)
    tree = NeuralTree.random(2, 1, random_state=0, output_activation="linear")
    with pytest.raises(ValueError, match="contributions need the means of the training rows"):
        to_python(Model.of_tree(tree), contributions=True)


def test_the_source_is_one_function_without_imports():
    tree = ast.parse(random_model(2).model.to_python(name="credit_risk"))
    (function,) = tree.body
    assert isinstance(function, ast.FunctionDef) and function.name == "credit_risk"
    assert not any(isinstance(node, (ast.Import, ast.ImportFrom)) for node in ast.walk(tree))
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert "__import__" not in names


def test_hostile_names_stay_text():
    import pandas as pd

    names = ['"""\nimport os\n"""', "'''", "\\", "\x00", "e\u0301"]
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 5)), columns=names)
    y = np.array(['"""', "');print(1)"])[(X.iloc[:, 0] > 0).to_numpy().astype(int)]
    model = BNeuralTClassifier(max_epochs=2, random_state=0).fit(X, y)
    source = model.to_python()
    (function,) = ast.parse(source).body
    assert not any(isinstance(n, (ast.Import, ast.ImportFrom)) for n in ast.walk(function))
    assert {label for label, _ in run(source, X.to_numpy())} <= set(y)


@pytest.mark.parametrize("name", ["", "1a", "def", "max", "a b", "f(x):\n  pass\ndef g"])
def test_names_that_python_does_not_allow_are_refused(name):
    with pytest.raises(ValueError, match="name="):
        random_model(0).model.to_python(name=name)


def test_values_may_be_texts_dates_or_missing():
    drawn = random_model(27)  # texts and dates
    source = drawn.model.to_python()
    row = drawn.rows.astype(object).to_numpy().tolist()[0]
    row[-1] = dt.datetime(2024, 5, 31, 14)
    as_text = [*row[:-1], "2024-05-31 14:00"]
    assert run(source, [row]) == run(source, [as_text])
    words = np.resize(["", "NA", "?", "null", "nan", "N/A"], len(row)).tolist()
    missing = [[None] * len(row), [float("nan")] * len(row), words]
    first, *others = run(source, missing)
    assert all(other == first for other in others)


def test_an_unfitted_model_is_refused():
    with pytest.raises(NotFittedError):
        BNeuralTClassifier().to_python()


def test_nodes_with_many_terms_compile():
    X = np.random.default_rng(0).normal(size=(20, 3500))
    tree = NeuralTree(3500, 1, [-1], [0], [0] * 3500, range(3500), np.ones(3501))
    (results,) = run(to_python(Model.of_tree(tree)), X[:1])
    assert np.isclose(results, X[0].sum() + 1)


def test_a_link_may_sort_twice():
    link = ordered(OUTPUTS, (2, 0, 1)) + ordered(square(OUTPUTS), (0, 1, 2))
    model = model_with_link(np.random.default_rng(0), link)
    rows = np.random.default_rng(1).normal(size=(5, 4))
    outputs = np.sort(model.trees[0].forward(rows), axis=1)
    squares = np.sort(np.square(outputs), axis=1)
    expected = outputs[:, [2, 0, 1]] + squares
    np.testing.assert_allclose(run(to_python(model), rows.tolist()), expected)
