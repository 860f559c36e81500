"""Texts that are numbers: units, separators, times, and words that stand for missing values."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bneuralt import BNeuralTClassifier, BNeuralTRegressor, load_model
from bneuralt.tables.columns import as_frame
from bneuralt.tables.encoder import TableEncoder, learn_encoder
from bneuralt.tables.number_texts import Notation, gap_words
from bneuralt.tables.value_warnings import TextValuesWarning

RNG = np.random.default_rng(0)
NUMBERS = RNG.integers(1, 5000, 200)


def learn(texts):
    return Notation.learn(texts, np.ones(len(texts)))


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["1,200 EUR", "90 EUR"], [1200, 90]),
        (["45%", "3.5%"], [45, 3.5]),
        (["$1,161", "-$5"], [1161, -5]),
        (["12:30", "0:45", "23:59:06"], [12.5, 0.75, 23.985]),
        (["3.5 kg", "10kg"], [3.5, 10]),
        (["12", "2.5", "1e3"], [12, 2.5, 1000]),
        (["1,5", "2,75"], [1.5, 2.75]),
        (["1.200,50 €", "3,00 €"], [1200.5, 3]),
        (["1 200", "950"], [1200, 950]),
        (["1'200", "950"], [1200, 950]),
        (["-3 °C", "20 °C"], [-3, 20]),
        (["USD 5", "USD 1,000"], [5, 1000]),
        (["5 EUR", "7"], [5, 7]),
    ],
)
def test_texts_become_numbers(texts, values):
    notation = learn(texts)
    assert notation is not None
    np.testing.assert_allclose(notation.read(texts)[0], values)
    assert notation.read(texts)[1].all()
    assert Notation.from_plain(notation.to_plain()) == notation


@pytest.mark.parametrize(
    "texts",
    [
        ["00501", "10001"],
        ["3 kg", "500 g"],
        ["45%", "0.3"],
        ["C85", "C12"],
        ["2020Q1", "2020Q2"],
        ["1st", "2nd"],
        ["10-20", "20-30"],
        ["<5", "7"],
        ["31.12.2024", "1.1.2025"],
        ["1.2.3", "1.2.4"],
        ["1_0", "2"],
        ["12:75", "3:10"],
        ["a", "b"],
        [],
    ],
)
def test_codes_and_mixed_units_are_no_numbers(texts):
    assert learn(texts) is None


def test_a_decimal_comma_of_the_table_decides_what_a_separator_means():
    texts = ["1,017 EUR", "2,500 EUR"]
    assert learn(texts).read(texts)[0].tolist() == [1017, 2500]
    german = Notation.learn(texts, np.ones(2), ",")
    assert german.read(texts)[0].tolist() == [1.017, 2.5]


@pytest.mark.parametrize(
    ("n_words", "n_numbers", "are_gaps"), [(1, 9, True), (2, 8, True), (3, 7, False)]
)
def test_words_are_gaps_up_to_a_fifth_of_the_rows(n_words, n_numbers, are_gaps):
    words = gap_words(["5", "unknown"], np.array([n_numbers, n_words]))
    assert words == (("unknown",) if are_gaps else None)


@pytest.mark.parametrize(("n_words", "are_gaps"), [(3, True), (4, False)])
def test_at_most_three_words_are_gaps(n_words, are_gaps):
    texts = [str(i) for i in range(96)] + ["a", "b", "c", "d"][:n_words]
    assert (gap_words(texts, np.ones(len(texts))) is not None) == are_gaps


def test_infinity_is_no_gap():
    assert gap_words(["1", "inf"], np.array([99, 1])) is None


@given(st.text(max_size=12), st.text(max_size=12))
def test_any_text_is_read_or_refused(a, b):
    notation = learn([a, b])
    if notation is not None:
        numbers, is_read = notation.read([a, b])
        assert is_read.all() and not np.isinf(numbers).any()


@pytest.mark.parametrize(
    "change",
    [
        {"decimal": ";"},
        {"thousands": ",,"},
        {"unit": 3},
        {"is_clock": 1},
        {"gap_words": [3]},
        {"gap_words": "unknown"},
    ],
)
def test_damaged_descriptions_are_refused(change):
    plain = [
        {
            "kind": "number",
            "mean": 1.0,
            "has_gaps": False,
            "notation": Notation(unit="EUR").to_plain(),
        }
    ]
    assert TableEncoder.from_plain(plain).to_plain() == plain
    plain[0]["notation"] |= change
    with pytest.raises(ValueError, match="column 0"):
        TableEncoder.from_plain(plain)


# -- models -------------------------------------------------------------------------------


def messy_frame():
    frame = pd.DataFrame(
        {
            "price": [f"{a:,} EUR" for a in NUMBERS],
            "at": [f"{a % 24}:{a % 60:02d}" for a in NUMBERS],
            "plain": [str(a / 8) for a in NUMBERS],
            "day": pd.date_range("2024-01-01", periods=len(NUMBERS)).strftime("%d.%m.%Y"),
        }
    )
    frame.loc[5, "day"] = "unknown"
    frame.loc[7, "plain"] = "unknown"
    return frame


def test_a_model_says_how_it_reads_texts_and_keeps_it(tmp_path):
    X, y = messy_frame(), NUMBERS > 2500
    with pytest.warns(TextValuesWarning) as caught:
        model = BNeuralTClassifier(random_state=0).fit(X, y)
    messages = [str(entry.message) for entry in caught]
    assert len(messages) == 2  # one for each kind, not for each column
    assert "column 'price' of X ('4,253 EUR' is 4253, unit 'EUR')" in messages[0]
    assert "column 'plain' of X ('unknown'); column 'day' of X ('unknown')" in messages[1]
    assert [feature.kind for feature in model.encoder_.features] == ["number"] * 3 + ["date"]
    assert model.score(X, y) > 0.95
    model.save(tmp_path / "m.json")
    loaded = load_model(tmp_path / "m.json")
    assert loaded.encoder_ == model.encoder_
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_numbers_and_their_texts_give_the_same_model():
    y = NUMBERS > 2500
    numbers = pd.DataFrame({"a": NUMBERS / 8, "b": NUMBERS % 7})
    with pytest.warns(TextValuesWarning):
        of_texts = BNeuralTClassifier(random_state=0).fit(numbers.astype(str).astype(object), y)
    of_numbers = BNeuralTClassifier(random_state=0).fit(numbers, y)
    assert of_texts.encoder_ == of_numbers.encoder_
    np.testing.assert_array_equal(*(m.predict_proba(numbers) for m in (of_texts, of_numbers)))


def test_declared_categories_are_no_numbers():
    X = pd.DataFrame({"size": [f"{a % 5} kg" for a in NUMBERS]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for frame, categorical in ((X, ["size"]), (X.astype("category"), "from_dtype")):
            encoder = learn_encoder(
                as_frame(frame), categorical_features=categorical, names=["size"]
            )
            assert encoder.features[0].kind == "category"


def test_a_new_word_is_a_gap_and_other_texts_are_refused():
    X, y = messy_frame(), NUMBERS > 2500
    with pytest.warns(TextValuesWarning):
        model = BNeuralTClassifier(random_state=0).fit(X, y)
    with pytest.warns(TextValuesWarning, match="1 value of column 'price' of X, such as 'free'"):
        free = model.predict_proba(X.assign(price=["free", *X["price"][1:]]))
    missing = model.predict_proba(X.assign(price=[None, *X["price"][1:]]))
    np.testing.assert_array_equal(free, missing)
    for price in ("5 kg", "12x34"):
        with pytest.raises(ValueError, match=f"'price' of X had numbers .* the text '{price}'"):
            model.predict(X.assign(price=[price, *X["price"][1:]]))
    with pytest.raises(ValueError, match="the text 'free'"):
        model.predict(X.assign(price="free"))


@pytest.mark.filterwarnings("ignore:texts are read as numbers")
def test_a_row_is_read_as_it_is_among_others():
    X = pd.DataFrame(
        {
            "price": [f"{a / 8:,.2f}".translate(str.maketrans(",.", ".,")) for a in NUMBERS],
            "size": [f"{a % 5}.50" for a in NUMBERS],
            "x": NUMBERS % 7,
        }
    )
    X["price"] = ["1.234", "200", *X["price"][2:]]  # also numbers as Python writes them
    options = {"categorical_features": ["size"], "random_state": 0, "max_epochs": 5}
    model = BNeuralTClassifier(**options).fit(X, NUMBERS > 2500)
    for few in (X[:1], X[:2], X[:2].to_numpy(), X[:2].to_numpy().tolist()):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            found = model.predict_proba(few)
        np.testing.assert_allclose(found, model.predict_proba(X)[: len(few)], rtol=1e-6)
        assert model.model_.encode(few)[0, 0] == 1234
    # also if all columns of the training table are texts of plain numbers
    sizes = X[["size", "x"]]
    of_sizes = BNeuralTClassifier(**options).fit(sizes, NUMBERS > 2500)
    assert of_sizes.encoder_.features[0].categories == tuple(f"{a}.50" for a in range(5))


def test_only_training_rows_decide():
    X = pd.DataFrame({"a": [f"{a} kg" for a in NUMBERS[:-1]] + ["500 g"]})
    weight = np.ones(len(X))
    assert learn_encoder(as_frame(X), weight).features[0].kind == "category"
    weight[-1] = 0
    with pytest.warns(TextValuesWarning):
        assert learn_encoder(as_frame(X), weight).features[0].notation == Notation(unit="kg")


def test_texts_with_units_are_numbers_in_explanations_and_pages():
    rng = np.random.default_rng(0)
    values = rng.uniform(100, 9000, 200).round(2)
    X = pd.DataFrame({"price": [f"{x:,.2f} EUR" for x in values], "z": rng.normal(size=200)})
    y = np.sqrt(values) + X["z"]
    with pytest.warns(TextValuesWarning):
        model = BNeuralTRegressor(random_state=0, n_weights=30).fit(X, y)
    numbers = X.assign(price=values)
    np.testing.assert_array_equal(model.predict(X), model.predict(numbers))
    by_text = model.effect("price", at=["3,221.11 EUR", "500"])
    by_number = model.effect("price", at=[3221.11, 500])
    np.testing.assert_array_equal(by_text.y, by_number.y)
    assert model.to_html(examples=X[:5]) == model.to_html(examples=numbers[:5])
    assert "price = 3" not in model.explain(X[:1]).sentence(0) or values[0] // 1000 == 3
    with pytest.raises(ValueError, match="'price' of X had numbers"):
        model.explain(X.assign(price="5 kg"))


def test_ends_of_ramps_of_times_are_times():
    """Text trees, formulas and pages name ramps as people write times."""
    rng = np.random.default_rng(0)
    minutes = rng.integers(0, 24 * 60, 200)
    X = pd.DataFrame({"t": [f"{m // 60}:{m % 60:02}" for m in minutes]})
    model = BNeuralTRegressor(max_epochs=1, ramps=8, random_state=0).fit(X, np.sin(minutes))
    ramps = model.encoder_.input_names[1:]
    assert len(ramps) > 3
    time = r"\d+:\d\d(:\d\d)?"
    assert all(re.fullmatch(f"t from {time} to {time}", name) for name in ramps), ramps
