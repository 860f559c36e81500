"""The work of the program grows with the number of columns, not with its square."""

from __future__ import annotations

import resource
import subprocess
import sys

import numpy as np
import pytest


@pytest.mark.parametrize(("n_columns", "seconds"), [(8_000, 5), (32_000, 20)])
def test_wide_tables_are_trained_in_linear_time(tmp_path, n_columns, seconds):
    rng = np.random.default_rng(0)
    path = tmp_path / "wide.csv"
    header = ",".join(f"c{j}" for j in range(n_columns)) + ",y"
    rows = [",".join(f"{x:.3f}" for x in rng.normal(size=n_columns)) for _ in range(12)]
    path.write_text("\n".join([header, *(f"{row},{'ab'[i % 2]}" for i, row in enumerate(rows))]))
    command = [sys.executable, "-m", "bneuralt", "train", str(path), "--target", "y"]
    before = _processor_time()
    subprocess.run([*command, "--out", str(tmp_path / "m.json")], check=True, capture_output=True)
    assert _processor_time() - before < seconds


def _processor_time() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
