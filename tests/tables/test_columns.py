"""Columns of a table: which values are missing, and numbers and dates as texts."""

import gc
import weakref

import numpy as np
import pandas as pd

from bneuralt.tables import parse_csv
from bneuralt.tables.cells import ObjectFrame
from bneuralt.tables.columns import Column, DataFrame, NumberBlockFrame

TEXTS = Column("text", np.array([0, 1, -1, 0], np.int32), ("a", "b"))
NUMBERS = Column("number", np.array([0.0, -1.0, np.nan, 2.5]))
DATES = Column("date", np.array(["2020-01-01", "NaT", "1969-12-31"], dtype="datetime64[s]"))


def test_missing_values():
    assert TEXTS.is_missing.tolist() == [False, False, True, False]
    assert NUMBERS.is_missing.tolist() == [False, False, True, False]
    assert DATES.is_missing.tolist() == [False, True, False]


def test_numbers_and_dates_as_texts():
    text = NUMBERS.as_text()
    assert text.is_missing.tolist() == NUMBERS.is_missing.tolist()
    assert [text.texts[code] for code in text.values[[0, 1, 3]]] == ["0", "-1", "2.5"]
    assert DATES.as_text().is_missing.tolist() == DATES.is_missing.tolist()
    assert TEXTS.as_text() is TEXTS


def test_rows_of_each_text_are_counted():
    assert TEXTS.counts().tolist() == [2, 1]
    assert TEXTS.counts(np.array([1.0, 2.0, 4.0, 8.0])).tolist() == [9.0, 2.0]
    assert TEXTS.take(np.array([2, 1])).is_missing.tolist() == [True, False]


def test_tables_are_freed_as_soon_as_nobody_uses_them():
    made = {
        "frame": lambda: DataFrame(pd.DataFrame({"a": [1.0], "b": ["x"]})),
        "block": lambda: NumberBlockFrame(np.eye(2), [None, None], ["a", "b"]),
        "objects": lambda: ObjectFrame(["a"], [np.array([1, "x"], dtype=object)]),
        "csv": lambda: parse_csv(b"a,b\n1,x\n2,y\n").cells,
    }
    for name, make in made.items():
        table = make()
        assert [column.kind for column in table.columns]
        reference = weakref.ref(table)
        gc.disable()  # cycles would be freed later, and blocks of a large table would pile up
        try:
            del table
            assert reference() is None, name
        finally:
            gc.enable()
