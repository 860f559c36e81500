"""Files with results on images: trained models, baselines, and trials of k-trees.

They are written by ``bneuralt paper mnist`` and ``bneuralt paper ktree``. The key "format" of a
file identifies its kind, and files are checked as strictly as model files.
"""

from __future__ import annotations

import types
from collections.abc import Hashable
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from os import PathLike
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from bneuralt.datasets.catalogue import IMAGES
from bneuralt.estimators import load_model
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
from bneuralt_paper.images.image_runs import IMAGE_PROTOCOLS, ImageRun
from bneuralt_paper.images.k_trees import KTreeTrials
from bneuralt_paper.images.recipes import RECIPES

__all__ = ["ImageResults", "load_results", "save_result", "save_run"]

_FORMATS = {"bneuralt-image-baseline": ImageBaseline, "bneuralt-k-trees": KTreeTrials}
_VERSION = 1
_TYPE_NAMES = {
    int: "an integer",
    float: "a number",
    str: "a string",
    bool: "true or false",
    list: "a list with entries",
}


@dataclass
class ImageResults:
    """The results in a folder; `trained` contains pairs of a run and its model."""

    trained: list[tuple[ImageRun, Any]] = field(default_factory=list)
    baselines: list[ImageBaseline] = field(default_factory=list)
    k_trees: list[KTreeTrials] = field(default_factory=list)

    @property
    def runs(self) -> list[ImageRun]:
        """The runs, without their models."""
        return [run for run, _ in self.trained]

    def provenance(self) -> dict[str, str]:
        """Return the numbers of results of each kind."""
        counts = {
            "trained models": len(self.trained),
            "scikit-learn models": len(self.baselines),
            "k-trees": sum(len(entry.trials) for entry in self.k_trees),
        }
        return {"images": ", ".join(f"{what}: {n}" for what, n in counts.items() if n)}


def save_run(run: ImageRun, model: Any, path: str | PathLike[str]) -> None:
    """Write a trained model together with its run; `load_results` reads both."""
    model.save(path, extra={"run": asdict(run)})


def save_result(result: ImageBaseline | KTreeTrials, path: str | PathLike[str]) -> None:
    """Write a result without a model; the file is replaced atomically."""
    name = next(name for name, kind in _FORMATS.items() if kind is type(result))
    content = {"format": name, "version": _VERSION, "result": asdict(result)}
    write_atomically(path, format_json(content) + "\n")


def load_results(folder: str | PathLike[str]) -> ImageResults:
    """Read all files ``*.json`` of a folder.

    Parameters
    ----------
    folder : path

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
    paths = sorted(Path(folder).glob("*.json"))
    if not paths:
        raise ModelFileError(
            f"{folder}: this folder contains no *.json files; write them with "
            "`bneuralt paper mnist --out`"
        )
    results, path_of_run = ImageResults(), dict[Hashable, Path]()
    for path in paths:
        result = _load_result(path)
        model = None
        if result is None:
            model = load_model(path)
            with errors_naming(path):
                result = _run_of(model)
        with errors_naming(path):
            first = path_of_run.setdefault(_identity(result), path)
            if first is not path:
                raise ModelFileError(f"this is the same run as in {first.name}; remove one of them")
        if isinstance(result, ImageRun):
            results.trained.append((result, model))
        elif isinstance(result, ImageBaseline):
            results.baselines.append(result)
        else:
            results.k_trees.append(result)
    return results


def _load_result(path: Path) -> ImageRun | ImageBaseline | KTreeTrials | None:
    """Return the result in a file, or None if it is of another kind, such as a model."""
    with errors_naming(path):
        data = parse_json(read_text(path))
        name = data.get("format") if isinstance(data, dict) else None
        if name not in _FORMATS:
            return None
        check_format(data, name, _VERSION)
        check_keys(data, ("format", "version", "result"), "the file")
        result: ImageBaseline | KTreeTrials = _read(_FORMATS[name], data["result"], "result")
        return result


def _identity(result: ImageRun | ImageBaseline | KTreeTrials) -> Hashable:
    """Return the settings of a result, which no other result may share."""
    if isinstance(result, ImageRun):
        settings = (result.recipe, result.protocol, result.epochs, result.trees, result.weights)
        return (result.data, result.seed, *settings)
    if isinstance(result, ImageBaseline):
        return result.data, result.seed, result.name, result.weights
    return result.k, result.seed, result.max_epochs


def _run_of(model: Any) -> ImageRun:
    if "run" not in model.extra_:
        raise ModelFileError(
            "this model was not written by `bneuralt paper mnist`; move it out of the folder"
        )
    run: ImageRun = _read(ImageRun, model.extra_["run"], "run")
    for name, choices in {"data": IMAGES, "recipe": RECIPES, "protocol": IMAGE_PROTOCOLS}.items():
        if getattr(run, name) not in choices:
            expected = " or ".join(choices)
            raise ModelFileError(f'"run.{name}" is {getattr(run, name)!r}, not {expected}')
    return run


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
