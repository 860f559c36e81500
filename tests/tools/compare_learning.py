"""Compare updates of generated C code with those of the engine on random models.

`make export-c` runs it with all compilers: ``python -m tests.tools.compare_learning MODELS``. The
tests do the same with fewer models.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.helpers.c_programs import COMPILERS, SANITIZE
from tests.helpers.learners import random_learner, run_learners

TOLERANCE = {"double": 1e-10, "float": 1e-5}


def complaints(folder, seeds, dtype, rule, compiler, flags=("-O1",), libm=True):
    """What differs between C and the engine after 1,000 updates, as texts; empty if all is well."""
    learners = [random_learner(seed, dtype) for seed in seeds]
    results = run_learners(folder, learners, dtype, rule, compiler, flags, libm=libm)
    texts = []
    for learner, (weights, n_refused) in zip(learners, results, strict=True):
        error = learner.error(weights, rule)
        if not error <= TOLERANCE[dtype] or n_refused:
            texts.append(
                f"seed {learner.seed}, {dtype}, {rule}, {compiler}: {learner.learning.loss}: "
                f"differs by {error:.3g}, {n_refused} updates refused"
            )
    return texts


def main(n_models=100):
    """Compare all of them, with all compilers and under the sanitizers."""
    texts = []
    seeds = range(n_models)
    with tempfile.TemporaryDirectory() as folder:
        for dtype in TOLERANCE:
            for rule in ("sgd", "rmsprop"):
                for compiler in COMPILERS:
                    for libm in (True, False):
                        options = {"libm": libm}
                        texts += complaints(Path(folder), seeds, dtype, rule, compiler, **options)
                flags = (*SANITIZE, "-O1")
                texts += complaints(Path(folder), seeds, dtype, rule, "gcc", flags)
                print(f"learning, {dtype}, {rule}: {len(texts)} differences so far", flush=True)
    print("\n".join(texts) or f"{n_models} models, 1,000 updates: all equal")
    return bool(texts)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
