"""What Python decides about a fit, as a module of JavaScript: `recipe.js`.

Automatic settings are translated from their source, and all numbers, words and patterns are read
from the modules that define them. Nothing is written a second time.
"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from bneuralt import estimators
from bneuralt.cli.commands import train
from bneuralt.drawing import page_data
from bneuralt.drawing.page_data import to_lists
from bneuralt.explaining import importances, reference_rows
from bneuralt.fitting import capacity, linear, recipe, rows, splits, trial
from bneuralt.fitting.problem import read_problem
from bneuralt.model import scaling
from bneuralt.shrinking import idle
from bneuralt.tables import (
    bends,
    codes,
    columns,
    csv_files,
    gaps,
    kinds,
    number_texts,
    sentinels,
    targets,
)
from bneuralt.tables.features import category, date, feature, means
from bneuralt.training.losses import LINKS, LOSSES
from bneuralt.training.optimizers import OPTIMIZERS
from bneuralt.training.settings import SETTINGS
from bneuralt.tree import growing
from bneuralt.tree.activations import EXPRESSIONS, NAMES
from playground.translate import module_to_javascript

__all__ = ["recipe_script", "used_entries"]

#: Constants of modules, by the names that they have in `recipe.js`.
_CONSTANTS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "BENDS": (bends, ("LIMIT",)),
    "SENTINELS": (
        sentinels,
        (
            *("SMALLEST_SHARE", "FEWEST_ROWS", "FAR", "FAR_FOR_NINES"),
            *("MOST_SENTINELS", "FEWEST_OTHERS", "LARGEST_SHARE", "FEWEST_OTHERS_OF_UNUSUAL"),
            "USUAL_CODES",
        ),
    ),
    "GAPS": (gaps, ("SIGNIFICANCE",)),
    "CATEGORIES": (
        category,
        (
            *("MOST_CATEGORIES", "SMALLEST_SHARE", "FEWEST_ROWS", "ENOUGH_ROWS"),
            *("MOST_RARE_VALUES", "RARE"),
        ),
    ),
    "MEANS": (means, ("MIN_ROWS", "MIN_RARE_FRACTION")),
    "CODES": (
        codes,
        (
            *("MIN_VALUES", "MIN_ROWS_PER_VALUE", "MIN_SHARE", "MAX_SMOOTH_PART"),
            *("MIN_DEVIATIONS", "LEFT_OUT", "NEIGHBOURS", "MAX_CLASSES"),
        ),
    ),
    "FEATURES": (feature, ("MISSING", "OPTIONAL")),
    "DATES": (date, ("PART_RANGES", "PART_NAMES")),
    "CELLS": (columns, ("MISSING_TEXTS",)),
    "WORDS": (number_texts, ("WORDS",)),
    "CSV": (csv_files, ("DELIMITERS", "SAMPLE")),
    "TEXTS": (
        number_texts,
        ("MOST_GAP_WORDS", "MOST_GAPS", "LONGEST", "_WITH_POINT", "_WITH_COMMA"),
    ),
    "LAYOUT": (
        kinds,
        ("FEWEST_ROWS_WITH_IDS", "FEWEST_ROWS_WITH_NAMES", "NEARLY_ALL", "LARGEST_ID"),
    ),
    "TARGETS": (targets, ("MAX_INTEGER_CLASSES",)),
    "ROWS": (
        rows,
        (
            "MAX_ROWS_TO_COPY",
            "SUFFICIENT_ROWS",
            "SUFFICIENT_NUMBERS",
            "MIN_ROWS_OF_SAMPLE",
            "ROWS_TO_COMPARE",
        ),
    ),
    "SPLITS": (splits, ("MIN_ROWS_TO_SPLIT",)),
    "SCALING": (scaling, ("LARGEST_OFFSET", "LARGEST_FACTOR")),
    "SINGLE": (
        recipe,
        ("LEAVES_PER_OUTPUT", "MIN_WEIGHTS_JOINED", "MAX_ROWS_PLAIN", "MAX_ROWS_FOR_TRIAL"),
    ),
    "LINEAR": (linear, ("PENALTIES", "LARGEST_FRACTION", "FRACTION_BESIDE")),
    "IDLE": (idle, ("TOLERANCE",)),
    "DEPTH": (growing, ("MAX_DEPTH",)),
}

_PATTERNS = {
    "PARTS": number_texts._PARTS,
    "CLOCK": number_texts._CLOCK,
    "CURRENCY": number_texts._CURRENCY,
    "ISO": columns._ISO,
    "LOCAL": columns._LOCAL,
    "ID_NAME": kinds._ID_NAME,
    "NAMELESS": kinds._NAMELESS,
}

_KINDS = {
    ("classification", False): "BNeuralTClassifier",
    ("classification", True): "BNeuralForestClassifier",
    ("regression", False): "BNeuralTRegressor",
    ("regression", True): "BNeuralForestRegressor",
}

_SIDES = {"classification": "classifier", "regression": "regressor"}


def recipe_script() -> str:
    """Return `recipe.js`."""
    parts = [module_to_javascript(capacity)]
    for name, (module, constants) in _CONSTANTS.items():
        values = {key.lstrip("_"): _plain(getattr(module, key)) for key in constants}
        parts.append(_declared(name, values))
    parts.append(_declared("TRIALS", _trials()))
    parts.append(_declared("GROWTH", dict(growing.TREE_GROWTH)))
    parts.append(_declared("ACTIVATIONS", list(NAMES)))
    parts.append(_declared("KINDS", {_key(*k): _kind(name, *k) for k, name in _KINDS.items()}))
    parts.append(_declared("SETTINGS", list(SETTINGS)))
    parts.append(_declared("EXPRESSIONS", {n: to_lists(e) for n, e in EXPRESSIONS.items()}))
    parts.append(_declared("LINKS", {name: to_lists(link) for name, link in LINKS.items()}))
    parts.append(_declared("REFERENCES", _references()))
    parts.append(_declared("TEST_FRACTION", _test_fraction()))
    for name, pattern in _PATTERNS.items():
        parts.append(f"export const {name} = {_javascript_pattern(pattern)};\n")
    return "\n".join(parts)


def used_entries() -> list[str]:
    """Return the names of all activations, losses and optimizers that the playground uses."""
    names = {growing.TREE_GROWTH["activation"], growing.TREE_GROWTH["output_activation"], "linear"}
    for estimator in (estimators.BNeuralTClassifier, estimators.BNeuralTRegressor):
        settings = _settings(estimator, *_small_table(estimator))
        names |= {settings.loss.name, settings.optimizer.name}
    return sorted(names)


def _key(task: str, is_forest: bool) -> str:
    return f"{task} {'forest' if is_forest else 'tree'}"


def _declared(name: str, value: Any) -> str:
    return f"export const {name} = {json.dumps(_plain(value), ensure_ascii=False)};\n"


def _plain(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        return _plain(value._asdict())
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, frozenset | set):
        return sorted(value)
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value


def _trials() -> dict[str, Any]:
    """Return the rules and the sizes of the cross-validation."""
    return {name: _plain(value) for name, value in vars(trial).items() if name.isupper()}


def _references() -> dict[str, Any]:
    """Return the numbers of reference rows, and other constants of pages."""
    return {
        "most": reference_rows.MAX_REFERENCES,
        "most_numbers": reference_rows.MAX_NUMBERS,
        "fewest_rows": reference_rows.MIN_ROWS,
        "rounding": reference_rows.ROUNDING,
        "most_rows": importances.MAX_ROWS,
        "rounding_of_names": bends.ROUNDING,
        "outdated_by_edits": list(page_data.OUTDATED_BY_EDITS),
    }


def _kind(name: str, task: str, is_forest: bool) -> dict[str, Any]:
    """Return the settings and the model file of an estimator for a small table."""
    estimator = getattr(estimators, name)()
    X, y = _small_table(type(estimator))
    if is_forest:
        usual = estimator.get_params()
        assert not usual["bootstrap"], "the playground trains all trees on all rows"
        assert (usual["max_samples"], usual["max_features"]) == (None, None) or (
            usual["max_samples"],
            usual["max_features"],
        ) == (1.0, 1.0), "the playground uses all rows and features"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        estimator.fit(X, y)
        estimator.save(path)
        template = json.loads(path.read_text())
    kind = {"estimator": name, "n_trees": getattr(estimator, "n_estimators", 1)}
    if is_forest:
        return {**kind, "template": _emptied(template)}
    values = _settings(type(estimator), X, y).get_params()
    loss = values["loss"]
    return {
        **kind,
        "fewest_epochs": capacity.MIN_EPOCHS[_SIDES[task]],
        "numbers": [_number(name, values[name]) for name in SETTINGS],
        "loss": loss.name,
        "loss_parameters": list(loss.numbers),
        "optimizer_parameters": list(values["optimizer"].numbers),
        "template": _emptied(template),
    }


def _small_table(estimator: Any) -> tuple[Any, Any]:
    X = np.random.default_rng(0).normal(size=(40, 2))
    return X, np.where(X[:, 0] > 0, "yes", "no") if is_classifier(estimator()) else X[:, 0]


def _settings(estimator: Any, X: Any, y: Any) -> Any:
    """Return all settings of the training of a tree."""
    problem = read_problem(estimator()._options(), X, y)
    return recipe.training_of(problem, recipe.resolve(problem))


def _emptied(template: dict[str, Any]) -> dict[str, Any]:
    """Return a model file without what every fit replaces."""
    tree = template["trees"][0]["tree"]
    kept = {key: v for key, v in tree.items() if isinstance(v, str | bool)}
    kept["version"] = tree["version"]
    return {
        **template,
        "encoder": [],
        "ranges": [],
        "trees": [{**template["trees"][0], "tree": kept}],
        "training": None,
        "history": None,
        "importances": None,
        "reference": None,
        "training_rows": None,
    }


def _number(name: str, value: Any) -> float:
    """Return a setting as the number that the core stores."""
    setting = SETTINGS[name]
    if setting.kind in ("loss", "optimizer"):
        return list(LOSSES if setting.kind == "loss" else OPTIMIZERS).index(value.name)
    if value is None:
        return 0
    if setting.kind == "choice":
        return setting.choices.index(value) + setting.may_be_none
    return value


def _test_fraction() -> float:
    """Return the share of the rows that `bneuralt train` holds out."""
    import argparse

    parser = argparse.ArgumentParser()
    train.add_arguments(parser)
    return parser.get_default("test_fraction")


def _javascript_pattern(pattern: re.Pattern[str]) -> str:
    r"""Return a pattern for whole texts, in the syntax of JavaScript.

    Classes such as \w have all scripts in Python, and named groups another syntax.
    """
    text = re.sub(r"\(\?i:(.*?)\\\.\?\)", lambda m: f"(?:{_any_case(m[1])}\\.?)", pattern.pattern)
    text = text.replace("(?P<", "(?<").replace('\\"', '"').replace(r"[^\W\d_]", r"\p{L}")
    text = text.replace(r"\w", r"\p{L}\p{N}_").replace(r"\d", r"\p{Nd}")
    text = re.sub(r"\[(?:\\.|[^\]\\])*\]", lambda m: _escaped_class(m[0]), text)
    return f"/^(?:{text})$/u".replace("\n", "\\n")


def _any_case(text: str) -> str:
    return re.sub(r"[a-z]", lambda m: f"[{m[0]}{m[0].upper()}]", text)


def _escaped_class(text: str) -> str:
    """Escape what patterns with the flag u refuse within a class."""
    inner = text[1:-1].replace("/", r"\/")
    inner = re.sub(r"(?<=\\d)-|-$|(?<=\\s)-", r"\\-", inner)
    return f"[{inner}]"
