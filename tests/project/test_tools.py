"""The sample of mutants is complete and reproducible."""

import ast
from dataclasses import replace
from itertools import islice

import pytest

from tests.tools.mutants import cpp_changes, projects, python_changes, reach, sample, switches

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


def test_changes_are_found_again_below_other_lines(tmp_path, monkeypatch):
    functions = "def f(a):\n    return a < 1\n\n\ndef g(a):\n    b = a < 1\n    return b, a < 1\n"
    file = tmp_path / "module.py"
    file.write_text(functions)
    monkeypatch.setattr(sample, "ROOT", tmp_path)
    sample.changes_by_kind.cache_clear()
    borders = sample.changes_by_kind("python", "module.py")["border"]
    mutants = [
        sample.Mutant(i, "python", c.file, c.place, c.scope, c.kind, c.description)
        for i, c in enumerate(borders)
    ]
    assert [(m.scope, m.place) for m in mutants] == [("f", "2:11"), ("g", "6:8"), ("g", "7:14")]
    assert [sample.find(mutant) for mutant in mutants] == borders
    sample.changes_by_kind.cache_clear()
    file.write_text("import math\n\n\n" + functions)
    assert [sample.find(m).place for m in mutants[::2]] == ["5:11", "10:14"]
    sample.changes_by_kind.cache_clear()
    file.write_text(functions.replace("def g", "def h"))
    assert [sample.find(m) is None for m in mutants] == [False, True, True]
    sample.changes_by_kind.cache_clear()


def test_scopes_of_a_source():
    text = """namespace n {
template <class T> struct A : B<T> {
    explicit A(int a) : a_(a + 1) { g(a); }
    int size() const { return a_ + 2; }
};
int f(int a) {
    return [&](int b) { return a + b; }(3);
}
}
"""
    scopes = {c.old: c.scope for c in cpp_changes.changes_of("f.cpp", text) if c.kind == "operator"}
    assert scopes == {"a + 1": "A", "a_ + 2": "A::size", "a + b": "f"}


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


class _Outcomes(projects._Project):
    """A project whose tests fail as listed: always, or with a change only."""

    def __init__(self, broken=(), noticing=(), fail_together=()):
        super().__init__(None)
        self.broken, self.noticing, self.fail_together = broken, noticing, fail_together

    def _fails(self, tests, change):
        names = {test.name for test in tests}
        failing = {*self.broken, *(self.noticing if change else ())}
        return not names.isdisjoint(failing) or names == set(self.fail_together)


@pytest.mark.parametrize(
    ("outcomes", "is_noticed"),
    [
        ({}, False),
        ({"broken": "a"}, False),
        ({"noticing": "b"}, True),
        ({"broken": "ac", "noticing": "b"}, True),
        ({"broken": "b", "noticing": "b"}, False),
        ({"fail_together": "abc"}, False),
    ],
)
def test_a_test_that_fails_without_the_change_does_not_count(outcomes, is_noticed):
    tests = [reach.Test(name, 0.1, {}, []) for name in "abc"]
    project, change = _Outcomes(**outcomes), next(sample.draws("python", 1))
    for _ in range(2):  # what is known from the first change is used for the second
        assert project._some_notices(tests, change, 90) == is_noticed


def test_draws_may_complete_a_list():
    kept = list(islice(sample.draws("python", 1), 5))
    drawn = sample.draw("python", 8, 1, lambda changes: [True] * len(changes), kept)
    assert drawn[:5] == kept and len(set(drawn)) == 8


def test_changes_are_found_again_until_their_function_or_file_is_gone():
    """The tool draws those anew that it does not find; sources may move on without it."""
    change = next(sample.draws("python", 1))
    line, column = map(int, change.place.split(":"))
    row = sample.Mutant(
        1,
        "python",
        change.file,
        f"{line + 3}:{column}",
        change.scope,
        change.kind,
        change.description,
    )
    assert sample.find(row) == change
    assert sample.find(replace(row, scope="no_such_function")) is None
    assert sample.find(replace(row, file="src/bneuralt/no_such_module.py")) is None
