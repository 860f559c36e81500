"""The reports of `train` and `predict` as text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bneuralt.cli.outputs import count, escape_control, terminal_width

__all__ = ["score_text", "train_report"]

_TITLES = {
    "accuracy": "Accuracy",
    "balanced_accuracy": "Balanced accuracy",
    "f1": "F1 (mean over classes)",
    "auc": "AUC",
    "log_loss": "Log-loss",
    "r2": "r2",
    "rmse": "RMSE",
    "mae": "MAE",
}
_WORDS = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "f1": "F1",
    "log_loss": "log-loss",
}
_TOP_FEATURES = 8


def train_report(report: dict[str, Any]) -> str:
    """Return what `bneuralt train` prints.

    Parameters
    ----------
    report : dict
        The report of ``bneuralt train --json``.

    Returns
    -------
    str
        The text, without a final newline.
    """
    parts = [_training_lines(report), _score_lines(report)]
    held_out = report["held_out"]
    if held_out and "confusion" in held_out:
        parts.append(_confusion_lines(held_out["confusion"]))
    parts.append(_feature_lines(report))
    if report.get("notes"):
        parts.append("\n".join(f"Note: {escape_control(note)}" for note in report["notes"]))
    file = escape_control(report["model"]["file"])
    parts.append(f"Model written to {file}. To use it: bneuralt predict {file} DATA.csv")
    return "\n\n".join(parts)


def _training_lines(report: dict[str, Any]) -> str:
    data, model, training = report["data"], report["model"], report["training"]
    file, target = escape_control(data["file"]), f"target {data['target']!r}"
    if data["classes"]:
        counts = [f"{escape_control(label)} {count}" for label, count in data["classes"].items()]
        shown = ", ".join(counts[:10]) + (", ..." if len(counts) > 10 else "")
        target += f" with {len(counts)} classes ({shown})"
    kind = "One tree" if model["kind"] == "tree" else f"A forest of {model['trees']} trees"
    return (
        f"{file}: {count(data['rows'], 'row')}, {count(data['features'], 'feature')}, {target}\n"
        f"{kind}, trained on {count(training['rows'], 'row')} in "
        f"{_format_seconds(training['seconds'])}: "
        f"{model['weights']:,} weights, {model['nodes']:,} nodes, depth {model['depth']}"
    )


def _score_lines(report: dict[str, Any]) -> str:
    rows = []
    held_out, cv = report["held_out"], report["cross_validation"]
    if held_out:
        place = f"on {count(held_out['rows'], 'held-out row')}"
        trivial = held_out["always_the_same"]
        for name, value in held_out["scores"].items():
            without = trivial["scores"][name]
            note = f"   (always {_format_answer(trivial['answer'])}: {_format_score(without)})"
            rows.append((f"{_TITLES[name]} {place}", _format_score(value) + note))
    if cv:
        place = f"by {cv['folds']}-fold cross-validation of the training rows"
        for name, summary in cv.items():
            if name != "folds" and summary:
                sd = summary["sd"]
                spread = "in a single fold" if sd is None else f"standard deviation {sd:.4f}"
                rows.append((f"{_TITLES[name]} {place}", f"{summary['mean']:.4f}   ({spread})"))
    if not rows:
        return "No score: no rows were held out, and there was no cross-validation."
    width = max(len(title) for title, _ in rows)
    return "\n".join(f"{title:<{width}}  {value}" for title, value in rows)


def _format_answer(answer: str | int | float) -> str:
    return f"{answer:.5g}" if isinstance(answer, float) else repr(answer)


def _confusion_lines(confusion: dict[str, Any]) -> str:
    labels = [escape_control(str(label)) for label in confusion["labels"]]
    counts = confusion["counts"]
    cells = [[str(n) for n in row] for row in counts]
    width = max(len(text) for text in [*labels, *(c for row in cells for c in row)])
    first = max(map(len, labels))
    if first + (width + 2) * len(labels) + 2 > terminal_width():
        return _worst_confusions(labels, counts)
    lines = ["Held-out rows by true class (down) and predicted class (across)"]
    lines.append(_line("", labels, first, width))
    lines += [_line(label, row, first, width) for label, row in zip(labels, cells, strict=True)]
    return "\n".join(lines)


def _line(head: str, cells: Iterable[str], first: int, width: int) -> str:
    return f"  {head:<{first}}" + "".join(f"  {cell:>{width}}" for cell in cells)


def _worst_confusions(labels: list[str], counts: list[list[int]]) -> str:
    wrong = [
        (counts[i][j], labels[i], labels[j])
        for i in range(len(labels))
        for j in range(len(labels))
        if i != j and counts[i][j]
    ]
    wrong.sort(key=lambda entry: -entry[0])
    lines = ["Most frequent confusions on the held-out rows"]
    lines += [f"  {true} predicted as {other}: {n}" for n, true, other in wrong[:10]]
    return "\n".join(lines if wrong else ["All held-out rows were classified correctly."])


def _feature_lines(report: dict[str, Any]) -> str:
    score = "accuracy" if report["task"] == "classification" else "r2"
    shown = report["features"][:_TOP_FEATURES]
    names = [escape_control(entry["feature"]) for entry in shown]
    width = max(map(len, names))
    lines = [f"Most important features (drop of {score} when shuffled; number of leaves)"]
    lines += [
        f"  {name:<{width}}  {entry['importance']:7.4f}  {entry['leaves']:5d}"
        for name, entry in zip(names, shown, strict=True)
    ]
    hidden = len(report["features"]) - len(shown)
    return "\n".join(lines + ([f"  and {hidden} more"] if hidden else []))


def score_text(scores: dict[str, float | None]) -> str:
    """Return scores as text.

    Examples
    --------
    >>> score_text({"r2": 0.73124, "rmse": 2.114})
    'r2 0.7312, RMSE 2.1140'
    """
    return ", ".join(
        f"{_WORDS.get(name, _TITLES[name])} {_format_score(value)}"
        for name, value in scores.items()
    )


def _format_score(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4f}"


def _format_seconds(seconds: float) -> str:
    return f"{seconds * 1e3:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
