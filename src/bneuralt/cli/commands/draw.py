"""Draw the tree of a trained model, with plain characters or as a picture."""

from __future__ import annotations

import argparse
import io
from pathlib import Path
from typing import Any

from bneuralt.cli.errors import CommandError
from bneuralt.tree.neural_tree import NeuralTree

PICTURES = (".svg", ".png", ".pdf")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL.json", help="a file written by bneuralt train")
    parser.add_argument(
        "--out", metavar="FILE", help=f"make a picture: a file ending in {', '.join(PICTURES)}"
    )
    parser.add_argument(
        "--tree", type=int, default=1, metavar="N", help="which tree of a forest (default 1)"
    )
    parser.add_argument(
        "--max-lines", type=int, metavar="N", help="leave out the deepest levels to fit in N lines"
    )


def run(args: argparse.Namespace) -> None:
    from bneuralt.cli.evaluation import trees_of
    from bneuralt.cli.model_files import feature_names, read_model
    from bneuralt.drawing.terminal import draw_tree

    model = read_model(args.model)
    trees = trees_of(model)
    if not 1 <= args.tree <= len(trees):
        raise CommandError(f"--tree {args.tree}: the model has {len(trees)}, counted from 1.")
    tree = trees[args.tree - 1]
    if args.out:
        _picture(tree, args)
        return
    drawing = draw_tree(
        tree,
        feature_names=feature_names(model, args.model),
        output_names=getattr(model, "classes_", None),
        max_lines=args.max_lines,
    )
    print(drawing)


def _picture(tree: NeuralTree, args: argparse.Namespace) -> None:
    from bneuralt.cli.outputs import check_output
    from bneuralt.files import write_atomically

    ending = Path(args.out).suffix.lower()
    if ending not in PICTURES:
        raise CommandError(f"--out {args.out}: the name must end in one of {', '.join(PICTURES)}.")
    check_output(args.out, inputs=(args.model,))
    figure = _figure()
    from bneuralt.drawing.pictures import plot_tree

    plot_tree(tree, figure.subplots())
    picture = io.BytesIO()
    figure.savefig(picture, format=ending[1:])
    write_atomically(args.out, picture.getvalue())
    print(f"The drawing is in {args.out}.")


def _figure() -> Any:
    """An empty figure that needs no window."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise CommandError(
            'pictures need matplotlib: pip install "bneuralt[plot]". Without --out, the tree is '
            "drawn with plain characters."
        ) from None
    return Figure(figsize=(8, 8), layout="constrained")
