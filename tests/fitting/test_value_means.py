"""Categories of many values: means of the target, without a trace of a row's own target."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    load_model,
    open_table,
)
from bneuralt.fitting.problem import read_problem
from bneuralt.fitting.rows import Rows
from bneuralt.fitting.value_means import (
    N_FOLDS,
    Sums,
    cross_fitted,
    fold_of_rows,
    with_codes,
)
from bneuralt.model.tasks import Classes, regression_task
from bneuralt.tables.columns import Column, Frame
from bneuralt.tables.encoder import learn_encoder
from bneuralt.tables.features import CategoryFeature, MeansFeature
from bneuralt.training.losses import get_loss
from bneuralt.warnings import IdentifierWarning

pytestmark = [
    pytest.mark.filterwarnings("ignore::bneuralt.warnings.RareValuesWarning"),
    pytest.mark.filterwarnings("ignore::bneuralt.warnings.UnseenValuesWarning"),
]

SMALL = {"n_estimators": 2, "max_epochs": 2, "n_weights": 40, "output_factor": 1.0}


def shops(seed=0, n=2_000, n_values=500, effect=1.0):
    """A table with a category of many values, and a number."""
    rng = np.random.default_rng(seed)
    value, size = rng.integers(0, n_values, n), rng.normal(size=n)
    y = effect * rng.normal(size=n_values)[value] + size + rng.normal(size=n)
    return pd.DataFrame({"shop": [f"s{i:04}" for i in value], "size": size}), y


def fitted(X, y, made=BNeuralForestRegressor, **options):
    return made(random_state=0, **{**SMALL, **options}).fit(X, y)


def means_of(model, column=0):
    feature = model.model_.encoder.features[column]
    return feature if isinstance(feature, MeansFeature) else None


def numbers_task():
    return regression_task(get_loss("squared_error"), 1)


def coded(code, y, task, n_values):
    """An encoder of a column of values and a number, and rows in the order of the arguments."""
    texts = tuple(f"v{i}" for i in range(n_values))
    column = Column("text", np.asarray(code), texts)
    feature = MeansFeature.of_values(column, np.ones(len(y)), 1)
    encoder = learn_encoder(
        Frame([column, Column("number", np.arange(float(len(y))))]),
        categorical_features={0: "all means"},
        target=y,
    )
    assert encoder.features[0] == feature
    encoder = with_codes(encoder, task)
    inputs = encoder.numbers(Frame([column, Column("number", np.arange(float(len(y))))]))
    return encoder, Rows(inputs, y, np.ones(len(y)))


# -- cross-fitting ------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [0, 2, 4])
@pytest.mark.parametrize("fold", range(N_FOLDS))
def test_the_target_of_a_fold_leaves_no_trace_in_its_inputs(n_classes, fold):
    rng = np.random.default_rng(fold)
    n, code = 400, rng.integers(0, 40, 400)
    task = Classes.learn(np.arange(n_classes), "") if n_classes else numbers_task()

    def target():
        y = code / 10 + rng.normal(size=n)
        return y.clip(0.5, n_classes - 0.5).astype(np.int32) if n_classes else y

    y, noise, own = target(), target(), fold_of_rows(0, n) == fold
    _, before = cross_fitted(*coded(code, y, task, 40), task)
    _, after = cross_fitted(*coded(code, np.where(own, noise, y).astype(y.dtype), task, 40), task)
    np.testing.assert_allclose(before.X[own], after.X[own], rtol=1e-12, atol=1e-12)
    assert not np.allclose(before.X[~own], after.X[~own])


def test_training_rows_are_cross_fitted_and_predictions_have_the_means_of_all_rows():
    X, y = shops()
    model = BNeuralTRegressor(**{k: v for k, v in SMALL.items() if k != "n_estimators"})
    problem = read_problem(model._options(), X, y)
    feature, rows = problem.encoder.features[0], problem.rows
    assert isinstance(feature, MeansFeature)
    own = dict(zip(feature.categories, feature.means[0], strict=True))
    predicted = np.array([own.get(shop, 0.0) for shop in X["shop"]])
    in_training = rows.X[rows.table_row, 0]
    noise = y - X["size"]
    assert np.corrcoef(predicted, noise)[0, 1] > np.corrcoef(in_training, noise)[0, 1] + 0.05
    np.testing.assert_allclose(problem.encoder.encode(X)[:, 0], predicted)


def test_equal_rows_and_rows_of_weight_two_are_the_same():
    X, y = shops(n_values=30, n=300)
    X["size"] = X["size"].round(0)
    y = y.round(0)
    weight = np.random.default_rng(0).integers(0, 4, 300)
    form = {"categorical_features": {"shop": "means"}}
    weighed = BNeuralForestRegressor(random_state=0, **SMALL, **form).fit(X, y, weight)
    repeated = fitted(X.loc[X.index.repeat(weight)], np.repeat(y, weight), **form)
    np.testing.assert_array_equal(weighed.predict(X), repeated.predict(X))
    order = np.random.default_rng(1).permutation(300)
    shuffled = BNeuralForestRegressor(random_state=0, **SMALL, **form)
    shuffled.fit(X.iloc[order], y[order], weight[order])
    np.testing.assert_array_equal(weighed.predict(X), shuffled.predict(X))


@given(st.integers(0, 10**6))
def test_sums_of_parts_merge(seed):
    rng = np.random.default_rng(seed)
    n, n_values = int(rng.integers(2, 60)), int(rng.integers(1, 9))
    code, z, weight = rng.integers(0, n_values, n), rng.normal(size=(n, 2)), rng.uniform(0, 2, n)
    cut = int(rng.integers(0, n))
    parts = [Sums.of(code[p], z[p], weight[p], n_values) for p in (slice(cut), slice(cut, None))]
    whole = Sums.of(code, z, weight, n_values)
    for a, b in zip(whole, parts[0] + parts[1], strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
    means, mean = whole.shrunk_means(), whole.total.sum(axis=0) / whole.weight.sum()
    assert (means[0] == 0.0).all() and np.isfinite(means).all()
    used = whole.weight > 0
    distance = whole.total[used] / whole.weight[used, np.newaxis] - mean
    assert (np.abs(means[used]) <= np.abs(distance) + 1e-9).all()
    assert (means[used] * distance >= 0).all()


def test_a_column_of_noise_stays_at_chance():
    """In 200 fits, means of noise do not predict other rows, and have little weight."""
    gains, weights = [], []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n = 240
        values = rng.integers(0, [n, n // 4, n // 10][seed % 3], 2 * n)
        X = pd.DataFrame({"shop": [f"s{i}" for i in values], "size": rng.normal(size=2 * n)})
        is_noise = seed % 2 == 0
        y = (rng.logistic(size=2 * n) + (0.0 if is_noise else 3.0) * X["size"] > 0).to_numpy()
        model = BNeuralTClassifier(
            random_state=seed,
            n_weights=20,
            max_epochs=20,
            output_factor=1.0,
            identifiers="keep",
            categorical_features={"shop": "all means"},
        )
        model.fit(X[:n], y[:n])
        if is_noise:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                gains.append(model.score(X[n:], y[n:]) - 0.5)
        else:
            weights.append(model.feature_importances_[0])
    assert abs(np.mean(gains)) < 3 * np.std(gains) / np.sqrt(len(gains))
    assert np.mean(weights) < 0.15


def test_values_of_one_row_each_have_a_constant_mean():
    rng = np.random.default_rng(0)
    y = rng.normal(size=300)
    _, rows = cross_fitted(*coded(np.arange(300), y, numbers_task(), 300), numbers_task())
    assert (rows.X[:, 0] == 0.0).all()


@pytest.mark.parametrize("bootstrap", [False, True])
def test_out_of_bag_scores_of_noise_are_at_chance(bootstrap):
    X, y = shops(n_values=700, effect=0.0)
    y = np.random.default_rng(9).normal(size=len(y))
    options = {"n_estimators": 10, "bootstrap": bootstrap, "max_samples": 0.7}
    model = fitted(X, y, **options)
    assert means_of(model) is not None and model.oob_score_ < 0.05


@pytest.mark.parametrize("options", [{"early_stopping": True}, {"conformal": 0.3}])
def test_rows_that_judge_are_cross_fitted(options):
    covered = []
    for seed in range(6):
        X, y = shops(seed, n_values=700, n=6_000)
        model = fitted(X[:2_000], y[:2_000], max_epochs=5, **options)
        assert means_of(model) is not None
        if "conformal" in options:
            intervals = model.predict_interval(X[2_000:], coverage=0.8).reshape(-1, 2)
            is_covered = (intervals[:, 0] <= y[2_000:]) & (y[2_000:] <= intervals[:, 1])
            covered.append(np.mean(is_covered))
    assert not covered or 0.77 < np.mean(covered) < 0.83


# -- which columns, and what users say ----------------------------------------------------


def test_the_rule():
    X, y = shops()
    assert means_of(fitted(X, y)) is not None
    assert fitted(X, y).recipe_.categorical_features == {"shop": "means"}
    assert means_of(fitted(X[:1_500], y[:1_500])) is None  # few rows
    few, y_few = shops(n_values=50)
    assert means_of(fitted(few, y_few)) is None  # no value is rare
    assert fitted(few, y_few).recipe_.categorical_features == "from_dtype"


def test_frequent_values_also_have_inputs_of_their_own():
    """So that other columns can have another effect for them: 10 rows and .2 % of them."""
    rng = np.random.default_rng(0)
    for n_rows, least in ((3_000, 10), (6_000, 12)):
        chance = 1 / np.arange(1, 501)
        value = rng.choice(500, n_rows, p=chance / chance.sum())
        X = pd.DataFrame({"shop": [f"s{i:03}" for i in value], "size": rng.normal(size=n_rows)})
        feature = means_of(fitted(X, rng.normal(size=n_rows)))
        counts = X["shop"].value_counts()
        assert set(feature.frequent) == set(counts.index[counts >= least])
    many = Column("text", np.repeat(np.arange(400), 20), tuple(f"v{i:03}" for i in range(400)))
    assert len(MeansFeature.of_values(many, np.ones(8_000)).frequent) == 254


def test_forced_and_forbidden():
    X, y = shops(n=200, n_values=20)
    assert means_of(fitted(X, y, categorical_features={"shop": "means"})) is not None
    assert means_of(fitted(X, y, categorical_features={0: "means"})) is not None
    Z, z = shops()
    assert means_of(fitted(Z, z, categorical_features={"shop": "values"})) is None
    codes = pd.DataFrame({"shop": X["shop"].str[1:].astype(int), "size": X["size"]})
    assert means_of(fitted(codes, y, categorical_features={"shop": "means"})) is not None


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            {"shop": "mean"},
            "'mean' must be one of 'number', 'category', 'means', 'all means', 'values', or a "
            "number of rows",
        ),
        ({"shop": 0}, "=0 must be one of"),
        ({"shop": True}, "=True must be one of"),
        ({"city": "means"}, "no such column"),
        ({7: "means"}, "indices must be in 0 to 1"),
    ],
)
def test_bad_dicts(value, message):
    X, y = shops(n=100)
    with pytest.raises(ValueError, match=message):
        fitted(X, y, categorical_features=value)


def test_means_need_all_rows_and_repeated_values():
    X, y = shops(n=100)
    model = BNeuralTRegressor(categorical_features={"shop": "means"})
    with pytest.raises(ValueError, match="use fit instead of partial_fit"):
        model.partial_fit(X, y)
    X["shop"] = [f"s{i}" for i in range(100)]
    with pytest.raises(ValueError, match="none of its values is in 2 rows"):
        fitted(X, y, categorical_features={"shop": "means"}, identifiers="keep")


def test_identifiers_are_named_as_before():
    X, y = shops(n_values=10**6)
    with pytest.warns(IdentifierWarning):
        model = fitted(X, y)
    assert means_of(model) is None
    kept = fitted(X, y, identifiers="keep")
    assert means_of(kept) is None


# -- values -------------------------------------------------------------------------------


def test_new_values_have_the_mean_of_all_rows():
    X, y = shops(n_values=300)
    model = fitted(X, y, categorical_features={"shop": "all means"})
    feature = means_of(model)
    assert feature.values is not None
    new = X.assign(shop="never seen")
    with pytest.warns(match="not seen in training: 2,000 values of column 'shop'"):
        inputs = model.model_.encoder.encode(new)
    assert (inputs[:, 0] == 0.0).all()


def test_values_of_weight_zero_do_not_count():
    X, y = shops(n=600, n_values=50)
    weight = np.ones(600)
    weight[X["shop"] < "s0010"] = 0.0
    y = np.where(weight == 0, 1e6, y)
    model = BNeuralForestRegressor(
        random_state=0, **SMALL, categorical_features={"shop": "means"}
    ).fit(X, y, weight)
    feature = means_of(model)
    assert "s0009" not in feature.categories and "s0010" in feature.categories
    assert max(feature.means[0]) < 1e3


def test_weights_weigh_means():
    rng = np.random.default_rng(0)
    code, y = rng.integers(0, 5, 500), rng.normal(size=500)
    weight = np.where((y > 0) & (code == 1), 9.0, 1.0)
    sums = Sums.of(code, y[:, np.newaxis], weight, 5)
    assert sums.shrunk_means()[1] > 0.2
    repeated = np.repeat(np.arange(500), weight.astype(int))
    again = Sums.of(code[repeated], y[repeated, np.newaxis], np.ones(repeated.size), 5)
    np.testing.assert_allclose(sums.shrunk_means(), again.shrunk_means())


def test_texts_are_compared_as_categories_are():
    """Blanks and cases make other values, and 1 and "1" are one, as where values have inputs."""
    n = 200
    y = np.random.default_rng(1).normal(size=n)
    for values in (["a", "A", "b", "b "], [1, "1", "b", "c"], ["1", "1.0", "b", "c"]):
        X = pd.DataFrame({"v": pd.Series([values[i % 4] for i in range(n)], dtype=object)})
        X["size"] = np.random.default_rng(0).normal(size=n)
        of_means = fitted(X, y, categorical_features={"v": "means"}).model_.encoder.features[0]
        of_values = fitted(X, y, categorical_features={"v": "values"}).model_.encoder.features[0]
        assert isinstance(of_values, CategoryFeature) and isinstance(of_means, MeansFeature)
        assert of_means.categories == of_values.categories


def test_a_target_that_is_constant_within_values():
    X, _ = shops(n=600, n_values=60)
    y = X["shop"].str[1:].astype(float).to_numpy()
    feature = means_of(fitted(X, y, categorical_features={"shop": "means"}))
    expected = [float(text[1:]) - y.mean() for text in feature.categories]
    np.testing.assert_allclose(feature.means[0], expected, atol=1e-2)


def test_missing_values_have_a_mean_of_their_own():
    X, y = shops(n=600, n_values=60)
    X.loc[::5, "shop"] = None
    y[::5] += 10.0
    feature = means_of(fitted(X, y, categorical_features={"shop": "means"}))
    assert feature.has_gaps and feature.missing[0] > 5.0


@pytest.mark.parametrize("made", [BNeuralForestClassifier, BNeuralTClassifier])
@pytest.mark.parametrize("n_classes", [3, 12])
def test_many_classes_have_principal_means(made, n_classes):
    X, y = shops(n=1_500, n_values=60)
    y = np.asarray(pd.qcut(y, n_classes, labels=False))
    options = {**SMALL, "categorical_features": {"shop": "means"}}
    if made is BNeuralTClassifier:
        del options["n_estimators"]
    model = made(random_state=0, **options).fit(X, y)
    assert len(means_of(model).means) == min(n_classes - 1, 8)
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("loss", ["squared_error", "poisson", "quantile"])
def test_losses(loss):
    X, y = shops(n=600, n_values=60)
    y = np.random.default_rng(0).poisson(np.exp(y.clip(-2, 2)))
    model = fitted(X, y.astype(float), loss=loss, categorical_features={"shop": "means"})
    assert means_of(model) is not None and np.isfinite(model.predict(X)).all()
    two = fitted(X, np.column_stack([y, -y]), categorical_features={"shop": "means"})
    assert len(means_of(two).means) == 2


def test_further_training_is_cross_fitted():
    X, y = shops(n=600, n_values=60)
    model = fitted(X, y, categorical_features={"shop": "means"}, warm_start=True)
    before = means_of(model)
    model.set_params(n_estimators=4).fit(X, y)
    assert means_of(model) == before and len(model.estimators_) == 4
    smaller = fitted(X, y, categorical_features={"shop": "means"}).compact(X, y, max_weights=60)
    assert means_of(smaller) is not None and np.isfinite(smaller.predict(X)).all()


def test_tables_in_blocks_have_the_same_means(tmp_path):
    X, y = shops(n=4_000)
    for i in range(4):
        part = slice(1_000 * i, 1_000 * (i + 1))
        X.assign(y=y)[part].to_csv(tmp_path / f"part{i}.csv", index=False)
    table = open_table(tmp_path, target="y", max_memory=2**20)
    in_blocks = BNeuralForestRegressor(random_state=0, **SMALL).fit(table, None)
    feature, expected = means_of(in_blocks), means_of(fitted(X, y))
    assert feature.categories == expected.categories
    np.testing.assert_allclose(feature.means, expected.means, atol=1e-4)


# -- files --------------------------------------------------------------------------------


def test_files(tmp_path):
    X, y = shops(n=30_000, n_values=10_000)
    model = fitted(X, y)
    path = tmp_path / "model.json"
    model.save(path)
    assert path.stat().st_size < 2**20
    loaded = load_model(path)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    counts = X["shop"].value_counts()
    once = set(counts.index[counts == 1])
    listed = set(loaded.model_.encoder.features[0].categories)
    text = path.read_text()
    assert once and not once & listed and not any(value in text for value in list(once)[:50])


def test_values_in_few_rows_are_withheld_if_asked_for(tmp_path):
    X, y = shops()
    model = fitted(X, y, categorical_features={"shop": 5})
    model.save(tmp_path / "model.json")
    counts, text = X["shop"].value_counts(), (tmp_path / "model.json").read_text()
    for shop, n_rows in counts.items():
        assert (f'"{shop}"' in text) == (n_rows >= 5)
    loaded = load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    few = X[X["shop"].isin(counts.index[counts < 5])]
    new = few.assign(shop="never seen")
    np.testing.assert_array_equal(loaded.predict(few), loaded.predict(new))
    assert loaded.recipe_.categorical_features == {"shop": 5}


def damaged(change):
    X, y = shops(n=300, n_values=20)
    data = means_of(fitted(X, y, categorical_features={"shop": "means"})).to_plain()
    change(data)
    return json.loads(json.dumps(data))


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data["means"].pop(),
        lambda data: data["means"][0].pop(),
        lambda data: data["means"].clear(),
        lambda data: data["missing"].append(1.0),
        lambda data: data["categories"].append(data["categories"][0]),
        lambda data: data.update(frequent=["nowhere"], shares=[0.5]),
        lambda data: data.update(has_rare=1),
        lambda data: data.update(means=3),
    ],
)
def test_damaged_files_are_refused(change):
    with pytest.raises(ValueError):
        MeansFeature.from_plain(damaged(change))


def test_cards_recognise_training_rows():
    X, y = shops(n=300, n_values=20)
    model = fitted(X, y, categorical_features={"shop": "means"})
    assert "300 of 300 checked rows are equal to training rows" in model.card(X, y)
