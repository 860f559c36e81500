"""The program: files, processes, exit codes and messages."""

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from bneuralt import BNeuralTClassifier, load_model
from tests.helpers.help_imports import loaded_by_help
from tests.helpers.tables import write_flowers, write_prices

ENVIRONMENT = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
if "PYTHONPATH" in os.environ:  # it may be relative, and the program is run in other folders
    ENVIRONMENT["PYTHONPATH"] = os.path.abspath(os.environ["PYTHONPATH"])
COMMAND = [sys.executable, "-m", "bneuralt"]


def bneuralt(*arguments, cwd=None, stdin=None):
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        timeout=300,
    )


@pytest.fixture(scope="module")
def flowers(tmp_path_factory):
    """A table, the model trained on it, and the report."""
    folder = tmp_path_factory.mktemp("flowers")
    table = write_flowers(folder / "flowers.csv")
    done = bneuralt("train", table, "--target", "kind", "--out", folder / "m.json", "--json")
    assert done.returncode == 0, done.stderr
    return table, folder / "m.json", json.loads(done.stdout)


# ------------------------------------------------------------------------------- success


def test_version_help_and_config():
    from bneuralt import __version__

    assert bneuralt("--version").stdout == f"bneuralt {__version__}\n"
    shown = bneuralt("--help").stdout
    assert "train" in shown and "exit codes" in shown
    assert __version__ in bneuralt("config").stdout


def test_help_is_fast_because_it_imports_no_numpy_and_looks_for_no_other_packages():
    commands = [
        "", "demo", "train", "predict", "draw", "config",
    ]  # fmt: skip
    assert loaded_by_help(commands) == "[]"


def test_a_command_of_a_package_that_is_not_installed_says_what_to_install(run_here, monkeypatch):
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: [])
    done = run_here("paper", "run", "--quick")
    assert done.returncode == 2
    assert "bneuralt-paper: run pip install ./paper" in done.stderr
    assert "invalid choice: 'papers'" in run_here("papers").stderr


def test_another_package_adds_a_command(run_here, tmp_path, monkeypatch):
    metadata = tmp_path / "greetings-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: greetings\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[bneuralt.commands]\ngreet = greetings\n")
    (tmp_path / "greetings.py").write_text(
        '"""Say hello."""\n'
        "def add_arguments(parser): parser.add_argument('name')\n"
        "def run(args): print('hello', args.name)\n"
    )
    assert run_here("greet", "tree").returncode == 2
    monkeypatch.syspath_prepend(tmp_path)
    assert run_here("greet", "tree").stdout == "hello tree\n"
    assert "Say hello." in run_here("greet", "--help").stdout


def test_predict_repeats_the_score_that_train_reported(flowers):
    table, model_file, report = flowers
    done = bneuralt("predict", model_file, table, "--held-out", "--json")
    assert done.returncode == 0, done.stderr
    again = json.loads(done.stdout)
    assert again["held_out"]["rows"] == report["held_out"]["rows"] == 24
    assert again["held_out"]["scores"] == report["held_out"]["scores"]
    assert again["scores"] == report["held_out"]["scores"]
    assert len(again["prediction"]) == 24
    assert "as train reported" in done.stderr


def test_scores_of_all_rows_are_told_from_those_of_held_out_ones(flowers, tmp_path, run_here):
    table, model_file, _ = flowers
    shown = run_here("predict", model_file, table, "--out", tmp_path / "all.csv").stdout
    assert "all rows (including the training rows): " in shown and "24 held-out rows: " in shown
    shown = run_here("predict", model_file, table, "--held-out", "--out", tmp_path / "p.csv").stdout
    assert "all rows" not in shown and "24 held-out rows: " in shown


def test_a_report_shows_the_confusions_of_a_classification_only(flowers, tmp_path, run_here):
    table, out = flowers[0], tmp_path / "m.json"
    for target, has_classes in (("kind", True), ("length", False)):
        done = run_here("train", table, "--target", target, "--out", out, "--cv", 0)
        assert done.returncode == 0, done.stderr
        assert ("predicted class (across)" in done.stdout) == has_classes


def test_report_of_a_classification(flowers, tmp_path):
    table, model_file, report = flowers
    assert report["task"] == "classification"
    assert report["data"]["classes"] == {"aaa": 40, "bbb": 40, "ccc": 40}
    assert report["held_out"]["scores"]["accuracy"] > 0.8
    assert report["cross_validation"]["folds"] == 5
    assert report["cross_validation"]["accuracy"]["mean"] > 0.8
    assert np.sum(report["held_out"]["confusion"]["counts"]) == 24
    assert report["model"]["weights"] == load_model(model_file).n_parameters_
    assert {entry["feature"] for entry in report["features"]} == {"length", "width", "colour"}
    done = bneuralt("train", table, "--target", "kind", "--out", tmp_path / "m.json")
    assert done.returncode == 0 and done.stderr == ""
    for words in ("24 held-out rows", "5-fold", "predicted class", "weights", "length", "m.json"):
        assert words in done.stdout
    assert (tmp_path / "m.json").read_bytes() == model_file.read_bytes()


def test_regression_and_its_report(tmp_path):
    table, out = write_prices(tmp_path / "prices.csv"), tmp_path / "m.json"
    done = bneuralt("train", table, "--target", "price", "--out", out, "--cv", 3)
    assert done.returncode == 0, done.stderr
    assert "r2 on 24 held-out rows" in done.stdout and "RMSE" in done.stdout
    done = bneuralt("predict", out, table, "--out", tmp_path / "p.csv")
    assert done.returncode == 0 and "as train reported" in done.stdout
    with (tmp_path / "p.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 120 and [row["row"] for row in rows[:2]] == ["1", "2"]
    float(rows[0]["prediction"])


def test_forest_settings_and_drawing(tmp_path, run_here):
    table, out = write_flowers(tmp_path / "f.csv"), tmp_path / "m.json"
    done = run_here(
        "train", table, "--target", "-1", "--out", out, "--forest", "--cv", 0,
        "--set", "n_estimators=3", "--set", "max_depth=2", "--set", "scale=none", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["model"]["trees"] == 3 and report["model"]["depth"] <= 2
    assert report["cross_validation"] is None
    drawing = run_here("draw", out, "--tree", 3)
    assert drawing.returncode == 0
    assert "aaa =" in drawing.stdout and "colour=" in drawing.stdout
    assert run_here("draw", out, "--tree", 4).returncode == 2


def test_pictures_of_models(tmp_path, run_here):
    table, out = write_flowers(tmp_path / "f.csv"), tmp_path / "m.json"
    trained = run_here("train", table, "--target", "-1", "--out", out, "--set", "max_epochs=5")
    assert trained.returncode == 0, trained.stderr
    picture = tmp_path / "tree.svg"
    done = run_here("draw", out, "--out", picture, "--example", table, "--row", 2, "--dark")
    assert done.returncode == 0, done.stderr
    text = picture.read_text(encoding="utf-8")
    assert text.startswith("<svg ") and "predicted: " in text and "colour = " in text
    done = run_here("draw", out, "--out", tmp_path / "tree.png", "--all")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "tree.png").read_bytes().startswith(b"\x89PNG")
    wrong = run_here("draw", out, "--out", picture, "--example", table, "--row", 999)
    assert wrong.returncode == 3 and "--row 999" in wrong.stderr
    assert run_here("draw", out, "--out", tmp_path / "tree.gif").returncode == 2


def test_all_rows_are_used_for_training_if_none_are_held_out(tmp_path, run_here):
    table, out = write_flowers(tmp_path / "f.csv", 30), tmp_path / "m.json"
    done = run_here("train", table, "--target", "kind", "--out", out, "--test-fraction", 0)
    assert done.returncode == 0, done.stderr
    assert "trained on 30 rows" in done.stdout and "held-out" not in done.stdout
    done = run_here("predict", out, table, "--held-out")
    assert done.returncode == 3 and "no record of held-out rows" in done.stderr


def test_predictions_for_rows_without_target_in_another_order(flowers, tmp_path):
    table, model_file, _ = flowers
    with table.open() as file:
        rows = list(csv.DictReader(file))
    names = ["colour", "width", "length"]
    lines = [names, *([row[name] for name in names] for row in rows)]
    text = "\n".join("\t".join(line) for line in lines)
    shuffled = bneuralt("predict", model_file, "-", "--probabilities", stdin=text)
    straight = bneuralt("predict", model_file, table, "--probabilities")
    assert shuffled.returncode == straight.returncode == 0
    assert shuffled.stdout == straight.stdout
    header, first = shuffled.stdout.splitlines()[:2]
    assert header == "row,prediction,p(aaa),p(bbb),p(ccc)"
    assert sum(map(float, first.split(",")[2:])) == pytest.approx(1, abs=1e-6)
    assert "120 rows predicted" in shuffled.stderr and "accuracy" not in shuffled.stderr


def test_whole_numbers_stay_whole_numbers(tmp_path, run_here):
    table = tmp_path / "t.csv"
    table.write_text("".join(f"{i / 7:.3f},{i % 4},{int(i > 30)}\n" for i in range(60)))
    out = tmp_path / "m.json"
    assert run_here("train", table, "--target", "3", "--out", out, "--cv", 0).returncode == 0
    done = run_here("predict", out, table)
    assert {line.split(",")[1] for line in done.stdout.splitlines()[1:]} == {"0", "1"}


def test_a_model_saved_in_python_can_be_used(tmp_path, run_here):
    from bneuralt import BNeuralTClassifier

    X = np.random.default_rng(0).normal(size=(80, 3))
    model = BNeuralTClassifier(max_epochs=5, random_state=0).fit(X, X[:, 0] > 0)
    model.save(tmp_path / "m.json")
    np.savetxt(tmp_path / "x.csv", X, delimiter=",")
    done = run_here("predict", tmp_path / "m.json", tmp_path / "x.csv")
    assert done.returncode == 0, done.stderr
    predicted = [line.split(",")[1] for line in done.stdout.splitlines()[1:]]
    assert predicted == [str(label) for label in model.predict(X)]


def test_same_seed_same_file_another_seed_another_file(flowers, tmp_path):
    table, model_file, _ = flowers
    out = tmp_path / "m.json"
    arguments = ("train", table, "--target", "kind", "--out", out, "--cv", 0)
    assert bneuralt(*arguments, "--jobs", 2).returncode == 0
    tree = json.loads(out.read_text())
    assert load_model(out).tree_ == load_model(model_file).tree_
    assert bneuralt(*arguments, "--seed", 1).returncode == 0
    assert json.loads(out.read_text()) != tree


def test_a_closed_pipe_is_not_an_error(flowers):
    table, model_file, _ = flowers
    process = subprocess.Popen(
        [*COMMAND, "predict", str(model_file), str(table)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
    )
    process.stdout.close()
    message = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait() == 0 and "Traceback" not in message


def test_data_list(tmp_path, run_here):
    listed = json.loads(run_here("data", "list", "--json", "--folder", tmp_path).stdout)
    assert {"iris", "vehicle", "mnist"} <= {entry["name"] for entry in listed}
    assert "iris" in run_here("data", "list").stdout


@pytest.mark.parametrize(
    ("source", "code", "says"),
    [("nowhere", 2, "choose from 'packages', 'openml'"), ("openml", 3, "heart cannot be fetched")],
)
def test_data_sets_are_fetched_from_where_the_user_says(tmp_path, run_here, source, code, says):
    folder = tmp_path / "data"
    done = run_here("data", "fetch", "heart", "--source", source, "--folder", folder)
    assert done.returncode == code and says in done.stderr, done.stderr


def test_demo():
    done = bneuralt("demo", "--splits", 1, "--json")
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    assert [r["data"] for r in results] == ["iris", "wine", "breast_cancer", "digits", "diabetes"]
    for result in results:
        scores = {row["model"]: row["score"] for row in result["models"]}
        assert len(scores) == 6 and scores["neural tree"] > (0.2 if not result["classes"] else 0.8)


def test_demo_shows_scores_a_tree_and_a_page(tmp_path):
    page = tmp_path / "iris.html"
    done = bneuralt("demo", "--out", page)
    assert done.returncode == 0, done.stderr
    shown = done.stdout
    table = shown.split("\n\n")[1].splitlines()
    assert [line.split()[0] for line in table[2:7]] == [
        "iris", "wine", "breast_cancer", "digits", "diabetes",
    ]  # fmt: skip
    assert all("*" in line for line in table[2:7])
    assert "The neural tree is best on " in shown and " of 5 data sets" in shown
    assert "It loses most on " in shown and " is ahead by 0." in shown
    assert "All models were fitted and used with one thread" in shown
    n_weights = int(re.search(r"compacted from \d+ to (\d+) weights", shown)[1])
    assert n_weights <= 40 and "virginica = " in shown
    assert str(page) in shown and "petal length" in page.read_text("utf-8")
    assert len(shown.split("Three things to try next\n")[1].splitlines()) == 3
    assert "\033" not in shown
    assert all(len(line) < 80 for line in shown.split("\nsetosa = ")[0].splitlines())


def test_demo_refuses_a_folder_before_it_works(tmp_path):
    done = bneuralt("demo", "--out", tmp_path)
    assert done.returncode != 0 and "is a folder" in done.stderr and not done.stdout


def test_predict_repeats_the_score_on_vehicle(shared, tmp_path):
    table, out = shared / "data" / "vehicle.csv", tmp_path / "m.json"
    done = bneuralt("train", table, "--target", "target", "--out", out, "--json")
    report = json.loads(done.stdout)
    again = json.loads(bneuralt("predict", out, table, "--json").stdout)
    assert again["held_out"]["scores"] == report["held_out"]["scores"]
    assert report["held_out"]["scores"]["accuracy"] > 0.7


# ------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "COMMAND"),
        (("fly",), 2, "invalid choice: 'fly'"),
        (("train", "t.csv", "--out", "m.json"), 2, "--target"),
        (("train", "t.csv", "--target", "kind"), 2, "--out"),
        (("train", "no.csv", "--target", "kind", "--out", "m.json"), 3, "no.csv: no such file"),
        (("train", ".", "--target", "kind", "--out", "m.json"), 3, "need the same columns"),
        (("train", "t.csv", "--target", "kin", "--out", "m.json"), 3, "Did you mean 'kind'"),
        (("train", "gap.csv", "--target", "b", "--out", "m.json", "--missing", "error"), 3,
         "row 2 (line 3), column 'a'"),
        (("train", "T.csv", "--target", "kind", "--out", "m.json"), 3, "Did you mean 't.csv'"),
        (("train", "sub/t.csv", "--target", "kind", "--out", "m.json"), 3,
         "The folder 'sub' does not exist"),
        (("train", "t.csv", "--target", "kind", "--out", "no/m.json"), 5, "does not exist"),
        (("train", "t.csv", "--target", "kind", "--out", "."), 5, "is a folder"),
        (("train", "t.csv", "--target", "kind", "--out", "t.csv"), 5, "overwrite the input file"),
        (("train", "t.csv", "--target", "kind", "--out", "gap.csv"), 5, "not a model"),
        (("train", "t.csv", "--target", "kind", "--out", "m.json", "--test-fraction", "1"), 2,
         "not in [0, 1)"),
        (("train", "t.csv", "--target", "kind", "--out", "m.json", "--test-fraction", "x"), 2,
         "--test-fraction"),
        (("train", "t.csv", "--target", "kind", "--out", "m.json", "--cv", "1"), 2, "at least 2"),
        (("train", "t.csv", "--target", "kind", "--out", "m.json", "--seed", "-1"), 2, "--seed"),
        (("train", "t.csv", "--target", "kind", "--out", "m.json", "--task", "regression"), 3,
         "contains 'aaa', but a finite number"),
        (("train", "t.csv", "--target", "kind", "--out", "m.json", "--set", "depth=3"), 2,
         "no setting 'depth'. Did you mean 'max_depth'"),
        (("train", "t.csv", "--target", "kind", "--out", "m.json", "--set", "max_depth"), 2,
         "NAME=VALUE"),
        (("train", "t.csv", "--target", "kind", "--out", "m.json", "--set", "max_depth=-3"), 2,
         "max_depth"),
        (("train", "t.csv", "--target", "kind", "--out", "m.json", "--set", "loss=x"), 2, "loss"),
        (("train", "two.csv", "--target", "b", "--out", "m.json", "--test-fraction", ".6"), 3,
         "at least 2 are needed"),
        (("train", "single.csv", "--target", "b", "--out", "m.json"), 3, "at least two classes"),
        (("predict", "no.json", "t.csv"), 4, "no.json: no such file"),
        (("predict", ".", "t.csv"), 4, "cannot be read"),
        (("predict", "t.csv", "t.csv"), 4, "t.csv"),
        (("predict", "other.json", "t.csv"), 4, "other.json"),
        (("draw", "other.json"), 4, "other.json"),
        (("data", "fetch", "moon"), 2, "no data set 'moon'"),
        (("demo", "--splits", "0"), 2, "at least 1"),
    ],
)  # fmt: skip
def test_errors_have_a_code_and_a_message_and_write_nothing(
    arguments, code, message, tmp_path, monkeypatch, run_here
):
    monkeypatch.chdir(tmp_path)
    write_flowers(tmp_path / "t.csv", 30)
    (tmp_path / "gap.csv").write_text("a,b\n1,x\n,y\n3,x\n")
    (tmp_path / "two.csv").write_text("a,b\n1,x\n2,y\n")
    (tmp_path / "single.csv").write_text("a,b\n1,x\n2,x\n3,x\n")
    (tmp_path / "other.json").write_text('{"colour": "red"}')
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    done = run_here(*arguments)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_tables_that_do_not_fit_the_model(flowers, tmp_path, run_here):
    _, model_file, _ = flowers
    table = tmp_path / "t.csv"
    for text, message in [
        ("length,width,colour\n1,2,green\n", "row 1 (line 2), column 'colour' contains 'green'"),
        ("length,colour\n1,red\n", "has no column 'width'"),
        ("length,width,colour\n1,x,red\n", "column 'width' contains 'x'"),
        ("length,width,colour\n1,,red\n", "1 value is missing"),
    ]:
        table.write_text(text)
        done = run_here(
            "predict", model_file, table, "--out", tmp_path / "p.csv",
            "--unknown", "error", "--missing", "error",
        )  # fmt: skip
        assert done.returncode == 3 and message in done.stderr
        assert not (tmp_path / "p.csv").exists()
    table.write_text("length,width,colour\n1,2,red\n")
    done = run_here("predict", model_file, table, "--held-out")
    assert done.returncode == 3 and "not the file" in done.stderr


def test_probabilities_of_a_regression_are_rejected(tmp_path, run_here):
    table, out = write_prices(tmp_path / "p.csv", 40), tmp_path / "m.json"
    run_here("train", table, "--target", "price", "--out", out, "--cv", 0)
    done = run_here("predict", out, table, "--probabilities")
    assert done.returncode == 2 and "--probabilities" in done.stderr


@pytest.mark.parametrize("size", [10, 1000, -200, -2])
def test_a_truncated_model_is_rejected(flowers, tmp_path, size, run_here):
    table, model_file, _ = flowers
    cut = tmp_path / "cut.json"
    cut.write_bytes(model_file.read_bytes()[:size])
    done = run_here("predict", cut, table)
    assert done.returncode == 4 and "cut.json" in done.stderr


def test_what_train_stored_is_checked(flowers, tmp_path, run_here):
    table, model_file, _ = flowers
    damaged = tmp_path / "m.json"
    for key, value, code, message in [
        ("split", "all", 4, "description of the held-out rows is damaged"),
        ("split", {"seed": -1, "fraction": 0.2, "missing": "learn"}, 4, "is damaged"),
        ("table", {"columns": []}, 4, "entry 'target' is missing"),
    ]:
        content = json.loads(model_file.read_text())
        content["extra"][key] = value
        damaged.write_text(json.dumps(content))
        done = run_here("predict", damaged, table)
        assert done.returncode == code and message in done.stderr


@pytest.mark.parametrize(
    "damage",
    [
        lambda table: table.update(task="regression"),
        lambda table: table.update(task="nonsense"),
        lambda table: table.update(n_columns=1),
        lambda table: table.update(target_position=-1),
        lambda table: table["columns"][0].update(position=1000),
        lambda table: table["columns"][0].update(position=table["columns"][1]["position"]),
        lambda table: table["columns"][0].update(name=table["columns"][1]["name"]),
        lambda table: table.update(decimal="·"),
        lambda table: table["columns"].pop(),
        lambda table: table["columns"].reverse() or table["columns"].append("x"),
    ],
)
@pytest.mark.parametrize("command", ["predict", "draw"])
def test_a_damaged_table_encoding_is_found_when_the_model_is_loaded(
    flowers, tmp_path, run_here, command, damage
):
    table, model_file, _ = flowers
    damaged = tmp_path / "m.json"
    content = json.loads(model_file.read_text())
    damage(content["extra"]["table"])
    damaged.write_text(json.dumps(content))
    done = run_here(command, damaged, *([table] if command == "predict" else []))
    assert done.returncode == 4
    assert "m.json: " in done.stderr and "table layout" in done.stderr


def test_predict_overwrites_other_files_only_if_told_to(flowers, tmp_path, run_here):
    table, model_file, _ = flowers
    out = tmp_path / "p.csv"
    for text in ("name,phone\nAnn,123\n", "row,prediction,notes\n1,a,b\n", "\n", '{"rows": 3}\n'):
        out.write_text(text)
        done = run_here("predict", model_file, table, "--out", out)
        assert done.returncode == 5 and "--force" in done.stderr
        assert out.read_text() == text
    assert run_here("predict", model_file, table, "--out", out, "--force").returncode == 0
    assert out.read_text().startswith("row,prediction\n")
    refused = run_here("predict", model_file, table, "--out", table, "--force")
    assert refused.returncode == 5 and "input file" in refused.stderr


def test_predict_overwrites_its_own_files(flowers, tmp_path, run_here):
    table, model_file, _ = flowers
    out = tmp_path / "p"
    out.write_text("")
    for options in ([], ["--probabilities"], ["--json"], ["--json", "--probabilities"], []):
        before = out.read_text()
        done = run_here("predict", model_file, table, "--out", out, *options)
        assert done.returncode == 0 and out.read_text() != before
    assert run_here("predict", model_file, table, "--out", os.devnull).returncode == 0


def test_labels_do_not_become_formulas(tmp_path, run_here):
    labels = ["=1+1", "+cmd", "-x", "@sum", "-1", "+2.5", "plain", "a=b"]
    table, out = tmp_path / "t.csv", tmp_path / "m.json"
    rows = [(i % 8, labels[i % 8]) for i in range(80)]
    table.write_text("x,label\n" + "".join(f"{x},{label}\n" for x, label in rows))
    done = run_here("train", table, "--target", "label", "--out", out, "--cv", 0)
    assert done.returncode == 0

    def predictions(*options):
        text = run_here("predict", out, table, *options).stdout
        return {row[1] for row in list(csv.reader(text.splitlines()))[1:]}

    raw = predictions("--raw")
    assert {"=1+1", "+cmd", "-x", "@sum"} & raw and raw <= set(labels)
    assert predictions() == {f"'{x}" if x in ("=1+1", "+cmd", "-x", "@sum") else x for x in raw}


@pytest.mark.parametrize("label", ["\tx", "\rx", "=x"])
def test_labels_of_models_saved_in_python_do_not_become_formulas(tmp_path, run_here, label):
    table, out = tmp_path / "t.csv", tmp_path / "m.json"
    X = np.repeat([[0.0], [1.0]], 20, axis=0)
    y = np.repeat(["a", label], 20).astype(object)
    BNeuralTClassifier(random_state=0).fit(X, y).save(out)
    table.write_text("0\n1\n")
    done = run_here("predict", out, table, "--json")
    assert json.loads(done.stdout)["prediction"] == ["a", label]
    done = run_here("predict", out, table)
    assert list(csv.reader(io.StringIO(done.stdout, newline="")))[2] == ["2", f"'{label}"]


def test_control_characters_do_not_reach_the_terminal(tmp_path, run_here):
    table, out = tmp_path / "t.csv", tmp_path / "m.json"
    evil = "\x1b[2J\x07\x9b31m\u202e"
    lines = [f"{i},{i % 3},{evil}{'abc'[i % 3]}\n" for i in range(60)]
    table.write_text(f'"{evil}\nlength",{evil}width,{evil}kind\n' + "".join(lines), "utf-8")
    without = tmp_path / "other.csv"
    without.write_text(f"{evil}\n1\n2\n", "utf-8")
    for arguments, code in (
        (("train", table, "--target", f"{evil}kind", "--out", out), 0),
        (("train", table, "--target", f"{evil}", "--out", out), 3),
        (("draw", out), 0),
        (("predict", out, table, "--json"), 0),
        (("predict", out, without), 3),
        (("predict", tmp_path / f"{evil}.json", table), 4),
    ):
        done = run_here(*arguments)
        assert done.returncode == code
        shown = done.stdout + done.stderr
        assert shown and not set(shown) & set(evil.replace("[2J", "").replace("31m", ""))


def test_a_target_with_decimal_commas(tmp_path, run_here):
    table, out = tmp_path / "t.csv", tmp_path / "m.json"
    numbers = [i / 4 for i in range(60)]
    lines = [f"{x};{2 * x + 0.25}\n".replace(".", ",") for x in numbers]
    table.write_text("size;price\n" + "".join(lines))
    options = ("--decimal", ",")
    done = run_here("train", table, "--target", "price", "--out", out, "--json", *options)
    assert done.returncode == 0 and json.loads(done.stdout)["task"] == "regression"
    done = run_here("predict", out, table, "--json", *options)
    assert json.loads(done.stdout)["scores"]["r2"] > 0.9


def test_a_terminal_without_umlauts(tmp_path):
    table, out = tmp_path / "t.csv", tmp_path / "m.json"
    table.write_text("".join(f"{i},{['Köln', 'Rom'][i % 2]}\n" for i in range(40)), "utf-8")
    environment = {**ENVIRONMENT, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    for arguments in (
        ("train", table, "--target", "2", "--out", out, "--cv", "0"),
        ("predict", out, table),
        ("draw", out),
    ):
        command = [*COMMAND, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, env=environment, timeout=300)
        assert done.returncode == 0, done.stderr
        # results are data, and written as UTF-8; reports are for the terminal
        expected = "Köln".encode() if arguments[0] == "predict" else b"K\\xf6ln"
        if arguments[0] == "draw":  # two classes are the log-odds of the second one
            expected = b"log-odds of Rom"
        assert expected in done.stdout


# ------------------------------------------------------------------------------- interruption


def start_long_training(tmp_path):
    """Start a `train` that takes minutes, and wait until it is training."""
    table = write_flowers(tmp_path / "t.csv", 1000)
    process = subprocess.Popen(
        [*COMMAND, "train", "t.csv", "--target", "kind", "--out", "m.json", "--verbose",
         "--set", "max_epochs=10000000"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**ENVIRONMENT, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert process.stdout.readline() == b"training on 800 rows\n"
    return table, process


@pytest.mark.parametrize("previous", [False, True], ids=["no model", "previous model"])
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_a_killed_training_leaves_no_half_written_model(sign, previous, flowers, tmp_path):
    out = tmp_path / "m.json"
    if previous:
        out.write_bytes(flowers[1].read_bytes())
    table, process = start_long_training(tmp_path)
    time.sleep(0.3)
    process.send_signal(sign)
    rest = process.stdout.read().decode()
    process.stdout.close()
    code = process.wait(timeout=60)
    assert "Traceback" not in rest
    if sign == signal.SIGINT:
        assert code == 130 and "interrupted; nothing was written" in rest
    else:
        assert code == -sign
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [table.name, *(["m.json"] if previous else [])]
    )
    if previous:
        assert out.read_bytes() == flowers[1].read_bytes()


def test_no_other_file_is_left_beside_the_model(flowers):
    folder = Path(flowers[1]).parent
    assert sorted(path.name for path in folder.iterdir()) == ["flowers.csv", "m.json"]


def test_the_program_predicts_one_number_a_row(tmp_path, run_here):
    table = tmp_path / "t.csv"
    table.write_text("a,b\n" + "".join(f"{i},{i * 1.5}\n" for i in range(40)))
    options = ("--target", "b", "--out", tmp_path / "m.json", "--cv", 0, "--set", "loss=quantile")
    done = run_here("train", table, *options)
    assert done.returncode == 2 and "name one, for example with --set quantiles=0.9" in done.stderr
    assert run_here("train", table, *options, "--set", "quantiles=0.9").returncode == 0
