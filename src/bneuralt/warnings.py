"""The warnings of this package, and how they name the line of the user that caused them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from types import FrameType

__all__ = [
    "CodeWarning",
    "IdentifierWarning",
    "MissingValuesWarning",
    "OutlyingTargetWarning",
    "RareValuesWarning",
    "ReadableTreeWarning",
    "RelativeWeightWarning",
    "RoundedIntegersWarning",
    "SentinelWarning",
    "TextValuesWarning",
    "TinyDataWarning",
    "TrainingDiverged",
    "UnseenValuesWarning",
]

_PACKAGE = str(Path(__file__).parent)
#: Parts of paths of code between the user and this package.
_BETWEEN = ("sklearn", "joblib", "contextlib.py", "functools.py")
#: Variable of a frame with what was said during its call.
_SAID = "__bneuralt_said__"


class UnseenValuesWarning(UserWarning):
    """A column of categories has values that did not occur in training."""


class IdentifierWarning(UserWarning):
    """A column identifies rows, and is not used."""


class RareValuesWarning(UserWarning):
    """All or many values of a column of categories are rare."""


class TextValuesWarning(UserWarning):
    """Texts of a column are read as numbers, or as missing values."""


class MissingValuesWarning(UserWarning):
    """Values are missing in a column that had none missing in training, or only such."""


class SentinelWarning(UserWarning):
    """A number that repeats far outside of the others of its column is treated as missing."""


class RelativeWeightWarning(UserWarning):
    """Whole weights are so large that they are taken as relative weights, not as counts."""


class TinyDataWarning(UserWarning):
    """A table has too few rows for a setting; the text says what is done instead."""


class ReadableTreeWarning(UserWarning):
    """The largest readable tree is worse than a larger one; the text says by how much."""


class CodeWarning(UserWarning):
    """A column of whole numbers is read as codes, whose order means nothing."""


class RoundedIntegersWarning(UserWarning):
    """Whole numbers beyond 2**53 are rounded, so that different ones become the same number."""


class OutlyingTargetWarning(UserWarning):
    """A few values of the target are so far from the others that they decide the fit."""


class TrainingDiverged(RuntimeWarning):
    """The weights overflowed; the last finite ones were kept."""


def warn_user(message: str, category: type[Warning]) -> None:
    """Issue a warning that names the first line outside of this package.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_user("too few rows", TinyDataWarning)
    >>> str(caught[0].message)
    'too few rows'
    """
    warnings.warn(message, category, stacklevel=len(_own_frames(sys._getframe(1))) + 2)


def not_said(topic: str, things: Iterable[str]) -> set[str]:
    """Return the things that no warning on this topic named in the present call of the user.

    Such a call is one line outside of this package, which may fit many models: those of all folds
    of a stacking. What was said is kept in the frame of the call, and forgotten with it.
    """
    frames = _own_frames(sys._getframe(1))
    if not frames:
        return set(things)
    said: set[tuple[str, str]] = frames[-1].f_locals.setdefault(_SAID, set())
    new = {thing for thing in things if (topic, thing) not in said}
    said |= {(topic, thing) for thing in new}
    return new


def _own_frames(frame: FrameType | None) -> list[FrameType]:
    """Return the frames from this one up to the one that a line of the user called."""
    frames: list[FrameType] = []
    while frame is not None and frame.f_back is not None and _is_inside(frame.f_code.co_filename):
        frames.append(frame)
        frame = frame.f_back
    return frames


def _is_inside(path: str) -> bool:
    return path.startswith(_PACKAGE) or any(part in path for part in _BETWEEN)
