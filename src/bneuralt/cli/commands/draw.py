"""Draw the tree of a trained model: in text, as a picture, or as an interactive page."""

from __future__ import annotations

import argparse
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bneuralt.cli.errors import CommandError
from bneuralt.cli.table_options import add_table_arguments

if TYPE_CHECKING:
    from bneuralt.estimators.base import NeuralTreeEstimator

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
    picture = parser.add_argument_group("pictures")
    picture.add_argument("--dark", action="store_true", help="draw on dark ground")
    picture.add_argument(
        "--all", action="store_true", help="draw all leaves of a large tree, none summarised"
    )
    picture.add_argument(
        "--example",
        metavar="DATA.csv",
        help="a table: its row --row at every node, or all its rows on the page",
    )
    picture.add_argument(
        "--row", type=int, default=1, metavar="N", help="which row of --example (default 1)"
    )
    add_table_arguments(parser)


def run(args: argparse.Namespace) -> None:
    """Print the drawing, or write it to a file."""
    from bneuralt.cli.trained_models import load_trained_model
    from bneuralt.drawing.terminal import draw_tree

    model = load_trained_model(args.model)
    n_trees = len(model.model_.trees)
    if not 1 <= args.tree <= n_trees:
        raise CommandError(f"--tree {args.tree}: must be a number from 1 to {n_trees}.")
    if args.out:
        is_page = Path(args.out).suffix.lower() == PAGE
        (_write_page if is_page else _write_picture)(model, args)
        return
    print(draw_tree(model, tree=args.tree - 1, max_lines=args.max_lines))


def _write_picture(model: NeuralTreeEstimator, args: argparse.Namespace) -> None:
    from bneuralt.cli.outputs import check_output
    from bneuralt.drawing import TreeDisplay, tree_svg
    from bneuralt.files import write_atomically

    ending = Path(args.out).suffix.lower()
    if ending not in PICTURES:
        endings = ", ".join((*PICTURES, PAGE))
        raise CommandError(f"--out {args.out}: the name must end in one of {endings}.")
    inputs = (args.model, args.example) if args.example else (args.model,)
    check_output(args.out, inputs=inputs)
    options: dict[str, Any] = {
        "tree": args.tree - 1,
        "theme": "dark" if args.dark else "light",
        "max_leaves": None if args.all else "auto",
        "example": _example(model, args) if args.example else None,
    }
    content: str | bytes
    if ending == ".svg":
        content = tree_svg(model, **options)
    else:
        picture = io.BytesIO()
        try:
            display = TreeDisplay.from_estimator(model, **options)
        except ModuleNotFoundError:
            raise CommandError(
                f'--out {args.out}: {ending} files need matplotlib: run pip install "bneuralt[plot]'
                '", or write an .svg file.'
            ) from None
        display.figure_.savefig(picture, format=ending[1:], dpi=192)
        content = picture.getvalue()
    write_atomically(args.out, content)
    print(f"Drawing written to {args.out}.")


def _write_page(model: NeuralTreeEstimator, args: argparse.Namespace) -> None:
    from bneuralt.cli.outputs import check_output
    from bneuralt.cli.trained_models import ModelTable
    from bneuralt.files import write_atomically

    check_output(args.out, inputs=(args.model, args.example) if args.example else (args.model,))
    examples = None
    if args.example:
        examples = ModelTable.read(model, args.model, args.example, args).X
    page = model.to_html(examples=examples, title=Path(args.model).stem)
    write_atomically(args.out, page)
    print(f"Page written to {args.out}; open it in a browser.")


def _example(model: NeuralTreeEstimator, args: argparse.Namespace) -> Any:
    """Return the row that is shown, as the model reads it."""
    from bneuralt.cli.trained_models import ModelTable

    return ModelTable.read(model, args.model, args.example, args).row(args.row)
