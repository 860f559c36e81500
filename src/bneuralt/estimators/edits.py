"""The log of a model file: what was edited by hand after training.

The page of a model (`to_html`) writes it. A log must lead to the model that it is stored with:
`checked_edits` goes through it from the end to the start, and compares each number that an edit
has set with that of the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bneuralt.explaining.proofs import check_monotonic
from bneuralt.files import ModelFileError, check_keys
from bneuralt.model import Model

__all__ = ["EDITS", "checked_edits", "edits_to_store"]

#: The kinds of edits: a weight or a bias, a branch, the range of a column, the sign of an effect.
EDITS = ("weight", "cut", "limit", "sign")

_KEYS = ("edit", "time", "text", "changes", "column", "before", "after")
_WEIGHTS = ("bias", "edge", "leaf_weight")


def checked_edits(data: Any, model: Model) -> Model:
    """Return a model with the edits of its file.

    Parameters
    ----------
    data : list of dict, or None
        The value of the key "edits".
    model : Model
        The model of the file.

    Raises
    ------
    ModelFileError
        An edit is not valid, the log does not lead to the weights of the file, or a constraint
        does not hold any more.
    """
    if data is None:
        return model
    if not isinstance(data, list):
        raise ModelFileError(f'"edits" must be a list, not {type(data).__name__}')
    raw = model.in_raw_units()
    state = _State(raw)
    for i in reversed(range(len(data))):
        state.undo(data[i], f'"edits"[{i}]')
    if data and raw.constraints:
        for effect in check_monotonic(raw).constrained:
            if not effect.holds:
                raise ModelFileError(
                    f'"edits" have changed the model so that the constraint of {effect.name!r} in '
                    '"monotonic_cst" does not hold'
                )
    return replace(model, edits=tuple(data))


def edits_to_store(model: Model) -> list[Any] | None:
    """Return the log of an edited model; None if the model was changed otherwise since."""
    try:
        return list(checked_edits(list(model.edits), model).edits) or None
    except ModelFileError:  # for example, it was made smaller
        return None


class _State:
    """The numbers of a model that edits change, on the way back to those before all edits."""

    def __init__(self, model: Model) -> None:
        trees, encoder = model.trees, model.encoder
        self.n_columns = len(encoder.features)
        self.weights = [{name: getattr(tree, name).copy() for name in _WEIGHTS} for tree in trees]
        bounds = [getattr(feature, "bounds", None) for feature in encoder.features]
        self.of_column: dict[str, list[Any]] = {
            "limit": [None if ends is None else list(ends) for ends in bounds],
            "sign": list(model.constraints) or [0] * self.n_columns,
        }

    def undo(self, entry: Any, where: str) -> None:
        """Check an edit, and go back to what was before it."""
        if not isinstance(entry, dict):
            raise ModelFileError(f"{where} must be an object, not {type(entry).__name__}")
        check_keys(entry, _KEYS, where)
        if entry["edit"] not in EDITS:
            raise ModelFileError(
                f'"edit" of {where} is {entry["edit"]!r:.50}, it must be one of {", ".join(EDITS)}'
            )
        if not isinstance(entry["time"], str) or not isinstance(entry["text"], str):
            raise ModelFileError(f'"time" and "text" of {where} must be texts')
        if not isinstance(entry["changes"], list):
            raise ModelFileError(f'"changes" of {where} must be a list')
        for change in reversed(entry["changes"]):
            self._undo_weight(change, where)
        if entry["edit"] in self.of_column:
            self._undo_column(entry, where)

    def _undo_weight(self, change: Any, where: str) -> None:
        weights = self._weights_of(change)
        if weights is None:
            raise ModelFileError(
                f'"changes" of {where} has {change!r:.80}, which is not a list of a tree, the name '
                "of a list of weights, a position in it, and two finite numbers"
            )
        tree, name, i, before, after = change
        if weights[i] != weights.dtype.type(after):
            raise ModelFileError(
                f'{where} has set "{name}"[{i}] of tree {tree} to {after:g}, the file has '
                f"{weights[i]:g}: the log does not lead to this model"
            )
        weights[i] = before

    def _weights_of(self, change: Any) -> Any:
        """Return the array that a change is in, None if the change is not valid."""
        if not isinstance(change, list) or len(change) != 5:
            return None
        tree, name, i, *numbers = change
        if type(tree) is not int or not 0 <= tree < len(self.weights) or name not in _WEIGHTS:
            return None
        if any(type(x) not in (int, float) for x in numbers):
            return None
        weights: Any = self.weights[tree][name]
        is_place = type(i) is int and 0 <= i < weights.size
        with np.errstate(over="ignore"):
            return weights if is_place and np.isfinite(weights.dtype.type(numbers)).all() else None

    def _undo_column(self, entry: Mapping[str, Any], where: str) -> None:
        column, edit = entry["column"], entry["edit"]
        if type(column) is not int or not 0 <= column < self.n_columns:
            raise ModelFileError(f'"column" of {where} must be 0 to {self.n_columns - 1}')
        values = self.of_column[edit]
        if entry["after"] != values[column]:
            raise ModelFileError(
                f"{where} has set the {edit} of column {column} to {entry['after']!r:.50}, the "
                f"file has {values[column]!r}: the log does not lead to this model"
            )
        values[column] = entry["before"]
