"""Compare exports of random models with the models: `python -m tests.tools.compare_exports N`."""

from __future__ import annotations

import argparse
import importlib
import sys

from tests.helpers.fitted_models import random_model
from tests.helpers.runners import RUNNERS, compare_contributions
from tests.helpers.runners import compare as compare_with_model

N_ROWS = 1000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", type=int, nargs="?", default=200)
    parser.add_argument("--first", type=int, default=0, help="number of the first model")
    parser.add_argument("--only", help="one of the targets, such as onnx or sqlite")
    parser.add_argument("--rows", type=int, default=N_ROWS)
    args = parser.parse_args()
    failed = 0
    for target in (*RUNNERS, "onnx", "torch"):
        if args.only in (None, target):
            failed += compare(target, range(args.first, args.first + args.models), args.rows)
    return 1 if failed else 0


def compare(target: str, seeds: range, n_rows: int) -> int:
    """Print how many of the models are right; return how many are not."""
    if target in RUNNERS:
        runner = RUNNERS[target]
        if reason := runner.why_not():
            print(f"{target}: skipped, {reason}")
            return 0

        def check(seed):
            drawn = random_model(seed, n_rows)
            compare_with_model(runner, drawn)
            return compare_contributions(runner.contributions, drawn)

        with runner:
            return count(target, check, seeds)
    try:
        module = importlib.import_module(f"tests.export.test_{target}")
    except BaseException as error:
        if type(error).__name__ != "Skipped":
            raise
        print(f"{target}: skipped, {error}")
        return 0

    def check_module(seed):
        module.check(seed, n_rows)
        return hasattr(module, "check_contributions") and module.check_contributions(seed, n_rows)

    return count(target, check_module, seeds)


def count(target: str, check, seeds: range) -> int:
    failed, n_attributed = [], 0
    for seed in seeds:
        try:
            n_attributed += check(seed)
        except Exception as error:
            failed.append(seed)
            print(f"{target}, model {seed}: {type(error).__name__}: {str(error)[:400]}", flush=True)
    print(
        f"{target}: {len(seeds) - len(failed)} of {len(seeds)} models are right, {n_attributed} of "
        "them with contributions",
        flush=True,
    )
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
