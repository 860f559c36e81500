"""From the cells of a CSV file to the columns and the target that a model is trained on.

A `TableLayout` says which columns are used, and which of them are numbers. `layout_learning` makes
it from the training table; it is stored in the model file and reads later tables in the same way.
The `TableEncoder` of the model decides what texts, dates and missing values become.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bneuralt._typing import Array
from bneuralt.tables.cell_columns import (
    check_no_missing_cells,
    missing_cells,
    notation_column,
    number_column,
    text_column,
)
from bneuralt.tables.columns import (
    Column,
    Frame,
    NumberBlockFrame,
    label_of,
    stands_for_missing,
)
from bneuralt.tables.csv_files import CsvTable, near, quoted
from bneuralt.tables.encoder import TableEncoder
from bneuralt.tables.number_texts import Notation

__all__ = ["MOST_GAPS", "FeatureColumn", "TableLayout"]


#: Words in at most this share of a column of numbers or dates stand for missing values. The limit
#: for the training rows alone is higher (`bneuralt.tables.number_texts.MOST_GAPS`).
MOST_GAPS = 0.1


@dataclass(frozen=True)
class FeatureColumn:
    """A column of a table that a model uses.

    Attributes
    ----------
    name : str
        Name of the column.
    position : int
        Its index in the training table.
    kind : {"number", "text", "category"}
        How its cells are read. "text" is for dates and for numbers with units, "category" for
        texts and numbers that are categories.
    notation : Notation or None
        How the texts of the training table are numbers; not stored, since the encoder is.
    """

    name: str
    position: int
    kind: str = "number"
    notation: Notation | None = field(default=None, compare=False)


@dataclass(frozen=True)
class TableLayout:
    """Which columns of a table are features, which one is the target, and how they are read.

    `learn_layout` creates it. Model files store it with `to_dict` and restore it with
    `from_dict`.

    Attributes
    ----------
    columns : tuple of FeatureColumn
        The columns used as features.
    target : str
        Name of the column to predict.
    target_position : int
        Its index in the training table.
    task : {"classification", "regression"}
        The task.
    whole_numbers : bool
        Whether class labels are integers; otherwise they are text.
    n_columns : int
        Number of columns of the training table, including unused ones.
    has_header : bool
        Whether columns are identified by name; otherwise by position.
    target_notation : Notation or None
        How the texts of the target are numbers; None if they are classes, or plain numbers.
    decimal : str
        The decimal point of the training table, "." or ",".
    delimiter, encoding : str
        The delimiter and the encoding that the user named for the training table; empty if they
        were detected.
    notes : tuple of str
        Columns that were left out of the training table, with reasons; not stored.
    """

    columns: tuple[FeatureColumn, ...]
    target: str
    target_position: int
    task: str
    whole_numbers: bool
    n_columns: int
    has_header: bool
    target_notation: Notation | None = None
    decimal: str = "."
    delimiter: str = ""
    encoding: str = ""
    notes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def column_names(self) -> list[str]:
        """Names of the columns used as features."""
        return [column.name for column in self.columns]

    def frame(self, table: CsvTable, *, decimal: str | None = None) -> Frame:
        """Return the features of a table, as estimators read them.

        Parameters
        ----------
        table : CsvTable
            A table with the feature columns of the training table.
        decimal : str, optional
            The decimal point, "." or ","; by default that of the training table.

        Returns
        -------
        Frame
            The columns, in the order of `column_names`.

        Raises
        ------
        TableError
            A column is missing, or a value is not a number.
        """
        n_numbers = sum(column.kind == "number" for column in self.columns)
        numbers = np.empty((table.n_rows, n_numbers), order="F")
        others: list[Column | None] = []
        place = 0
        for column, j in zip(self.columns, self._find(table), strict=True):
            if column.kind == "number":
                cells = number_column(table, j, decimal or self.decimal, MOST_GAPS)
                numbers[:, place] = cells.values
                place += 1
                others.append(None)
            else:
                text = text_column(table, j, column.kind == "category")
                others.append(replace(text, notation=column.notation))
        return NumberBlockFrame.of(numbers, others, self.column_names)

    def labels(self, table: CsvTable, *, decimal: str | None = None) -> Array | None:
        """Return the target of a table.

        Parameters
        ----------
        table : CsvTable
            The table.
        decimal : str, optional
            The decimal point, "." or ","; by default that of the training table.

        Returns
        -------
        array of shape (n_rows,) or None
            Numbers, with NaN where they are missing, or class labels, with None where they are
            missing; None if the table has no target column, or an empty one.
        """
        j = self._find_target(table)
        if j is None or missing_cells(table, j).all():
            return None
        if self.target_notation is not None:
            return notation_column(table, j, self.target_notation).values
        if self.task == "regression":
            return number_column(table, j, decimal or self.decimal).values
        is_known = {cell: not stands_for_missing(cell) for cell in table.distinct(j)}
        texts = [label_of(cell) for cell, used in is_known.items() if used]
        # Labels of a later table need not be in the training table; predictions then differ.
        whole = self.whole_numbers and all(re.fullmatch(r"[+-]?\d+", text) for text in texts)
        values = {
            cell: (int(label_of(cell)) if whole else label_of(cell)) if used else None
            for cell, used in is_known.items()
        }
        labels = [values[cell] for cell in table.columns[j]]
        return np.array(labels, dtype=None if all(is_known.values()) else object)

    def rows_with_gaps(self, table: CsvTable) -> Array:
        """Return for each row whether a feature is missing."""
        gaps = np.zeros(table.n_rows, dtype=bool)
        for j in self._find(table):
            gaps |= missing_cells(table, j)
        return gaps

    def check_no_missing(self, table: CsvTable) -> None:
        """Raise an error that says where values are missing, if some are."""
        target = self._find_target(table)
        check_no_missing_cells(table, [*self._find(table), *([] if target is None else [target])])

    def check_known(self, table: CsvTable, encoder: TableEncoder) -> None:
        """Raise an error that says where a category did not occur in training, if one did not."""
        for feature, j in zip(encoder.features, self._find(table), strict=True):
            if feature.values is None:
                continue
            values = set(feature.values)
            unseen = {
                cell
                for cell in table.distinct(j)
                if not stands_for_missing(cell) and label_of(cell) not in values
            }
            if unseen:
                rows = [i for i, cell in enumerate(table.columns[j]) if cell in unseen]
                others = f" There are {len(rows)} such rows." if len(rows) > 1 else ""
                raise table.error(
                    f"{table.place(rows[0], j)} contains {table.columns[j][rows[0]]!r}, which is "
                    f"not in the training table.{others} Known categories: "
                    f"{quoted(feature.values)}. Correct it, or use --unknown other."
                )

    def _by_name(self, table: CsvTable) -> bool:
        return self.has_header and table.has_header

    def _find(self, table: CsvTable) -> list[int]:
        if self._by_name(table):
            positions = {name: j for j, name in enumerate(table.names)}
            absent = [name for name in self.column_names if name not in positions]
            if absent:
                raise table.error(
                    f"has no column {quoted(absent)}, which the model needs."
                    f"{near(absent[0], table.names)} Its columns are: {quoted(table.names)}."
                )
            return [positions[name] for name in self.column_names]
        width = len(table.names)
        if width == self.n_columns:
            return [column.position for column in self.columns]
        if width == self.n_columns - 1:  # the same table without its target
            return [c.position - (c.position > self.target_position) for c in self.columns]
        raise table.error(
            f"has {width} columns and no header; the model was trained on {self.n_columns} columns "
            f"(including the target {self.target!r}). Add a header, or provide the same columns."
        )

    def _find_target(self, table: CsvTable) -> int | None:
        if self._by_name(table):
            return table.names.index(self.target) if self.target in table.names else None
        return self.target_position if len(table.names) == self.n_columns else None

    def to_dict(self) -> dict[str, Any]:
        """Return the layout as a dictionary that JSON can store."""
        return {
            "columns": [
                {"name": column.name, "position": column.position, "kind": column.kind}
                for column in self.columns
            ],
            "target": self.target,
            "target_position": self.target_position,
            "task": self.task,
            "whole_numbers": self.whole_numbers,
            "n_columns": self.n_columns,
            "has_header": self.has_header,
            "target_notation": self.target_notation.to_plain() if self.target_notation else {},
            "decimal": self.decimal,
            "delimiter": self.delimiter,
            "encoding": self.encoding,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> TableLayout:
        """Create a layout from the dictionary of `to_dict`.

        Parameters
        ----------
        data : dict
            The result of `to_dict`.

        Returns
        -------
        TableLayout
            A layout equal to the stored one.

        Raises
        ------
        ValueError
            An entry is missing or of the wrong type.
        """
        try:
            layout = cls(
                tuple(_stored_column(entry) for entry in _expect(data, "columns", list)),
                _expect(data, "target", str),
                _expect(data, "target_position", int),
                _expect(data, "task", str),
                _expect(data, "whole_numbers", bool),
                _expect(data, "n_columns", int),
                _expect(data, "has_header", bool),
                _stored_notation(_expect(data, "target_notation", dict)),
                _expect(data, "decimal", str),
                _expect(data, "delimiter", str),
                _expect(data, "encoding", str),
            )
            layout._check()
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"table layout: {error.args[0]}") from None
        return layout

    def _check(self) -> None:
        """Check that the entries fit each other."""
        if self.task not in ("classification", "regression"):
            raise ValueError(f"entry 'task' is {self.task!r:.50}")
        if self.decimal not in (".", ","):
            raise ValueError(f"entry 'decimal' is {self.decimal!r:.50}")
        positions = [self.target_position, *(column.position for column in self.columns)]
        if not all(0 <= position < self.n_columns for position in positions):
            raise ValueError(f"a position is not in 0 to {self.n_columns - 1}")
        names = [self.target, *self.column_names]
        if len(set(positions)) < len(positions) or len(set(names)) < len(names):
            raise ValueError("two columns have the same name or position")


def _stored_column(entry: dict[str, Any]) -> FeatureColumn:
    name, position = _expect(entry, "name", str), _expect(entry, "position", int)
    kind = _expect(entry, "kind", str)
    if kind not in ("number", "text", "category"):
        raise ValueError(f"entry 'kind' is {kind!r:.50}")
    return FeatureColumn(name, position, kind)


def _stored_notation(entry: dict[str, Any]) -> Notation | None:
    return Notation.from_plain(entry) if entry else None


def _expect(entry: dict[str, Any], key: str, kind: type) -> Any:
    if not isinstance(entry, dict) or key not in entry:
        raise KeyError(f"entry {key!r} is missing")
    if type(entry[key]) is not kind:
        raise TypeError(f"entry {key!r} must be of type {kind.__name__}, not {entry[key]!r:.50}")
    return entry[key]
