"""What a report says: the tables and figures that the runs at hand allow, beside the paper's.

`write_report` is what ``bneuralt paper report`` calls.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from bneuralt.paper.images.image_files import ImageResults
from bneuralt.paper.images.mnist import Images
from bneuralt.paper.reporting import figures
from bneuralt.paper.reporting import result_tables as tables
from bneuralt.paper.reporting.cells import ReportTable
from bneuralt.paper.reporting.findings import findings
from bneuralt.paper.reporting.image_sections import image_sections
from bneuralt.paper.reporting.page import Picture, Section, pictures, write_page
from bneuralt.paper.reporting.results import Results
from bneuralt.paper.reporting.significance import rank_algorithms, ranking_table, significance_table

__all__ = ["build_sections", "write_report"]


def write_report(
    frame: pd.DataFrame | None,
    out: str | os.PathLike[str],
    *,
    images: ImageResults | None = None,
    digits: Images | None = None,
    provenance: Mapping[str, str] | None = None,
) -> Path:
    """Write the report of a store, of runs on images, or of both.

    Parameters
    ----------
    frame : pandas.DataFrame or None
        Finished runs, see `bneuralt.paper.reporting.results.COLUMNS`. Whatever is missing is shown with the
        paper's figures, marked as quoted. With None the report is about images only.
    out : path
        Folder, made if need be: ``report.html`` (one self-contained page), ``report.md`` (the
        same as Markdown), ``tables/NAME.csv`` and ``tables/NAME.md`` for each table, and
        ``figures/NAME.svg`` or ``figures/NAME.png`` for each figure.
    images : ImageResults, optional
        What `bneuralt.paper.images.image_files.load_results` found.
    digits : Images, optional
        MNIST, for the figures that need its test rows.
    provenance : mapping of str to str, optional
        Shown under the title: commit, machine, store, time, ...

    Returns
    -------
    pathlib.Path
        The page.

    Examples
    --------
    >>> from bneuralt.paper.reporting.report import write_report
    >>> from bneuralt.paper.running.store import Store  # doctest: +SKIP
    >>> write_report(Store("runs.sqlite").to_frame(), "report")  # doctest: +SKIP
    """
    results = None if frame is None else Results(frame)
    sections = [] if results is None else build_sections(results)
    sections += image_sections(images or ImageResults(), digits)
    return write_page(findings(results, images), sections, provenance or {}, out)


def build_sections(results: Results) -> list[Section]:
    """Make all tables and figures that the runs of a store allow."""
    builders: tuple[Callable[[Results], Section | None], ...] = (
        _scores, _honest, _oracle, _significance, _times, _convergence, _settings_comparison,
        _sizes, _trees, _experiments, _settings,
    )  # fmt: skip
    sections = [build(results) for build in builders]
    return [section for section in sections if section is not None]


def _scores(results: Results) -> Section:
    caption = (
        "BNeuralT with RMSprop on each data set: the same trees with the weights chosen on the "
        "test rows (as in the paper) and on validation rows."
    )
    parts = pictures(figures.protocol_gap(results), "protocol-gap", caption)
    text = (
        "Each algorithm's mean test scores: the paper's, ours under the paper's protocol, the "
        "difference, and ours under the honest protocol."
    )
    return Section("scores", "Scores", text, (*parts, tables.table2(results)))


def _honest(results: Results) -> Section | None:
    parts: list[ReportTable | Picture] = []
    seen: set[int] = set()
    for task, label in ((None, "all data sets"), ("classification", "classification")):
        ranking = rank_algorithms(results, "honest", task)
        # A store with classification only would show the same ranking twice.
        if ranking is None or ranking.friedman.n_datasets in seen:
            continue
        seen.add(ranking.friedman.n_datasets)
        caption = (
            f"Mean ranks over {ranking.friedman.n_datasets} data sets ({label}); a red bar joins "
            "algorithms that do not differ by Nemenyi's test at 0.05."
        )
        name = f"critical-difference-{task or 'all'}"
        parts += pictures(figures.critical_difference(ranking), name, caption)
        parts.append(ranking_table(ranking, "honest"))
    if not parts:
        return None
    text = "The comparison that counts: the test rows are used once, by the finished model."
    return Section("honest", "Honest comparison", text, tuple(parts))


def _oracle(results: Results) -> Section | None:
    table = tables.oracle_table(results)
    text = "What MLPs reach when they, too, may keep the weights that do best on the test rows."
    return None if table is None else Section("oracle", "Equal treatment", text, (table,))


def _significance(results: Results) -> Section:
    parts = [significance_table(results, test) for test in ("ks", "wilcoxon", "t")]
    if results.has("honest", tables.REFERENCE):
        tests = ("ks", "wilcoxon", "t")
        parts += [significance_table(results, test, "honest") for test in tests]
    text = (
        "BNeuralT's RMSprop against each other algorithm on each data set, p-values corrected by "
        "Bonferroni for the number of tests made on that data set."
    )
    folded = frozenset(part.slug for part in parts)
    return Section("significance", "Tests of difference", text, tuple(parts), folded)


def _times(results: Results) -> Section:
    text = "How large the models are, and how long one prediction takes."
    return Section("times", "Weights and times", text, (tables.times_table(results),))


def _convergence(results: Results) -> Section | None:
    parts: list[ReportTable | Picture] = []
    for setting, label in (
        ("B-S-ESy-p4", "sigmoid nodes, rate 0.1, leaf probability 0.4"),
        ("B-R-ESy-p5", "ReLU nodes, rate 0.1, leaf probability 0.5"),
    ):
        for task in ("classification", "regression"):
            name = f"convergence-{setting}-{task}"
            caption = (
                f"BNeuralT, {label}: error by epoch on training and test rows, {task}. Lines are "
                "means over runs, bands the quartiles."
            )
            parts += pictures(figures.convergence(results, setting, task), name, caption)
    if not parts:
        return None
    text = "How the six optimizers approach their best, epoch by epoch (paper's protocol)."
    return Section("convergence", "Convergence", text, tuple(parts))


def _settings_comparison(results: Results) -> Section | None:
    caption = (
        "Test error by epoch of the six optimizers over settings of BNeuralT and of MLPs, on glass "
        "(error rate) and mpg6 (mean squared error)."
    )
    parts = pictures(figures.settings_comparison(results), "settings-comparison", caption)
    text = "The same optimizers under other rates and activations."
    if not parts:
        return None
    return Section("optimizers", "Optimizers over settings", text, tuple(parts))


def _sizes(results: Results) -> Section | None:
    caption = "Training score of each run against the number of nodes of its tree, by optimizer."
    parts = pictures(figures.score_against_size(results), "score-against-size", caption)
    text = "Whether larger random trees do better."
    return Section("sizes", "Score and tree size", text, tuple(parts)) if parts else None


def _trees(results: Results) -> Section | None:
    caption = (
        "The tree with the best test score of each data set (RMSprop, paper's protocol): root "
        "black, class nodes and regression roots red, function nodes blue, leaves green."
    )
    parts = pictures(figures.best_trees(results), "best-trees", caption)
    text = "What the models look like; scores and sizes of the paper's own drawings in brackets."
    return Section("trees", "Best trees", text, tuple(parts)) if parts else None


def _experiments(results: Results) -> Section:
    text = "All experiments of the paper by their names, and those added here."
    table = tables.experiments_table(results)
    return Section("experiments", "All experiments", text, (table,), frozenset([table.slug]))


def _settings(results: Results) -> Section:
    table = tables.settings_table()
    text = "What the paper set, and what is done here."
    return Section("settings", "Settings", text, (table,), frozenset([table.slug]))
