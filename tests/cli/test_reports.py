"""What reports say in words: counts, ties, stars and rests."""

import numpy as np
import pytest

from bneuralt.cli import summary
from bneuralt.cli.comparison import conclusion, table_of_scores
from bneuralt.cli.evaluation import split_rows
from bneuralt.cli.outputs import StatusLine


def result(data, *scores, weights=(100, 300, 500), classes=True):
    names = ["neural tree", "linear model", "random forest"]
    models = [
        {"model": name, "score": score, "weights": size, "fit_seconds": 0.001 * size}
        for name, score, size in zip(names, scores, weights, strict=True)
    ]
    return {"data": data, "classes": classes, "models": models}


def test_the_best_scores_of_a_row_have_a_star():
    lines = table_of_scores(
        [result("a", 0.9, 0.9, 0.1), result("b", 0.2, 0.30001, 0.30004, classes=False)]
    ).splitlines()
    assert lines[2].split() == ["a", "0.900*", "0.900*", "0.100"]
    assert lines[3].split() == ["b", "(r2)", "0.200", "0.300*", "0.300*"]
    assert lines[4].split() == ["numbers", "stored", "100", "300", "500"]
    assert lines[5].split() == ["ms", "to", "fit", "100", "300", "500"]


def test_who_is_level_is_best_too():
    text = conclusion([result("a", 0.9, 0.9, 0.1), result("b", 0.7, 0.6, 0.1)])
    assert "best on 2 of 2 data sets" in text and "loses" not in text
    assert "stores 4.0 times as many numbers" in text
    text = conclusion([result("a", 0.8, 0.9, 0.1), result("b", 0.5, 0.6, 0.75)])
    assert "best on 0 of 2 data sets" in text
    assert "It loses most on b, where random forest is ahead by 0.250." in text


@pytest.mark.parametrize("more", [-1, 0, 1, 7])
def test_features_that_are_not_listed_are_counted(more):
    n = summary._TOP_FEATURES + more
    features = [{"feature": f"x{i}", "importance": 0.5, "leaves": i} for i in range(n)]
    lines = summary._feature_lines({"task": "regression", "features": features}).splitlines()
    assert lines[0].startswith("Most important features (drop of r2")
    shown = min(n, summary._TOP_FEATURES)
    assert [line.split()[0] for line in lines[1 : 1 + shown]] == [f"x{i}" for i in range(shown)]
    assert lines[1 + shown :] == ([f"  and {more} more"] if more > 0 else [])


def test_many_classes_are_listed_by_their_most_frequent_confusions(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    n = 30
    counts = np.diag(np.full(n, 5))
    labels = [f"class {i}" for i in range(n)]
    confusion = {"labels": labels, "counts": counts.tolist()}
    assert summary._confusion_lines(confusion) == "All held-out rows were classified correctly."
    counts[3, 4], counts[4, 3] = 7, 2
    text = summary._confusion_lines({"labels": labels, "counts": counts.tolist()})
    assert text.splitlines()[1:] == [
        "  class 3 predicted as class 4: 7",
        "  class 4 predicted as class 3: 2",
    ]


def test_few_classes_are_a_table(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = summary._confusion_lines({"labels": ["a", "long"], "counts": [[10, 2], [0, 3]]})
    assert [line.split() for line in lines.splitlines()[1:]] == [
        ["a", "long"], ["a", "10", "2"], ["long", "0", "3"],
    ]  # fmt: skip
    assert len({len(line) for line in lines.splitlines()[1:]}) == 1


def test_a_status_line_fits_the_terminal_and_is_cleared(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with StatusLine() as status:
        status("x" * 50)
    shown = capsys.readouterr().err
    assert shown.count("x") == 19 and shown.endswith("\r\033[K")
    with StatusLine(verbose=True) as status:
        status("x" * 50)
    assert capsys.readouterr().err == "x" * 50 + "\n"


def test_held_out_rows_are_stratified_and_classes_of_one_row_are_trained_on():
    y = np.repeat([0, 1, 2], [60, 30, 1])
    train, test = split_rows("classification", y, 0.2, 0)
    assert np.bincount(y[test]).tolist() == [12, 6]
    assert sorted([*train, *test]) == list(range(91))
    train, test = split_rows("regression", np.arange(10.0), 0.3, 0)
    assert len(test) == 3 and sorted([*train, *test]) == list(range(10))
    assert not np.array_equal(test, split_rows("regression", np.arange(10.0), 0.3, 1)[1])
    assert split_rows("regression", np.arange(10.0), 0.0, 0)[1].size == 0
