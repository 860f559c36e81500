"""A plan says what its model does."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from bneuralt import BNeuralTClassifier, NeuralTree, load_model
from bneuralt.export import make_plan

FILES = sorted(Path(__file__).parent.glob("models/version_*/*.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
@pytest.mark.parametrize("simplified", [False, True])
def test_plan_predicts_what_the_model_predicts(path, simplified):
    model = load_model(path)
    rows = np.array(json.loads(path.with_suffix(".predictions").read_text())["rows"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inputs = model._filled(model._read_features(rows))
        expected = model.predict(rows)
        probabilities = getattr(model, "predict_proba", lambda _: None)(rows)
    plan = make_plan(model, simplified)
    outputs = plan.outputs(inputs.astype(np.float64))
    found = plan.decided(outputs)
    if plan.task == "classes":
        assert np.array_equal(np.array(plan.classes)[found], expected)
    else:
        assert np.allclose(found.reshape(expected.shape), expected, rtol=1e-5, atol=1e-5)
    if plan.task != "numbers":
        assert np.allclose(plan.combined(outputs), probabilities, atol=1e-5)


def test_only_fitted_estimators_have_a_plan():
    with pytest.raises(NotFittedError):
        make_plan(BNeuralTClassifier())
    with pytest.raises(TypeError, match="got NeuralTree"):
        make_plan(NeuralTree.random(2, 1, random_state=0))
    with pytest.raises(TypeError, match="got the class BNeuralTClassifier"):
        make_plan(BNeuralTClassifier)
