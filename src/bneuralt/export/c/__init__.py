"""Models as C99 source code, with floating-point or integer arithmetic."""

from bneuralt.export.c.files import DTYPES, STYLES, c_files

__all__ = ["DTYPES", "STYLES", "c_files"]
