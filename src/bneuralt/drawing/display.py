"""Drawings of models: `plot_tree` and `TreeDisplay` on matplotlib axes, `tree_svg` as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bneuralt.drawing.labels import counted
from bneuralt.drawing.layered import layered_scene
from bneuralt.drawing.marks import Drawing
from bneuralt.drawing.outline import outline_of
from bneuralt.drawing.scene import Scene
from bneuralt.drawing.svg import scene_to_svg
from bneuralt.drawing.view import (
    Drawable,
    TreeView,
    as_model,
    has_short_weights,
    in_log_odds,
)
from bneuralt.plotting import current_axes, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["TreeDisplay", "plot_tree", "tree_scene", "tree_svg"]

PIXELS_PER_INCH = 96.0

#: If `max_leaves` is "auto": the largest number of terms that is drawn completely, and the target
#: number of rows of larger trees.
MAX_LEAVES = (60, 40)
#: The target number of rows is at least this many for each output.
LEAVES_PER_OUTPUT = 3


def tree_scene(
    view: TreeView,
    *,
    example: Any = None,
    max_leaves: int | str | None = "auto",
    legend: bool = True,
) -> Scene:
    """Return the picture of a tree as marks; the parameters are those of `plot_tree`."""
    most = max_leaves
    if max_leaves == "auto":
        complete, partial = MAX_LEAVES
        partial = max(partial, LEAVES_PER_OUTPUT * view.tree.n_outputs)
        most = max(complete, partial) if view.n_terms <= complete else partial
    if most is not None and (isinstance(most, str) or most < 1):
        raise ValueError(f"max_leaves={max_leaves!r} must be 'auto', None or at least 1")
    values = None if example is None else view.example(example)
    drawing = Drawing(view, outline_of(view, values, most), values, legend)
    scene = layered_scene(drawing)
    scene.description = (
        f"Neural tree: {counted(view.n_terms, 'leaf')}, outputs {', '.join(view.output_names[:20])}"
    )
    return scene


def tree_svg(
    model: Drawable,
    *,
    theme: str = "light",
    tree: int = 0,
    example: Any = None,
    max_leaves: int | str | None = "auto",
    simplified: bool = True,
    legend: bool = True,
    feature_names: Sequence[str] | None = None,
    output_names: Sequence[object] | None = None,
) -> str:
    """Return the drawing of a tree as SVG text, without matplotlib.

    Parameters
    ----------
    model : fitted estimator, NeuralTree, or Model
        What to draw.
    theme : {"light", "dark", "auto"}
        The ground that it is drawn on; with "auto", the browser chooses.
    tree, example, max_leaves, simplified, legend, feature_names, output_names
        As for `plot_tree`.

    Returns
    -------
    str
        The content of an SVG file.

    Examples
    --------
    >>> from bneuralt import NeuralTree
    >>> from bneuralt.drawing import tree_svg
    >>> svg = tree_svg(NeuralTree.random(4, 3, random_state=0), feature_names=list("abcd"))
    >>> svg.startswith("<svg "), "class 2" in svg
    (True, True)
    """
    view = _view(model, tree, example, simplified, feature_names, output_names)
    scene = tree_scene(view, example=example, max_leaves=max_leaves, legend=legend)
    return scene_to_svg(scene, theme)


def _view(
    model: Drawable,
    tree: int,
    example: Any,
    simplified: bool,
    feature_names: Sequence[str] | None,
    output_names: Sequence[object] | None,
) -> TreeView:
    """Return what a picture shows; readable trees of two classes are one sum, the log-odds."""
    model = as_model(model)
    if example is None and all(map(has_short_weights, model.trees)):
        model, output_names = in_log_odds(model, output_names)
    return TreeView.of(
        model,
        tree=tree,
        simplified=simplified,
        feature_names=feature_names,
        output_names=output_names,
    )


@dataclass
class TreeDisplay:
    """The drawing of a tree on matplotlib axes.

    Use `from_estimator` to create one; `plot` draws it again, for instance on other axes.

    Parameters
    ----------
    scene : Scene
        The picture.
    theme : {"light", "dark"}
        The ground that it is drawn on.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes with the drawing.
    figure_ : matplotlib.figure.Figure
        Their figure.

    Examples
    --------
    >>> from bneuralt import NeuralTree
    >>> from bneuralt.drawing import TreeDisplay
    >>> display = TreeDisplay.from_estimator(NeuralTree.random(4, 3, random_state=0))
    >>> display.figure_.savefig("tree.pdf")  # doctest: +SKIP
    """

    scene: Scene
    theme: str = "light"

    def plot(self, ax: Axes | None = None) -> TreeDisplay:
        """Draw the tree.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; pyplot's current axes by default, which are cleared. Without an open
            figure, one of the size that the tree needs is opened.

        Returns
        -------
        TreeDisplay
            The display itself.
        """
        if ax is None:
            size = self.scene.width / PIXELS_PER_INCH, self.scene.height / PIXELS_PER_INCH
            ax = current_axes("plot_tree", size)
            ax.clear()
        else:
            require_matplotlib("plot_tree")
        from bneuralt.drawing.axes import draw_scene

        self.ax_ = ax
        self.figure_: Any = self.ax_.figure
        draw_scene(self.scene, self.ax_, self.theme)
        return self

    @classmethod
    def from_estimator(
        cls,
        model: Drawable,
        *,
        ax: Axes | None = None,
        theme: str = "light",
        tree: int = 0,
        example: Any = None,
        max_leaves: int | str | None = "auto",
        simplified: bool = True,
        legend: bool = True,
        feature_names: Sequence[str] | None = None,
        output_names: Sequence[object] | None = None,
    ) -> TreeDisplay:
        """Draw a fitted estimator, or a tree; the parameters are those of `plot_tree`.

        Returns
        -------
        TreeDisplay
            The display, whose `ax_` has the drawing.
        """
        view = _view(model, tree, example, simplified, feature_names, output_names)
        scene = tree_scene(view, example=example, max_leaves=max_leaves, legend=legend)
        return cls(scene, theme).plot(ax)


def plot_tree(model: Drawable, ax: Axes | None = None, **options: Any) -> Axes:
    """Draw a fitted model: names, weights, activations, and the values of an example.

    Positive weights are blue and negative ones orange; the width of an edge is its absolute weight,
    of leaves times the spread of the feature where the model knows it. Nodes have the shape of
    their activation and their bias. Leaves of one feature below a node are one term. A readable
    tree of two classes is drawn as one sum, the log-odds of the second class, unless an example is
    shown.

    Parameters
    ----------
    model : fitted estimator, NeuralTree, or Model
        What to draw.
    ax : matplotlib.axes.Axes, optional
        Where to draw; pyplot's current axes by default, which are cleared. Without an open
        figure, one of the size that the tree needs is opened.
    theme : {"light", "dark"}, default "light"
        The ground that it is drawn on.
    tree : int, default 0
        Which tree of a forest, from 0.
    example : array-like, mapping, or data frame of one row, optional
        Show the values of this example at every node, and emphasise the paths that carried the
        decision. Effects are relative to the average row of the training table.
    max_leaves : int, "auto" or None, default "auto"
        Target number of leaves: the strongest paths are drawn, other subtrees are summarised, with
        their share in the output, and weights that do nothing are not drawn. None draws all leaves.
        "auto" draws trees of up to 60 leaves completely, and about 40 leaves of larger ones, at
        least 3 for each output.
    simplified : bool, default True
        Draw an equal tree with fewer weights, made by `bneuralt.tree.simplify`.
    legend : bool, default True
        Whether to explain colours and activations below the drawing.
    feature_names : sequence of str, optional
        Names of the columns; those of the training table by default.
    output_names : sequence, optional
        Names of the outputs; the classes by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the drawing.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bneuralt import BNeuralTClassifier, plot_tree
    >>> iris = load_iris(as_frame=True)
    >>> clf = BNeuralTClassifier(n_weights=30, random_state=0).fit(iris.data, iris.target)
    >>> ax = plot_tree(clf, output_names=iris.target_names)
    >>> ax.figure.savefig("iris.png", dpi=200)  # doctest: +SKIP
    """
    return TreeDisplay.from_estimator(model, ax=ax, **options).ax_
