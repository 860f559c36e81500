"""Draw the tree of a trained model, in text, as a picture or as an interactive page."""

from __future__ import annotations

import argparse
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bneuralt.cli.errors import CommandError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bneuralt.tree import NeuralTree

PICTURES = (".svg", ".png", ".pdf")
PAGE = ".html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("model", metavar="MODEL.json", help="a file written by bneuralt train")
    parser.add_argument(
        "--out",
        metavar="FILE",
        help=f"write a picture ({', '.join(PICTURES)}) or an interactive page ({PAGE})",
    )
    parser.add_argument(
        "--tree", type=int, default=1, metavar="N", help="which tree of a forest (default 1)"
    )
    parser.add_argument(
        "--max-lines", type=int, metavar="N", help="omit the deepest levels to fit into N lines"
    )


def run(args: argparse.Namespace) -> None:
    """Print the drawing, or write it to a file."""
    from bneuralt.cli.trained_models import feature_names, load_trained_model, trees_of
    from bneuralt.drawing.terminal import draw_tree

    model = load_trained_model(args.model)
    if args.out and Path(args.out).suffix.lower() == PAGE:
        _write_page(model, args)
        return
    trees = trees_of(model)
    if not 1 <= args.tree <= len(trees):
        raise CommandError(f"--tree {args.tree}: must be a number from 1 to {len(trees)}.")
    tree = trees[args.tree - 1]
    if args.out:
        _write_picture(tree, args)
        return
    drawing = draw_tree(
        tree,
        feature_names=feature_names(model),
        output_names=getattr(model, "classes_", None),
        max_lines=args.max_lines,
    )
    print(drawing)


def _write_page(model: Any, args: argparse.Namespace) -> None:
    from bneuralt.cli.outputs import check_output
    from bneuralt.files import write_atomically

    check_output(args.out, inputs=(args.model,))
    write_atomically(args.out, model.to_html(title=Path(args.model).stem))
    print(f"Page written to {args.out}; open it in a browser.")


def _write_picture(tree: NeuralTree, args: argparse.Namespace) -> None:
    from bneuralt.cli.outputs import check_output
    from bneuralt.drawing.pictures import plot_tree
    from bneuralt.files import write_atomically

    ending = Path(args.out).suffix.lower()
    if ending not in PICTURES:
        raise CommandError(
            f"--out {args.out}: the name must end in one of {', '.join((*PICTURES, PAGE))}."
        )
    check_output(args.out, inputs=(args.model,))
    figure = _new_figure()
    plot_tree(tree, figure.subplots())
    picture = io.BytesIO()
    figure.savefig(picture, format=ending[1:])
    write_atomically(args.out, picture.getvalue())
    print(f"Drawing written to {args.out}.")


def _new_figure() -> Figure:
    """Return an empty figure without a window."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise CommandError(
            'pictures need matplotlib: run pip install "bneuralt[plot]", or omit --out to draw the '
            "tree in text."
        ) from None
    return Figure(figsize=(8, 8), layout="constrained")
