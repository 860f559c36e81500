"""Helpers of the tests of the playground: its modules in Node, and the same decisions in Python."""

import importlib.util
import json
import shutil
import warnings

import numpy as np
import pytest

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    load_model,
)
from bneuralt.fitting.capacity import MIN_WEIGHTS_PER_OUTPUT, n_epochs_joined
from bneuralt.fitting.problem import read_problem
from bneuralt.fitting.recipe import may_try, resolve, size_to_draw
from bneuralt.tables import parse_csv
from bneuralt.tables.kinds import decided
from bneuralt.tables.table_layout import learn_layout


def built():
    """Build the modules once; skip the test where a tool is absent."""
    if shutil.which("node") is None:
        pytest.skip("needs Node (Debian: nodejs)")
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("needs PyPI's ziglang, a compiler for WebAssembly (the extra 'cross')")
    from playground.in_node import prepare

    prepare()


def in_node(table, target, wants=("inputs", "plan"), **wishes):
    """Return what the playground makes of the text or the bytes of a table."""
    from playground.in_node import ask

    return ask(table, target, wants, **wishes)


def trained(table, target, folder, **wishes):
    """Return the answer of a training, with the model as Python loads it."""
    answer = in_node(table, target, ["model"], **wishes)
    assert "error" not in answer, answer
    path = folder / "model.json"
    path.write_text(json.dumps(answer["file"]))
    return answer, load_model(path)


def frame_of(table, target, **options):
    """Return the columns and the target of a table, as the program reads them."""
    cells = parse_csv(table.encode())
    layout = learn_layout(cells, target, **options)
    return decided(layout.frame(cells)), layout.labels(cells)


def in_python(table, target, **options):
    """Return what Python makes of the same table, in the same form."""
    data = table if isinstance(table, bytes) else table.encode()
    cells = parse_csv(data)
    layout = learn_layout(cells, target, **options)
    y = layout.labels(cells)
    known = np.array([label is not None and label == label for label in y.tolist()])
    X = decided(layout.frame(cells)).take(np.flatnonzero(known))
    y = np.array(y[known].tolist())
    is_classifier = layout.task == "classification"
    settings = {"random_state": 0, "categorical_features": options.get("categorical", "from_dtype")}
    tree = (BNeuralTClassifier if is_classifier else BNeuralTRegressor)(**settings)
    forest = (BNeuralForestClassifier if is_classifier else BNeuralForestRegressor)(**settings)
    plans = []
    for estimator in (forest, tree):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem = read_problem(estimator._options(), X, y)
        recipe, rows = resolve(problem), problem.rows
        names = ("n_weights", "learning_rate", "weight_decay", "batch_size", "max_epochs")
        plan = {name: getattr(recipe, name) for name in names}
        plan["n_weights"] = size_to_draw(problem, recipe)
        if recipe.growth.n_joined > 1:
            least = MIN_WEIGHTS_PER_OUTPUT * problem.n_outputs
            plan["n_weights"] = max(plan["n_weights"] // recipe.growth.n_joined, least)
            plan["max_epochs"] = n_epochs_joined(plan["max_epochs"], may_try(problem, recipe))
        plans.insert(0, {**plan, "n_rows": len(rows), "times": rows.times})
    encoder = problem.encoder
    features = encoder.features
    kinds = ["unused"] * len(cells.names)
    for column, feature in zip(layout.columns, features, strict=True):
        is_text = feature.kind == "date" or getattr(feature, "notation", None) is not None
        kinds[column.position] = "text" if is_text else feature.kind
    used = [j for j, feature in enumerate(features) if feature.kind != "unused"]
    plain, ranges = encoder.to_plain(), encoder.ranges
    return {
        "kinds": kinds, "target": layout.target_position, "task": layout.task,
        "classes": problem.task.classes.tolist() if is_classifier else None,
        "encoder": [plain[j] for j in used], "ranges": [ranges[j] for j in used],
        "inputs": encoder.encode(X), "plans": plans,
    }  # fmt: skip
