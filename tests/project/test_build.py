"""What `make` says where something is missing, and what it installs."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from tests.helpers.needs import needs
from tests.helpers.paths import ROOT

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a shell")


class Machine:
    """Programs that a machine has: links to a few real ones, and scripts of one line."""

    def __init__(self, folder):
        self.folder, self.programs = folder, folder / "programs"
        self.programs.mkdir()
        for name in ("sh", "printf", "echo", "test"):
            if path := shutil.which(name):
                (self.programs / name).symlink_to(path)
        self.has("c++", "exit 0")
        self.has_python("python3", "3.12.1", True)

    def has(self, name, script):
        path = self.programs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def has_python(self, name, version, makes_environments=True):
        is_old = int(version.split(".")[1]) < 11
        self.has(
            name,
            f'case "$*" in *print*) echo {version} ;; *exit*) exit {int(is_old)} ;; '
            f"*) exit {int(not makes_environments)} ;; esac",
        )

    def lacks(self, name):
        (self.programs / name).unlink()

    def complaint(self):
        """What preflight says, in one sentence; empty where nothing is missing."""
        done = subprocess.run(
            [shutil.which("sh"), str(ROOT / ".ci/preflight"), "python3", ".venv"],
            cwd=self.folder, env={"PATH": str(self.programs)}, capture_output=True, text=True,
        )  # fmt: skip
        assert (done.returncode != 0) == bool(done.stderr) and done.stdout == ""
        assert done.stderr.count("\n") == bool(done.stderr)
        return done.stderr


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def test_a_complete_machine_is_not_complained_about(machine):
    assert machine.complaint() == ""
    machine.has_python("../.venv/bin/python", "3.11.0")
    machine.lacks("python3")  # the environment has its own
    assert machine.complaint() == ""


def test_a_missing_compiler_is_named_with_ways_to_install_one(machine):
    machine.lacks("c++")
    text = machine.complaint()
    for part in ("There is no C++ compiler", "apt install g++", "dnf install", "xcode-select"):
        assert part in text
    machine.has("clang++", "exit 0")
    assert machine.complaint() == ""


def test_a_compiler_without_c_plus_plus_20_is_named(machine):
    machine.has("c++", "exit 1")
    assert machine.complaint().startswith("c++ does not compile C++20")


def test_a_python_without_venv_is_named(machine):
    machine.has_python("python3", "3.12.1", makes_environments=False)
    text = machine.complaint()
    assert "cannot make environments" in text and "apt install python3-venv" in text


def test_an_old_or_missing_python_is_named(machine):
    machine.has_python("python3", "3.10.13")
    text = machine.complaint()
    assert text.startswith("python3 is Python 3.10.13, and 3.11 or newer is needed: install one")
    machine.has_python("python3.14", "3.14.0")
    assert machine.complaint().endswith("call make PYTHON=python3.14, which is installed.\n")
    machine.lacks("python3")
    assert machine.complaint().startswith("There is no python3: install Python 3.11")


@pytest.mark.parametrize("version", ["3.10.13", None])
def test_an_environment_that_cannot_be_used_is_named(machine, version):
    if version:
        machine.has_python("../.venv/bin/python", version)
    else:
        (machine.folder / ".venv/bin").mkdir(parents=True)
    text = machine.complaint()
    assert text.startswith(f"The environment .venv has Python {version or 'that does not start'}")
    assert text.endswith("remove it (rm -r .venv) and call make again.\n")


@needs("slow")
def install(folder, *packages):
    """Install an extra of these packages, without a package index."""
    (folder / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/extras.py", folder / ".ci")
    extras = "[project.optional-dependencies]\ntest = " + json.dumps(packages)
    (folder / "pyproject.toml").write_text(f'[project]\ndependencies = ["numpy>=2.2"]\n{extras}')
    command = [sys.executable, ".ci/extras.py", "install", "test", "--", "--no-index"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_packages_that_cannot_be_had_are_named(tmp_path):
    done = install(tmp_path, "pytest>=8", "no-package-of-this-name>=1")
    assert done.returncode == 0
    assert done.stdout == (
        "no-package-of-this-name>=1 could not be installed: tests that need it are skipped\n"
    )


def test_without_what_every_test_needs_nothing_goes_on(tmp_path):
    assert install(tmp_path, "numpy", "pytest>=1000").returncode != 0


def test_lower_bounds_are_those_of_users(tmp_path):
    done = subprocess.run(
        [sys.executable, str(ROOT / ".ci/extras.py"), "bounds", "plot", "dask"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    names = [line.partition("==")[0] for line in done.stdout.splitlines()]
    assert {"numpy", "scikit-learn", "matplotlib", "dask", "pandas"} <= set(names)
    assert names == sorted(names) and ">" not in done.stdout
