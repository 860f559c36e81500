"""Reproduce the tables and figures of the paper."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from bneuralt.cli import BAD_DATA, CANNOT_WRITE, INTERRUPTED, OK, CommandError
from bneuralt_paper.commands.study import add_study_commands

if TYPE_CHECKING:
    from bneuralt_paper.running.store import Key

__all__ = ["add_arguments"]

_STORE = "bneuralt-runs.sqlite"
_FAILED = 1

_RUN = """\
Run those experiments of the paper that are not in the store.

Experiments have the names of the paper's Tables A2 and A3 (B-S-ESy-p4-R, M-S-ESy-Rn-L-D, RF, ...).
Groups (all, table2, best, bneuralt, mlp, table2-mlp, baselines, evolved, additions, equal-oracle,
quick) and patterns ('B-S-*') select several. The command can be interrupted at any time; run it
again to continue.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands; ``run`` and ``merge`` are defined here."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_run(commands)
    _add_merge(commands)
    add_study_commands(commands)


def _add_run(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "run",
        help="run experiments that are not in the store",
        description=_RUN,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a small selection on embedded data, which takes about a minute; --protocol, "
        "--experiments, --datasets and --runs are ignored",
    )
    parser.add_argument(
        "--protocol",
        default="both",
        choices=["paper", "honest", "both"],
        help="paper: select weights on the test rows; honest: do not (default: both)",
    )
    parser.add_argument(
        "--experiments",
        default="table2",
        metavar="NAMES",
        help="names, groups and patterns, separated by commas (default: %(default)s)",
    )
    parser.add_argument(
        "--datasets",
        default="all",
        metavar="NAMES",
        help="names, all, classification, regression or embedded (default: %(default)s)",
    )
    parser.add_argument(
        "--runs", type=int, default=30, metavar="N", help="number of runs (default: %(default)s)"
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=-1,
        metavar="N",
        help="number of processes (default: one per core)",
    )
    parser.add_argument(
        "--store", default=_STORE, help="file with finished runs (default: %(default)s)"
    )
    parser.add_argument(
        "--without",
        metavar="FILE",
        help="do not repeat the runs of this published table (runs.csv.xz)",
    )
    parser.add_argument(
        "--backend",
        default="loky",
        metavar="WHERE",
        help="loky (this machine's cores), sequential, or dask://HOST:PORT (default: %(default)s)",
    )
    parser.add_argument("--data-home", metavar="DIR", help="the data folder")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.set_defaults(run=_run)


def _add_merge(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "merge",
        help="add the runs of other stores, computed elsewhere",
        description="Add the runs of other stores to a store. Runs that it has stay as they are.",
    )
    parser.add_argument("other", nargs="+", metavar="FILE", help="a store to take runs from")
    parser.add_argument(
        "--store", default=_STORE, help="the store to add them to (default: %(default)s)"
    )
    parser.set_defaults(run=_merge)


def _run(args: argparse.Namespace) -> int:
    # Imported here, so that --help does not load joblib and scikit-learn.
    from bneuralt_paper.reporting.run_table import published_keys
    from bneuralt_paper.running.planning import QUICK
    from bneuralt_paper.running.runner import run_experiments
    from bneuralt_paper.running.store import Store, StoreError
    from bneuralt_paper.running.workers import WorkerError

    selection = QUICK
    if not args.quick:
        selection = {
            "protocols": ("paper", "honest") if args.protocol == "both" else args.protocol,
            "experiments": args.experiments,
            "datasets": args.datasets,
            "runs": args.runs,
        }
    options = {"jobs": args.jobs, "backend": args.backend, "data_home": args.data_home}
    try:
        if args.without:
            options["without"] = published_keys(args.without)
        with Store(args.store) as store:
            summary = run_experiments(**selection, store=store, quiet=args.quiet, **options)
    except StoreError as error:
        raise CommandError(str(error), CANNOT_WRITE) from error
    except (ValueError, WorkerError) as error:
        raise CommandError(str(error)) from error
    except KeyboardInterrupt:
        print("\nstopped; finished runs are stored, run it again to continue", file=sys.stderr)
        return INTERRUPTED
    print(
        f"{args.store}: {summary.requested} runs requested, {summary.present} already stored, "
        f"{summary.computed} computed in {summary.seconds:.0f} s"
    )
    _print_failures(summary.failures)
    return _FAILED if summary.failures else OK


def _merge(args: argparse.Namespace) -> int:
    from bneuralt_paper.running.store import Store, StoreError

    try:
        with Store(args.store) as store:
            for path in args.other:
                with Store(path, must_exist=True) as other:
                    print(f"{path}: {store.merge(other)} of {len(other)} runs added")
    except StoreError as error:
        raise CommandError(str(error), BAD_DATA) from error
    return OK


def _print_failures(failures: dict[Key, str]) -> None:
    """Print each error once, with the number of affected runs."""
    runs_of: dict[str, list[str]] = {}
    for key, trace in failures.items():
        runs_of.setdefault(trace, []).append(" ".join(map(str, key)))
    for trace, runs in runs_of.items():
        others = f" and {len(runs) - 1} more runs" if len(runs) > 1 else ""
        print(f"{runs[0]}{others} failed:\n{trace}", file=sys.stderr)
