"""From the cells of a CSV file to the columns and the target that a model is trained on.

`learn_encoding` decides from the training table which columns are used, and which are numbers. The
resulting `TableEncoding` is stored in the model file and reads later tables in the same way. What
texts, dates and missing values become is decided by the model's own `TableEncoder`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.tables.columns import Column, Frame, label_of, parse_dates, stands_for_missing
from bneuralt.tables.encoder import TableEncoder
from bneuralt.tables.features import CategoryFeature, NumberFeature
from bneuralt.tables.numbers import has_thousands, to_number
from bneuralt.tables.plain import NumberCells
from bneuralt.tables.reading import Table, TableError, near, quoted

__all__ = ["FeatureColumn", "TableEncoding", "learn_encoding"]

#: Integer targets with at most this many distinct values are classes by default.
MAX_INTEGER_CLASSES = 20

#: Fewer rows than this say nothing about whether a column identifies them.
FEWEST_ROWS_WITH_IDS = 5

_WORDS = {"true": 1.0, "false": 0.0}
_ID_NAME = re.compile(r"(.*[ _.-])?(id|uuid|guid|index|key|rownum|rowid|row)|.*[a-z](Id|ID)", re.I)


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
        How its cells are read. "category" is for numbers that are categories.
    categories : tuple of str or None
        The categories, in files of earlier releases, whose models have no encoder of their own.
    """

    name: str
    position: int
    kind: str = "number"
    categories: tuple[str, ...] | None = None


@dataclass(frozen=True)
class TableEncoding:
    """Which columns of a table are features, which one is the target, and how they are read.

    `learn_encoding` creates it. Model files store it with `to_dict` and restore it with
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
        What is predicted.
    whole_numbers : bool
        Whether class labels are integers; otherwise they are text.
    n_columns : int
        Number of columns of the training table, including unused ones.
    has_header : bool
        Whether columns are identified by name; otherwise by position.
    notes : tuple of str
        What was left out of the training table, and why; not stored.
    """

    columns: tuple[FeatureColumn, ...]
    target: str
    target_position: int
    task: str
    whole_numbers: bool
    n_columns: int
    has_header: bool
    notes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def column_names(self) -> list[str]:
        """Names of the columns used as features."""
        return [column.name for column in self.columns]

    def frame(self, table: Table, *, decimal: str = ".") -> Frame:
        """Return the features of a table, as estimators read them.

        Parameters
        ----------
        table : Table
            A table with the feature columns of the training table.
        decimal : str
            The decimal point, "." or ",".

        Returns
        -------
        Frame
            The columns, in the order of `column_names`.

        Raises
        ------
        TableError
            A column is missing, or a value is not a number.
        """
        columns = [
            _numbers(table, j, decimal) if column.kind == "number" else _texts(table, j, column)
            for column, j in zip(self.columns, self._find(table), strict=True)
        ]
        return Frame(columns, self.column_names)

    def labels(self, table: Table, *, decimal: str = ".") -> Array | None:
        """Return the target of a table.

        Parameters
        ----------
        table : Table
            The table.
        decimal : str
            The decimal point, "." or ",".

        Returns
        -------
        array of shape (n_rows,) or None
            Numbers, with NaN where they are missing, or class labels, with None where they are
            missing; None if the table has no target column, or an empty one.
        """
        j = self._find_target(table)
        if j is None or _is_missing(table, j).all():
            return None
        if self.task == "regression":
            return _numbers(table, j, decimal).values
        is_known = {cell: not stands_for_missing(cell) for cell in table.distinct(j)}
        known = [label_of(cell) for cell, used in is_known.items() if used]
        # Labels of a later table need not be in the training table; predictions then differ.
        whole = self.whole_numbers and all(re.fullmatch(r"[+-]?\d+", text) for text in known)
        values = {
            cell: (int(label_of(cell)) if whole else label_of(cell)) if used else None
            for cell, used in is_known.items()
        }
        labels = [values[cell] for cell in table.columns[j]]
        return np.array(labels, dtype=None if all(is_known.values()) else object)

    def rows_with_gaps(self, table: Table) -> Array:
        """Return for each row whether a feature is missing."""
        gaps = np.zeros(table.n_rows, dtype=bool)
        for j in self._find(table):
            gaps |= _is_missing(table, j)
        return gaps

    def check_no_missing(self, table: Table) -> None:
        """Raise an error that says where values are missing, if some are."""
        target = self._find_target(table)
        _check_no_missing(table, [*self._find(table), *([] if target is None else [target])])

    def check_known(self, table: Table, encoder: TableEncoder) -> None:
        """Raise an error that says where a category did not occur in training, if one did not."""
        for column, feature, j in zip(
            self.columns, encoder.features, self._find(table), strict=True
        ):
            if not isinstance(feature, CategoryFeature) or feature.rare is None:
                continue
            known = {*feature.categories, *feature.rare}
            unseen = {
                cell
                for cell in table.distinct(j)
                if not stands_for_missing(cell) and label_of(cell) not in known
            }
            if unseen:
                rows = [i for i, cell in enumerate(table.columns[j]) if cell in unseen]
                others = f" There are {len(rows)} such rows." if len(rows) > 1 else ""
                raise table.error(
                    f"{table.place(rows[0], j)} contains {table.columns[j][rows[0]]!r}, which is "
                    f"not in the training table.{others} Known categories: "
                    f"{quoted(feature.categories)}. Correct it, or use --unknown other."
                )

    def _by_name(self, table: Table) -> bool:
        return self.has_header and table.has_header

    def _find(self, table: Table) -> list[int]:
        if self._by_name(table):
            absent = [name for name in self.column_names if name not in table.names]
            if absent:
                raise table.error(
                    f"has no column {quoted(absent)}, which the model needs."
                    f"{near(absent[0], table.names)} Its columns are: {quoted(table.names)}."
                )
            return [table.names.index(name) for name in self.column_names]
        width = len(table.names)
        if width == self.n_columns:
            return [column.position for column in self.columns]
        if width == self.n_columns - 1:  # the same table without its target
            return [c.position - (c.position > self.target_position) for c in self.columns]
        raise table.error(
            f"has {width} columns and no header; the model was trained on {self.n_columns} columns "
            f"(including the target {self.target!r}). Add a header, or provide the same columns."
        )

    def _find_target(self, table: Table) -> int | None:
        if self._by_name(table):
            return table.names.index(self.target) if self.target in table.names else None
        return self.target_position if len(table.names) == self.n_columns else None

    def to_dict(self) -> dict[str, Any]:
        """Return the encoding as a dictionary that JSON can store."""
        columns = []
        for column in self.columns:
            entry: dict[str, Any] = {"name": column.name, "position": column.position}
            if column.categories is None:
                entry["kind"] = column.kind
            elif column.categories:
                entry["categories"] = list(column.categories)
            columns.append(entry)
        return {
            "columns": columns,
            "target": self.target,
            "target_position": self.target_position,
            "task": self.task,
            "whole_numbers": self.whole_numbers,
            "n_columns": self.n_columns,
            "has_header": self.has_header,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> TableEncoding:
        """Create an encoding from the dictionary of `to_dict`.

        Parameters
        ----------
        data : dict
            The result of `to_dict`.

        Returns
        -------
        TableEncoding
            An encoding equal to the stored one.

        Raises
        ------
        ValueError
            An entry is missing or of the wrong type.
        """
        try:
            encoding = cls(
                tuple(_stored_column(entry) for entry in _expect(data, "columns", list)),
                _expect(data, "target", str),
                _expect(data, "target_position", int),
                _expect(data, "task", str),
                _expect(data, "whole_numbers", bool),
                _expect(data, "n_columns", int),
                _expect(data, "has_header", bool),
            )
            encoding._check()
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"table encoding: {error.args[0]}") from None
        return encoding

    def _check(self) -> None:
        """Check that the entries fit each other."""
        if self.task not in ("classification", "regression"):
            raise ValueError(f"entry 'task' is {self.task!r:.50}")
        positions = [self.target_position, *(column.position for column in self.columns)]
        if not all(0 <= position < self.n_columns for position in positions):
            raise ValueError(f"a position is not in 0 to {self.n_columns - 1}")
        names = [self.target, *self.column_names]
        if len(set(positions)) < len(positions) or len(set(names)) < len(names):
            raise ValueError("two columns have the same name or position")

    def earlier_encoder(self) -> TableEncoder | None:
        """Return the encoder of a model of an earlier release; None for later ones.

        Earlier releases refused missing and unseen values, so nothing is known about their means.
        """
        if all(column.categories is None for column in self.columns):
            return None
        features = [
            CategoryFeature(column.categories, (1.0 / len(column.categories),) * len(column.categories))
            if column.categories
            else NumberFeature(None)
            for column in self.columns
        ]
        return TableEncoder(tuple(features), tuple(self.column_names))


def _stored_column(entry: dict[str, Any]) -> FeatureColumn:
    name, position = _expect(entry, "name", str), _expect(entry, "position", int)
    if "kind" in entry:
        kind = _expect(entry, "kind", str)
        if kind not in ("number", "text", "category"):
            raise ValueError(f"entry 'kind' is {kind!r:.50}")
        return FeatureColumn(name, position, kind)
    # Of an earlier release: an empty tuple marks its numbers.
    categories = _stored_categories(entry) if "categories" in entry else ()
    return FeatureColumn(name, position, "category" if categories else "number", categories)


def _stored_categories(entry: dict[str, Any]) -> tuple[str, ...]:
    categories = _expect(entry, "categories", list)
    if not categories or any(type(category) is not str for category in categories):
        raise TypeError("entry 'categories' must be a list of texts")
    if len(set(categories)) < len(categories):
        raise ValueError("entry 'categories' has a text twice")
    return tuple(categories)


def _expect(entry: dict[str, Any], key: str, kind: type) -> Any:
    if not isinstance(entry, dict) or key not in entry:
        raise KeyError(f"entry {key!r} is missing")
    if type(entry[key]) is not kind:
        raise TypeError(f"entry {key!r} must be of type {kind.__name__}, not {entry[key]!r:.50}")
    return entry[key]


# -- learning -----------------------------------------------------------------------------


def learn_encoding(
    table: Table,
    target: str,
    *,
    task: str = "auto",
    categorical: Collection[str] = (),
    drop: Collection[str] = (),
    keep_ids: bool = False,
    max_categories: int | None = None,
    decimal: str = ".",
) -> TableEncoding:
    r"""Decide which columns of a table are used, and how they are read.

    Columns that identify rows (running numbers, unique texts, unique whole numbers with a name such
    as `id`) and columns without values are left out; `TableEncoding.notes` says which.

    Parameters
    ----------
    table : Table
        The training table.
    target : str
        The column to predict: its name, or its number counted from 1; -1 is the last column.
    task : {"auto", "classification", "regression"}
        "auto" means classification if the target is text or has at most 20 distinct whole numbers.
    categorical : collection of str
        Columns of numbers to treat as categories.
    drop : collection of str
        Columns to ignore.
    keep_ids : bool
        Whether to use columns that identify rows.
    max_categories : int, optional
        Largest number of distinct values of a text column; more are an error. By default there is
        no limit.
    decimal : str
        The decimal point, "." or ",".

    Returns
    -------
    TableEncoding
        The encoding of this table and of later ones.

    Raises
    ------
    TableError
        The table cannot be used.

    Examples
    --------
    >>> from bneuralt.tables.reading import parse_csv
    >>> table = parse_csv(b"cm,sex,hair,kg\n170,f,red,60\n180,m,grey,80.5\n160,f,,55\n")
    >>> encoding = learn_encoding(table, "kg")
    >>> encoding.task, [column.kind for column in encoding.columns]
    ('regression', ['number', 'text', 'text'])
    """
    target_at = table.position(target)
    dropped = {table.position(name) for name in drop} | _nameless_and_empty(table)
    declared = {table.position(name) for name in categorical}
    for at, what in ((declared, "categorical"), (dropped, "dropped")):
        if target_at in at:
            raise table.error(f"the target {table.names[target_at]!r} cannot be {what}.")
    columns, notes = [], []
    for j, name in enumerate(table.names):
        if j == target_at or j in dropped:
            continue
        numbers = table.numbers(j, decimal)
        if numbers is not None and j not in declared and not np.isnan(numbers.values).all():
            why = None if keep_ids else _why_id_of(table, j, numbers)
            if why:
                notes.append(_left_out(name, why))
            else:
                columns.append(FeatureColumn(name, j, "text" if numbers.is_code else "number"))
            continue
        distinct = [cell for cell in table.distinct(j) if not stands_for_missing(cell)]
        why = None if distinct else "it has no values"
        if distinct and not keep_ids and j not in declared:
            why = _why_id(table, j, distinct)
        if why:
            notes.append(_left_out(name, why, bool(distinct)))
            continue
        kind = "category" if j in declared else _kind(table, j, distinct, decimal)
        if kind == "text" and max_categories is not None and len(distinct) > max_categories:
            raise table.error(
                f"column {name!r} has {len(distinct)} distinct texts, such as "
                f"{quoted(sorted(distinct), 3)}. If it identifies the rows, drop it "
                f"(--drop {name!r}); otherwise increase --max-categories (now {max_categories})."
            )
        columns.append(FeatureColumn(name, j, kind))
    if not columns and not keep_ids:  # a single column may well count its rows
        return learn_encoding(
            table,
            target,
            task=task,
            categorical=categorical,
            drop=drop,
            keep_ids=True,
            max_categories=max_categories,
            decimal=decimal,
        )
    if not columns:
        raise table.error("no column is left to predict from; drop fewer columns.")
    task, whole_numbers = _task(table, target_at, task, decimal)
    return TableEncoding(
        tuple(columns),
        table.names[target_at],
        target_at,
        task,
        whole_numbers,
        len(table.names),
        table.has_header,
        tuple(notes),
    )


def _left_out(name: str, why: str, is_id: bool = True) -> str:
    advice = "; use --keep-ids to keep it" if is_id else ""
    return f"column {name!r} is left out, because {why}{advice}."


def _nameless_and_empty(table: Table) -> set[int]:
    """Return the columns without name and values, which trailing delimiters create."""

    def is_empty(j: int) -> bool:
        numbers = table.numbers(j)
        if numbers is not None and not np.isnan(numbers.values).all():
            return False
        return not any(table.distinct(j))

    return {j for j, name in enumerate(table.names) if name == f"column{j + 1}" and is_empty(j)}


def _why_id_of(table: Table, j: int, numbers: NumberCells) -> str | None:
    """Return why a column of numbers identifies the rows; None if it does not."""
    values = numbers.values
    if not numbers.all_digits or np.isnan(values).any() or values.max() > 1e15:
        return None
    n_distinct = np.unique(values).size
    return _why_numbered(table, j, values) if n_distinct == values.size else None


def _why_id(table: Table, j: int, distinct: list[str]) -> str | None:
    """Return why a column identifies the rows rather than describing them; None if it does not."""
    n_rows = table.n_rows
    if len(distinct) < n_rows or n_rows < FEWEST_ROWS_WITH_IDS:
        return None
    if all(re.fullmatch(r"\d{1,15}", cell) for cell in distinct):
        return _why_numbered(table, j, np.array(distinct, dtype=np.int64))
    is_text = any(to_number(cell) is None and to_number(cell, ",") is None for cell in distinct)
    if is_text and n_rows >= 20 and parse_dates(distinct) is None and not has_thousands(distinct):
        return "its values are texts that are all different"
    return None


def _why_numbered(table: Table, j: int, values: Array) -> str | None:
    """Return why whole numbers that are all different identify the rows; None if they do not."""
    name = table.names[j]
    is_nameless = j == 0 and table.has_header and (name == "column1" or name.startswith("Unnamed"))
    is_id = _ID_NAME.fullmatch(name) is not None
    is_running = values[0] in (0, 1) and bool(np.all(np.diff(values) == 1))
    if is_running and (j == 0 or is_id):
        return "it numbers the rows"
    if is_nameless or is_id:
        return "its values are all different and its name is that of an identifier"
    return None


def _kind(table: Table, j: int, distinct: list[str], decimal: str) -> str:
    """Return whether a column is read as numbers or as text."""
    if all(cell.casefold() in _WORDS for cell in distinct):
        return "number"
    if all(cell.isdigit() for cell in distinct) and any(
        len(cell) > 1 and cell[0] == "0" for cell in distinct
    ):
        return "text"  # codes such as 00501
    texts = {cell for cell in distinct if to_number(cell, decimal) is None}
    if not texts:
        return "number"
    if decimal == "." and all("," in cell or to_number(cell) is not None for cell in distinct):
        if has_thousands(distinct) and not _has_decimal_commas(table):
            return "number"
        if all(to_number(cell, ",") is not None for cell in distinct):
            raise table.error(
                f"column {table.names[j]!r} has numbers such as {min(texts)!r}, whose comma looks "
                "like a decimal comma; if so, use --decimal ','. If these are texts, declare the "
                f"column as categories (--categorical {table.names[j]!r})."
            )
    if len(texts) < len(distinct):
        raise _mixture_error(table, j, texts)
    return "text"


def _has_decimal_commas(table: Table) -> bool:
    """Return whether a column has numbers that only a decimal comma explains, such as 2,5."""
    for j in range(len(table.names)):
        cells = [cell for cell in table.distinct(j) if not stands_for_missing(cell)]
        is_comma = any("," in cell for cell in cells)
        if is_comma and all(to_number(cell, ",") is not None for cell in cells):
            if not has_thousands(cells):
                return True
    return False


def _mixture_error(table: Table, j: int, texts: set[str]) -> TableError:
    cells = table.columns[j]
    n_texts = sum(cell in texts for cell in cells)
    odd_is_text = n_texts * 2 <= len(cells)
    row = next(
        i
        for i, cell in enumerate(cells)
        if (cell in texts) == odd_is_text and not stands_for_missing(cell)
    )
    most = "numbers" if odd_is_text else "text"
    return table.error(
        f"{table.place(row, j)} contains {cells[row]!r}, but most of the column is {most}. "
        f"Correct it, or declare the column as categories (--categorical {table.names[j]!r})."
    )


def _task(table: Table, j: int, task: str, decimal: str) -> tuple[str, bool]:
    """Return the task, and whether all class labels are whole numbers."""
    if task not in ("auto", "classification", "regression"):
        raise TableError(f"task={task!r}: must be 'auto', 'classification' or 'regression'.")
    numbers = table.numbers(j, decimal)
    if numbers is not None and task != "classification":
        known = np.unique(numbers.values[~np.isnan(numbers.values)])
        few = known.size <= MAX_INTEGER_CLASSES and bool(np.all(known == np.round(known)))
        if known.size and (task == "regression" or not few):
            return "regression", False
    distinct = [cell for cell in table.distinct(j) if not stands_for_missing(cell)]
    if not distinct:
        raise table.error(f"the target {table.names[j]!r} has no values.")
    if task == "regression":
        _numbers(table, j, decimal)  # raises an error if a cell is not a number
        return task, False
    numeric = all(to_number(cell, decimal) is not None for cell in distinct) or (
        decimal == "." and has_thousands(distinct)
    )
    labels = {label_of(cell) for cell in distinct}
    whole = all(re.fullmatch(r"[+-]?\d+", label) for label in labels)
    if task == "auto" and numeric and not (whole and len(labels) <= MAX_INTEGER_CLASSES):
        return "regression", False
    n_rows = table.n_rows - int(_is_missing(table, j).sum())
    if len(labels) > MAX_INTEGER_CLASSES and len(labels) > n_rows / 2:
        raise table.error(
            f"the target {table.names[j]!r} has {len(labels)} distinct values in {n_rows} rows, "
            "too many for classes. Check the column; to predict numbers, use --task regression."
        )
    if len(labels) < 2:
        raise table.error(
            f"the target {table.names[j]!r} is {next(iter(labels))!r} in every row; "
            "at least two classes are needed."
        )
    return "classification", whole


# -- cells --------------------------------------------------------------------------------


def _is_missing(table: Table, j: int) -> Array:
    numbers = table.numbers(j)
    if numbers is not None:
        return np.isnan(numbers.values)
    codes, distinct = table.coded(j)
    absent: Array = np.array([stands_for_missing(cell) for cell in distinct], dtype=bool)[codes]
    return absent


def _check_no_missing(table: Table, used: Iterable[int]) -> None:
    places: list[str] = []
    count = 0
    for j in used:
        rows: IntArray = np.flatnonzero(_is_missing(table, j))
        count += len(rows)
        places += [f"{table.place(i, j)} ({table.columns[j][i] or 'empty'})" for i in rows[:3]]
    if places:
        shown = "; ".join(places[:5]) + ("; ..." if count > len(places[:5]) else "")
        noun = "value is" if count == 1 else "values are"
        raise table.error(
            f"{count} {noun} missing: {shown}. Fill them in, or use --missing learn."
        )


def _numbers(table: Table, j: int, decimal: str) -> Column:
    """Return a column of numbers, or raise an error that says where there is none."""
    known_numbers = table.numbers(j, decimal)
    if known_numbers is not None:
        return Column("number", known_numbers.values)
    codes, distinct = table.coded(j)
    values: list[float | None] = []
    thousands = ""
    known = [cell for cell in distinct if not stands_for_missing(cell)]
    if decimal == "." and any("," in cell for cell in known):
        thousands = ","
    for cell in distinct:
        word = _WORDS.get(cell.casefold())
        value = to_number(cell, decimal, thousands) if word is None else word
        values.append(np.nan if value is None and stands_for_missing(cell) else value)
    if None in values:
        row = int(np.argmax(np.isin(codes, [i for i, v in enumerate(values) if v is None])))
        raise table.error(
            f"{table.place(row, j)} contains {distinct[codes[row]]!r}, but a finite number is "
            "needed."
        )
    numbers: FloatArray = np.array(values, dtype=np.float64)[codes]
    return Column("number", numbers)


def _texts(table: Table, j: int, column: FeatureColumn) -> Column:
    position: dict[str, int] = {}
    codes, distinct = table.coded(j)
    code = [
        -1 if stands_for_missing(cell) else position.setdefault(label_of(cell), len(position))
        for cell in distinct
    ]
    values = np.array(code, dtype=np.int32)[codes]
    return Column("text", values, tuple(position), column.kind == "category")
