"""The command ``bneuralt paper mnist``."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from typing import Any

__all__ = ["add_mnist_command", "count"]

_DESCRIPTION = """\
Train on the raw pixels of MNIST or Fashion-MNIST and report the error on the test rows.

Under the honest protocol the test rows are looked at once, at the end. Under the paper's they are
looked at after every update, and the lowest error is reported.
"""


def add_mnist_command(commands: argparse._SubParsersAction) -> None:
    """Add ``mnist`` to the commands of ``bneuralt paper``."""
    parser = commands.add_parser(
        "mnist",
        help="recognise digits, or articles of clothing, from raw pixels",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--weights", type=count, default=20_000, metavar="N", help="in all (default: %(default)s)"
    )
    parser.add_argument("--epochs", type=count, default=25, metavar="N", help="default: 25")
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
        help="paper: weights are chosen on the test rows; honest: nothing is (default: honest)",
    )
    parser.add_argument(
        "--data", default="mnist", choices=["mnist", "fashion_mnist"], help="default: %(default)s"
    )
    parser.add_argument(
        "--trees", type=count, metavar="N", help="trees to share the weights (default: automatic)"
    )
    parser.add_argument(
        "--curves",
        action="store_true",
        help="record the test error of a tree after each epoch, too; it decides nothing",
    )
    parser.add_argument(
        "--baseline",
        choices=["CART", "random-forest", "logistic-regression", "MLP"],
        help="train this model of scikit-learn instead; the MLP gets as many hidden units as fit "
        "into --weights",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="default: 0")
    parser.add_argument("--threads", type=int, default=-1, metavar="N", help="default: all")
    parser.add_argument("--data-home", metavar="DIR", help="the data folder")
    parser.add_argument(
        "--out",
        metavar="FILE",
        help="write the trained model (of a baseline: the result) to this file, for the report",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.set_defaults(run=_run, of_trees_only=_defaults_of_trees(parser))


def _defaults_of_trees(parser: argparse.ArgumentParser) -> dict[str, Any]:
    names = ("epochs", "recipe", "protocol", "trees", "curves")
    return {name: parser.get_default(name) for name in names}


def count(text: str) -> int:
    """Read a positive number of an argument."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is not a positive number")
    return value


def _run(args: argparse.Namespace) -> None:
    from bneuralt.cli.errors import CommandError
    from bneuralt.cli.outputs import check_output
    from bneuralt.paper.images.mnist import load_images, run_images, save_run

    if args.out:
        check_output(args.out)
    if args.baseline:
        _run_baseline(args)
        return
    images = load_images(args.data, args.data_home)
    try:
        run, model = run_images(
            images, recipe=args.recipe, protocol=args.protocol, n_weights=args.weights,
            epochs=args.epochs, seed=args.seed, n_trees=args.trees, watch_test=args.curves,
            n_jobs=args.threads, verbose=int(sys.stderr.isatty()),
        )  # fmt: skip
    except ValueError as error:  # a number of weights that no tree can have
        raise CommandError(str(error)) from error
    if args.out:
        save_run(run, model, args.out)
    result = {**run.summary(), "model": args.out}
    print(json.dumps(result, indent=2) if args.json else _as_text(result))


def _run_baseline(args: argparse.Namespace) -> None:
    from bneuralt.cli.errors import CommandError
    from bneuralt.paper.images.image_files import save_result
    from bneuralt.paper.images.mnist import load_images
    from bneuralt.paper.images.mnist_baselines import measure_baseline

    given = [n for n, default in args.of_trees_only.items() if getattr(args, n) != default]
    if given:
        raise CommandError(
            f"--{given[0]} does not go with --baseline {args.baseline}: it is for trees."
        )
    name = args.baseline.replace("-", " ")
    images = load_images(args.data, args.data_home)
    try:
        result = measure_baseline(name, images, n_weights=args.weights, seed=args.seed)
    except ValueError as error:  # a number of weights that no MLP can have
        raise CommandError(str(error)) from error
    if args.out:
        save_result(result, args.out)
    if args.json:
        print(json.dumps(asdict(result), indent=2))
        return
    weights = "" if result.weights is None else f" of {result.weights:,} weights"
    print(f"{result.data}, {name}{weights}, seed {result.seed}: {result.seconds:.1f} s")
    print(f"Test error {100 * result.test_error:.2f} % (nothing chosen on the test rows)")


def _as_text(result: dict[str, Any]) -> str:
    kind = "one tree" if result["trees"] == 1 else f"{result['trees']} trees"
    chosen = (
        "chosen on the test rows" if result["protocol"] == "paper" else "nothing chosen on them"
    )
    lines = [
        f"{result['data']}, {result['recipe']} recipe, seed {result['seed']}: {kind} of "
        f"{result['weights']:,} weights, {result['epochs']} epochs of "
        f"{result['seconds_per_epoch']:.2f} s on {result['threads']} threads",
        f"Test error {100 * result['test_error']:.2f} % ({chosen})",
    ]
    if result["model"]:
        lines.append(f"The model is in {result['model']}.")
    return "\n".join(lines)
