"""Fewer cases of the same kind in quick runs (`make test-quick`)."""

#: Set by conftest.py before tests are imported.
is_quick = False


def cases(n: int) -> int:
    """Return a number of random cases or examples: all of them, or a fifth with `--quick`."""
    return max(3, n // 5) if is_quick else n
