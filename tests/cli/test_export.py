"""`bneuralt export` writes files for each target, or one sentence and no file."""

import sqlite3

import numpy as np
import pandas as pd
import pytest

from bneuralt import BNeuralTClassifier, load_model
from bneuralt.export.targets import TARGETS


@pytest.fixture
def export(trained, run_here, monkeypatch):
    """Run `bneuralt export model.json`; return the exit code and what it says of errors."""
    monkeypatch.chdir(trained)

    def run(*options):
        done = run_here("export", "model.json", *options)
        return done.returncode, done.stderr

    return run


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with a table and a model of it."""
    folder = tmp_path_factory.mktemp("export")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=80), "kind": rng.choice(["red", "it's"], 80)})
    table["y"] = np.where(table["a"] + (table["kind"] == "red") > 0.5, "yes", "no")
    table.to_csv(folder / "table.csv", index=False)
    model = BNeuralTClassifier(max_epochs=20, random_state=0)
    model.fit(table[["a", "kind"]], table["y"].to_numpy()).save(folder / "model.json")
    return folder


def test_python(trained, export):
    code, errors = export("--to", "python", "--out", "m.py")
    assert code == 0, errors
    namespace = {}
    exec((trained / "m.py").read_text(), namespace)
    rows = pd.read_csv(trained / "table.csv")[["a", "kind"]]
    labels = [namespace["predict"](row)[0] for row in rows.itertuples(index=False)]
    assert np.mean(labels == load_model(trained / "model.json").predict(rows)) > 0.97


def test_javascript(trained, export):
    code, errors = export("--to", "javascript", "--out", "m.js", "--name", "risk")
    assert code == 0, errors
    assert "function risk(row) {" in (trained / "m.js").read_text()


def test_sql(trained, export):
    code, errors = export("--to", "sql", "--of", "yes", "--out", "m.sql")
    assert code == 0, errors
    rows = pd.read_csv(trained / "table.csv")[["a", "kind"]]
    database = sqlite3.connect(":memory:")
    rows.to_sql("t", database)
    expression = (trained / "m.sql").read_text()
    shares = [share for (share,) in database.execute(f"SELECT {expression} FROM t")]
    expected = load_model(trained / "model.json").predict_proba(rows)[:, 1]
    assert np.allclose(shares, expected, atol=1e-5)


def test_onnx(trained, export):
    onnx = pytest.importorskip("onnx")
    code, errors = export("--to", "onnx", "--out", "m.onnx")
    assert code == 0, errors
    assert [i.name for i in onnx.load(trained / "m.onnx").graph.input] == ["a", "kind"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--to", "sql", "--of", "maybe"], "bneuralt: --of 'maybe' is not an output"),
        (["--to", "python", "--name", "class"], "bneuralt: --name 'class'"),
        (["--to", "c"], "bneuralt: --out 'bad.txt' must end in .h or .c."),
        (["--to", "c", "--name", "while", "--out", "x.h"], "bneuralt: --name 'while' is not"),
        (["--to", "python", "--of", "yes"], "--of is an option of --to sql"),
        (["--to", "onnx", "--dtype", "int8"], "--dtype int8 cannot be used with --to onnx"),
    ],
)
def test_mistakes_leave_no_file(trained, export, options, message):
    before = set(trained.iterdir())
    code, errors = export("--out", "bad.txt", *options)
    assert code != 0 and message in errors
    assert "Traceback" not in errors and set(trained.iterdir()) == before


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda target: target.name)
def test_own_files_are_replaced_and_others_are_not(trained, export, target):
    if target.name == "onnx":
        pytest.importorskip("onnx")
    for _ in range(2):
        code, errors = export("--to", target.name, "--out", f"again{target.suffix}")
        assert code == 0, errors
    path = trained / f"mine{target.suffix}"
    path.write_text("precious")
    code, errors = export("--to", target.name, "--out", path.name)
    assert code != 0 and "--force" in errors
    assert path.read_text() == "precious"


def test_a_file_that_cannot_be_written(export):
    code, errors = export("--to", "sql", "--out", "no/m.sql")
    assert code != 0 and "no" in errors and "Traceback" not in errors


def test_the_file_to_write_is_required(export):
    code, errors = export("--to", "python")
    assert code == 2 and "required: --out" in errors
