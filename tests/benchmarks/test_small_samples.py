"""The benchmark of small training sets: which rows, and what the report compares."""

import sys
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("pandas", reason="the benchmark needs pandas and matplotlib")
pytest.importorskip("matplotlib", reason="the benchmark needs pandas and matplotlib")

from benchmarks import small_samples
from benchmarks.quality.measuring import measure
from benchmarks.quality.models import make_model
from benchmarks.quality.suites import FEWEST_TEST
from benchmarks.quality.suites import small_samples as suite_of
from benchmarks.tables import Facts, Table
from bneuralt_paper.running.store import Store

VARIANTS = """
from sklearn.dummy import DummyClassifier, DummyRegressor
from benchmarks.quality.models import Model
MODELS = {"constant": Model(lambda seed, n: DummyClassifier(), lambda seed, n: DummyRegressor())}
"""


def read(name, data_home):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)).astype(np.float32)
    y = X @ [1.0, -2.0, 0.5] if name == "waves" else (X[:, 0] > 0).astype(np.int64)
    return Table(name, "regression" if name == "waves" else "classification", X, y, "checksum")


@pytest.mark.parametrize("n_rows", small_samples.SIZES)
def test_samples_come_from_the_larger_tables_of_the_choosing_half(n_rows):
    suite = suite_of(n_rows, 4)
    assert suite.n_training == n_rows
    for facts in suite.tables.values():
        assert facts.half == "chosen on"
        assert facts.n_rows >= n_rows + FEWEST_TEST


def test_training_rows_and_test_rows_are_the_first_of_a_random_order():
    X, y = read("waves", None)[2:4]
    order = np.random.default_rng(7).permutation(200)
    model = make_model("linear", "regression", 0).fit(X[order[:60]], y[order[:60]])
    result = measure(
        "linear", "regression", X, y, split_seed=7, model_seed=0, n_training=60, most_test=50
    )
    assert result.test_score == model.score(X[order[60:110]], y[order[60:110]])


def test_variants_and_labels_are_measured_and_compared(tmp_path, monkeypatch, capsys):
    tables = {"waves": Facts("waves", 200, "regression"), "stones": Facts("stones", 200, "")}
    made = lambda n, samples: replace(suite_of(n, samples), tables=tables, read=read)  # noqa: E731
    monkeypatch.setattr(small_samples, "small_samples", made)
    (tmp_path / "variants.py").write_text(VARIANTS)
    store = str(tmp_path / "store.sqlite")

    def program(*arguments):
        usual = ["--store", store, "--rows", "60", "--samples", "2"]
        monkeypatch.setattr(sys, "argv", ["small_samples", *arguments, *usual])
        small_samples.main()
        return capsys.readouterr().out

    variants = "--variants", str(tmp_path / "variants.py")
    program("run", "--models", "linear,constant", *variants)
    program("run", "--models", "linear", "--label", "again")
    with Store(store) as measured:
        assert len(measured) == 3 * 2 * 2
    text = program("report", "--against", "linear", "--tables")
    assert "| linear again | 2 | " in text
    same = next(line for line in text.splitlines() if line.startswith("| linear again | 2 "))
    assert "+0.0" in same
    worse = next(line for line in text.splitlines() if line.startswith("| constant | 2 "))
    assert "waves -1.0" in worse
    with pytest.raises(SystemExit):
        program("run", "--models", "unknown")
