"""Cells of a table in ONNX: numbers, entries of texts, and parts of dates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

import numpy as np

from bneuralt.export.onnx.graph import Graph
from bneuralt.export.spellings import missing_spellings, spellings
from bneuralt.expressions import Expression
from bneuralt.model import Model
from bneuralt.tables.numbers import to_number

__all__ = ["DATE_PARTS", "READERS", "CellReader", "cell_types"]


def cell_types(model: Model) -> list[Any]:
    """Return the type of the cells of each column: float32, str, int64, None if they are not read.

    Raises
    ------
    ValueError
        A column is read in two ways.
    """
    types = []
    for column in model.columns:
        of_column = {
            _cell_type(operation, value)
            for operation, values in column.cell_operations.items()
            for value in values
        }
        if len(of_column) > 1:
            raise ValueError(
                f"column {column.name!r} is read as {' and '.join(sorted(map(str, of_column)))}: "
                "an input of ONNX has one type"
            )
        types.append(next(iter(of_column), None))
    return types


def _cell_type(operation: str, value: Any) -> Any:
    if operation == "lookup":
        has_numbers_only = all(to_number(text) is not None for text in value.texts)
        return np.float32 if has_numbers_only else str
    return {"number": np.float32, "date_part": np.int64}[operation]


class CellReader:
    """Adds operations that read cells.

    Parameters
    ----------
    graph : Graph
    model : Model
    columns : str or list of str
        Name of the table, of shape (n_rows, n_columns), or of each column.
    """

    def __init__(self, graph: Graph, model: Model, columns: str | list[str]) -> None:
        self.graph, self.columns, self.n_columns = graph, columns, len(model.columns)
        #: All texts that are looked up in each column.
        self.texts = [column.categories for column in model.columns]
        self.types = cell_types(model)

    def __call__(self, columns: list[int], cells: list[Expression]) -> str:
        """Read cells of these columns, all by the same operation."""
        return READERS[cells[0].operation](self, columns, cells)

    def block(self, columns: list[int]) -> str:
        """Return some columns side by side."""
        if not isinstance(self.columns, str):
            return self.graph.side_by_side([self.columns[i] for i in columns])
        if columns == list(range(self.n_columns)):
            return self.columns
        return self.graph("Gather", self.columns, columns, axis=1)


def _numbers(reader: CellReader, columns: list[int], cells: list[Expression]) -> str:
    return reader.graph.cast(reader.block(columns), reader.graph.dtype)


def _by_column(columns: list[int], cells: list[Expression]) -> Iterator[tuple[int, list[Any]]]:
    """Yield each column with the values of its operations."""
    for column, pairs in groupby(zip(columns, cells, strict=True), key=lambda pair: pair[0]):
        yield column, [cell.value for _, cell in pairs]


# -- texts --------------------------------------------------------------------------------


def _lookups(reader: CellReader, columns: list[int], cells: list[Expression]) -> str:
    """Find the position of each text, and take the numbers there from a table."""
    graph, parts = reader.graph, []
    for column, lookups in _by_column(columns, cells):
        texts = reader.texts[column]
        numbers = [dict(zip(lookup.texts, lookup.numbers, strict=True)) for lookup in lookups]
        pairs = list(zip(numbers, lookups, strict=True))
        table = [[of_text.get(t, lookup.unknown) for of_text, lookup in pairs] for t in texts]
        table.append([lookup.unknown for lookup in lookups])
        table.append([lookup.missing for lookup in lookups])
        positions = graph("Reshape", _positions(reader, column, texts), [-1])
        parts.append(graph("Gather", graph.constant(table), positions, axis=0))
    return graph.side_by_side(parts)


def _positions(reader: CellReader, column: int, texts: tuple[str, ...]) -> str:
    """Add the position of each text; that of unknown texts and of missing ones follow."""
    graph, cell = reader.graph, reader.block([column])
    unknown, missing = len(texts), len(texts) + 1
    if reader.types[column] is str:
        keys = dict.fromkeys(_missing_texts(), missing)
        for i, text in enumerate(texts):
            keys |= dict.fromkeys(spellings(text, texts), i)
        return _encoded(graph, cell, "keys_strings", keys, unknown)
    # Texts that differ only in float64 are equal here.
    numbers: dict[Any, int] = {float(np.float32(text)): i for i, text in enumerate(texts)}
    position = _encoded(graph, cell, "keys_floats", numbers or {0.0: unknown}, unknown)
    return graph("Where", graph("IsNaN", cell), missing, position)


def _encoded(graph: Graph, cell: str, kind: str, positions: dict[Any, int], default: int) -> str:
    keys: dict[str, Any] = {kind: list(positions), "values_int64s": list(positions.values())}
    return graph("LabelEncoder", cell, domain="ai.onnx.ml", default_int64=default, **keys)


def _missing_texts() -> list[str]:
    """Return the usual spellings of texts that stand for a missing value."""
    texts = ["None", "NaN", "-NaN"]
    for text in missing_spellings():
        texts += [text, text.upper(), text.capitalize()]
    return list(dict.fromkeys(texts))


# -- dates --------------------------------------------------------------------------------


def _date_parts(reader: CellReader, columns: list[int], cells: list[Expression]) -> str:
    graph, parts = reader.graph, []
    for column, names in _by_column(columns, cells):
        cell = reader.block([column])
        missing = graph("Equal", cell, np.iinfo(np.int64).min)
        # From the first of March of the year 0 on, so that all divisions round down.
        seconds = graph("Add", graph("Where", missing, 0, cell), 719468 * 86400)
        for name in names:
            number = graph.cast(DATE_PARTS[name](graph, seconds), graph.dtype)
            parts.append(graph("Where", missing, np.nan, number))
    return graph.side_by_side(parts)


def _elapsed(graph: Graph, seconds: str) -> str:
    """Add the days since 1970; hours since then are exact in float32 too."""
    hours = graph("Sub", graph("Div", seconds, 3600), 719468 * 24)
    return graph("Div", graph.cast(hours, graph.dtype), 24.0)


def _calendar(graph: Graph, seconds: str) -> tuple[str, str, str]:
    """Add year, month and day by the calendar of eras of 400 years, which begin in March."""
    day = graph("Div", seconds, 86400)
    era = graph("Div", day, 146097)
    of_era = graph("Sub", day, graph("Mul", era, 146097))
    without_leap_days = graph("Sub", of_era, graph("Div", of_era, 1460))
    centuries = graph("Sub", graph("Div", of_era, 36524), graph("Div", of_era, 146096))
    year = graph("Div", graph("Add", without_leap_days, centuries), 365)
    days = graph("Add", graph("Mul", year, 365), graph("Div", year, 4))
    of_year = graph("Sub", of_era, graph("Sub", days, graph("Div", year, 100)))
    fifths = graph("Add", graph("Mul", of_year, 5), 2)
    from_march = graph("Add", graph("Div", fifths, 153), 2)
    month = graph("Add", graph("Mod", from_march, 12), 1)
    is_next_year = graph.cast(graph("Less", month, 3), np.int64)
    year = graph("Add", year, graph("Mul", era, 400))
    day_of_month = graph("Add", graph("Div", graph("Mod", fifths, 153), 5), 1)
    return graph("Add", year, is_next_year), month, day_of_month


#: The parts of a date, computed from seconds since the first of March of the year 0.
DATE_PARTS: dict[str, Callable[[Graph, str], str]] = {
    "year": lambda graph, seconds: _calendar(graph, seconds)[0],
    "month": lambda graph, seconds: _calendar(graph, seconds)[1],
    "day": lambda graph, seconds: _calendar(graph, seconds)[2],
    "weekday": lambda graph, s: graph("Mod", graph("Add", graph("Div", s, 86400), 2), 7),
    "hour": lambda graph, seconds: graph("Div", graph("Mod", seconds, 86400), 3600),
    "elapsed": lambda graph, seconds: _elapsed(graph, seconds),
}

#: The function that reads cells for each operation.
READERS: dict[str, Callable[[CellReader, list[int], list[Expression]], str]] = {
    "number": _numbers,
    "lookup": _lookups,
    "date_part": _date_parts,
}
