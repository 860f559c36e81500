"""`bneuralt train` and `bneuralt predict` with tables that are read in blocks."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from bneuralt import load_model
from bneuralt.cli.errors import BAD_DATA, CANNOT_WRITE, OK, USAGE
from bneuralt.cli.program import main
from tests.helpers.block_tables import sales, write_parts

SALES = sales(4000)
FAST = ["--set", "max_epochs=5", "--set", "n_weights=60"]
FEATURES = ["--drop", "key"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of four Parquet files with a key."""
    folder = tmp_path_factory.mktemp("sales")
    write_parts(SALES.assign(key=np.arange(len(SALES))), folder, 4)
    return folder


@pytest.fixture(scope="module")
def model(folder):
    path = folder / "model.json"
    pattern = str(folder / "part*.parquet")
    arguments = ["--target", "price", "--drop", "kind", *FEATURES, *FAST, "--out", str(path)]
    assert main(["train", pattern, *arguments]) == OK
    return path


def run(capsys, *arguments):
    code = main(list(map(str, arguments)))
    out, err = capsys.readouterr()
    return code, out, err


def train(capsys, folder, target, *more, pattern="part*.parquet"):
    options = ["--target", target, *FEATURES, *FAST, "--out", folder / "other.json", *more]
    return run(capsys, "train", folder / pattern, *options)


# -- train --------------------------------------------------------------------------------


@pytest.mark.parametrize("memory", [[], ["--max-memory", "1.1MB"]])
@pytest.mark.parametrize(("target", "score"), [("price", "r2"), ("kind", "accuracy")])
def test_train_scores_rows_that_were_held_out(capsys, folder, target, score, memory):
    other = "kind" if target == "price" else "price"
    code, out, err = train(capsys, folder, target, "--drop", other, "--json", *memory)
    assert code == OK, err
    report = json.loads(out)
    assert report["data"]["rows"] == len(SALES) and report["data"]["features"] == 5
    held_out = report["held_out"]
    assert held_out["rows"] + report["training"]["rows"] == len(SALES)
    assert held_out["rows"] == pytest.approx(0.2 * len(SALES), rel=0.15)
    assert held_out["scores"][score] > 0.6 > held_out["always_the_same"]["scores"][score]
    assert {each["feature"] for each in report["features"]} == {
        "size", "age", "shop", "sold", "rooms",
    }  # fmt: skip
    model = load_model(folder / "other.json")
    assert model.target_names_ == (target,)
    assert model.score(SALES[list(model.feature_names_in_)], SALES[target]) > 0.6


def test_train_reports_as_text_and_names_the_target_by_its_number(capsys, folder):
    code, out, err = train(capsys, folder, "-2", "--drop", "price", "--forest",
                           "--set", "n_estimators=2", "--max-memory", "2MB")  # fmt: skip
    assert code == OK, err
    assert "target 'kind' with 3 classes" in out and "A forest of 2 trees" in out
    assert "Held-out rows by true class" in out


def test_train_without_held_out_rows_and_with_numbers_as_categories(capsys, folder):
    code, out, err = train(capsys, folder, "price", "--drop", "kind", "--test-fraction", "0",
                           "--cv", "0", "--categorical", "rooms")  # fmt: skip
    assert code == OK, err
    assert "No score" in out
    assert load_model(folder / "other.json").encoder_.features[4].kind == "category"


@pytest.mark.parametrize("option", [["--missing", "drop"], ["--max-categories", "3"]])
def test_train_names_options_that_are_for_tables_in_memory(capsys, folder, option):
    code, _, err = train(capsys, folder, "price", "--max-memory", "1.1MB", *option)
    assert code == USAGE and option[0] in err and "blocks" in err


def test_train_names_what_is_wrong(capsys, folder, tmp_path):
    code, _, err = train(capsys, folder, "prize")
    assert code == BAD_DATA and "no column 'prize'. Did you mean 'price'?" in err
    code, _, err = train(capsys, folder, "price", "--drop", "nothing")
    assert code == BAD_DATA and "no column 'nothing'" in err
    code, _, err = train(capsys, folder, "price", pattern="zz*.parquet")
    assert code == BAD_DATA and "no file matches" in err
    code, _, err = train(capsys, folder, "price", "--max-memory", "much")
    assert code == BAD_DATA and "max_memory='much'" in err
    write_parts(SALES, tmp_path)
    part = pd.read_parquet(tmp_path / "part1.parquet")
    part.assign(price=part["price"].where(part.index != 7)).to_parquet(tmp_path / "part1.parquet")
    arguments = ["--target", "price", "--out", tmp_path / "model.json", "--max-memory", "1.1MB"]
    code, _, err = run(capsys, "train", tmp_path, *arguments)
    assert code == BAD_DATA and "part1.parquet: column 'price', the target, has no value" in err
    assert not (tmp_path / "model.json").exists()


# -- predict ------------------------------------------------------------------------------


def predictions(folder):
    paths = sorted(folder.rglob("*.parquet"))
    return pd.concat([pd.read_parquet(path) for path in paths], ignore_index=True)


@pytest.mark.parametrize("memory", ["1.1MB", "1GB"])
def test_predictions_have_all_rows_with_their_keys(capsys, folder, model, tmp_path, memory):
    out = tmp_path / "out"
    code, text, err = run(capsys, "predict", model, folder / "part*.parquet", "--out", out,
                          "--max-memory", memory)  # fmt: skip
    assert code == OK, err
    assert text == f"4,000 rows of 4 files predicted, in {out}\n"
    result = predictions(out)
    assert result["key"].tolist() == list(range(4000))
    assert result["row"].tolist() == list(range(1, 1001)) * 4
    assert result["kind"].tolist() == SALES["kind"].tolist()
    expected = load_model(model).predict(SALES[["size", "age", "shop", "sold", "rooms"]])
    np.testing.assert_allclose(result["prediction"], expected, rtol=1e-12)


def test_probabilities_and_chosen_columns(capsys, folder, tmp_path):
    assert train(capsys, folder, "kind", "--drop", "price")[0] == OK
    code, _, err = run(capsys, "predict", folder / "other.json", folder / "part0*", "--id", "key",
                       "--probabilities", "--out", tmp_path / "out")  # fmt: skip
    assert code == OK, err
    result = predictions(tmp_path / "out")
    shares = ["p(cheap)", "p(dear)", "p(usual)"]
    assert result.columns.tolist() == ["key", "row", "prediction", *shares]
    np.testing.assert_allclose(result[shares].sum(axis=1), 1.0)
    best = result[shares].idxmax(axis=1).str[2:-1]
    assert best.tolist() == result["prediction"].tolist()


def test_csv_files_become_csv_files_in_the_same_subfolders(capsys, model, tmp_path):
    for name in ("a", "b"):
        (tmp_path / "in" / name).mkdir(parents=True)
        frame = SALES[:100].assign(key=["=1+1", *range(99)])
        frame.to_csv(tmp_path / "in" / name / "x.csv.gz", index=False)
    code, _, err = run(capsys, "predict", model, tmp_path / "in", "--out", tmp_path / "out")
    assert code == OK, err
    result = pd.read_csv(tmp_path / "out" / "b" / "x.csv")
    assert result.columns.tolist() == ["row", "prediction", "price", "kind", "key"]
    assert len(result) == 100 and result["key"][0] == "'=1+1"


def test_a_killed_program_goes_on_where_it_was_stopped(capsys, folder, model, tmp_path):
    """No row is lost or doubled, and complete files are not written again."""
    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    n_files = 12
    for i in range(n_files):
        SALES.assign(key=np.arange(len(SALES)) + i * len(SALES)).to_parquet(
            source / f"{i:02d}.parquet"
        )
    command = [sys.executable, "-m", "bneuralt", "predict", str(model), str(source), "--out",
               str(out), "--max-memory", "1.1MB"]  # fmt: skip
    n_kills, n_before = 0, 0
    for _ in range(3):
        program = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        while program.poll() is None and len(list(out.glob("*.parquet"))) <= n_before:
            time.sleep(0.002)
        time.sleep(0.01)
        program.send_signal(signal.SIGKILL)
        n_kills += program.wait() == -signal.SIGKILL
        complete = {path: path.stat().st_mtime_ns for path in out.glob("*.parquet")}
        n_before = len(complete)
    assert n_kills > 0 and n_before > 0
    code, text, err = run(capsys, *command[3:])
    assert code == OK, err
    assert f"{n_before} file" in text
    assert {path: path.stat().st_mtime_ns for path in complete} == complete
    assert sorted(os.listdir(out)) == sorted(
        [*(f"{i:02d}.parquet" for i in range(n_files)), "_predictions.json"]
    )
    assert predictions(out)["key"].tolist() == list(range(n_files * len(SALES)))
    code, text, _ = run(capsys, *command[3:])
    assert text.startswith("0 rows of 0 files predicted")


def test_a_full_disk_leaves_complete_files_only(capsys, folder, model, tmp_path):
    out = tmp_path / "out"
    arguments = ["predict", str(model), str(folder), "--out", str(out), "--id", "key"]
    program = f"""
import resource, signal, sys
from bneuralt.cli import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4_000, 4_000))
sys.exit(main({arguments!r}))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode not in (0, -signal.SIGXFSZ)
    assert str(out) in done.stderr and "Traceback" not in done.stderr
    assert [path for path in out.glob("*") if path.name != "_predictions.json"] == []
    code, _, err = run(capsys, *arguments)
    assert code == OK, err


def test_files_that_changed_are_predicted_again(capsys, model, tmp_path):
    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    frame = SALES.assign(key=1)
    write_parts(frame, source, 2)
    assert run(capsys, "predict", model, source, "--out", out)[0] == OK
    frame[:50].to_parquet(source / "part1.parquet")
    _, text, _ = run(capsys, "predict", model, source, "--out", out)
    assert text.startswith("50 rows of 1 file predicted") and len(predictions(out)) == 2050


def test_folders_with_other_content_are_not_touched(capsys, folder, model, tmp_path):
    (tmp_path / "notes.txt").touch()
    pattern = folder / "part*.parquet"
    code, _, err = run(capsys, "predict", model, pattern, "--out", tmp_path)
    assert code == CANNOT_WRITE and "other files" in err
    out = tmp_path / "out"
    assert run(capsys, "predict", model, pattern, "--out", out)[0] == OK
    code, _, err = run(capsys, "predict", model, pattern, "--out", out, "--id", "key")
    assert code == CANNOT_WRITE and "other options" in err
    code, text, _ = run(capsys, "predict", model, pattern, "--out", out, "--id", "key", "--force")
    assert code == OK and text.startswith("4,000 rows of 4 files")
    code, _, err = run(capsys, "predict", model, pattern, "--out", folder, "--force")
    assert code == CANNOT_WRITE and "would overwrite" in err


def test_predict_names_what_is_wrong(capsys, folder, model, tmp_path):
    pattern = folder / "part*.parquet"
    code, out, err = run(capsys, "predict", model, pattern)
    assert code == OK and "4,000 rows of 4 files predicted" in err and out.count("\n") == 4001
    code, _, err = run(capsys, "predict", model, pattern, "--out", tmp_path / "out", "--json")
    assert code == USAGE and "--json" in err
    code, _, err = run(capsys, "predict", model, pattern, "--out", tmp_path, "--probabilities")
    assert code == USAGE and "regression model" in err
    SALES.drop(columns="size").to_parquet(tmp_path / "a.parquet")
    code, _, err = run(capsys, "predict", model, tmp_path, "--out", tmp_path / "out")
    assert code == BAD_DATA and "no column 'size'" in err
    infinite = SALES.copy()
    infinite.loc[3, "size"] = np.inf
    infinite.to_parquet(tmp_path / "a.parquet")
    code, _, err = run(capsys, "predict", model, tmp_path, "--out", tmp_path / "out")
    assert code == BAD_DATA and "a.parquet: column 'size'" in err
    assert sorted(os.listdir(tmp_path / "out")) == ["_predictions.json"]
