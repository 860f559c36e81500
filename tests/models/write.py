"""Write one model of each kind, and what it predicts, to be kept for ever.

Run this once for each version of the format, never again for an old one:

    python tests/models/write.py
"""

import json
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes, load_iris

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
)
from bneuralt.estimators.model_file import MODEL_VERSION
from bneuralt.training.optimizers import Adam


def main() -> None:
    folder = Path(__file__).parent / f"version_{MODEL_VERSION}"
    folder.mkdir()  # fails if these models are there already
    small = {"max_depth": 2, "max_epochs": 10, "random_state": 0}
    iris, diabetes = load_iris(as_frame=True), load_diabetes()
    names = np.array(["setosa", "versicolor", "virginica"])[iris.target]
    models = {
        "tree_classifier": BNeuralTClassifier(
            **small, optimizer=Adam(beta2=0.99), class_weight={"setosa": 2.0, "virginica": 1.0}
        ).fit(iris.data, names),
        "tree_regressor": BNeuralTRegressor(**small).fit(diabetes.data, diabetes.target),
        "sigmoid_classifier": BNeuralTClassifier(
            **small, loss="squared_error", output_activation="sigmoid", dtype="float64"
        ).fit(iris.data.to_numpy(), iris.target > 0),
        "forest_classifier": BNeuralForestClassifier(**small, n_estimators=3).fit(
            iris.data.to_numpy(), iris.target
        ),
        "forest_regressor": BNeuralForestRegressor(
            **small, n_estimators=2, max_samples=0.7, max_features=0.5
        ).fit(diabetes.data, diabetes.target),
    }
    for name, model in models.items():
        model.save(folder / f"{name}.json", extra={"name": name})
        rows = (iris.data.to_numpy() if "classifier" in name else diabetes.data)[::30]
        predicted = model._scores(rows) if "classifier" in name else model.predict(rows)
        record = {"rows": rows.tolist(), "predicted": np.asarray(predicted, float).tolist()}
        (folder / f"{name}.predictions").write_text(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
