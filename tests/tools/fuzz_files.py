"""Model and tree files with random damage: `python -m tests.tools.fuzz_files N`.

A damaged file is refused with a `ModelFileError`, or gives a model that predicts; reading it
neither takes long nor a lot of memory.
"""

from __future__ import annotations

import contextlib
import copy
import json
import re
import sys
import tempfile
import warnings
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np

from tests.helpers.limits import main
from tests.helpers.paths import MODELS

FILES = [path.read_bytes() for path in sorted(MODELS.glob("**/*.json"))]
#: A cell of each kind of column.
CELLS = {"number": 0.0, "category": "a", "date": np.datetime64("2020-02-29")}
#: Settings of quick fits, for estimators that have them.
QUICK = {"max_epochs": 2, "n_estimators": 2, "n_generations": 2, "population_size": 4,
         "random_state": 0}  # fmt: skip
VALUES: tuple[Any, ...] = (
    0, 1, -1, 2, 3, 255, 2**31 - 1, 2**31, 2**63, 2**64, -(2**63), 10**30, 0.5, -0.0, 1e308, -1e308,
    5e-324, True, False, None, "", "nan", "float64", "object", "<f8", "U1", "U100000000", 10**8,
    "adam", "ä\0", "x" * 1000, [],
    [1], [None], [[]], ["a", 1], [1e308, -1e308], {}, {"name": "adam"}, {"name": []}, [[1, 2]],
)  # fmt: skip
NUMBERS = ("1e999", "-1", "NaN", "-Infinity", "99999999999999999999", "1e-400", "null", '"a"', "[]",
           "0", "1.5", "2147483648", "00", "1e308", "9" * 5000, "true", "{}")  # fmt: skip
n_results = 0  #: files that gave a model
_folder: Any = None


def prepare() -> None:
    """Import what the cases need, before memory is limited."""
    global _folder
    _folder = tempfile.TemporaryDirectory()
    FILES.extend(files_of_all_kinds())
    for content in FILES:
        assert read(content) is None, content[:200]


def files_of_all_kinds() -> list[bytes]:
    """Return a file of each kind of model, of a table with all kinds of columns."""
    import pandas as pd

    import bneuralt.estimators
    from bneuralt.estimators.kinds import ENTRY_POINTS, find_class, registered_kinds

    assert bneuralt.estimators
    rng, n = np.random.default_rng(0), 60
    columns = {
        "number": rng.normal(size=n),
        "gaps": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
        "category": rng.choice(["a", "b", "c"], n),
        "date": pd.date_range("2020-01-01", periods=n, freq="41h"),
        "flag": rng.random(n) < 0.5,
    }
    table, numbers = pd.DataFrame(columns), rng.normal(size=n)
    contents = []
    for kind in sorted({*registered_kinds(), *(e.name for e in entry_points(group=ENTRY_POINTS))}):
        estimator: Any = find_class(kind)
        quick = {name: QUICK[name] for name in QUICK.keys() & estimator().get_params().keys()}
        target = np.where(numbers > 0, "yes", "no") if "Classifier" in kind else numbers
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            path = Path(_folder.name) / "kind.json"
            estimator(**quick).fit(table, target).save(path)
        contents.append(path.read_bytes())
    return contents


# -- damage ----------------------------------------------------------------------------------


def places(value: Any) -> list[tuple[Any, Any]]:
    """All places in a parsed text: (container, key or position)."""
    keys = value.keys() if isinstance(value, dict) else range(len(value))
    pairs = [(value, key) for key in keys]
    for key in keys:
        if isinstance(value[key], (dict, list)):
            pairs += places(value[key])
    return pairs


def damage_parsed(rng: np.random.Generator, text: str) -> str:
    """Replace, remove, repeat or rename what is somewhere in the file."""
    data = json.loads(text)
    for _ in range(int(rng.choice([1, 1, 2, 4]))):
        everywhere = places(data)
        if rng.random() < 0.6:  # most places are numbers in long lists
            named = [place for place in everywhere if isinstance(place[0], dict)]
            everywhere = named or everywhere
        if not everywhere:
            break
        container, key = everywhere[rng.integers(len(everywhere))]
        kind = rng.integers(6)
        if kind == 0:
            del container[key]
        elif kind == 1 and isinstance(container, list):
            container.insert(key, copy.deepcopy(container[key]))
        elif kind == 1:
            container[f"{key}_"] = container.pop(key)
        elif kind == 2:
            other, other_key = everywhere[rng.integers(len(everywhere))]
            container[key] = copy.deepcopy(other[other_key])
        else:
            container[key] = copy.deepcopy(VALUES[rng.integers(len(VALUES))])
    return json.dumps(data, indent=2)


def damage_text(rng: np.random.Generator, text: str) -> str:
    """Change lines and numbers of the text."""
    kind = rng.integers(4)
    if kind == 0:
        numbers = list(re.finditer(r"-?\d+(\.\d+)?(e-?\d+)?", text))
        match = numbers[rng.integers(len(numbers))]
        return text[: match.start()] + str(rng.choice(NUMBERS)) + text[match.end() :]
    if kind == 1:
        words = list(re.finditer(r'"[^"]*"', text))
        match = words[rng.integers(len(words))]
        other = words[rng.integers(len(words))].group()
        new = str(rng.choice([other, '""', '"\\ud800"', "1", '"' + "a" * 100 + '"']))
        return text[: match.start()] + new + text[match.end() :]
    lines = text.splitlines(keepends=True)
    first = int(rng.integers(len(lines)))
    last = min(len(lines), first + int(rng.choice([1, 1, 2, 5])))
    if kind == 2:
        return "".join(lines[:first] + lines[last:])
    return "".join(lines[:last] + lines[first:])


def damage_bytes(rng: np.random.Generator, content: bytes) -> bytes:
    """Flip bits, cut, repeat or insert bytes."""
    changed = bytearray(content)
    kind = rng.integers(4)
    if kind == 0:
        for _ in range(int(rng.choice([1, 2, 10]))):
            changed[rng.integers(len(changed))] ^= 1 << int(rng.integers(8))
    elif kind == 1:
        del changed[rng.integers(len(changed)) :]
    elif kind == 2:
        at = int(rng.integers(len(changed)))
        depth = int(rng.choice([10, 1000, 10**5]))
        changed[at:at] = bytes(rng.choice([b"[", b"{", b'{"a":', b" ", b"1", b"\xff"])) * depth
    else:
        first, last = sorted(rng.integers(0, len(changed), 2))
        changed[first:first] = changed[first:last]
    return bytes(changed)


def draw_file(seed: int) -> bytes:
    """A damaged copy of one of the files that are kept."""
    rng = np.random.default_rng(seed)
    content = FILES[rng.integers(len(FILES))]
    kind = rng.random()
    if kind < 0.6:
        return damage_parsed(rng, content.decode()).encode()
    if kind < 0.8:
        return damage_text(rng, content.decode()).encode()
    return damage_bytes(rng, content)


# -- reading ---------------------------------------------------------------------------------


def read(content: bytes) -> str | None:
    """Read a file and predict with its model; return what is wrong with the outcome, or None."""
    from bneuralt import NeuralTree, load_model
    from bneuralt.files import ModelFileError

    global n_results
    path = Path(_folder.name) / "damaged.json"
    path.write_bytes(content)
    models: list[Any] = []
    try:
        models.append(load_model(path))
    except ModelFileError as error:
        if len(str(error).split()) < 3:
            return f"no sentence: {error}"
    with contextlib.suppress(ModelFileError, UnicodeDecodeError):
        models.append(NeuralTree.from_json(content.decode()))
    for model in models:
        n_results += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with np.errstate(all="ignore"):
                complaint = _use(model)
        if complaint:
            return complaint
    return None


def _use(model: Any) -> str | None:
    from bneuralt import NeuralTree
    from bneuralt.tree.neural_tree import OutputOverflow

    if isinstance(model, NeuralTree):
        X = np.zeros((3, model.n_inputs))
        shape = model.forward(X).shape
        if shape != (3, model.n_outputs):
            return f"the tree gives outputs of shape {shape}"
        assert NeuralTree.from_json(model.to_json()) == model
        return None
    X = _rows(model)
    try:
        predicted = model.predict(X)
    except ValueError as error:
        if isinstance(error, OutputOverflow) or "finite" in str(error):
            return None  # weights that are too large, said in a sentence
        raise
    if predicted.shape[0] != 3:
        return f"the model predicts {predicted.shape}"
    classes = getattr(model, "classes_", np.zeros(1)).tolist()
    if len(set(classes)) != len(classes):
        return f"the model has the classes {classes}"
    path = Path(_folder.name) / "again.json"
    model.save(path, extra=model.extra_)
    if hasattr(model, "predict_proba"):
        model.predict_proba(X)
    return None if len(repr(model)) > 5 else "the model has no text"


def _rows(model: Any) -> Any:
    """Return rows that a model takes: an array, or a frame if it has columns of other kinds."""
    import pandas as pd

    cells = [CELLS[column.feature.kind] for column in model.model_.columns]
    if all(cell == 0.0 for cell in cells):
        return np.zeros((3, model.n_features_in_))
    names = getattr(model, "feature_names_in_", range(len(cells)))
    return pd.concat(
        [pd.Series([cell] * 3, name=n) for n, cell in zip(names, cells, strict=True)], axis=1
    )


def run(seed: int) -> str | None:
    """Read the damaged file of a seed."""
    return read(draw_file(seed))


if __name__ == "__main__":
    sys.exit(main("tests.tools.fuzz_files"))
