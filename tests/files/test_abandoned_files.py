"""Temporary files of processes that were killed, and of those that are still at work."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from bneuralt import BNeuralTClassifier, BNeuralTRegressor, load_model
from bneuralt.cli.program import main
from bneuralt.files import ModelFileError, parse_json, write_atomically
from bneuralt.files.atomic import write_together
from bneuralt.model.tasks import Classes

STOPPED_BEFORE_THE_END = """
import os, sys, time
os.replace = lambda *_: (print("written", flush=True), time.sleep(600))
from bneuralt.files import write_atomically
write_atomically(sys.argv[1], "x" * 100_000)
"""


@pytest.fixture
def writer(tmp_path):
    """Start a process that has written its temporary file and not yet replaced the target."""
    path = tmp_path / "model.json"
    process = subprocess.Popen(
        [sys.executable, "-c", STOPPED_BEFORE_THE_END, str(path)], stdout=subprocess.PIPE
    )
    process.stdout.readline()
    yield path, process
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.mark.skipif(os.name == "nt", reason="needs locks of files")
def test_the_next_save_removes_what_a_killed_one_left(writer):
    path, process = writer
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert len(os.listdir(path.parent)) == 1
    (path.parent / "model.json.backup.tmp").touch()  # not ours
    (path.parent / "other.json.0123456789ab.tmp").touch()  # of another file
    write_atomically(path, "new")
    names = ["model.json", "model.json.backup.tmp", "other.json.0123456789ab.tmp"]
    assert sorted(os.listdir(path.parent)) == names
    assert path.read_text() == "new"


@pytest.mark.skipif(os.name == "nt", reason="needs locks of files")
def test_the_file_of_a_process_at_work_is_left_alone(writer):
    path, _ = writer
    for write in (write_atomically, lambda p, text: write_together({p: text, f"{p}.h": text})):
        write(path, "new")
        assert len([name for name in os.listdir(path.parent) if name.endswith(".tmp")]) == 1


def test_many_processes_write_one_file(tmp_path):
    path = tmp_path / "model.json"
    script = (
        "import sys\nfrom bneuralt.files import write_atomically\n"
        "for i in range(40): write_atomically(sys.argv[1], sys.argv[2] * 1000)"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", script, str(path), letter]) for letter in "abc"
    ]
    time.sleep(0.1)
    assert [process.wait() for process in processes] == [0, 0, 0]
    text = path.read_text()
    assert len(text) == 1000 and len(set(text)) == 1
    assert os.listdir(tmp_path) == ["model.json"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_device_is_named(tmp_path, capsys):
    X = np.linspace(0, 1, 40)[:, None]
    with pytest.raises(OSError, match="/dev/full"):
        BNeuralTRegressor(max_epochs=2).fit(X, X[:, 0]).save("/dev/full")
    rows = "".join(f"{i},{i % 3},{'ab'[i % 2]}\n" for i in range(40))
    (tmp_path / "table.csv").write_text("p,q,label\n" + rows)
    model = str(tmp_path / "model.json")
    assert main(["train", str(tmp_path / "table.csv"), "--target", "label", "--out", model]) == 0
    assert main(["predict", model, str(tmp_path / "table.csv"), "--out", "/dev/full"]) != 0
    assert "/dev/full" in capsys.readouterr().err


# -- numbers and texts that cannot be used ------------------------------------------------


@pytest.mark.parametrize("number", ["1" + "0" * 400, "-1" + "0" * 400, "1e400", "-1E+999"])
def test_numbers_too_large_for_float64_are_refused_anywhere(number):
    with pytest.raises(ModelFileError, match="too large for float64"):
        parse_json(f'{{"a": [1, {{"b": {number}}}]}}')
    assert parse_json(f'["{number}"]') == [number]
    assert parse_json("[1e308, 123456789012345678901234567890, 1e-400]")[0] == 1e308


def test_files_with_such_numbers_are_refused(tmp_path):
    X = np.linspace(0, 1, 40)[:, None]
    model = BNeuralTRegressor(loss="quantile", quantiles=(0.1, 0.9), max_epochs=2)
    model.fit(X, X[:, 0]).save(tmp_path / "model.json")
    text = (tmp_path / "model.json").read_text()
    (tmp_path / "damaged.json").write_text(
        text.replace('"quantiles": [0.1', f'"quantiles": [{10**400}')
    )
    assert text != (tmp_path / "damaged.json").read_text()
    with pytest.raises(ModelFileError, match=r"damaged\.json.*too large for float64"):
        load_model(tmp_path / "damaged.json")


@pytest.mark.parametrize("text", [r'"\ud800"', r'{"\uDFFF": 1}', r'[["a", "x\udc00y"]]'])
def test_halves_of_surrogate_pairs_are_refused(text):
    with pytest.raises(ModelFileError, match="surrogates"):
        parse_json(text)


def test_whole_surrogate_pairs_are_characters(tmp_path):
    assert parse_json(r'"\ud83c\udf33"') == "🌳"
    X = np.linspace(0, 1, 40)[:, None]
    labels = np.where(X[:, 0] > 0.5, "🌳", "x")
    BNeuralTClassifier(max_epochs=2).fit(X, labels).save(tmp_path / "model.json")
    assert "🌳" in load_model(tmp_path / "model.json").classes_


def test_a_class_name_that_is_no_text_cannot_be_saved_or_loaded(tmp_path):
    X = np.linspace(0, 1, 40)[:, None]
    model = BNeuralTClassifier(max_epochs=2).fit(X, np.where(X[:, 0] > 0.5, "one", "two"))
    model.save(tmp_path / "model.json")
    data = json.loads((tmp_path / "model.json").read_text())
    text = json.dumps(data).replace('"one"', '"\\ud800"')
    (tmp_path / "damaged.json").write_text(text)
    with pytest.raises(ModelFileError, match="surrogates"):
        load_model(tmp_path / "damaged.json")
    target = Classes(np.array(["\ud800", "two"]))
    model.model_ = replace(model.model_, target=target)
    with pytest.raises(ValueError, match="surrogates"):
        model.save(tmp_path / "other.json")
    assert not (tmp_path / "other.json").exists()
