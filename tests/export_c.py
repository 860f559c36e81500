"""Compare generated C code with Python on random models.

`make export-c` runs it with all compilers: ``python -m tests.export_c MODELS ROWS``. The tests do
the same with fewer models and rows.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from scipy.special import expit

from bneuralt.export import make_plan, quantize
from tests.c_programs import COMPILERS, SANITIZE, as_float32, c_rows, run_models
from tests.random_models import random_model, rows_to_predict
from tests.terms import size_of_terms

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
            jobs.append((model, dtype, style, c_rows(make_plan(model), rows)))
            expected.append(_expected(model, dtype, rows))
        results = run_models(folder, jobs, compiler, flags, libm)
    found = []
    for seed, (plan, decided, shares, total_of_shares, terms), (c_decided, c_shares) in zip(
        seeds, expected, results, strict=True
    ):
        where = f"seed {seed}, {dtype}, {compiler}: {plan.task}, {plan.combine}"
        if dtype not in TOLERANCE:
            if not np.array_equal(c_decided, decided) or not np.array_equal(c_shares, shares):
                found.append(f"{where}: not equal")
            continue
        tolerance = TOLERANCE[dtype]
        if plan.task == "numbers":
            with np.errstate(invalid="ignore", over="ignore"):
                error = np.abs(c_decided - decided) / np.maximum(1.0, np.abs(decided)) / terms
            if dtype == "float" and plan.combine == "exp":  # float has no larger or smaller ones
                error = np.where((decided < 1e30) & (decided > 1e-30), error, 0.0)
            error = np.where(c_decided == decided, 0.0, error)
        else:
            error = np.abs(c_shares - shares)
            if plan.combine == "shares":
                error[total_of_shares < LEAST_TOTAL[dtype]] = 0.0
            clear = _is_clear(plan, shares, tolerance) & (error > 0).any(axis=1)
            differs = (c_decided != decided).any(axis=1) & clear
            if differs.any():
                found.append(f"{where}: row {int(np.argmax(differs))} has another class")
        if not (error <= tolerance).all():
            found.append(f"{where}: differs by {np.max(error)}")
    return found


def _expected(model, dtype, rows):
    """The plan, predictions, and probabilities of rows, in the units of the C code.

    The last two entries are the smallest sum of the outputs of a tree, and how much larger the
    terms of an output are than the output, by which errors of rounding grow.
    """
    plan, n = make_plan(model), len(rows)
    total, terms = np.ones(n), np.ones((n, 1))
    if dtype in TOLERANCE:
        inputs = model._filled(model._read_features(rows)).astype(np.float64)
        outputs = plan.outputs(inputs)
        terms = size_of_terms(plan, inputs)
        if plan.combine != "exp":  # whose relative error is the error of the sum
            terms = np.maximum(1.0, terms / np.maximum(1.0, np.abs(plan.combined(outputs))))
        decided, values = plan.decided(outputs), plan.combined(outputs)
        total = np.abs(outputs).sum(axis=2).min(axis=0)
    else:
        rounded = quantize(model, dtype)
        integers = rounded.integer_outputs(rows)
        decided = rounded.integer_model_.decided(integers)
        values = rounded.integer_model_.values(integers) * 32768
    shares = values if plan.task != "numbers" else np.zeros((n, 0))
    return plan, decided.reshape(n, -1), shares, total, terms


def _is_clear(plan, shares, tolerance):
    """Whether the prediction of a row does not hang on rounding."""
    if plan.task == "labels":
        return (np.abs(shares - 0.5) > tolerance).all(axis=1)
    first, second = np.sort(shares, axis=1)[:, :-3:-1].T
    return first - second > 2 * tolerance


def excesses(seeds, n_rows, dtype):
    """How much each bound is larger than the largest error seen; below 1 it is wrong."""
    ratios = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in seeds:
            model, table, later = random_model(seed)
            integer = quantize(model, dtype).integer_model_
            rows = rows_to_predict(seed, table, later, n_rows, inside=True)
            inputs = model._filled(model._read_features(rows)).astype(np.float64)
            inside = ((inputs >= integer.inputs.low) & (inputs <= integer.inputs.high)).all(axis=1)
            plan, inputs = integer.plan, inputs[inside]
            exact, found = plan.outputs(inputs), integer.outputs(integer.encode(inputs))
            pairs = [(integer.bound, _real_values(integer, found), _combined(plan, exact))]
            if plan.combine == "sigmoid":
                exact = expit(exact)
            for tree, mine, real in zip(integer.trees, found, exact, strict=True):
                pairs.append((tree.bound, tree.offset + tree.unit * mine, real))
            for bound, mine, real in pairs:
                seen = np.abs(mine - real).max(axis=0)
                ratios += (np.maximum(bound, 1e-300) / np.maximum(seen, 1e-300)).tolist()
    return np.array(ratios)


def _combined(plan, outputs):
    values = plan.combined(outputs)
    return np.log(values) if plan.combine == "exp" else values


def _real_values(integer, outputs):
    values = integer.values(outputs)
    return np.log(values) if integer.plan.combine == "exp" else values


def main(n_models=200, n_rows=1000):
    """Compare all of them, with all compilers and under the sanitizers."""
    found = []
    seeds = range(n_models)
    with tempfile.TemporaryDirectory() as folder:
        for dtype in ("double", "float", "int16", "int8"):
            for compiler in COMPILERS:
                for libm in (True, False) if dtype in TOLERANCE else (True,):
                    found += complaints(
                        Path(folder), seeds, n_rows, dtype, compiler, ("-O1",), libm
                    )
                print(f"{dtype}, {compiler}: {len(found)} differences so far", flush=True)
            found += complaints(Path(folder), seeds, n_rows, dtype, "gcc", (*SANITIZE, "-O1"))
            print(f"{dtype}, sanitizers: {len(found)} differences so far", flush=True)
    for dtype in ("int16", "int8"):
        ratios = excesses(seeds, n_rows, dtype)
        print(
            f"{dtype}: {len(ratios)} bounds, {np.count_nonzero(ratios < 1)} exceeded; a bound is "
            f"{np.median(ratios):.2f} times the largest error seen in the median"
        )
        found += ["a bound is exceeded"] * bool((ratios < 1).any())
    print("\n".join(found) or f"{n_models} models, {n_rows} rows: all equal")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
