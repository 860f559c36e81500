"""The configuration of this installation."""

from __future__ import annotations

import os
import platform

import numpy as np

from bneuralt import __version__, _core

__all__ = ["show_config"]


def show_config() -> str:
    """Return the versions, instruction set and processors in use.

    Returns
    -------
    str
        A few lines of text, for `print` and for bug reports.

    Examples
    --------
    >>> import bneuralt
    >>> bneuralt.show_config().splitlines()[0].split()[0]
    'bneuralt'
    """
    lines = [
        f"bneuralt {__version__}",
        f"instruction set {_core.engine()} (available: {', '.join(_core.engines())})",
        f"processors {os.cpu_count()}, {platform.machine()}",
        f"Python {platform.python_version()}, NumPy {np.__version__}",
    ]
    return "\n".join(lines)
