"""The scanner of plain CSV files, compared with the module `csv` and with plain Python."""

import csv
import io
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bneuralt import _core
from bneuralt.tables.numbers import to_number

CELLS = st.sampled_from(["", "1", "x y", "-2.5", "007", "+3", "1e5", "nan", "é"])


def scanned(text, delimiter=","):
    """Return the cells and line numbers that the core finds, None if the file is not plain."""
    data = text.encode()
    found = _core.scan_csv(np.frombuffer(data, dtype=np.uint8), ord(delimiter))
    if found is None:
        return None
    starts, ends, lines = found
    cells = [
        [data[a:b].decode() for a, b in zip(*places, strict=True)]
        for places in zip(starts.tolist(), ends.tolist(), strict=True)
    ]
    return cells, lines.tolist()


def parsed(cells, decimal="."):
    """Return the numbers of cells, the positions of other cells, and what the core says of all."""
    data = "|".join(cells).encode()
    sizes = np.array([len(cell.encode()) for cell in cells])
    starts = np.cumsum(sizes + 1) - sizes - 1
    values, odd, *flags = _core.parse_numbers(
        np.frombuffer(data or b" ", dtype=np.uint8),
        starts.astype(np.int32),
        (starts + sizes).astype(np.int32),
        ord(decimal),
    )
    return values.tolist(), odd.tolist(), flags


@given(
    rows=st.lists(st.lists(CELLS, min_size=2, max_size=2), min_size=1, max_size=6),
    quoted=st.booleans(),
    end=st.sampled_from(["\n", "\r\n"]),
    delimiter=st.sampled_from(",;\t"),
    ends_with_line=st.booleans(),
)
def test_plain_files_are_read_as_by_the_module_csv(rows, quoted, end, delimiter, ends_with_line):
    file = io.StringIO()
    how = csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL
    csv.writer(file, delimiter=delimiter, lineterminator=end, quoting=how).writerows(rows)
    text = file.getvalue() if ends_with_line else file.getvalue().removesuffix(end)
    cells, lines = scanned(text, delimiter)
    assert cells == rows
    assert lines == list(range(1, len(rows) + 1))


def test_blanks_around_cells_and_blank_lines_are_left_out():
    assert scanned('a , b\n\n" c "  ,d\n \n') == ([["a", "b"], ["c", "d"]], [1, 3])
    assert scanned("a\t b\n", "\t") == ([["a", "b"]], [1])
    assert scanned("1,2\r\n3,4\r\n") == ([["1", "2"], ["3", "4"]], [1, 2])


@pytest.mark.parametrize(
    "text",
    [
        "", "\n\n", "a,b\nc\n", "a,b\nc,d,e\n",  # nothing, or rows of different lengths
        '"a,b\n', '"a\nb",c\n', '"a\rb",c\n', '"a""b",c\n', '"a"b,c\n',  # quotes
        "a,b\rc,d\r", "a,b\r", "a\r,b\n",  # line ends of old systems
    ],
)  # fmt: skip
def test_files_that_are_not_plain_are_left_to_others(text):
    assert scanned(text) is None


@given(st.lists(CELLS, min_size=1, max_size=6), st.sampled_from(".,"))
def test_numbers_are_those_of_plain_python(cells, decimal):
    if decimal == ",":
        cells = [cell.replace(".", ",") for cell in cells]
    values, odd, (all_digits, has_leading_zero) = parsed(cells, decimal)
    full = [cell for cell in cells if cell]
    for i, (cell, value) in enumerate(zip(cells, values, strict=True)):
        expected = to_number(cell, decimal) if cell else None
        if i in odd or not cell:
            assert math.isnan(value)
        else:
            assert value == expected
    assert all(cells[i] for i in odd), "an empty cell is a gap, not a text"
    assert {cells[i] for i in range(len(cells)) if cells[i] == "x y"} <= {cells[i] for i in odd}
    assert all_digits == all(cell.isdigit() for cell in full)
    assert has_leading_zero == any(cell == "007" for cell in cells)


def test_decimal_points_are_no_part_of_numbers_with_decimal_commas():
    values, odd, _ = parsed(["1,5", "1.5", "2"], ",")
    assert (values[0], values[2], odd) == (1.5, 2.0, [1])
    values, odd, _ = parsed(["1,5", "1.5", "2"], ".")
    assert (values[1], values[2], odd) == (1.5, 2.0, [0])
    assert parsed(["0", "10"])[2] == [True, False] and parsed(["00"])[2] == [True, True]


@pytest.mark.parametrize(("start", "end"), [(0, 4), (4, 4), (0, 0)])
def test_cells_may_end_where_the_file_ends(start, end):
    data = np.frombuffer(b"1234", dtype=np.uint8)
    values, odd, *_ = _core.parse_numbers(data, np.int32([start]), np.int32([end]), ord("."))
    assert odd.size == 0
    assert values[0] == 1234 if end > start else math.isnan(values[0])
