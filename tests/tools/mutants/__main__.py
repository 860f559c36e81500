"""Make random changes and list what no test notices: `python -m tests.tools.mutants LANGUAGE`.

Changes are drawn by `sample` (every file and every kind of change with the same chance), listed in
`mutants.csv`, and made in copies of the project, never here. Results are written as they come, and
a run that was stopped goes on. A change is tried with the tests that reach it, quick ones first; a
test that fails without the change too does not count. Changes of places that the sources no longer
have are drawn anew.

Options
-------
LANGUAGE     python or cpp
--count N    draw changes until the list has so many of the language (default: 400, 150)
--seed N     of the draw (default: 25)
--draw       draw only, and try nothing
--again      try those again that survived, with the present tests
--seconds N  of tests for each change (default: 90 seconds of processor time)
--numbers N  try these only, whatever became of them before
--near       with the tests of the changed package only (the others are not recorded either)
--first F    run these tests first, such as tests that start programs, which are not recorded
--without F  leave out these files of tests, such as those written for survivors of the sample
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from tests.helpers.paths import ROOT
from tests.tools.mutants.changes import Change
from tests.tools.mutants.projects import CoreProject, PythonProject
from tests.tools.mutants.sample import (
    EQUIVALENT,
    NOTICED,
    SURVIVED,
    Mutant,
    draw,
    find,
    read_list,
    update_list,
)
from tests.tools.mutants.switches import SwitchedCore

FOLDER = ROOT / "build" / "mutants"
COUNTS = {"python": 400, "cpp": 150}


def compiles(changes: list[Change]) -> list[bool]:
    """Return for each change whether the compiler takes it."""
    if changes[0].file.endswith(".py"):
        return [True] * len(changes)
    return SwitchedCore(FOLDER / "switches").compile(changes)


def complete(mutants: list[Mutant], language: str, count: int, seed: int) -> list[Mutant]:
    """Draw changes for missing numbers, and for those that the sources no longer have."""
    numbers = {mutant.number for mutant in mutants}
    absent = [
        Mutant(number, language, "", "", "", "", "")
        for number in range(1, count + 1)
        if number not in numbers
    ]
    lost = [mutant for mutant in mutants if find(mutant) is None]
    for mutant in lost:
        print(f"{mutant.number} {mutant.file}:{mutant.place} is lost: {mutant.change}", flush=True)
    kept = [change for change in map(find, mutants) if change is not None]
    untried = absent + lost
    drawn = draw(language, len(kept) + len(untried), seed, compiles, kept) if untried else []
    for mutant, change in zip(untried, drawn[len(kept) :], strict=True):
        mutant.file, mutant.place, mutant.scope = change.file, change.place, change.scope
        mutant.kind, mutant.change = change.kind, change.description
        mutant.first = mutant.verdict = mutant.argument = ""
    update_list(untried)
    return sorted(mutants + absent, key=lambda mutant: mutant.number)


def start(mutants: list[Mutant], options: argparse.Namespace) -> PythonProject | CoreProject:
    """Return a project in which the changes can be tried."""
    without = tuple(options.without)
    if options.language == "python":
        return PythonProject(FOLDER, without, options.near, tuple(options.first))
    changes = [change for change in map(find, mutants) if change is not None]
    return CoreProject(FOLDER, changes, without, tuple(options.first))


def report(mutants: list[Mutant]) -> None:
    """Print the rates."""
    for name in ("first", "verdict"):
        counts = Counter(getattr(mutant, name) for mutant in mutants)
        decided = counts[NOTICED] + counts[SURVIVED]
        rate = counts[NOTICED] / max(1, decided)
        print(f"{name}: {dict(counts)}, {rate:.1%} of {decided} noticed")


def main() -> int:
    """The program."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("language", choices=sorted(COUNTS))
    parser.add_argument("--count", type=int)
    parser.add_argument("--seed", type=int, default=25)
    parser.add_argument("--draw", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--seconds", type=float, default=90.0)
    parser.add_argument("--numbers", type=int, nargs="+", default=[])
    parser.add_argument("--near", action="store_true")
    parser.add_argument("--first", nargs="+", default=[])
    parser.add_argument("--without", nargs="+", default=[])
    options = parser.parse_args()
    language = options.language
    mutants = [mutant for mutant in read_list() if mutant.language == language]
    mutants = complete(mutants, language, options.count or COUNTS[language], options.seed)
    if options.draw:
        return 0
    repeated = {"", SURVIVED} if options.again else {""}
    chosen = [
        mutant
        for mutant in mutants
        if (mutant.number in options.numbers if options.numbers else mutant.verdict in repeated)
    ]
    if chosen:
        changes = [find(mutant) for mutant in chosen]  # of the present sources, which are copied
        project = start(mutants, options)
        for mutant, change in zip(chosen, changes, strict=True):
            assert change is not None
            started, mutant.place = time.monotonic(), change.place
            noticed = project.is_noticed(change, options.seconds)
            if noticed or mutant.verdict != EQUIVALENT:
                mutant.verdict = NOTICED if noticed else SURVIVED
            mutant.first = mutant.first or mutant.verdict
            update_list([mutant])
            place, took = f"{mutant.file}:{mutant.place}", time.monotonic() - started
            print(f"{mutant.number} {place} {mutant.kind}: {mutant.change}", flush=True)
            print(f"    {mutant.verdict} ({took:.0f} s)", flush=True)
        project.close()
    report(mutants)
    return 0


if __name__ == "__main__":
    sys.exit(main())
