"""Tables as people have them: gaps, text, dates, ids, indices; from CSV and from data frames."""

import io
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bneuralt import BNeuralTClassifier, BNeuralTRegressor, load_model
from bneuralt.cli.program import main


def base(n=160, seed=0):
    """Return a table that can be learnt, with a text target, and gaps in two columns."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n).astype(float),
            "city": rng.choice(["Rome", "Paris", "Köln", "São Paulo"], n, p=[0.4, 0.3, 0.2, 0.1]),
        }
    )
    frame["kind"] = np.where((frame["age"] > 50) ^ (frame["city"] == "Rome"), "good", "bad")
    frame.loc[rng.random(n) < 0.15, "age"] = np.nan
    frame.loc[rng.random(n) < 0.1, "city"] = None
    return frame


def days(n, seed=1):
    rng = np.random.default_rng(seed)
    return pd.Timestamp("2022-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D")


#: A change of the base table, how it is written, which columns are left out by the program, and
#: how pandas is told to read the file.
TABLES = {
    "gaps and text": (lambda f: f, {"index": False}, [], {}),
    "index": (lambda f: f, {"index": True}, ["Unnamed: 0"], {}),
    "unique ids": (
        lambda f: f.assign(customer_id=np.arange(len(f)) * 7 + 1000),
        {"index": False},
        ["customer_id"],
        {},
    ),
    "unique names": (
        lambda f: f.assign(name=[f"person {i}" for i in range(len(f))]),
        {"index": False},
        ["name"],
        {},
    ),
    "dates": (
        lambda f: f.assign(day=days(len(f)).strftime("%Y-%m-%d")),
        {"index": False},
        [],
        {"parse_dates": ["day"]},
    ),
    "dates of another country": (
        lambda f: f.assign(day=days(len(f)).strftime("%d.%m.%Y")),
        {"index": False},
        [],
        {},
    ),
    "codes": (
        lambda f: f.assign(zip=np.where(f["age"] > 40, "00501", "10001")),
        {"index": False},
        [],
        {"dtype": {"zip": str}},
    ),
    "thousands": (
        lambda f: f.assign(pay=[f"{1000 + 37 * i:,}" for i in range(len(f))]),
        {"index": False, "sep": ";"},
        [],
        {"thousands": ",", "sep": ";"},
    ),
    "booleans and an empty column": (
        lambda f: f.assign(member=np.arange(len(f)) % 3 == 0, empty=np.nan),
        {"index": False},
        ["empty"],
        {},
    ),
    "Windows": (
        lambda f: f.assign(shop=np.where(f["age"] > 40, "Müller’s", "5 € Shop")),
        {"index": False, "encoding": "cp1252", "sep": ";"},
        [],
        {"encoding": "cp1252", "sep": ";"},
    ),
    "numbers to predict": (
        lambda f: f.assign(kind=f["age"].fillna(50) * 2 + (f["city"] == "Rome") * 30.5),
        {"index": False},
        [],
        {},
    ),
}


@pytest.mark.filterwarnings("ignore:missing, though none was")
@pytest.mark.parametrize("name", TABLES)
def test_csv_and_data_frame_give_the_same_predictions(name, tmp_path, capsys):
    change, writing, left_out, reading = TABLES[name]
    table, out = tmp_path / "table.csv", tmp_path / "model.json"
    change(base()).to_csv(table, **writing)
    arguments = ["train", str(table), "--target", "kind", "--out", str(out), "--json"]
    assert main([*arguments, "--test-fraction", "0", "--cv", "0"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert all(any(repr(c).strip("'") in note or "column1" in note for note in report["notes"])
               for c in left_out)  # fmt: skip

    frame = pd.read_csv(table, **reading)
    X = frame.drop(columns=["kind", *left_out])
    estimator = BNeuralTRegressor if name == "numbers to predict" else BNeuralTClassifier
    model = estimator(random_state=0).fit(X, frame["kind"])
    expected = model.predict(X)
    trained = load_model(out)
    np.testing.assert_array_equal(trained.predict(frame), expected)  # the raw frame
    np.testing.assert_array_equal(trained.predict(frame[frame.columns[::-1]]), expected)
    if name == "gaps and text":
        polars = pytest.importorskip("polars")
        np.testing.assert_array_equal(trained.predict(polars.read_csv(table)), expected)
    if estimator is BNeuralTClassifier:
        assert np.mean(expected == frame["kind"]) > 0.75
    capsys.readouterr()
    options = ["--encoding", "cp1252"] if name == "Windows" else []
    assert main(["predict", str(out), str(table), "--json", *options]) == 0
    assert json.loads(capsys.readouterr().out)["prediction"] == expected.tolist()
    model.save(tmp_path / "python.json")
    assert main(["predict", str(tmp_path / "python.json"), str(table), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["prediction"] == expected.tolist()


# -- the program --------------------------------------------------------------------------


@pytest.fixture
def run_here(run_here, tmp_path, monkeypatch):
    """Run the program in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return run_here


def train(run_here, frame, *options, target="kind"):
    frame.to_csv("t.csv", index=False)
    return run_here("train", "t.csv", "--target", target, "--out", "m.json", "--cv", 0, *options)


def test_ids_are_left_out_with_a_note_and_kept_if_wanted(run_here):
    frame = base().assign(customer_id=np.arange(160) * 3)
    done = train(run_here, frame)
    assert "left out, because they identify rows: column 'customer_id'. " in done.stdout
    assert "--keep-ids" in done.stdout
    assert "3 features" in train(run_here, frame, "--keep-ids").stdout


def test_rows_with_gaps_are_learnt_dropped_or_refused(run_here):
    frame = base()
    n_complete = int(frame.notna().all(axis=1).sum())
    assert "160 rows" in train(run_here, frame).stdout
    done = train(run_here, frame, "--missing", "drop")
    assert f"{n_complete} rows" in done.stdout
    assert f"{160 - n_complete} rows with missing values left out" in done.stdout
    again = run_here("predict", "m.json", "t.csv", "--held-out", "--json")
    assert again.returncode == 0 and "as train reported" in again.stderr
    done = train(run_here, frame, "--missing", "error")
    assert done.returncode == 3 and "values are missing: row" in done.stderr


def test_rows_without_target_are_left_out(run_here):
    frame = base()
    frame.loc[:9, "kind"] = None
    done = train(run_here, frame)
    assert "150 rows" in done.stdout and "10 rows with missing values left out" in done.stdout
    done = run_here("predict", "m.json", "t.csv", "--json")
    assert len(json.loads(done.stdout)["prediction"]) == 160 and "as train" in done.stderr


def test_unknown_values_are_noted_or_refused(run_here):
    train(run_here, base())
    base().assign(city="Oslo").to_csv("new.csv", index=False)
    done = run_here("predict", "m.json", "new.csv")
    assert done.returncode == 0 and done.stderr.count("note:") == 1
    assert "160 values of column 'city' of X, such as 'Oslo'" in done.stderr
    done = run_here("predict", "m.json", "new.csv", "--unknown", "error")
    assert done.returncode == 3 and "column 'city' contains 'Oslo'" in done.stderr


def test_the_target_may_be_blank_or_absent_and_ids_are_carried_along(run_here):
    frame = base().assign(customer_id=np.arange(160) * 3)
    train(run_here, frame)
    frame.drop(columns="kind").to_csv("absent.csv", index=False)
    frame.assign(kind="").to_csv("blank.csv", index=False)
    options = ("--id", "customer_id", "--id", "city")
    absent = run_here("predict", "m.json", "absent.csv", *options)
    blank = run_here("predict", "m.json", "blank.csv", *options)
    assert absent.returncode == blank.returncode == 0
    assert absent.stdout == blank.stdout and "accuracy" not in absent.stderr
    table = pd.read_csv(io.StringIO(absent.stdout))
    assert table["customer_id"].tolist() == frame["customer_id"].tolist()
    assert table.columns.tolist() == ["row", "prediction", "customer_id", "city"]
    done = run_here("predict", "m.json", "absent.csv", "--id", "customer")
    assert done.returncode == 3 and "Did you mean 'customer_id'" in done.stderr


def test_the_report_has_the_usual_scores(run_here):
    done = train(run_here, base(), "--cv", 3)
    for words in ("Accuracy on 32", "Balanced accuracy", "F1", "AUC", "Log-loss"):
        assert words in done.stdout
    done = train(run_here, base().assign(kind=lambda f: f["age"].fillna(0) * 1.5 + 0.25))
    assert "RMSE on" in done.stdout and "MAE on" in done.stdout


def test_classes_that_dominate_or_are_too_small_are_noted(run_here):
    frame = base(200)
    frame["kind"] = np.where(np.arange(200) % 10 == 0, "b", "a")
    done = train(run_here, frame)
    assert "90% of the rows have the class 'a'" in done.stdout
    assert "--set class_weight=balanced" in done.stdout
    assert "class_weight" not in train(run_here, frame, "--set", "class_weight=balanced").stdout
    frame.loc[0, "kind"] = "c"
    report = json.loads(train(run_here, frame, "--json").stdout)
    assert any("class 'c' has only 1 row," in note for note in report["notes"])
    confusion = report["held_out"]["confusion"]
    counts = dict(zip(confusion["labels"], np.sum(confusion["counts"], axis=1), strict=True))
    assert counts["b"] == 4 and "c" not in counts  # the others are stratified


def test_a_model_file_holds_no_list_of_rows(run_here):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=20_000), "kind": rng.integers(0, 2, 20_000)})
    frame.to_csv("t.csv", index=False)
    done = run_here("train", "t.csv", "--target", "kind", "--out", "m.json", "--cv", 0,
                    "--set", "max_epochs=1", "--set", "max_depth=2")  # fmt: skip
    assert done.returncode == 0
    content = json.loads(Path("m.json").read_text())
    assert content["extra"]["split"] == {"seed": 0, "fraction": 0.2, "missing": "learn"}
    assert len(json.dumps(content)) < 20_000
    done = run_here("predict", "m.json", "t.csv", "--held-out", "--json")
    assert "4,000 held-out rows" in done.stderr and "as train reported" in done.stderr


def test_outputs_in_folders_that_do_not_exist_are_named_as_typed(run_here):
    base().to_csv("t.csv", index=False)
    done = run_here("train", "t.csv", "--target", "kind", "--out", "no/such/m.json")
    assert done.returncode == 5 and "the folder 'no' does not exist" in done.stderr


def test_many_dates_are_dates(run_here):
    frame = base().assign(day=days(160).strftime("%Y-%m-%d"))
    assert train(run_here, frame).returncode == 0
    assert load_model("m.json").encoder_.features[2].kind == "date"


def test_thousands_are_read_as_such_and_no_message_advises_otherwise(run_here):
    frame = base().assign(pay=[f"{i},017" for i in range(1, 161)])
    assert train(run_here, frame).returncode == 0
    pay = load_model("m.json").encoder_.features[2]
    assert pay.kind == "number" and 1017 < pay.mean < 160_017
    odd = frame.assign(pay=[*frame["pay"][:-1], "1,01x"])
    frame.iloc[:9].assign(pay="1,01x").to_csv("odd.csv", index=False)
    for done in (train(run_here, odd), run_here("predict", "m.json", "odd.csv")):
        assert "--decimal" not in done.stderr + done.stdout


def test_codes_with_leading_zeros_are_categories(run_here):
    codes = np.where(base()["kind"] == "good", "00501", "10001")
    assert train(run_here, base().assign(code=codes)).returncode == 0
    code = load_model("m.json").encoder_.features[2]
    assert code.kind == "category" and code.categories == ("00501", "10001")


def test_a_regression_of_text_is_refused(run_here):
    done = train(run_here, base(), "--task", "regression")
    assert done.returncode == 3 and done.stderr.count("\n") == 1
    assert "column 'kind' contains" in done.stderr and "number" in done.stderr


# -- bad input ----------------------------------------------------------------------------


def test_bad_tables_and_outputs_are_named_in_one_sentence(run_here):
    twice = base().rename(columns={"city": "age"})
    for done, words in (
        (train(run_here, twice), "'age' is the name of several columns"),
        (train(run_here, base()[["kind"]].assign(empty=np.nan)), "no column is left to predict"),
        (train(run_here, base(), "--out", "/dev/full"), "--out /dev/full: cannot be written"),
    ):
        assert done.returncode in (3, 5) and words in done.stderr
        assert done.stderr.count("\n") == 1 and "Traceback" not in done.stderr


def test_a_model_that_cannot_be_written_is_named_in_python(tmp_path):
    model = BNeuralTClassifier(max_epochs=1).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(FileNotFoundError, match=r"no/such/model\.json'$"):
        model.save(tmp_path / "no/such/model.json")


def test_one_row_is_one_row(run_here):
    train(run_here, base())
    base()[:1].to_csv("one.csv", index=False)
    done = run_here("predict", "m.json", "one.csv")
    assert "1 row predicted" in done.stderr


def test_progress_says_which_tree_is_trained(run_here):
    frame = base().assign(kind=np.arange(160) * 1.5 + 0.25)
    options = ("--verbose", "--set", "n_init=3", "--set", "max_epochs=10")
    done = train(run_here, frame, *options)
    assert "tree 1/3  epoch" in done.stderr and "tree 3/3  epoch 10/10" in done.stderr
    places = re.findall(r"tree (\d)/3  epoch +(\d+)/10", done.stderr)
    assert len(places) > 5 and places == sorted(places, key=lambda place: tuple(map(int, place)))


def test_progress_does_not_jump_back_when_all_rows_are_trained_on(run_here):
    options = ("--verbose", "--set", "early_stopping=refit", "--set", "max_epochs=10", "--seed", 1)
    done = train(run_here, base(), *options)
    first, refit = done.stderr.split("refit on all rows", 1)
    for part, words in ((first, "validation loss"), (refit, "loss")):
        epochs = [int(n) for n in re.findall(rf"epoch +(\d+)/\d+  .*{words}", part)]
        assert len(epochs) > 2 and epochs == sorted(epochs)
    assert "validation loss" not in refit


def test_one_divergence_gives_one_warning(run_here):
    frame = base().assign(kind=np.arange(160) * 1.5 + 0.25)
    options = ("--set", "learning_rate=1e30", "--set", "optimizer=momentum", "--cv", 3)
    done = train(run_here, frame, *options)
    assert done.returncode == 0 and done.stderr.count("overflowed") == 1


def test_the_demo_says_what_it_shows():
    from bneuralt.cli.comparison import conclusion

    def result(name, *scores):
        models = ("neural tree", "neural forest", "SVM (rbf)")
        entries = zip(models, scores, (100, 1000, 5000), strict=True)
        rows = [{"model": m, "score": s, "weights": w, "fit_seconds": 1} for m, s, w in entries]
        return {"data": name, "task": "classification", "models": rows}

    text = conclusion([result("iris", 0.9, 0.95, 0.97), result("wine", 0.99, 0.98, 0.97)])
    assert "best on 1 of 2 data sets" in text and "loses most on iris" in text
    assert "SVM (rbf) is ahead by 0.070" in text and "one thread" in text


def test_whole_numbers_that_may_be_codes_are_named(tmp_path, run_here):
    rng = np.random.default_rng(0)
    shop = rng.integers(1, 61, 900)
    frame = pd.DataFrame({"shop": shop, "size": rng.normal(size=900)})
    frame["sales"] = rng.normal(size=61)[shop] + frame["size"]
    frame.to_csv(tmp_path / "shops.csv", index=False)
    options = ("--target", "sales", "--out", tmp_path / "m.json", "--cv", 0)
    said = " ".join(run_here("train", tmp_path / "shops.csv", *options).stdout.split())
    assert "column 'shop' (60 values" in said
    assert "use --categorical COLUMN" in said
    said = run_here("train", tmp_path / "shops.csv", *options, "--categorical", "shop").stdout
    assert "may be codes" not in said
