"""Fixtures of the tests of the program."""

from types import SimpleNamespace

import pytest

from bneuralt.cli.program import main


@pytest.fixture
def run_here(capsys):
    """Run the program in this process, which is much faster."""

    def run(*arguments):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as end:  # argparse
            code = end.code
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return SimpleNamespace(returncode=code, stdout=captured.out, stderr=captured.err)

    return run
