"""The command that this distribution adds to the program."""

from tests.helpers.help_imports import loaded_by_help


def test_help_is_fast_because_it_imports_no_numpy():
    commands = ["paper", "paper run", "paper report", "paper images", "paper claims"]
    assert loaded_by_help(commands) == "['importlib.metadata']"
