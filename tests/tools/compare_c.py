"""Compare generated C code with Python on random models.

`make export-c` runs it with all compilers: ``python -m tests.tools.compare_c MODELS ROWS``. The
tests do the same with fewer models and rows.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

from bneuralt.expressions import OUTPUTS, evaluate, exp
from tests.helpers import integer_bounds
from tests.helpers.c_programs import COMPILERS, SANITIZE, as_float32, c_rows, run_models
from tests.helpers.comparison import size_of_terms
from tests.helpers.random_models import random_model, rows_to_predict

TOLERANCE = {"double": 1e-12, "float": 1e-5}

#: Shares of a sum of almost 0 have few digits; below the smallest numbers they have none.
LEAST_TOTAL = {"double": 1e-290, "float": 1e-2}


def complaints(folder, seeds, n_rows, dtype, compiler, flags=("-O1",), libm=True):
    """What differs between C and Python, as texts; empty if all is well."""
    jobs, expected = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in seeds:
            model, table, later = random_model(seed)
            rows = rows_to_predict(seed, table, later, n_rows)
            if dtype == "float":
                rows = as_float32(rows)
            style = "code" if seed % 2 else "tables"
            cells = c_rows(model.model_, rows)
            if dtype.startswith("int"):
                cells = c_rows(model.quantize(dtype).integer_model_.model, rows, is_integer=True)
            jobs.append((model, dtype, style, cells))
            expected.append(_expected(model, dtype, rows))
        results = run_models(folder, jobs, compiler, flags, libm)
    texts = []
    for seed, (model, decided, shares, total_of_shares, terms), (c_decided, c_shares) in zip(
        seeds, expected, results, strict=True
    ):
        where = f"seed {seed}, {dtype}, {compiler}: {model.task}, {model.link.operation}"
        if dtype not in TOLERANCE:
            if not np.array_equal(c_decided, decided) or not np.array_equal(c_shares, shares):
                texts.append(f"{where}: not equal")
            continue
        tolerance = TOLERANCE[dtype]
        if model.task == "numbers":
            with np.errstate(invalid="ignore", over="ignore"):
                error = np.abs(c_decided - decided) / np.maximum(1.0, np.abs(decided)) / terms
            if dtype == "float" and model.link == exp(
                OUTPUTS
            ):  # float has no larger or smaller ones
                error = np.where((decided < 1e30) & (decided > 1e-30), error, 0.0)
            error = np.where(c_decided == decided, 0.0, error)
        else:
            error = np.abs(c_shares - shares)
            if model.link.operation == "divide":
                error[total_of_shares < LEAST_TOTAL[dtype]] = 0.0
            clear = _is_clear(model, shares, tolerance) & (error > 0).any(axis=1)
            differs = (c_decided != decided).any(axis=1) & clear
            if differs.any():
                texts.append(f"{where}: row {int(np.argmax(differs))} has another class")
        if not (error <= tolerance).all():
            texts.append(f"{where}: differs by {np.max(error)}")
    return texts


def _expected(estimator, dtype, rows):
    """The model, predictions, and probabilities of rows, in the units of the C code.

    The last two entries are the smallest sum of the outputs of a tree, and how much larger the
    terms of an output are than the output, by which errors of rounding grow.
    """
    model, n = estimator.model_.in_raw_units().simplified(), len(rows)
    total, terms = np.ones(n), np.ones((n, 1))
    if dtype in TOLERANCE:
        inputs = model.encode(rows).astype(np.float64)
        outputs = model.outputs(inputs)
        values, decided = model.predictions(outputs), model.decisions(outputs)
        terms = size_of_terms(model, inputs)
        if model.link != exp(OUTPUTS):  # whose relative error is the error of the sum
            terms = np.maximum(1.0, terms / np.maximum(1.0, np.abs(values)))
        total = np.abs(outputs).sum(axis=2).min(axis=0)
    else:
        rounded = estimator.quantize(dtype)
        integers = rounded.integer_outputs(rows)
        decided = rounded.integer_model_.decisions(integers)
        values = rounded.integer_model_.predictions(integers) * 32768
    shares = values if model.task != "numbers" else np.zeros((n, 0))
    return model, decided.reshape(n, -1), shares, total, terms


def _is_clear(model, shares, tolerance):
    """Whether the prediction of a row does not hang on rounding."""
    if model.task == "labels":
        return (np.abs(shares - 0.5) > tolerance).all(axis=1)
    first, second = np.sort(shares, axis=1)[:, :-3:-1].T
    return first - second > 2 * tolerance


def excesses(seeds, n_rows, dtype):
    """How much each bound is larger than the largest error seen; below 1 it is wrong."""
    ratios = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in seeds:
            estimator, table, later = random_model(seed)
            integers = estimator.quantize(dtype).integer_model_
            rows = rows_to_predict(seed, table, later, n_rows, inside=True)
            inputs = integers.model.encode(rows).astype(np.float64)
            units = integers.inputs
            inside = ((inputs >= units.low) & (inputs <= units.high)).all(axis=1)
            ratios += ratios_of(integers, inputs[inside])
            ratios += ratios_of(integers, inputs[inside], integers.encode_rows(rows)[inside])
    return np.array(ratios)


def ratios_of(integers, inputs, whole=None):
    """How much the bounds on predictions and on outputs are larger than the largest errors."""
    whole = integers.encode(inputs) if whole is None else whole
    pairs = [(integers.bound, integers.errors(inputs, whole))]
    exact = evaluate(integers.link.activation, {"outputs": integers.model.outputs(inputs)})
    for tree, of_tree, real in zip(integers.trees, integers.outputs(whole), exact, strict=True):
        pairs.append((tree.bound, np.abs(tree.offset + tree.unit * of_tree - real)))
    ratios = []
    for bound, errors in pairs:
        seen = errors.max(axis=0)
        ratios += (np.maximum(bound, 1e-300) / np.maximum(seen, 1e-300)).tolist()
    return ratios


def bound_complaints(seed, dtype):
    """What is wrong with the bounds of a model: their size, or an error that a search finds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        integers = random_model(seed)[0].quantize(dtype).integer_model_
    texts = integer_bounds.complaints(integers)
    seen = integer_bounds.largest_error(integers, np.random.default_rng(seed))
    if not (seen <= integers.bound).all():
        texts.append(f"an error of {seen} exceeds the bound {integers.bound}")
    return [f"seed {seed}, {dtype}: {text}" for text in texts]


def main(n_models=200, n_rows=1000):
    """Compare all of them, with all compilers and under the sanitizers."""
    texts = []
    seeds = range(n_models)
    with tempfile.TemporaryDirectory() as folder:
        for dtype in ("double", "float", "int16", "int8"):
            for compiler in COMPILERS:
                for libm in (True, False) if dtype in TOLERANCE else (True,):
                    texts += complaints(
                        Path(folder), seeds, n_rows, dtype, compiler, ("-O1",), libm
                    )
                print(f"{dtype}, {compiler}: {len(texts)} differences so far", flush=True)
            texts += complaints(Path(folder), seeds, n_rows, dtype, "gcc", (*SANITIZE, "-O1"))
            print(f"{dtype}, sanitizers: {len(texts)} differences so far", flush=True)
    for dtype in ("int16", "int8"):
        ratios = excesses(seeds, n_rows, dtype)
        print(
            f"{dtype}: {len(ratios)} bounds, {np.count_nonzero(ratios < 1)} exceeded; a bound is "
            f"{np.median(ratios):.2f} times the largest error seen in the median"
        )
        texts += ["a bound is exceeded"] * bool((ratios < 1).any())
        wrong = [text for seed in seeds for text in bound_complaints(seed, dtype)]
        print(f"{dtype}: {len(wrong)} bounds are not those of another computation")
        texts += wrong
    print("\n".join(texts) or f"{n_models} models, {n_rows} rows: all equal")
    return bool(texts)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
