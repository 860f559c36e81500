"""The work of the program grows with the number of columns, not with its square."""

from __future__ import annotations

import sys

import numpy as np

from bneuralt.cli.program import main


def write_wide(path, n_columns):
    rng = np.random.default_rng(0)
    header = ",".join(f"c{j}" for j in range(n_columns)) + ",y"
    rows = [",".join(f"{x:.3f}" for x in rng.normal(size=n_columns)) for _ in range(12)]
    path.write_text("\n".join([header, *(f"{row},{'ab'[i % 2]}" for i, row in enumerate(rows))]))
    return path


def n_calls(function):
    """Return the number of calls of functions, which other processes do not change."""
    count = 0

    def note(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        assert function() == 0
    finally:
        sys.setprofile(None)
    return count


def test_calls_grow_linearly_with_the_columns(tmp_path, capsys):
    def calls_for(n_columns):
        path = write_wide(tmp_path / f"{n_columns}.csv", n_columns)
        out = str(tmp_path / f"{n_columns}.json")
        return n_calls(lambda: main(["train", str(path), "--target", "y", "--out", out]))

    calls_for(10)  # imports
    small, large = calls_for(200), calls_for(1600)
    assert large < 9 * small
