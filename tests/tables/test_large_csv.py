"""Large CSV files are read as small ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bneuralt import _core
from bneuralt.tables.csv_files import parse_csv
from bneuralt.tables.layout_learning import learn_layout
from bneuralt.tables.numbers import to_number


def same_tables(data, **options):
    """Parse a file as a small one and as a large one, and compare everything."""
    small = parse_csv(data, **options)
    large = parse_csv(data, **options, large=0)
    assert (small.names, small.has_header, small.sha256) == (
        large.names, large.has_header, large.sha256,
    )  # fmt: skip
    assert [list(c) for c in small.columns] == [list(c) for c in large.columns]
    assert list(small.lines) == list(large.lines)
    return small, large


@given(
    rows=st.lists(
        st.lists(
            st.sampled_from(
                ["1", "-2.5", "", " x ", '"q"', '"a,b"', "é", "NA", "+3", "1e5", "007", "+-1",
                 "1_0", "inf", "0x10", ".5", "5.", '" 7 "', '"a""b"', '"l\nm"', 'i"n', "\xa07"]
            ),
            min_size=3,
            max_size=3,
        ),
        min_size=1,
        max_size=8,
    ),
    end=st.sampled_from(["\n", "\r\n", "\n\n", ""]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "latin-1"]),
)  # fmt: skip
def test_large_files_are_read_as_small_ones(rows, end, encoding):
    text = "\n".join(",".join(row) for row in [["a", "b", "c"], *rows, ["9", "9", "9"]]) + end
    small, large = same_tables(text.encode(encoding))
    for j in range(3):
        numbers = large.numbers(j)
        if numbers is None:
            continue
        for cell, value in zip(small.columns[j], numbers.values.tolist(), strict=True):
            expected = to_number(cell)
            assert value == expected or (expected is None and value != value)
        assert numbers.all_digits == all(c.isdigit() or not c for c in small.columns[j])


def test_large_files_are_learnt_from_as_small_ones():
    rng = np.random.default_rng(0)
    lines = ["id,code,x,word,day,y"]
    for i in range(300):
        x = "" if i % 7 == 0 else repr(rng.normal())
        word = "NA" if i % 11 == 0 else "ab"[i % 2]
        lines.append(f"{i},{i % 5:03},{x},{word},2024-01-{1 + i % 28},{i / 3}")
    small, large = same_tables("\n".join(lines).encode())
    expected, layout = learn_layout(small, "y"), learn_layout(large, "y")
    assert layout == expected and layout.notes == expected.notes
    for a, b in zip(expected.frame(small).columns, layout.frame(large).columns, strict=True):
        np.testing.assert_array_equal(a.values, b.values)
        assert (a.kind, a.texts) == (b.kind, b.texts)
    np.testing.assert_array_equal(expected.labels(small), layout.labels(large))
    np.testing.assert_array_equal(expected.rows_with_gaps(small), layout.rows_with_gaps(large))


def test_the_core_refuses_places_outside_of_the_file():
    data = np.frombuffer(b"1,2\n", dtype=np.uint8)
    for start, end in ((-1, 1), (0, 5), (2, 1)):
        with pytest.raises(ValueError, match="places in data"):
            _core.parse_numbers(data, np.int32([start]), np.int32([end]), ord("."))
    with pytest.raises(ValueError, match="delimiter"):
        _core.scan_csv(data, ord('"'))
