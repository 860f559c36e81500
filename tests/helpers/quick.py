"""Fewer cases of the same kind in quick runs (`make test-quick`)."""

from itertools import combinations, product

import pytest

#: Set by conftest.py before tests are imported.
is_quick = False


def cases(n: int, *, quick: int | None = None) -> int:
    """Return a number of random cases or examples: all of them, or fewer with `--quick`."""
    return (quick or max(3, n // 5)) if is_quick else n


def grid(**axes):
    """Parametrize a test with all combinations of some values, or with all pairs in quick runs."""
    rows = list(product(*axes.values()))
    return pytest.mark.parametrize(tuple(axes), all_pairs(rows) if is_quick else rows)


def all_pairs(rows: list[tuple]) -> list[tuple]:
    """Return some of many combinations, among which all values of any two places meet.

    Examples
    --------
    >>> all_pairs([(a, b, c) for a in "xy" for b in "xy" for c in "xy"])
    [('x', 'x', 'x'), ('x', 'y', 'y'), ('y', 'x', 'y'), ('y', 'y', 'x')]
    """
    # places, as values need not be hashable
    values = [[] for _ in rows[0]]
    numbered = []
    for row in rows:
        for known, value in zip(values, row, strict=True):
            if value not in known:
                known.append(value)
        numbered.append([known.index(value) for known, value in zip(values, row, strict=True)])
    pairs = [set(combinations(enumerate(numbers), 2)) for numbers in numbered]
    missing, chosen = set().union(*pairs), []
    while missing:
        best = max(range(len(rows)), key=lambda i: len(pairs[i] & missing))
        missing -= pairs[best]
        chosen.append(best)
    return [rows[i] for i in sorted(chosen)]


def one_of_each(rows: list, key) -> list:
    """Return all rows, or in quick runs one of those with equal keys: of each key another one."""
    if not is_quick:
        return rows
    groups: dict = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return [group[i % len(group)] for i, group in enumerate(groups.values())]
