"""The file of all results on images: runs of trees, baselines, and trials of k-trees.

``bneuralt paper images`` adds each finished run to it, and continues from it. The key "format"
identifies the kind of a result, and the file is checked as strictly as model files. Trained trees
are not part of it, except the one that the page draws.
"""

from __future__ import annotations

import lzma
import types
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from os import PathLike
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from bneuralt.files import (
    ModelFileError,
    check_format,
    check_keys,
    errors_naming,
    format_json,
    parse_json,
    write_atomically,
)
from bneuralt_paper.images.image_baselines import ImageBaseline
from bneuralt_paper.images.image_runs import ImageRun
from bneuralt_paper.images.k_trees import KTreeTrials
from bneuralt_paper.images.paper_runs import PaperImageRun

__all__ = [
    "PUBLISHED_IMAGES",
    "DrawnTree",
    "ImageResult",
    "ImageResults",
    "load_results",
    "write_results",
]

#: The name of the file with all results, beside the table of runs.
PUBLISHED_IMAGES = "images.json.xz"
_VERSION = 1
_TYPE_NAMES = {
    int: "an integer",
    float: "a number",
    str: "a string",
    bool: "true or false",
    list: "a list with entries",
}


@dataclass(frozen=True)
class DrawnTree:
    """The structure of a trained tree, for a drawing: parents of function nodes and of leaves."""

    name: str
    n_outputs: int
    parent: list[int]
    leaf_parent: list[int]
    test_error: float


ImageResult = PaperImageRun | ImageRun | ImageBaseline | KTreeTrials | DrawnTree
_FORMATS: dict[str, Any] = {
    "bneuralt-paper-image-run": PaperImageRun,
    "bneuralt-image-run": ImageRun,
    "bneuralt-image-baseline": ImageBaseline,
    "bneuralt-k-trees": KTreeTrials,
    "bneuralt-drawn-tree": DrawnTree,
}


@dataclass
class ImageResults:
    """All results on images."""

    paper_runs: list[PaperImageRun] = field(default_factory=list)
    runs: list[ImageRun] = field(default_factory=list)
    baselines: list[ImageBaseline] = field(default_factory=list)
    k_trees: list[KTreeTrials] = field(default_factory=list)
    drawn_trees: list[DrawnTree] = field(default_factory=list)

    def add(self, result: ImageResult) -> None:
        """Add a result to the list of its kind."""
        kinds = tuple(_FORMATS.values())
        for kind, entry in zip(kinds, fields(self), strict=True):
            if isinstance(result, kind):
                getattr(self, entry.name).append(result)

    def all(self) -> list[ImageResult]:
        """Return all results, by kind and name."""
        every: list[ImageResult] = []
        for entry in fields(self):
            every += sorted(getattr(self, entry.name), key=lambda result: result.name)
        return every


def write_results(results: ImageResults, path: str | PathLike[str]) -> None:
    """Write all results to one compressed file; the same results give the same bytes."""
    # JSON texts contain no NUL
    text = "\0".join(format_json(_to_dict(result)) for result in results.all())
    write_atomically(path, lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def _to_dict(result: ImageResult) -> dict[str, Any]:
    name = next(name for name, kind in _FORMATS.items() if kind is type(result))
    return {"format": name, "version": _VERSION, "result": asdict(result)}


def load_results(path: str | PathLike[str]) -> ImageResults:
    """Read a file of `write_results`.

    Raises
    ------
    ModelFileError
        A `ValueError` that names the file, and the result that is of an unknown kind, is invalid,
        or has the name of another one.

    Examples
    --------
    >>> import tempfile
    >>> from bneuralt_paper.images.image_baselines import ImageBaseline
    >>> cart = ImageBaseline("mnist", "CART", 0, 0.12, None, 9.5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_results(ImageResults(baselines=[cart]), f"{folder}/images.json.xz")
    ...     load_results(f"{folder}/images.json.xz").baselines == [cart]
    True
    """
    with errors_naming(path):
        try:
            text = lzma.decompress(Path(path).read_bytes()).decode()
        except (lzma.LZMAError, UnicodeDecodeError) as error:
            raise ModelFileError(f"this is no file of image results: {error}") from error
    results, names = ImageResults(), set[str]()
    for i, part in enumerate(text.split("\0")):
        with errors_naming(f"{path}, result {i}"):
            result = _parse(part)
            if result.name in names:
                raise ModelFileError(f"{result.name} is there twice; remove one of them")
        names.add(result.name)
        results.add(result)
    return results


def _parse(text: str) -> ImageResult:
    data = parse_json(text)
    name = data.get("format") if isinstance(data, dict) else None
    if name not in _FORMATS:
        raise ModelFileError(f'"format" is {name!r}, not one of {", ".join(_FORMATS)}')
    check_format(data, name, _VERSION)
    check_keys(data, ("format", "version", "result"), "the file")
    result: ImageResult = _read(_FORMATS[name], data["result"], "result")
    return result


def _read(kind: Any, value: Any, where: str) -> Any:
    """Convert parsed JSON to an object of a type; raise an error if it does not have this type."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is types.UnionType:  # only "X | None" is used
        return None if value is None else _read(inner[0], value, where)
    if is_dataclass(kind) and isinstance(value, dict):
        check_keys(value, [entry.name for entry in fields(kind)], f'"{where}"')
        hints = get_type_hints(kind)
        parts = {name: _read(hints[name], v, f"{where}.{name}") for name, v in value.items()}
        return kind(**parts)  # type: ignore[operator]
    if origin is list and isinstance(value, list) and value:
        return [_read(inner[0], v, f"{where}[{i}]") for i, v in enumerate(value)]
    if origin is dict and isinstance(value, dict):
        return {name: _read(inner[1], v, f"{where}.{name}") for name, v in value.items()}
    if type(value) is kind or (kind is float and type(value) is int):
        return value
    expected = _TYPE_NAMES.get(origin or kind, "an object")
    raise ModelFileError(f'"{where}" is {value!r:.50}, not {expected}')
