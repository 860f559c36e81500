"""Reading of tables in any form: data frames, arrays, lists, sparse matrices, Arrow tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from scipy.sparse import issparse

from bneuralt._typing import Array
from bneuralt.arrays import TABLE_DTYPES, accepted_table, is_table
from bneuralt.tables import frames
from bneuralt.tables.block_table import BlockTable
from bneuralt.tables.columns import DataFrame, Frame, Written, as_frame
from bneuralt.tables.number_texts import PLAIN
from bneuralt.tables.value_warnings import LearningNotes

__all__ = ["Cells", "ReadTable", "TableReader", "noted_texts"]

#: Forms of a table: numbers, a sparse matrix of numbers (CSR), or columns of any kind.
Cells = Array | Frame | Any


@dataclass(frozen=True, eq=False)
class ReadTable:
    """A table as it was read.

    Attributes
    ----------
    cells : array of numbers, sparse matrix or Frame
        An array is C-contiguous and of one of `bneuralt.arrays.TABLE_DTYPES`; whether its values
        are finite is not checked.
    source : object
        The table as the user has it, with the columns that were chosen: a data frame, a `Frame` or
        an array.
    """

    cells: Cells
    source: Any

    @property
    def names(self) -> list[Any]:
        """Names of the columns; an empty list if the table has none."""
        return column_names(self.source)


@dataclass(frozen=True)
class TableReader:
    """Reads tables of a model.

    Attributes
    ----------
    names : sequence of str or None
        Names of the columns to choose from data frames, in this order; None: all columns.
    caller : str
        Who reads, for the messages of scikit-learn.
    table_name : str
        Name of the table in messages.
    optional : collection of str
        Those of `names` that a table need not have: columns that the model does not use.
    keeps_texts : bool
        Whether tables of texts that are all plain numbers stay texts, which a model may have to
        read in another way: "1.234" is 1234 where training rows had a decimal comma.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"], "c": [0.5, None]})
    >>> table = TableReader(["c", "b"]).read(frame)
    >>> [column.kind for column in table.cells.columns]
    ['number', 'text']
    """

    names: Sequence[str] | None = None
    caller: str = "the model"
    table_name: str = "X"
    optional: Collection[str] = ()
    keeps_texts: bool = False

    def read(self, X: Any) -> ReadTable:
        """Read a table.

        Raises
        ------
        ValueError, TypeError
            It is not a table, has no rows, or lacks a column.
        """
        if isinstance(X, BlockTable):
            raise TypeError(
                f"{self.table_name} is a table that is read in blocks, which only fit, predict and "
                f"score take: pass some of its rows, such as {self.table_name}.head(10_000)"
            )
        X = self._selected(frames.known_frame(accepted_table(X, self.table_name)))
        frame = as_frame(X)
        if frame is None:
            is_frame = frames.is_data_frame(X)
            numbers = self._numbers(frames.plain_table(X) if is_frame else X)
            return ReadTable(numbers, X if is_frame else numbers)
        if len(frame) == 0:
            raise ValueError(f"{self.table_name} has no rows: at least one is needed")
        if frame.is_plain and not self.keeps_texts:  # as any other table of numbers
            return ReadTable(self._numbers(frame.numbers()), frame)
        has_names = isinstance(X, Frame) or frames.is_data_frame(X)
        return ReadTable(frame, X if has_names else frame)

    def _numbers(self, X: Any) -> Any:
        """Return a table of numbers as scikit-learn reads it."""
        if is_table(X):
            return X
        from sklearn.utils.validation import check_array

        numbers = check_array(
            X,
            accept_sparse="csr",
            dtype=list(TABLE_DTYPES),
            order="C",
            ensure_all_finite=False,  # checked later, once
            estimator=self.caller,
            input_name=self.table_name,
        )
        if issparse(numbers) and not numbers.has_canonical_format:
            numbers = numbers.copy()
            numbers.sum_duplicates()
        return numbers

    def _selected(self, X: Any) -> Any:
        """Return the columns that the model needs, in the order in which it needs them."""
        available = [str(name) for name in column_names(X)]
        if not available:
            return X
        if self.names is None:
            _refuse_duplicated(available)
            return X
        if available == list(self.names):
            return X
        positions = {name: j for j, name in enumerate(available)}
        used = [name for name in self.names if name in positions or name not in self.optional]
        absent = [name for name in used if name not in positions]
        if absent:
            raise ValueError(
                f"{self.table_name} has no column {', '.join(map(repr, absent[:10]))}, which the "
                f"model needs; its columns are {', '.join(map(repr, available[:20]))}"
            )
        needed = set(used)
        _refuse_duplicated(name for name in available if name in needed)
        if isinstance(X, Frame):
            chosen: Any = X.select(used)
        else:
            chosen = frames.select_columns(X, [positions[name] for name in used])
        if len(used) == len(self.names):
            return chosen
        return (chosen if isinstance(chosen, Frame) else DataFrame(chosen)).completed(self.names)


def noted_texts(table: ReadTable) -> LearningNotes:
    """Return notes on the columns of a table of numbers that are texts in a data frame."""
    notes, source = LearningNotes(), table.source
    if isinstance(source, Frame) and not isinstance(table.cells, Frame):
        for j, column in enumerate(source.columns):
            if isinstance(column.cells, Written) and column.cells.is_noted:
                name = f"column {j if source.names is None else repr(source.names[j])} of X"
                text = column.cells.column.texts[0]
                notes.add("numbers", name, f"({text!r:.40} is {PLAIN.read([text])[0][0]:g})")
    return notes


def column_names(X: Any) -> list[Any]:
    """Return the names of the columns of a `Frame` or data frame, and none for other tables."""
    return list(X.names or ()) if isinstance(X, Frame) else frames.frame_names(X)


def _refuse_duplicated(names: Iterable[Any]) -> None:
    """Refuse columns of the same name."""
    several = [name for name, count in Counter(names).items() if count > 1]
    if several:
        raise ValueError(
            f"X has several columns with the same name: {', '.join(map(repr, several))}. Rename "
            "or drop them, so that every feature has a name of its own."
        )
