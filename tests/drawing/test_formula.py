"""Formulas: text, LaTeX and SymPy expressions compute what the model computes."""

import math
import re

import numpy as np
import pandas as pd
import pytest

from bneuralt import (
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    NeuralTree,
    to_formula,
)
from bneuralt.reference import VALUE
from bneuralt.tree.activations import NAMES

N_TREES, N_INPUTS = 200, 6


def random_tree(seed):
    """A tree of up to 3 outputs with all activations, and weights of very different sizes."""
    rng = np.random.default_rng(seed)
    tree = NeuralTree.random(
        N_INPUTS,
        int(rng.integers(1, 4)),
        max_depth=int(rng.integers(1, 4)),
        max_children=3,
        activation=list(NAMES),
        output_activation=str(rng.choice(["linear", "sigmoid"])),
        random_state=rng,
    )
    size = 10.0 ** rng.uniform(-3, 0.3, tree.n_parameters)
    return tree.with_parameters(tree.parameters * size + rng.normal(0, 0.1, tree.n_parameters))


def trees_and_rows():
    for seed in range(N_TREES):
        yield random_tree(seed), np.random.default_rng(seed + 10_000).normal(size=N_INPUTS)


def test_text_is_the_model():
    for tree, x in trees_and_rows():
        text = to_formula(tree)
        values = {f"x{i}": value for i, value in enumerate(x)}
        lines = [line for line in text.splitlines() if not line.startswith("where")]
        assert len(lines) == tree.n_outputs
        found = [eval(line.split(" = ", 1)[1], {**VALUE, **values}) for line in lines]
        np.testing.assert_allclose(found, tree.forward(x), rtol=1e-9, atol=1e-9)


def test_sympy_expressions_are_the_model():
    sympy = pytest.importorskip("sympy")
    symbols = [sympy.Symbol(f"x{i}", real=True) for i in range(N_INPUTS)]
    for tree, x in trees_and_rows():
        expressions = to_formula(tree, "sympy")
        computed = sympy.lambdify(symbols, list(expressions.values()), "math")
        np.testing.assert_allclose(computed(*x), tree.forward(x), rtol=1e-9, atol=1e-9)


def latex_lines(tree):
    text = to_formula(tree, "latex")
    lines = text.removeprefix("\\begin{aligned}\n").removesuffix("\n\\end{aligned}")
    return [line.split("&=", 1)[1] for line in lines.split(" \\\\\n")[: tree.n_outputs]]


#: LaTeX as Python: what formulas consist of, and nothing else.
TRANSLATIONS = [
    (r" \\cdot 10\^\{(-?\d+)\}", r"e\1"),
    (r"\\left\(", "("),
    (r"\\right\)", ")"),
    (r"\\cdot", "*"),
    (r"\\sigma", "sigmoid"),
    (r"\\tanh", "tanh"),
    (r"\\operatorname\{(.*?)\}", r"\1"),
    (r"\\_", "_"),
    (r"x_\{(\d+)\}", r"x\1"),
]


def test_latex_parsed_back_is_the_model():
    for tree, x in trees_and_rows():
        values = {f"x{i}": value for i, value in enumerate(x)}
        for formula, expected in zip(latex_lines(tree), tree.forward(x), strict=True):
            for pattern, replacement in TRANSLATIONS:
                formula = re.sub(pattern, replacement, formula)
            found = eval(formula, {**VALUE, **values})
            assert found == pytest.approx(float(expected), rel=1e-9, abs=1e-9)


def test_latex_parsed_by_sympy_is_the_model():
    sympy = pytest.importorskip("sympy")
    pytest.importorskip("antlr4", reason="SymPy reads LaTeX with antlr4-python3-runtime")
    from sympy.parsing.latex import parse_latex

    # The parser knows functions of one letter, and needs minutes for nested parentheses.
    letters = dict(zip(NAMES, "abcfghjklm", strict=True))
    functions = {letter: VALUE[name] for name, letter in letters.items()}
    symbols = [sympy.Symbol(f"x_{{{i}}}") for i in range(N_INPUTS)]
    for seed in range(5):
        tree = NeuralTree.random(
            N_INPUTS, 1, max_depth=1, max_children=2, activation=list(NAMES),
            output_activation="linear", random_state=seed,
        )  # fmt: skip
        x = np.random.default_rng(seed).normal(size=N_INPUTS)
        formula = latex_lines(tree)[0].replace(r"\sigma", letters["sigmoid"])
        formula = re.sub(
            r"\\operatorname\{(.*?)\}", lambda m: letters[m[1].replace("\\_", "_")], formula
        )
        computed = sympy.lambdify(symbols, parse_latex(formula), [functions, "math"])
        assert computed(*x) == pytest.approx(float(tree.forward(x)[0]), rel=1e-9, abs=1e-9)


def test_names_of_the_table_and_indicators():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"net income": rng.normal(size=200), "colour": rng.choice(list("rgb"), 200)})
    X.loc[:30, "net income"] = np.nan
    y = X["net income"].fillna(2) + (X["colour"] == "r")  # gaps tell something of the target
    reg = BNeuralTRegressor(n_weights=40, random_state=0).fit(X, y)
    text = to_formula(reg)
    assert text.startswith("y = ")
    assert {"[net income]", "[net income is missing]", "[colour = r]"} <= set(
        re.findall(r"\[.*?\]", text)
    )
    row = {"[net income]": 0.5, "[net income is missing]": 0.0, "[colour = r]": 1.0}
    formula = text.splitlines()[0].removeprefix("y = ")
    formula = re.sub(r"\[.*?\]", lambda match: repr(row.get(match[0], 0.0)), formula)
    expected = reg.predict(pd.DataFrame({"net income": [0.5], "colour": ["r"]}))[0]
    assert eval(formula, dict(VALUE)) == pytest.approx(expected, rel=1e-6)
    latex = to_formula(reg, "latex")
    assert r"\text{net income}" in latex and r"[\text{colour} = r]" in latex


def test_scores_of_classes():
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = np.where(X[:, 0] > X[:, 1], "up", "down")
    clf = BNeuralTClassifier(n_weights=30, random_state=0).fit(X, y)
    expressions = to_formula(clf, "sympy")
    assert list(expressions) == ["down", "up"]
    values = {
        symbol: X[7, int(symbol.name[1:])]
        for e in expressions.values()
        for symbol in e.free_symbols
    }
    scores = [float(e.subs(values)) for e in expressions.values()]
    share = math.exp(scores[1]) / sum(map(math.exp, scores))
    assert share == pytest.approx(clf.predict_proba(X[7:8])[0, 1], rel=1e-5)


def test_rounded_weights_and_special_characters():
    tree = NeuralTree(2, 1, [-1], [0], [0, 0], [0, 1], [0.0, 1.23456, -1e-12])
    assert to_formula(tree, digits=3) == "y = 1.23*x0 - 1e-12*x1"
    assert r"1.23 \cdot x_{0} - 1 \cdot 10^{-12} \cdot x_{1}" in to_formula(tree, "latex", digits=3)
    latex = to_formula(tree, "latex", feature_names=["a_b%", "\\evil{}"])
    assert r"\text{a\_b\%}" in latex and r"\text{\textbackslash{}evil\{\}}" in latex


def test_only_formulas_that_can_be_read():
    with pytest.raises(ValueError, match="formulas are written for at most 1,000 weights"):
        to_formula(NeuralTree.random(5, 3, n_weights=2000, random_state=0))
    chain = NeuralTree(1, 1, np.arange(-1, 98), [1] * 99, [98], [0], np.ones(198))
    with pytest.raises(ValueError, match="on 99 levels"):
        to_formula(chain)
    X = np.random.default_rng(0).normal(size=(100, 2))
    forest = BNeuralForestRegressor(n_estimators=2, n_weights=10, random_state=0).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="mean of 2 trees: choose one with tree=0"):
        to_formula(forest)
    assert to_formula(forest, tree=1) == to_formula(forest.estimators_[1])
    with pytest.raises(ValueError, match="format='html' must be"):
        to_formula(forest, "html")
