"""How good the default settings are, beside scikit-learn's models with theirs.

    python -m benchmarks.quality run --store quality.sqlite --data-home ../shared
    python -m benchmarks.quality report --store quality.sqlite --out quality

`run` measures what the store lacks, so that it can be stopped at any time and goes on where it was.
Every model sees the same rows: split number i has the same training and test rows for all, and they
are those of run i of the paper's experiments. All models have the defaults of their libraries;
scikit-learn's get standardised features and, for regression, a standardised target, which a neural
tree sees to itself. Everything runs in one thread; times are processor time.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn import ensemble, linear_model, neural_network, svm
from sklearn.base import BaseEstimator
from sklearn.compose import TransformedTargetRegressor
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, DotProduct, WhiteKernel
from sklearn.metrics import accuracy_score, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import bneuralt
from bneuralt.datasets.catalogue import PAPER_CLASSIFICATION, PAPER_DATASETS, PAPER_REGRESSION
from bneuralt.datasets.loading import Dataset
from bneuralt.files import write_atomically
from bneuralt.paper.experiments.protocols import Outcome, Scores, derive_seed
from bneuralt.paper.reporting.figures import critical_difference
from bneuralt.paper.reporting.significance import Ranking
from bneuralt.paper.reporting.statistics import (
    friedman,
    holm,
    nemenyi_critical_difference,
    wilcoxon_signed_rank,
)
from bneuralt.paper.running.store import Finished, Key, Store

PROTOCOL = "defaults"
N_SPLITS = 30
N_ROWS_TO_PREDICT = 1000
N_BINS = 15

#: For each name: the classifier and the regressor, both made from a seed.
MODELS: dict[str, tuple[Callable[[int], BaseEstimator], Callable[[int], BaseEstimator]]] = {
    "tree": (
        lambda seed: bneuralt.BNeuralTClassifier(random_state=seed),
        lambda seed: bneuralt.BNeuralTRegressor(random_state=seed),
    ),
    "forest": (
        lambda seed: bneuralt.BNeuralForestClassifier(random_state=seed),
        lambda seed: bneuralt.BNeuralForestRegressor(random_state=seed),
    ),
    "linear": (
        lambda seed: linear_model.LogisticRegression(random_state=seed),
        lambda seed: linear_model.Ridge(random_state=seed),
    ),
    "SVM": (lambda seed: svm.SVC(random_state=seed), lambda seed: svm.SVR()),
    "random forest": (
        lambda seed: ensemble.RandomForestClassifier(random_state=seed),
        lambda seed: ensemble.RandomForestRegressor(random_state=seed),
    ),
    "boosting": (
        lambda seed: ensemble.HistGradientBoostingClassifier(random_state=seed),
        lambda seed: ensemble.HistGradientBoostingRegressor(random_state=seed),
    ),
    "MLP": (
        lambda seed: neural_network.MLPClassifier(random_state=seed),
        lambda seed: neural_network.MLPRegressor(random_state=seed),
    ),
    # The kernels of the paper: scikit-learn's default regressor assumes data without noise.
    "GP": (
        lambda seed: GaussianProcessClassifier(1.0 * RBF(1.0), random_state=seed),
        lambda seed: GaussianProcessRegressor(DotProduct() + WhiteKernel(), random_state=seed),
    ),
}


def make_model(name: str, task: str, seed: int) -> BaseEstimator:
    """Return an unfitted model with the defaults of its library."""
    classifier, regressor = MODELS[name]
    model = classifier(seed) if task == "classification" else regressor(seed)
    if type(model).__module__.startswith("bneuralt."):
        return model
    model = make_pipeline(StandardScaler(), model)
    if task == "regression":
        model = TransformedTargetRegressor(model, transformer=StandardScaler())
    return model


# -- measuring ----------------------------------------------------------------------------


def measure(name: str, dataset: Dataset, split: int) -> Finished:
    """Fit one model to the training rows of one split, and judge it by the test rows."""
    order = np.random.default_rng(derive_seed(split, "split")).permutation(len(dataset.y))
    train, test = np.split(order, [int(0.8 * len(order))])
    X_test, y_test = dataset.X[test], dataset.y[test]
    seed = derive_seed(split, "model")
    model = make_model(name, dataset.task, seed)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # solvers that stop at their default number of iterations
        started = time.process_time()
        model.fit(dataset.X[train], dataset.y[train])
        fit_seconds = time.process_time() - started
        score = r2_score if dataset.task == "regression" else accuracy_score
        many = dataset.X[np.resize(test, N_ROWS_TO_PREDICT)]
        scores = Scores(
            train=score(dataset.y[train], model.predict(dataset.X[train])),
            validation=None,
            test=score(y_test, model.predict(X_test)),
            predict_seconds=_least_seconds(model.predict, many) / N_ROWS_TO_PREDICT,
        )
        curves = {}
        if hasattr(model, "predict_proba"):
            probabilities = np.zeros((len(test), len(dataset.class_names)))
            probabilities[:, model.classes_] = model.predict_proba(X_test)
            curves["log_loss"] = [log_loss(probabilities, y_test)]
            curves["calibration_error"] = [calibration_error(probabilities, y_test)]
    outcome = Outcome(seed, scores, fit_seconds, weights=n_weights(model), curves=curves)
    key = Key(PROTOCOL, name, dataset.name, split)
    return Finished(key, settings_of(name, dataset.task), dataset.checksum, outcome)


def settings_of(name: str, task: str) -> dict[str, Any]:
    """Return what decides a run: the model with all its parameters."""
    parameters = make_model(name, task, 0).get_params()
    own = {key: value for key, value in parameters.items() if "random_state" not in key}
    return {key: repr(value) for key, value in own.items()}


def _least_seconds(predict: Callable[[np.ndarray], Any], X: np.ndarray) -> float:
    seconds = []
    for _ in range(3):
        started = time.process_time()
        predict(X)
        seconds.append(time.process_time() - started)
    return min(seconds)


def n_weights(model: Any) -> int | None:
    """Return the number of trained weights of trees, forests, perceptrons and linear models."""
    if hasattr(model, "n_parameters_"):
        return int(model.n_parameters_)
    last = getattr(model, "regressor_", model)[-1]
    if hasattr(last, "coefs_"):
        return sum(part.size for part in [*last.coefs_, *last.intercepts_])
    if isinstance(last, linear_model.LogisticRegression | linear_model.Ridge):
        return int(np.size(last.coef_) + np.size(last.intercept_))
    return None


def log_loss(probabilities: np.ndarray, y: np.ndarray) -> float:
    """Return the mean negative log-probability of the true class; 0 counts as 2e-16."""
    true = np.maximum(probabilities[np.arange(len(y)), y], np.finfo(np.float64).eps)
    return float(-np.log(true).mean())


def calibration_error(probabilities: np.ndarray, y: np.ndarray) -> float:
    """Return the expected calibration error: how far confidence is from accuracy, in 15 bins.

    Examples
    --------
    >>> calibration_error(np.array([[0.9, 0.1], [0.9, 0.1]]), np.array([0, 1])).__round__(3)
    0.4
    """
    confidence = probabilities.max(axis=1)
    surplus = confidence - (probabilities.argmax(axis=1) == y)
    bins = np.minimum((confidence * N_BINS).astype(int), N_BINS - 1)
    return float(np.abs(np.bincount(bins, surplus, minlength=N_BINS)).sum() / len(y))


def run(store: Store, models: list[str], data_home: str | None, n_jobs: int) -> None:
    """Measure what the store lacks."""
    datasets = [bneuralt.load_dataset(name, data_home=data_home) for name in PAPER_DATASETS]
    for name in models:
        for task in ("classification", "regression"):
            _forget_other_settings(store, name, task)
    finished = store.finished()
    missing = [
        (name, dataset, split)
        for name in models
        for split in range(N_SPLITS)
        for dataset in datasets
        if Key(PROTOCOL, name, dataset.name, split) not in finished
    ]
    measured = Parallel(n_jobs, return_as="generator_unordered")(
        delayed(measure)(*cell) for cell in missing
    )
    for n_done, result in enumerate(measured, start=1):
        store.add([result])
        if n_done % 100 == 0 or n_done == len(missing):
            print(f"{n_done} of {len(missing)} measured", flush=True)


def _forget_other_settings(store: Store, name: str, task: str) -> None:
    """Drop runs of a model whose defaults have changed since."""
    names = PAPER_CLASSIFICATION if task == "classification" else PAPER_REGRESSION
    settings = json.dumps(settings_of(name, task), sort_keys=True)
    for dataset in names:
        store.execute(
            "DELETE FROM runs WHERE protocol = ? AND experiment = ? AND dataset = ?"
            " AND settings <> ?",
            (PROTOCOL, name, dataset, settings),
        )


# -- reporting ----------------------------------------------------------------------------


def read(store: Store) -> pd.DataFrame:
    """Return one row for each model and data set: means over the splits that all models have."""
    frame = store.to_frame().query("protocol == @PROTOCOL")
    for name in ("log_loss", "calibration_error"):
        frame[name] = [curves[name][0] if name in curves else np.nan for curves in frame["curves"]]
    n_models = frame["experiment"].nunique()
    frame = frame.groupby(["dataset", "run"]).filter(lambda rows: len(rows) == n_models)
    columns = [
        "test_score", "weights", "fit_seconds", "predict_seconds", "log_loss", "calibration_error"
    ]  # fmt: skip
    means = frame.groupby(["experiment", "dataset"])[columns].mean()
    means["n_splits"] = frame.groupby(["experiment", "dataset"]).size()
    return means


def overview(means: pd.DataFrame) -> pd.DataFrame:
    """Return the table: one row for each model, best mean rank first."""
    scores = means["test_score"].unstack("dataset")
    by_model = means.groupby("experiment").mean()
    table = pd.DataFrame(
        {
            "accuracy": scores[list(PAPER_CLASSIFICATION)].mean(axis=1),
            "r2": scores[list(PAPER_REGRESSION)].mean(axis=1),
            "mean rank": scores.rank(ascending=False).mean(axis=1),
            "p": p_to_best(scores),
            "log-loss": by_model["log_loss"],
            "calibration error": by_model["calibration_error"],
            "weights": by_model["weights"].round(),
            "fit, ms": 1e3 * by_model["fit_seconds"],
            "predict, us a row": 1e6 * by_model["predict_seconds"],
        }
    )
    return table.sort_values("mean rank")


def p_to_best(scores: pd.DataFrame) -> pd.Series:
    """Return p-values of Wilcoxon tests over data sets against the best mean rank, after Holm."""
    best = scores.rank(ascending=False).mean(axis=1).idxmin()
    others = scores.index.drop(best)
    p = [wilcoxon_signed_rank(scores.loc[best], scores.loc[name]).p_value for name in others]
    return pd.Series(holm(p), index=others)


def ranking(means: pd.DataFrame) -> Ranking:
    """Return mean ranks over the data sets, for the critical-difference picture."""
    scores = means["test_score"].unstack("experiment")
    result = friedman({name: scores[name].to_numpy() for name in scores})
    return Ranking(result, nemenyi_critical_difference(scores.shape[1], scores.shape[0]), scores)


_DIGITS = {"mean rank": 2, "p": 4, "weights": 0, "fit, ms": 1, "predict, us a row": 2}


def to_markdown(table: pd.DataFrame, corner: str) -> str:
    """Return a table in Markdown; missing numbers are left out."""
    lines = [f"| {corner} | {' | '.join(table)} |", "| --- |" + " ---: |" * table.shape[1]]
    for name, row in table.iterrows():
        cells = [
            "" if np.isnan(value) else f"{value:.{_DIGITS.get(column, 3)}f}"
            for column, value in row.items()
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def report(store: Store, out: Path) -> None:
    """Write the tables and the critical-difference picture."""
    means = read(store)
    table = overview(means)
    scores = means["test_score"].unstack("experiment").loc[list(PAPER_DATASETS), table.index]
    text = "\n".join([to_markdown(table, "model"), to_markdown(scores, "data set")])
    out.mkdir(parents=True, exist_ok=True)
    write_atomically(out / "quality.md", text)
    critical_difference(ranking(means)).savefig(out / "quality.svg", metadata={"Date": None})
    splits = means["n_splits"]
    print(f"{text}\n{splits.min()} to {splits.max()} splits of each data set")


def main() -> None:
    """Run from a shell."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("action", choices=["run", "report"])
    parser.add_argument("--store", default="quality.sqlite", help="SQLite file of the figures")
    parser.add_argument("--models", default=",".join(MODELS), help="some of: %(default)s")
    parser.add_argument(
        "--data-home", help="folder of the data sets, see bneuralt.datasets.fetching"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes, of one thread each")
    parser.add_argument("--out", type=Path, default=Path("quality"), help="folder for the report")
    arguments = parser.parse_args()
    models = arguments.models.split(",")
    if unknown := set(models) - set(MODELS):
        parser.error(f"--models: {', '.join(unknown)} not among {', '.join(MODELS)}")
    with Store(arguments.store, must_exist=arguments.action == "report") as store:
        if arguments.action == "run":
            run(store, models, arguments.data_home, arguments.jobs)
        else:
            report(store, arguments.out)


if __name__ == "__main__":
    main()
