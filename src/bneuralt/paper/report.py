"""One page that sets a store's results beside the paper's, and the same tables as files.

`write_report` is what ``bneuralt paper report`` calls.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from importlib import resources
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from bneuralt.paper import figures, tables
from bneuralt.paper.cells import ReportTable
from bneuralt.paper.findings import HEADINGS, Finding, findings
from bneuralt.paper.results import Results
from bneuralt.paper.significance import rank_algorithms, ranking_table, significance_table
from bneuralt.persistence import write_atomically

__all__ = ["Section", "build_sections", "write_report"]

TITLE = "Backpropagation neural trees: the paper's results, computed again"


@dataclass(frozen=True)
class Picture:
    """A figure with its caption."""

    name: str
    svg: str
    caption: str


@dataclass(frozen=True)
class Section:
    """A heading, what it is about, and its tables and figures in reading order."""

    slug: str
    title: str
    text: str
    parts: tuple[ReportTable | Picture, ...]
    folded: frozenset[str] = frozenset()


def write_report(
    frame: pd.DataFrame,
    out: str | os.PathLike[str],
    *,
    provenance: Mapping[str, str] | None = None,
) -> Path:
    """Write the report of a store.

    Parameters
    ----------
    frame : pandas.DataFrame
        Finished runs, see `bneuralt.paper.results.COLUMNS`. Whatever is missing is shown with the
        paper's figures, marked as quoted.
    out : path
        Folder, made if need be: ``report.html`` (one self-contained page), ``report.md`` (the
        same without figures), and ``tables/NAME.csv`` and ``tables/NAME.md`` for each table.
    provenance : mapping of str to str, optional
        Shown under the title: commit, machine, store, time, ...

    Returns
    -------
    pathlib.Path
        The page.

    Examples
    --------
    >>> from bneuralt.paper.report import write_report
    >>> from bneuralt.paper.store import Store  # doctest: +SKIP
    >>> write_report(Store("runs.sqlite").to_frame(), "report")  # doctest: +SKIP
    """
    results = Results(frame)
    sections = build_sections(results)
    said = findings(results)
    folder = Path(out)
    (folder / "tables").mkdir(parents=True, exist_ok=True)
    for section in sections:
        for part in section.parts:
            if isinstance(part, ReportTable):
                table = folder / "tables" / part.slug
                write_atomically(f"{table}.csv", part.frame.to_csv(index=False))
                write_atomically(f"{table}.md", part.to_markdown())
    facts = dict(provenance or {})
    write_atomically(folder / "report.md", _markdown(said, sections, facts))
    page = folder / "report.html"
    write_atomically(page, _html(said, sections, facts))
    return page


def build_sections(results: Results) -> list[Section]:
    """Make all tables and figures that the runs allow."""
    builders: tuple[Callable[[Results], Section | None], ...] = (
        _scores, _honest, _oracle, _significance, _times, _convergence, _settings_comparison,
        _sizes, _trees, _experiments, _settings, _mnist,
    )  # fmt: skip
    sections = [build(results) for build in builders]
    return [section for section in sections if section is not None]


def _picture(figure: Figure | None, name: str, caption: str) -> list[ReportTable | Picture]:
    return [] if figure is None else [Picture(name, figures.to_svg(figure, name), caption)]


def _scores(results: Results) -> Section:
    caption = (
        "BNeuralT with RMSprop on each data set: the same trees with the weights chosen on the "
        "test rows (as in the paper) and on validation rows."
    )
    parts = _picture(figures.protocol_gap(results), "protocol-gap", caption)
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
        parts += _picture(figures.critical_difference(ranking), name, caption)
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
            parts += _picture(figures.convergence(results, setting, task), name, caption)
    if not parts:
        return None
    text = "How the six optimizers approach their best, epoch by epoch (paper's protocol)."
    return Section("convergence", "Convergence", text, tuple(parts))


def _settings_comparison(results: Results) -> Section | None:
    caption = (
        "Test error by epoch of the six optimizers over settings of BNeuralT and of MLPs, on glass "
        "(error rate) and mpg6 (mean squared error)."
    )
    parts = _picture(figures.settings_comparison(results), "settings-comparison", caption)
    text = "The same optimizers under other rates and activations."
    if not parts:
        return None
    return Section("optimizers", "Optimizers over settings", text, tuple(parts))


def _sizes(results: Results) -> Section | None:
    caption = "Training score of each run against the number of nodes of its tree, by optimizer."
    parts = _picture(figures.score_against_size(results), "score-against-size", caption)
    text = "Whether larger random trees do better."
    return Section("sizes", "Score and tree size", text, tuple(parts)) if parts else None


def _trees(results: Results) -> Section | None:
    caption = (
        "The tree with the best test score of each data set (RMSprop, paper's protocol): root "
        "black, class nodes and regression roots red, function nodes blue, leaves green."
    )
    parts = _picture(figures.best_trees(results), "best-trees", caption)
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


def _mnist(results: Results) -> Section:
    text = "Test errors on handwritten digits."
    return Section("mnist", "MNIST", text, (tables.mnist_table(results),))


# Writing


def _said(said: list[Finding]) -> dict[str, list[str]]:
    return {kind: texts for kind in HEADINGS if (texts := [f.text for f in said if f.kind == kind])}


def _markdown(said: list[Finding], sections: list[Section], facts: Mapping[str, str]) -> str:
    lines = [f"# {TITLE}", ""]
    lines += [f"- {name}: {value}" for name, value in facts.items()]
    for kind, texts in _said(said).items():
        lines += ["", f"## {HEADINGS[kind]}", "", *(f"- {text}" for text in texts)]
    for section in sections:
        found = [part.to_markdown() for part in section.parts if isinstance(part, ReportTable)]
        if found:
            lines += ["", f"## {section.title}", "", section.text, "", *found]
    return "\n".join(lines) + "\n"


def _html(said: list[Finding], sections: list[Section], facts: Mapping[str, str]) -> str:
    css = (resources.files("bneuralt.paper") / "report.css").read_text(encoding="utf-8")
    contents = "".join(f"<li><a href='#{s.slug}'>{escape(s.title)}</a></li>" for s in sections)
    listed = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts.items())
    boxes = "".join(
        f"<div class='{kind}'><h3>{escape(HEADINGS[kind])}</h3><ul>"
        + "".join(f"<li>{escape(text)}</li>" for text in texts)
        + "</ul></div>"
        for kind, texts in _said(said).items()
    )
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        # An empty icon, or browsers ask a server for one.
        f"<link rel='icon' href='data:,'><title>{escape(TITLE)}</title><style>{css}</style></head>"
        f"<body><header><h1>{escape(TITLE)}</h1>"
        "<p class='lead'>V. Ojha and G. Nicosia, Backpropagation Neural Tree, Neural Networks "
        "(2022), beside what this program measures.</p>"
        f"<dl class='provenance'>{listed}</dl>"
        f"<nav aria-label='Contents'><ol><li><a href='#summary'>Summary</a></li>{contents}</ol>"
        f"</nav></header><main><section id='summary'><h2>Summary</h2><div class='summary'>{boxes}"
        f"</div></section>{''.join(_html_section(section) for section in sections)}</main>"
        "<footer>Figures in italics are quoted from the paper. Written by "
        "<code>bneuralt paper report</code>; the tables lie beside this page as CSV and "
        "Markdown.</footer></body></html>\n"
    )


def _html_section(section: Section) -> str:
    pieces = [f"<section id='{section.slug}'><h2>{escape(section.title)}</h2>"]
    pieces.append(f"<p>{escape(section.text)}</p>")
    for part in section.parts:
        if isinstance(part, Picture):
            pieces.append(
                f"<figure id='{part.name}' role='img' aria-label='{escape(part.caption)}'>"
                f"{part.svg}<figcaption>{escape(part.caption)}</figcaption></figure>"
            )
        elif part.slug in section.folded:
            title = escape(part.title)
            pieces.append(f"<details><summary>{title}</summary>{part.to_html()}</details>")
        else:
            pieces.append(part.to_html())
    return "".join([*pieces, "</section>"])
