"""Which columns of a file a model reads, and which one it predicts.

`learn_layout` makes a `TableLayout` from the training table; it is stored in the model file, and
finds the columns of later tables. What the cells mean is up to the encoder of the model.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from bneuralt._typing import Array, IntArray
from bneuralt.tables.columns import Frame
from bneuralt.tables.csv_files import TableError, near, quoted
from bneuralt.tables.encoder import TableEncoder
from bneuralt.tables.file_table import FileTable
from bneuralt.tables.kinds import decimal_point, notation_of
from bneuralt.tables.number_texts import Notation
from bneuralt.tables.targets import TargetKind, UnreadTarget, learn_target

__all__ = ["FeatureColumn", "TableLayout", "learn_layout"]


class FeatureColumn(NamedTuple):
    """Name of a column that a model reads, and its index in the training table."""

    name: str
    position: int


#: What model files store of a layout, and its types.
_STORED: dict[str, type] = {
    **{"columns": list, "target": str, "target_position": int, "task": str},
    **{"whole_numbers": bool, "n_columns": int, "has_header": bool, "target_notation": dict},
    **{"decimal": str, "delimiter": str, "encoding": str},
}


@dataclass(frozen=True)
class TableLayout:
    """Which columns of a table are features, and which one is the target.

    Model files store it with `to_dict` and restore it with `from_dict`.

    Attributes
    ----------
    columns : tuple of FeatureColumn
        The features.
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
    decimal, delimiter, encoding : str
        Decimal point, delimiter and encoding that the user named for the training table; empty if
        they were detected.
    optional : frozenset of str
        Features that later tables need not have, since the model does not use them; not stored.
    notes : tuple of str
        How the target is read; not stored.
    """

    columns: tuple[FeatureColumn, ...]
    target: str
    target_position: int
    task: str
    whole_numbers: bool
    n_columns: int
    has_header: bool
    target_notation: Notation | None = None
    decimal: str = ""
    delimiter: str = ""
    encoding: str = ""
    optional: frozenset[str] = field(default=frozenset(), compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def column_names(self) -> list[str]:
        """Names of the features."""
        return [column.name for column in self.columns]

    @property
    def needed_names(self) -> list[str]:
        """Names of the features that later tables must have."""
        return [name for name in self.column_names if name not in self.optional]

    def frame(self, table: FileTable) -> Frame:
        """Return the features of a table, as estimators read them.

        Raises
        ------
        TableError
            A column is missing.
        """
        found = list(zip(self.column_names, self._find(table), strict=True))
        frame = table.frame([j for _, j in found if j is not None])
        frame = frame.renamed([name for name, j in found if j is not None])
        return frame if len(frame.columns) == len(found) else frame.completed(self.column_names)

    def labels(self, table: FileTable) -> Array | None:
        """Return the target of a table.

        Returns
        -------
        array of shape (n_rows,) or None
            Numbers, with NaN where they are missing, or class labels, with None where they are
            missing; None if the table has no target column, or an empty one.
        """
        j = self._find_target(table)
        if j is None or table.column(j).is_missing.all():
            return None
        column, notation = table.column(j), self.target_notation
        if self.task == "regression" and notation is None and column.kind == "text":
            weight = np.ones(len(column))
            notation = notation_of(column, weight, decimal_point([column], weight))
        return _read(TargetKind(self.task, self.whole_numbers, notation), table, j)

    def rows_with_gaps(self, table: FileTable) -> Array:
        """Return for each row whether a feature is missing."""
        gaps = np.zeros(table.n_rows, dtype=bool)
        for j in self._needed(table):
            gaps |= table.column(j).is_missing
        return gaps

    def check_no_missing(self, table: FileTable) -> None:
        """Raise an error that says where values are missing, if some are."""
        target = self._find_target(table)
        places: list[str] = []
        count = 0
        for j in [*self._needed(table), *([] if target is None else [target])]:
            rows: IntArray = np.flatnonzero(table.column(j).is_missing)
            count += len(rows)
            if rows.size:
                cells = table.raw(j)
                places += [f"{table.place(i, j)} ({cells[i] or 'empty'})" for i in rows[:3]]
        if places:
            shown = "; ".join(places[:5]) + ("; ..." if count > len(places[:5]) else "")
            noun = "value is" if count == 1 else "values are"
            raise table.error(
                f"{count} {noun} missing: {shown}. Fill them in, or use --missing learn."
            )

    def check_known(self, table: FileTable, encoder: TableEncoder) -> None:
        """Raise an error that says where a category did not occur in training, if one did not."""
        for feature, j in zip(encoder.features, self._find(table), strict=True):
            if feature.values is None or j is None:
                continue
            values, text = set(feature.values), table.column(j).as_text()
            codes = [i for i, label in enumerate(text.texts) if label not in values]
            rows: IntArray = np.flatnonzero(np.isin(text.values, codes))
            if rows.size:
                others = f" There are {len(rows)} such rows." if len(rows) > 1 else ""
                raise table.error(
                    f"{table.place(rows[0], j)} contains {text.texts[text.values[rows[0]]]!r}, "
                    f"which is not in the training table.{others} Known categories: "
                    f"{quoted(feature.values)}. Correct it, or use --unknown other."
                )

    def _by_name(self, table: FileTable) -> bool:
        return self.has_header and table.has_header

    def _needed(self, table: FileTable) -> list[int]:
        pairs = zip(self.columns, self._find(table), strict=True)
        return [j for c, j in pairs if j is not None and c.name not in self.optional]

    def _find(self, table: FileTable) -> list[int | None]:
        """Return the position of each feature, None for optional ones that are absent."""
        if self._by_name(table):
            positions = {name: j for j, name in enumerate(table.names)}
            absent = [name for name in self.needed_names if name not in positions]
            if absent:
                raise table.error(
                    f"has no column {quoted(absent)}, which the model needs."
                    f"{near(absent[0], table.names)} Its columns are: {quoted(table.names)}."
                )
            return [positions.get(name) for name in self.column_names]
        width = len(table.names)
        if width == self.n_columns:
            return [column.position for column in self.columns]
        if width == self.n_columns - 1:  # the same table without its target
            return [c.position - (c.position > self.target_position) for c in self.columns]
        raise table.error(
            f"has {width} columns and no header; the model was trained on {self.n_columns} columns "
            f"(including the target {self.target!r}). Add a header, or provide the same columns."
        )

    def _find_target(self, table: FileTable) -> int | None:
        if self._by_name(table):
            return table.names.index(self.target) if self.target in table.names else None
        return self.target_position if len(table.names) == self.n_columns else None

    def to_dict(self) -> dict[str, Any]:
        """Return the layout as a dictionary that JSON can store."""
        notation = self.target_notation
        return {name: getattr(self, name) for name in _STORED} | {
            "columns": [column._asdict() for column in self.columns],
            "target_notation": notation.to_plain() if notation else {},
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> TableLayout:
        """Create a layout from the dictionary of `to_dict`.

        Raises
        ------
        ValueError
            An entry is missing or of the wrong type.
        """
        try:
            values = {name: _expect(data, name, kind) for name, kind in _STORED.items()}
            columns, notation = values.pop("columns"), values.pop("target_notation")
            layout = cls(
                columns=tuple(  # those of earlier versions also have a kind
                    FeatureColumn(_expect(each, "name", str), _expect(each, "position", int))
                    for each in columns
                ),
                target_notation=Notation.from_plain(notation) if notation else None,
                **values,
            )
            layout._check()
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"table layout: {error.args[0]}") from None
        return layout

    def _check(self) -> None:
        """Check that the entries fit each other."""
        if self.task not in ("classification", "regression"):
            raise ValueError(f"entry 'task' is {self.task!r:.50}")
        if self.decimal not in ("", ".", ","):
            raise ValueError(f"entry 'decimal' is {self.decimal!r:.50}")
        positions = [self.target_position, *(column.position for column in self.columns)]
        if not all(0 <= position < self.n_columns for position in positions):
            raise ValueError(f"a position is not in 0 to {self.n_columns - 1}")
        names = [self.target, *self.column_names]
        if len(set(positions)) < len(positions) or len(set(names)) < len(names):
            raise ValueError("two columns have the same name or position")


def _expect(entry: dict[str, Any], key: str, kind: type) -> Any:
    if not isinstance(entry, dict) or key not in entry:
        raise KeyError(f"entry {key!r} is missing")
    if type(entry[key]) is not kind:
        raise TypeError(f"entry {key!r} must be of type {kind.__name__}, not {entry[key]!r:.50}")
    return entry[key]


def _read(kind: TargetKind, table: FileTable, j: int) -> Array:
    """Return a target; name the place of a cell that is no number."""
    try:
        return kind.read(table.column(j))
    except UnreadTarget as error:
        text, row = error.args
        raise table.error(
            f"{table.place(row, j)} contains {text!r}, but a finite number is needed, as in the "
            "training table."
        ) from None


def learn_layout(
    table: FileTable,
    target: str,
    *,
    task: str = "auto",
    categorical: Collection[str] = (),
    drop: Collection[str] = (),
) -> TableLayout:
    r"""Decide which columns of a training table are features, and what the target is.

    Columns without name and values, which trailing delimiters create, are left out.

    Parameters
    ----------
    table : FileTable
        The training table.
    target : str
        The column to predict: its name, or its number counted from 1; -1 is the last column.
    task : {"auto", "classification", "regression"}
        "auto" means classification if the target is text or has at most 20 distinct whole numbers.
    categorical : collection of str
        Columns that are categories, which must be there.
    drop : collection of str
        Columns to ignore.

    Raises
    ------
    TableError
        The table cannot be used.

    Examples
    --------
    >>> from bneuralt.tables.file_table import parse_csv
    >>> table = parse_csv(b"cm,sex,hair,kg\n170,f,red,60\n180,m,grey,80.5\n160,f,,55\n")
    >>> layout = learn_layout(table, "kg")
    >>> layout.task, layout.column_names
    ('regression', ['cm', 'sex', 'hair'])
    """
    target_at = table.position(target)
    dropped = {table.position(name) for name in drop} | _nameless_and_empty(table)
    declared = {table.position(name) for name in categorical}
    for at, what in ((declared, "categorical"), (dropped, "dropped")):
        if target_at in at:
            raise table.error(f"the target {table.names[target_at]!r} cannot be {what}.")
    columns = tuple(
        FeatureColumn(name, j)
        for j, name in enumerate(table.names)
        if j != target_at and j not in dropped
    )
    if all(table.column(column.position).is_missing.all() for column in columns):
        raise table.error("no column is left to predict from; drop fewer columns.")
    try:
        kind, note = learn_target(table.column(target_at), table.names[target_at], task)
    except UnreadTarget as error:
        text, row = error.args
        raise table.error(
            f"{table.place(row, target_at)} contains {text!r}, but a finite number is needed."
        ) from None
    except TableError:
        raise
    except ValueError as error:
        raise table.error(str(error)) from None
    return TableLayout(
        columns,
        table.names[target_at],
        target_at,
        kind.task,
        kind.whole_numbers,
        len(table.names),
        table.has_header,
        kind.notation,
        notes=(note,) if note else (),
    )


def _nameless_and_empty(table: FileTable) -> set[int]:
    """Return the columns without name and values, which trailing delimiters create."""
    nameless = (j for j, name in enumerate(table.names) if name == f"column{j + 1}")
    return {j for j in nameless if table.column(j).is_missing.all()}
