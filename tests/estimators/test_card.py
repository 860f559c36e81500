"""Cards of models: what they say, in a real browser, and what they refuse."""

from __future__ import annotations

import html
import json
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sklearn.metrics import log_loss, roc_auc_score

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    load_model,
)
from bneuralt.cli.program import main
from bneuralt.estimators.card_scores import Reliability, ScoredRows, scores_with_intervals, wilson
from bneuralt.files import ModelFileError
from bneuralt.model.fingerprints import MAX_HASHES, Fingerprints
from tests.helpers.tables import DIABETES, IRIS

FAST = {"max_epochs": 5, "random_state": 0}
HOSTILE = "</style><script>window.hacked = 1</script> \u202e \x07"


def people(n_rows=120, seed=1):
    """Return numbers, categories, dates and gaps, and a target of two texts."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.normal(40, 12, n_rows),
            "colour": rng.choice(["red", "green", "blue"], n_rows),
            "since": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(rng.integers(0, 900, n_rows), "D"),
        }
    )
    X.loc[::7, "age"] = np.nan
    return X, np.where(X["age"].fillna(40) + rng.normal(0, 8, n_rows) > 40, "yes", "no")


def texts(page):
    return html.unescape(re.sub(r"<[^>]+>", " ", page))


MODELS = {
    "two classes": lambda X, y: (BNeuralTClassifier(**FAST), y),
    "readable": lambda X, y: (BNeuralTClassifier(n_weights="readable", **FAST), y),
    "classes": lambda X, y: (BNeuralForestClassifier(**FAST), X["colour"].to_numpy()),
    "labels": lambda X, y: (BNeuralTClassifier(**FAST), np.c_[y == "yes", X["age"] > 30] * 1),
    "number": lambda X, y: (
        BNeuralTRegressor(conformal=0.3, **FAST),
        X["age"].fillna(0).to_numpy(),
    ),
    "numbers": lambda X, y: (BNeuralForestRegressor(**FAST), np.c_[X["age"], X["age"]].clip(0, 50)),
    "counts": lambda X, y: (BNeuralTRegressor(loss="poisson", **FAST), (y == "yes") * 3.0),
    "quantiles": lambda X, y: (BNeuralTRegressor(loss="quantile", **FAST), X["age"].fillna(0)),
}


@pytest.mark.parametrize("kind", MODELS)
def test_every_task_has_a_card(kind):
    X, y = people()
    model, target = MODELS[kind](X, y)
    target = np.nan_to_num(target) if np.asarray(target).dtype.kind == "f" else np.asarray(target)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[:80], target[:80])
        page = model.card(X[80:], target[80:], group="colour")
    shown = texts(page)
    for part in ("Scores", "Calibration", "Groups of colour", "Effects", "Interactions", "Proofs"):
        assert part in shown, part
    assert "None of them is equal to a training row" in shown
    assert "nan" not in shown.lower().replace("nanmean", "")


def test_rows_of_the_training_are_noticed(tmp_path):
    X, y = IRIS
    X, y = np.asarray(X), np.asarray(y)
    model = BNeuralTClassifier(**FAST).fit(X[::2], y[::2])
    model.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    for each in (model, loaded):
        assert "75 of 75 checked rows are equal" in texts(each.card(X[::2], y[::2]))
    both = np.r_[0:10, 1:11:2]
    assert re.search(r"\d of \d+ checked rows", texts(loaded.card(X[both], y[both])))
    assert "75 of 75" in texts(loaded.card(X[::2].astype(np.float32), y[::2]))  # another type


def test_large_trainings_keep_some_hashes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 2))
    model = BNeuralTRegressor(max_epochs=1, n_weights=10).fit(X, X[:, 0])
    known = model.model_.fingerprints
    assert known.hashes.size == MAX_HASHES and not known.is_complete
    seen = re.search(r"([\d,]+) of ([\d,]+) checked rows", texts(model.card(X[:1000], X[:1000, 0])))
    n_seen, n_checked = (int(text.replace(",", "")) for text in seen.groups())
    assert n_seen == n_checked and 60 < n_checked < 150  # about a tenth
    assert "None of the" in texts(model.card(X[:1000] + 1, X[:1000, 0]))
    assert f"{MAX_HASHES} of {MAX_HASHES} checked rows" in texts(model.card(X, X[:, 0]))


def test_equal_rows_of_a_card_are_counted_one_by_one():
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    model = BNeuralTClassifier(n_weights=10, random_state=0).fit(X[:10], y[:10])
    rows = np.repeat(np.arange(20), np.arange(20) % 3 + 1)
    n_known = np.count_nonzero(rows < 10)
    assert f"{n_known} of {rows.size} checked rows" in texts(model.card(X[rows], y[rows]))


def test_parts_of_a_table_are_joined():
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    model = BNeuralTClassifier(n_weights=10, random_state=0)
    model.partial_fit(X[:10], y[:10], classes=[0, 1]).partial_fit(X[10:], y[10:])
    assert model.model_.fingerprints.n_rows == 20
    assert "20 of 20 checked rows" in texts(model.card(X, y))


def test_files_without_hashes_and_damaged_ones(tmp_path):
    X, y = IRIS
    path = tmp_path / "model.json"
    BNeuralTClassifier(**FAST).fit(X, y).save(path)
    data = json.loads(path.read_text())
    stored = data.pop("training_rows")
    path.write_text(json.dumps(data))
    assert "It is not known whether" in texts(load_model(path).card(X, y))
    damaged = [
        3,
        {**stored, "hashes": "§"},
        {**stored, "hashes": stored["hashes"][:9]},
        {**stored, "n_rows": -1},
        {**stored, "is_complete": 1},
        {key: value for key, value in stored.items() if key != "n_rows"},
        {**stored, "hashes": ""},
    ]
    for entry in damaged:
        path.write_text(json.dumps({**data, "training_rows": entry}))
        with pytest.raises(ModelFileError, match="training_rows"):
            load_model(path)


def test_bad_input_gives_one_sentence():
    X, y = people()
    model = BNeuralTClassifier(**FAST).fit(X, y)
    cases = [
        (X[:0], y[:0], None, "no rows|0 sample"),
        (X, y[:5], None, "120 rows and y has 5"),
        (X, y, "size", "group='size' is not a column of the model; they are 'age'"),
        (X, y, 7, "group=7 is not a column"),
        (X, y, ["a"], "group has 1 values and X has 120 rows"),
        (X, np.where(y == "no", "maybe", y), None, "y has the class 'maybe' in"),
    ]
    for rows, target, group, message in cases:
        with pytest.raises(ValueError, match=message) as error:
            model.card(rows, target, group=group)
        assert "\n" not in str(error.value)
    reg = BNeuralTRegressor(**FAST).fit(*DIABETES)
    with pytest.raises(ValueError, match="y has missing or infinite values"):
        reg.card(np.asarray(DIABETES[0])[:3], [1.0, np.nan, 2.0])


def test_groups_can_be_any_values():
    X, y = people()
    model = BNeuralTClassifier(**FAST).fit(X, y)
    page = texts(model.card(X, y, group=pd.Series(np.arange(120.0), name="income")))
    assert "Groups of income" in page and "0 to 29.75" in page


@pytest.mark.parametrize("width", [1000, 380])
def test_the_page_in_a_browser(browser, width, tmp_path):
    X, y = people()
    X = X.rename(columns={"colour": HOSTILE})
    y = np.where(y == "yes", HOSTILE, y)
    path = tmp_path / "card.html"
    model = BNeuralTClassifier(n_weights=40, **FAST).fit(X[:80], y[:80])
    model.card(X[80:], y[80:], path, group=HOSTILE, title=HOSTILE)
    browser.viewport(width, 900)
    browser.requests()
    browser.open(path)
    requested = browser.requests()
    assert [address for address in requested if not address.startswith(("file:", "data:"))] == []
    assert [entry for entry in browser.console() if entry["level"] == "SEVERE"] == []
    assert browser.run("return window.hacked === undefined")
    assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")
    package = pytest.importorskip("axe_core_python", reason="needs axe-core-python")
    script = (Path(package.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
    browser.run(f"{script}; window.axe = axe;")
    faults = browser.run_async(
        "axe.run().then((r) => arguments[0](r.violations.filter((v) => "
        "['serious', 'critical'].includes(v.impact)).map((v) => v.id + ': ' + "
        "v.nodes.map((n) => n.html).slice(0, 3).join(' '))))"
    )
    assert faults == []


def test_the_program(tmp_path, capsys):
    X, y = people(200)
    X["answer"], X["income"] = y, np.arange(200)
    table, model, card = (str(tmp_path / name) for name in ("t.csv", "m.json", "card.html"))
    X.to_csv(table, index=False)
    options = ["--target", "answer", "--out", model, "--cv", "0", "--readable"]
    assert main(["train", table, *options, "--set", "max_epochs=5", "--drop", "income"]) == 0
    assert main(["card", model, table, "--out", card, "--group", "income"]) == 0
    assert "Card of 40 rows" in capsys.readouterr().out
    page = texts(Path(card).read_text())
    assert "Groups of income" in page
    assert "n_weights='readable'" in page
    assert "SHA-256 of the training table" in page
    assert main(["card", model, table, "--out", card, "--group", "nothing"]) == 3
    problem = capsys.readouterr().err
    assert "there is no column 'nothing'" in problem and problem.count(table) == 1
    other = str(tmp_path / "other.csv")
    X.drop(columns="answer").to_csv(other, index=False)
    assert main(["card", model, other, "--out", card]) == 3
    assert "a card needs the target" in capsys.readouterr().err
    for more in (["--forest"], ["--set", "n_weights=30"]):
        assert main(["train", table, *options, *more]) == 2
        assert "--readable" in capsys.readouterr().err


# -- numbers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_right", "n"), [(0, 5), (9, 10), (50, 50), (300, 700)])
def test_wilson_intervals(n_right, n):
    expected = binomtest(n_right, n).proportion_ci(method="wilson")
    np.testing.assert_allclose(wilson(n_right, n), (expected.low, expected.high), atol=1e-12)


def test_scores_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    y, second = rng.integers(2, size=200), rng.random(200)
    shares = np.c_[1 - second, second]
    scores = {
        name: value for name, value, _ in scores_with_intervals(ScoredRows("classes", y, shares))
    }
    assert scores["log-loss"] == pytest.approx(log_loss(y, shares))
    assert scores["area under the ROC curve"] == pytest.approx(roc_auc_score(y, second))


def test_intervals_cover_the_score_of_many_rows():
    rng = np.random.default_rng(0)
    n_covered = 0
    for _ in range(60):
        x = rng.normal(size=150)
        rows = ScoredRows("numbers", x + rng.normal(size=150), x[:, np.newaxis])
        low, high = next(
            i for name, _, i in scores_with_intervals(rows) if name == "mean absolute error"
        )
        n_covered += low <= np.sqrt(2 / np.pi) <= high
    assert n_covered >= 50


def test_probabilities_that_are_right_are_reliable():
    rng = np.random.default_rng(0)
    shares = rng.random(5000)
    curve = Reliability.of(shares, rng.random(5000) < shares)
    assert curve.error < 0.03
    assert np.mean((curve.low <= curve.predicted) & (curve.predicted <= curve.high)) >= 0.7


def test_hashes_survive_a_file():
    prints = Fingerprints(3, 2, True, np.array([5, 2**63 + 9], dtype=np.uint64))
    again = Fingerprints.from_dict(json.loads(json.dumps(prints.to_dict())))
    assert again.hashes.tolist() == prints.hashes.tolist()
