"""Write a model of each kind of the reproduction: `python -m paper.tests.tools.write_models`."""

import numpy as np
from sklearn.datasets import load_diabetes, load_iris

from bneuralt.model.file_writing import MODEL_VERSION
from bneuralt_paper import HFNTClassifier, HFNTRegressor, MONTClassifier, MONTRegressor
from tests.helpers.kept_models import write_model
from tests.helpers.paths import PAPER_MODELS


def main() -> None:
    folder = PAPER_MODELS / f"version_{MODEL_VERSION}"
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
        rows = iris.data.to_numpy() if "classifier" in name else diabetes.data
        write_model(name, model, folder, rows[::30])


if __name__ == "__main__":
    main()
