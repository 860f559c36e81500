"""The report: tables and figures of finished runs, compared with the published results.

The command ``bneuralt paper report`` calls `write_report`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from bneuralt_paper.images.image_data import Images
from bneuralt_paper.images.result_files import ImageResults
from bneuralt_paper.reporting import figures, result_tables
from bneuralt_paper.reporting.cells import ReportTable
from bneuralt_paper.reporting.findings import findings
from bneuralt_paper.reporting.image_sections import image_sections
from bneuralt_paper.reporting.page import Picture, Section, pictures, write_page
from bneuralt_paper.reporting.run_results import Results
from bneuralt_paper.reporting.run_table import FILE_NAME, write_run_table
from bneuralt_paper.reporting.significance import rank_algorithms, ranking_table, significance_table

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
        Finished runs, with the columns `bneuralt_paper.reporting.run_results.COLUMNS`. Experiments
        without runs are shown with the paper's results, marked as quoted. With None the report
        contains only the sections on images.
    out : path
        The folder; created if necessary. It will contain ``report.html`` (a self-contained page),
        ``report.md`` (the same as Markdown), ``tables/NAME.csv`` and ``tables/NAME.md`` for each
        table, ``figures/NAME.svg`` or ``figures/NAME.png`` for each figure, and ``runs.csv.xz``
        with the scores of all runs.
    images : ImageResults, optional
        Runs on images, from `bneuralt_paper.images.result_files.load_results`.
    digits : Images, optional
        MNIST, for the figures that need its test rows.
    provenance : mapping of str to str, optional
        Shown at the end of the report: commit, machine, time, and so on.

    Returns
    -------
    pathlib.Path
        The page.

    Examples
    --------
    >>> from bneuralt_paper.reporting.report import write_report
    >>> from bneuralt_paper.running.store import Store  # doctest: +SKIP
    >>> write_report(Store("runs.sqlite").to_frame(), "report")  # doctest: +SKIP
    """
    results = None if frame is None else Results(frame)
    sections = [] if results is None else build_sections(results)
    sections += image_sections(images or ImageResults(), digits)
    page = write_page(findings(results, images), sections, provenance or {}, out)
    if frame is not None:
        write_run_table(frame, page.with_name(FILE_NAME))
    return page


def build_sections(results: Results) -> list[Section]:
    """Return the sections that the runs of a store allow."""
    builders: tuple[Callable[[Results], Section | None], ...] = (
        _scores, _honest, _oracle, _significance, _times, _convergence, *_FIGURE_SECTIONS,
        _experiments, _settings,
    )  # fmt: skip
    sections = [build(results) for build in builders]
    return [section for section in sections if section is not None]


def _scores(results: Results) -> Section:
    caption = (
        "BNeuralT with RMSprop on each data set: the same trees with weights selected on the test "
        "rows (as in the paper) and on validation rows."
    )
    parts = pictures(figures.protocol_gap(results), "protocol-gap", caption)
    text = (
        "Mean test scores of each algorithm: published, ours under the paper's protocol, the "
        "difference, and ours under the honest protocol."
    )
    return Section("scores", "Scores", text, (*parts, result_tables.score_table(results)))


def _honest(results: Results) -> Section | None:
    parts: list[ReportTable | Picture] = []
    shown_counts: set[int] = set()
    for task, label in ((None, "all data sets"), ("classification", "classification")):
        ranking = rank_algorithms(results, "honest", task)
        # With runs on classification only, both rankings are the same.
        if ranking is None or ranking.friedman.n_datasets in shown_counts:
            continue
        shown_counts.add(ranking.friedman.n_datasets)
        caption = (
            f"Mean ranks over {ranking.friedman.n_datasets} data sets ({label}); a red bar joins "
            "algorithms that do not differ by Nemenyi's test at 0.05."
        )
        name = f"critical-difference-{task or 'all'}"
        parts += pictures(figures.critical_difference(ranking), name, caption)
        parts.append(ranking_table(ranking, "honest"))
    if not parts:
        return None
    text = "A fair comparison: the test rows are used once, to score the trained models."
    return Section("honest", "Honest comparison", text, tuple(parts))


def _oracle(results: Results) -> Section | None:
    table = result_tables.oracle_table(results)
    text = "Scores of MLPs whose weights are also selected on the test rows."
    return None if table is None else Section("oracle", "Equal treatment", text, (table,))


def _significance(results: Results) -> Section:
    protocols = ["paper"]
    if results.has("honest", result_tables.REFERENCE):
        protocols.append("honest")
    parts = [
        significance_table(results, test, protocol)
        for protocol in protocols
        for test in ("ks", "wilcoxon", "t")
    ]
    text = (
        "BNeuralT with RMSprop against each other algorithm on each data set. The p-values have a "
        "Bonferroni correction for the number of tests on the same data set."
    )
    folded = frozenset(part.slug for part in parts)
    return Section("significance", "Significance tests", text, tuple(parts), folded)


def _times(results: Results) -> Section:
    text = "Sizes of the models, and their prediction times."
    return Section("times", "Weights and times", text, (result_tables.times_table(results),))


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
                "means over runs, bands show the quartiles."
            )
            parts += pictures(figures.convergence(results, setting, task), name, caption)
    if not parts:
        return None
    text = "Learning curves of the six optimizers (paper's protocol)."
    return Section("convergence", "Convergence", text, tuple(parts))


@dataclass(frozen=True)
class _FigureSection:
    """A section that consists of a single figure."""

    slug: str
    title: str
    text: str
    figure_name: str
    draw: Callable[[Results], Figure | None]
    caption: str

    def __call__(self, results: Results) -> Section | None:
        """Return the section, or None if there is nothing to draw."""
        parts = pictures(self.draw(results), self.figure_name, self.caption)
        return Section(self.slug, self.title, self.text, tuple(parts)) if parts else None


_FIGURE_SECTIONS = (
    _FigureSection(
        "optimizers",
        "Optimizers by setting",
        "The same optimizers with other rates and activations.",
        "settings-comparison",
        figures.settings_comparison,
        "Test error by epoch of the six optimizers for settings of BNeuralT and MLPs, on glass "
        "(error rate) and mpg6 (mean squared error).",
    ),
    _FigureSection(
        "sizes",
        "Score and tree size",
        "Training scores of random trees of different sizes.",
        "score-against-size",
        figures.score_against_size,
        "Training score of each run against the number of nodes of its tree, by optimizer.",
    ),
    _FigureSection(
        "trees",
        "Best trees",
        "The best trees; in parentheses the scores and sizes of the trees shown in the paper.",
        "best-trees",
        figures.best_trees_figure,
        "The tree with the best test score of each data set (RMSprop, paper's protocol): root "
        "black, class nodes and regression roots red, function nodes blue, leaves green.",
    ),
)


def _experiments(results: Results) -> Section:
    text = "All experiments of the paper, and the additional ones."
    table = result_tables.experiments_table(results)
    return Section("experiments", "All experiments", text, (table,), frozenset([table.slug]))


def _settings(results: Results) -> Section:
    table = result_tables.settings_table()
    text = "The settings of the paper, and those used here."
    return Section("settings", "Settings", text, (table,), frozenset([table.slug]))
