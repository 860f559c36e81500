"""Errors of the program."""

from bneuralt.cli.errors import USAGE, CommandError


def test_an_error_is_its_message_and_has_a_code():
    assert str(CommandError("the file is empty", 3)) == "the file is empty"
    assert CommandError("the file is empty", 3).code == 3
    assert CommandError("no such option").code == USAGE
