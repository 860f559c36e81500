"""The report: verdicts, then tables and figures by section of the paper.

The command ``bneuralt paper report`` calls `write_report`.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from bneuralt_paper.experiments.definitions import ALL_EXPERIMENTS
from bneuralt_paper.images.paper_runs import SIZE_EPOCHS, size_runs
from bneuralt_paper.images.result_files import ImageResults
from bneuralt_paper.ledger import Entry, Evidence, check_claims
from bneuralt_paper.ledger.claims import VERDICTS
from bneuralt_paper.reporting import figures, image_sections, image_tables, result_tables
from bneuralt_paper.reporting.cells import ReportTable, TableCell
from bneuralt_paper.reporting.codes import CODES
from bneuralt_paper.reporting.page import Picture, Section, pictures, write_page
from bneuralt_paper.reporting.run_results import COLUMNS, Results
from bneuralt_paper.reporting.schemes import schemes
from bneuralt_paper.reporting.significance import rank_algorithms, ranking_table, significance_table
from bneuralt_paper.running.curves import CURVE_SETTINGS
from bneuralt_paper.running.measurements import study_hours

__all__ = ["build_sections", "claims_table", "write_report"]

Parts = list[ReportTable | Picture]

_LIMITATIONS = (
    "What limits these results: the paper does not say which layers of its MLPs have penalties; "
    "the hidden layer, whose scores are nearest to Table 2, was used. HFNT and MONT follow their "
    "descriptions, not the authors' programs. The A-32-tree is our reading of 'asymmetric'. "
    "k-trees train for a fixed number of epochs, without the early stopping. Learning curves are "
    "computed without selection, which does not change them. Times of predictions were measured on "
    "busy machines."
)
_HOW_TO_RUN = """\
The commands need a data folder with the authors' files (`bneuralt data fetch`), can be
interrupted, and continue from the published files (`run` with
`--without docs/reproduction/runs.csv.xz`):

```console
$ bneuralt paper run --experiments all,additions --runs 30 --store runs.sqlite
$ bneuralt paper run --experiments equal-oracle --protocol paper --store runs.sqlite
$ bneuralt paper publish --store runs.sqlite --out docs/reproduction
$ bneuralt paper curves --runs 30 --store docs/reproduction
$ bneuralt paper images --store docs/reproduction
$ bneuralt paper measure --store docs/reproduction
$ bneuralt paper claims --store docs/reproduction
$ bneuralt paper report --store docs/reproduction --out docs/reproduction.md
```"""
_KINDS = {"bneuralt": "BNeuralT", "mlp": "MLPs", "evolved": "HFNT and MONT", "baseline": "others"}


def write_report(evidence: Evidence, out: str | os.PathLike[str]) -> Path:
    """Write the report of published results.

    Parameters
    ----------
    evidence : Evidence
        Results; whatever is missing is left out, and its claims cannot be tested.
    out : path
        A Markdown file such as ``docs/reproduction.md``, whose tables and figures go to a folder
        with its name, or a folder for ``report.html``, ``report.md`` and ``report/``.

    Returns
    -------
    pathlib.Path
        The page.

    Examples
    --------
    >>> from bneuralt_paper.report import write_report
    >>> write_report(Evidence.load("docs/reproduction"), "report")  # doctest: +SKIP
    """
    return write_page(build_sections(evidence), _provenance(evidence), out)


def _provenance(evidence: Evidence) -> dict[str, str]:
    facts = {}
    if evidence.runs is not None:
        frame = evidence.runs.frame
        counts = frame["protocol"].value_counts()
        facts["runs"] = ", ".join(f"{counts[p]:,} ({p} protocol)" for p in evidence.runs.protocols)
        ran = set(evidence.runs.experiments())
        n_paper = sum(e in ran for e in ALL_EXPERIMENTS)
        facts["experiments"] = f"{n_paper} of the paper's {len(ALL_EXPERIMENTS)}, {len(ran)} in all"
        machines = sorted(set(frame["machine"].dropna()))
        facts["machines of these runs"] = "; ".join(machines)
    if evidence.curve_table is not None:
        runs = evidence.curve_table.query("epoch == 1")["runs"]
        numbers = " to ".join(str(n) for n in sorted({runs.min(), runs.max()}))
        facts["learning curves"] = f"{numbers} runs each"
    if evidence.image_results.all():
        facts["images"] = _image_facts(evidence.image_results)
    return facts


def _image_facts(results: ImageResults) -> str:
    runs = image_tables.run_list(results).frame
    finished = int((runs["status"] == "finished").sum())
    return f"{finished} of {len(runs)} planned runs (image_runs.csv lists them with their cost)"


def claims_table(
    entries: Iterable[Entry], slug: str, title: str, *, with_place: bool = True
) -> ReportTable:
    """Return a table of claims with our values and verdicts."""
    kinds = {"reproduced": "", "differs": "strong", "cannot be tested": "faint"}
    rows, records = [], []
    for entry in entries:
        claim = entry.claim
        place = (TableCell(claim.place),) if with_place else ()
        rows.append(
            (
                TableCell(claim.id, "head"), *place, TableCell(claim.says), TableCell(entry.ours),
                TableCell(entry.verdict, kinds[entry.verdict]),
            )
        )  # fmt: skip
        records.append(
            {"id": claim.id, "kind": claim.kind, "place": claim.place, "says": claim.says}
            | {"check": claim.check, "ours": entry.ours, "verdict": entry.verdict}
        )
    header = ("id", *(("place",) if with_place else ()), "the paper", "ours", "verdict")
    return ReportTable(
        slug, title, header, rows, pd.DataFrame(records), heads=len(header), has_file=with_place
    )


def build_sections(evidence: Evidence) -> list[Section]:
    """Return all sections: verdicts first, then those of the paper."""
    entries = check_claims(evidence)
    titles = {
        e.claim.id: f"{e.claim.place} ({e.verdict})" for e in entries if e.claim.kind == "figure"
    }
    results = evidence.runs or Results(pd.DataFrame(columns=list(COLUMNS)))
    return [
        _verdicts(entries),
        _section("method", "Section 3: the algorithm", "", entries, _scheme_parts(titles)),
        _section("experiments", "Section 4: experiments", "", entries, [_settings()],
                 files_only=["tableA1_settings"]),
        _section("scores", "Sections 5.1 and 5.2: scores", CODES, entries,
                 _score_parts(evidence, results, titles),
                 files_only=["table2_weights_times", "equal_oracle"]),
        _section("significance", "Section 5.2: significance",
                 "BNeuralT with RMSprop against the others; the claims have the counts.", entries,
                 _significance_parts(results), all_as_files=True),
        _section("digits", "Section 5.2: MNIST", "", entries,
                 image_sections.digit_parts(evidence.image_results, titles)
                 + image_sections.k_tree_parts(evidence.image_results)
                 + image_sections.fashion_parts(evidence.image_results),
                 files_only=["image_runs"]),
        _section("convergence", "Section 5.3: convergence",
                 "Learning curves under the paper's protocol; lines are means, bands quartiles.",
                 entries, _curve_parts(evidence, results, titles)),
        _section("discussion", "Sections 6 and 7: discussion", "", entries,
                 _honest_parts(results), files_only=["ranks_honest_9"]),
        _section("supplement", "Supplement", "", entries,
                 [result_tables.experiments_table(results)], folded=["tableA2_A3_experiments"]),
        _section("misprints", "Misprints", "What is printed, and what follows from it.", entries,
                 []),
        Section("how", "How to run it", "\n\n".join(_how_to_run(evidence))),
    ]  # fmt: skip


def _how_to_run(evidence: Evidence) -> list[str]:
    """Return the commands, the time of all runs if it has been measured, and the limits."""
    if evidence.runs is None or "run_seconds" not in evidence.measurements:
        return [_HOW_TO_RUN, _LIMITATIONS]
    frame = evidence.runs.frame
    runs = frame[frame["experiment"].isin(ALL_EXPERIMENTS)]
    hours = study_hours(evidence.measured("run_seconds"), runs)
    parts = ", ".join(
        f"{label} {hours[kind]:.1f}" for kind, label in _KINDS.items() if kind in hours
    )
    images = image_tables.run_list(evidence.image_results).frame["seconds"].sum() / 3600
    costs = (
        f"On one core the {len(runs):,} runs of the paper's experiments take about "
        f"{sum(hours.values()):.0f} hours ({parts}), estimated from some runs of each kind on each "
        f"data set. All runs of `images` take {images:.1f} hours; image_runs.csv has the cost of "
        "each."
    )
    return [_HOW_TO_RUN, costs, _LIMITATIONS]


def _section(
    slug: str,
    title: str,
    text: str,
    entries: Sequence[Entry],
    parts: Parts,
    *,
    folded: Sequence[str] = (),
    files_only: Sequence[str] = (),
    all_as_files: bool = False,
) -> Section:
    """Return a section: its claims other than the main ones, then its tables and figures."""
    if all_as_files:
        files_only = [part.slug for part in parts if isinstance(part, ReportTable)]
    own = [e for e in entries if e.claim.section == slug and not e.claim.headline]
    claims: Parts = [claims_table(own, f"claims_{slug}", "Claims", with_place=False)] if own else []
    return Section(slug, title, text, (*claims, *parts), frozenset(folded), frozenset(files_only))


def _verdicts(entries: Sequence[Entry]) -> Section:
    counts = Counter(entry.verdict for entry in entries)
    by_kind = Counter((entry.claim.kind, entry.verdict) for entry in entries)
    agree, differ, open_ = (counts[verdict] for verdict in VERDICTS)
    misprints = by_kind["misprint", "differs"]
    text = (
        f"{len(entries)} items of the paper: {agree} are reproduced, {differ} differ ({misprints} "
        f"of them are misprints), {open_} cannot be tested. Scores are reproduced; they measure "
        "weights that were selected on the test rows. 'Honest' means that the test rows are used "
        "once, to score the trained model. The other claims are in the sections below."
    )
    shown = [entry for entry in entries if entry.claim.headline]
    table = claims_table(shown, "verdicts", "The main claims", with_place=False)
    every = claims_table(entries, "claims", "All claims")
    return Section("verdicts", "Verdicts", text, (table, every), files_only=frozenset(["claims"]))


def _scheme_parts(titles: Mapping[str, str]) -> Parts:
    shown = ", ".join(titles[f"fig-{i}"] for i in range(1, 5))
    return [*pictures(schemes(), "schemes", f"{shown}, as our own drawings.")]


def _settings() -> ReportTable:
    return result_tables.settings_table()


def _score_parts(evidence: Evidence, results: Results, titles: Mapping[str, str]) -> Parts:
    parts: Parts = [result_tables.score_table(results)]
    caption = (
        "BNeuralT with RMSprop: the same trees with weights selected on the test rows (as in the "
        "paper) and on validation rows."
    )
    parts += pictures(figures.protocol_gap(results), "protocol-gap", caption)
    parts.append(result_tables.times_table(results))
    both = f"{titles['fig-5']} and {titles['fig-6']}"
    caption = f"{both}: the best trees of RMSprop under the paper's protocol."
    parts += pictures(figures.best_trees_figure(evidence.trees), "best-trees", caption)
    oracle = result_tables.oracle_table(results)
    return [*parts, *([oracle] if oracle is not None else [])]


def _significance_parts(results: Results) -> Parts:
    if results.frame.empty:
        return []
    protocols = ["paper"]
    if results.has("honest", result_tables.REFERENCE):
        protocols.append("honest")
    return [
        significance_table(results, test, protocol)
        for protocol in protocols
        for test in ("ks", "wilcoxon", "t")
    ]


def _curve_parts(evidence: Evidence, results: Results, titles: Mapping[str, str]) -> Parts:
    parts: Parts = []
    if (curves := evidence.curve_table) is not None:
        for setting, ids in CURVE_SETTINGS.items():
            for task, figure_id in zip(("classification", "regression"), ids, strict=False):
                name = f"convergence-{setting}-{task}"
                caption = f"{titles[figure_id]}: {setting}, {task}."
                parts += pictures(figures.convergence(curves, setting, task), name, caption)
        caption = f"{titles['fig-11']}: test errors on glass and mpg6 by setting."
        parts += pictures(figures.settings_comparison(curves), "settings-comparison", caption)
    digits = size_runs(evidence.image_results.paper_runs)
    caption = (
        f"{titles['fig-12']}: training score of each run against the number of nodes, on MNIST "
        f"after {SIZE_EPOCHS} epochs."
    )
    figure = figures.score_against_size(results, digits)
    return [*parts, *pictures(figure, "score-against-size", caption)]


def _honest_parts(results: Results) -> Parts:
    parts: Parts = []
    shown_counts: set[int] = set()
    for task, label in ((None, "all data sets"), ("classification", "classification")):
        ranking = rank_algorithms(results, "honest", task)
        # With runs on classification only, both rankings are the same.
        if ranking is None or ranking.friedman.n_datasets in shown_counts:
            continue
        shown_counts.add(ranking.friedman.n_datasets)
        caption = (
            f"Honest mean ranks over {ranking.friedman.n_datasets} data sets ({label}); a red bar "
            "joins algorithms that do not differ by Nemenyi's test at 0.05."
        )
        name = f"critical-difference-{task or 'all'}"
        parts += pictures(figures.critical_difference(ranking), name, caption)
        parts.append(ranking_table(ranking, "honest"))
    return parts
