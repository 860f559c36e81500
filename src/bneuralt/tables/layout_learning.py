"""Decide which columns of a training table are used, and how they are read.

Running numbers, identifiers and empty columns are left out. Ambiguous columns, such as
those of numbers and texts, raise an error that says where and what to do.
"""

from __future__ import annotations

import re
from collections.abc import Collection

import numpy as np

from bneuralt._typing import Array, IntArray
from bneuralt.tables.cell_columns import WORDS, missing_cells, number_column
from bneuralt.tables.columns import label_of, parse_dates, stands_for_missing
from bneuralt.tables.csv_files import CsvTable, TableError, quoted
from bneuralt.tables.large_csv import NumberCells
from bneuralt.tables.number_texts import Notation, gap_words
from bneuralt.tables.numbers import has_thousands, to_number
from bneuralt.tables.table_layout import MOST_GAPS, FeatureColumn, TableLayout

__all__ = ["learn_layout"]

#: Integer targets with at most this many distinct values are classes by default.
MAX_INTEGER_CLASSES = 20

#: Smallest numbers of rows in which numbers, and texts, are recognised as identifiers.
FEWEST_ROWS_WITH_IDS = 5
FEWEST_ROWS_WITH_NAMES = 20

#: Texts identify rows if this share of them is different.
NEARLY_ALL = 0.9


#: Such as `id`, `order-no.` or `customerID`, but not `paid`.
_ID_NAME = re.compile(
    r"(?i:(.*[ _.-])?(id|uuid|guid|index|key|rownum|rowid|row|no|nr|number)\.?)"
    r"|.*[a-z](Id|ID|No|Nr)"
)


def learn_layout(
    table: CsvTable,
    target: str,
    *,
    task: str = "auto",
    categorical: Collection[str] = (),
    drop: Collection[str] = (),
    keep_ids: bool = False,
    max_categories: int | None = None,
    decimal: str | None = None,
) -> TableLayout:
    r"""Decide which columns of a table are used, and how they are read.

    Columns that identify rows (running numbers, texts that are nearly all different, unique whole
    numbers with a name such as `id`) and columns without values are left out; `TableLayout.notes`
    says which.

    Parameters
    ----------
    table : CsvTable
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
    decimal : str, optional
        The decimal point, "." or ",". By default a comma if a column has numbers that only a
        decimal comma explains.

    Returns
    -------
    TableLayout
        The layout of this table and of later ones.

    Raises
    ------
    TableError
        The table cannot be used.

    Examples
    --------
    >>> from bneuralt.tables.csv_files import parse_csv
    >>> table = parse_csv(b"cm,sex,hair,kg\n170,f,red,60\n180,m,grey,80.5\n160,f,,55\n")
    >>> layout = learn_layout(table, "kg")
    >>> layout.task, [column.kind for column in layout.columns]
    ('regression', ['number', 'category', 'category'])
    """
    target_at = table.position(target)
    dropped = {table.position(name) for name in drop} | _nameless_and_empty(table)
    declared = {table.position(name) for name in categorical}
    for at, what in ((declared, "categorical"), (dropped, "dropped")):
        if target_at in at:
            raise table.error(f"the target {table.names[target_at]!r} cannot be {what}.")
    columns, notes = [], []
    point = decimal or "."
    if decimal is None and (with_commas := _decimal_comma_column(table)) is not None:
        point = ","
        notes.append(
            f"numbers are read with a decimal comma, as in column {table.names[with_commas]!r}."
        )
    for j, name in enumerate(table.names):
        if j == target_at or j in dropped:
            continue
        numbers = table.numbers(j, point)
        if numbers is not None and j not in declared and not np.isnan(numbers.values).all():
            why = None if keep_ids else _why_id_of(table, j, numbers)
            if why:
                notes.append(_left_out(name, why))
            else:
                columns.append(FeatureColumn(name, j, "category" if numbers.is_code else "number"))
            continue
        distinct = [cell for cell in table.distinct(j) if not stands_for_missing(cell)]
        notation = None if j in declared else _notation(table, j, distinct, point)
        why = None if distinct else "it has no values"
        if distinct and not keep_ids and j not in declared:
            why = _why_id(table, j, distinct, notation is not None)
        if why:
            notes.append(_left_out(name, why, bool(distinct)))
            continue
        if j in declared:
            kind = "category"
        else:
            kind = "text" if notation else _kind(table, j, distinct, point)
        is_free = kind == "category" and j not in declared
        if is_free and max_categories is not None and len(distinct) > max_categories:
            raise table.error(
                f"column {name!r} has {len(distinct)} distinct texts, such as "
                f"{quoted(sorted(distinct), 3)}. If it identifies the rows, drop it "
                f"(--drop {name!r}); otherwise increase --max-categories (now {max_categories})."
            )
        columns.append(FeatureColumn(name, j, kind, notation))
    if not columns and not keep_ids:  # a single column may well count its rows
        return learn_layout(
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
    target_notation = _target_notation(table, target_at, task, point)
    if target_notation is None:
        task, whole_numbers = _task(table, target_at, task, point)
    else:
        task, whole_numbers = "regression", False
        notes.append(_target_note(table, target_at, target_notation))
    return TableLayout(
        tuple(columns),
        table.names[target_at],
        target_at,
        task,
        whole_numbers,
        len(table.names),
        table.has_header,
        target_notation,
        point,
        notes=tuple(notes),
    )


def _left_out(name: str, why: str, is_id: bool = True) -> str:
    advice = "; use --keep-ids to keep it" if is_id else ""
    return f"column {name!r} is left out, because {why}{advice}."


def _nameless_and_empty(table: CsvTable) -> set[int]:
    """Return the columns without name and values, which trailing delimiters create."""

    def is_empty(j: int) -> bool:
        numbers = table.numbers(j)
        if numbers is not None and not np.isnan(numbers.values).all():
            return False
        return not any(table.distinct(j))

    return {j for j, name in enumerate(table.names) if name == f"column{j + 1}" and is_empty(j)}


def _why_id_of(table: CsvTable, j: int, numbers: NumberCells) -> str | None:
    """Return why a column of numbers identifies the rows; None if it does not."""
    values = numbers.values
    if not numbers.all_digits or np.isnan(values).any() or values.max() > 1e15:
        return None
    n_distinct = np.unique(values).size
    return _why_numbered(table, j, values) if n_distinct == values.size else None


def _why_id(table: CsvTable, j: int, distinct: list[str], are_numbers: bool) -> str | None:
    """Return why a column identifies the rows rather than describing them; None if it does not."""
    n_rows = table.n_rows
    all_differ = len(distinct) == n_rows
    if len(distinct) < NEARLY_ALL * n_rows or n_rows < FEWEST_ROWS_WITH_IDS or are_numbers:
        return None
    if all_differ and all(re.fullmatch(r"\d{1,15}", cell) for cell in distinct):
        return _why_numbered(table, j, np.array(distinct, dtype=np.int64))
    is_text = any(to_number(cell) is None and to_number(cell, ",") is None for cell in distinct)
    if not is_text or n_rows < FEWEST_ROWS_WITH_NAMES or has_thousands(distinct):
        return None
    if _are_dates(table, j, distinct):
        return None
    return f"its values are texts that are {'' if all_differ else 'nearly '}all different"


def _are_dates(table: CsvTable, j: int, distinct: list[str]) -> bool:
    """Return whether cells are dates, apart from a few words that stand for missing values."""
    words = gap_words(distinct, _counts(table, j, distinct), MOST_GAPS) or ()
    return parse_dates(cell for cell in distinct if cell not in words) is not None


def _counts(table: CsvTable, j: int, distinct: list[str]) -> IntArray:
    """Return how often some of the different cells of a column occur."""
    codes, cells = table.coded(j)
    counts = np.bincount(codes, minlength=len(cells))
    chosen = set(distinct)
    return counts[[i for i, cell in enumerate(cells) if cell in chosen]]


def _notation(table: CsvTable, j: int, distinct: list[str], decimal: str) -> Notation | None:
    """Return how texts are numbers, if they are and do not look like numbers of a CSV file."""
    if not distinct or all(to_number(cell, decimal) is not None for cell in distinct):
        return None
    if has_thousands(distinct) or all(to_number(cell, ",") is not None for cell in distinct):
        return None
    return Notation.learn(distinct, _counts(table, j, distinct), decimal, MOST_GAPS)


def _why_numbered(table: CsvTable, j: int, values: Array) -> str | None:
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


def _kind(table: CsvTable, j: int, distinct: list[str], decimal: str) -> str:
    """Return whether a column is read as numbers, as dates ("text") or as categories."""
    if all(cell.casefold() in WORDS for cell in distinct):
        return "number"
    if all(cell.isdigit() for cell in distinct) and any(
        len(cell) > 1 and cell[0] == "0" for cell in distinct
    ):
        return "category"  # codes such as 00501
    texts = {cell for cell in distinct if to_number(cell, decimal) is None}
    if not texts:
        return "number"
    if decimal == "." and all("," in cell or to_number(cell) is not None for cell in distinct):
        if has_thousands(distinct) and _decimal_comma_column(table) is None:
            return "number"
        if all(to_number(cell, ",") is not None for cell in distinct):
            raise table.error(
                f"column {table.names[j]!r} has numbers such as {min(texts)!r}, whose comma looks "
                "like a decimal comma; if so, use --decimal ','. If these are texts, declare the "
                f"column as categories (--categorical {table.names[j]!r})."
            )
    if len(texts) < len(distinct):
        raise _mixture_error(table, j, texts)
    return "text" if _are_dates(table, j, distinct) else "category"


def _decimal_comma_column(table: CsvTable) -> int | None:
    """Return the first column of numbers that only a decimal comma explains, such as 2,5."""
    for j in range(len(table.names)):
        if table.numbers(j) is not None:
            continue
        cells = [cell for cell in table.distinct(j) if not stands_for_missing(cell)]
        has_commas = any("," in cell for cell in cells)
        are_numbers = has_commas and all(to_number(cell, ",") is not None for cell in cells)
        if are_numbers and not has_thousands(cells):
            return j
    return None


def _mixture_error(table: CsvTable, j: int, texts: set[str]) -> TableError:
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


def _target_notation(table: CsvTable, j: int, task: str, decimal: str) -> Notation | None:
    """Return how the texts of a target are numbers; None if they are classes or plain numbers."""
    if task not in ("auto", "regression") or table.numbers(j, decimal) is not None:
        return None
    distinct = [cell for cell in table.distinct(j) if not stands_for_missing(cell)]
    notation = _notation(table, j, distinct, decimal)
    if notation is None or task == "regression":
        return notation
    values = np.unique(notation.read(distinct)[0])
    values = values[~np.isnan(values)]
    are_classes = values.size <= MAX_INTEGER_CLASSES and bool(np.all(values == np.round(values)))
    return None if are_classes else notation


def _target_note(table: CsvTable, j: int, notation: Notation) -> str:
    cells = (cell for cell in table.distinct(j) if not stands_for_missing(cell))
    text = next(cell for cell in cells if cell not in notation.gap_words)
    gaps = f", and {quoted(notation.gap_words)} as missing" if notation.gap_words else ""
    return (
        f"the target {table.names[j]!r} is read as numbers ({text!r:.40} is "
        f"{float(notation.read([text])[0][0]):g}){gaps}; use --task classification for classes."
    )


def _task(table: CsvTable, j: int, task: str, decimal: str) -> tuple[str, bool]:
    """Return the task, and whether all class labels are whole numbers."""
    if task not in ("auto", "classification", "regression"):
        raise TableError(f"task={task!r}: must be 'auto', 'classification' or 'regression'.")
    numbers = table.numbers(j, decimal)
    if numbers is not None and task != "classification":
        values = np.unique(numbers.values[~np.isnan(numbers.values)])
        few = values.size <= MAX_INTEGER_CLASSES and bool(np.all(values == np.round(values)))
        if values.size and (task == "regression" or not few):
            return "regression", False
    distinct = [cell for cell in table.distinct(j) if not stands_for_missing(cell)]
    if not distinct:
        raise table.error(f"the target {table.names[j]!r} has no values.")
    if task == "regression":
        number_column(table, j, decimal)  # raises an error if a cell is not a number
        return task, False
    numeric = all(to_number(cell, decimal) is not None for cell in distinct) or (
        decimal == "." and has_thousands(distinct)
    )
    labels = {label_of(cell) for cell in distinct}
    whole = all(re.fullmatch(r"[+-]?\d+", label) for label in labels)
    if task == "auto" and numeric and not (whole and len(labels) <= MAX_INTEGER_CLASSES):
        return "regression", False
    n_rows = table.n_rows - int(missing_cells(table, j).sum())
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
