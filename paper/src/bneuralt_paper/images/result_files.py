"""Files with results on images: runs of trees, baselines, and trials of k-trees.

A folder has a file for each result, written by ``bneuralt paper images``; a published file
``images.json.xz`` has all of them. The key "format" identifies the kind of a result, and files are
checked as strictly as model files. Trained trees are not part of them, except the one that the page
draws.
"""

from __future__ import annotations

import lzma
import types
from collections.abc import Hashable
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
    read_text,
    write_atomically,
)
from bneuralt_paper.images.image_baselines import ImageBaseline
from bneuralt_paper.images.image_runs import ImageRun
from bneuralt_paper.images.k_trees import KTreeTrials
from bneuralt_paper.images.paper_runs import PaperImageRun

__all__ = [
    "PUBLISHED_IMAGES",
    "DrawnTree",
    "EarlierResult",
    "ImageResult",
    "ImageResults",
    "load_results",
    "publish_results",
    "save_result",
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


@dataclass(frozen=True)
class EarlierResult:
    """An honest error in percent, of an earlier study whose runs were not kept."""

    data: str
    name: str
    weights: int | None
    epochs: int | None
    error_percent: float
    deviation: float | None
    n_runs: int


ImageResult = PaperImageRun | ImageRun | ImageBaseline | KTreeTrials | DrawnTree | EarlierResult
_FORMATS: dict[str, Any] = {
    "bneuralt-paper-image-run": PaperImageRun,
    "bneuralt-image-run": ImageRun,
    "bneuralt-image-baseline": ImageBaseline,
    "bneuralt-k-trees": KTreeTrials,
    "bneuralt-drawn-tree": DrawnTree,
    "bneuralt-earlier-image-result": EarlierResult,
}


@dataclass
class ImageResults:
    """All results on images."""

    paper_runs: list[PaperImageRun] = field(default_factory=list)
    runs: list[ImageRun] = field(default_factory=list)
    baselines: list[ImageBaseline] = field(default_factory=list)
    k_trees: list[KTreeTrials] = field(default_factory=list)
    drawn_trees: list[DrawnTree] = field(default_factory=list)
    earlier: list[EarlierResult] = field(default_factory=list)

    def add(self, result: ImageResult) -> None:
        """Add a result to the list of its kind."""
        kinds = tuple(_FORMATS.values())
        for kind, entry in zip(kinds, fields(self), strict=True):
            if isinstance(result, kind):
                getattr(self, entry.name).append(result)

    def all(self) -> list[ImageResult]:
        """Return all results, in a fixed order."""
        every: list[ImageResult] = []
        for entry in fields(self):
            every += sorted(getattr(self, entry.name), key=lambda result: repr(_identity(result)))
        return every

    def provenance(self) -> dict[str, str]:
        """Return the numbers of results of each kind, and the time that they took."""
        counts = {
            "the paper's trees": len(self.paper_runs),
            "other trees": len(self.runs),
            "scikit-learn models": len(self.baselines),
            "trials of k-trees": sum(len(entry.trials) for entry in self.k_trees),
        }
        return {"images": ", ".join(f"{what}: {n}" for what, n in counts.items() if n)}


def save_result(result: ImageResult, path: str | PathLike[str]) -> None:
    """Write one result; the file is replaced atomically."""
    write_atomically(path, format_json(_to_dict(result)) + "\n")


def publish_results(results: ImageResults, path: str | PathLike[str]) -> None:
    """Write all results to one compressed file; the same results give the same bytes."""
    # JSON texts contain no NUL
    text = "\0".join(format_json(_to_dict(result)) for result in results.all())
    write_atomically(path, lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def _to_dict(result: ImageResult) -> dict[str, Any]:
    name = next(name for name, kind in _FORMATS.items() if kind is type(result))
    return {"format": name, "version": _VERSION, "result": asdict(result)}


def load_results(source: str | PathLike[str]) -> ImageResults:
    """Read the results of a folder of ``*.json`` files, or of a file of `publish_results`.

    Raises
    ------
    ModelFileError
        A `ValueError` that names a file of an unknown kind, an invalid file, or a file with the
        same run as another one.

    Examples
    --------
    >>> import tempfile
    >>> from bneuralt_paper.images.image_baselines import ImageBaseline
    >>> from bneuralt_paper.images.result_files import load_results, save_result
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_result(ImageBaseline("mnist", "CART", 0, 0.12, None, 9.5), f"{folder}/cart.json")
    ...     load_results(folder).baselines
    [ImageBaseline(data='mnist', name='CART', seed=0, test_error=0.12, weights=None, seconds=9.5)]
    """
    source = Path(source)
    if source.is_file():
        with errors_naming(source):
            try:
                text = lzma.decompress(source.read_bytes()).decode()
            except (lzma.LZMAError, UnicodeDecodeError) as error:
                raise ModelFileError(f"this is no file of image results: {error}") from error
            texts = {f"{source}, result {i}": part for i, part in enumerate(text.split("\0"))}
    else:
        texts = {str(path): read_text(path) for path in sorted(source.glob("*.json"))}
    if not texts:
        raise ModelFileError(
            f"{source}: this folder contains no *.json files; write them with "
            "`bneuralt paper images`"
        )
    results, path_of_run = ImageResults(), dict[Hashable, str]()
    for path, text in texts.items():
        with errors_naming(path):
            result = _parse(text)
            first = path_of_run.setdefault(_identity(result), path)
            if first is not path:
                name = Path(first).name
                raise ModelFileError(f"this is the same run as in {name}; remove one of them")
        results.add(result)
    return results


def _parse(text: str) -> ImageResult:
    data = parse_json(text)
    name = data.get("format") if isinstance(data, dict) else None
    if name not in _FORMATS:
        raise ModelFileError(
            f'"format" is {name!r}, not one of {", ".join(_FORMATS)}; move the file elsewhere'
        )
    check_format(data, name, _VERSION)
    check_keys(data, ("format", "version", "result"), "the file")
    result: ImageResult = _read(_FORMATS[name], data["result"], "result")
    return result


def _identity(result: ImageResult) -> Hashable:
    """Return the settings of a result, which no other result may share."""
    if isinstance(result, ImageRun):
        settings = (result.recipe, result.protocol, result.epochs, result.trees, result.weights)
        return (result.data, result.seed, *settings)
    if isinstance(result, ImageBaseline):
        return result.data, result.seed, result.name, result.weights
    if isinstance(result, KTreeTrials):
        return result.name, result.seed, result.max_epochs
    if isinstance(result, EarlierResult):
        return "earlier", result.data, result.name, result.weights
    return type(result).__name__, result.name


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
