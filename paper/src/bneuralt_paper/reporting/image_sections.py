"""Sections of the report on images: MNIST, Fashion-MNIST, and dendritic k-trees."""

from __future__ import annotations

from collections.abc import Mapping

from bneuralt_paper.images.paper_runs import PaperImageRun
from bneuralt_paper.images.result_files import ImageResults
from bneuralt_paper.reporting import image_figures, image_tables
from bneuralt_paper.reporting.cells import ReportTable
from bneuralt_paper.reporting.page import Picture, pictures
from bneuralt_paper.reporting.tree_shapes import tree_of

__all__ = ["digit_parts", "fashion_parts", "k_tree_parts", "shown_digit_run"]


def shown_digit_run(results: ImageResults) -> PaperImageRun | None:
    """Return the run of BNeuralT-20K that the figures show: the first seed of its first setting."""
    runs = [r for r in results.paper_runs if r.label == "20K" and r.is_main]
    return min(runs, key=lambda r: (r.rate, r.seed), default=None)


def digit_parts(results: ImageResults, titles: Mapping[str, str]) -> list[ReportTable | Picture]:
    """Return Table 4 and Figures 7 and 8."""
    runs = [image_tables.run_list(results)] if results.all() else []
    parts: list[ReportTable | Picture] = [image_tables.table4(results), *runs]
    parts += pictures(
        image_figures.error_against_weights(results.paper_runs, results.runs),
        "mnist-error-against-weights",
        "Test error on MNIST against the number of weights; bars are deviations over seeds.",
    )
    if (run := shown_digit_run(results)) is not None:
        caption = (
            f"{titles['fig-7']}: BNeuralT-20K ({run.weights:,} weights, seed {run.seed}), errors "
            f"over {run.epochs} epochs, and ROC curves of the weights with the lowest test error."
        )
        parts += pictures(image_figures.error_and_roc(run), "mnist-error-and-roc", caption)
    for drawn in results.drawn_trees[:1]:
        tree = tree_of(drawn)
        caption = (
            f"{titles['fig-8']}: all {tree.size:,} nodes of a BNeuralT-20K: the root, ten class "
            f"nodes, {tree.parent.size - tree.n_outputs:,} function nodes, {tree.n_leaves:,} "
            "leaves."
        )
        names = [str(k) for k in range(tree.n_outputs)]
        figure = image_figures.tree_picture(tree, names)
        parts += pictures(figure, "mnist-tree", caption, raster=True)
    return parts


def fashion_parts(results: ImageResults) -> list[ReportTable | Picture]:
    """Return the table of Fashion-MNIST, which the paper does not have."""
    name = "fashion_mnist"
    names = {r.data for r in results.runs} | {b.data for b in results.baselines}
    return [image_tables.comparison_table(results.runs, results.baselines)] if name in names else []


def k_tree_parts(results: ImageResults) -> list[ReportTable | Picture]:
    """Return the table of dendritic k-trees."""
    return [image_tables.k_tree_table(results.k_trees)] if results.k_trees else []
