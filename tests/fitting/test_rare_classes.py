"""Automatic size and decay of trees where almost all rows are of one class."""

import numpy as np
import pytest
from sklearn.metrics import log_loss, roc_auc_score

from bneuralt import BNeuralForestClassifier, BNeuralTClassifier
from bneuralt.fitting import recipe
from bneuralt.fitting.capacity import IN_FOREST, SINGLE_TREE, effective_share

N = 1500


@pytest.fixture(autouse=True)
def _no_trials(monkeypatch):
    """Let no cross-validation change the decay."""
    monkeypatch.setattr(recipe, "MAX_ROWS_FOR_TRIAL", 0)


def table(share, seed=0, n=N):
    """Return rows whose second class has about this share."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8))
    score = X[:, 0] * X[:, 1] + X[:, 2] + rng.logistic(size=n)
    return X, (score > np.quantile(score, 1 - share)).astype(int)


def size_and_decay(y):
    """Return the number of weights and the decay of a tree of a forest."""
    X = np.random.default_rng(0).normal(size=(len(y), 3))
    model = BNeuralForestClassifier(n_estimators=1, max_epochs=1, random_state=0)
    recipe = model.fit(X, y).recipe_
    return recipe.n_weights, recipe.weight_decay


@pytest.mark.parametrize("share", [0.2, 0.35, 0.5])
def test_classes_of_a_fifth_of_the_rows_are_not_rare(share):
    _, y = table(share)
    usual = IN_FOREST.n_weights(N, 2), IN_FOREST.weight_decay(N)
    assert size_and_decay(y) == size_and_decay(1 - y) == usual


def test_rare_classes_are_learnt_with_fewer_weights_and_more_decay():
    usual = IN_FOREST.n_weights(N, 2), IN_FOREST.weight_decay(N)
    previous = usual
    for share in (0.1, 0.05, 0.02):
        _, y = table(share)
        n_weights, decay = size_and_decay(y)
        assert n_weights == int(usual[0] * (5 * share) ** 0.5) < previous[0]
        assert decay > previous[1]
        assert decay == pytest.approx(IN_FOREST.weight_decay(5 * share * N))
        assert size_and_decay(1 - y) == (n_weights, decay)
        previous = n_weights, decay


def test_all_classes_but_the_most_frequent_one_count():
    assert effective_share(np.array([900, 50, 50])) == pytest.approx(0.5)
    assert effective_share(np.array([90, 10, 10, 10])) == 1.0
    assert effective_share(np.array([800, 200])) == 1.0
    assert effective_share(np.array([70, 0])) == 1.0  # a part of a table


def test_every_output_keeps_some_weights():
    assert SINGLE_TREE.n_weights(100, 2, share=1e-6) == 10


def test_rows_count_and_not_their_weights():
    X, y = table(0.05)
    model = BNeuralForestClassifier(n_estimators=1, max_epochs=1, random_state=0)
    balanced = model.set_params(class_weight="balanced").fit(X, y).recipe_.n_weights
    assert balanced == model.set_params(class_weight=None).fit(X, y).recipe_.n_weights
    repeated = model.fit(X.repeat(2, axis=0), y.repeat(2)).recipe_
    weighted = model.fit(X, y, sample_weight=np.full(N, 2)).recipe_
    assert (repeated.n_weights, repeated.weight_decay) == (
        weighted.n_weights,
        weighted.weight_decay,
    )


def test_probabilities_of_rare_classes_are_better_than_with_the_size_for_all_rows():
    gains = []
    for seed in range(24):
        X, y = table(0.03, seed, 9000)
        scores = []
        for size in ({}, {"n_weights": 600, "weight_decay": SINGLE_TREE.weight_decay(N)}):
            model = BNeuralTClassifier(random_state=seed, **size).fit(X[:N], y[:N])
            shares = model.predict_proba(X[N:])[:, 1]
            scores.append((roc_auc_score(y[N:], shares), -log_loss(y[N:], shares)))
        gains.append(np.subtract(*scores))
    auc, loss = np.mean(gains, axis=0)
    assert loss > 0.003
    assert auc > -0.003  # the gain in ranks is smaller than its standard error
