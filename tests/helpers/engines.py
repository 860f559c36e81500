"""The instruction sets of this processor, one after the other."""

from collections.abc import Iterator

from bneuralt import _core


def each_engine() -> Iterator[str]:
    """Yield the name of each instruction set while it is in use.

    For tests in which the result that all of them are compared with takes longer than theirs.
    """
    before = _core.engine()
    try:
        for name in _core.engines():
            _core.use_engine(name)
            yield name
    finally:
        _core.use_engine(before)
