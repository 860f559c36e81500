"""The program: `python -m benchmarks.quality --help`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import benchmarks.quality
from benchmarks.quality.models import MODELS
from benchmarks.quality.running import add_records, forget, missing, run
from benchmarks.quality.suites import SUITES, TABLES_HOME, Suite, make_suite
from benchmarks.tables import HALVES
from bneuralt_paper.running.store import Store

_ACTIONS = {
    "run": "measure what the store lacks",
    "missing": "list what the store lacks",
    "report": "write tables and pictures",
    "import": "add measurements of another machine (files of JSON lines)",
}


def main() -> None:
    """Run from a shell."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality",
        description=benchmarks.quality.__doc__.split("\n")[0],
        epilog="; ".join(f"{name}: {text}" for name, text in _ACTIONS.items()),
    )
    add = parser.add_argument
    add("action", choices=_ACTIONS)
    add("files", nargs="*", type=Path, help="for import")
    add("--suite", choices=SUITES, default="paper", help="suite to measure (%(default)s)")
    add("--half", choices=HALVES, default="reported", help="of the suite of tables (%(default)s)")
    add("--store", default="quality.sqlite", help="SQLite file of the figures (%(default)s)")
    add("--models", help="some of the models, with commas between them")
    add("--tables", help="some of the tables")
    add("--splits", type=int, help="largest number of splits of each table")
    add("--again", action="store_true", help="run: measure again what the store has")
    add("--data-home", help=f"folder of the data sets, or of the tables ({TABLES_HOME})")
    add("--jobs", type=int, default=1, help="processes, of one thread each (%(default)s)")
    add("--out", type=Path, default=Path("quality"), help="folder for the report (%(default)s)")
    arguments = parser.parse_intermixed_args()

    suite = make_suite(arguments.suite, arguments.half)
    models = _chosen(parser, "--models", arguments.models or ",".join(suite.models), MODELS)
    tables = _chosen(parser, "--tables", arguments.tables, suite.tables)
    cells = suite.cells(models, tables, arguments.splits)
    with Store(arguments.store, must_exist=arguments.action == "report") as store:
        match arguments.action:
            case "run":
                if arguments.again:
                    forget(store, suite, cells)
                run(store, suite, cells, arguments.data_home, arguments.jobs)
            case "missing":
                for cell in missing(store, suite, cells):
                    print(*cell, sep="\t")
            case "import":
                for path in arguments.files:
                    lines = path.read_text().splitlines()
                    n_added = add_records(store, suite, map(json.loads, lines))
                    print(f"{n_added} runs of {path}")
            case "report":
                report(arguments.suite, suite, store, arguments.out)


def _chosen(parser, option: str, text: str | None, available) -> list[str]:
    if text is None:
        return list(available)
    names = text.split(",")
    if unknown := set(names) - set(available):
        parser.error(f"{option}: {', '.join(unknown)} not among {', '.join(available)}")
    return names


def report(name: str, suite: Suite, store: Store, out: Path) -> None:
    """Write the report of a suite."""
    from benchmarks.quality import curve_report, paper_report, tables_report

    reports = {"paper": paper_report, "tables": tables_report, "curve": curve_report}
    out.mkdir(parents=True, exist_ok=True)
    reports[name].write(suite, store, out)


if __name__ == "__main__":
    main()
