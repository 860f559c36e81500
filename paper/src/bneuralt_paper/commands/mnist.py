"""The command ``bneuralt paper mnist``."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from typing import Any

__all__ = ["add_mnist_command", "positive_integer"]

_DESCRIPTION = """\
Train on the raw pixels of MNIST or Fashion-MNIST and report the error on the test rows.

The honest protocol uses the test rows once, at the end. The paper's protocol computes the test
error after every update and reports the lowest.
"""


def add_mnist_command(commands: argparse._SubParsersAction[Any]) -> None:
    """Add ``mnist`` to the commands of ``bneuralt paper``."""
    parser = commands.add_parser(
        "mnist",
        help="classify digits or articles of clothing from raw pixels",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--weights",
        type=positive_integer,
        default=20_000,
        metavar="N",
        help="total number (default: %(default)s)",
    )
    parser.add_argument(
        "--epochs", type=positive_integer, default=25, metavar="N", help="default: 25"
    )
    parser.add_argument(
        "--recipe",
        default="modern",
        choices=["modern", "paper"],
        help="modern: cross-entropy, local receptive fields; paper: squared error, RMSprop, "
        "weights from [0, 1] (default: %(default)s)",
    )
    parser.add_argument(
        "--protocol",
        default="honest",
        choices=["honest", "paper"],
        help="paper: select weights on the test rows; honest: do not (default: honest)",
    )
    parser.add_argument(
        "--data", default="mnist", choices=["mnist", "fashion_mnist"], help="default: %(default)s"
    )
    parser.add_argument(
        "--trees",
        type=positive_integer,
        metavar="N",
        help="number of trees that share the weights (default: automatic)",
    )
    parser.add_argument(
        "--curves",
        action="store_true",
        help="also record the test error of a tree after each epoch, without using it",
    )
    parser.add_argument(
        "--baseline",
        choices=["CART", "random-forest", "logistic-regression", "MLP"],
        help="train this model of scikit-learn instead; the MLP has as many hidden units as "
        "--weights allows",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="default: 0")
    parser.add_argument("--threads", type=int, default=-1, metavar="N", help="default: all")
    parser.add_argument("--data-home", metavar="DIR", help="the data folder")
    parser.add_argument(
        "--out",
        metavar="FILE",
        help="write the trained model (for a baseline: the result) to this file",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.set_defaults(run=_run, tree_options=_tree_options(parser))


def _tree_options(parser: argparse.ArgumentParser) -> dict[str, Any]:
    """Return the options that do not apply to baselines, with their defaults."""
    names = ("epochs", "recipe", "protocol", "trees", "curves")
    return {name: parser.get_default(name) for name in names}


def positive_integer(text: str) -> int:
    """Convert an argument to a positive integer."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is not a positive integer")
    return value


def _run(args: argparse.Namespace) -> None:
    from bneuralt.cli.errors import CommandError
    from bneuralt.cli.outputs import check_output
    from bneuralt_paper.images.image_data import load_images
    from bneuralt_paper.images.image_runs import run_images

    if args.out:
        check_output(args.out)
    if args.baseline:
        _run_baseline(args)
        return
    images = load_images(args.data, args.data_home)
    try:
        run, model = run_images(
            images, recipe=args.recipe, protocol=args.protocol, n_weights=args.weights,
            epochs=args.epochs, seed=args.seed, n_trees=args.trees, monitor_test=args.curves,
            n_jobs=args.threads, verbose=int(sys.stderr.isatty()),
        )  # fmt: skip
    except ValueError as error:  # a number of weights that is impossible for a tree
        raise CommandError(str(error)) from error
    if args.out:
        model.save(args.out, extra={"run": asdict(run)})
    result = {**run.summary(), "model": args.out}
    print(json.dumps(result, indent=2) if args.json else _as_text(result))


def _run_baseline(args: argparse.Namespace) -> None:
    from bneuralt.cli.errors import CommandError
    from bneuralt_paper.images.image_baselines import run_image_baseline
    from bneuralt_paper.images.image_data import load_images
    from bneuralt_paper.images.result_files import save_result

    tree_options = [n for n, default in args.tree_options.items() if getattr(args, n) != default]
    if tree_options:
        raise CommandError(
            f"--{tree_options[0]} applies to trees only: omit it with --baseline {args.baseline}."
        )
    name = args.baseline.replace("-", " ")
    images = load_images(args.data, args.data_home)
    try:
        result = run_image_baseline(name, images, n_weights=args.weights, seed=args.seed)
    except ValueError as error:  # a number of weights that is impossible for an MLP
        raise CommandError(str(error)) from error
    if args.out:
        save_result(result, args.out)
    if args.json:
        print(json.dumps(asdict(result), indent=2))
        return
    weights = "" if result.weights is None else f" of {result.weights:,} weights"
    print(f"{result.data}, {name}{weights}, seed {result.seed}: {result.seconds:.1f} s")
    print(f"Test error {100 * result.test_error:.2f} % (nothing selected on the test rows)")


def _as_text(result: dict[str, Any]) -> str:
    kind = "one tree" if result["trees"] == 1 else f"{result['trees']} trees"
    selection = "selected on" if result["protocol"] == "paper" else "nothing selected on"
    lines = [
        f"{result['data']}, {result['recipe']} recipe, seed {result['seed']}: {kind} of "
        f"{result['weights']:,} weights, {result['epochs']} epochs of "
        f"{result['seconds_per_epoch']:.2f} s on {result['threads']} threads",
        f"Test error {100 * result['test_error']:.2f} % ({selection} the test rows)",
    ]
    if result["model"]:
        lines.append(f"The model was written to {result['model']}.")
    return "\n".join(lines)
