"""Commands for what surrounds the runs: curves, images, measurements, claims and the report."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bneuralt.cli import BAD_DATA, OK, CommandError

__all__ = ["add_study_commands"]

_FOLDER = "bneuralt-study"
_REPORT = "bneuralt-report"


def add_study_commands(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the commands to those of ``bneuralt paper``."""
    curves = commands.add_parser(
        "curves",
        help="compute the learning curves of the paper's figures",
        description="Compute the learning curves that the published table lacks, or has of fewer "
        "runs. Can be interrupted.",
    )
    curves.add_argument("--runs", type=int, default=30, metavar="N", help="default: %(default)s")
    _add_study(curves, _curves)
    images = commands.add_parser(
        "images",
        help="train on MNIST and Fashion-MNIST: the paper's trees, others, k-trees",
        description="Compute the runs on images that the published file lacks. Can be interrupted.",
    )
    images.add_argument(
        "--only", default="*", metavar="PATTERN", help="names of runs, such as '20K-*' or '*-tree'"
    )
    images.add_argument("--list", action="store_true", help="list the runs, and which are finished")
    _add_study(images, _images)
    measure = commands.add_parser(
        "measure",
        help="measure times, memory and sizes of trees",
        description="Add the measurements that the published file lacks. Can be interrupted.",
    )
    _add_study(measure, _measure)
    publish = commands.add_parser(
        "publish", help="add the runs of a store to the published table, and draw the best trees"
    )
    publish.add_argument("--store", required=True, metavar="FILE", help="a store of `run`")
    publish.add_argument("--out", required=True, metavar="DIR", help="folder of published files")
    publish.add_argument("--data-home", metavar="DIR", help="the data folder")
    publish.set_defaults(run=_publish)
    claims = commands.add_parser(
        "claims", help="print every claim of the paper with our value and the verdict"
    )
    claims.add_argument("--store", required=True, metavar="DIR", help="folder of published files")
    claims.add_argument("--json", action="store_true", help="print JSON")
    claims.set_defaults(run=_claims)
    report = commands.add_parser("report", help="write the page with all verdicts and tables")
    report.add_argument(
        "--store", required=True, help="folder of published files, or a store of `run` alone"
    )
    report.add_argument(
        "--out",
        default=_REPORT,
        help="a Markdown file, or a folder for report.html and report.md (default: %(default)s)",
    )
    report.set_defaults(run=_report)


def _add_study(parser: argparse.ArgumentParser, run: Any) -> None:
    parser.add_argument(
        "--store",
        default=_FOLDER,
        metavar="DIR",
        help="folder of published files (default: %(default)s)",
    )
    parser.add_argument("--data-home", metavar="DIR", help="the data folder")
    parser.set_defaults(run=run)


def _folder(args: argparse.Namespace) -> Path:
    folder = Path(args.store)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _problems(data_home: str | None) -> list[Any]:
    from bneuralt_paper.datasets import load_dataset
    from bneuralt_paper.datasets.catalogue import PAPER_DATASETS
    from bneuralt_paper.experiments.protocols import Problem

    return [Problem.from_dataset(load_dataset(name, data_home)) for name in PAPER_DATASETS]


def _curves(args: argparse.Namespace) -> int:
    from bneuralt_paper.running.curves import PUBLISHED_CURVES, run_curves

    path = _folder(args) / PUBLISHED_CURVES
    run_curves(path, _problems(args.data_home), runs=args.runs)
    return OK


def _images(args: argparse.Namespace) -> int:
    from fnmatch import fnmatchcase

    from bneuralt_paper.images.image_data import load_images
    from bneuralt_paper.images.result_files import PUBLISHED_IMAGES
    from bneuralt_paper.running.image_study import image_study, read_study, run_study

    path = _folder(args) / PUBLISHED_IMAGES
    if args.list:
        finished = {result.name for result in read_study(path).all()}
        for task in image_study():
            if fnmatchcase(task.name, args.only):
                print(f"{task.name:32} {'finished' * (task.name in finished)}".rstrip())
        return OK
    count = run_study(path, lambda name: load_images(name, args.data_home), args.only)
    print(f"{path}: {count} runs computed")
    return OK


def _measure(args: argparse.Namespace) -> int:
    from bneuralt_paper.running.measurements import PUBLISHED_MEASUREMENTS, run_measurements

    run_measurements(_folder(args) / PUBLISHED_MEASUREMENTS, _problems(args.data_home))
    return OK


def _publish(args: argparse.Namespace) -> int:
    from bneuralt_paper.publishing import publish
    from bneuralt_paper.running.store import Store, StoreError

    try:
        with Store(args.store, must_exist=True) as store:
            for path in publish(store, args.out, lambda: _problems(args.data_home)):
                print(path)
    except (StoreError, OSError, ValueError) as error:
        raise CommandError(str(error), BAD_DATA) from error
    return OK


def _evidence(path: str) -> Any:
    from bneuralt_paper.ledger import Evidence
    from bneuralt_paper.reporting.run_results import Results
    from bneuralt_paper.reporting.run_table import read_run_table
    from bneuralt_paper.running.store import Store, StoreError

    try:
        if Path(path).is_dir():
            return Evidence.load(path)
        if path.endswith(".csv.xz"):
            return Evidence(Results(read_run_table(path)))
        with Store(path, must_exist=True) as store:
            return Evidence(Results(store.to_frame()))
    except (StoreError, OSError, ValueError) as error:
        raise CommandError(str(error), BAD_DATA) from error


def _claims(args: argparse.Namespace) -> int:
    import json
    from collections import Counter

    from bneuralt_paper.ledger import check_claims

    entries = check_claims(_evidence(args.store))
    if args.json:
        records = [
            {"id": e.claim.id, "kind": e.claim.kind, "place": e.claim.place, "says": e.claim.says}
            | {"check": e.claim.check, "ours": e.ours, "verdict": e.verdict}
            for e in entries
        ]
        print(json.dumps(records, indent=2))
        return OK
    for entry in entries:
        print(f"{entry.claim.id} ({entry.claim.place}): {entry.verdict}")
        print(f"    paper: {entry.claim.says}\n    ours:  {entry.ours}")
    counts = Counter(entry.verdict for entry in entries)
    print(f"{len(entries)} claims: " + ", ".join(f"{n} {v}" for v, n in counts.most_common()))
    return OK


def _report(args: argparse.Namespace) -> int:
    from bneuralt_paper.report import write_report

    print(write_report(_evidence(args.store), args.out))
    return OK
