"""What is imported to show the help of commands."""

import subprocess
import sys

HELP = """
import contextlib, io, sys
from bneuralt.cli.program import main
for command in {commands!r}:
    with contextlib.redirect_stdout(io.StringIO()) as shown, contextlib.suppress(SystemExit):
        main([*command.split(), "--help"])
    assert "usage: bneuralt " + command in shown.getvalue(), command
slow = {{"numpy", "scipy", "sklearn", "pandas", "matplotlib", "importlib.metadata"}}
print(sorted(slow & sys.modules.keys()))
"""


def loaded_by_help(commands):
    """Return the large packages that are loaded after the help of some commands."""
    code = HELP.format(commands=commands)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()
