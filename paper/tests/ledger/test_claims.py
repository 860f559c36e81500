"""The ledger: every item of the paper has an entry, and every check runs."""

import re

import pytest

from bneuralt.cli.program import main
from bneuralt_paper.ledger import Evidence, check_claims, read_claims
from bneuralt_paper.ledger.checks import CHECKS
from bneuralt_paper.ledger.claims import VERDICTS
from tests.helpers.paths import DOCS

PUBLISHED = DOCS / "reproduction"
_ITEMS = {"algorithm": "alg", "table": "table", "figure": "fig"}


def items_of(text):
    """Return the ids of all algorithms, tables and figures of a LaTeX source."""
    text = re.sub(r"(?<!\\)%.*", "", text)
    body, _, supplement = text.partition(r"\appendix")
    ids = []
    for part, letter in ((body, ""), (supplement, "a")):
        for name, prefix in _ITEMS.items():
            count = len(re.findall(rf"\\begin\{{{name}\}}", part))
            ids += [f"{prefix}-{letter}{i + 1}" for i in range(count)]
    return ids


@pytest.fixture(scope="module")
def entries():
    return {entry.claim.id: entry for entry in check_claims(Evidence.load(PUBLISHED))}


def test_every_item_of_the_paper_has_an_entry(shared):
    sources = sorted((shared / "paper").glob("*.tex"))
    items = items_of(sources[0].read_text())
    assert len(items) == 3 + 9 + 19
    kinds = tuple(_ITEMS)
    entries = {claim.id.removesuffix("b") for claim in read_claims() if claim.kind in kinds}
    assert entries == set(items)  # a figure with two panels has two entries


def test_a_source_is_numbered_as_latex_does():
    text = (
        r"\begin{table} % \begin{table}" "\n" r"\begin{figure}\appendix\begin{figure}\begin{table}"
    )
    assert items_of(text) == ["table-1", "fig-1", "table-a1", "fig-a1"]


def test_every_claim_has_a_verdict_from_published_files(entries):
    assert {entry.verdict for entry in entries.values()} == set(VERDICTS)
    assert all(entry.ours for entry in entries.values())
    without_evidence = [
        e.claim.id for e in entries.values() if e.ours.startswith(("there are no", "there is no"))
    ]
    assert without_evidence == []


def test_every_check_is_used():
    assert {claim.check for claim in read_claims()} - {""} == set(CHECKS)


@pytest.mark.parametrize(
    ("claim", "verdict", "ours"),
    [
        ("claim-best-overall", "differs", "place 3 with .831"),
        ("claim-first-six", "differs", "the first 2"),
        ("claim-size-classification", "reproduced", "116 nodes"),
        ("claim-size-regression", "reproduced", "65 nodes"),
        ("claim-relu-gap", "differs", "2.3 points"),
        ("claim-ks", "reproduced", "99 of 126 printed, 105 of 135 ours, 39 of 135 honest"),
        ("claim-only-friedman", "differs", "all but friedman"),
        ("claim-thinned", "differs", "place 10 of 11"),
        ("misprint-edges", "differs", "20,181 edges"),
        ("eq-rmsprop", "differs", ""),
        ("alg-2", "reproduced", ""),
    ],
)
def test_known_findings(entries, claim, verdict, ours):
    assert entries[claim].verdict == verdict and ours in entries[claim].ours


def test_without_evidence_only_formulas_are_decided():
    verdicts = {entry.claim.id: entry.verdict for entry in check_claims(Evidence())}
    assert verdicts["alg-2"] == "reproduced" and verdicts["table-2"] == "cannot be tested"
    assert verdicts["claim-mnist-20k"] == verdicts["fig-9"] == "cannot be tested"


def test_the_command_prints_every_claim(capsys):
    assert main(["paper", "claims", "--store", str(PUBLISHED)]) == 0
    out = capsys.readouterr().out
    assert all(f"{claim.id} (" in out for claim in read_claims())


def test_a_folder_that_is_missing(tmp_path, capsys):
    assert main(["paper", "claims", "--store", str(tmp_path / "nothing")]) != 0
    assert "nothing" in capsys.readouterr().err
