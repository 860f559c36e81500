"""From a table as users pass it to the numbers that trees read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.sparse import issparse

from bneuralt._sklearn import check_feature_names, check_n_features, with_names
from bneuralt._typing import Array
from bneuralt.arrays import checked_table, is_table
from bneuralt.model.model import Model
from bneuralt.tables import frames
from bneuralt.tables.block_table import BlockTable, read_ahead
from bneuralt.tables.columns import Frame
from bneuralt.tables.csv_files import TableError
from bneuralt.tables.encoder import TableEncoder
from bneuralt.tables.reader import Cells, TableReader, noted_texts
from bneuralt.tables.sparse_rows import dense, is_finite_sparse

__all__ = [
    "Columns",
    "columns_of",
    "encoded",
    "encoded_parts",
    "finite_inputs",
    "in_order",
    "is_ready",
    "read_features",
    "read_table",
    "refuse_not_finite",
    "training_inputs",
]


@dataclass(frozen=True)
class Columns:
    """The columns of a training table.

    Attributes
    ----------
    estimator : str
        Name of the class of the estimator, for messages.
    n_columns : int
    names : tuple of str or None
    finds : bool
        Whether columns of data frames are found by their names in any order.
    optional : tuple of str
        Names of columns that are not used: data frames whose columns are found need not have them.
    """

    estimator: str
    n_columns: int
    names: tuple[str, ...] | None = None
    finds: bool = False
    optional: tuple[str, ...] = ()

    def stand_in(self) -> Any:
        """Return an object on which scikit-learn looks up the columns of the training table."""
        checker = _checker(self.estimator)()
        checker.n_features_in_ = self.n_columns
        if self.names is not None:
            checker.feature_names_in_ = np.array(self.names, dtype=object)
        return checker


def columns_of(model: Model) -> Columns:
    """Return the columns of the table that a model was trained on."""
    encoder = model.encoder
    return Columns(
        model.kind,
        len(encoder.features),
        encoder.names,
        model.finds_columns,
        tuple(encoder.unused_names),
    )


def is_ready(X: Any, encoder: TableEncoder) -> bool:
    """Return whether an encoder can read X without any conversion."""
    return is_table(X) and X.shape[1] == len(encoder.features) and encoder.names is None


def read_table(
    X: Any, estimator: str, known: Columns | None = None, categorical_features: Any = None
) -> tuple[Cells, Columns]:
    """Read a table, and have scikit-learn check the number and the names of its columns.

    Parameters
    ----------
    X : table
    estimator : str
        Name of the class of the estimator, for messages.
    known : Columns, optional
        The columns that the table must have; by default they are learnt.
    categorical_features : optional
        The columns whose texts are categories, also if they are numbers.
    """
    if known is None and is_table(X):
        return X, Columns(estimator, X.shape[1])
    names = known.names if known is not None and known.finds else None
    optional = known.optional if known else ()
    is_listed = not (categorical_features is None or isinstance(categorical_features, str))
    keeps_texts = known is not None or is_listed
    table = TableReader(names, estimator, optional=optional, keeps_texts=keeps_texts).read(X)
    source = table.source
    if known is None:
        noted_texts(table).warn()
    if isinstance(source, Frame):  # a type that scikit-learn cannot check
        if source.names is not None:
            found = Columns(estimator, source.shape[1], tuple(map(str, source.names)))
            return table.cells, found if known is None else known
        source = np.broadcast_to(0.0, source.shape)
    elif frames.is_data_frame(source):
        source = with_names(source, table.names)
    checker = _checker(estimator)() if known is None else known.stand_in()
    check_feature_names(checker, source, reset=known is None)
    check_n_features(checker, source, reset=known is None)
    if known is not None:
        return table.cells, known
    found_names = getattr(checker, "feature_names_in_", None)
    texts = None if found_names is None else tuple(str(name) for name in found_names)
    return table.cells, Columns(estimator, checker.n_features_in_, texts)


@cache
def _checker(estimator: str) -> Any:
    """Return a class on whose objects scikit-learn looks up the columns of the training table."""
    return type(estimator, (), {})


def encoded(encoder: TableEncoder, cells: Cells) -> Array:
    """Return numbers for `encoder.lines`; gaps of plain tables remain, kernels detect them."""
    table: Any = dense(cells)
    is_ready = encoder.is_plain and not isinstance(table, Frame)
    return table if is_ready else encoder.numbers(table)


def encoded_parts(encoder: TableEncoder, table: BlockTable) -> Iterator[Array]:
    """Yield the numbers of all rows of a table in blocks, some rows at a time."""
    n_rows = max(1, table.block_bytes // (8 * max(1, int(encoder.first_numbers[-1]))))
    for block in read_ahead(table.blocks()):
        frame = block.columns(table.names)
        for start in range(0, len(frame), n_rows):
            try:
                yield encoder.numbers(frame.take(slice(start, start + n_rows)))
            except ValueError as error:
                raise TableError(f"{block.place}: {error}") from None


def in_order(columns: Columns, table: BlockTable) -> BlockTable:
    """Return a table in blocks with the columns of a model, in their order."""
    if columns.names is None:
        if len(table.names) != columns.n_columns:
            raise ValueError(
                f"the table has {len(table.names)} columns beside the target, but "
                f"{columns.estimator} is expecting {columns.n_columns} features"
            )
        return table
    return table.select(columns.names)


def read_features(model: Model, X: Any) -> Any:
    """Return the numbers of a table to predict; sparse matrices and blocks stay as they are."""
    if is_ready(X, model.encoder):
        return encoded(model.encoder, X)
    if isinstance(X, BlockTable):
        return in_order(columns_of(model), X)
    table, _ = read_table(X, model.kind, columns_of(model))
    return table if issparse(table) else encoded(model.encoder, table)


def training_inputs(cells: Cells, columns: Columns, encoder: TableEncoder | None) -> Any:
    """Return numbers without missing values; raise an error if one is not finite.

    A sparse matrix of plain numbers stays sparse. Without an encoder, the cells are the inputs.
    """
    if (encoder is None or encoder.is_plain) and is_finite_sparse(cells):
        return cells
    table = dense(cells) if encoder is None else encoder.numbers(dense(cells))
    return checked_table(table, refuse=partial(refuse_not_finite, columns, encoder)).X


def finite_inputs(columns: Columns, encoder: TableEncoder, inputs: Any) -> Any:
    """Fill the missing values that `encoded` left; raise an error if a value is not finite."""
    if isinstance(inputs, BlockTable):  # checked when it is encoded
        return inputs
    inputs = encoded(encoder, inputs) if issparse(inputs) else inputs
    if encoder.is_plain:
        inputs = encoder.numbers(inputs)
    return checked_table(inputs, refuse=partial(refuse_not_finite, columns, encoder)).X


def refuse_not_finite(
    columns: Columns, encoder: TableEncoder | None, X: Array, row: int, column: int
) -> ValueError:
    """Return the error for a table whose first non-finite value is at this row and column."""
    value = X[row, column]
    column = column if encoder is None else encoder.column_of_number(column)
    place = f"column {column}" if columns.names is None else f"column {columns.names[column]!r}"
    if np.isfinite(value):
        return ValueError(
            f"row {row} of X has the value {value:g} in {place}, which overflows in the float32 "
            f"arithmetic of this {columns.estimator}: it is far beyond the values that it "
            "was trained on"
        )
    return ValueError(
        f"Input X contains infinity: row {row}, {place} ({np.count_nonzero(np.isinf(X))} such "
        "values in all); numbers must be finite: correct them, or replace them by NaN, which "
        "stands for missing values."
    )
