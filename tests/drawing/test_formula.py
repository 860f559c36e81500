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
)
from bneuralt.drawing.formula import digits_that_matter
from bneuralt.drawing.formula import to_formula as formula_of
from bneuralt.drawing.notation import LatexNotation, SympyNotation, TextNotation
from bneuralt.expressions import Expression, constant, evaluate, square, variable
from bneuralt.expressions.operations import NUMERIC
from bneuralt.model import Model
from bneuralt.tree.activations import EXPRESSIONS, NAMES
from tests.helpers.expression_samples import NUMBERS
from tests.reference import VALUE

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


def to_formula(tree, *args, **options):
    return formula_of(Model.of_tree(tree), *args, **options)


def computed(lines, values):
    """Evaluate lines of text, the last of which may define functions."""
    names = {"nan": math.nan, "isnan": math.isnan, "abs": abs, "max": max, "min": min, **values}
    names |= {name: getattr(math, name) for name in ("exp", "log", "sqrt", "tanh")}
    for line in lines:
        if line.startswith("where "):
            head, body = line.removeprefix("where ").split(" = ", 1)
            name, arguments = head.removesuffix(")").split("(")
            names[name] = eval(f"lambda {arguments}: {body}", names)
    return [eval(x.split(" = ", 1)[1], names) for x in lines if not x.startswith("where ")]


def trees_and_rows():
    for seed in range(N_TREES):
        yield random_tree(seed), np.random.default_rng(seed + 10_000).normal(size=N_INPUTS)


def test_text_is_the_model():
    for tree, x in trees_and_rows():
        values = {f"x{i}": value for i, value in enumerate(x)}
        outputs = computed(to_formula(tree).splitlines(), values)
        np.testing.assert_allclose(outputs, tree.forward(x), rtol=1e-9, atol=1e-9)


def test_sympy_expressions_are_the_model():
    sympy = pytest.importorskip("sympy")
    symbols = [sympy.Symbol(f"x{i}", real=True) for i in range(N_INPUTS)]
    for tree, x in trees_and_rows():
        expressions = to_formula(tree, "sympy")
        outputs = sympy.lambdify(symbols, list(expressions.values()), "math")(*x)
        np.testing.assert_allclose(outputs, tree.forward(x), rtol=1e-9, atol=1e-9)


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
            output = eval(formula, {**VALUE, **values})
            assert output == pytest.approx(float(expected), rel=1e-9, abs=1e-9)


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
        output = sympy.lambdify(symbols, parse_latex(formula), [functions, "math"])(*x)
        assert output == pytest.approx(float(tree.forward(x)[0]), rel=1e-9, abs=1e-9)


def nested():
    """Each numeric operation, and each in every place that could need parentheses."""
    yield from NUMBERS.items()
    c = variable("c")
    for name in NUMERIC:
        inner = NUMBERS[name]
        yield f"square({name})", square(inner)
        for outer in ("add", "subtract", "multiply", "divide"):
            yield f"{outer}({name}, c)", Expression(outer, (inner, c))
            yield f"{outer}(c, {name})", Expression(outer, (c, inner))
    yield "signs", (c - constant(-2.0)) * constant(-1.0) - constant(-1.0) * c


@pytest.mark.parametrize(("name", "expression"), list(nested()), ids=lambda x: str(x)[:30])
def test_every_operation_can_be_written(name, expression):
    values = {"a": 0.75, "b": 2.5, "c": -1.25}
    expected = float(evaluate(expression, {k: np.float64(x) for k, x in values.items()}))
    notation = TextNotation()
    lines = [f"value = {notation.spelled(expression).text}"]
    lines += [f"where {h} = {notation.spelled(e).text}" for h, e in notation.definitions.items()]
    assert computed(lines, values)[0] == pytest.approx(expected, rel=1e-12)
    latex = LatexNotation().spelled(expression).text
    assert latex.count("{") == latex.count("}")
    assert latex.count(r"\left") == latex.count(r"\right")
    pytest.importorskip("sympy")
    value = SympyNotation().converted(expression, values)
    assert float(value) == pytest.approx(expected, rel=1e-12)


def test_every_activation_is_defined_in_latex():
    for name, expression in EXPRESSIONS.items():
        text = LatexNotation().spelled(expression).text
        assert all(variable in text for variable in expression.variables), name


def test_names_of_the_table_and_indicators():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"net income": rng.normal(size=200), "colour": rng.choice(list("rgb"), 200)})
    X.loc[:30, "net income"] = np.nan
    y = X["net income"].fillna(2) + (X["colour"] == "r")  # gaps tell something of the target
    reg = BNeuralTRegressor(n_weights=40, random_state=0, scale="standard").fit(X, y)
    text = reg.to_formula(digits=None)
    assert text.startswith("y = ")
    assert {"[net income]", "[net income is missing]", "[colour=r]"} <= set(
        re.findall(r"\[.*?\]", text)
    )
    row = {"[net income]": 0.5, "[net income is missing]": 0.0, "[colour=r]": 1.0}
    formula = text.splitlines()[0].removeprefix("y = ")
    formula = re.sub(r"\[.*?\]", lambda match: repr(row.get(match[0], 0.0)), formula)
    expected = reg.predict(pd.DataFrame({"net income": [0.5], "colour": ["r"]}))[0]
    lines = [f"y = {formula}", *text.splitlines()[1:]]
    assert computed(lines, {})[0] == pytest.approx(expected, rel=1e-6)
    latex = reg.to_formula(format="latex")
    assert r"\text{net income}" in latex and r"[\text{colour=r}]" in latex


def test_symbols_of_formulas_are_inputs():
    sympy = pytest.importorskip("sympy")
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"net income": rng.standard_cauchy(300), "age": rng.uniform(18, 90, 300)})
    y = X["net income"].clip(-2, 2) + (X["age"] > 65)
    reg = BNeuralTRegressor(n_weights=20, dtype="float64", random_state=0).fit(X, y)
    (expression,) = reg.to_formula(format="sympy").values()
    names = reg.encoder_.input_names
    symbols = {symbol.name for symbol in expression.free_symbols}
    assert symbols <= set(names)
    ramps = symbols - set(X.columns)
    assert ramps and all(" from " in name for name in ramps)
    assert all(f"[{name}]" in reg.to_formula() for name in ramps)
    # of rows within and outside of the limits
    assert (X["net income"].abs() > 30).any()
    values = sympy.lambdify([sympy.Symbol(name, real=True) for name in names], expression, "numpy")
    computed_values = values(*reg.encoder_.encode(X.to_numpy()).T)
    np.testing.assert_allclose(computed_values, reg.predict(X), rtol=1e-9, atol=1e-9)


def test_two_classes_have_one_line():
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = np.where(X[:, 0] > X[:, 1], "up", "down")
    clf = BNeuralTClassifier(n_weights=30, random_state=0, scale="standard").fit(X, y)
    expressions = clf.to_formula(format="sympy")
    assert list(expressions) == ["log-odds of up"]
    (expression,) = expressions.values()
    values = {symbol: X[7, int(symbol.name[1:])] for symbol in expression.free_symbols}
    odds = float(expression.subs(values))
    np.testing.assert_allclose(1 / (1 + np.exp(-odds)), clf.predict_proba(X[7:8])[0, 1], rtol=1e-5)
    assert clf.to_formula().startswith("log-odds of up = ")
    assert clf.to_formula(output_names=["a", "b"]).startswith("log-odds of b = ")


def test_scores_of_three_classes():
    X = np.random.default_rng(0).normal(size=(200, 3))
    clf = BNeuralTClassifier(n_weights=30, random_state=0, scale="standard")
    clf.fit(X, X.argmax(axis=1))
    expressions = clf.to_formula(format="sympy")
    assert list(expressions) == ["0", "1", "2"]
    symbols = set().union(*(e.free_symbols for e in expressions.values()))
    values = {symbol: X[7, int(symbol.name[1:])] for symbol in symbols}
    scores = [float(e.subs(values)) for e in expressions.values()]
    np.testing.assert_allclose(
        np.exp(scores) / np.exp(scores).sum(), clf.predict_proba(X[7:8])[0], rtol=1e-5
    )


def test_rounded_weights_and_special_characters():
    tree = NeuralTree(2, 1, [-1], [0], [0, 0], [0, 1], [0.0, 1.23456, -1e-12])
    assert to_formula(tree, digits=3) == "y = 1.23*x0 - 1e-12*x1"
    assert r"1.23 \cdot x_{0} - 1 \cdot 10^{-12} \cdot x_{1}" in to_formula(tree, "latex", digits=3)
    latex = to_formula(tree, "latex", feature_names=["a_b%", "\\evil{}"])
    assert r"\text{a\_b\%}" in latex and r"\text{\textbackslash{}evil\{\}}" in latex


@pytest.mark.parametrize("seed", range(5))
def test_digits_that_matter(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 3)) * [1.0, 100.0, 1e-3] + [0.0, 1000.0, 0.0]
    y = X[:, 0] + np.tanh(X[:, 1] / 100)
    model = BNeuralTRegressor(n_weights=20, random_state=seed, scale="standard", ramps=0).fit(X, y)
    digits = digits_that_matter(model.tree_, model.model_.input_ranges)
    assert digits <= 6
    text = model.to_formula(simplified=False)
    assert text == model.to_formula(digits=digits, simplified=False)
    assert len(text) < len(model.to_formula(digits=None, simplified=False))
    for row in X[:20]:
        values = {f"x{i}": value for i, value in enumerate(row)}
        (output,) = computed(text.splitlines(), values)
        assert output == pytest.approx(model.predict([row])[0], abs=0.02 * y.std())


def test_wrong_digits_are_refused():
    tree = NeuralTree(1, 1, [-1], [0], [0], [0], [1.0, 2.0])
    for digits in ("all", 0):
        with pytest.raises(ValueError, match=f"digits={digits!r} must be"):
            to_formula(tree, digits=digits)


def test_only_formulas_that_can_be_read():
    with pytest.raises(ValueError, match="formulas are written for at most 1,000 weights"):
        to_formula(NeuralTree.random(5, 3, n_weights=2000, random_state=0))
    chain = NeuralTree(1, 1, np.arange(-1, 98), [1] * 99, [98], [0], np.ones(198))
    with pytest.raises(ValueError, match="on 99 levels"):
        to_formula(chain)
    X = np.random.default_rng(0).normal(size=(100, 2))
    forest = BNeuralForestRegressor(n_estimators=2, n_weights=10, random_state=0).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="mean of 2 trees: choose one with tree=0"):
        forest.to_formula()
    assert forest.to_formula(tree=1) == forest.estimators_[1].to_formula()
    with pytest.raises(ValueError, match="format='html' must be"):
        forest.to_formula(format="html")
