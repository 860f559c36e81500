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
from bneuralt.tables.csv_files import parse_csv
from bneuralt.tables.layout_learning import learn_layout


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
    return layout.frame(cells), layout.labels(cells)


def in_python(table, target, **options):
    """Return what Python makes of the same table, in the same form."""
    data = table if isinstance(table, bytes) else table.encode()
    cells = parse_csv(data)
    layout = learn_layout(cells, target, **options)
    y = layout.labels(cells)
    known = np.array([label is not None and label == label for label in y.tolist()])
    X, y = layout.frame(cells).take(np.flatnonzero(known)), np.array(y[known].tolist())
    is_classifier = layout.task == "classification"
    tree = (BNeuralTClassifier if is_classifier else BNeuralTRegressor)(random_state=0)
    forest = (BNeuralForestClassifier if is_classifier else BNeuralForestRegressor)(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = tree._read_rows(X, y, None, reset=True)
        forest._read_rows(X, y, None, reset=True)
    member = forest._new_member(0)
    forest._prepare(member, rows)
    plans = []
    for estimator in (tree, member):
        fit = estimator._plan(rows, None)
        names = ("learning_rate", "weight_decay", "batch_size", "max_epochs")
        n_weights = estimator._n_weights(rows) // (len(fit.starts) if fit.is_mean else 1)
        size = {"n_weights": n_weights, "n_rows": len(rows), "times": rows.times}
        plans.append({**size, **{name: getattr(fit.settings, name) for name in names}})
    used = {column.position: column.kind for column in layout.columns}
    kinds = [used.get(j, "unused") for j in range(len(cells.names))]
    return {
        "kinds": kinds, "target": layout.target_position, "task": layout.task,
        "classes": tree.classes_.tolist() if is_classifier else None,
        "encoder": tree.encoder_.to_plain(), "ranges": tree.encoder_.ranges,
        "inputs": tree.encoder_.encode(X), "plans": plans,
    }  # fmt: skip
