"""The report's sections on images: MNIST, Fashion-MNIST, dendritic k-trees."""

from __future__ import annotations

from typing import Any

from bneuralt.paper.images.image_files import ImageResults
from bneuralt.paper.images.mnist import ImageRun, Images
from bneuralt.paper.reporting import mnist_report, published
from bneuralt.paper.reporting.cells import ReportTable
from bneuralt.paper.reporting.page import Picture, Section, pictures

__all__ = ["image_sections"]


def image_sections(results: ImageResults, digits: Images | None = None) -> list[Section]:
    """Make all tables and figures that the results allow; Table 4 is there in any case.

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
    parts: list[ReportTable | Picture] = [mnist_report.table4(runs, results.baselines)]
    if runs:
        text.append(
            "Honest runs train for a fixed number of epochs and look at the test rows once, at the "
            "end; the others report the lowest error on them over all updates, as the paper does."
        )
        caption = "Test error by number of weights; bars are standard deviations over seeds."
        by_size = mnist_report.error_against_weights(runs)
        parts += pictures(by_size, "mnist-error-against-weights", caption)
        caption = "Error after each epoch, of one run for each size."
        by_epoch = mnist_report.error_per_epoch(runs)
        parts += pictures(by_epoch, "mnist-error-per-epoch", caption)
    if (found := _tree_to_show(results)) is not None:
        said, shown = _one_tree(*found, digits)
        text += said
        parts += shown
    return Section("mnist", "MNIST", " ".join(text), tuple(parts))


def _tree_to_show(results: ImageResults) -> tuple[ImageRun, Any] | None:
    """An honest, modern tree about as large as the one that the paper draws."""
    size = published.mnist().loc["BNeuralT-20K", "weights"]
    candidates = [
        (run, model)
        for run, model in results.trained
        if (run.data, run.recipe, run.protocol, run.trees) == ("mnist", "modern", "honest", 1)
    ]
    # Seeds differ by a few weights, which should not decide.
    return min(
        candidates,
        key=lambda entry: (round(abs(entry[0].weights / size - 1), 1), entry[0].seed),
        default=None,
    )


def _one_tree(run: ImageRun, model: Any, digits: Images | None) -> tuple[list[str], list[Picture]]:
    """What is said and shown about a single tree."""
    tree = model.tree_
    which = f"the tree of {run.weights:,} weights (modern recipe, seed {run.seed})"
    said: list[str] = []
    shown: list[Picture] = []
    if digits is None:
        said.append(
            "The MNIST images are not at hand, so there are no ROC curves and no confusions; "
            "`bneuralt data fetch mnist` gets the images."
        )
    else:
        scores = model.predict_proba(digits.X_test)
        order = [
            digits.class_names[k]
            for k, _ in mnist_report.order_of_difficulty(scores, digits.y_test)
        ]
        said.append(
            f"By the areas under the ROC curves of {which}, the digits are, from the hardest to "
            f"the easiest: {', '.join(order)}; in the paper: "
            f"{', '.join(map(str, published.DIGITS_BY_DIFFICULTY))}."
        )
        figure = mnist_report.roc_curves(scores, digits.y_test, digits.class_names)
        caption = f"ROC curves on the test rows, each digit against all others: {which}."
        shown += pictures(figure, "mnist-roc-curves", caption)
        figure = mnist_report.confusions(scores, digits)
        caption = (
            f"What {which} takes for what, and the test images that it takes wrongly with the most "
            "confidence."
        )
        shown += pictures(figure, "mnist-confusions", caption)
    caption = (
        f"All {tree.size:,} nodes of {which}: the root in the middle, around it the class nodes, "
        f"then {tree.parent.size - tree.n_outputs:,} function nodes and {tree.n_leaves:,} leaves."
    )
    figure = mnist_report.tree_picture(tree, tuple(map(str, model.classes_)))
    return said, shown + pictures(figure, "mnist-tree", caption, raster=True)


def _fashion(results: ImageResults) -> Section | None:
    name = "fashion_mnist"
    if name not in {r.data for r in results.runs} | {b.data for b in results.baselines}:
        return None
    table = mnist_report.comparison_table(results.runs, results.baselines, name)
    text = (
        "Test errors on articles of clothing, by the same command and the same settings as on "
        "MNIST; scikit-learn's models have its own settings, but for the size of the MLP."
    )
    return Section("fashion-mnist", "Fashion-MNIST", text, (table,))


def _k_trees(results: ImageResults) -> Section | None:
    if not results.k_trees:
        return None
    text = (
        "The dendritic trees of Jones and Kording (2021), which the paper compares itself with, in "
        "the same engine: k balanced binary trees over the pixels, joined in one output unit. "
        "Each trial learns from another part of the images of a 3 or a 5."
    )
    table = mnist_report.k_tree_table(results.k_trees)
    return Section("k-trees", "Dendritic k-trees", text, (table,))
