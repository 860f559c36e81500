"""Learning curves: computed once, and added to the published table."""

import pytest

from bneuralt_paper.datasets import load_dataset
from bneuralt_paper.experiments.protocols import Problem
from bneuralt_paper.running import curves


def test_curves_are_added_to_the_table(tmp_path, monkeypatch):
    path, problems = (
        tmp_path / "curves.csv.xz",
        [Problem.from_dataset(load_dataset(n)) for n in ("iris", "wine")],
    )
    computed = []

    def short(experiment, problem, runs):
        computed.append((experiment[-1], problem.name, len(runs)))
        return original(experiment, problem, runs).query("epoch <= 20")

    original = curves.compute_curves
    monkeypatch.setattr(curves, "compute_curves", short)
    monkeypatch.setattr(curves, "OPTIMIZERS", ("R",))

    def run(problems, runs):
        computed.clear()
        curves.run_curves(path, problems, ["B-S-ESy-p5"], runs, lambda text: None)
        return computed

    assert run(problems[:1], 1) == [("R", "iris", 1)]
    assert run(problems, 1) == [("R", "wine", 1)]
    first = path.read_bytes()
    assert run(problems, 1) == [] and path.read_bytes() == first
    assert run(problems[:1], 2) == [("R", "iris", 2)]
    table = curves.read_curves(path)
    assert table.groupby("dataset")["runs"].max().to_dict() == {"iris": 2, "wine": 1}
    assert not table.duplicated(["experiment", "dataset", "part", "epoch"]).any()


def test_other_experiments_have_no_curves():
    problem = Problem.from_dataset(load_dataset("iris"))
    with pytest.raises(ValueError, match="'DT' has no learning curves"):
        curves.compute_curves("DT", problem, [0])
