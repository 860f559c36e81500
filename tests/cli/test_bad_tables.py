"""Tables that cannot be used are refused with their file, line and column, on every road."""

import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from bneuralt import BNeuralTClassifier, BNeuralTRegressor, load_model, open_table
from bneuralt.tables import TableError, file_table, parse_csv

FAST = ("--cv", 0, "--set", "max_epochs=2", "--set", "n_weights=12")


def frame(n=90, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n).round(4)
    return pd.DataFrame({"x": x, "c": rng.choice(["a", "b"], n), "y": np.where(x > 0, "up", "dn")})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    for i in range(3):
        frame(seed=i).to_csv(tmp_path / "in" / f"{i}.csv", index=False)
    return tmp_path


def train(run_here, path="in"):
    return run_here("train", path, "--target", "y", "--out", "m.json", *FAST)


def refused(done, *words):
    assert done.returncode == 3 and done.stderr.count("\n") == 1, done.stderr
    assert all(word in done.stderr for word in words), done.stderr


def test_files_with_other_columns_or_rows_of_another_width(run_here, folder):
    frame().drop(columns="c").to_csv(folder / "in" / "3.csv", index=False)
    refused(train(run_here), "in/3.csv: there is no column 'c', which in/0.csv has")
    (folder / "in" / "3.csv").write_text("y,c,x\nup,a,1,2\n")
    refused(train(run_here), "in/3.csv: line 2 has 4 cells")
    (folder / "in" / "3.csv").write_text('y,c,x\nup,a,"1\n')
    refused(train(run_here), "in/3.csv: line 3 cannot be read")
    frame()[["y", "c", "x"]].to_csv(folder / "in" / "3.csv", index=False)
    assert train(run_here).returncode == 0  # another order
    assert not (folder / "-").exists()


def test_a_text_a_gap_or_a_category_in_the_last_file_only(run_here, folder):
    assert train(run_here).returncode == 0
    last = frame().astype(object)
    last.loc[4, ["x", "c"]] = "12 kg", "new"
    last.loc[5, "x"] = None
    last.to_csv(folder / "in" / "9.csv", index=False)
    done = run_here("predict", "m.json", "in")
    refused(done, "in/9.csv: row 5 (line 6), column 'x' contains '12 kg'")
    last.loc[4, "x"] = 1.5
    last.to_csv(folder / "in" / "9.csv", index=False)
    done = run_here("predict", "m.json", "in", "--unknown", "error")
    refused(done, "in/9.csv: row 5 (line 6), column 'c' contains 'new'")
    done = run_here("predict", "m.json", "in", "--missing", "error")
    refused(done, "1 value is missing: in/9.csv: row 6 (line 7), column 'x' (empty)")
    assert run_here("predict", "m.json", "in").returncode == 0


def test_a_folder_of_several_formats_is_one_table(run_here, folder):
    frame(seed=3).to_parquet(folder / "in" / "3.parquet")
    frame(seed=4).to_json(folder / "in" / "4.jsonl", orient="records", lines=True)
    whole = pd.concat([frame(seed=i) for i in range(5)])
    done = train(run_here)
    assert done.returncode == 0 and "450 rows, 2 features" in done.stdout
    whole.to_csv(folder / "whole.csv", index=False)
    expected = run_here("predict", "m.json", "whole.csv").stdout
    assert run_here("predict", "m.json", "in").stdout == expected
    model = load_model("m.json")
    table = open_table(folder / "in", "y")
    assert model.predict(table).tolist() == [row.split(",")[1] for row in expected.split()[1:]]


def test_two_columns_of_one_name(run_here, folder):
    (folder / "t.csv").write_text("x,x,y\n1,2,up\n2,3,dn\n")
    refused(train(run_here, "t.csv"), "t.csv: 'x' is the name of several columns")
    arrays = [pa.array([1, 2]), pa.array([1, 2]), pa.array(["up", "dn"])]
    pa.parquet.write_table(pa.table(arrays, names=["x", "x", "y"]), folder / "t.parquet")
    refused(train(run_here, "t.parquet"), "t.parquet: 'x' is the name of several columns")


@pytest.mark.parametrize("content", [b"", b"x,y\n", b"x,y\n,\n", b"\n\n"])
def test_a_table_without_rows(run_here, folder, content):
    (folder / "t.csv").write_bytes(content)
    done = train(run_here, "t.csv")
    assert done.returncode == 3 and done.stderr.startswith("bneuralt: t.csv: ")
    assert not (folder / "m.json").exists()


def test_a_bomb_of_parquet_is_refused_with_the_name_of_the_limit(run_here, folder, monkeypatch):
    monkeypatch.setattr(file_table, "MANY_BYTES", 2**20)
    n = 200_000
    names = [f"c{i}" for i in range(40)]
    with pa.parquet.ParquetWriter("t.parquet", pa.schema([(n, pa.int64()) for n in names])) as out:
        part = pa.table({name: pa.array(np.zeros(n, dtype=np.int64)) for name in names})
        out.write_table(part)
    assert (folder / "t.parquet").stat().st_size < 100_000
    refused(run_here("train", "t.parquet", "--target", "c0", "--out", "m.json"), "MAX_EXPANSION")


def test_a_constant_that_overflows_is_named_by_its_column():
    x = np.random.default_rng(0).normal(size=60)
    X = np.column_stack([x, np.full(60, 1e39)])
    with pytest.raises(ValueError, match=r"^column 1 of X has the value 1e.39"):
        BNeuralTRegressor(random_state=0, max_epochs=2).fit(X, x)
    frame = pd.DataFrame(X, columns=["a", "big"])
    for gaps, settings in ((0, {"max_epochs": 2}), (0, {}), (3, {})):  # with a trial, and gaps
        frame.loc[: gaps - 1, "a"] = np.nan
        with pytest.raises(ValueError, match=r"^column 'big' of X has the value 1e.39"):
            BNeuralTRegressor(random_state=0, **settings).fit(frame, x)


def test_a_signalling_nan_is_a_missing_value():
    cells = [Decimal(1), Decimal("sNaN"), Decimal("NaN"), Decimal("2.5")] * 10
    X = pd.DataFrame({"d": cells, "x": np.arange(40.0)})
    model = BNeuralTClassifier(random_state=0, max_epochs=2).fit(X, np.arange(40) % 2)
    assert model.encoder_.features[0].mean == 1.75
    with pytest.raises(ValueError, match="y contains NaN, first in row 1"):
        BNeuralTRegressor().fit(X[["x"]], cells)


def test_results_go_to_the_standard_output(run_here, folder):
    done = run_here("train", "in/0.csv", "--target", "y", "--out", "-", *FAST)
    assert done.returncode == 0 and "Model written to standard output" in done.stderr
    (folder / "m.json").write_text(done.stdout)
    assert json.loads(done.stdout)["extra"]["table"]["target"] == "y"
    assert run_here("predict", "m.json", "in/0.csv", "--out", "-").stdout.startswith("row,pred")
    assert run_here("explain", "m.json", "in/0.csv", "--out", "-").stdout.startswith("row,output")
    assert run_here("draw", "m.json", "--out", "-").stdout.startswith("<svg")
    assert "<html" in run_here("card", "m.json", "in/0.csv", "--out", "-").stdout
    assert "def predict" in run_here("export", "m.json", "--to", "python", "--out", "-").stdout
    assert "#include" in run_here("export", "m.json", "--to", "c", "--out", "-").stdout
    assert sorted(path.name for path in folder.iterdir()) == ["in", "m.json"]


def test_an_infinite_number_is_refused_by_its_text():
    rows = "".join(f"{i},{i % 3},{'ab'[i % 2]}\n" for i in range(30))
    with pytest.raises(TableError, match="t: line 33 has 2 cells"):
        parse_csv(f"x,z,y\n{rows}inf,1,a\n1,2\n".encode(), "t")
    text = parse_csv(f"x,z,y\n{rows}inf,1,a\n".encode()).column(0)
    X = pd.DataFrame({"x": [text.texts[code] for code in text.values], "z": np.arange(31)})
    with pytest.raises(ValueError, match="column 'x' of X has 'inf': numbers must be finite"):
        BNeuralTClassifier().fit(X, np.arange(31) % 2)
