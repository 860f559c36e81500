"""Draw the tree of a trained model with plain characters."""

from __future__ import annotations

import argparse

from bneuralt.commands import CommandError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL.json", help="a file written by bneuralt train")
    parser.add_argument(
        "--tree",
        type=int,
        default=1,
        metavar="N",
        help="which tree of a forest (default 1, the first)",
    )
    parser.add_argument(
        "--max-lines",
        type=int,
        metavar="N",
        help="leave out the deepest levels to fit into so many lines",
    )


def run(args: argparse.Namespace) -> None:
    from bneuralt.commands.evaluation import trees_of
    from bneuralt.commands.model_files import feature_names, read_model
    from bneuralt.drawing import draw_tree

    model = read_model(args.model)
    trees = trees_of(model)
    if not 1 <= args.tree <= len(trees):
        raise CommandError(f"--tree {args.tree}: the model has {len(trees)}, counted from 1.")
    tree = trees[args.tree - 1]
    print(
        draw_tree(
            tree,
            feature_names=feature_names(model, args.model),
            output_names=getattr(model, "classes_", None),
            max_lines=args.max_lines,
        )
    )
