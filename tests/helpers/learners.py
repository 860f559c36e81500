"""Random models that go on learning: the updates of the engine, and those of generated C code."""

from __future__ import annotations

import subprocess
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bneuralt import BNeuralTClassifier, BNeuralTRegressor, Growth, TrainingJob, TrainingSettings
from bneuralt.tables.columns import Frame
from bneuralt.training import epoch_order, train_many
from bneuralt.training.losses import CLASSIFICATION_LOSSES, LOSSES, REGRESSION_LOSSES
from bneuralt.tree.activations import NAMES
from tests.helpers.c_programs import FLAGS, as_float32, c_rows
from tests.helpers.random_models import WORDS, _Column
from tests.helpers.strategies import draw_activation, draw_parameter

DTYPES = {"float": "float32", "double": "float64"}
ENGINE = {"sgd": "gd", "rmsprop": "rmsprop"}


@dataclass
class Learner:
    """A fitted model, and a table to learn from.

    `rate` is that of the updates; `order` are positions in the rows, one for each update.
    """

    estimator: Any
    rows: Any
    target: np.ndarray
    order: np.ndarray
    rate: float
    weight_decay: float
    seed: int

    @property
    def learning(self):
        """The state of training."""
        return self.estimator.model_.learning

    def error(self, weights, rule):
        """The largest difference of weights from those of the engine, in units of the largest.

        Where RMSprop divides small gradients by their size, errors of rounding grow. So weights of
        type float are compared with those of the engine in float32 and in float64.
        """
        errors = []
        for dtype in {self.learning.tree.dtype, np.dtype(np.float64)}:
            expected = self.engine_weights(rule, dtype)
            errors.append(np.abs(weights - expected).max() / max(1.0, np.abs(expected).max()))
        return min(errors)

    def engine_weights(self, rule, dtype=np.float64):
        """The weights after the updates of the engine."""
        learning = self.learning
        settings = TrainingSettings(
            loss=learning.loss,
            optimizer=ENGINE[rule],
            learning_rate=self.rate,
            weight_decay=self.weight_decay,
            batch_size=1,
            max_epochs=1,
            schedule="constant",
            leaf_moves=0,
        )
        signs = self.estimator.model_.in_scaled_units().signs_of(0)
        job = TrainingJob(
            learning.tree.astype(dtype),
            settings,
            self.seed,
            rows=np.arange(len(self.order)) % len(self.target),
            input_scaling=learning.inputs,
            target_scaling=learning.targets,
            signs=signs,
        )
        inputs = self.estimator.model_.encode(self.rows)
        (result,) = train_many([job], inputs, self.target)
        assert result.status == "completed", result.status
        return result.tree.parameters.astype(np.float64)


def order_of(seed, n_rows, n_updates):
    """The rows of the updates of an epoch of the engine, where rows are repeated."""
    return epoch_order(seed, 0, n_updates) % n_rows


def random_learner(seed, dtype, n_rows=100, n_updates=1000):
    """A model of any task, loss and activation, fitted for an epoch."""
    rng = np.random.default_rng([seed, 7])
    kinds = ["number", "gaps", "category", "date"]
    columns = [_Column(rng, str(rng.choice(kinds, p=[0.5, 0.2, 0.2, 0.1]))) for _ in range(4)]
    for column in columns:
        column.words = WORDS[: len(column.words)]  # without texts that are read as numbers
    names = [f"{column.kind} {i}" for i, column in enumerate(columns)]
    table = as_float32(Frame([column.training(rng, n_rows) for column in columns], names))
    estimator, y = _estimator(rng, dtype, table)
    rows = as_float32(Frame([column.later(rng, n_rows, True) for column in columns], names))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(table, y)
        target = estimator.model_.target.encode(y, np.ones(len(y)))
    if dtype == "float" and target.dtype.kind == "f":
        target = target.astype(np.float32).astype(np.float64)
    order = order_of(seed, n_rows, n_updates)
    decay = float(rng.choice([0.0, 0.01]))
    return Learner(estimator, rows, target, order, float(np.float32(0.003)), decay, seed)


def _estimator(rng, dtype, table):
    """An estimator that is not fitted, and its target."""
    n = len(table.columns[0])
    hidden = [draw_activation(rng, name) for name in NAMES]
    hidden = hidden if rng.integers(3) == 0 else hidden[int(rng.integers(len(NAMES)))]
    trains = bool(rng.integers(3) == 0)
    options = {
        "n_weights": int(rng.integers(15, 80)),
        "scale": str(rng.choice(["standard", "minmax"])),
        "dtype": DTYPES[dtype],
        "max_epochs": 1,
        "random_state": int(rng.integers(2**31)),
    }
    growth = {"activation": hidden, "train_activations": trains}
    task = str(rng.choice(["classes", "labels", "number", "numbers", "quantile"]))
    if task in ("classes", "labels"):
        k = int(rng.integers(2, 5))
        loss = str(rng.choice(CLASSIFICATION_LOSSES))
        if loss == "squared_error":
            growth["output_activation"] = "sigmoid"
        y = rng.integers(0, k, n) if task == "classes" else rng.integers(0, 2, (n, k))
        if task == "classes":
            y[:k] = np.arange(k)
        return BNeuralTClassifier(
            loss=_with_parameters(rng, loss), growth=Growth(**growth), **options
        ), y
    if task == "quantile":
        y = 100.0 + 5.0 * rng.normal(size=n)
        options |= {"loss": "quantile", "quantiles": (0.5, 0.1, 0.9)}
        return BNeuralTRegressor(growth=Growth(**growth), **options), y
    loss = str(rng.choice(REGRESSION_LOSSES))
    y = 100.0 + 5.0 * rng.normal(size=(n, 1 if task == "number" else 3))
    if loss == "poisson":
        y = rng.poisson(3.0, y.shape).astype(np.float64)
    elif rng.integers(3) == 0 and not LOSSES[loss].entry.needs_linear_outputs:
        growth["output_activation"] = "sigmoid"
    if task == "number" and rng.integers(3) == 0 and table.columns[0].kind == "number":
        growth |= {"activation": "tanh", "train_activations": False}
        options["monotonic_cst"] = [1, 0, 0, 0]
    y = y[:, 0] if task == "number" else y
    return BNeuralTRegressor(
        loss=_with_parameters(rng, loss), growth=Growth(**growth), **options
    ), y


def _with_parameters(rng, loss):
    cls = LOSSES[loss]
    return cls(*(draw_parameter(rng, parameter) for parameter in cls.entry.parameters))


# -- programs -----------------------------------------------------------------------------


def c_target(learner):
    """The targets as numbers, of shape (n_rows, n_numbers), and the C type of one."""
    model = learner.estimator.model_
    kind = {"classes": "int", "labels": "unsigned char", "numbers": None}[model.task]
    return learner.target.reshape(len(learner.target), -1).astype(np.float64), kind


def run_learners(folder: Path, learners, dtype, rule, compiler="gcc", flags=("-O1",), **options):
    """The weights of learners after the updates of their C code, and how many were refused."""
    folder.mkdir(parents=True, exist_ok=True)
    includes, functions, data, sizes = [], [], [], []
    for i, learner in enumerate(learners):
        path = folder / f"m{i}.h"
        decay = learner.weight_decay
        learner.estimator.to_c(path, dtype=dtype, learning=rule, weight_decay=decay, **options)
        sizes.append(int(path.read_text().partition("_N_WEIGHTS ")[2].split()[0]))
        includes.append(f'#include "{path.name}"')
        target, kind = c_target(learner)
        functions.append(_function(i, target.shape[1], kind or dtype, dtype, learner.rate))
        rows = c_rows(learner.estimator.model_, learner.rows)
        data += [np.array([len(learner.order)], np.float64)]
        data += [np.concatenate([rows, target], axis=1)[learner.order]]
    calls = "\n".join(f"    run{i}(in, out);" for i in range(len(learners)))
    (folder / "program.c").write_text(
        "\n".join([*includes, "#include <stdio.h>", *functions])
        + "\nint main(int argc, char **argv)\n{\n"
        '    FILE *in = fopen(argv[argc - 2], "rb"), *out = fopen(argv[argc - 1], "wb");\n'
        f"{calls}\n    fclose(in);\n    return fclose(out);\n}}\n"
    )
    (folder / "rows").write_bytes(b"".join(part.tobytes() for part in data))
    command = [compiler, *FLAGS, *flags, "program.c", "-o", "program", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    subprocess.run(["./program", "rows", "results"], cwd=folder, check=True)
    flat = np.frombuffer((folder / "results").read_bytes())
    results, at = [], 0
    for size in sizes:
        results.append((flat[at : at + size], int(flat[at + size])))
        at += size + 1
    return results


def _function(i, n_targets, target_type, dtype, rate):
    """A C function that learns from rows in a file and writes the weights, all as doubles."""
    argument = "y[0]" if n_targets == 1 and target_type != "unsigned char" else "y"
    return f"""
static void run{i}(FILE *in, FILE *out)
{{
    double n, row[M{i}_N_FEATURES + {n_targets}];
    m{i}_input x[M{i}_N_FEATURES];
    {target_type} y[{n_targets}];
    int k;
    if (fread(&n, sizeof n, 1, in) != 1) return;
    for (; n > 0; n--) {{
        if (fread(row, sizeof row, 1, in) != 1) return;
        for (k = 0; k < M{i}_N_FEATURES; k++) x[k] = ({dtype})row[k];
        for (k = 0; k < {n_targets}; k++) y[k] = ({target_type})row[M{i}_N_FEATURES + k];
        m{i}_update(x, {argument}, ({dtype}){rate!r});
    }}
    for (k = 0; k < M{i}_N_WEIGHTS; k++) {{
        const double w = (double)m{i}_weights()[k];
        fwrite(&w, sizeof w, 1, out);
    }}
    n = (double)m{i}_refused();
    fwrite(&n, sizeof n, 1, out);
}}"""
