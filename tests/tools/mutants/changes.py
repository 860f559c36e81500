"""What a change of a source file is."""

from __future__ import annotations

import re
from typing import NamedTuple
from zlib import crc32


class Change(NamedTuple):
    """A change of a file: a part of its text, and what comes instead of it.

    `scope` is the function or class around it, empty for the module itself. `lines` are the lines
    that a test has to execute to notice the change, none of them where the statement runs when the
    module is imported. `old` and `new` describe the change.
    """

    file: str
    scope: str
    kind: str
    line: int
    column: int
    old: str
    new: str
    start: int
    end: int
    replacement: str
    lines: range | None

    @property
    def place(self) -> str:
        """Line and column."""
        return f"{self.line}:{self.column}"

    @property
    def description(self) -> str:
        """The change on one line; where it is cut, a checksum tells it from others."""
        text = f"{self.old}  ->  {self.new}" if self.new else f"{self.old}  removed"
        short = shortened(text)
        return f"{short} #{crc32(text.encode()):08x}" if " ... " in short else short


def shortened(text: str, length: int = 160) -> str:
    """Return a text on one line, cut in the middle where it is long."""
    text = re.sub(r"\s*\n\s*", " ", text)
    half = (length - 5) // 2
    return text if len(text) <= length else f"{text[:half]} ... {text[-half:]}"
