"""The benchmark of scores: which tables, which rows, what is stored, and what is reported."""

from collections import Counter
from dataclasses import asdict

import numpy as np
import pytest

pytest.importorskip("pandas", reason="the benchmark needs pandas and matplotlib")
pytest.importorskip("matplotlib", reason="the benchmark needs pandas and matplotlib")

from benchmarks.quality import curve_report, paper_report, tables_report
from benchmarks.quality.measuring import Measured, measure
from benchmarks.quality.models import make_model, settings_of
from benchmarks.quality.running import add_records, forget, missing, run
from benchmarks.quality.suites import Suite, make_suite
from benchmarks.quality.summaries import mean_scores, mean_useful_r2, read_means, to_markdown
from benchmarks.tables import SIZE_CLASSES, TABLES, Facts, Table, read_table
from bneuralt_paper.running.store import Store

SIZES = {"leaves": 60, "stones": 90, "waves": 80}


def read(name, data_home):
    rng = np.random.default_rng(len(name))
    X = rng.normal(size=(SIZES[name], 3)).astype(np.float32)
    y = X @ [1.0, -2.0, 0.5] if name == "waves" else (X[:, 0] > 0).astype(np.int64)
    return Table(name, "regression" if name == "waves" else "classification", X, y, "checksum")


@pytest.fixture
def suite():
    tables = {
        name: Facts(name, n, "regression" if name == "waves" else "") for name, n in SIZES.items()
    }
    return Suite("test", ("forest", "linear", "SVM"), tables, read, fixed_splits=2)


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "store.sqlite") as store:
        yield store


def cells_of(suite, models):
    return suite.cells(models, list(suite.tables), None)


def add(store, suite, model, table, split, score, **figures):
    record = asdict(Measured(score, score, 0.5, 1e-6, **figures)) | {
        "model": model, "table": table, "split": split, "checksum": "c", "machine": "a machine",
        "settings": settings_of(model, suite.tables[table].task),
    }  # fmt: skip
    add_records(store, suite, [record])


def test_halves_and_tasks_of_the_tables():
    """They are fixed: moving a table to the other half would be choosing what is reported."""
    assert Counter((facts.half, facts.task) for facts in TABLES.values()) == {
        ("chosen on", "classification"): 28,
        ("chosen on", "regression"): 10,
        ("reported", "classification"): 28,
        ("reported", "regression"): 16,
    }
    reported = make_suite("tables").tables
    assert not set(reported) & set(make_suite("curve").tables)
    assert set(reported) | set(make_suite("tables", "chosen on").tables) == set(TABLES)


@pytest.mark.parametrize(
    ("n_rows", "place"), [(100, 0), (500, 0), (501, 1), (10_000, 2), (10_001, 3)]
)
def test_size_classes_have_their_limits(n_rows, place):
    assert Facts("t", n_rows, "").size_class == list(SIZE_CLASSES)[place]


def test_tables_are_read_or_the_advice_names_the_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"tae\.npz.*make tables"):
        read_table("tae", tmp_path)
    np.savez(tmp_path / "tae.npz", X=np.zeros((3, 2), np.float32), y=np.zeros(3))
    with pytest.raises(ValueError, match="3 rows instead of 151"):
        read_table("tae", tmp_path)


def test_slow_models_are_left_out_on_large_tables_and_large_tables_have_fewer_splits():
    suite = make_suite("tables")
    cells = suite.cells(["linear", "SVM", "EBM"], list(suite.tables), None)
    n_cells = Counter((model, table) for model, table, _ in cells)
    assert (n_cells["linear", "magic"], n_cells["SVM", "magic"]) == (2, 0)
    assert (n_cells["SVM", "banana"], n_cells["EBM", "banana"], n_cells["EBM", "bupa"]) == (3, 0, 3)


def test_test_rows_of_unknown_classes_are_left_out():
    rng = np.random.default_rng(0)
    order = np.random.default_rng(7).permutation(100)  # as `measure` splits with the seed 7
    X, y = rng.normal(size=(100, 2)), np.zeros(100, dtype=np.int64)
    y[X[:, 0] > 0] = 4
    y[order[-5:]] = 2  # test rows only
    usable = np.delete(order, np.s_[-5:])
    result = measure("linear", "classification", X, y, split_seed=7, model_seed=0)
    model = make_model("linear", "classification", 0).fit(X[order[:80]], y[order[:80]])
    assert result.test_score == model.score(X[usable[80:]], y[usable[80:]])
    assert result.weights == 3


def test_run_measures_what_is_missing(suite, store, capsys):
    cells = cells_of(suite, ["linear", "SVM"])
    run(store, suite, cells[:3], None, 1)
    assert len(store) == 3
    run(store, suite, cells, None, 1)
    assert len(store) == len(cells) == 12
    assert missing(store, suite, cells) == []
    forget(store, suite, cells[:2])
    store.execute("UPDATE runs SET settings = '{}' WHERE experiment = 'SVM' AND dataset = 'waves'")
    assert sorted(missing(store, suite, cells)) == sorted([*cells[:2], *cells[-2:]])
    assert "2 runs of SVM with other settings dropped" in capsys.readouterr().out


def test_a_model_that_fails_is_named_and_the_others_are_measured(suite, store, capsys):
    def damaged(name, data_home):
        table = read(name, data_home)
        return table._replace(X=table.X * np.nan) if name == "stones" else table

    broken = Suite("test", suite.models, suite.tables, damaged, fixed_splits=1)
    run(store, broken, cells_of(broken, ["linear"]), None, 1)
    assert len(store) == 2
    assert "linear / stones / 0 failed: ValueError" in capsys.readouterr().out


def test_records_of_other_settings_are_refused(suite, store):
    record = {"model": "linear", "table": "waves", "split": 0, "checksum": "c", "machine": "m"}
    settings = settings_of("linear", "regression") | {"regressor": "another"}
    with pytest.raises(ValueError, match=r"linear on waves.*other settings.*another"):
        add_records(store, suite, [record | {"settings": settings}])
    add(store, suite, "linear", "waves", 0, 0.5)
    (machine,) = store.execute("SELECT machine FROM runs").fetchone()
    assert machine == "a machine"


def test_report_compares_models_on_the_tables_that_they_have(suite, store, tmp_path, capsys):
    scores = {"forest": (0.9, 0.8, 0.7), "linear": (0.8, 0.75, -3.0), "SVM": (0.7, 0.6, None)}
    for model, of_tables in scores.items():
        for table, score in zip(SIZES, of_tables, strict=True):
            for split in range(2):
                if score is not None:
                    add(store, suite, model, table, split, score + 0.01 * split)
    add(store, suite, "SVM", "waves", 0, 0.9)  # one split of two does not count
    means = read_means(store, suite)
    assert means.loc[("forest", "leaves"), "test_score"] == pytest.approx(0.905)
    by_model = means["test_score"].unstack("table")
    assert mean_scores(by_model, suite).loc["linear"].tolist() == pytest.approx([0.78, -2.995])
    assert mean_useful_r2(by_model, suite)["linear"] == 0
    differences = tables_report.differences(means, suite)
    assert differences.loc["linear", "accuracy"] == "+0.0750 ± 0.0250"
    assert differences["tables"].tolist() == [2, 3]  # SVM, linear

    tables_report.write(suite, store, tmp_path)
    text = (tmp_path / "tables.md").read_text()
    assert text == capsys.readouterr().out[:-1]
    everything, small = text.split("## ")[1:3]
    assert "Not measured on all of them: SVM" in everything
    assert "| forest | 0.855 | 0.705 | 0.705 |  |  | 1.00 |" in everything
    assert "2 for classification, 1 for regression" in small
    assert "Measured on a machine: SVM, forest, linear." in text


def test_report_without_forest_has_no_differences(suite, store, tmp_path):
    run(store, suite, cells_of(suite, ["linear"]), None, 1)
    tables_report.write(suite, store, tmp_path)
    text = (tmp_path / "tables.md").read_text()
    assert "| linear |" in text
    assert "minus" not in text


def test_paper_report(suite, store, tmp_path):
    for place, model in enumerate(suite.models):
        for table in SIZES:
            for split in range(2):
                add(store, suite, model, table, split, 0.9 - 0.1 * place, log_loss=0.3)
    paper_report.write(suite, store, tmp_path)
    assert "| forest | 0.900 | 0.900 | 1.00 |  | 0.300 |" in (tmp_path / "quality.md").read_text()
    assert (tmp_path / "quality.svg").stat().st_size > 0


def test_curve_of_small_trees(store, tmp_path):
    suite = make_suite("curve")
    for place, model in enumerate(suite.models):
        for table in ("tae", "wsn_ale"):
            for split in range(3):
                add(store, suite, model, table, split, 0.5 + 0.01 * place, weights=10 * place)
    curve_report.write(suite, store, tmp_path)
    lines = (tmp_path / "curve.md").read_text().splitlines()
    assert [line.split(" | ")[0] for line in lines[2:4]] == ["| 10", "| 20"]
    assert (tmp_path / "curve.svg").stat().st_size > 0


@pytest.mark.parametrize("n_classes", [2, 26])
def test_trees_of_the_curve_are_as_small_as_their_classes_allow(n_classes):
    y = np.resize(np.arange(n_classes), 5 * n_classes)
    model = make_model("tree of 10 weights", "classification", 0, n_classes)
    model.set_params(max_epochs=1).fit(np.random.default_rng(0).normal(size=(len(y), 3)), y)
    assert model.n_parameters_ <= max(10, 3 * n_classes)


def test_markdown_leaves_missing_numbers_out():
    import pandas as pd

    table = pd.DataFrame({"r2": [0.5, np.nan], "text": ["a", "b"]}, index=["x", "y"])
    assert to_markdown(table, "model").splitlines()[2:] == ["| x | 0.500 | a |", "| y |  | b |"]
