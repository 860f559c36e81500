"""The commands explain and compact: files, messages and exit codes."""

import csv
import json

import numpy as np
import pytest

from bneuralt import load_model
from tests.helpers.tables import write_flowers


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    from bneuralt.cli.program import main

    folder = tmp_path_factory.mktemp("explain")
    data, model = folder / "flowers.csv", folder / "model.json"
    write_flowers(data)
    assert main(["train", str(data), "--target", "kind", "--out", str(model), "--cv", "0"]) == 0
    return data, model


def test_explain_prints_columns_and_sentences(trained, run_here):
    data, model = trained
    done = run_here("explain", model, data)
    assert done.returncode == 0
    assert "Mean absolute contributions to the score" in done.stdout
    assert "\nrow 1: " in done.stdout
    assert " path" in done.stdout
    one = run_here("explain", model, data, "--row", "3", "--output", "probability")
    assert one.stdout.startswith("row 3: ")


def test_contributions_as_csv_and_json_add_up(trained, run_here, tmp_path):
    data, model = trained
    out = tmp_path / "contributions.csv"
    assert run_here("explain", model, data, "--out", out).returncode == 0
    with out.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 120 * 3
    row = rows[0]
    total = sum(float(row[name]) for name in ("baseline", "length", "width", "colour"))
    assert total == pytest.approx(float(row["prediction"]))
    report = json.loads(run_here("explain", model, data, "--json").stdout)
    values = np.array(report["outputs"][0]["values"])
    ends = report["outputs"][0]["baseline"] + values.sum(axis=1)
    np.testing.assert_allclose(ends, report["outputs"][0]["predictions"])


def test_a_plot(trained, run_here, tmp_path):
    pytest.importorskip("matplotlib")
    data, model = trained
    out = tmp_path / "plot.svg"
    done = run_here("explain", model, data, "--plot", "waterfall", "--row", "1", "--out", out)
    assert done.returncode == 0
    assert out.read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--row", "0"], "must be a number from 1 to 120"),
        (["--label", "none"], "output='none' is not one of the outputs"),
        (["--plot", "bar"], "--plot needs --out FILE"),
    ],
)
def test_explain_says_what_is_wrong(trained, run_here, options, message):
    data, model = trained
    done = run_here("explain", model, data, *options)
    assert done.returncode != 0
    assert message in done.stderr


def test_compact_writes_a_smaller_model(trained, run_here, tmp_path):
    data, model = trained
    small = tmp_path / "small.json"
    done = run_here("compact", model, data, "--max-weights", "30", "--cv", "0", "--out", small)
    assert done.returncode == 0
    assert "weights kept" in done.stdout
    assert "Score on the held-out rows: " in done.stdout
    assert load_model(small).n_parameters_ <= 30
    assert run_here("predict", small, data).returncode == 0
    report = json.loads(
        run_here(
            *("compact", model, data, "--max-bytes", "200", "--cv", "2", "--out", small, "--json")
        ).stdout
    )
    assert report["bytes"] <= 200
    assert report["curve"]["unit"] == "bytes"


def test_compact_shows_each_size_with_its_score_and_error(trained, run_here, tmp_path):
    data, model = trained
    command = "compact", model, data, "--cv", "2", "--out", tmp_path / "small.json"
    curve = json.loads(run_here(*command, "--json").stdout)["curve"]
    lines = run_here(*command).stdout.split("\n\n")[0].splitlines()
    points = zip(curve["size"], curve["score"], curve["standard_error"], strict=True)
    assert [line.split() for line in lines[1:]] == [
        [f"{size:,}", f"{score:.3f}", "+-", f"{error:.3f}"] for size, score, error in points
    ]


def test_compact_says_what_is_wrong(trained, run_here, tmp_path):
    data, model = trained
    small = tmp_path / "small.json"
    done = run_here("compact", model, data, "--max-weights", "3", "--out", small)
    assert "max_weights=3 is too small" in done.stderr
    assert not small.exists()
    bare = tmp_path / "bare.csv"
    bare.write_text("\n".join(line.rsplit(",", 1)[0] for line in data.read_text().splitlines()))
    done = run_here("compact", model, bare, "--max-weights", "30", "--out", small)
    assert "compact needs the training table" in done.stderr
