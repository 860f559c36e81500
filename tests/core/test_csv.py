"""The scanner of CSV files, compared with the module `csv` and with plain Python."""

import csv
import io
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bneuralt import _core
from bneuralt.tables.number_texts import Notation
from bneuralt.tables.numbers import to_number

CELLS = st.sampled_from(["", "1", "x y", "-2.5", "007", "+3", "1e5", "nan", "é"])


def scanned(text, delimiter=",", width=0, is_end=True):
    """Return the cells and line numbers that the core finds, and the problem."""
    data = text.encode()
    starts, ends, lines, unquoted, _, _, problem = _core.scan_csv(
        np.frombuffer(data or b"\n", dtype=np.uint8), ord(delimiter), width, is_end
    )
    data = (data or b"\n") + unquoted
    cells = [
        [data[a:b].decode() for a, b in zip(*places, strict=True)]
        for places in zip(starts.tolist(), ends.tolist(), strict=True)
    ]
    return cells, lines.tolist(), problem


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


QUOTED = st.sampled_from(
    ["", "1", "x y", "-2.5", "é", 'a "b" c', "l\nm", "l\r\nm", "a,b;c\td", '"']
)


@given(
    rows=st.lists(st.lists(QUOTED, min_size=2, max_size=2), min_size=1, max_size=6),
    quoted=st.booleans(),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    delimiter=st.sampled_from(",;\t"),
    ends_with_line=st.booleans(),
)
def test_cells_are_those_of_the_module_csv(rows, quoted, end, delimiter, ends_with_line):
    file = io.StringIO(newline="")
    how = csv.QUOTE_ALL if quoted or end == "\r" else csv.QUOTE_MINIMAL
    csv.writer(file, delimiter=delimiter, lineterminator=end, quoting=how).writerows(rows)
    text = file.getvalue() if ends_with_line else file.getvalue().removesuffix(end)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    expected = [(cells, reader.line_num) for cells in reader]
    cells, lines, problem = scanned(text, delimiter)
    assert problem[0] == 0
    assert cells == [row for row, _ in expected] == rows
    assert lines == [line for _, line in expected]


@given(
    rows=st.lists(st.lists(QUOTED, min_size=3, max_size=3), min_size=1, max_size=6),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    n_bytes=st.integers(1, 40),
)
def test_rows_that_come_in_parts_are_those_of_the_whole(rows, end, n_bytes):
    file = io.StringIO(newline="")
    how = csv.QUOTE_ALL if end == "\r" else csv.QUOTE_MINIMAL
    csv.writer(file, lineterminator=end, quoting=how).writerows([["x", "y", "z"], *rows])
    text = file.getvalue()
    expected, lines, _ = scanned(text)
    data, rest, found, found_lines, n_before = text.encode(), b"", [], [], 0
    for start in range(0, len(data), n_bytes):
        rest += data[start : start + n_bytes]
        is_end = start + n_bytes >= len(data)
        array = np.frombuffer(rest, dtype=np.uint8)
        starts, ends, at, unquoted, used, n_lines, problem = _core.scan_csv(
            array, ord(","), 3, is_end
        )
        assert problem[0] == 0
        cells = rest + unquoted
        for places in zip(starts.tolist(), ends.tolist(), strict=True):
            found.append([cells[a:b].decode() for a, b in zip(*places, strict=True)])
        found_lines += (at + n_before).tolist()
        rest, n_before = rest[used:], n_before + n_lines
    assert found == expected and found_lines == lines


def test_blanks_around_cells_and_blank_lines_are_left_out():
    assert scanned('a , b\n\n" c "  ,d\n \n')[:2] == ([["a", "b"], ["c", "d"]], [1, 3])
    assert scanned("a\t b\n", "\t")[:2] == ([["a", "b"]], [1])
    assert scanned("1,2\r\n3,4,,\r\n")[:2] == ([["1", "2"], ["3", "4"]], [1, 2])
    assert scanned("a  b\n c d \n", " ")[:2] == ([["a", "b"], ["c", "d"]], [1, 2])
    assert scanned("")[0] == scanned("\n\n")[0] == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a,b\nc\n", (1, 2, 1)),
        ("a,b\n\nc,d,e\n", (1, 3, 3)),
        ('a,b\n"c,d\n', (2, 3, 0)),
        ('"a"b,c\n', (3, 1, 0)),
    ],
)
def test_the_line_of_a_problem_is_named(text, problem):
    assert scanned(text)[2] == problem


@given(
    st.lists(st.sampled_from(["a", "", "é", "ab", "b", "aa"]), max_size=9),
)
def test_different_cells_are_found_in_their_order(cells):
    data = "".join(cells).encode()
    ends = np.cumsum([len(cell.encode()) for cell in cells], dtype=np.int32)
    starts = (ends - [len(cell.encode()) for cell in cells]).astype(np.int32)
    codes, first = _core.code_cells(np.frombuffer(data or b" ", dtype=np.uint8), starts, ends)
    distinct = list(dict.fromkeys(cells))
    assert [cells[i] for i in first.tolist()] == distinct
    assert [distinct[code] for code in codes.tolist()] == cells


def test_the_core_refuses_places_outside_of_the_file():
    data = np.frombuffer(b"1,2\n", dtype=np.uint8)
    for start, end in ((-1, 1), (0, 5), (2, 1)):
        for function in (_core.code_cells, lambda *a: _core.parse_numbers(*a, ord("."))):
            with pytest.raises(ValueError, match="places in data"):
                function(data, np.int32([start]), np.int32([end]))
    with pytest.raises(ValueError, match="delimiter"):
        _core.scan_csv(data, ord('"'), 0, True)


@given(
    numbers=st.lists(st.floats(-1e9, 1e9).map(lambda x: round(x, 2)), min_size=1, max_size=5),
    unit=st.sampled_from(["", "EUR", "kg", "%", "€", "m²"]),
    in_front=st.booleans(),
    separators=st.sampled_from([".,", ",.", ". ", ".'", ",", "."]),
    noise=st.sampled_from(["", " ", "x", "5", ",", "-"]),
)
def test_quantities_are_those_of_plain_python(numbers, unit, in_front, separators, noise):
    decimal, thousands = separators[0], separators[1:]
    notation = Notation(decimal, thousands, unit)
    texts = []
    for number in numbers:
        whole, _, fraction = f"{abs(number):,}".partition(".")
        text = whole.replace(",", thousands) + (decimal + fraction if fraction else "")
        text = f"{unit} {text}" if in_front else f"{text} {unit}".strip()
        texts += ["-" + text if number < 0 else text, text + noise, noise + text]
    values, is_read = notation.read(texts)
    for text, value, read in zip(texts, values.tolist(), is_read.tolist(), strict=True):
        expected = notation._number(text)
        assert read == (expected is not None)
        assert value == expected or (expected is None and math.isnan(value))


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
