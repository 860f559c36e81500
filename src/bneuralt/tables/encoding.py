"""Encode the cells of a table as features and targets.

`learn_encoding` decides from the training table which columns are numbers and which are categories.
The resulting `TableEncoding` is stored in the model file and encodes later tables in the same way.

Nothing is guessed: missing values, columns that mix numbers and text, and categories that the
training table does not contain are errors, reported with row and column.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bneuralt._typing import Array, FloatArray
from bneuralt.tables.reading import Table, TableError, quoted, to_number

__all__ = ["FeatureColumn", "TableEncoding", "learn_encoding"]

#: Cells that stand for a missing value, in lower case.
MISSING = frozenset({"", "?", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "null"})

#: Integer targets with at most this many distinct values are classes by default.
MAX_INTEGER_CLASSES = 20


def _label(cell: str) -> str:
    """Return the name of a class or category; '3.0' and '3' are the same."""
    return re.sub(r"(?<=\d)\.0*$", "", cell) if re.fullmatch(r"[+-]?\d+\.0*", cell) else cell


@dataclass(frozen=True)
class FeatureColumn:
    """A column of a table that is used as a number or as a set of categories.

    Attributes
    ----------
    name : str
        Name of the column.
    position : int
        Its index in the training table.
    categories : tuple of str or None
        The categories of the training table, sorted; None for numbers.
    """

    name: str
    position: int
    categories: tuple[str, ...] | None = None

    @property
    def feature_names(self) -> list[str]:
        """Names of the features of this column: its name, or one indicator per category."""
        if self.categories is None:
            return [self.name]
        # Two categories need one indicator only; a single category is constant.
        shown = self.categories[1:] if len(self.categories) <= 2 else self.categories
        return [f"{self.name}={category}" for category in shown]


@dataclass(frozen=True)
class TableEncoding:
    """How the columns of a table are converted to features and targets.

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
    """

    columns: tuple[FeatureColumn, ...]
    target: str
    target_position: int
    task: str
    whole_numbers: bool
    n_columns: int
    has_header: bool

    @property
    def feature_names(self) -> list[str]:
        """Names of the features; ``name=category`` for indicators."""
        return [name for column in self.columns for name in column.feature_names]

    @property
    def column_names(self) -> list[str]:
        """Names of the columns used as features."""
        return [column.name for column in self.columns]

    def features(self, table: Table, *, decimal: str = ".") -> FloatArray:
        """Return the features of a table.

        Parameters
        ----------
        table : Table
            A table with the feature columns of the training table.
        decimal : str
            The decimal point, "." or ",".

        Returns
        -------
        float64 array of shape (n_rows, n_features)
            The features, in the order of `feature_names`.

        Raises
        ------
        TableError
            A column or a value is missing, a value is not a number, or a category is not in the
            training table.
        """
        used = self._find(table)
        _check_no_missing(table, used)
        matrix = np.empty((table.n_rows, len(self.feature_names)))
        at = 0
        for column, j in zip(self.columns, used, strict=True):
            if column.categories is None:
                matrix[:, at] = _numbers(table, j, decimal)
            else:
                matrix[:, at : at + len(column.feature_names)] = _indicators(table, j, column)
            at += len(column.feature_names)
        return matrix

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
            Numbers or class labels; None if the table has no target column.
        """
        j = self._find_target(table)
        if j is None:
            return None
        _check_no_missing(table, [j])
        if self.task == "regression":
            return _numbers(table, j, decimal)
        labels = [_label(cell) for cell in table.columns[j]]
        # Labels of a later table need not be in the training table; predictions then differ.
        if self.whole_numbers and all(re.fullmatch(r"[+-]?\d+", label) for label in labels):
            return np.array([int(label) for label in labels])
        return np.array(labels)

    def _by_name(self, table: Table) -> bool:
        return self.has_header and table.has_header

    def _find(self, table: Table) -> list[int]:
        if self._by_name(table):
            absent = [name for name in self.column_names if name not in table.names]
            if absent:
                raise table.error(
                    f"has no column {quoted(absent)}, which the model needs. "
                    f"Its columns are: {quoted(table.names)}."
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
            if column.categories is not None:
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
            columns = tuple(
                FeatureColumn(
                    _expect(entry, "name", str),
                    _expect(entry, "position", int),
                    _stored_categories(entry) if "categories" in entry else None,
                )
                for entry in _expect(data, "columns", list)
            )
            encoding = cls(
                columns,
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


def learn_encoding(
    table: Table,
    target: str,
    *,
    task: str = "auto",
    categorical: Collection[str] = (),
    drop: Collection[str] = (),
    max_categories: int = 50,
    decimal: str = ".",
) -> TableEncoding:
    r"""Decide how the columns of a table are converted to features.

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
    max_categories : int
        Largest number of categories of a text column. Columns with more are errors, since they
        probably are names or identifiers.
    decimal : str
        The decimal point, "." or ",".

    Returns
    -------
    TableEncoding
        The encoding of this table and of later ones.

    Raises
    ------
    TableError
        The table cannot be encoded.

    Examples
    --------
    >>> from bneuralt.tables.reading import parse_csv
    >>> table = parse_csv(b"cm,sex,hair,kg\n170,f,red,60\n180,m,grey,80.5\n160,f,fair,55\n")
    >>> encoding = learn_encoding(table, "kg")
    >>> encoding.task, encoding.feature_names
    ('regression', ['cm', 'sex=m', 'hair=fair', 'hair=grey', 'hair=red'])
    >>> encoding.features(table)
    array([[170.,   0.,   0.,   0.,   1.],
           [180.,   1.,   0.,   1.,   0.],
           [160.,   0.,   1.,   0.,   0.]])
    """
    target_at = table.position(target)
    dropped = {table.position(name) for name in drop} | _nameless_and_empty(table)
    declared = {table.position(name) for name in categorical}
    for at, what in ((declared, "categorical"), (dropped, "dropped")):
        if target_at in at:
            raise table.error(f"the target {table.names[target_at]!r} cannot be {what}.")
    used = [j for j in range(len(table.names)) if j != target_at and j not in dropped]
    _check_no_missing(table, [*used, target_at], can_drop=True)
    columns = tuple(
        FeatureColumn(
            table.names[j], j, _categories(table, j, j in declared, max_categories, decimal)
        )
        for j in used
    )
    task, whole_numbers = _task(table, target_at, task, decimal)
    encoding = TableEncoding(
        columns,
        table.names[target_at],
        target_at,
        task,
        whole_numbers,
        len(table.names),
        table.has_header,
    )
    if not encoding.feature_names:
        raise table.error("no column is left to predict from; drop fewer columns.")
    return encoding


def _nameless_and_empty(table: Table) -> set[int]:
    """Return the columns without name and values, which trailing delimiters create."""
    return {
        j
        for j, column in enumerate(table.columns)
        if table.names[j] == f"column{j + 1}" and not any(column)
    }


def _check_no_missing(table: Table, used: Iterable[int], can_drop: bool = False) -> None:
    places: list[str] = []
    count = 0
    for j in used:
        absent = {cell for cell in set(table.columns[j]) if cell.casefold() in MISSING}
        if absent:
            rows = [i for i, cell in enumerate(table.columns[j]) if cell in absent]
            count += len(rows)
            places += [f"{table.place(i, j)} ({table.columns[j][i] or 'empty'})" for i in rows[:3]]
    if places:
        shown = "; ".join(places[:5]) + ("; ..." if count > len(places[:5]) else "")
        noun = "value is" if count == 1 else "values are"
        remedies = "Fill them in, or remove those rows"
        if can_drop:
            remedies = "Fill them in, remove those rows, or drop the column (--drop COLUMN)"
        raise table.error(f"{count} {noun} missing: {shown}. {remedies}.")


def _categories(
    table: Table, j: int, declared: bool, max_categories: int, decimal: str
) -> tuple[str, ...] | None:
    """Return the categories of a column of text, or None for a column of numbers."""
    cells = table.columns[j]
    distinct = set(cells)
    if not declared:
        texts = {cell for cell in distinct if to_number(cell, decimal) is None}
        if not texts:
            return None
        if len(texts) < len(distinct):
            raise _mixture_error(table, j, texts)
    found = {_label(cell) for cell in distinct}
    name = table.names[j]
    if len(found) > max_categories:
        comma = decimal == "." and all(to_number(cell, ",") is not None for cell in distinct)
        hint = (
            "Its cells look like numbers with a decimal comma; if so, use --decimal ','."
            if comma
            else f"If it identifies the rows, drop it (--drop {name!r}); if these are categories, "
            f"increase --max-categories (now {max_categories})."
        )
        raise table.error(
            f"column {name!r} has {len(found)} distinct texts, "
            f"such as {quoted(sorted(found), 3)}. {hint}"
        )
    return tuple(sorted(found))


def _mixture_error(table: Table, j: int, texts: set[str]) -> TableError:
    cells = table.columns[j]
    n_texts = sum(cell in texts for cell in cells)
    odd_is_text = n_texts * 2 <= len(cells)
    row = next(i for i, cell in enumerate(cells) if (cell in texts) == odd_is_text)
    most = "numbers" if odd_is_text else "text"
    return table.error(
        f"{table.place(row, j)} contains {cells[row]!r}, but most of the column is {most}. "
        f"Correct it, or declare the column as categories (--categorical {table.names[j]!r})."
    )


def _task(table: Table, j: int, task: str, decimal: str) -> tuple[str, bool]:
    """Return the task, and whether all class labels are whole numbers."""
    if task not in ("auto", "classification", "regression"):
        raise TableError(f"task={task!r}: must be 'auto', 'classification' or 'regression'.")
    cells = table.columns[j]
    distinct = set(cells)
    if task == "regression":
        _numbers(table, j, decimal)  # raises an error if a cell is not a number
        return task, False
    numeric = all(to_number(cell, decimal) is not None for cell in distinct)
    labels = {_label(cell) for cell in distinct}
    whole = all(re.fullmatch(r"[+-]?\d+", label) for label in labels)
    if task == "auto" and numeric and not (whole and len(labels) <= MAX_INTEGER_CLASSES):
        return "regression", False
    _check_labels_repeat(table, j, cells, len(labels))
    if len(labels) < 2:
        raise table.error(
            f"the target {table.names[j]!r} is {next(iter(labels))!r} in every row; "
            "at least two classes are needed."
        )
    return "classification", whole


def _check_labels_repeat(table: Table, j: int, cells: list[str], n_labels: int) -> None:
    if n_labels > MAX_INTEGER_CLASSES and n_labels > len(cells) / 2:
        raise table.error(
            f"the target {table.names[j]!r} has {n_labels} distinct values in {len(cells)} rows, "
            "too many for classes. Check the column; to predict numbers, use --task regression."
        )


def _numbers(table: Table, j: int, decimal: str) -> FloatArray:
    cells = table.columns[j]
    values = {cell: to_number(cell, decimal) for cell in set(cells)}
    if None in values.values():
        row = next(i for i, cell in enumerate(cells) if values[cell] is None)
        raise table.error(
            f"{table.place(row, j)} contains {cells[row]!r}, but a finite number is needed."
        )
    return np.array([values[cell] for cell in cells], dtype=np.float64)


def _indicators(table: Table, j: int, column: FeatureColumn) -> FloatArray:
    assert column.categories is not None
    codes = {category: i for i, category in enumerate(column.categories)}
    cells = [_label(cell) for cell in table.columns[j]]
    unseen = [i for i, cell in enumerate(cells) if cell not in codes]
    if unseen:
        others = f" There are {len(unseen)} such rows." if len(unseen) > 1 else ""
        raise table.error(
            f"{table.place(unseen[0], j)} contains {cells[unseen[0]]!r}, which is not in the "
            f"training table.{others} Known categories: {quoted(column.categories)}."
        )
    one_hot = np.eye(len(codes))[[codes[cell] for cell in cells]]
    return one_hot[:, -len(column.feature_names) :] if column.feature_names else one_hot[:, :0]
