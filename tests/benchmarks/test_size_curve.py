"""The benchmark of scores against sizes: what is measured, resumed, merged and summarised."""

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="the benchmark draws with matplotlib")

from benchmarks import size_curve
from benchmarks.size_curve import Row, read_rows, run, write_rows
from benchmarks.size_curve_report import optimism, plot, report, summary


def row(family, limit, dataset, split, score, *, n_weights=10, validation="", task="regression"):
    return Row(family, limit, task, dataset, split, n_weights, 8, score, validation, 0.5)


@pytest.mark.usefixtures("shared")
def test_what_is_in_the_file_is_not_measured_again(tmp_path):
    path = tmp_path / "folder" / "curve.csv"
    run(path, ["default", "cart"], ["iris"], n_splits=1, n_jobs=1)
    first = read_rows(path)
    assert {r.family for r in first} == {"default", "cart"}
    assert {r.split for r in first} == {0}
    by_limit = {r.limit: r.n_weights for r in first if r.family == "default"}
    assert by_limit["8"] == 9  # three classes need three weights each
    assert by_limit["32"] <= 32 < by_limit["400"] <= 400
    assert all(r.score > 0.5 for r in first)

    marked = [r._replace(score=0.25) for r in first]
    write_rows(path, marked)
    run(path, ["default", "cart"], ["iris"], n_splits=2, n_jobs=1)
    again = read_rows(path)
    assert [r for r in again if r.split == 0] == marked
    assert len(again) == 2 * len(first)
    run(path, list(size_curve.FAMILIES), ["iris"], n_splits=0, n_jobs=1)
    assert read_rows(path) == again


def test_merged_rows_are_sorted_and_there_once(tmp_path):
    rows = [row("cart", "16", "a", 0, 0.5), row("cart", "8", "a", 0, 0.4)]
    write_rows(tmp_path / "curve.csv", [*rows, rows[0]._replace(score=0.75)])
    assert read_rows(tmp_path / "curve.csv") == [rows[1], rows[0]._replace(score=0.75)]
    assert read_rows(tmp_path / "nothing.csv") == []


def test_means_are_paired_and_over_all_data_sets_or_none():
    rows = []
    for split, shift in enumerate((0.0, 0.1)):
        for dataset in ("a", "b"):
            rows.append(row("default", "", dataset, split, 0.5 + shift, n_weights=300))
            rows.append(row("evolved", "", dataset, split, 0.6 + 2 * shift, validation="0.9"))
        rows.append(row("evolved", "300", "a", split, 0.9))  # there is no such tree for b
    rows.append(row("default", "", "a", 2, 0.0))  # a split that is not finished
    means = summary(rows, "regression")
    assert set(means) == {("default", ""), ("evolved", "")}
    evolved = means["evolved", ""]
    np.testing.assert_allclose(evolved.score, 0.7)
    np.testing.assert_allclose(evolved.difference, 0.15)  # .1 in one split, .2 in the other
    np.testing.assert_allclose(evolved.standard_error, 0.05)
    ((gap, _),) = optimism(rows, "regression").values()
    np.testing.assert_allclose(gap, 0.2)
    assert summary(rows, "classification") == {}


def test_tables_and_picture(tmp_path, capsys):
    rows = [
        row(family, limit, "a", split, 0.5, task=task, validation=validation)
        for family, limit, validation in (("default", "", ""), ("front", "8", "0.625"))
        for split in (0, 1)
        for task in ("classification", "regression")
    ]
    report(rows)
    printed = capsys.readouterr().out
    assert "classification: 1 data sets, 2 splits" in printed
    assert "| front | 8 | +0.1250 ± 0.0000 |" in printed
    plot(rows, tmp_path / "curve.svg")
    assert (tmp_path / "curve.svg").read_text().count('<g id="axes_') == 2
