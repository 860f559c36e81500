"""Compressed files, JSON, Parquet, Feather and workbooks are read as the CSV file would be."""

from __future__ import annotations

import bz2
import contextlib
import gc
import gzip
import io
import lzma
import sys
import zipfile
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bneuralt.tables import TableError, parse_csv
from bneuralt.tables.file_table import read_csv
from tests.helpers.needs import needs

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "number": RNG.normal(size=30),
        "text": RNG.choice(["a", 'b "c", d', "é\nf"], 30),
        "day": pd.date_range("2024-01-01", periods=30).strftime("%Y-%m-%d"),
        "whole": RNG.integers(0, 9, 30),
    }
)
CSV = FRAME.to_csv(index=False).encode()


def cells(data, **options):
    table = parse_csv(data, **options)
    return table.names, [table.raw(j) for j in range(len(table.names))]


@pytest.mark.parametrize("module", [gzip, bz2, lzma])
def test_compressed_files_are_read(module):
    assert cells(module.compress(CSV)) == cells(CSV)


@pytest.mark.filterwarnings("error::ResourceWarning")
@pytest.mark.parametrize("module", [gzip, bz2, lzma])
def test_compressed_files_are_closed(module, tmp_path):
    (tmp_path / "t.csv").write_bytes(module.compress(CSV))
    assert read_csv(tmp_path / "t.csv").names == list(FRAME)
    gc.collect()


@pytest.mark.parametrize("lines", [True, False])
def test_json_is_read(lines):
    data = FRAME.to_json(orient="records", lines=lines, double_precision=15).encode()
    names, columns = cells(data)
    assert names == list(FRAME)
    np.testing.assert_allclose([float(cell) for cell in columns[0]], FRAME["number"], atol=1e-14)
    assert [list(map(str, column)) for column in columns[1:]] == cells(CSV)[1][1:]


def test_json_lines_have_gaps_and_truth_values():
    names, columns = cells(b'{"a": true, "b": null}\n\n{"c": 2, "a": false}\n')
    assert names == ["a", "b", "c"]
    assert columns == [[True, False], [None, None], [None, 2]]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"a": 1}\n{"a": 2\n', "line 2 is not a JSON object"),
        (b'{"a": 1}\n3\n', "line 2 is not a JSON object"),
        (b'{"a": [1]}\n', "line 1: 'a' is a list"),
        (b'{"a": {"b": 1}}\n', "line 1: 'a' is an object"),
        (b'{\n"a": 1\n}', "single JSON object"),
        (b"[1, 2]", "entry 1 is not a JSON object"),
        (gzip.compress(CSV, mtime=0)[:60], "gunzip -t"),
        (b"\xd0\xcf\x11\xe0rest", "workbook of an old format"),
        (b"PAR1rest", "cannot be read as a Parquet file"),
        (b"ARROW1rest", "cannot be read as a Feather file"),
    ],
)
def test_damaged_files_are_named(data, message):
    with pytest.raises(TableError, match=f"^t.x: .*{message}"):
        parse_csv(data, "t.x")


@given(
    st.binary(max_size=60), st.sampled_from([b"", b"{", b"[", b"PK\x03\x04", b"BZh", b"\x1f\x8b"])
)
def test_any_bytes_are_converted_or_refused(data, beginning):
    with contextlib.suppress(TableError):
        parse_csv(beginning + data)


@pytest.mark.parametrize("form", ["parquet", "feather"])
def test_arrow_files_have_the_values_of_the_frame(form):
    pytest.importorskip("pyarrow")
    frame = FRAME.assign(
        single=FRAME["number"].astype("float32"),
        kind=pd.Categorical(FRAME["text"]),
        moment=pd.date_range("2024-01-01", periods=30, freq="7h", tz="Europe/Berlin"),
        span=pd.to_timedelta(FRAME["whole"], "min"),
        truth=FRAME["whole"] > 4,
    )
    frame.loc[3, "number"] = np.nan
    data = io.BytesIO()
    getattr(frame, f"to_{form}")(data)
    table = parse_csv(data.getvalue())
    assert table.names == list(frame)
    columns = {name: table.column(j) for j, name in enumerate(table.names)}
    assert np.isnan(columns["number"].values[3])
    assert columns["single"].values.tolist() == frame["single"].astype(float).tolist()
    assert columns["kind"].is_category and columns["kind"].kind == columns["text"].kind == "text"
    assert str(columns["moment"].values[1]).startswith("2024-01-01T07:00:00")
    assert columns["span"].values.tolist() == (60.0 * frame["whole"]).tolist()
    assert columns["truth"].values.tolist() == frame["truth"].astype(float).tolist()


def test_the_index_of_a_frame_is_no_column():
    pytest.importorskip("pyarrow")
    data = io.BytesIO()
    FRAME[::2].to_parquet(data)
    assert cells(data.getvalue())[0] == list(FRAME)


def workbook():
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        file.writestr("xl/workbook.xml", "")
    return data.getvalue()


@pytest.mark.parametrize(
    ("data", "package", "words"),
    [
        (b"PAR1", "pyarrow", "Parquet file, which needs pyarrow"),
        (b"ARROW1", "pyarrow", "Feather file, which needs pyarrow"),
        (workbook(), "openpyxl", "Excel workbook, which needs openpyxl"),
    ],
    ids=["parquet", "feather", "workbook"],
)
def test_a_package_that_is_missing_is_named_with_its_extra(monkeypatch, data, package, words):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(TableError, match=rf'{words}: run pip install "bneuralt\[files\]"'):
        parse_csv(data)


def test_the_first_sheet_of_a_workbook_is_read(monkeypatch):
    rows = [("a", "b", "when", None), (1, "x", pd.Timestamp("2024-01-02"), None), (2.5, None, None)]
    sheet = SimpleNamespace(iter_rows=lambda values_only: iter([*rows, (None,) * 4]))
    book = SimpleNamespace(worksheets=[sheet])
    fake = SimpleNamespace(load_workbook=lambda *_, **__: book)
    monkeypatch.setitem(sys.modules, "openpyxl", fake)
    names, columns = cells(workbook())
    assert names == ["a", "b", "when"]
    assert columns == [[1, 2.5], ["x", None], [pd.Timestamp("2024-01-02"), None]]


def test_a_real_workbook_is_read():
    pytest.importorskip("openpyxl")
    data = io.BytesIO()
    FRAME.to_excel(data, index=False)
    names, columns = cells(data.getvalue())
    assert names == list(FRAME) and list(map(str, columns[3])) == cells(CSV)[1][3]


def test_moments_with_a_zone_are_those_of_its_clocks():
    pytest.importorskip("pyarrow")
    naive = pd.date_range("2024-03-31", periods=4, freq="h")
    zoned = naive.tz_localize("UTC").tz_convert("America/New_York")
    data = io.BytesIO()
    pd.DataFrame({"naive": naive, "zoned": zoned}).to_parquet(data)
    naive, zoned = (parse_csv(data.getvalue()).column(j).values.astype(str) for j in (0, 1))
    assert naive.tolist() == [f"2024-03-31T0{h}:00:00" for h in range(4)]
    assert zoned.tolist() == [f"2024-03-30T{h}:00:00" for h in range(20, 24)]


@needs("slow")
def compressed(module, data):
    return module.compress(data)


@pytest.mark.parametrize("module", [gzip, bz2, lzma])
def test_a_file_that_expands_without_end_is_refused_with_the_name_of_the_limit(module):
    bomb = compressed(module, b"a,b\n" + b"1,2\n" * 10_000_000)
    assert len(bomb) < 500_000
    with pytest.raises(TableError, match=r"t.gz: expands to more than .* \(.*MAX_EXPANSION\)"):
        parse_csv(bomb, "t.gz")
