"""Write a model of each kind, as `tests/models/write.py` does for the product:

python paper/tests/models/write.py
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes, load_iris

sys.path.insert(0, str(Path(__file__).parents[3] / "tests"))

from kept_models import write_model

from bneuralt.estimators.model_file import MODEL_VERSION
from bneuralt_paper import HFNTClassifier, HFNTRegressor, MONTClassifier, MONTRegressor


def main() -> None:
    folder = Path(__file__).parent / f"version_{MODEL_VERSION}"
    folder.mkdir(exist_ok=True)
    tuned = {
        "n_generations": 3,
        "population_size": 10,
        "random_state": 0,
        "n_tuning": 3,
        "tuning_size": 10,
        "max_size": 30,
    }
    iris, diabetes = load_iris(as_frame=True), load_diabetes()
    names = np.array(["setosa", "versicolor", "virginica"])[iris.target]
    models = {
        "hfnt_classifier": HFNTClassifier(**tuned, objectives=("error", "size", "diversity")).fit(
            iris.data.to_numpy(), iris.target
        ),
        "hfnt_regressor": HFNTRegressor(**tuned, n_ensemble=3).fit(diabetes.data, diabetes.target),
        "mont_classifier": MONTClassifier(**tuned).fit(iris.data.to_numpy(), names),
        "mont_regressor": MONTRegressor(**tuned, strategy="best1bin").fit(
            diabetes.data, diabetes.target
        ),
    }
    for name, model in models.items():
        model.extra_ = {"name": name}
        rows = iris.data.to_numpy() if "classifier" in name else diabetes.data
        write_model(model, folder, rows[::30])


if __name__ == "__main__":
    main()
