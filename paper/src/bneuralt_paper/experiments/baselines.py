"""Algorithms of scikit-learn with its default settings: the paper's five, and three additions.

None of them stops early or selects weights on monitored rows, so all of them are trained on all
training rows under both protocols.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

from threadpoolctl import threadpool_limits

from bneuralt_paper.experiments.definitions import BaselineExperiment
from bneuralt_paper.experiments.protocols import Outcome, Partition, derive_seed

__all__ = ["CLASSIFICATION_ONLY", "LABELS", "make_estimator", "run_baseline"]

#: The algorithm behind each name. The last three are not in the paper.
LABELS = {
    "DT": "decision tree",
    "RF": "random forest of 100 trees",
    "GP": "Gaussian process",
    "NBC": "Gaussian naive Bayes",
    "SVM": "linear support vector classifier, or RBF support vector regression",
    "HGB": "histogram gradient boosting (addition)",
    "SVC": "RBF support vector classifier, or RBF support vector regression (addition)",
    "LIN": "logistic or ridge regression (addition)",
}

#: Algorithms without a regressor, or without one in the paper.
CLASSIFICATION_ONLY = frozenset({"NBC", "MONT3", "MONT3-q"})


def make_estimator(name: str, task: str, seed: int) -> Any:
    """Return an unfitted estimator.

    Examples
    --------
    >>> make_estimator("GP", "regression", 0).kernel
    DotProduct(sigma_0=1) + WhiteKernel(noise_level=1)
    """
    classify = task == "classification"
    if not classify and name in CLASSIFICATION_ONLY:
        raise ValueError(f"experiment {name!r} has no regressor")
    if name == "DT":
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

        return (DecisionTreeClassifier if classify else DecisionTreeRegressor)(random_state=seed)
    if name in ("RF", "HGB"):
        return _ensemble(name, classify, seed)
    if name == "GP":
        return _gaussian_process(classify, seed)
    if name == "NBC":
        from sklearn.naive_bayes import GaussianNB

        return GaussianNB()
    if name in ("SVM", "SVC"):
        from sklearn import svm

        if not classify:
            return svm.SVR(kernel="rbf")
        return svm.LinearSVC(random_state=seed) if name == "SVM" else svm.SVC(random_state=seed)
    if name == "LIN":
        from sklearn.linear_model import LogisticRegression, Ridge

        return LogisticRegression(random_state=seed) if classify else Ridge(random_state=seed)
    raise ValueError(f"baseline {name!r} is unknown: choose one of {', '.join(LABELS)}")


def _ensemble(name: str, classify: bool, seed: int) -> Any:
    from sklearn import ensemble

    if name == "RF":
        forest = ensemble.RandomForestClassifier if classify else ensemble.RandomForestRegressor
        return forest(n_estimators=100, random_state=seed)
    boosting = (
        ensemble.HistGradientBoostingClassifier
        if classify
        else ensemble.HistGradientBoostingRegressor
    )
    return boosting(random_state=seed)


def _gaussian_process(classify: bool, seed: int) -> Any:
    from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, DotProduct, WhiteKernel

    if classify:
        return GaussianProcessClassifier(
            1.0 * RBF(1.0), multi_class="one_vs_rest", random_state=seed
        )
    return GaussianProcessRegressor(DotProduct() + WhiteKernel(), random_state=seed)


def run_baseline(experiment: BaselineExperiment, partition: Partition, run: int) -> Outcome:
    """Fit a baseline to the training rows of one run, and score it."""
    seed = derive_seed(run, "model", partition.name)
    estimator = make_estimator(experiment.algorithm, partition.task, seed)
    X, y = partition.training_rows(selects=False)
    start = time.perf_counter()
    # One thread, since runs are executed in parallel and their times should be comparable.
    with threadpool_limits(1), warnings.catch_warnings():
        # A solver that reaches its default number of iterations is a default setting, too.
        warnings.simplefilter("ignore")
        estimator.fit(X, y)
        seconds = time.perf_counter() - start
        scores = partition.score(estimator.predict, selects=False)
    return Outcome(seed, scores, seconds, size=_node_count(estimator))


def _node_count(estimator: Any) -> int | None:
    """Return the number of nodes of a decision tree or random forest, None for other models."""
    trees = getattr(estimator, "estimators_", [estimator])
    if all(hasattr(tree, "tree_") for tree in trees):
        return sum(int(tree.tree_.node_count) for tree in trees)
    return None
