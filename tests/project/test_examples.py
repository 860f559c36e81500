"""The programs of the folder `examples` run, print something, and are listed."""

import os
import re
import shutil
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


# -- boards --------------------------------------------------------------------------------


def made(folder, tmp_path):
    """Copy the files of a folder, and run the program that makes the model beside them."""
    for path in (FOLDER / folder).iterdir():
        shutil.copy(path, tmp_path)
    subprocess.run([sys.executable, "make_model.py"], cwd=tmp_path, check=True)


def test_the_program_for_micropython_runs(tmp_path):
    """With MicroPython where there is one, else with Python."""
    pytest.importorskip("pandas")
    made("micropython", tmp_path)
    program = shutil.which("micropython") or sys.executable
    done = subprocess.run(
        [program, "main.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split()[0] in ("setosa", "versicolor", "virginica")


def test_the_module_for_micropython_has_only_what_it_knows(tmp_path):
    pytest.importorskip("pandas")
    made("micropython", tmp_path)
    source = (tmp_path / "model.py").read_text(encoding="utf-8")
    assert not re.search(r"as_integer_ratio|is_integer|bit_length|:=|\bimport\b|\bf['\"]", source)


ARDUINO = """
#include <stdint.h>
struct Port { void begin(long) {} void println(const char *) {} };
static Port Serial;
static int analogRead(int i) { return 100 * i; }
static void delay(int) {}
#include "flowers.ino"
int main() { setup(); loop(); return 0; }
"""


@pytest.mark.parametrize("compiler", ["avr-g++ -mmcu=atmega328p -std=gnu++11", "g++"])
def test_the_sketch_for_arduino_compiles(compiler, tmp_path):
    pytest.importorskip("pandas")
    if shutil.which(compiler.split()[0]) is None:
        pytest.skip(f"there is no {compiler.split()[0]}")
    made("arduino", tmp_path)
    (tmp_path / "sketch.cpp").write_text(ARDUINO)
    command = [*compiler.split(), "-Os", "-Wall", "-Werror", "sketch.cpp", "-o", "sketch"]
    subprocess.run(command, cwd=tmp_path, check=True)
