"""The fuzzers call all functions of the core with all settings, and damage all kinds of models."""

import contextlib
import dataclasses
import json
import tempfile
from importlib.metadata import entry_points

import numpy as np

import bneuralt.estimators  # noqa: F401 - registers its kinds
from bneuralt import _core
from bneuralt.estimators.kinds import ENTRY_POINTS, registered_kinds
from bneuralt.tables.features import KINDS
from bneuralt.training.jobs import TrainingJob
from tests.tools import fuzz_core, fuzz_files


def test_every_function_of_the_core_that_takes_arguments_is_called():
    fuzz_core.prepare()
    called = set()
    for i in range(600):
        with contextlib.suppress(*fuzz_core.ALLOWED):  # damaged arguments of arguments
            called.add(fuzz_core.draw_call(np.random.default_rng(i))[0].__name__)
    has_no_arguments = {
        "Entry", "Parameter", "Result", "Setting", "activations", "losses", "available_processors",
        "engine", "engines", "optimizers", "settings",
    }  # fmt: skip
    public = {name for name in dir(_core) if not name.startswith("_")}
    assert called == public - has_no_arguments


def test_every_setting_loss_optimizer_and_field_of_a_job_is_drawn():
    fuzz_core.prepare()
    drawn = [fuzz_core.Valid(np.random.default_rng(i)).settings() for i in range(300)]
    assert set(drawn[0]) == {setting.name for setting in _core.settings()} | {"loss", "optimizer"}
    for name, entries in (("loss", _core.losses()), ("optimizer", _core.optimizers())):
        assert {settings[name][0] for settings in drawn} == {entry.name for entry in entries}
    job = fuzz_core.Valid(np.random.default_rng(0)).job()
    assert set(job) == {field.name for field in dataclasses.fields(TrainingJob)}


def test_files_of_every_kind_of_model_and_of_column_are_damaged(monkeypatch):
    assert set(fuzz_files.CELLS) == {feature.kind for feature in KINDS}
    monkeypatch.setattr(fuzz_files, "_folder", tempfile.TemporaryDirectory())
    contents = fuzz_files.files_of_all_kinds()
    kinds = {json.loads(content)["kind"] for content in contents}
    installed = {entry.name for entry in entry_points(group=ENTRY_POINTS)}
    assert kinds >= {*registered_kinds(), *installed}
    for content in contents:
        features = [part for part in json.loads(content)["encoder"] if isinstance(part, dict)]
        assert {feature["kind"] for feature in features} == set(fuzz_files.CELLS)


def test_most_calls_with_valid_arguments_give_a_result(monkeypatch):
    monkeypatch.setattr(fuzz_core.Valid, "damaged", lambda self, arguments: dict(arguments))
    fuzz_core.prepare()
    engine, results = _core.engine(), {}
    for i in range(600):
        try:
            function, arguments = fuzz_core.draw_call(np.random.default_rng(i))
            counts = results.setdefault(function.__name__, [0, 0])
            counts[1] += 1
            function(**arguments)
            counts[0] += 1
        except (ZeroDivisionError, *fuzz_core.ALLOWED):
            pass
    _core.use_engine(engine)
    for name, (n_results, n_calls) in results.items():
        assert n_results >= 0.3 * n_calls, name
