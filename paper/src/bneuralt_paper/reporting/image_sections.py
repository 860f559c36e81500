"""Sections of the report on images: MNIST, Fashion-MNIST, and dendritic k-trees."""

from __future__ import annotations

from typing import Any

from bneuralt_paper.images.image_data import Images
from bneuralt_paper.images.image_runs import ImageRun
from bneuralt_paper.images.result_files import ImageResults
from bneuralt_paper.reporting import image_figures, image_tables, published
from bneuralt_paper.reporting.cells import ReportTable
from bneuralt_paper.reporting.page import Picture, Section, pictures

__all__ = ["image_sections"]


def image_sections(results: ImageResults, digits: Images | None = None) -> list[Section]:
    """Return the sections that the results allow; Table 4 is always included.

    Parameters
    ----------
    results : ImageResults
    digits : Images, optional
        MNIST, for the figures that need its test rows.
    """
    sections = [_mnist(results, digits), _fashion(results), _k_trees(results)]
    return [section for section in sections if section is not None]


def _mnist(results: ImageResults, digits: Images | None) -> Section:
    runs = [run for run in results.runs if run.data == "mnist"]
    text = ["Test errors on handwritten digits."]
    parts: list[ReportTable | Picture] = [image_tables.table4(runs, results.baselines)]
    if runs:
        text.append(
            "Honest runs train for a fixed number of epochs and use the test rows once, at the "
            "end; the others report the lowest test error over all updates, as the paper does."
        )
        caption = (
            "Test error against the number of weights; bars are standard deviations over seeds."
        )
        by_size = image_figures.error_against_weights(runs)
        parts += pictures(by_size, "mnist-error-against-weights", caption)
        caption = "Error after each epoch, for one run of each size."
        by_epoch = image_figures.error_per_epoch(runs)
        parts += pictures(by_epoch, "mnist-error-per-epoch", caption)
    if (run_and_model := _tree_to_show(results)) is not None:
        sentences, shown = _one_tree(*run_and_model, digits)
        text += sentences
        parts += shown
    return Section("mnist", "MNIST", " ".join(text), tuple(parts))


def _tree_to_show(results: ImageResults) -> tuple[ImageRun, Any] | None:
    """Return an honest run with the modern recipe, of about the size of the paper's drawing."""
    size = published.mnist().loc["BNeuralT-20K", "weights"]
    candidates = [
        (run, model)
        for run, model in results.trained
        if (run.data, run.recipe, run.protocol, run.trees) == ("mnist", "modern", "honest", 1)
    ]
    # Rounded, because trees of different seeds differ by a few weights.
    return min(
        candidates,
        key=lambda entry: (round(abs(entry[0].weights / size - 1), 1), entry[0].seed),
        default=None,
    )


def _one_tree(run: ImageRun, model: Any, digits: Images | None) -> tuple[list[str], list[Picture]]:
    """Return sentences about a single tree, and its figures."""
    tree = model.tree_
    which = f"the tree of {run.weights:,} weights (modern recipe, seed {run.seed})"
    sentences: list[str] = []
    shown: list[Picture] = []
    if digits is None:
        sentences.append(
            "The MNIST images are not available, so there are no ROC curves and no confusion "
            "matrix; download them with `bneuralt data fetch mnist`."
        )
    else:
        scores = model.predict_proba(digits.X_test)
        order = [
            digits.class_names[k]
            for k, _ in image_figures.order_of_difficulty(scores, digits.y_test)
        ]
        sentences.append(
            f"The digits from the hardest to the easiest, by the areas under the ROC curves of "
            f"{which}: {', '.join(order)}; in the paper: "
            f"{', '.join(map(str, published.DIGITS_BY_DIFFICULTY))}."
        )
        figure = image_figures.roc_curves(scores, digits.y_test, digits.class_names)
        caption = f"ROC curves on the test rows, each digit against all others: {which}."
        shown += pictures(figure, "mnist-roc-curves", caption)
        figure = image_figures.confusions(scores, digits)
        caption = (
            f"Confusion matrix of {which}, and the test images that it misclassifies with the "
            "highest confidence (true class as predicted class)."
        )
        shown += pictures(figure, "mnist-confusions", caption)
    caption = (
        f"All {tree.size:,} nodes of {which}: the root in the centre, surrounded by class nodes, "
        f"{tree.parent.size - tree.n_outputs:,} function nodes and {tree.n_leaves:,} leaves."
    )
    figure = image_figures.tree_picture(tree, tuple(map(str, model.classes_)))
    return sentences, shown + pictures(figure, "mnist-tree", caption, raster=True)


def _fashion(results: ImageResults) -> Section | None:
    name = "fashion_mnist"
    if name not in {r.data for r in results.runs} | {b.data for b in results.baselines}:
        return None
    table = image_tables.comparison_table(results.runs, results.baselines, name)
    text = (
        "Test errors on articles of clothing, with the same settings as on MNIST. The scikit-learn "
        "models have default settings, except for the size of the MLP."
    )
    return Section("fashion-mnist", "Fashion-MNIST", text, (table,))


def _k_trees(results: ImageResults) -> Section | None:
    if not results.k_trees:
        return None
    text = (
        "The dendritic trees of Jones and Kording (2021), with which the paper compares its "
        "results: k balanced binary trees over the pixels, joined by one output unit. Each trial "
        "trains on a different part of the images of a 3 or a 5."
    )
    table = image_tables.k_tree_table(results.k_trees)
    return Section("k-trees", "Dendritic k-trees", text, (table,))
