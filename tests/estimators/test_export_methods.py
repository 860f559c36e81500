"""Methods of exports have one shape: a path first, everything else by name."""

from inspect import Parameter, signature
from pathlib import Path

import numpy as np
import pytest

from bneuralt import BNeuralTClassifier
from bneuralt.export.targets import TARGETS

#: Methods beside those of the table of targets, and the suffix of their files.
OTHERS = {"formula": ".txt", "html": ".html"}
SUFFIXES = {name: target.suffix for name, target in TARGETS.items()} | OTHERS


@pytest.fixture(scope="module")
def model():
    X = np.random.default_rng(0).normal(size=(40, 3))
    return BNeuralTClassifier(max_epochs=2, n_weights=20, random_state=0).fit(X, X[:, 0] > 0)


def exported(model, target, *path, **options):
    packages = {"onnx": "onnx", "excel": "openpyxl"}
    if target in packages:
        pytest.importorskip(packages[target])
    return getattr(model, f"to_{target}")(*path, **options)


@pytest.mark.parametrize("target", SUFFIXES)
def test_the_path_is_first_and_the_rest_by_name(target):
    method = getattr(BNeuralTClassifier, f"to_{target}")
    _, path, *others = signature(method).parameters.values()
    assert path.name == "path" and path.default is None
    assert {parameter.kind for parameter in others} == {Parameter.KEYWORD_ONLY}


@pytest.mark.parametrize("target", SUFFIXES)
def test_the_result_is_the_content_of_the_file(model, target, tmp_path):
    path = tmp_path / f"model{SUFFIXES[target]}"
    path.write_text("bneuralt was here")
    result = exported(model, target, path)
    assert list(tmp_path.iterdir()) == [path]
    if isinstance(result, str):
        header = TARGETS[target].header if target in TARGETS else ""
        assert path.read_text(encoding="utf-8").rstrip("\n") == (header + result).rstrip("\n")
        assert exported(model, target).rstrip("\n") == result.rstrip("\n")
    else:
        assert path.stat().st_size > 100


@pytest.mark.parametrize("target", SUFFIXES)
def test_nothing_is_written_if_there_is_an_error(model, target, tmp_path):
    path = tmp_path / "nowhere" / f"model{SUFFIXES[target]}"
    with pytest.raises(FileNotFoundError, match="nowhere"):
        exported(model, target, path)
    with pytest.raises(TypeError):
        exported(model, target, tmp_path / f"model{SUFFIXES[target]}", "positional")
    assert list(tmp_path.iterdir()) == []


NAMED = [name for name, target in TARGETS.items() if "name" in {o.name for o in target.options}]


@pytest.mark.parametrize("target", NAMED)
def test_names(model, target, tmp_path):
    assert "risk_2" in exported(model, target, name="risk_2")
    for name in ("", "1a", "a b", "for", "f() {}; g", "naïve\n", "a-b"):
        path = Path(tmp_path, f"model{SUFFIXES[target]}")
        with pytest.raises(ValueError, match="name="):
            exported(model, target, path, name=name)
    with pytest.raises(TypeError, match="name="):
        exported(model, target, name=3)
    assert list(tmp_path.iterdir()) == []


def test_torch_returns_its_module_only():
    parameters = list(signature(BNeuralTClassifier.to_torch).parameters.values())[1:]
    assert [p.kind for p in parameters] == [Parameter.KEYWORD_ONLY]
