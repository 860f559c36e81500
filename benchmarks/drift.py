"""Prequential error on a stream of a sensor that ages, beside models of river.

    python -m benchmarks.drift [N]

A gas sensor of two elements measures a concentration. Its elements lose sensitivity at different
rates, their zero drifts, and both depend on temperature and humidity; after three fifths of the
stream, the first element is replaced by another one. Every example is predicted first and learnt
then; the table has the mean absolute errors in four parts of the stream.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from river import dummy, forest, linear_model, neighbors, preprocessing, stats, tree

from bneuralt.river import NeuralTreeRegressor

#: Ends of the parts, as shares of the stream.
PARTS = {"first tenth": (0.0, 0.1), "aged": (0.5, 0.6), "replaced": (0.6, 0.7), "end": (0.9, 1.0)}


def aging_sensor(n, seed=0):
    """Return the examples of the stream: dicts of features, and concentrations."""
    rng = np.random.default_rng(seed)
    age = np.arange(n) / n
    season = 2 * np.pi * 3 * age
    temperature = 20 + 8 * np.sin(season) + rng.normal(0, 2, n)
    humidity = np.clip(50 + 15 * np.cos(season) + rng.normal(0, 8, n), 5, 95)
    concentration = rng.gamma(2.0, 10.0, n)
    response = (1 + 0.015 * (temperature - 20)) * (1 - 0.004 * (humidity - 50))
    is_new = age >= 0.6
    first = np.where(is_new, 1.3, np.exp(-1.2 * age))
    second = np.exp(-0.5 * age)
    zero = np.where(is_new, 0.4, 1.5 * age)
    one = first * response * concentration**0.7 + zero + rng.normal(0, 0.15, n)
    two = second * response * np.log1p(concentration) + 0.5 * age + rng.normal(0, 0.05, n)
    names = ("element 1", "element 2", "temperature", "humidity")
    rows = np.stack([one, two, temperature, humidity], axis=1).tolist()
    examples = [dict(zip(names, row, strict=True)) for row in rows]
    return list(zip(examples, concentration.tolist(), strict=True))


class Frozen(NeuralTreeRegressor):
    """The same tree, which learns nothing more once it is drawn."""

    def learn_one(self, x, y):
        """Learn an example of the first ones."""
        if self.estimator is None:
            super().learn_one(x, y)


def models():
    """Return the models by name."""
    scaler = preprocessing.StandardScaler
    return {
        "bneuralt.river": NeuralTreeRegressor(seed=0),
        "the same, frozen after 100": Frozen(seed=0),
        "linear regression": scaler() | linear_model.LinearRegression(),
        "nearest neighbours": scaler() | neighbors.KNNRegressor(),
        "Hoeffding adaptive tree": tree.HoeffdingAdaptiveTreeRegressor(seed=0),
        "adaptive random forest": forest.ARFRegressor(seed=0),
        "mean so far": dummy.StatisticRegressor(stats.Mean()),
    }


def prequential_errors(model, examples):
    """Return the absolute error of each example, predicted before it is learnt."""
    errors = []
    for x, y in examples:
        errors.append(abs(model.predict_one(x) - y))
        model.learn_one(x, y)
    return np.array(errors)


def part_errors(errors):
    """Return the mean error of each part, and of all."""
    n = len(errors)
    means = {name: errors[int(a * n) : int(b * n)].mean() for name, (a, b) in PARTS.items()}
    return {**means, "all": errors.mean()}


def main(n=20_000):
    """Print the table; times are in units of that of linear regression, measured side by side."""
    compared, errors, seconds = models(), {}, dict.fromkeys(models(), 0.0)
    for x, y in aging_sensor(n):
        for name, model in compared.items():
            start = time.perf_counter()
            error = abs(model.predict_one(x) - y)
            model.learn_one(x, y)
            seconds[name] += time.perf_counter() - start
            errors.setdefault(name, []).append(error)
    print(f"| model | {' | '.join([*PARTS, 'all'])} | time |")
    print("| --- |" + " ---: |" * (len(PARTS) + 2))
    for name in compared:
        means = part_errors(np.array(errors[name])).values()
        times = seconds[name] / seconds["linear regression"]
        print(f"| {name} | {' | '.join(f'{v:.2f}' for v in means)} | {times:.3g} |")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
