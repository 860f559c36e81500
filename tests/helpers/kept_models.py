"""Models that are kept in files with what they predict, so that later versions can be compared."""

import json

import numpy as np
import pandas as pd
from scipy.special import expit, softmax
from sklearn.base import clone

from bneuralt import load_model


def write_model(name, model, folder, rows):
    """Write a model and what it predicts for some rows; a file that is there already stays."""
    if (folder / f"{name}.json").exists():
        return
    model.save(folder / f"{name}.json", extra={"name": name})
    is_classifier = hasattr(model, "classes_")
    predicted = model._scores(with_names(model, rows)) if is_classifier else model.predict(rows)
    record = {"rows": rows.tolist(), "predicted": np.asarray(predicted, float).tolist()}
    (folder / f"{name}.predictions").write_text(json.dumps(record) + "\n")


def check_model(path):
    """Check that a file is read, predicts what it predicted, and that its settings are valid."""
    record = json.loads(path.with_suffix(".predictions").read_text())
    model = load_model(path)
    rows, expected = np.array(record["rows"]), np.array(record["predicted"])
    table = with_names(model, rows)
    if getattr(model, "multilabel_", False):
        predicted, expected = model.predict_proba(table), expit(expected)
        np.testing.assert_array_equal(model.predict(table), expected > 0.5)
    elif hasattr(model, "classes_"):
        predicted, expected = model.predict_proba(table), softmax(expected, axis=1)
        np.testing.assert_array_equal(model.predict(table), model.classes_[expected.argmax(axis=1)])
    else:
        predicted = model.predict(table)
    members = getattr(model, "estimators_", [model])
    is_double = all(member.tree_.dtype == np.float64 for member in members)
    rtol = 1e-12 if is_double else 1e-6
    atol = rtol * np.abs(expected).max()
    np.testing.assert_allclose(predicted, expected, rtol=rtol, atol=atol)
    assert model.extra_ == {"name": path.stem}
    if "quantile" not in path.stem:
        clone(model).fit(rows, model.predict(table))


def with_names(model, rows):
    """Return rows with the names of the columns that a model was trained on."""
    names = getattr(model, "feature_names_in_", None)
    return rows if names is None else pd.DataFrame(rows, columns=names)
