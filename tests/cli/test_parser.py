"""The arguments of the program."""

import argparse

import pytest

from bneuralt.cli.program import COMMANDS, build_parser


def commands(parser, name="bneuralt"):
    """Yield the parser of each command."""
    yield name, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for part, below in action.choices.items():
                yield from commands(below, f"{name} {part}")


PARSERS = dict(commands(build_parser()))
NAMES = [name for name, _ in COMMANDS]
COMMAND = ["train", "t.csv", "--target", "y", "--out", "m.json"]


def test_every_option_of_every_command_says_what_it_does():
    for command, parser in PARSERS.items():
        for action in parser._actions:
            if not isinstance(action, argparse._SubParsersAction):
                assert action.help, (command, action.dest)
    assert set(NAMES) <= {command.removeprefix("bneuralt ") for command in PARSERS}


def test_config_prints_the_versions(run_here):
    done = run_here("config")
    assert done.returncode == 0
    assert "bneuralt" in done.stdout and "numpy" in done.stdout.lower()


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_a_page_of_help(run_here, name):
    done = run_here(name, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(f"usage: bneuralt {name}")


def test_defaults_and_limits_of_small_options():
    parser = build_parser()
    assert parser.parse_args(["demo", "--splits", "1"]).splits == 1
    with pytest.raises(SystemExit):
        parser.parse_args(["demo", "--splits", "0"])


@pytest.mark.parametrize(
    ("option", "accepted", "refused", "message"),
    [
        ("--seed", ("0", "4294967295"), ("-1", "4294967296"), "is not in 0 to 4294967295"),
        ("--cv", ("0", "2"), ("1", "-1"), "is neither 0 nor at least 2"),
    ],
)
def test_limits_of_numbers(option, accepted, refused, message, capsys):
    parser = build_parser()
    for value in accepted:
        args = parser.parse_args([*COMMAND, f"{option}={value}"])
        assert vars(args)[option.strip("-")] == int(value)
    for value in refused:
        with pytest.raises(SystemExit):
            parser.parse_args([*COMMAND, f"{option}={value}"])
        assert f"{value} {message}" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["train", "export"])
def test_files_to_write_must_be_named(name, capsys):
    with pytest.raises(SystemExit):
        build_parser().parse_args([name, "x"])
    assert "--out" in capsys.readouterr().err
