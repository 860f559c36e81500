"""The inputs of a column, and what a tree learns from it with and without ramps."""

import matplotlib.pyplot as plt
import numpy as np

from bneuralt import BNeuralTRegressor

rng = np.random.default_rng(0)
X = rng.normal(size=(1000, 6))  # five columns of noise
X = X[np.argsort(X[:, 0])]
truth = np.where((X[:, 0] > -1) & (X[:, 0] < 0.5), 1.0, 0.2 * X[:, 0])
y = truth + rng.normal(scale=0.2, size=len(X))
bent = BNeuralTRegressor(n_weights=40, random_state=0).fit(X, y)
plain = BNeuralTRegressor(n_weights=40, ramps=0, random_state=0).fit(X, y)

rows = np.zeros((801, 6))
rows[:, 0] = x = np.linspace(-4, 4, 801)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
left.plot(x, bent.encoder_.encode(rows)[:, :9])
left.set(title="inputs: the number, limited, and ramps", ylim=(-3, 3))
right.plot(X[:, 0], truth, "0.7", linewidth=4, label="truth")
right.plot(x, plain.predict(rows), label="without ramps")
right.plot(x, bent.predict(rows), label="with ramps")
right.legend(title="40 weights", loc="lower right")
drawing = left
