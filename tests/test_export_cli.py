"""`bneuralt export` writes ONNX, SQL and Python, or one sentence and no file."""

import sqlite3
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from bneuralt import load_model


def bneuralt(*args, cwd):
    command = [sys.executable, "-m", "bneuralt", *map(str, args)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with a table and a model of it."""
    folder = tmp_path_factory.mktemp("export")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=80), "kind": rng.choice(["red", "it's"], 80)})
    table["y"] = np.where(table["a"] + (table["kind"] == "red") > 0.5, "yes", "no")
    table.to_csv(folder / "table.csv", index=False)
    done = bneuralt("train", "table.csv", "--target", "y", "--out", "model.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_python(trained):
    done = bneuralt("export", "model.json", "--to", "python", "--out", "m.py", cwd=trained)
    assert done.returncode == 0, done.stderr
    namespace = {}
    exec((trained / "m.py").read_text(), namespace)
    rows = pd.read_csv(trained / "table.csv")[["a", "kind"]]
    labels = [namespace["predict"](row)[0] for row in rows.itertuples(index=False)]
    assert np.mean(labels == load_model(trained / "model.json").predict(rows)) > 0.97


def test_sql(trained):
    done = bneuralt(
        "export", "model.json", "--to", "sql", "--of", "yes", "--out", "m.sql", cwd=trained
    )
    assert done.returncode == 0, done.stderr
    rows = pd.read_csv(trained / "table.csv")[["a", "kind"]]
    database = sqlite3.connect(":memory:")
    rows.to_sql("t", database)
    expression = (trained / "m.sql").read_text()
    found = [share for (share,) in database.execute(f"SELECT {expression} FROM t")]
    expected = load_model(trained / "model.json").predict_proba(rows)[:, 1]
    assert np.allclose(found, expected, atol=1e-5)


def test_onnx(trained):
    onnx = pytest.importorskip("onnx")
    done = bneuralt("export", "model.json", "--to", "onnx", "--out", "m.onnx", cwd=trained)
    assert done.returncode == 0, done.stderr
    assert [i.name for i in onnx.load(trained / "m.onnx").graph.input] == ["a", "kind"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--to", "sql", "--of", "maybe"], "of='maybe' is not an output"),
        (["--to", "python", "--function", "class"], "name='class'"),
        (["--to", "python", "--of", "yes"], "--of is an option of --to sql"),
    ],
)
def test_mistakes_leave_no_file(trained, options, message):
    done = bneuralt("export", "model.json", *options, "--out", "bad.txt", cwd=trained)
    assert done.returncode != 0 and message in done.stderr
    assert "Traceback" not in done.stderr and not (trained / "bad.txt").exists()


def test_a_file_that_cannot_be_written(trained):
    done = bneuralt("export", "model.json", "--to", "sql", "--out", "no/m.sql", cwd=trained)
    assert done.returncode != 0 and "no" in done.stderr and "Traceback" not in done.stderr
