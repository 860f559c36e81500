"""CSV files of every common form."""

import csv
import io

import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bneuralt.tables import TableError, parse_csv, read_csv
from bneuralt.tables.csv_files import CsvOptions, CsvParts

PEOPLE = "height,sex,city,target\n1.7,f,Köln,60\n1.8,m,Rome,80.5\n1.6,f,Paris,55\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " "])
def test_every_common_form_of_a_file_gives_the_same_cells(encoding, line_end, delimiter):
    text = PEOPLE.replace(",", delimiter).replace("\n", line_end)
    table = parse_csv(text.encode(encoding))
    assert table.names == ["height", "sex", "city", "target"]
    assert table.raw(2) == ["Köln", "Rome", "Paris"]
    assert table.n_rows == 3 and table.has_header


cell_text = st.text(
    st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters="\ufeff"), max_size=8
)


@given(
    width=st.integers(2, 5),
    n_rows=st.integers(1, 6),
    data=st.data(),
    delimiter=st.sampled_from(",;\t|"),
    line_end=st.sampled_from(["\n", "\r\n"]),
)
def test_what_the_csv_writer_writes_is_read_back(width, n_rows, data, delimiter, line_end):
    names = [f"name {i}" for i in range(width)]
    cells = cell_text.map(lambda text: text.strip())
    rows = [[data.draw(cells) for _ in names] for _ in range(n_rows)]
    rows[-1][0] = "last"  # empty rows at the end of a file are dropped
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator=line_end).writerows([names, *rows])
    table = parse_csv(out.getvalue().encode(), delimiter=delimiter)
    assert list(table.names) == names
    columns = [table.raw(j) for j in range(width)]
    assert [list(row) for row in zip(*columns, strict=True)] == rows
    with io.BytesIO(out.getvalue().encode()) as stream:  # as pyarrow reads it
        options = pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
        types = pa.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()))
        read = pa.csv.read_csv(stream, parse_options=options, convert_options=types)
    assert [[cell.strip() for cell in read.column(name).to_pylist()] for name in names] == columns


def test_quotes_protect_delimiters_line_ends_and_quotes():
    table = parse_csv(b'name,text\n1,"a, ""b""\nc"\n2,"d"\n')
    assert table.raw(1) == ['a, "b"\nc', "d"]
    assert table.cells.lines.tolist() == [3, 4]


def test_a_decimal_comma_is_not_mistaken_for_a_delimiter():
    table = parse_csv(b"a;b;target\n1,5;2,5;x\n1,0;3,5;y\n", decimal=",")
    assert table.names == ["a", "b", "target"]
    assert table.column(0).values.tolist() == [1.5, 1.0]


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_parts_of_a_file_are_the_rows_of_the_whole(encoding):
    lines = [f'{i},"é ""{i}"", x",{i / 7!r}' for i in range(30_000)]
    data = "\n".join(["a,b,c", *lines, ",,", ""]).encode(encoding)
    whole = parse_csv(data)
    parts = list(CsvParts(io.BytesIO(data), "t", CsvOptions(), 200_000))
    assert len(parts) > 3 and whole.n_rows == 30_000
    for j, name in enumerate(whole.names):
        assert [cell for part in parts for cell in part.raw(name)] == whole.raw(j)
    assert [line for part in parts for line in part.lines.tolist()] == list(range(2, 30_002))


@pytest.mark.parametrize(
    ("first_line", "expect", "is_header"),
    [
        ("a,b,c", (), True),
        ("1,2,x", (), False),
        ("2001,2002,target", (), False),
        ("2001,2002,target", ("target",), True),
        ("2001,2002,target", ("target", "2003"), False),
        (",,", (), False),
    ],
)
def test_header_is_recognised(first_line, expect, is_header):
    table = parse_csv(f"{first_line}\n3,4,y\n".encode(), expect=expect)
    assert table.has_header is is_header
    assert table.n_rows == (1 if is_header else 2)


def test_header_can_be_forced_both_ways():
    assert parse_csv(b"1,2\n3,4\n", header=True).names == ["1", "2"]
    assert parse_csv(b"a,b\nc,d\n", header=False).names == ["column1", "column2"]


def test_blank_lines_and_trailing_delimiters_are_ignored():
    table = parse_csv(b"a,b,target\n\n1,2,x,\n   \n3,4,y\n,,\n,,\n\n")
    assert [table.raw(j) for j in range(3)] == [["1", "3"], ["2", "4"], ["x", "y"]]
    assert table.cells.lines.tolist() == [3, 5]


def test_columns_are_found_by_name_and_number():
    table = parse_csv(PEOPLE.encode())
    assert [table.position(c) for c in ("sex", "1", "4", "-1", "-4")] == [1, 0, 3, 3, 0]
    assert [table.position(c) for c in ("2", "-2", "-3")] == [1, 2, 1]
    for outside in ("0", "-0", "-5"):
        with pytest.raises(TableError, match=f"no column '{outside}'"):
            table.position(outside)
    with pytest.raises(TableError, match=r"no column 'tagret'.*mean 'target'.*'height'"):
        table.position("tagret")
    with pytest.raises(TableError, match=r"no column '5'"):
        table.position("5")
    with pytest.raises(TableError, match=r"--header"):
        parse_csv(b"1,2\n").position("target")


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (b"", {}, r"t\.csv: the file is empty"),
        (b"\n \n", {}, "empty"),
        (b"a,b\n", {}, "no rows below the header"),
        (b"a,b\n,\n", {}, "no rows below the header"),
        (b"a,b\n1,2\n3\n", {}, "line 3 has 1 cells, but the header has 2"),
        (b"1,2\n3,4,5\n", {}, "line 2 has 3 cells, but the first line has 2"),
        (b"a,a,b\n1,2,3\n", {}, "'a' is the name of several columns"),
        (b'a,b\n1,"2\n3,4\n', {}, "quotation mark"),
        (b"PK\x03\x04xyz", {}, "workbook"),
        (b"\x1f\x8bxyz", {}, "gunzip"),
        (b"a,b\n\x00,2\n", {}, "not a text file"),
        (b"a,b\n1,\xff\n", {"encoding": "utf-8"}, "line 2 is not valid utf-8"),
        (b"a,b\n1,2\n", {"encoding": "klingon"}, "encoding='klingon'"),
        (b"a,b\n1,2\n", {"delimiter": ",,"}, "delimiter=',,'"),
    ],
)
def test_unreadable_tables_are_rejected(data, options, message):
    with pytest.raises(TableError, match=message):
        parse_csv(data, "t.csv", **options)


def test_unreadable_files_are_rejected(tmp_path):
    with pytest.raises(TableError, match=r"no\.csv: no such file"):
        read_csv(tmp_path / "no.csv")
    with pytest.raises(TableError, match="the folder has no"):
        read_csv(tmp_path)
