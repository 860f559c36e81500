"""The JavaScript function computes what the model computes, in Node and in a browser."""

import json
import subprocess

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from bneuralt import BNeuralTClassifier, BNeuralTRegressor
from tests.helpers.fitted_models import random_model
from tests.helpers.quick import cases
from tests.helpers.runners import available, compare, compare_contributions, json_rows


@pytest.fixture(scope="module")
def node():
    return available("javascript")


@pytest.fixture(scope="module")
def chromium():
    with available("chromium") as runner:
        yield runner


@pytest.mark.parametrize("seed", range(cases(32, quick=16)))
def test_node_equals_the_model(node, seed):
    compare(node, random_model(seed, 100))


@pytest.mark.parametrize("seed", range(cases(32, quick=16)))
def test_contributions_are_those_of_explain(node, seed):
    compare_contributions(node.contributions, random_model(seed, 40))


@pytest.mark.parametrize("seed", range(0, 32, 5))
def test_browser_equals_the_model(chromium, seed):
    compare(chromium, random_model(seed, 40))


def test_a_script_element_makes_the_function_global(chromium, tmp_path):
    drawn = random_model(24)
    (tmp_path / "model.js").write_text(drawn.model.to_javascript(name="risk"), encoding="utf-8")
    page = '<!doctype html><meta charset="utf-8"><script src="model.js"></script>'
    (tmp_path / "page.html").write_text(page)
    chromium.page.open(tmp_path / "page.html")
    row = json_rows(drawn.rows)[0]
    result = chromium.page.run(f"return window.risk({json.dumps(row)});")
    assert result["label"] in drawn.model.classes_
    assert chromium.page.run("return risk.classes;") == drawn.model.classes_.tolist()


def run_file(folder, code, name="test.mjs"):
    (folder / name).write_text(code)
    done = subprocess.run(["node", name], cwd=folder, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_modules_can_import_the_function(node, tmp_path):
    drawn = random_model(1)
    source = drawn.model.to_javascript(name="risk")
    show = f"console.log(JSON.stringify(risk({json.dumps(json_rows(drawn.rows)[0])})));"
    (tmp_path / "model.cjs").write_text(source)
    (tmp_path / "model.mjs").write_text(source + "export { risk };")
    common = run_file(tmp_path, f'import {{ risk }} from "./model.cjs"; {show}')
    assert run_file(tmp_path, f'import {{ risk }} from "./model.mjs"; {show}') == common


def test_a_row_may_be_an_object_or_a_typed_array(node, tmp_path):
    drawn = random_model(24)
    row = json_rows(drawn.rows)[0]
    source, by_name = drawn.model.to_javascript(), dict(zip(drawn.rows.columns, row, strict=True))
    first, second = node.results(source, [row, by_name])
    assert first == second
    X = np.random.default_rng(0).normal(size=(30, 2))
    numbers = BNeuralTRegressor(max_epochs=1, random_state=0).fit(X, X[:, 0]).to_javascript()
    code = f"{numbers}\nconsole.log(predict(Float64Array.of(1, 2)) - predict([1, 2]));"
    assert run_file(tmp_path, code, "test.cjs") == 0


def test_bad_rows_are_errors(node):
    source = random_model(27).model.to_javascript()
    good = json_rows(random_model(27).rows)[0]
    for row, message in [
        (good[:-1], f"{len(good) - 1} values, not {len(good)}"),
        ({"a b": 1}, "the row has no column"),
        (["tall", *good[1:]], "tall is not a number"),
        ([{}, *good[1:]], "is not a number"),
        ([*good[:-1], "soon"], "soon is not a date"),
    ]:
        with pytest.raises(RuntimeError, match=message):
            node.results(source, [row])


def test_values_may_be_texts_dates_or_missing(node, tmp_path):
    drawn = random_model(27)
    source, row = drawn.model.to_javascript(), json_rows(drawn.rows)[0]
    words = np.resize(["", "NA", "?", "null", "nan", "None"], len(row)).tolist()
    first, *others = node.results(source, [[None] * len(row), words])
    assert others == [first]
    texts = [None if value is None else str(value) for value in row]
    assert len({json.dumps(result) for result in node.results(source, [row, texts])}) == 1
    begin = json.dumps(row[:-1])[1:-1]
    code = (
        f"{source}\nconst show = (day) => JSON.stringify(predict([{begin}, day]));"
        'console.log(show(new Date(2024, 4, 31, 14)) === show("2024-05-31 14:00"), '
        "show(undefined) === show(NaN));"
    )
    (tmp_path / "test.cjs").write_text(code.replace("null,", "undefined,"))
    done = subprocess.run(
        ["node", "test.cjs"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "true true\n"


def test_categories_may_be_numbers_or_truth_values(node):
    rng = np.random.default_rng(1)
    codes = np.array([0.00001, 2.5, 1e22, 3.0])[rng.integers(0, 4, 80)]
    X = pd.DataFrame({"code": codes, "on": rng.integers(0, 2, 80) > 0, "x": rng.normal(size=80)})
    X["word"] = X["on"].astype(object)
    y = np.argsort(codes) * 2.0 - X["on"] + X["x"]
    model = BNeuralTRegressor(
        categorical_features=["code", "on", "word"], max_epochs=5, dtype="float64", random_state=0
    ).fit(X, y)
    rows = [[float(a), bool(b), float(x), bool(w)] for a, b, x, w in X.to_numpy().tolist()]
    np.testing.assert_allclose(node.results(model.to_javascript(), rows), model.predict(X))


def test_hostile_names_stay_text(node):
    names = ["*/ process.exit(1) //", "\u2028throw 1", "`${1}`", "\x00", "__proto__"]
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 5)), columns=names)
    y = np.array(['"];throw 1;["', "__proto__"])[(X.iloc[:, 0] > 0).to_numpy().astype(int)]
    model = BNeuralTClassifier(max_epochs=2, random_state=0).fit(X, y)
    results = node.results(model.to_javascript(), X.to_numpy().tolist())
    assert {result["label"] for result in results} <= set(y)


def test_a_page_can_carry_the_code(chromium, tmp_path):
    """Names and texts that end a script element do not end this one."""
    names = ["</script><b>", "<!--", "x"]
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=names)
    X["x"] = pd.Series(np.array(["</script>", "<script>"])[rng.integers(0, 2, 60)], dtype=object)
    y = np.array(["</script>", "other"])[(X.iloc[:, 0] > 0).to_numpy().astype(int)]
    source = BNeuralTClassifier(max_epochs=2, random_state=0).fit(X, y).to_javascript(name="f")
    assert "</script" not in source and "<!--" not in source
    page = f'<!doctype html><meta charset="utf-8"><script>{source}</script>'
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    chromium.page.open(tmp_path / "page.html")
    assert chromium.page.run("return f.classes;") == ["</script>", "other"]


@pytest.mark.parametrize("name", ["", "1a", "class", "a b", "module", "f() {}; function g"])
def test_names_that_javascript_does_not_allow_are_refused(name):
    with pytest.raises(ValueError, match="name="):
        random_model(0).model.to_javascript(name=name)


def test_an_unfitted_model_is_refused():
    with pytest.raises(NotFittedError):
        BNeuralTClassifier().to_javascript()
