"""Claims of the paper, read from ``claims.toml``, and their verdicts."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from bneuralt_paper.ledger import checks
from bneuralt_paper.ledger.evidence import Evidence, NotTested

__all__ = ["KINDS", "VERDICTS", "Claim", "Entry", "check_claims", "read_claims"]

KINDS = ("algorithm", "equation", "table", "figure", "sentence", "misprint")
VERDICTS = ("reproduced", "differs", "cannot be tested")


@dataclass(frozen=True)
class Claim:
    """An item of the paper: where it is, what it says, and the function that checks it.

    `section` is the section of the page to which it belongs. `reason` is why a claim cannot be
    tested; such a claim has no function.
    """

    id: str
    kind: str
    place: str
    section: str
    says: str
    check: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    reason: str = ""
    headline: bool = False


@dataclass(frozen=True)
class Entry:
    """A claim with our value and the verdict, one of `VERDICTS`."""

    claim: Claim
    ours: str
    verdict: str


@cache
def read_claims() -> tuple[Claim, ...]:
    """Return all claims, in the order of the paper.

    Examples
    --------
    >>> read_claims()[0].id
    'alg-1'
    """
    text = (resources.files("bneuralt_paper") / "claims.toml").read_text(encoding="utf-8")
    claims = tuple(Claim(**entry) for entry in tomllib.loads(text)["claim"])
    seen: set[str] = set()
    for claim in claims:
        if claim.kind not in KINDS:
            raise ValueError(f"claims.toml: {claim.id} has the unknown kind {claim.kind!r}")
        if bool(claim.check) == bool(claim.reason):
            raise ValueError(f"claims.toml: {claim.id} needs either a check or a reason")
        if claim.check and claim.check not in checks.CHECKS:
            raise ValueError(f"claims.toml: {claim.id} has the unknown check {claim.check!r}")
        if claim.id in seen:
            raise ValueError(f"claims.toml: {claim.id} is there twice")
        seen.add(claim.id)
    return claims


def check_claims(evidence: Evidence, claims: Iterable[Claim] | None = None) -> list[Entry]:
    """Return each claim with our value and the verdict.

    Examples
    --------
    >>> entries = check_claims(Evidence())
    >>> {entry.claim.id: entry.verdict for entry in entries}["alg-2"]
    'reproduced'
    """
    entries = []
    for claim in read_claims() if claims is None else claims:
        if claim.reason:
            entries.append(Entry(claim, claim.reason, "cannot be tested"))
            continue
        try:
            found = checks.CHECKS[claim.check](evidence, **claim.arguments)
        except NotTested as error:
            entries.append(Entry(claim, str(error), "cannot be tested"))
            continue
        verdict = "reproduced" if found.agrees else "differs"
        entries.append(Entry(claim, found.ours, verdict))
    return entries
