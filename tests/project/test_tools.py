"""The sample of mutants is complete, reproducible, and of the present sources."""

import ast
from itertools import islice

import pytest

from tests.helpers.paths import ROOT
from tests.tools.mutants import cpp_changes, python_changes, sample, switches

LANGUAGES = {"python": 400, "cpp": 150}
MUTANTS = sample.read_list()


@pytest.mark.parametrize("language", LANGUAGES)
def test_sample_is_large_and_few_changes_of_it_are_called_equivalent(language):
    mutants = [mutant for mutant in MUTANTS if mutant.language == language]
    assert len(mutants) >= LANGUAGES[language]
    verdicts = [mutant.verdict for mutant in mutants]
    assert set(verdicts) <= {"", sample.NOTICED, sample.SURVIVED, sample.EQUIVALENT}
    assert verdicts.count(sample.EQUIVALENT) <= 0.08 * len(mutants)
    assert all(mutant.first for mutant in mutants if mutant.verdict)


def test_equivalent_changes_have_an_argument():
    for mutant in MUTANTS:
        assert bool(mutant.argument) == (mutant.verdict == sample.EQUIVALENT), mutant


@pytest.mark.parametrize("language", LANGUAGES)
def test_draws_are_reproducible(language):
    drawn = list(islice(sample.draws(language, 1), 30))
    again = list(islice(sample.draws(language, 1), 30))
    assert drawn == again
    assert len({(c.file, c.place, c.kind, c.description) for c in drawn}) == len(drawn)


def test_changes_of_a_module():
    text = "def f(a, b):\n    if not a <= 1 and b:\n        return -a\n    return a - b\n"
    changes = python_changes.changes_of("f.py", text)
    made = {(c.kind, text[: c.start] + c.replacement + text[c.end :]) for c in changes}
    assert {kind for kind, _ in made} == {
        "border", "boolean", "comparison", "condition", "constant", "dropped not",
        "dropped term", "operator", "sign",
    }  # fmt: skip
    assert ("border", text.replace("<=", "<")) in {
        (k, t.replace("(", "").replace(")", "").replace("fa, b", "f(a, b)")) for k, t in made
    }
    for _, changed in made:
        ast.parse(changed)


def test_changes_of_a_source_are_put_behind_switches():
    text = "int f(int a, int b) {\n    if (a + b < 2) g(a, b);\n    return a * b + 1;\n}\n"
    changes = cpp_changes.changes_of("f.cpp", text)
    by_kind = {change.kind: change for change in changes}
    assert {"border", "constant", "operator", "removed statement", "swapped arguments"} <= set(
        by_kind
    )
    chosen = [by_kind["border"], by_kind["removed statement"]]
    switched, spans = switches.with_switches(text, list(enumerate(chosen)))
    assert "(BNT_SWITCH(0) ? (a + b <= 2) : (a + b < 2))" in switched
    assert "{ if (!BNT_SWITCH(1)) g(a, b); }" in switched
    assert [switched[span.start : span.end].count("BNT_SWITCH") for span in spans] == [1, 1]


def test_changes_of_the_list_are_changes_of_files_that_exist():
    for mutant in MUTANTS:
        assert (ROOT / mutant.file).is_file(), mutant
