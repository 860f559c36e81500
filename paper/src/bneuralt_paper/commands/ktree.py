"""The command ``bneuralt paper ktree``."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import Any

from bneuralt_paper.commands.mnist import positive_integer

__all__ = ["add_ktree_command"]

_DESCRIPTION = """\
Train dendritic k-trees (Jones and Kording 2021) to distinguish a 3 from a 5 of MNIST.

Each trial trains on a different tenth of the images, for a fixed number of epochs, and is scored on
the test rows once, at the end. All trials are reported, including those that learn nothing.
"""


def add_ktree_command(commands: argparse._SubParsersAction[Any]) -> None:
    """Add ``ktree`` to the commands of ``bneuralt paper``."""
    parser = commands.add_parser(
        "ktree",
        help="distinguish a 3 from a 5 with dendritic k-trees",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--k",
        type=positive_integer,
        default=1,
        metavar="K",
        help="number of binary trees (default: 1)",
    )
    parser.add_argument(
        "--asymmetric", action="store_true", help="split the pixels of nodes at random positions"
    )
    parser.add_argument(
        "--trials", type=positive_integer, default=10, metavar="N", help="default: 10"
    )
    parser.add_argument(
        "--epochs", type=positive_integer, default=2000, metavar="N", help="default: 2000"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="default: 0")
    parser.add_argument("--threads", type=int, default=-1, metavar="N", help="default: all")
    parser.add_argument("--data-home", metavar="DIR", help="the data folder")
    parser.add_argument("--out", metavar="FILE", help="write the result to this file")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> None:
    from joblib import effective_n_jobs

    from bneuralt.cli.outputs import StatusLine, check_output
    from bneuralt_paper.images.image_data import load_images
    from bneuralt_paper.images.k_trees import PUBLISHED, run_trials
    from bneuralt_paper.images.result_files import save_result

    if args.out:
        check_output(args.out)
    images = load_images("mnist", args.data_home)
    with StatusLine() as status:
        result = run_trials(
            args.k, images, trials=args.trials, max_epochs=args.epochs, seed=args.seed,
            asymmetric=args.asymmetric, n_threads=effective_n_jobs(args.threads), report=status,
        )  # fmt: skip
    if args.out:
        save_result(result, args.out)
    if args.json:
        print(json.dumps(asdict(result), indent=2))
        return
    print(f"k = {result.k}, {result.weights:,} weights without biases")
    print("trial  accuracy  epochs  seconds")
    for trial in result.trials:
        stuck = "  stuck" if trial.stuck else ""
        print(
            f"{trial.trial:>5}  {trial.accuracy:>8.4f}  {trial.epochs:>6}  {trial.seconds:>7.1f}"
            f"{stuck}"
        )
    mean = sum(trial.accuracy for trial in result.trials) / len(result.trials)
    published = f", published {PUBLISHED[result.name]:.4f}" if result.name in PUBLISHED else ""
    n_stuck = sum(trial.stuck for trial in result.trials)
    print(f"mean accuracy {mean:.4f}{published}; {n_stuck} of {len(result.trials)} stuck")
