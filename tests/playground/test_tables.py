"""The playground reads tables as Python does: the same kinds, inputs and settings."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.cli.test_messy_tables import TABLES, base, days
from tests.helpers import messy_tables
from tests.helpers.playground import built, in_node, in_python
from tests.helpers.tables import people


@pytest.fixture(scope="module", autouse=True)
def modules():
    built()


def messy(n=240, seed=3):
    """Return a table with a column of each kind that is not easy to read."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "price": [f"${1000 + 400 * v:,.2f}" for v in x],
            "weight": [f"{60 + 9 * v:.1f} kg" for v in rng.normal(size=n)],
            "opens": [f"{rng.integers(0, 24):02d}:{rng.integers(0, 60):02d}" for _ in range(n)],
            "zip": [f"{rng.integers(0, 12):05d}" for _ in range(n)],
            "sensor": np.where(rng.random(n) < 0.05, -999, rng.integers(10, 40, n)),
            "flag": rng.choice(["true", "FALSE"], n),
            "shop": [f"shop {min(40, int(rng.exponential(6)))}" for _ in range(n)],
            "day": days(n).strftime("%d/%m/%Y"),
            "heavy": np.exp(4 * rng.normal(size=n)),
            "few": rng.integers(0, 3, n),
            "share": [f"{100 * v:.0f}%" for v in rng.random(n)],
            "unknown": np.where(rng.random(n) < 0.03, "unknown", rng.integers(0, 9, n).astype(str)),
            "same": 5,
            "big": rng.integers(10**9, 10**9 + 50, n),
        }
    )
    frame["value"] = np.sin(x) + 0.3 * (frame["few"] == 1) + 0.1 * rng.normal(size=n)
    frame.loc[frame["value"] > 0.5, "few"] = np.nan
    frame.loc[rng.random(n) < 0.05, "day"] = ""
    return frame


def as_csv(frame, **options):
    return frame.to_csv(**{"index": False, **options})


def repeated():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.integers(0, 2, (500, 3)), columns=list("abc"))
    return frame.assign(y=np.where(frame.sum(axis=1) + rng.integers(0, 2, 500) > 2, "up", "down"))


def rare():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(400, 4))
    return pd.DataFrame(X, columns=list("pqrs")).assign(y=(X[:, 0] > 1.9).astype(int))


def in_classes(frame):
    kind = pd.cut(frame["value"], 3, labels=list("abc"))
    return frame.drop(columns="value").assign(kind=kind)


def far_dates(n=240, layout="%Y-%m-%d", seed=4):
    """Return a table with dates of contracts, of which some never end."""
    rng = np.random.default_rng(seed)
    end = days(n).strftime(layout).to_numpy(dtype=object)
    never = pd.Timestamp(2199, 12, 31).strftime(layout).replace("2199", "9999")
    open_ended = rng.random(n) < 0.15
    end[open_ended] = never
    frame = pd.DataFrame({"end": end, "x": rng.normal(size=n).round(3)})
    return frame.assign(y=(frame["x"] + 2 * open_ended).round(3))


def many_categories(n=900):
    codes = np.arange(n) % 290
    return pd.DataFrame({"c": codes, "t": [f"t{i}" for i in codes], "y": np.arange(n) % 7 * 1.5})


MADE = {name: as_csv(change(base()), **{k: v for k, v in writing.items() if k != "encoding"})
        for name, (change, writing, *_) in TABLES.items()}  # fmt: skip
TARGETS = dict.fromkeys(MADE, "kind")
people_frame, people_target = people(200)
MORE = {
    "people": (as_csv(people_frame.drop(columns="stay").assign(y=people_target)), "y"),
    "units": (as_csv(messy()), "value"),
    "units, classes": (as_csv(in_classes(messy())), "kind"),
    "decimal comma": (as_csv(messy()[["heavy", "few", "value"]], sep=";", decimal=","), "value"),
    "tabs": (as_csv(messy()[["heavy", "few", "shop", "value"]], sep="\t"), "value"),
    "equal rows": (as_csv(repeated()), "y"),
    "rare class": (as_csv(rare()), "y"),
    "no header": (as_csv(messy()[["heavy", "few", "value"]], header=False), "column3"),
    "quotes": ("a,b,y\n" + '"1,5","say ""x""",up\n2,x,down\n"3","say",up\n4,x,down\n' * 9, "y"),
    "many categories": (as_csv(many_categories()), "y"),
    "dates that stand for gaps": (as_csv(far_dates()), "y"),
    "such dates in another order": (as_csv(far_dates(layout="%d.%m.%Y")), "y"),
}  # fmt: skip
CASES = {**{name: (text, "kind") for name, text in MADE.items()}, **MORE}


@pytest.mark.parametrize("name", CASES)
def test_kinds_inputs_and_settings_are_those_of_python(name):
    text, target = CASES[name]
    seen, expected = in_node(text, target), in_python(text, target)
    assert "error" not in seen, seen
    kinds = [kind for j, kind in enumerate(seen["kinds"]) if j != expected["target"]]
    assert kinds == [kind for j, kind in enumerate(expected["kinds"]) if j != expected["target"]]
    assert seen["task"] == expected["task"]
    assert seen["classes"] == expected["classes"]
    assert_equal(seen["encoder"], expected["encoder"])
    assert_equal(seen["ranges"], expected["ranges"])
    np.testing.assert_allclose(seen["inputs"], expected["inputs"], rtol=0, atol=1e-9)
    assert_equal(seen["plans"], expected["plans"])


def test_a_file_of_windows_is_read():
    table = as_csv(base().assign(shop="€ und Cent"), encoding="cp1252").encode("cp1252")
    assert in_node(table, "kind")["kinds"] == ["number", "category", "category", "category"]


def test_a_column_can_be_read_as_categories():
    text = as_csv(messy()[["few", "heavy", "value"]])
    seen = in_node(text, "value", kinds={"few": {"kind": "category"}})
    expected = in_python(text, "value", categorical=["few"])
    assert_equal(seen["encoder"], expected["encoder"])
    np.testing.assert_allclose(seen["inputs"], expected["inputs"], rtol=0, atol=1e-9)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_codes_are_found_as_in_python(task):
    rng = np.random.default_rng(8)
    shop, age = rng.integers(20, 60, 600), rng.integers(20, 60, 600)
    frame = pd.DataFrame({"shop": shop * 7, "age": age, "size": rng.normal(size=600)})
    frame.loc[::50, "shop"] = np.nan
    y = rng.normal(size=60)[shop] + np.sin(age / 9) + 0.3 * rng.normal(size=600)
    frame["y"] = y if task == "regression" else np.select([y > 1, y > 0], ["high", "some"], "low")
    text = as_csv(frame)
    seen, expected = in_node(text, "y"), in_python(text, "y")
    assert [isinstance(each, dict) and each["kind"] for each in expected["encoder"]] == [
        "category",
        "number",
        "number",
    ]
    assert_equal(seen["encoder"], expected["encoder"])
    np.testing.assert_allclose(seen["inputs"], expected["inputs"], rtol=0, atol=1e-9)
    assert_equal(seen["plans"], expected["plans"])
    chosen = in_node(text, "y", kinds={"shop": {"kind": "number", "isChosen": True}})
    assert chosen["encoder"][0]["kind"] == "number"


def test_numbers_and_texts_in_one_column_are_categories_with_a_note():
    text = "a,b,y\n" + "1,x,up\n2,7,down\n3,8,up\n" * 9
    seen = in_node(text, "y", ["inputs"])
    assert seen["kinds"][1] == "category"
    assert "numbers and texts such as “x”" in seen["notes"][1]


@pytest.mark.parametrize(
    "text, target, words",
    [
        ("", "y", "empty"),
        ("a,b\n", "b", "no rows"),
        ("a,a\n1,2\n", "a", "several columns"),
        ("a,b\n1,2,3\n", "b", "Line 2 has 3 cells"),
        ('a,b\n"1,2\n', "b", "quotation mark"),
        ("a,y\n" + "1,same\n2,same\n" * 9, "y", "in every row"),
        ("y\n" + "1\n2\n" * 9, "y", "No column is left"),
        ("a,y\n1,\n2,\n", "y", "no values"),
        ("a,y\n" + "".join(f"{i % 7},name {i}\n" for i in range(100)), "y", "too many for classes"),
        ("a,y\n" + "".join(f"{i % 7},name {i % 400}\n" for i in range(1600)), "y", "at most 300"),
        ("a,y\n" + "x,up\nx,down\n" * 9, "y", "No column varies"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_in_plain_words(text, target, words):
    assert words in in_node(text, target, ["inputs"])["error"]


def assert_equal(seen, expected):
    """Compare plain data; numbers agree to 12 digits."""
    expected = json.loads(json.dumps(expected))
    if isinstance(expected, dict):
        assert seen.keys() == expected.keys()
        for key in expected:
            assert_equal(seen[key], expected[key])
    elif isinstance(expected, list):
        assert len(seen) == len(expected)
        for pair in zip(seen, expected, strict=True):
            assert_equal(*pair)
    elif isinstance(expected, float):
        assert seen == pytest.approx(expected, rel=1e-12, abs=1e-12)
    else:
        assert seen == expected


@settings(max_examples=25, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(table=messy_tables.tables())
def test_random_messy_tables_are_read_as_in_python(table):
    text = messy_tables.as_csv(table).decode()
    seen, expected = in_node(text, "y", ["inputs"]), in_python(text, "y")
    assert "error" not in seen, seen
    assert seen["kinds"][:-1] == expected["kinds"][:-1]
    assert_equal(seen["encoder"], expected["encoder"])
    np.testing.assert_allclose(seen["inputs"], expected["inputs"], rtol=0, atol=1e-9)
