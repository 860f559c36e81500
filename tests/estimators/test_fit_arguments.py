"""Arguments of `fit` and `predict`: masked cells, missing targets, and forms that are refused."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier

import bneuralt
from bneuralt.estimators.kinds import find_class, registered_kinds

pl = pytest.importorskip("polars")  # there are no wheels for free-threaded Pythons

KINDS = [find_class(kind) for kind in registered_kinds() if hasattr(bneuralt, kind)]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
GAPS = RNG.random(X.shape) < 0.2
MASKED = np.ma.array(X, mask=GAPS)
WITH_NAN = np.where(GAPS, np.nan, X)
LABELS = (X[:, 0] > 0).astype(int)

each = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def small(kind):
    """Return an estimator that is trained quickly."""
    names = kind().get_params()
    wanted = {"n_generations": 1, "population_size": 4, "n_estimators": 2, "max_epochs": 2}
    parameters = {name: value for name, value in wanted.items() if name in names}
    return kind(random_state=0, **parameters)


def target_of(kind):
    return LABELS if is_classifier(kind()) else X[:, 0]


@each
def test_masked_cells_are_missing_values(kind):
    y = target_of(kind)
    model, same = small(kind).fit(MASKED, y), small(kind).fit(WITH_NAN, y)
    np.testing.assert_array_equal(model.predict(MASKED), same.predict(WITH_NAN))
    np.testing.assert_array_equal(
        model.explain(MASKED[:5]).values, same.explain(WITH_NAN[:5]).values
    )


@pytest.mark.parametrize(
    "table",
    [
        np.ma.array([[1, 2], [3, 4], [5, 6]] * 9),
        np.ma.array([["a", "b"], ["c", "b"], ["a", "d"]] * 9),
        np.ma.array([[True, False], [False, False], [True, True]] * 9),
        np.ma.array([["2024-01-01"], ["2025-02-03"], ["2026-07-08"]] * 9, dtype="datetime64[D]"),
        np.ma.array([[1, 2], [3, 4], [5, 6]] * 9, dtype=object),
    ],
    ids=["whole numbers", "text", "bool", "dates", "objects"],
)
def test_masks_of_all_types_are_used(table):
    table = table.copy()
    whole = bneuralt.TableTransformer().fit(table).transform(table)
    table[3:6, 0] = np.ma.masked
    transformer = bneuralt.TableTransformer().fit(table)
    encoded = transformer.transform(table)
    assert np.isfinite(encoded).all()
    assert not np.array_equal(encoded, whole)
    assert np.ptp(encoded[3:6, 0]) == 0  # all three are gaps


@each
@pytest.mark.parametrize("name", ["y", "sample_weight", "y_val"])
def test_masked_targets_and_weights_are_refused(kind, name):
    y = target_of(kind)
    values = {"y": y, "X_val": X, "y_val": y, "sample_weight": np.ones(60)}
    values[name] = np.ma.array(values[name], mask=np.isin(np.arange(60), (7, 9)))
    with pytest.raises(ValueError, match=f"^{name} is masked, first in row 7 .*rows: 2"):
        small(kind).fit(X, **values)


def test_one_masked_target_of_several_is_enough():
    y = np.ma.array(X[:, :2], mask=np.zeros((60, 2), dtype=bool))
    y[4, 1] = y[5, 0] = y[8] = np.ma.masked
    with pytest.raises(ValueError, match=r"^y is masked, first in row 4 .*rows: 3"):
        small(bneuralt.BNeuralTRegressor).fit(X, y)


def test_masked_targets_are_refused_by_scores():
    model = small(bneuralt.BNeuralTRegressor).fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"^y is masked, first in row 0"):
        model.score(X, np.ma.array(X[:, 0], mask=X[:, 0] == X[0, 0]))


def forms(y, gaps):
    """Yield a target with missing values in all forms that it may have."""
    objects = np.array([None if gap else value for value, gap in zip(y, gaps, strict=True)])
    yield objects
    yield objects.tolist()
    yield pd.Series(objects, name="price")
    yield pd.DataFrame({"price": objects})
    yield pl.Series(objects.tolist())
    if isinstance(y[0], str):
        yield pd.Series(objects, dtype="category")
        yield pd.Series(objects, dtype="string")
    else:
        yield np.where(gaps, np.nan, y)
        yield pd.Series(objects, dtype="Float64")
        yield np.column_stack([y, np.where(gaps, np.nan, y)])


@each
@pytest.mark.filterwarnings("ignore:A column-vector y")
def test_the_first_row_without_a_target_is_named(kind):
    gaps = np.isin(np.arange(60), (7, 9))
    targets = [target_of(kind).astype(float)]
    if is_classifier(kind()):
        targets.append(np.where(LABELS, "yes", "no"))
    for y in targets:
        for form in forms(y.tolist(), gaps):
            with pytest.raises(
                ValueError, match=r"^Input y contains NaN, first in row 7 .*rows: 2"
            ):
                small(kind).fit(X, form)
    with pytest.raises(ValueError, match=r"^Input y_val contains NaN, first in row 7"):
        small(kind).fit(X, y, X_val=X, y_val=form)


def test_the_first_infinite_target_is_named():
    y = X[:, 0].copy()
    y[[4, 5]] = np.inf
    with pytest.raises(ValueError, match=r"^Input y contains infinity, first in row 4 .*rows: 2"):
        small(bneuralt.BNeuralTRegressor).fit(X, y)


@each
@pytest.mark.parametrize("container", [list, tuple])
def test_lists_of_dicts_are_refused(kind, container):
    records = container({"a": float(x), "b": "no"} for x in X[:, 0])
    message = r"^X is a .* of dicts, .*: pass pandas.DataFrame\(X\)"
    with pytest.raises(TypeError, match=message):
        small(kind).fit(records, target_of(kind))
    model = small(kind).fit(pd.DataFrame(records), target_of(kind))
    for method in (model.predict, model.explain):
        with pytest.raises(TypeError, match=message):
            method(records)


COLUMN = np.arange(12.0)


@pytest.mark.parametrize(
    ("X", "hint"),
    [
        (COLUMN, r"np\.reshape\(X, \(-1, 1\)\) is one column"),
        (COLUMN.tolist(), r"np\.reshape\(X, \(1, -1\)\) one row"),
        (np.array(["a", "b"] * 6), r"np\.reshape\(X, \(-1, 1\)\)"),
        (pd.Series(COLUMN), r"X\.to_frame\(\) is one column"),
        (pl.Series(COLUMN), r"X\.to_frame\(\) is one column"),
    ],
    ids=["array", "list", "texts", "pandas", "polars"],
)
def test_a_single_column_is_no_table(X, hint):
    y = [0, 1] * 6
    message = rf"^X has the shape \(12,\), .*{hint}"
    with pytest.raises(ValueError, match=message):
        bneuralt.BNeuralTClassifier().fit(X, y)
    model = bneuralt.BNeuralTClassifier(max_epochs=1).fit(COLUMN[:, np.newaxis], y)
    with pytest.raises(ValueError, match=message):
        model.predict(X)


@pytest.mark.parametrize("X", [None, "table.csv"])
def test_texts_and_nothing_are_no_tables(X):
    with pytest.raises(TypeError, match=f"^X is {X!r}, which is no table: pass a data frame"):
        bneuralt.BNeuralTRegressor().fit(X, COLUMN)


@pytest.mark.parametrize("unit", ["datetime64[D]", "timedelta64[D]"])
def test_regressors_refuse_dates(unit):
    with pytest.raises(ValueError, match=r"^y has dates or durations, .*: pass a number"):
        bneuralt.BNeuralTRegressor().fit(COLUMN[:, np.newaxis], COLUMN.astype(unit))


def test_weights_of_labels_that_y_does_not_have_are_named():
    model = bneuralt.BNeuralTClassifier(class_weight={"c": 2})
    with pytest.raises(ValueError, match=r"^class_weight has 'c', .*: its classes are 'a', 'b'$"):
        model.fit(COLUMN[:, np.newaxis], ["a", "b"] * 6)
