"""Compare small neural trees with scikit-learn's models, on data that comes with scikit-learn.

All models use the same random splits: they are fitted on three quarters of the rows and scored on
the others, with one thread each. At the end, a small tree is drawn.
"""

from __future__ import annotations

import argparse
import json
import warnings

from bneuralt.cli.outputs import StatusLine

NEXT_STEPS = """\
Next steps
  bneuralt train YOUR.csv --target COLUMN --out model.json
  bneuralt predict model.json NEW.csv
  python -c "from bneuralt import BNeuralTClassifier; help(BNeuralTClassifier)"
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "--splits", type=_positive, default=3, metavar="N", help="random splits (default 3)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the splits")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")


def run(args: argparse.Namespace) -> None:
    """Compare the models and print the results."""
    from threadpoolctl import threadpool_limits

    from bneuralt.cli import comparison

    results = []
    with threadpool_limits(1), warnings.catch_warnings(), StatusLine() as status:
        # scikit-learn's MLP does not converge with its default settings on some of the data.
        warnings.filterwarnings("ignore", message="Stochastic Optimizer: Maximum iterations")
        for sample in comparison.samples():
            result = comparison.compare(sample, args.splits, args.seed, status)
            results.append(result)
            if not args.json:
                status("")
                print(comparison.result_table(result), flush=True)
    if args.json:
        print(json.dumps(results, indent=2))
    else:
        print(comparison.summary_table(results))
        print(comparison.conclusion(results))
        print(comparison.small_tree(args.seed))
        print(NEXT_STEPS, end="")


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return value
