"""What the cells of a table mean: numbers, categories, the target.

`learn_encoding` looks at a training table and decides; the resulting `TableEncoding` is remembered
in the model file and turns later tables into features in exactly the same way.

Nothing is guessed silently: a missing value, a column that mixes numbers and text, or a category
that was never seen is refused with its row and column.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from bneuralt.tables.reading import Table, TableError, number_in, quoted

MISSING = frozenset({"", "?", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "null"})

# Integer targets with no more distinct values than this are read as classes.
MAX_INTEGER_CLASSES = 20


def _label(cell: str) -> str:
    """The name of a class or category: '3.0' and '3' are the same one."""
    return re.sub(r"(?<=\d)\.0*$", "", cell) if re.fullmatch(r"[+-]?\d+\.0*", cell) else cell


@dataclass(frozen=True)
class FeatureColumn:
    """One column of a table as the model sees it: a number, or a text of known categories."""

    name: str
    position: int
    categories: tuple[str, ...] | None = None

    @property
    def feature_names(self) -> list[str]:
        if self.categories is None:
            return [self.name]
        # Of two categories one indicator says it all; a single one says nothing.
        shown = self.categories[1:] if len(self.categories) <= 2 else self.categories
        return [f"{self.name}={category}" for category in shown]


@dataclass(frozen=True)
class TableEncoding:
    """How the columns of one table become features and targets.

    Made by `learn_encoding`, stored in the model file with `to_dict` and brought back with
    `from_dict`.

    Attributes
    ----------
    columns : tuple of FeatureColumn
        The columns used as features.
    target, target_position : str, int
        The column to be predicted.
    task : {"classification", "regression"}
    whole_numbers : bool
        Whether all class labels are whole numbers; they become integers, otherwise text.
    n_columns : int
        Number of columns of the table, used and unused ones.
    has_header : bool
        Whether columns are known by name; otherwise they are told by position.
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
        """Names of the features, one per column of the matrix; ``name=category`` for indicators."""
        return [name for column in self.columns for name in column.feature_names]

    @property
    def column_names(self) -> list[str]:
        return [column.name for column in self.columns]

    def features(self, table: Table, *, decimal: str = ".") -> np.ndarray:
        """The feature matrix of a table, float64, one row per row of the table.

        Raises
        ------
        TableError
            When a column is absent, a value is missing or not a number, or a category was not
            seen in the table the encoding was learnt from.
        """
        used = self._find(table)
        _refuse_missing(table, used)
        matrix = np.empty((table.n_rows, len(self.feature_names)))
        at = 0
        for column, j in zip(self.columns, used, strict=True):
            if column.categories is None:
                matrix[:, at] = _numbers(table, j, decimal)
            else:
                matrix[:, at : at + len(column.feature_names)] = _indicators(table, j, column)
            at += len(column.feature_names)
        return matrix

    def labels(self, table: Table, *, decimal: str = ".") -> np.ndarray | None:
        """The target of a table, or None when the table has no target column."""
        j = self._find_target(table)
        if j is None:
            return None
        _refuse_missing(table, [j])
        if self.task == "regression":
            return _numbers(table, j, decimal)
        labels = [_label(cell) for cell in table.columns[j]]
        # In a later table an unknown label may be anything; it is simply a wrong answer there.
        if self.whole_numbers and all(re.fullmatch(r"[+-]?\d+", label) for label in labels):
            return np.array([int(label) for label in labels])
        return np.array(labels)

    def _by_name(self, table: Table) -> bool:
        return self.has_header and table.has_header

    def _find(self, table: Table) -> list[int]:
        if self._by_name(table):
            absent = [name for name in self.column_names if name not in table.names]
            if absent:
                table.refuse(
                    f"lacks {quoted(absent)}, which the model needs. "
                    f"The columns of the file are: {quoted(table.names)}."
                )
            return [table.names.index(name) for name in self.column_names]
        width = len(table.names)
        if width == self.n_columns:
            return [column.position for column in self.columns]
        if width == self.n_columns - 1:  # the same table without its target
            return [c.position - (c.position > self.target_position) for c in self.columns]
        table.refuse(
            f"has {width} columns and no header to tell them by; the model was trained on "
            f"{self.n_columns} columns ({self.target!r}, the target, among them)."
        )

    def _find_target(self, table: Table) -> int | None:
        if self._by_name(table):
            return table.names.index(self.target) if self.target in table.names else None
        return self.target_position if len(table.names) == self.n_columns else None

    def to_dict(self) -> dict[str, Any]:
        """Everything needed to encode another table, in types that JSON knows."""
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
        """The inverse of `to_dict`; a ValueError names the entry that is absent or wrong."""
        try:
            columns = tuple(
                FeatureColumn(
                    _expect(entry, "name", str),
                    _expect(entry, "position", int),
                    tuple(map(str, _expect(entry, "categories", list)))
                    if "categories" in entry
                    else None,
                )
                for entry in _expect(data, "columns", list)
            )
            return cls(
                columns,
                _expect(data, "target", str),
                _expect(data, "target_position", int),
                _expect(data, "task", str),
                _expect(data, "whole_numbers", bool),
                _expect(data, "n_columns", int),
                _expect(data, "has_header", bool),
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"table encoding: {error.args[0]}") from None


def _expect(entry: dict[str, Any], key: str, kind: type) -> Any:
    if not isinstance(entry, dict) or key not in entry:
        raise KeyError(f"entry {key!r} is missing")
    if type(entry[key]) is not kind:
        raise TypeError(f"entry {key!r} must be of type {kind.__name__}, not {entry[key]!r}")
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
    """Decide how the columns of a table become features.

    Parameters
    ----------
    table : Table
    target : str
        The column to predict: its name, or its number counted from 1 (-1 is the last).
    task : {"auto", "classification", "regression"}
        "auto" means classification when the target holds text, or at most 20 different whole
        numbers.
    categorical : collection of str
        Columns to be read as categories although they hold numbers.
    drop : collection of str
        Columns to leave out.
    max_categories : int
        Text columns with more different values than this are refused: they are rather names or
        identifiers.
    decimal : str
        The decimal point, "." or ",".

    Returns
    -------
    TableEncoding

    Examples
    --------
    >>> from bneuralt.tables.reading import parse_csv
    >>> table = parse_csv(b"cm,sex,hair,kg\\n170,f,red,60\\n180,m,grey,80.5\\n160,f,fair,55\\n")
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
            table.refuse(f"the target {table.names[target_at]!r} cannot be {what} as well.")
    used = [j for j in range(len(table.names)) if j != target_at and j not in dropped]
    _refuse_missing(table, [*used, target_at], can_drop=True)
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
        table.refuse("no column is left to predict from.")
    return encoding


def _nameless_and_empty(table: Table) -> set[int]:
    """Columns with neither a name nor a value: what trailing delimiters leave behind."""
    return {
        j
        for j, column in enumerate(table.columns)
        if table.names[j] == f"column{j + 1}" and not any(column)
    }


def _refuse_missing(table: Table, used: Iterable[int], can_drop: bool = False) -> None:
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
        drop = ", or leave the column out (--drop COLUMN)" if can_drop else ""
        table.refuse(f"{count} {noun} missing: {shown}. Fill in or remove those rows{drop}.")


def _categories(
    table: Table, j: int, declared: bool, max_categories: int, decimal: str
) -> tuple[str, ...] | None:
    """The categories of a column of text, None for a column of numbers."""
    cells = table.columns[j]
    distinct = set(cells)
    if not declared:
        texts = {cell for cell in distinct if number_in(cell, decimal) is None}
        if not texts:
            return None
        if len(texts) < len(distinct):
            _refuse_mixture(table, j, texts)
    found = {_label(cell) for cell in distinct}
    name = table.names[j]
    if len(found) > max_categories:
        comma = decimal == "." and all(number_in(cell, ",") is not None for cell in distinct)
        hint = (
            "Its cells look like numbers with a decimal comma: read them with --decimal ','."
            if comma
            else f"If it names the rows, leave it out (--drop {name!r}); if these are categories, "
            f"raise --max-categories (now {max_categories})."
        )
        table.refuse(
            f"column {name!r} holds {len(found)} different texts, "
            f"such as {quoted(sorted(found), 3)}. {hint}"
        )
    return tuple(sorted(found))


def _refuse_mixture(table: Table, j: int, texts: set[str]) -> NoReturn:
    cells = table.columns[j]
    n_texts = sum(cell in texts for cell in cells)
    odd_is_text = n_texts * 2 <= len(cells)
    row = next(i for i, cell in enumerate(cells) if (cell in texts) == odd_is_text)
    most = "numbers" if odd_is_text else "text"
    table.refuse(
        f"{table.place(row, j)} holds {cells[row]!r} where most rows of the column hold {most}. "
        "Correct it, or, if the values are categories, say so "
        f"(--categorical {table.names[j]!r})."
    )


def _task(table: Table, j: int, task: str, decimal: str) -> tuple[str, bool]:
    """The task, and whether all class labels are whole numbers."""
    if task not in ("auto", "classification", "regression"):
        raise TableError(f"task={task!r}: must be 'auto', 'classification' or 'regression'.")
    cells = table.columns[j]
    distinct = set(cells)
    if task == "regression":
        _numbers(table, j, decimal)  # raises with the row where there is text
        return task, False
    numeric = all(number_in(cell, decimal) is not None for cell in distinct)
    labels = {_label(cell) for cell in distinct}
    whole = all(re.fullmatch(r"[+-]?\d+", label) for label in labels)
    if task == "auto" and numeric and not (whole and len(labels) <= MAX_INTEGER_CLASSES):
        return "regression", False
    _refuse_continuous_labels(table, j, cells, len(labels))
    if len(labels) < 2:
        table.refuse(
            f"the target {table.names[j]!r} is {next(iter(labels))!r} in every row; "
            "there is nothing to learn."
        )
    return "classification", whole


def _refuse_continuous_labels(table: Table, j: int, cells: list[str], n_labels: int) -> None:
    if n_labels > MAX_INTEGER_CLASSES and n_labels > len(cells) / 2:
        table.refuse(
            f"the target {table.names[j]!r} has {n_labels} different values in {len(cells)} rows, "
            "too many for classes. Is it the right column? Numbers to be predicted as such need "
            "--task regression."
        )


def _numbers(table: Table, j: int, decimal: str) -> np.ndarray:
    cells = table.columns[j]
    values = {cell: number_in(cell, decimal) for cell in set(cells)}
    if None in values.values():
        row = next(i for i, cell in enumerate(cells) if values[cell] is None)
        table.refuse(f"{table.place(row, j)} holds {cells[row]!r} where a finite number is needed.")
    return np.array([values[cell] for cell in cells], dtype=np.float64)


def _indicators(table: Table, j: int, column: FeatureColumn) -> np.ndarray:
    assert column.categories is not None
    codes = {category: i for i, category in enumerate(column.categories)}
    cells = [_label(cell) for cell in table.columns[j]]
    unseen = [i for i, cell in enumerate(cells) if cell not in codes]
    if unseen:
        others = f" (and {len(unseen) - 1} more rows like it)" if len(unseen) > 1 else ""
        table.refuse(
            f"{table.place(unseen[0], j)} holds {cells[unseen[0]]!r}{others}, which was not in "
            f"the training table. Known there: {quoted(column.categories)}."
        )
    one_hot = np.eye(len(codes))[[codes[cell] for cell in cells]]
    return one_hot[:, -len(column.feature_names) :] if column.feature_names else one_hot[:, :0]
