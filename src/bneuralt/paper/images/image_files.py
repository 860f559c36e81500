"""The files of a folder of results on images: trained models, baselines, trials of k-trees.

``bneuralt paper mnist`` and ``bneuralt paper ktree`` write them. Each says in its key "format" what
it is, and all are read as strictly as models are.
"""

from __future__ import annotations

import types
from collections.abc import Hashable
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from os import PathLike
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from bneuralt.datasets.catalogue import IMAGES
from bneuralt.estimators.loading import model_from_dict
from bneuralt.estimators.model_file import MODEL_FORMAT
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
from bneuralt.paper.images.ktree import KTreeTrials
from bneuralt.paper.images.mnist import PROTOCOLS, RECIPES, ImageRun
from bneuralt.paper.images.mnist_baselines import Baseline

__all__ = ["ImageResults", "load_results", "save_result"]

_FORMATS = {Baseline: "bneuralt-image-baseline", KTreeTrials: "bneuralt-k-trees"}
_VERSION = 1
_IN_WORDS = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "true or false",
    list: "a list with entries",
}


@dataclass
class ImageResults:
    """What a folder holds; runs have the models that they made beside them."""

    trained: list[tuple[ImageRun, Any]] = field(default_factory=list)
    baselines: list[Baseline] = field(default_factory=list)
    k_trees: list[KTreeTrials] = field(default_factory=list)

    @property
    def runs(self) -> list[ImageRun]:
        """The runs without their models."""
        return [run for run, _ in self.trained]

    def provenance(self) -> dict[str, str]:
        """Return how much there is, for a reader."""
        counts = {
            "trained models": len(self.trained),
            "models of scikit-learn": len(self.baselines),
            "k-trees": sum(len(entry.trials) for entry in self.k_trees),
        }
        return {"on images": ", ".join(f"{what}: {n}" for what, n in counts.items() if n)}


def save_result(result: Baseline | KTreeTrials, path: str | PathLike[str]) -> None:
    """Write a result that has no model, in full or not at all."""
    content = {"format": _FORMATS[type(result)], "version": _VERSION, "result": asdict(result)}
    write_atomically(path, format_json(content) + "\n")


def load_results(folder: str | PathLike[str]) -> ImageResults:
    """Read all files ``*.json`` of a folder.

    Parameters
    ----------
    folder : path

    Raises
    ------
    ModelFileError
        A `ValueError` that names the file and says what is wrong with it: it is of no known kind,
        broken, or has the same result as another one.

    Examples
    --------
    >>> import tempfile
    >>> from bneuralt.paper.images.image_files import load_results, save_result
    >>> from bneuralt.paper.images.mnist_baselines import Baseline
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_result(Baseline("mnist", "CART", 0, 0.12, None, 9.5), f"{folder}/cart.json")
    ...     load_results(folder).baselines
    [Baseline(data='mnist', name='CART', seed=0, test_error=0.12, weights=None, seconds=9.5)]
    """
    paths = sorted(Path(folder).glob("*.json"))
    if not paths:
        raise ModelFileError(
            f"{folder}: there is no file *.json in this folder; `bneuralt paper mnist --out` "
            "writes them"
        )
    results, seen = ImageResults(), dict[Hashable, Path]()
    for path in paths:
        with errors_naming(path):
            found, model = _parse(parse_json(read_text(path)))
            first = seen.setdefault(_identity(found), path)
            if first is not path:
                raise ModelFileError(f"this is the same run as in {first.name}; remove one of them")
        if isinstance(found, ImageRun):
            results.trained.append((found, model))
        elif isinstance(found, Baseline):
            results.baselines.append(found)
        else:
            results.k_trees.append(found)
    return results


def _parse(data: Any) -> tuple[ImageRun | Baseline | KTreeTrials, Any]:
    """Return what a file holds, and its model where it has one."""
    name = data.get("format") if isinstance(data, dict) else None
    if name == MODEL_FORMAT:
        model = model_from_dict(data)
        return _run_of(model), model
    for kind, known in _FORMATS.items():
        if name == known:
            check_format(data, known, _VERSION)
            check_keys(data, ("format", "version", "result"), "the file")
            return _read(kind, data["result"], "result"), None
    raise ModelFileError(
        "this is not a result of `bneuralt paper mnist` or `bneuralt paper ktree` (its "
        f'"format" is {name!r}); move it out of the folder'
    )


def _identity(result: ImageRun | Baseline | KTreeTrials) -> Hashable:
    """What was asked for: two results may share all numbers else, but not this."""
    if isinstance(result, ImageRun):
        asked = (result.recipe, result.protocol, result.epochs, result.trees, result.weights)
        return (result.data, result.seed, *asked)
    if isinstance(result, Baseline):
        return result.data, result.seed, result.name, result.weights
    return result.k, result.seed, result.max_epochs


def _run_of(model: Any) -> ImageRun:
    if "run" not in model.extra_:
        raise ModelFileError(
            "this model was not written by `bneuralt paper mnist`; move it out of the folder"
        )
    run = _read(ImageRun, model.extra_["run"], "run")
    for name, known in {"data": IMAGES, "recipe": RECIPES, "protocol": PROTOCOLS}.items():
        if getattr(run, name) not in known:
            wanted = " or ".join(known)
            raise ModelFileError(f'"run.{name}" is {getattr(run, name)!r}, not {wanted}')
    return run


def _read(kind: Any, value: Any, where: str) -> Any:
    """Return parsed JSON as an object of a type, and complain where it is of another."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is types.UnionType:  # only "or None" is in use
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
    wanted = _IN_WORDS.get(origin or kind, "an object")
    raise ModelFileError(f'"{where}" is {value!r:.50}, not {wanted}')
