"""Write one model of each kind with its predictions, and trees by themselves.

Run this after a change of the format, and when a kind is added. What is there already is not
written again:

    python -m tests.tools.write_models
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes, load_iris

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    EvolvedTreeClassifier,
    EvolvedTreeRegressor,
    NeuralTree,
)
from bneuralt.estimators.files import estimator_of_dict
from bneuralt.model.file_writing import MODEL_VERSION, model_to_dict
from bneuralt.training.losses import CrossEntropy, Huber
from bneuralt.training.optimizers import Adam
from bneuralt.tree.activations import NAMES, Gaussian, LeakyReLU, get_activation
from bneuralt.tree.monotonic import leaf_effects
from tests.helpers.flat import flat
from tests.helpers.kept_models import write_model
from tests.helpers.paths import MODELS


def main() -> None:
    folder = MODELS / f"version_{MODEL_VERSION}"
    folder.mkdir(exist_ok=True)
    small = {"max_depth": 2, "max_epochs": 10, "random_state": 0}
    searched = {"n_generations": 3, "population_size": 10, "random_state": 0}
    iris, diabetes = load_iris(as_frame=True), load_diabetes()
    names = np.array(["setosa", "versicolor", "virginica"])[iris.target]
    messy = iris.data.to_numpy().copy()
    messy[::7, 0] = np.nan
    messy[:, 3] = np.round(messy[:, 3])
    models = {
        "tree_classifier": flat(
            BNeuralTClassifier,
            **small,
            class_weight={"setosa": 2.0, "virginica": 1.0},
            optimizer=Adam(beta2=0.99),
        ).fit(iris.data, names),
        "tree_regressor": flat(BNeuralTRegressor, **small).fit(diabetes.data, diabetes.target),
        "sigmoid_classifier": flat(
            BNeuralTClassifier,
            **small,
            loss="squared_error",
            dtype="float64",
            output_activation="sigmoid",
        ).fit(iris.data.to_numpy(), iris.target > 0),
        "forest_classifier": flat(BNeuralForestClassifier, **small, n_estimators=3).fit(
            iris.data.to_numpy(), iris.target
        ),
        "forest_regressor": flat(
            BNeuralForestRegressor, **small, n_estimators=2, max_samples=0.7, max_features=0.5
        ).fit(diabetes.data, diabetes.target),
        "mixed_classifier": flat(
            BNeuralTClassifier,
            **small,
            loss=CrossEntropy(label_smoothing=0.1),
            activation={LeakyReLU(slope=0.2): 2.0, Gaussian(center=-0.5): 1.0, "unipolar": 0.5},
        ).fit(iris.data.to_numpy(), iris.target),
        "trained_regressor": flat(
            BNeuralTRegressor,
            **small,
            activation=["linear_tanh", "bipolar"],
            train_activations=True,
        ).fit(diabetes.data, diabetes.target),
        "multilabel_classifier": flat(BNeuralTClassifier, **small).fit(
            iris.data.to_numpy(), np.eye(3, dtype=int)[iris.target]
        ),
        "quantile_regressor": flat(
            BNeuralForestRegressor, **small, n_estimators=2, loss="quantile", conformal=20
        ).fit(diabetes.data, diabetes.target),
        "poisson_regressor": flat(
            BNeuralTRegressor, **small, loss="poisson", monotonic_cst=[0, 0, 1, 1, 0, 0, 0, 0, 1, 0]
        ).fit(diabetes.data, diabetes.target),
        "several_regressor": flat(BNeuralTRegressor, **small, loss=Huber(delta=0.5)).fit(
            diabetes.data, np.c_[diabetes.target, diabetes.data[:, :2]]
        ),
        "messy_classifier": flat(BNeuralTClassifier, **small, categorical_features=[3]).fit(
            messy, iris.target
        ),
        "edited_regressor": edited(
            flat(BNeuralTRegressor, **small).fit(diabetes.data, diabetes.target)
        ),
        "evolved_classifier": flat(EvolvedTreeClassifier, **searched, max_weights=20).fit(
            iris.data, names
        ),
        "evolved_regressor": flat(
            EvolvedTreeRegressor, **searched, choose="one_standard_error", activation="sigmoid"
        ).fit(diabetes.data, diabetes.target),
    }
    for name, model in models.items():
        table = messy if "messy" in name else iris.data.to_numpy()
        write_model(name, model, folder, (table if "classifier" in name else diabetes.data)[::30])
    if not (folder / "trees").exists():
        write_trees(folder / "trees")


def edited(model: BNeuralTRegressor) -> BNeuralTRegressor:
    """Return a model with an edit of each kind, with a log as the page of a model writes it."""
    raw = replace(model.model_.in_raw_units(), importances=None, can_learn=False)
    content, edits = model_to_dict(raw, model.get_params(deep=False)), []
    weights = content["trees"][0]["tree"]

    def edit(kind, changes, column=None, before=None, after=None):
        entry = {"edit": kind, "time": "2026-11-17T12:30:00.000Z", "text": f"a {kind}"}
        entry["changes"] = [[0, name, i, weights[name][i], new] for name, i, new in changes]
        edits.append({**entry, "column": column, "before": before, "after": after})
        for name, i, new in changes:
            weights[name][i] = new

    edit("weight", [("bias", 0, 0.5)])
    edit("cut", [("edge", 0, 0.0), ("bias", 0, 0.75)])
    edit("limit", [], 2, None, [-0.05, 0.05])
    content["encoder"][2]["bounds"] = [-0.05, 0.05]
    is_of_column = model.encoder_.groups[model.tree_.leaf_input] == 2
    rises = (leaf_effects(NeuralTree.from_dict(weights)) > 0) & is_of_column
    edit("sign", [("leaf_weight", i, 0.0) for i in np.flatnonzero(rises).tolist()], 2, 0, -1)
    content["settings"]["monotonic_cst"] = [0, 0, -1, 0, 0, 0, 0, 0, 0, 0]
    content["constraints"] = content["settings"]["monotonic_cst"]
    return estimator_of_dict({**content, "edits": edits})


def write_trees(folder: Path) -> None:
    """Write trees with all activations, with fixed and with trained parameters."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    activation = [get_activation(name) for name in NAMES]
    nodes = [type(a)(*(number + rng.uniform(0.1, 0.5) for number in a.numbers)) for a in activation]
    for name, trains, dtype in (("fixed", False, "float64"), ("trained", True, "float32")):
        tree = NeuralTree.random(
            4, 3, 4, 4, 0.4, activation=nodes, output_activation=nodes[NAMES.index("gaussian")],
            train_activations=trains, dtype=dtype, random_state=0,
        )  # fmt: skip
        (folder / f"{name}.json").write_text(tree.to_json())
        rows = rng.normal(size=(10, 4))
        record = {"rows": rows.tolist(), "predicted": tree.forward(rows).tolist()}
        (folder / f"{name}.predictions").write_text(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
