"""Fewer cases of the same kind in quick runs (`make test-quick`)."""

#: Set by conftest.py before tests are imported.
is_quick = False


def cases(n: int, *, quick: int | None = None) -> int:
    """Return a number of random cases or examples: all of them, or fewer with `--quick`."""
    return (quick or max(3, n // 5)) if is_quick else n
