"""What integer code needs on microcontrollers: flash, RAM and cycles, counted by simulators."""

import shutil

import numpy as np
import pytest

from benchmarks.microcontroller import measure
from bneuralt import BNeuralTClassifier
from tests.helpers.tables import IRIS


def needs(*programs):
    absent = [program for program in programs if not shutil.which(program)]
    return pytest.mark.skipif(bool(absent), reason=f"not installed: {', '.join(absent)}")


@pytest.fixture(scope="module")
def model():
    X, y = IRIS
    clf = BNeuralTClassifier(n_weights=370, max_epochs=10, ramps=0, random_state=0)
    return clf.fit(X, y), X


@needs("avr-gcc", "simavr")
def test_a_tree_fits_an_avr(model):
    """Predictions on the device are those of Python; `measure` compares them."""
    clf, X = model
    assert clf.n_parameters_ > 360
    flash, ram, cycles = measure(clf, X[::15], "int8", "avr")
    assert flash < 1536  # code and tables
    assert ram < 64  # of the stack
    assert cycles < 16_000  # a millisecond at 16 MHz


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("dtype", ["int8", "int16", "float"])
def test_a_tree_runs_on_cortex_m4(model, dtype):
    clf, X = model
    flash, ram, instructions = measure(clf, X[::15].astype(np.float64), dtype, "arm")
    assert flash < 4600 and ram < 200 and 0 < instructions < 20_000
