"""Random messy tables, and all roads by which a table can come to a model."""

import csv
import datetime as dt
import gzip
import io
import json
import warnings
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
from hypothesis import strategies as st

from bneuralt import BNeuralTClassifier, BNeuralTRegressor, load_model, open_table
from bneuralt.cli.program import main

FAST = {"max_epochs": 2, "n_weights": 12}

# -- columns ------------------------------------------------------------------------------


def _numbers(rng, n):
    factor = 10.0 ** rng.integers(-3, 4)
    return [float(f"{factor * x:.10g}") for x in rng.normal(size=n)]  # workbooks have 16 digits


def _whole(rng, n):
    return rng.integers(0, 40, n).tolist()


def _texts(rng, n):
    return rng.choice(["red", "dark green", "Köln", "a,b", 'say "x"'], n).tolist()


def _codes(rng, n):
    return [f"{code:05d}" for code in rng.integers(0, 30_000, 4)[rng.integers(0, 4, n)]]


def _numbered_texts(rng, n):
    return rng.choice(["1.50", "2", "12A", "x"], n).tolist()


def _dates(rng, n):
    start = dt.datetime(2021, 3, 1)
    return [start + dt.timedelta(days=int(day)) for day in rng.integers(0, 700, n)]


def _moments(rng, n):
    start = dt.datetime(2021, 3, 1, 7, 30)
    return [start + dt.timedelta(minutes=int(m)) for m in rng.integers(0, 90_000, n)]


def _local_dates(rng, n):
    return [f"{day:%d.%m.%Y}" for day in _dates(rng, n)]


def _times(rng, n):
    return [dt.time(int(h), int(m)) for h, m in rng.integers(0, 24, (n, 2))]


def _booleans(rng, n):
    return [bool(b) for b in rng.integers(0, 2, n)]


def _written_booleans(rng, n):
    return rng.choice(["true", "FALSE"], n).tolist()


def _units(rng, n):
    unit = rng.choice(["EUR", "kg", "%"])
    return [f"{x:,.2f} {unit}" for x in 2000 * rng.random(n)]


def _commas(rng, n):
    return [f"{x:.2f}".replace(".", ",") for x in 20 * rng.random(n)]


def _sentinels(rng, n):
    return np.where(rng.random(n) < 0.15, -999, rng.integers(0, 30, n)).tolist()


def _words(rng, n):
    texts = rng.integers(0, 50, n).astype(str).tolist()
    return ["unknown" if x < 0.06 else text for x, text in zip(rng.random(n), texts, strict=True)]


def _keys(rng, n):
    return rng.permutation(10 * n)[:n].tolist()


def _names(rng, n):
    return [f"person {i}" for i in rng.permutation(n)]


def _nothing(rng, n):
    return [None] * n


#: The kinds of columns: their names, and whether values may be missing.
COLUMNS = {
    "size": (_numbers, True),
    "rooms": (_whole, True),
    "colour": (_texts, True),
    "zip": (_codes, True),
    "model": (_numbered_texts, True),
    "day": (_dates, True),
    "sold": (_moments, False),
    "paid on": (_local_dates, True),
    "opens": (_times, True),
    "member": (_booleans, False),
    "active": (_written_booleans, True),
    "price": (_units, True),
    "share": (_commas, False),
    "sensor": (_sentinels, False),
    "age": (_words, True),
    "customer_id": (_keys, False),
    "name": (_names, False),
    "empty": (_nothing, False),
}


@st.composite
def tables(draw):
    """Return a table as a dict of lists of Python objects; the target is `y`."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    names = draw(st.lists(st.sampled_from(list(COLUMNS)), min_size=1, max_size=6, unique=True))
    n = draw(st.integers(24, 60))
    gaps = draw(st.floats(0, 0.3))
    table = {"base": rng.normal(size=n).round(12).tolist()}
    for name in names:
        make, may_miss = COLUMNS[name]
        values = make(rng, n)
        if may_miss:
            values = [None if x < gaps else v for x, v in zip(rng.random(n), values, strict=True)]
        table[name] = values
    if draw(st.booleans()):
        table["y"] = [
            round(x + float(e), 3) for x, e in zip(table["base"], rng.normal(size=n), strict=True)
        ]
    else:
        table["y"] = ["up" if x > 0 else "down" for x in table["base"]]
    if len(set(table["y"])) < 2:
        table["y"][:2] = ["up", "down"]
    return table


# -- the same table in all forms ----------------------------------------------------------


def as_pandas(table):
    """Return a frame; numbers and dates have their types, all else are objects."""
    frame = {}
    for name, values in table.items():
        kinds = {type(v) for v in values} - {type(None)}
        is_typed = kinds and kinds <= {int, float, bool, dt.datetime}
        is_typed = is_typed and not (kinds == {bool} and None in values)
        frame[name] = pd.Series(values) if is_typed else pd.Series(values, dtype=object)
    return pd.DataFrame(frame)


def as_arrow(table):
    return pa.table({name: pa.array(values) for name, values in table.items()})


def as_polars(table):
    return pl.DataFrame(table, strict=False)


def _cell(value):
    if value is None:
        return ""
    return repr(value) if isinstance(value, float) else str(value)


def as_csv(table, delimiter=","):
    """Return the bytes of a CSV file."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter)
    writer.writerow(table)
    writer.writerows(zip(*([_cell(v) for v in column] for column in table.values()), strict=True))
    return out.getvalue().encode()


def rows_of(table, rows):
    return {name: values[rows] for name, values in table.items()}


def _parts(table):
    n = len(table["y"])
    return [rows_of(table, slice(start, start + n // 3 + 1)) for start in range(0, n, n // 3 + 1)]


def write_files(table, folder):
    """Write the table in every format; return the paths by the name of the road."""
    paths = {}

    def new(name):
        paths[name] = folder / name
        return paths[name]

    new("t.csv").write_bytes(as_csv(table))
    new("semicolons.csv").write_bytes(as_csv(table, ";"))
    new("t.csv.gz").write_bytes(gzip.compress(as_csv(table), mtime=0))
    pa.parquet.write_table(as_arrow(table), new("t.parquet"))
    pa.feather.write_feather(as_arrow(table), str(new("t.feather")))
    records = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    new("t.jsonl").write_text("".join(json.dumps(r, default=str) + "\n" for r in records))
    book = openpyxl.Workbook()
    book.active.append(list(table))
    for row in zip(*table.values(), strict=True):
        book.active.append(list(row))
    book.save(new("t.xlsx"))
    new("csv files").mkdir()
    new("parquet files").mkdir()
    schema = as_arrow(table).schema
    for i, part in enumerate(_parts(table)):
        (folder / "csv files" / f"{i}.csv").write_bytes(as_csv(part))
        pa.parquet.write_table(as_arrow(part).cast(schema), folder / "parquet files" / f"{i}.pq")
    return paths


def frames_of(table, paths):
    """Return the table as objects that `open_table` or `fit` take, by the name of the road."""
    parts = _parts(table)
    return {
        "pandas": as_pandas(table),
        "polars": as_polars(table),
        "arrow": as_arrow(table),
        "open_table of CSV": open_table(paths["t.csv"], "y"),
        "open_table of Parquet": open_table(paths["t.parquet"], "y"),
        "open_table of CSV files": open_table(paths["csv files"], "y"),
        "dataset": open_table(pyarrow.dataset.dataset(paths["parquet files"]), "y"),
        "series of frames": open_table([as_arrow(part) for part in parts], "y"),
    }


def in_blocks(frames):
    """Return the opened tables with so little memory that all of them have several blocks."""
    opened = {road: frame for road, frame in frames.items() if hasattr(frame, "blocks")}
    return {f"{road} in blocks": replace(each, max_memory=2_000) for road, each in opened.items()}


# -- roads --------------------------------------------------------------------------------


def run(*arguments):
    """Run the program, and return what it writes."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main([str(argument) for argument in arguments])
    assert code == 0, err.getvalue()
    return out.getvalue()


def _is_classes(table):
    return isinstance(table["y"][0], str)


def fitted(table, frame):
    """Train on a frame or an opened table."""
    kind = BNeuralTClassifier if _is_classes(table) else BNeuralTRegressor
    model = kind(random_state=0, **FAST)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if hasattr(frame, "blocks"):
            return model.fit(frame)
        return model.fit(features(frame), target(frame))


def features(frame):
    if hasattr(frame, "column_names"):
        return frame.drop_columns(["y"])
    return frame.drop(columns="y") if hasattr(frame, "iloc") else frame.drop("y")


def target(frame):
    if hasattr(frame, "column_names"):
        return pd.Series(frame.column("y").to_pylist(), name="y")
    return frame["y"] if hasattr(frame, "iloc") else pd.Series(frame["y"].to_list(), name="y")


def trained(path, out):
    """Train by the program, and return the model."""
    settings = [word for pair in FAST.items() for word in ("--set", "=".join(map(str, pair)))]
    run("train", path, "--target", "y", "--out", out, "--test-fraction", 0, "--cv", 0, *settings)
    return load_model(out)


def described(model, folder):
    """Return what a model file has, without what the program adds."""
    model.save(folder / "described.json")
    content = json.loads((folder / "described.json").read_text())
    content.pop("extra", None)
    if hasattr(model, "classes_"):  # texts may be objects or of a fixed length
        content["classes"] = model.classes_.tolist()
    return content


def predictions(model, frame):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.predict(frame if hasattr(frame, "blocks") else features(frame))


def program_predictions(model_file, path):
    answer = json.loads(run("predict", model_file, path, "--json"))
    return np.array(answer["prediction"])
