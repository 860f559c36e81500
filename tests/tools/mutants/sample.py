"""Draw changes at random, and keep the list of them with what became of each.

A file is drawn, then a kind of change among those that the file offers, then one of its places:
each file and each kind has the same chance, whatever its length and frequency.
"""

from __future__ import annotations

import csv
import fcntl
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path

from tests.helpers.paths import ROOT
from tests.tools.mutants import cpp_changes, python_changes
from tests.tools.mutants.changes import Change

LIST = Path(__file__).with_name("mutants.csv")
_LOCK = Path(tempfile.gettempdir()) / "bneuralt-mutants.lock"
NOTICED, SURVIVED, EQUIVALENT = "noticed", "survived", "equivalent"


@dataclass
class Mutant:
    """A row of the list.

    `first` is what became of it when it was drawn, `verdict` what becomes of it with the present
    tests. The argument says why a change is equivalent.
    """

    number: int
    language: str
    file: str
    place: str
    scope: str
    kind: str
    change: str
    first: str = ""
    verdict: str = ""
    argument: str = ""


def files(language: str) -> list[str]:
    """Return all files that are changed."""
    if language == "python":
        found = (ROOT / "src" / "bneuralt").rglob("*.py")
    else:
        found = (path for path in (ROOT / "cpp").rglob("*.?pp") if path.parent.name != "tests")
    return sorted(str(path.relative_to(ROOT)) for path in found)


@cache
def changes_by_kind(language: str, file: str) -> dict[str, list[Change]]:
    """Return the changes that a file offers."""
    module = python_changes if language == "python" else cpp_changes
    kinds: dict[str, list[Change]] = {}
    for change in module.changes_of(file, (ROOT / file).read_text()):
        kinds.setdefault(change.kind, []).append(change)
    return kinds


def draws(language: str, seed: int) -> Iterator[Change]:
    """Draw changes without end, none twice."""
    rng = random.Random(f"{language} {seed}")
    names = files(language)
    drawn: set[tuple[str, str, str, str]] = set()
    while True:
        kinds = changes_by_kind(language, rng.choice(names))
        if not kinds:
            continue
        change = rng.choice(kinds[rng.choice(sorted(kinds))])
        key = (change.file, change.place, change.kind, change.description)
        if key not in drawn:
            drawn.add(key)
            yield change


def draw(
    language: str,
    n: int,
    seed: int,
    is_possible: Callable[[list[Change]], list[bool]],
    kept: Sequence[Change] = (),
) -> list[Change]:
    """Draw changes until there are n; those that are not possible are replaced by others."""
    drawn = (change for change in draws(language, seed) if change not in kept)
    chosen = list(kept)
    while len(chosen) < n:
        candidates = chosen + [next(drawn) for _ in range(n - len(chosen))]
        possible = is_possible(candidates)
        chosen = [change for change, holds in zip(candidates, possible, strict=True) if holds]
    return chosen


def find(mutant: Mutant) -> Change | None:
    """Return the change of a row of the list, None if the file no longer has it.

    Lines above it may have changed: of equal changes of a function, that of the column is taken.
    """
    if not (ROOT / mutant.file).exists():
        return None
    line, column = map(int, mutant.place.split(":"))
    equal = (
        change
        for change in changes_by_kind(mutant.language, mutant.file).get(mutant.kind, ())
        if (change.scope, change.description) == (mutant.scope, mutant.change)
    )
    return min(equal, key=lambda c: (abs(c.column - column), abs(c.line - line)), default=None)


def read_list() -> list[Mutant]:
    """Read the list; it is empty before the first draw."""
    if not LIST.exists():
        return []
    with LIST.open(newline="") as file:
        rows = csv.DictReader(file)
        return [Mutant(**{**row, "number": int(row["number"])}) for row in rows]  # type: ignore[arg-type]


def update_list(mutants: list[Mutant]) -> None:
    """Add mutants to the list, or change their rows; other programs may do so too."""
    with _LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        rows = {(row.language, row.number): row for row in read_list()}
        rows |= {(mutant.language, mutant.number): mutant for mutant in mutants}
        _write([rows[key] for key in sorted(rows)])


def _write(mutants: list[Mutant]) -> None:
    written = LIST.with_suffix(".part")
    with written.open("w", newline="") as file:
        rows = csv.DictWriter(file, [field.name for field in fields(Mutant)], lineterminator="\n")
        rows.writeheader()
        rows.writerows(map(asdict, mutants))
    written.replace(LIST)
