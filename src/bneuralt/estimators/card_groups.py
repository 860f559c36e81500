"""Groups of rows, by which a card divides errors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from bneuralt._typing import Array
from bneuralt.drawing.view import cells
from bneuralt.model import Model
from bneuralt.tables.columns import Frame

__all__ = ["cell_text", "groups_of"]

#: Numbers of more different values than this are grouped by their quartiles.
MAX_VALUES = 8


def groups_of(model: Model, table: Array | Frame, group: Any) -> tuple[str, Array]:
    """Return the name of a group and the text of each row.

    Parameters
    ----------
    model : Model
    table : array or Frame
        Rows that the model has read.
    group : str, int or sequence
        A column by name or position, or a value for each row.
    """
    if not isinstance(group, (str, int, np.integer)):
        name, values = str(getattr(group, "name", None) or "group"), list(group)
        if len(values) != len(table):
            raise ValueError(f"group has {len(values)} values and X has {len(table)} rows")
        return name, _labelled(values)
    names = [column.name for column in model.columns]
    position = {name: j for j, name in enumerate(names)}
    j = position.get(group, -1) if isinstance(group, str) else int(group)
    if not 0 <= j < len(names):
        listed = ", ".join(map(repr, names[:20]))
        raise ValueError(f"group={group!r} is not a column of the model; they are {listed}")
    return names[j], _labelled(cells(table, j))


def _labelled(values: Sequence[Any]) -> Array:
    """Return the text of each value, for many different numbers that of the range it is in.

    Examples
    --------
    >>> _labelled(["a", None, "b"]).tolist()
    ['a', 'missing', 'b']
    >>> _labelled(list(range(12))).tolist()[:4]
    ['0 to 2.75', '0 to 2.75', '0 to 2.75', '2.75 to 5.5']
    """
    is_missing = [v is None or (isinstance(v, float) and bool(np.isnan(v))) for v in values]
    present = [v for v, gap in zip(values, is_missing, strict=True) if not gap]
    is_numeric = all(isinstance(v, (int, float, np.number)) for v in present)
    texts = [cell_text(v) for v in values]
    if is_numeric and len(set(present)) > MAX_VALUES:
        ends = np.unique(np.quantile(present, [0, 0.25, 0.5, 0.75, 1]))
        ranges = [f"{low:.4g} to {high:.4g}" for low, high in pairwise(ends)]
        numbers = np.array([np.nan if v is None else v for v in values], dtype=np.float64)
        texts = [ranges[min(i, len(ranges) - 1)] for i in np.searchsorted(ends[1:-1], numbers)]
    pairs = zip(texts, is_missing, strict=True)
    return np.array(["missing" if gap else text for text, gap in pairs], dtype=str)


def cell_text(value: Any) -> str:
    """Return a value of a table as text.

    Examples
    --------
    >>> cell_text(0.123456), cell_text("2024-05-01T00:00:00")
    ('0.12346', '2024-05-01')
    """
    if isinstance(value, (float, np.floating)):
        return f"{value:.5g}"
    return str(value).removesuffix("T00:00:00")
