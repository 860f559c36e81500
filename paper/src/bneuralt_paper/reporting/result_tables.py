"""The paper's tables with published results, our results, and their differences.

All functions take `Results` and return a `ReportTable`. For experiments without runs the tables
contain only the published results, marked as quoted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import pandas as pd

from bneuralt_paper.datasets.catalogue import PAPER_CLASSIFICATION, PAPER_DATASETS, PAPER_REGRESSION
from bneuralt_paper.experiments.baselines import LABELS
from bneuralt_paper.reporting import published
from bneuralt_paper.reporting.cells import ReportTable, TableCell, format_number
from bneuralt_paper.reporting.run_results import Results

__all__ = [
    "REFERENCE",
    "SETTINGS_HERE",
    "SHORT_NAMES",
    "TOLERANCE",
    "experiments_table",
    "oracle_table",
    "score_table",
    "settings_table",
    "times_table",
]

#: The best setting of BNeuralT, which the paper compares with all other algorithms.
REFERENCE = "B-S-ESy-p4-R"

#: Largest difference from a published mean that counts as reproduced.
TOLERANCE = {"classification": 0.03, "regression": 0.05}

_SHORT: tuple[str, ...] = ("Aus", "Hrt", "Ion", "Pma", "Wis", "Irs", "Win", "Vhl", "Gls")
_SHORT += ("Bas", "Dee", "Dia", "Frd", "Mpg")
SHORT_NAMES = dict(zip(PAPER_DATASETS, _SHORT, strict=True)) | {
    "classification_mean": "mean",
    "regression_mean": "mean",
}
_WITH_MEANS = (*PAPER_CLASSIFICATION, "classification_mean", *PAPER_REGRESSION, "regression_mean")


def _task(dataset: str) -> str:
    names = (*PAPER_REGRESSION, "regression_mean")
    return "regression" if dataset in names else "classification"


def _difference(value: float, printed: float, dataset: str) -> TableCell:
    difference = value - printed
    if not math.isfinite(difference):
        return TableCell("")
    # Compare the number that is shown, which has three digits, as in the paper.
    close = abs(round(difference, 3)) <= TOLERANCE[_task(dataset)]
    return TableCell(format_number(difference, signed=True), "close" if close else "far")


def score_table(results: Results) -> ReportTable:
    """Return Table 2: mean test scores, published and ours under both protocols."""
    printed = published.table2()
    additions = [e for e in results.experiments() if e in LABELS and e not in printed.index]
    rows: list[tuple[TableCell, ...]] = []
    starts: list[int] = []
    records: list[dict[str, object]] = []
    for experiment in [*printed.index, *additions]:
        starts.append(len(rows))
        paper = printed.loc[experiment] if experiment in printed.index else None
        group = "Additions" if paper is None else str(paper["group"])
        label = experiment if paper is None else str(paper["algorithm"])
        rows += _table2_block(results, experiment, group, label, paper)
        records += _table2_records(results, experiment, group, paper)
    notes = (
        "Accuracy (nine data sets) and r2 (five), means over 30 runs: published, ours under the "
        "paper's protocol, and ours with the test rows used once. Ours is bold if it differs by "
        f"more than {TOLERANCE['classification']} (r2: {TOLERANCE['regression']}). "
        "Differences, deviations and numbers of runs are in the CSV file.",
        *([_additions_note(additions)] if additions else []),
    )
    header = ("group", "algorithm", "source", *(SHORT_NAMES[d] for d in _WITH_MEANS))
    return ReportTable(
        "table2", "Table 2: mean test scores", header, rows, pd.DataFrame(records), notes, 3,
        frozenset(starts),
    )  # fmt: skip


def _additions_note(additions: Iterable[str]) -> str:
    labels = "; ".join(f"{name}: {LABELS[name]}" for name in additions)
    return f"Not in the paper: {labels.replace(' (addition)', '')}."


def _table2_block(
    results: Results, experiment: str, group: str, label: str, paper: pd.Series | None
) -> list[tuple[TableCell, ...]]:
    lines: list[tuple[TableCell, ...]] = []

    def add(of: str, cells: Iterable[TableCell]) -> None:
        first = not lines
        heads = (
            TableCell(group if first else "", "head"),
            TableCell(label if first else "", "head"),
        )
        lines.append((*heads, TableCell(of, "head"), *cells))

    ran = {p: results.has(p, experiment) for p in ("paper", "honest")}
    if paper is not None:
        quoted = "paper" if any(ran.values()) else "paper (quoted)"
        add(quoted, [TableCell(format_number(float(paper[d])), "quoted") for d in _WITH_MEANS])
    for protocol in ("paper", "honest"):
        if not ran[protocol]:
            continue
        ours = {d: results.score(protocol, experiment, d) for d in _WITH_MEANS}
        cells = [
            TableCell(format_number(s.mean), _kind(s.mean, paper, d) if protocol == "paper" else "")
            for d, s in ours.items()
        ]
        add("ours" if protocol == "paper" else "honest", cells)
    return lines


def _kind(value: float, paper: pd.Series | None, dataset: str) -> str:
    """Return "far" for a score outside the tolerance."""
    if paper is None or not math.isfinite(value - float(paper[dataset])):
        return ""
    difference = abs(round(value - float(paper[dataset]), 3))
    return "far" if difference > TOLERANCE[_task(dataset)] else ""


def _table2_records(
    results: Results, experiment: str, group: str, paper: pd.Series | None
) -> list[dict[str, object]]:
    records = []
    for dataset in _WITH_MEANS:
        printed = math.nan if paper is None else float(paper[dataset])
        record: dict[str, object] = {
            "group": group,
            "experiment": experiment,
            "dataset": dataset,
            "paper_printed": printed,
        }
        for protocol in ("paper", "honest"):
            mean, sd, n = results.score(protocol, experiment, dataset)
            name = f"{protocol}_protocol"
            record |= {f"{name}_mean": mean, f"{name}_sd": sd, f"{name}_runs": n}
        record["difference"] = results.score("paper", experiment, dataset).mean - printed
        records.append(record)
    return records


#: Settings used here that differ from those of Table A1.
SETTINGS_HERE = {
    ("BNeuralT", "scaling of inputs"): "[0; 1] over all rows (paper) or training rows (honest)",
    ("BNeuralT", "greatest depth p"): "5",
    ("BNeuralT", "most children of a node m"): "5, which means 2 to 4, as in the authors' trees",
    ("Optimizers", "patience of early stopping"): (
        "50 epochs for MLPs; BNeuralT uses the best weights of all updates"
    ),
    ("Optimizers", "algorithms"): (
        "the same; under the paper's protocol Adam applies the correction of its first step always"
    ),
    ("HFNT", "tree"): "the same, with edges in [-1; 1] and 200 nodes at most",
    ("HFNT", "inner nodes"): "any of seven functions, whose parameters are searched for too",
    ("SVM", "kernel"): "linear for classification, radial basis for regression",
    ("SVM", "penalty"): "scikit-learn's default (L2)",
    ("SVM", "loss"): "scikit-learn's default (squared hinge)",
    ("SVM", "iterations"): "scikit-learn's default",
}


def settings_table() -> ReportTable:
    """Return Table A1: the paper's settings and ours."""
    frame = published.settings()
    keys = zip(frame["algorithm"], frame["setting"], strict=True)
    frame["here"] = [
        SETTINGS_HERE.get((algorithm, setting), "the same") for algorithm, setting in keys
    ]
    rows: list[tuple[TableCell, ...]] = []
    starts: list[int] = []
    last = ""
    for _, row in frame.iterrows():
        algorithm = str(row["algorithm"])
        if algorithm != last:
            starts.append(len(rows))
        heads = (
            TableCell(algorithm if algorithm != last else "", "head"),
            TableCell(row["setting"], "head"),
        )
        kind = "faint" if row["here"] == "the same" else ""
        rows.append((*heads, TableCell(row["used"], "quoted"), TableCell(row["here"], kind)))
        last = algorithm
    return ReportTable(
        "tableA1_settings", "Table A1: settings", ("algorithm", "setting", "the paper", "here"),
        rows, frame, (), 4, frozenset(starts),
    )  # fmt: skip


_PARTS = {
    "overall": PAPER_DATASETS,
    "classification": PAPER_CLASSIFICATION,
    "regression": PAPER_REGRESSION,
}


def experiments_table(results: Results) -> ReportTable:
    """Return Tables A2 and A3: the means of all experiments, in the paper's order."""
    printed = published.experiments()
    others = [e for e in results.experiments() if e not in printed.index]
    rows: list[tuple[TableCell, ...]] = []
    records: list[dict[str, object]] = []
    for experiment in [*printed.index, *others]:
        paper = printed.loc[experiment] if experiment in printed.index else None
        record, cells = _experiment_row(results, experiment, paper)
        records.append(record)
        rows.append(cells)
    header = ["experiment"]
    for part in _PARTS:
        header += [part, "ours"] + ["honest"] * (part == "overall")
    header += ["weights", "ours"]
    notes = (
        "Means over data sets and 30 runs (14 data sets overall, 9 and 5 otherwise); a mean is "
        "shown only if all data sets of its group were run. Ours is bold where it differs by more "
        "than 0.03 (classification, overall) or 0.05 (regression). The CSV file also has the "
        "standard deviations and the numbers of weights by task, published and ours.",
    )
    return ReportTable(
        "tableA2_A3_experiments", "Tables A2 and A3: all experiments", tuple(header), rows,
        pd.DataFrame(records), notes,
    )  # fmt: skip


def _experiment_row(
    results: Results, experiment: str, paper: pd.Series | None
) -> tuple[dict[str, object], tuple[TableCell, ...]]:
    ran = [p for p in ("paper", "honest") if results.has(p, experiment)]
    protocol = ran[0] if ran else "paper"
    record: dict[str, object] = {"experiment": experiment, "in_store": bool(ran)}
    cells = [TableCell(experiment, "head")]
    for part, datasets in _PARTS.items():
        quoted = {
            name: math.nan if paper is None else float(paper[f"{part}_{name}"])
            for name in ("mean", "sd", "weights")
        }
        ours = results.score("paper", experiment, f"{part}_mean")
        honest = results.score("honest", experiment, f"{part}_mean")
        difference = ours.mean - quoted["mean"]
        limit = TOLERANCE["regression" if part == "regression" else "classification"]
        is_far = math.isfinite(difference) and abs(round(difference, 3)) > limit
        cells += [
            TableCell(format_number(quoted["mean"]), "quoted"),
            TableCell(format_number(ours.mean), "far" if is_far else ""),
            *([TableCell(format_number(honest.mean))] if part == "overall" else []),
        ]
        record |= {
            f"{part}_paper_printed": quoted["mean"],
            f"{part}_paper_printed_sd": quoted["sd"],
            f"{part}_paper_protocol": ours.mean,
            f"{part}_paper_protocol_sd": ours.sd,
            f"{part}_difference": difference,
            f"{part}_honest": honest.mean,
            f"{part}_honest_sd": honest.sd,
            f"{part}_weights_paper_printed": quoted["weights"],
            f"{part}_weights": results.mean_over(protocol, experiment, datasets, "weights").mean,
        }
    cells += [
        TableCell(format_number(record["overall_weights_paper_printed"], 0), "quoted"),  # type: ignore[arg-type]
        TableCell(format_number(record["overall_weights"], 0)),  # type: ignore[arg-type]
    ]
    return record, tuple(cells)


def times_table(results: Results) -> ReportTable:
    """Return a table with numbers of weights and prediction times, published and ours."""
    rows: list[tuple[TableCell, ...]] = []
    starts: list[int] = []
    records: list[dict[str, object]] = []
    parts = (
        ("weights", published.weights(), 1.0, 0, ()),
        ("predict_seconds", published.microseconds(), 1e6, 2, ("HGB", "SVC", "LIN")),
    )
    for column, printed, factor, digits, additions in parts:
        quantity = "weights" if column == "weights" else "microseconds per example"
        for experiment in [*printed.index, *additions]:
            protocol = next((p for p in results.protocols if results.has(p, experiment)), "")
            if not protocol and experiment in additions:
                continue
            starts.append(len(rows))
            paper = [
                float(printed.loc[experiment, d]) if experiment in printed.index else math.nan
                for d in _WITH_MEANS
            ]
            ours = [factor * _mean(results, protocol, experiment, d, column) for d in _WITH_MEANS]
            label = TableCell(_EXAMPLES.get(experiment, experiment), "head")
            if experiment in printed.index:
                shown = [TableCell(_significant(v), "quoted") for v in paper]
                of = "the paper" if protocol else "the paper (quoted)"
                rows.append((TableCell(quantity, "head"), label, TableCell(of, "head"), *shown))
            if protocol:
                shown = [TableCell(_significant(v, digits)) for v in ours]
                first = starts[-1] == len(rows)
                heads = (quantity, label.text) if first else ("", "")
                rows.append(
                    (*(TableCell(h, "head") for h in heads), TableCell("ours", "head"), *shown)
                )
            for dataset, p, o in zip(_WITH_MEANS, paper, ours, strict=True):
                records.append(
                    {"quantity": quantity, "experiment": experiment, "dataset": dataset}
                    | {"paper_printed": p, "ours": o}
                )
    timed = [r["experiment"] for r in records if r["quantity"] != "weights"]
    notes = (
        "Our times: one call for all test rows of a run, divided by their number. The published "
        "times: BNeuralT in Java, the others in Python, on another machine. The published numbers "
        "of weights for classification are in alphabetical order of the data sets; here they are "
        "in the columns of their data sets.",
        *_machines_note(results, [str(e) for e in dict.fromkeys(timed)]),
    )
    header = ("quantity", "algorithm", "source", *(SHORT_NAMES[d] for d in _WITH_MEANS))
    return ReportTable(
        "table2_weights_times", "Table 2, last part: weights and forward-pass times", header, rows,
        pd.DataFrame(records), notes, 3, frozenset(starts),
    )  # fmt: skip


def _machines_note(results: Results, experiments: Iterable[str]) -> list[str]:
    """Return a warning if the experiments ran on several machines, whose times differ."""
    runs = results.frame
    by_machine: dict[str, list[str]] = {}
    for experiment in experiments:
        names = runs.loc[runs["experiment"] == experiment, "machine"].dropna().unique()
        if len(names):
            label = _EXAMPLES.get(experiment, experiment)
            by_machine.setdefault(" and ".join(sorted(names)), []).append(label)
    if len(by_machine) < 2:
        return []
    machines = "; ".join(f"{name}: {', '.join(labels)}" for name, labels in by_machine.items())
    return [f"Our times are from several machines and only comparable on the same. {machines}."]


_EXAMPLES = {"B-S-ESy-p4-R": "BNeuralT", "M-S-ESy-Rn-L-D": "MLP"}


def _mean(results: Results, protocol: str, experiment: str, dataset: str, column: str) -> float:
    if not protocol:
        return math.nan
    if dataset == "classification_mean":
        return results.mean_over(protocol, experiment, PAPER_CLASSIFICATION, column).mean
    if dataset == "regression_mean":
        return results.mean_over(protocol, experiment, PAPER_REGRESSION, column).mean
    return results.summary(protocol, experiment, dataset, column).mean


def _significant(value: float, digits: int = 1) -> str:
    if not math.isfinite(value):
        return ""
    return f"{value:,.0f}" if value >= 100 or digits == 0 else f"{value:.{digits}f}"


def oracle_table(results: Results) -> ReportTable | None:
    """Return a table of MLPs with weights selected on the test rows; None without such runs."""
    selected = [e for e in results.experiments("paper") if e.startswith(("M-S-ESe-", "M-S-ESu-"))]
    if not selected:
        return None
    compared = [REFERENCE] if results.has("paper", REFERENCE) else []
    for experiment in selected:
        usual = experiment.replace("-ESe-", "-ESy-").replace("-ESu-", "-ESy-")
        if results.has("paper", usual) and usual not in compared:
            compared.append(usual)
    rows: list[tuple[TableCell, ...]] = []
    records: list[dict[str, object]] = []
    for experiment in [*compared, *selected]:
        ours = {d: results.score("paper", experiment, d) for d in _WITH_MEANS}
        heads = (TableCell(experiment, "head"), TableCell(_oracle_label(experiment), "head"))
        rows.append((*heads, *(TableCell(format_number(s.mean)) for s in ours.values())))
        records += [
            {"experiment": experiment, "dataset": d, "mean": s.mean, "sd": s.sd, "runs": s.n}
            for d, s in ours.items()
        ]
    header = ("experiment", "weights selected", *(SHORT_NAMES[d] for d in _WITH_MEANS))
    notes = ("Under the paper's protocol: weights are selected and scored on the same rows.",)
    return ReportTable(
        "equal_oracle", "Equal treatment: MLPs with weights selected on the test rows",
        header, rows, pd.DataFrame(records), notes, 2,
    )  # fmt: skip


def _oracle_label(experiment: str) -> str:
    if experiment.startswith("B-") or "-ESu-" in experiment:
        return "after every update"
    return "after every epoch" if "-ESe-" in experiment else "with patience 50"
