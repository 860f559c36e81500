"""The tables of the tools name files that exist."""

import pytest

from tests.helpers.paths import ROOT
from tests.tools import mutants, mutants_core
from tests.tools.unnoticeable import UNNOTICEABLE

TABLE = mutants.all_modules("")


@pytest.mark.parametrize("module", TABLE)
def test_modules_that_are_changed_and_their_tests_exist(module):
    for name in (module, *TABLE[module]):
        assert (ROOT / name).is_file(), name


def test_tests_of_the_kernels_exist():
    for name in {*mutants_core.TESTS, *mutants_core.SANITIZED}:
        assert (ROOT / name).is_file(), name


def test_changes_that_no_test_can_notice_are_changes_of_the_present_code():
    for name, line, _, _ in UNNOTICEABLE:
        (module,) = (module for module in TABLE if module.endswith(name))
        assert line in map(str.strip, (ROOT / module).read_text().splitlines()), (name, line)
