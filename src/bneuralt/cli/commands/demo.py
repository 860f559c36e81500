"""Compare neural trees with scikit-learn's models, and show a small tree.

All models use the same random splits of data that comes with scikit-learn: they are fitted on three
quarters of the rows and scored on the others, with one thread each.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import warnings
from pathlib import Path

from bneuralt.cli.outputs import StatusLine, check_output

NEXT_STEPS = """\
Three things to try next
  your own table  {program} train YOUR.csv --target COLUMN --out m.json
  a page of it    {program} draw m.json --out m.html
  its options     {program} train --help
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "--splits", type=_positive, default=1, metavar="N", help="random splits (default 1)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the splits")
    parser.add_argument(
        "--out", metavar="FILE.html", help="where to write the page (default: a temporary folder)"
    )
    parser.add_argument(
        "--json", action="store_true", help="print the comparison as JSON, and nothing else"
    )


def run(args: argparse.Namespace) -> None:
    """Compare the models and print the results."""
    from threadpoolctl import threadpool_limits

    from bneuralt.cli import comparison

    if args.out:
        check_output(args.out)
    with threadpool_limits(1), warnings.catch_warnings(), StatusLine() as status:
        # scikit-learn's MLP does not converge with its default settings on some of the data.
        warnings.filterwarnings("ignore", message="Stochastic Optimizer: Maximum iterations")
        results = [
            comparison.compare(sample, args.splits, args.seed, status)
            for sample in comparison.samples()
        ]
    if args.json:
        print(json.dumps(results, indent=2))
        return
    splits = "one random split" if args.splits == 1 else f"mean of {args.splits} random splits"
    print(f"Accuracy on held-out rows, {splits}")
    print("(diabetes: r2, and ridge instead of logistic regression)\n")
    print(comparison.table_of_scores(results))
    print(comparison.conclusion(results))
    tree = comparison.small_tree(args.seed)
    print(comparison.tree_text(tree))
    page = Path(args.out or Path(tempfile.mkdtemp(prefix="bneuralt-demo-")) / "iris.html")
    tree.model.to_html(page, examples=tree.X_test, title="Iris")
    print(f"The same tree as a page, with a form for other flowers\n  {page}\n")
    print(NEXT_STEPS.format(program=_program()), end="")


def _program() -> str:
    """Return how to call this program: by its path, unless the shell finds its name."""
    is_script = Path(sys.argv[0]).stem == "bneuralt"
    return sys.argv[0] if is_script and not shutil.which("bneuralt") else "bneuralt"


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return value
