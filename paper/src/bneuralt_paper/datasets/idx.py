"""Image sets as IDX files: two files of pixels and two of labels, for training and test."""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path

import numpy as np

from bneuralt_paper._typing import Array

__all__ = ["IDX_FILES", "has_images", "read_images", "write_images"]

#: Names of the files, pixels and labels alternating, training before test.
IDX_FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
_MAGIC = b"\0\0\x08"  # two zero bytes, and the type code of unsigned bytes


def has_images(folder: Path) -> bool:
    """Return whether a folder contains all four files, compressed or not."""
    return all(_find(folder, stem) for stem in IDX_FILES)


def read_images(folder: Path) -> tuple[Array, Array]:
    """Read the four files of a folder.

    Parameters
    ----------
    folder : Path
        A folder for which `has_images` is true.

    Returns
    -------
    X : uint8 array of shape (n_images, n_pixels)
        The training images, then the test images.
    y : int32 array of shape (n_images,)
        Their labels.
    """
    arrays = [_read(path) for stem in IDX_FILES if (path := _find(folder, stem))]
    X = np.concatenate([pixels.reshape(len(pixels), -1) for pixels in arrays[0::2]])
    y = np.concatenate(arrays[1::2]).astype(np.int32)
    return X, y


def write_images(X: Array, y: Array, folder: Path, n_train: int = 60000) -> None:
    """Write pixels and labels as the four files, uncompressed.

    Parameters
    ----------
    X : array of shape (n_images, 784)
        Pixels from 0 to 255.
    y : array of shape (n_images,)
        Labels from 0 to 255.
    folder : Path
        An existing folder.
    n_train : int
        Number of training images; the others are test images.
    """
    pixels = X.reshape(len(X), 28, 28)
    arrays = (pixels[:n_train], y[:n_train], pixels[n_train:], y[n_train:])
    for stem, array in zip(IDX_FILES, arrays, strict=True):
        sizes = np.array(array.shape, dtype=">u4").tobytes()
        header = _MAGIC + bytes([array.ndim]) + sizes
        (folder / stem).write_bytes(header + array.astype(np.uint8).tobytes())


def _find(folder: Path, stem: str) -> Path | None:
    for path in (folder / stem, folder / f"{stem}.gz"):
        if path.is_file():
            return path
    return None


def _read(path: Path) -> Array:
    """Read one array: type code, rank, sizes, data."""
    data = path.read_bytes()
    if path.suffix == ".gz":
        try:
            data = gzip.decompress(data)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            data = b""
    header = 4 + 4 * data[3] if len(data) > 3 else 4
    is_complete = data[:3] == _MAGIC and len(data) >= header
    shape = np.frombuffer(data[4:header], dtype=">u4").tolist() if is_complete else []
    if not is_complete or len(data) != header + math.prod(shape):
        raise ValueError(f"{path} is not a complete IDX file of bytes; fetch it again")
    return np.frombuffer(data, dtype=np.uint8, offset=header).reshape(shape)
