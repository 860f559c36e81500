"""Compare the exports of many random models with the models: `python -m tests.exports 200`."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

N_ROWS = 1000

#: Test modules that compare exports, by target.
MODULES = {"onnx": "export.test_onnx", "torch": "export.test_torch"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", type=int, nargs="?", default=200)
    parser.add_argument("--first", type=int, default=0, help="number of the first model")
    parser.add_argument("--only", help="one of onnx, python, torch, sqlite, duckdb, postgresql")
    parser.add_argument("--rows", type=int, default=N_ROWS)
    args = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parent))
    from databases import DATABASES

    failed = 0
    for target in ("python", "onnx", "torch", *DATABASES):
        if args.only in (None, target):
            failed += compare(target, range(args.first, args.first + args.models), args.rows)
    return 1 if failed else 0


def compare(target: str, seeds: range, n_rows: int) -> int:
    """Print how many of the models are right; return how many are not."""
    from databases import DATABASES

    try:
        name = "sql" if target in DATABASES else target
        check = importlib.import_module(MODULES.get(name, f"test_export_{name}")).check
        if target in DATABASES:
            kind = DATABASES[target]()
            if reason := kind.why_not():
                print(f"{target}: skipped, {reason}")
                return 0
            with kind:
                return count(target, lambda seed: check(kind, seed, n_rows), seeds)
    except BaseException as error:
        if type(error).__name__ != "Skipped":
            raise
        print(f"{target}: skipped, {error}")
        return 0
    return count(target, lambda seed: check(seed, n_rows), seeds)


def count(target: str, check, seeds: range) -> int:
    failed = []
    for seed in seeds:
        try:
            check(seed)
        except Exception as error:
            failed.append(seed)
            print(f"{target}, model {seed}: {type(error).__name__}: {str(error)[:400]}", flush=True)
    print(f"{target}: {len(seeds) - len(failed)} of {len(seeds)} models are right", flush=True)
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
