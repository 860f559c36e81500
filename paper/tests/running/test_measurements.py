"""Measurements: added to the published file, part by part."""

import json

import pytest

from bneuralt_paper.datasets import load_dataset
from bneuralt_paper.experiments.protocols import Problem
from bneuralt_paper.running import measurements
from tests.helpers.needs import needs

PARTS = ("unused_inputs", "sizes_of_image_trees", "cost_by_size", "training_seconds",
         "single_row_microseconds", "run_seconds")  # fmt: skip


@needs("slow")
def measure(path, problems, report):
    measurements.run_measurements(path, problems, report)


@pytest.mark.parametrize("missing", ["unused_inputs", "training_seconds", "run_seconds"])
def test_missing_parts_are_added(tmp_path, monkeypatch, missing):
    monkeypatch.setattr(measurements, "_N_TIMED_RUNS", 1)
    path = tmp_path / "measurements.json"
    known = {name: {"iris": -1} for name in PARTS if name != missing}
    path.write_text(json.dumps(known))
    reported = []
    problems = [Problem.from_dataset(load_dataset("iris"))]
    measure(path, problems, reported.append)
    measured = measurements.read_measurements(path)
    added = measured.pop(missing)["iris"]
    assert measured == known and tuple(reported) == PARTS
    assert len(added) == 4 and all(value >= 0 for value in added.values())


def test_a_file_without_measurements(tmp_path):
    path = tmp_path / "measurements.json"
    path.write_text("[]")
    with pytest.raises(ValueError, match="contains no measurements"):
        measurements.read_measurements(path)
