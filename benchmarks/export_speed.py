"""Latency of one prediction by exported C code and by other ways to predict a single row.

    python -m benchmarks.export_speed [--data FOLDER] [--runs 4]

The tree is the one of the paper's timings (48 function nodes, 100 leaves, sigmoid everywhere). C
code is compiled with ``gcc -O2``; the floor is 48 calls of libm's ``exp``. Other libraries predict
the same rows with their models; those that are not installed are left out. Of several runs, the
least time of each row is shown, which other programs disturb least.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from benchmarks.core_speed import australian_tree
from benchmarks.timing import table
from bneuralt import BNeuralTClassifier, Growth
from bneuralt_paper import load_dataset

FLOOR = "48 calls of libm's exp"
INCLUDE = '#include "m.h"'

PROGRAM = """\
#define _POSIX_C_SOURCE 199309L
#include <math.h>
#include <stdio.h>
#include <time.h>
$INCLUDE
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}
int main(void)
{
    static volatile double sink;
    double least = 1e30;
    int repeat, i;
    for (repeat = 0; repeat < 2000; repeat++) {
        const double start = now();
        double total = 0;
        for (i = 0; i < N_ROWS; i++) {
            $BODY
        }
        sink = total;
        if ((now() - start) / N_ROWS < least)
            least = (now() - start) / N_ROWS;
    }
    (void)sink;
    printf("%.1f\\n", least);
    return 0;
}
"""


def nanoseconds_in_c(folder, include, body, data, extra=()):
    """Return the least time of the body of a loop over rows, in nanoseconds per row."""
    (folder / "rows.h").write_text(data)
    text = PROGRAM.replace("$INCLUDE", include + '\n#include "rows.h"').replace("$BODY", body)
    (folder / "speed.c").write_text(text)
    command = ["gcc", "-O2", "-std=c99", "speed.c", *extra, "-o", "speed", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    run = subprocess.run(["./speed"], cwd=folder, check=True, capture_output=True, text=True)
    return float(run.stdout)


def rows_in_c(X, kind="double"):
    lines = ",\n".join("{" + ", ".join(map(repr, row)) + "}" for row in X.tolist())
    declaration = f"static const {kind} rows[{len(X)}][{X.shape[1]}]"
    return f"#define N_ROWS {len(X)}\n{declaration} = {{{lines}}};\n"


def nanoseconds_in_python(call, X, repeat=30):
    """Return the least time of a call with a single row, in nanoseconds."""
    rows = [X[i : i + 1] for i in range(50)]
    least = float("inf")
    for _ in range(repeat):
        start = time.thread_time_ns()
        for row in rows:
            call(row)
        least = min(least, (time.thread_time_ns() - start) / len(rows))
    return least


def main(data_home=None, n_runs=4):
    least = {}
    for _ in range(n_runs):
        for label, took in measured(data_home).items():
            least[label] = min(took, least.get(label, took))
    floor = least[FLOOR]
    rows = [(label, took, took / floor) for label, took in least.items()]
    table("one row", ("", "ns", "x 48 exp"), rows)


def measured(data_home):
    """Return the nanoseconds of each way to predict a row."""
    data = load_dataset("australian", data_home=data_home)
    X, y = np.ascontiguousarray(data.X, dtype=np.float64), data.y
    low, high = X.min(axis=0), X.max(axis=0)
    X = (X - low) / (high - low)
    model = BNeuralTClassifier(
        loss="squared_error",
        max_epochs=1,
        growth=Growth(output_activation="sigmoid", activation="sigmoid"),
    ).fit(X, y)
    model.tree_ = australian_tree()
    some = X[:100]
    nanoseconds = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        exps = "int j; for (j = 0; j < 48; j++) total += exp(-rows[i][j]);"
        random = np.random.default_rng(0).normal(size=(100, 48))
        nanoseconds[FLOOR] = nanoseconds_in_c(folder, "", exps, rows_in_c(random))
        body = "total += m_predict(rows[i]);"
        for style in ("code", "tables"):
            model.to_c(folder / "m.h", dtype="double", style=style)
            in_c = rows_in_c(some)
            nanoseconds[f"C, double, {style}"] = nanoseconds_in_c(folder, INCLUDE, body, in_c)
        model.to_c(folder / "m.h", dtype="float", style="code")
        in_c = rows_in_c(some, "float")
        nanoseconds["C, float, code"] = nanoseconds_in_c(folder, INCLUDE, body, in_c)
        for dtype in ("int16", "int8"):
            integers = model.quantize(dtype).encode(some)
            model.to_c(folder / "m.h", dtype=dtype, style="code")
            in_c = rows_in_c(integers, f"{dtype}_t")
            nanoseconds[f"C, {dtype}, code"] = nanoseconds_in_c(folder, INCLUDE, body, in_c)
        nanoseconds |= dict(other_code(folder, X, y, some))
    calls = {
        "engine, tree.forward": model.tree_.forward,
        "engine, predict_proba of the estimator": model.predict_proba,
        **other_models(model, X, y),
    }
    return nanoseconds | {label: nanoseconds_in_python(call, X) for label, call in calls.items()}


def other_code(folder, X, y, some):
    """Measure the C code of other libraries for their models."""
    forest = RandomForestClassifier(10, max_depth=6, random_state=0).fit(X, y)
    with contextlib.suppress(ModuleNotFoundError):
        import m2cgen

        for label, model in (
            ("m2cgen, random forest of 10", forest),
            ("m2cgen, logistic regression", LogisticRegression().fit(X, y)),
        ):
            text = m2cgen.export_to_c(model)
            (folder / "other.c").write_text(text)
            if isinstance(model, LogisticRegression):
                declare = "double score(double *input);"
                body = "total += score((double *)rows[i]);"
            else:
                declare = "void score(double *input, double *output);"
                body = "double out[2]; score((double *)rows[i], out); total += out[0];"
            took = nanoseconds_in_c(folder, declare, body, rows_in_c(some), ["other.c"])
            yield label, took
    with contextlib.suppress(ModuleNotFoundError):
        import emlearn

        net = MLPClassifier((12,), activation="logistic", max_iter=300, random_state=0).fit(X, y)
        for label, model, options in (
            ("emlearn, random forest of 10", forest, {"method": "inline", "dtype": "float"}),
            ("emlearn, MLP of 193 weights", net, {"method": "inline"}),
        ):
            converted = emlearn.convert(model, **options)
            converted.save(file=str(folder / "eml.h"), name="eml")
            is_float = "const float *features" in (folder / "eml.h").read_text()
            values = some if is_float else (some * 1000).astype(int)
            in_c = rows_in_c(values, "float" if is_float else "int16_t")
            body, where = "total += eml_predict(rows[i], 14);", Path(emlearn.includedir)
            yield label, nanoseconds_in_c(folder, '#include "eml.h"', body, in_c, [f"-I{where}"])


def other_models(model, X, y):
    """Return calls that predict the probabilities of a single row."""
    single = {
        "scikit-learn, decision tree": DecisionTreeClassifier(max_depth=6, random_state=0),
        "scikit-learn, scaler and MLP": make_pipeline(
            StandardScaler(), MLPClassifier(random_state=0, max_iter=50)
        ),
        "scikit-learn, random forest of 100": RandomForestClassifier(random_state=0),
    }
    calls = {name: other.fit(X, y).predict_proba for name, other in single.items()}
    with contextlib.suppress(ImportError):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(
            model.to_onnx().SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        calls["onnxruntime, the same tree"] = lambda row: session.run(
            None, {"X": row.astype(np.float32)}
        )
    with contextlib.suppress(ImportError):
        import lightgbm

        booster = lightgbm.LGBMClassifier(verbose=-1, n_jobs=1).fit(X, y).booster_
        calls["LightGBM, 100 trees"] = lambda row: booster.predict(row, num_threads=1)
        with contextlib.suppress(ImportError):
            import treelite

            converted = treelite.frontend.from_lightgbm(booster)
            calls["treelite, the same 100 trees"] = lambda row: treelite.gtil.predict(
                converted, row, nthread=1
            )
    return calls


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="folder with the data sets")
    parser.add_argument("--runs", type=int, default=4)
    args = parser.parse_args()
    main(args.data, args.runs)
