"""The program reads later tables as it read the training table, and says what it makes of them."""

from __future__ import annotations

import gzip
import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from bneuralt import BNeuralTClassifier, load_model
from bneuralt.cli.evaluation import split_rows
from bneuralt.cli.program import main

RNG = np.random.default_rng(0)
NUMBERS = RNG.integers(1, 5000, 120)
QUICK = ("--cv", 0, "--set", "n_weights=30")


@pytest.fixture
def run_here(capsys, tmp_path, monkeypatch):
    """Run the program in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return SimpleNamespace(returncode=code, stdout=captured.out, stderr=captured.err)

    return run


def write(path, frame, encoding="utf-8", **options):
    path.write_bytes(frame.to_csv(index=False, **options).encode(encoding))


def sizes():
    x = RNG.normal(size=90).round(3)
    return pd.DataFrame({"größe": x, "länge": 2 * x, "art": np.where(x > 0, "süß", "öde")})


def test_semicolons_with_decimal_commas_need_no_option(run_here, tmp_path):
    write(tmp_path / "t.csv", sizes(), sep=";", decimal=",")
    done = run_here("train", "t.csv", "--target", "art", "--out", "m.json", *QUICK)
    assert done.returncode == 0 and "texts are read as numbers: column 'größe'" in done.stdout
    done = run_here("predict", "m.json", "t.csv", "--json")
    assert json.loads(done.stdout)["scores"]["accuracy"] > 0.9


@pytest.mark.parametrize(
    "command",
    [
        ("predict", "m.json", "t.csv"),
        ("explain", "m.json", "t.csv"),
        ("compact", "m.json", "t.csv", "--max-weights", 20, "--cv", 0, "--out", "small.json"),
        ("draw", "m.json", "--example", "t.csv", "--out", "tree.svg"),
        ("draw", "m.json", "--example", "t.csv", "--out", "tree.html"),
        ("export", "m.json", "--to", "c", "--dtype", "int8", "--data", "t.csv", "--out", "m.h"),
    ],
)
def test_commands_know_what_train_was_told(run_here, tmp_path, command):
    # Commas and semicolons are as frequent as the delimiter, and the file is valid Latin-1.
    frame = sizes().assign(note=[f"{'ab'[i % 2]},c;d,e;f" for i in range(90)])
    write(tmp_path / "t.csv", frame, "cp1250", sep="|", decimal=",", quoting=3)
    told = ("--delimiter", "|", "--encoding", "cp1250", "--decimal", ",")
    done = run_here("train", "t.csv", "--target", "art", "--out", "m.json", *QUICK, *told)
    assert done.returncode == 0
    table = load_model("m.json").extra_["table"]
    assert (table["delimiter"], table["encoding"], table["decimal"]) == ("|", "cp1250", ",")
    done = run_here(*command)
    assert done.returncode == 0, done.stderr


def test_options_take_precedence_over_what_train_was_told(run_here, tmp_path):
    write(tmp_path / "t.csv", sizes(), sep="|", decimal=",")
    write(tmp_path / "later.csv", sizes(), sep="\t")
    told = ("--delimiter", "|", "--decimal", ",")
    run_here("train", "t.csv", "--target", "art", "--out", "m.json", *QUICK, *told)
    done = run_here("predict", "m.json", "later.csv", "--json", "--delimiter", "tab")
    assert json.loads(done.stdout)["scores"]["accuracy"] > 0.9


def test_json_lines_and_compressed_files_are_tables(run_here, tmp_path):
    frame = sizes()
    (tmp_path / "t.jsonl").write_text(frame.to_json(orient="records", lines=True))
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(frame.to_csv(index=False).encode()))
    assert (
        run_here("train", "t.jsonl", "--target", "art", "--out", "m.json", *QUICK).returncode == 0
    )
    done = run_here("predict", "m.json", "t.csv.gz", "--json")
    assert json.loads(done.stdout)["scores"]["accuracy"] > 0.9


def messy_frame():
    frame = pd.DataFrame(
        {
            "price": [f"{a:,} EUR" for a in NUMBERS],
            "share": [f"{a % 97}%" for a in NUMBERS],
            "at": [f"{a % 24}:{a % 60:02d}" for a in NUMBERS],
            "weight": [f"{a / 10} kg" for a in NUMBERS],
            "day": pd.date_range("2024-01-01", periods=len(NUMBERS)).strftime("%Y-%m-%d"),
            "count": [str(a / 8) for a in NUMBERS],
        }
    )
    frame.loc[5, "day"] = frame.loc[7, "count"] = "unknown"
    return frame.assign(kind=np.where(NUMBERS > 2500, "dear", "cheap"))


def test_units_times_and_gaps_are_numbers_with_a_note(run_here, tmp_path):
    frame = messy_frame()
    write(tmp_path / "t.csv", frame)
    done = run_here("train", "t.csv", "--target", "kind", "--out", "m.json", "--json", "--cv", 2)
    notes = [note for note in json.loads(done.stdout)["notes"] if "read as" in note]
    assert "column 'price' ('4,253 EUR' is 4253, unit 'EUR')" in notes[0]
    assert "texts are read as missing values" in notes[1] and "('unknown')" in notes[1]
    assert len(notes) == 2 and "read as" not in done.stderr
    model = load_model("m.json")
    kinds = [feature.kind for feature in model.encoder_.features]
    assert kinds == ["number"] * 4 + ["date", "number"]
    assert model.score(frame, frame["kind"]) > 0.9  # in Python, the same cells
    done = run_here("predict", "m.json", "t.csv", "--json")
    assert json.loads(done.stdout)["prediction"] == model.predict(frame).tolist()


@pytest.mark.filterwarnings("ignore:texts are read")
def test_a_frame_and_its_file_give_the_same_model(run_here, tmp_path):
    frame = messy_frame()
    write(tmp_path / "t.csv", frame)
    run_here("train", "t.csv", "--target", "kind", "--out", "m.json", "--test-fraction", 0, *QUICK)
    X, y = frame.drop(columns="kind"), frame["kind"]
    model = BNeuralTClassifier(random_state=0, n_weights=30).fit(X, y)
    loaded = load_model("m.json")
    assert loaded.encoder_ == model.encoder_
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    model.save("python.json")  # whose file has no layout of a table
    done = run_here("predict", "python.json", "t.csv", "--json")
    assert json.loads(done.stdout)["prediction"] == model.predict(X).tolist()


@pytest.mark.parametrize(("n_different", "is_left_out"), [(120, True), (108, True), (107, False)])
def test_texts_that_are_nearly_all_different_are_left_out(
    run_here, tmp_path, n_different, is_left_out
):
    names = [f"Mr. X{i}, {i}th of his name" for i in range(n_different)]
    frame = messy_frame()[["count", "kind"]].assign(Name=np.resize(names, 120))
    write(tmp_path / "t.csv", frame)
    done = run_here("train", "t.csv", "--target", "kind", "--out", "m.json", *QUICK)
    assert ("identify rows: column 'Name'" in done.stdout) == is_left_out


def test_pooled_categories_are_said(run_here, tmp_path):
    city = np.concatenate([np.repeat(np.arange(20), 30), np.arange(20, 70)])
    frame = pd.DataFrame({"city": [f"city {i}x" for i in city], "kind": np.tile(["a", "b"], 325)})
    write(tmp_path / "t.csv", frame)
    done = run_here(
        "train", "t.csv", "--target", "kind", "--out", "m.json", "--test-fraction", 0, *QUICK
    )
    assert "many values are rare: column 'city' (50 of 70 values" in done.stdout


def test_a_new_word_among_numbers_is_a_gap_and_a_new_number_with_a_unit_an_error(
    run_here, tmp_path
):
    frame = messy_frame()[["share", "kind"]].assign(pieces=NUMBERS)
    write(tmp_path / "t.csv", frame)
    run_here("train", "t.csv", "--target", "kind", "--out", "m.json", *QUICK)
    write(tmp_path / "later.csv", frame.assign(pieces=["unknown", *map(str, NUMBERS[1:])]))
    done = run_here("predict", "m.json", "later.csv", "--out", "p.csv")
    assert done.returncode == 0 and "column 'pieces' of X, such as 'unknown'" in done.stderr
    write(tmp_path / "later.csv", frame.assign(pieces=["5 kg", *map(str, NUMBERS[1:])]))
    done = run_here("predict", "m.json", "later.csv", "--out", "p.csv")
    assert done.returncode == 3 and "row 1 (line 2), column 'pieces' contains '5 kg'" in done.stderr
    write(tmp_path / "later.csv", frame.assign(share=["5 kg", *frame["share"][1:]]))
    done = run_here("predict", "m.json", "later.csv", "--out", "p.csv")
    assert done.returncode == 3 and "row 1 (line 2), column 'share' contains" in done.stderr


def write_with_odd_row(path, usual, odd):
    """Write a table in which one row, which is held out in training, has another kind of cell."""
    rng = np.random.default_rng(3)
    rows = [(usual(i), "ab"[i % 2], rng.normal()) for i in range(40)]
    labels = np.array([label for _, label, _ in rows])
    held_out = split_rows("classification", labels, 0.2, 0)[1][0]
    rows[held_out] = (odd, *rows[held_out][1:])
    frame = pd.DataFrame(rows, columns=["cell", "kind", "x"])
    write(path, frame)
    return frame


@pytest.mark.parametrize(
    ("usual", "odd", "kind"),
    [
        (lambda i: f"{i % 9} kg", "500 g", "category"),
        (lambda i: f"{i % 9 + 100}", "007", "category"),
        (lambda i: f"{i % 9} kg", "unknown", "number"),
        (lambda i: f"{i % 9}", "5 kg", "number"),
        (lambda i: f"{i % 9},{i % 8}5", "1,500", "number"),
        (lambda i: f"{1 + i % 9}/{1 + i % 7}/2024", "31/1/2024", "date"),
        (lambda i: f"{1 + i % 9}/{1 + i % 7}/2024", "soon", "date"),
        (lambda i: f"2024-01-{1 + i % 9:02d}", "2024-99-99", "category"),
    ],
)
def test_a_cell_of_another_kind_in_the_held_out_rows_is_no_surprise(
    run_here, tmp_path, usual, odd, kind
):
    write_with_odd_row(tmp_path / "t.csv", usual, odd)
    done = run_here("train", "t.csv", "--target", "kind", "--out", "m.json", *QUICK)
    assert done.returncode == 0, done.stderr
    assert load_model("m.json").encoder_.features[0].kind == kind
    done = run_here("predict", "m.json", "t.csv", "--out", "p.csv")
    assert "as train reported" in done.stdout


@pytest.mark.parametrize("cell", ["${:,}", "{:,} EUR", "{}%"])
def test_a_target_with_a_unit_is_a_number(run_here, tmp_path, cell):
    prices = [cell.format(a) for a in NUMBERS[:-1]] + ["unknown"]
    frame = pd.DataFrame({"size": NUMBERS / 7, "price": prices})
    write(tmp_path / "t.csv", frame)
    done = run_here("train", "t.csv", "--target", "price", "--out", "m.json", "--json", *QUICK)
    report = json.loads(done.stdout)
    assert report["task"] == "regression" and report["data"]["rows"] == 119
    assert f"({prices[0]!r} is {NUMBERS[0]:g}), and 'unknown' as missing" in report["notes"][0]
    done = run_here("predict", "m.json", "t.csv", "--json")
    assert json.loads(done.stdout)["scores"]["r2"] > 0.9
    write(tmp_path / "odd.csv", frame.assign(price=["5 kg", *prices[1:]]))
    done = run_here("predict", "m.json", "odd.csv")
    assert done.returncode == 3 and "row 1 (line 2), column 'price' contains '5 kg'" in done.stderr


def test_a_few_whole_numbers_with_a_unit_are_classes(run_here, tmp_path):
    frame = pd.DataFrame({"size": NUMBERS, "rating": [f"{a % 3} points" for a in NUMBERS]})
    write(tmp_path / "t.csv", frame)
    done = run_here("train", "t.csv", "--target", "rating", "--out", "m.json", "--json", *QUICK)
    assert json.loads(done.stdout)["task"] == "classification"
