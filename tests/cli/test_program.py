"""The program, started as users start it, on a table as they have it.

Each start takes a second, so a start serves several checks. The same behaviour is tested in more
detail, within the process of the tests, in `test_messy_tables` and `test_commands`.
"""

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bneuralt import load_model

N_ROWS = 200

#: What Python runs at its start: `ru_maxrss` would count the memory of the process of the tests.
WRITE_PEAK = r"""
import atexit, pathlib, re

def write_peak():
    status = pathlib.Path("/proc/self/status")
    if status.exists():
        pathlib.Path("peak").write_text(re.search(r"VmHWM:\s+(\d+) kB", status.read_text())[1])

atexit.register(write_peak)
"""


def bneuralt(*arguments, cwd, **environment):
    """Run the program in a folder; paths of imports from the environment come after own ones."""
    paths = [environment.pop("PYTHONPATH", ""), os.environ.get("PYTHONPATH", "")]
    paths = [os.path.abspath(path) for path in paths if path]
    environment |= {"COLUMNS": "100", "NO_COLOR": "1", "PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.run(
        [sys.executable, "-m", "bneuralt", *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, **environment},
        timeout=300,
    )


def peak(folder):
    """Return the most memory, in bytes, that the last program has used."""
    return 1024 * int((folder / "peak").read_text())


def customers():
    """Return a table with an index, ids, codes, thousands, dates, gaps, and rare classes."""
    rng = np.random.default_rng(0)
    city = rng.choice(["Köln", "Málaga", "Rome"], N_ROWS)
    frame = pd.DataFrame(
        {
            "Customer No.": rng.permutation(N_ROWS) * 3 + 10_000,
            "postcode": rng.choice(["00501", "04109", "10115"], N_ROWS),
            "city": city,
            "age": rng.integers(18, 90, N_ROWS).astype(float),
            "pay": [f"{n:,}" for n in rng.integers(1000, 9000, N_ROWS)],
            "joined": pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(N_ROWS) * 5, "D"),
            "kind": np.where(np.arange(N_ROWS) % 10 == 0, "b", "a"),
        }
    )
    frame.loc[::9, "age"] = np.nan
    frame.loc[::13, "city"] = None
    frame.loc[5, "kind"] = "c"
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with tables and with a model, and what the program said when it was trained."""
    folder = tmp_path_factory.mktemp("program")
    customers().to_csv(folder / "table.csv", encoding="cp1252")
    (folder / "sitecustomize.py").write_text(WRITE_PEAK)
    return folder


@pytest.fixture(scope="module")
def trained(folder):
    options = ("--verbose", "--set", "n_init=2", "--set", "max_epochs=10", "--cv", 2)
    command = ("train", "table.csv", "--target", "kind", "--out", "model.json", *options)
    done = bneuralt(*command, cwd=folder, PYTHONPATH=str(folder))
    assert done.returncode == 0, done.stderr
    return done


def test_a_messy_table_is_read_at_the_first_try(trained, folder):
    assert "200 rows, 5 features" in trained.stdout
    assert "they identify rows: column 'column1'; column 'Customer No.'." in trained.stdout
    assert trained.stdout.count("--keep-ids") == 1
    features = load_model(folder / "model.json").encoder_.features
    code, city, age, pay, joined = (f for f in features if f.kind != "unused")
    assert code.categories == ("00501", "04109", "10115")
    assert city.categories == ("Köln", "Málaga", "Rome") and city.has_gaps
    assert age.kind == pay.kind == "number" and 1000 < pay.mean < 9000
    assert joined.kind == "date"


def test_the_report_has_scores_and_says_what_is_odd(trained):
    for words in ("Accuracy on", "Balanced accuracy on", "F1", "AUC", "Log-loss"):
        assert words in trained.stdout
    assert "rows have the class 'a'" in trained.stdout
    assert "--set class_weight=balanced" in trained.stdout
    assert "class 'c' has only 1 row," in trained.stdout
    table = trained.stdout.split("predicted class (across)")[1].split("\n\n")[0]
    assert sum(map(int, re.findall(r"^ +b +(\d+) +(\d+)", table, re.M)[0])) == 4  # stratified


def test_a_score_of_a_single_fold_has_no_deviation(trained):
    assert re.search(r"Log-loss by 2-fold .*\(in a single fold\)", trained.stdout)
    assert "note:" not in trained.stderr


def test_progress_says_which_tree_it_is_at(trained):
    training = trained.stderr.split("cross-validation")[0]
    places = re.findall(r"tree (\d)/2  epoch +(\d+)/10", training)
    numbers = [tuple(map(int, place)) for place in places]
    assert numbers[-1] == (2, 10) and numbers == sorted(numbers)


def test_the_split_is_kept_as_seed_and_fraction(trained, folder):
    content = json.loads((folder / "model.json").read_text())
    assert content["extra"]["split"] == {"seed": 0, "fraction": 0.2, "missing": "learn"}


def test_ids_are_kept_gaps_dropped_and_epochs_do_not_jump_back(folder):
    options = ("--keep-ids", "--missing", "drop", "--cv", 0)
    refit = ("--verbose", "--set", "early_stopping=refit", "--set", "max_epochs=10")
    command = ("train", "table.csv", "--target", "kind", "--out", "kept.json", *options, *refit)
    done = bneuralt(*command, cwd=folder)
    n_complete = int(customers().notna().all(axis=1).sum())
    assert f"{n_complete} rows, 7 features" in done.stdout
    assert f"{N_ROWS - n_complete} rows with missing values left out" in done.stdout
    first, again = done.stderr.split("refit on all rows", 1)
    for part in (first, again):
        epochs = [int(n) for n in re.findall(r"epoch +(\d+)/", part)]
        assert len(epochs) > 1 and epochs == sorted(epochs)


def test_gaps_are_refused_if_wanted(folder):
    command = ("train", "table.csv", "--target", "kind", "--out", "no.json", "--missing", "error")
    done = bneuralt(*command, cwd=folder)
    assert done.returncode == 3 and "values are missing: row" in done.stderr


def test_blank_targets_ids_and_unknown_values_of_one_row(trained, folder):
    new = customers().iloc[[1]].assign(kind="", city="Oslo")
    new.to_csv(folder / "new.csv", index=False)
    command = ("predict", "model.json", "new.csv", "--id", "Customer No.")
    done = bneuralt(*command, cwd=folder)
    assert done.returncode == 0 and "1 row predicted" in done.stderr
    assert "1 value of column 'city' of X, such as 'Oslo'" in done.stderr
    table = pd.read_csv(io.StringIO(done.stdout))
    assert table["Customer No."].tolist() == new["Customer No."].tolist()
    done = bneuralt("predict", "model.json", "new.csv", "--unknown", "error", cwd=folder)
    assert done.returncode == 3 and "column 'city' contains 'Oslo'" in done.stderr


def test_predictions_of_a_table_without_target(trained, folder):
    customers().drop(columns="kind").to_csv(folder / "absent.csv", index=False)
    done = bneuralt("predict", "model.json", "absent.csv", cwd=folder)
    assert done.returncode == 0 and "200 rows predicted" in done.stderr
    assert "accuracy" not in done.stderr


def test_one_divergence_is_one_warning_and_errors_have_two_measures(folder):
    options = ("--set", "learning_rate=1e30", "--set", "optimizer=momentum", "--cv", 2)
    command = ("train", "table.csv", "--target", "pay", "--out", "pay.json", *options)
    done = bneuralt(*command, cwd=folder)
    assert done.returncode == 0 and done.stderr.count("overflowed") == 1
    assert "RMSE on" in done.stdout and "MAE on" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("Table.csv", "--target", "kind", "--out", "m.json"), 3, "Did you mean 'table.csv'"),
        (("table.csv", "--target", "kin", "--out", "m.json"), 3, "Did you mean 'kind'"),
        (("table.csv", "--target", "kind", "--out", "no/m.json"), 5, "the folder 'no' does not"),
        (("table.csv", "--target", "kind", "--out", "m.json", "--task", "regression"), 3,
         "column 'kind' contains"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_named_as_typed(arguments, code, message, folder):
    done = bneuralt("train", *arguments, cwd=folder)
    assert done.returncode == code and message in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs the peak from Linux")
def test_a_large_file_takes_six_times_its_size_of_memory(trained, folder):
    """With all that training takes, compared with the training on a small file."""
    before = peak(folder)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60_000, 8))).add_prefix("x")
    frame.assign(kind=rng.integers(0, 2, 60_000)).to_csv(folder / "large.csv", index=False)
    options = ("--cv", 0, "--set", "max_epochs=1", "--set", "max_depth=2")
    command = ("train", "large.csv", "--target", "kind", "--out", "large.json", *options)
    done = bneuralt(*command, cwd=folder, PYTHONPATH=str(folder))
    assert done.returncode == 0, done.stderr
    assert peak(folder) - before < 6 * (folder / "large.csv").stat().st_size
