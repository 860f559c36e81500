"""Jobs that are refused after others were trained."""

import numpy as np
import pytest

from bneuralt import NeuralTree, TrainingJob, TrainingSettings, _core, train_many
from bneuralt.training.jobs import CheckedData, TargetReading, core_job

X = np.linspace(0, 1, 60).reshape(30, 2)
SETTINGS = TrainingSettings(loss="squared_error", max_epochs=3)


def job(n_inputs):
    return TrainingJob(NeuralTree.random(n_inputs, 1, random_state=0), SETTINGS)


def test_results_of_earlier_jobs_are_kept():
    with pytest.raises(ValueError, match="3 inputs") as caught:
        train_many(iter([job(2), job(2), job(3)]), X, X[:, 0], n_threads=1)
    assert [result.status for result in caught.value.results] == ["completed"] * 2


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("last", ["wrong size", "no job"])
def test_the_core_returns_results_and_the_error(n_threads, last):
    reading = TargetReading.of([job(2)])
    data = CheckedData(X, X[:, 0], None, reading)
    ready = [core_job(job(2), data, None, None, reading) for _ in range(3)]
    ready.append(core_job(job(3), data, None, None, reading) if last == "wrong size" else None)
    results, error = _core.train(iter(ready), 4, data.core, None, n_threads, None, None)
    assert len(results) == 3
    assert type(error) is (ValueError if last == "wrong size" else TypeError)
    assert ("3 inputs" if last == "wrong size" else "Job") in str(error)


def test_an_error_of_a_callback_has_the_results():
    def callback(state):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough") as caught:
        train_many([job(2), job(2)], X, X[:, 0], callback=callback, n_threads=1)
    assert len(caught.value.results) == 2
