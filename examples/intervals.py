"""Predict intervals that cover nine of ten new rows, in two ways."""

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from bneuralt import BNeuralForestRegressor, BNeuralTRegressor

X, y = load_diabetes(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

models = {
    "tree, a quarter of the rows held out": BNeuralTRegressor(conformal=0.25, random_state=0),
    "forest of 20, rows out of bag": BNeuralForestRegressor(
        n_estimators=20, bootstrap=True, random_state=0
    ),
}
for name, model in models.items():
    low, high = model.fit(X_train, y_train).predict_interval(X_test, coverage=0.9).T
    covered = np.mean((low <= y_test) & (y_test <= high))
    print(f"{name}: {covered:.0%} covered, mean width {np.mean(high - low):.0f}")
