"""The published table of all runs: what it keeps, and that a report follows from it."""

import numpy as np
import pandas as pd
import pytest

from bneuralt.cli.program import main
from bneuralt_paper import publishing
from bneuralt_paper.datasets import load_dataset
from bneuralt_paper.datasets.catalogue import PAPER_DATASETS
from bneuralt_paper.experiments.definitions import ALL_EXPERIMENTS
from bneuralt_paper.experiments.protocols import Problem
from bneuralt_paper.images.result_files import load_results
from bneuralt_paper.reporting import result_tables
from bneuralt_paper.reporting.run_results import COLUMNS, Results
from bneuralt_paper.reporting.run_table import read_run_table, write_run_table
from bneuralt_paper.running.store import Store
from tests.helpers.paths import DOCS


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    rows = [
        dict.fromkeys(COLUMNS)
        | {"protocol": p, "experiment": e, "dataset": d, "run": run, "machine": machine}
        | {"train_score": rng.random(), "test_score": rng.random(), "predict_seconds": 1e-6}
        | {"weights": float(rng.integers(5, 900)) if e.startswith("B") else None}
        | {"curves": {"val_error": [0.5, 0.4]}, "tree_json": "{}"}
        for p in ("paper", "honest")
        for e, machine in (("B-S-ESy-p4-R", "small"), ("DT", "small"), ("HGB", "large"))
        for d in PAPER_DATASETS
        for run in range(3)
    ]
    rows[0]["test_score"] = None  # diverged
    return pd.DataFrame(rows)


def test_tables_of_the_report_are_the_same_after_a_round_trip(tmp_path, frame):
    path = tmp_path / "runs.csv.xz"
    write_run_table(frame, path)
    back = read_run_table(path)
    assert tuple(back.columns) == COLUMNS and back["curves"].isna().all()
    for make in (result_tables.score_table, result_tables.times_table):
        assert make(Results(back)).to_markdown() == make(Results(frame)).to_markdown()
    write_run_table(back.sample(frac=1, random_state=0), tmp_path / "again.csv.xz")
    assert (tmp_path / "again.csv.xz").read_bytes() == path.read_bytes()


def test_a_report_follows_from_the_table_alone(tmp_path, frame):
    write_run_table(frame, tmp_path / "runs.csv.xz")
    out = tmp_path / "report"
    assert main(["paper", "report", "--store", f"{tmp_path}/runs.csv.xz", "--out", str(out)]) == 0
    expected = result_tables.score_table(Results(frame)).to_markdown()
    assert expected in (out / "report.md").read_text(encoding="utf-8")


def test_a_file_that_is_no_table_of_runs_is_named(tmp_path, frame, capsys):
    path = tmp_path / "runs.csv.xz"
    write_run_table(frame, path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"runs\.csv\.xz is not a table of runs"):
        read_run_table(path)
    assert main(["paper", "report", "--store", str(path), "--out", str(tmp_path)]) != 0
    assert "copy it again" in capsys.readouterr().err
    pd.DataFrame({"protocol": ["paper"]}).to_csv(path, compression="xz")
    with pytest.raises(ValueError, match="it lacks experiment, dataset"):
        read_run_table(path)
    assert main(["paper", "report", "--store", f"{tmp_path}/none/runs.csv.xz"]) != 0


def test_times_of_several_machines_come_with_a_warning(frame):
    note = result_tables.times_table(Results(frame)).notes[-1]
    assert "several machines" in note and "small: BNeuralT, DT; large: HGB" in note
    alone = Results(frame[frame["machine"] == "small"])
    assert len(result_tables.times_table(alone).notes) == 1


@pytest.fixture(scope="module")
def published_runs():
    return Results(read_run_table(DOCS / "reproduction" / "runs.csv.xz"))


def test_all_experiments_of_the_paper_have_thirty_published_runs(published_runs):
    counts = published_runs.frame.groupby(["protocol", "experiment", "dataset"]).size()
    for protocol in ("paper", "honest"):
        for experiment in ALL_EXPERIMENTS:
            assert (counts[protocol, experiment] == 30).all()
            n_datasets = 9 if experiment in ("NBC", "MONT3") else 14
            assert len(counts[protocol, experiment]) == n_datasets


def test_published_runs_are_not_repeated_and_new_ones_are_added(tmp_path, capsys):
    def run(store, runs, *options):
        arguments = ["--store", str(tmp_path / store), "--runs", str(runs), "--quiet", *options]
        fixed = ["--experiments", "B-S-ESy-p4-R", "--datasets", "iris", "--protocol", "paper"]
        assert main(["paper", "run", *fixed, "--jobs", "1", *arguments]) == 0
        return capsys.readouterr().out

    def publish(store):
        with Store(tmp_path / store) as opened:
            list(publishing.publish(opened, tmp_path / "out", lambda: problems))
        return read_run_table(table)

    problems = [Problem.from_dataset(load_dataset("iris"))]
    table = tmp_path / "out" / "runs.csv.xz"
    run("first.sqlite", 1)
    first = publish("first.sqlite")
    out = run("second.sqlite", 2, "--without", str(table))
    assert "1 runs requested, 0 already stored, 1 computed" in out
    both = publish("second.sqlite")
    assert both["run"].tolist() == [0, 1]
    pd.testing.assert_frame_equal(both.iloc[:1], first)
    [tree] = load_results(tmp_path / "out" / "trees.json.xz").drawn_trees
    assert tree.test_error == pytest.approx(1 - both["test_score"].max(), abs=1e-6)
