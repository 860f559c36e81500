"""The SQL expression computes what the model computes, in real databases."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from bneuralt import BNeuralForestClassifier, BNeuralTClassifier, BNeuralTRegressor, NeuralTree
from bneuralt.explaining import explain
from bneuralt.model import Model
from bneuralt.tree.activations import NAMES
from tests.helpers.comparison import assert_same
from tests.helpers.databases import DATABASES, TABLE
from tests.helpers.fitted_models import random_model
from tests.helpers.flat import flat
from tests.helpers.runners import available, compare, compare_contributions


@pytest.fixture(scope="module", params=list(DATABASES))
def runner(request):
    with available(request.param) as runner:
        yield runner


@pytest.fixture
def database(runner):
    return runner.database


@pytest.mark.parametrize("seed", range(0, 32, 2))
def test_sql_equals_the_model(runner, seed):
    compare(runner, random_model(seed, 40))


@pytest.mark.parametrize("seed", range(1, 32, 2))
def test_contributions_are_those_of_explain(runner, seed):
    compare_contributions(runner.contributions, random_model(seed, 40))


def test_contributions_that_are_too_large_are_no_error(runner):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    model = flat(
        BNeuralTRegressor,
        loss="poisson",
        scale="standard",
        ramps=0,
        activation="linear",
        dtype="float64",
        random_state=0,
    )
    model.fit(X, rng.poisson(np.exp(X[:, 0] - X[:, 1])))
    # Columns contribute large numbers of opposite signs to an output that can be computed.
    start, first, second = np.log(model.predict([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    one = 1e6 / (first - start)
    other = (np.linspace(690.0, 708.0, 37) - start - 1e6) / (second - start)
    steps = np.column_stack([np.full(37, one), other])
    rows = pd.DataFrame(steps, columns=[c.name for c in model.model_.columns])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = explain(model.model_, rows).values
    assert np.isinf(expected).any()
    values = runner.contributions(model.model_, rows)
    expected, values = (np.clip(each, -1e300, 1e300) for each in (expected, values))
    np.testing.assert_allclose(values, expected, rtol=1e-9)


def test_contributions_to_one_class():
    X, y = load_iris(return_X_y=True)
    two = BNeuralTClassifier(max_epochs=2, random_state=0).fit(X[:100], y[:100])
    second, first = two.to_sql(of=1, contributions=True), two.to_sql(of=0, contributions=True)
    assert second == two.to_sql(contributions=True) != first
    three = BNeuralTClassifier(max_epochs=2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"to one score: choose a class by of= \(0, 1, 2\)"):
        three.to_sql(contributions=True)


def test_expressions_have_a_line_for_each_result():
    X, y = load_iris(return_X_y=True)
    text = BNeuralTRegressor(n_weights=30, max_epochs=2, random_state=0).fit(X, y).to_sql()
    assert max(map(len, text.splitlines())) <= 100
    assert text.splitlines()[:2] == ["(", "  WITH"] and text[-2:] == "\n)"


def test_hostile_names_do_no_harm(database):
    """Names of columns, categories and classes that try to end the expression."""
    attack = f"x'); DROP TABLE {database.quoted(TABLE)}; --"
    columns = [
        attack,
        '"; SELECT 1; --',
        "`",
        "''",
        "\\'",
        "a\nb",
        "select",
        "b_i0",
        "B__m0",
        "b_layer0",
    ]
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 10)), columns=columns)
    words = np.array([attack, "\\' OR 1=1 --", "'", "%s {0}"])
    X["kind"] = pd.Series(words[rng.integers(0, 4, 60)], dtype=object)
    y = np.array([attack, "\\'; --"])[rng.integers(0, 2, 60)]
    model = BNeuralTClassifier(max_epochs=3, random_state=0).fit(X, y)
    database.fill(X)
    label, share = (
        model.to_sql(dialect=database.name),
        model.to_sql(dialect=database.name, of=attack),
    )
    rows = database.evaluate(label, share)
    position = list(model.classes_).index(attack)
    expected = model.predict_proba(X)[:, position]
    assert_same(np.array([row[1] for row in rows]), expected, 1e-5)
    clear = np.abs(expected - 0.5) > 1e-4
    assert clear.any() and set(y) == {attack, "\\'; --"}
    assert [row[0] for row in np.array(rows)[clear]] == model.predict(X)[clear].tolist()
    assert database.execute(f"SELECT COUNT(*) FROM {database.quoted(TABLE)}").fetchone() == (60,)


def test_categories_may_be_numbers_or_truth_values(database):
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"code": rng.integers(0, 4, 80), "on": rng.integers(0, 2, 80) > 0,
                      "x": rng.normal(size=80)})  # fmt: skip
    y = X["code"] * 2.0 - X["on"] + X["x"]
    model = BNeuralTRegressor(categorical_features=["code", "on"], max_epochs=5, random_state=0)
    model.fit(X, y)
    table = X.assign(code=X["code"], on=X["on"].astype(str))
    database.fill(table)
    values = np.array(database.evaluate(model.to_sql(dialect=database.name)))[:, 0]
    assert_same(values, model.predict(X), 1e-4)


def test_cells_of_a_csv_file_are_texts_in_sqlite():
    """`.import` of the sqlite3 program makes columns of texts, in which gaps are texts as well."""
    rng = np.random.default_rng(2)
    days = pd.Timestamp("2020-01-30") + pd.to_timedelta(np.arange(60), "D")
    X = pd.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60), "day": days})
    X = X.mask(rng.random(X.shape) < 0.2)
    y = X["a"].fillna(3.0) * X["day"].dt.month.fillna(7)
    model = BNeuralTRegressor(max_epochs=5, dtype="float64", random_state=0).fit(X, y)
    gaps = np.array(["", "NA", " n/a ", "None", "?"])[rng.integers(0, 5, X.shape)]
    texts = X.astype(object).where(X.isna(), X.astype(str)).where(X.notna(), gaps)
    with DATABASES["sqlite"]() as database:
        if reason := database.why_not():
            pytest.skip(reason)
        database.fill(texts)
        values = np.array(database.evaluate(model.to_sql()))[:, 0]
    assert_same(values, model.predict(X), 1e-10)


def test_unknown_columns_are_errors(database):
    model = BNeuralTRegressor(max_epochs=1, random_state=0)
    model.fit(pd.DataFrame({"a": np.arange(20.0), "b": np.arange(20.0) % 3}), np.arange(20.0))
    database.fill(pd.DataFrame({"a": [1.0]}))
    with pytest.raises(Exception, match="b"):
        database.evaluate(model.to_sql(dialect=database.name))


# -- bad input ---------------------------------------------------------------------------


def fitted(columns=("a", "b"), y=None, **options):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 2)), columns=list(columns))
    y = np.arange(30) % 3 if y is None else y
    return BNeuralTClassifier(max_epochs=1, random_state=0, **options).fit(X, y)


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match=r"dialect='oracle' is unknown: use one of sqlite"):
        fitted().to_sql(dialect="oracle")
    with pytest.raises(ValueError, match=r"of=7 is not an output of the model: they are 0, 1, 2"):
        fitted().to_sql(of=7)
    with pytest.raises(ValueError, match="several labels: choose one"):
        fitted(y=np.eye(3, dtype=int)[np.arange(30) % 3]).to_sql()
    with pytest.raises(NotFittedError):
        BNeuralTClassifier().to_sql()
    with pytest.raises(ValueError, match=r"column 'a\\x00' has a name that SQL cannot express"):
        fitted(["a\x00", "b"]).to_sql()


def test_trees_of_any_shape_fit_the_parser(runner):
    """Deep chains and wide sums of every activation."""
    rng = np.random.default_rng(0)
    for seed in range(6):
        is_wide = seed % 2
        tree = NeuralTree.random(
            5,
            2,
            max_depth=3 if is_wide else 10,
            max_children=30 if is_wide else 2,
            leaf_probability=0.8 if is_wide else 0.3,
            activation=list(NAMES),
            random_state=seed,
        )
        model = Model.of_tree(tree)
        rows = pd.DataFrame(rng.normal(size=(5, 5)), columns=[c.name for c in model.columns])
        outputs = model.outputs(rows.to_numpy())[0]
        assert_same(runner.predict(model, rows)[1], outputs, 1e-9)


def test_a_forest_too_large_for_the_database_is_refused():
    X = np.random.default_rng(0).normal(size=(40, 10))
    forest = BNeuralForestClassifier(n_estimators=150, max_epochs=1, random_state=0)
    forest.fit(X, np.arange(40) % 4)
    with pytest.raises(ValueError, match="use fewer or smaller trees"):
        forest.to_sql()


def test_values_of_categories_in_a_table(database):
    rng = np.random.default_rng(0)
    shop, size = rng.integers(0, 700, 3_000), rng.normal(size=3_000)
    X = pd.DataFrame({"shop": [f"it's {i}" for i in shop], "size": size})
    X.loc[::50, "shop"] = None
    y = rng.normal(size=700)[shop] + size > 0
    model = BNeuralTClassifier(max_epochs=3, dtype="float64", random_state=0).fit(X, y)
    options = {"dialect": database.name, "of": True, "table": 'a "table of values'}
    statements = model.to_sql(**options, create=True)
    assert statements.count("INSERT") == 2
    for statement in statements.split(";\n"):
        database.execute(statement)
    rows = X[:60].copy()
    rows.loc[3:5, "shop"] = "a new one"
    database.fill(rows)
    values = [value for (value,) in database.evaluate(model.to_sql(**options))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = model.predict_proba(rows)[:, 1]
    np.testing.assert_allclose(values, expected, rtol=1e-12)
    whole = model.to_sql(dialect=database.name, of=True)
    assert "it''s 7" in whole and "it''s 7" not in model.to_sql(**options)
    database.execute(f"DROP TABLE {database.quoted(options['table'])}")


def test_tables_of_values_that_are_not_needed():
    X, y = load_iris(return_X_y=True)
    model = BNeuralTClassifier(max_epochs=2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="table='t' is for columns of many values"):
        model.to_sql(table="t")
    with pytest.raises(ValueError, match="create=True needs the name of the table"):
        model.to_sql(create=True)
