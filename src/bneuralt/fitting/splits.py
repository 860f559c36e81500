"""Division of rows into parts: held-out rows for validation or calibration, and folds."""

from __future__ import annotations

import numpy as np

from bneuralt._typing import Array, IntArray
from bneuralt.fitting.rows import Rows
from bneuralt.warnings import TinyDataWarning, warn_user

__all__ = [
    "MIN_ROWS_TO_SPLIT",
    "TinyDataWarning",
    "divided",
    "fold_of_each",
    "hold_out",
    "hold_out_for_calibration",
]

#: With fewer rows than this, no rows are held out for validation.
MIN_ROWS_TO_SPLIT = 60


def hold_out(rows: Rows, fraction: float, rng: np.random.Generator) -> tuple[Rows, Rows | None]:
    """Split rows into training rows and validation rows.

    The split is stratified by the class or the range of the target; with several targets, rows are
    drawn at random. Each class keeps at least one training row. If there are too few rows, a
    `TinyDataWarning` is issued.
    """
    separate, n_rows = rows.separate, rows.n_separate
    if n_rows < MIN_ROWS_TO_SPLIT:
        warn_user(
            f"{n_rows} rows are too few to hold some out for validation (the least is "
            f"{MIN_ROWS_TO_SPLIT}): all rows are used for training, and training runs for "
            "max_epochs. Pass X_val and y_val to choose the validation rows yourself.",
            TinyDataWarning,
        )
        return rows, None
    n_held = min(max(1, round(fraction * n_rows)), n_rows - 1)
    is_held_out = np.zeros(n_rows, dtype=bool)
    if rows.on_disk:  # too many rows to sort them, and enough for any class without strata
        order: IntArray = np.arange(n_rows, dtype=np.int32)
        rng.shuffle(order)
    else:
        order = _by_target(separate.y, rng)  # of which every k-th row is held out
    places = ((np.arange(n_held) + rng.random()) * n_rows / n_held).astype(np.intp)
    is_held_out[order[places]] = True
    if rows.y.dtype.kind == "i":
        _keep_every_class(separate.y, is_held_out)
    return divided(separate, is_held_out)


def hold_out_for_calibration(rows: Rows, share: float | int, seed: int) -> tuple[Rows, Rows]:
    """Split rows at random into training rows and rows to calibrate intervals on."""
    n_rows = rows.n_separate
    n_held = round(share * n_rows) if isinstance(share, float) else int(share)
    if not 1 <= n_held < n_rows:
        raise ValueError(
            f"conformal={share!r} leaves {n_rows - n_held} of {n_rows} rows for training and "
            f"{n_held} for calibration: both need at least one"
        )
    is_held_out = np.zeros(n_rows, dtype=bool)
    is_held_out[np.random.default_rng([2, seed]).permutation(n_rows)[:n_held]] = True
    return divided(rows.separate, is_held_out)


def divided(separate: Rows, is_held_out: Array) -> tuple[Rows, Rows]:
    """Return the training rows and the held-out rows, with equal rows merged in each."""
    training = separate.take(np.flatnonzero(~is_held_out))
    return training.merged(), separate.take(np.flatnonzero(is_held_out)).merged()


def _keep_every_class(y: Array, is_held_out: Array) -> None:
    """Move a row of each class without training rows back to the training rows."""
    n_members, n_held = np.bincount(y), np.bincount(y[is_held_out], minlength=y.max() + 1)
    for lost in np.flatnonzero(n_held == n_members):
        is_held_out[np.flatnonzero(y == lost)[:1]] = False
    if n_single := np.count_nonzero(n_members == 1):
        warn_user(
            f"the only row of a class is used for training, and no validation row is of that class "
            f"({n_single} such classes).",
            TinyDataWarning,
        )


def _by_target(y: Array, rng: np.random.Generator) -> IntArray:
    """Return the positions of rows sorted by their target, in random order among equal targets.

    With several targets, all rows are in random order.
    """
    key = y if y.ndim == 1 else np.zeros(len(y))
    return np.lexsort((rng.random(len(y)), key))


def fold_of_each(y: Array, n_folds: int, rng: np.random.Generator) -> IntArray:
    """Return the fold of each row, stratified by the class or the range of the target.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([0, 0, 0, 1, 1, 1])
    >>> folds = fold_of_each(y, 3, np.random.default_rng(0))
    >>> [sorted(y[folds == k].tolist()) for k in range(3)]
    [[0, 1], [0, 1], [0, 1]]
    """
    folds = np.empty(len(y), dtype=np.intp)
    folds[_by_target(y, rng)] = np.arange(len(y)) % n_folds
    return folds
