"""The programs of the folder `examples` run, print something, and are listed."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.helpers.paths import ROOT

FOLDER = ROOT / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(path, tmp_path):
    text = path.read_text(encoding="utf-8")
    needed = set(re.findall(r"(?m)^(?:from|import) (\w+)", text))
    needed |= {"pandas"} if "as_frame" in text else set()
    needed |= {"matplotlib"} if "Display" in text else set()
    missing = [name for name in needed if not find_spec(name)]
    if missing:
        pytest.skip(f"{', '.join(missing)} is not installed")
    result = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:__main__", str(path)],
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("\n") >= 1


def test_examples_are_listed():
    listed = re.findall(r"`(\w+\.py)`", (FOLDER / "README.md").read_text(encoding="utf-8"))
    assert sorted(listed) == [path.name for path in EXAMPLES]
