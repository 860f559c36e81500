"""What docs/architecture.md names exists: functions of the walks, and files of the tables."""

import re
import sys
from importlib import import_module
from operator import attrgetter

import pytest
from sklearn.datasets import load_iris

from bneuralt import BNeuralTClassifier
from tests.helpers.paths import DOCS, ROOT

TEXT = (DOCS / "architecture.md").read_text("utf-8")
FUNCTIONS = sorted(set(re.findall(r"(?m)^ *([a-z_.]+: [\w.]+)(?:$|  )", TEXT)))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_the_walks_exist(name):
    module, _, function = name.partition(": ")
    attrgetter(function)(import_module(f"bneuralt.{module}"))


def test_files_of_the_tables_exist():
    names = re.findall(r"(?m)^\| (`.+?`) \|", TEXT)
    files = [file for name in names for file in re.findall(r"`(cpp/[^`]+)`", name)]
    assert files and not [file for file in files if not (ROOT / file).exists()]


#: Steps of a default fit, in this order, as the walk has them.
STEPS = (
    *("read_problem", "resolve", "run_trial", "plan_tree", "new_model"),
    *("without_idle", "finished"),
)


def test_a_fit_takes_the_steps_of_the_walk_and_as_many_functions_as_the_page_says():
    X, y = load_iris(return_X_y=True)
    BNeuralTClassifier(random_state=0).fit(X, y)  # what is imported or cached at first use
    package, calls = str(ROOT / "src/bneuralt"), []

    def note(frame, event, _):
        code = frame.f_code
        is_ours = event == "call" and code.co_filename.startswith(package)
        if is_ours and not code.co_name.startswith("<"):
            calls.append((code.co_filename, code.co_name))

    sys.setprofile(note)
    try:
        BNeuralTClassifier(random_state=0).fit(X, y)
    finally:
        sys.setprofile(None)
    names = [name for _, name in calls]
    first = [names.index(step) for step in STEPS]
    assert first == sorted(first)
    found = len(set(calls)), len({file for file, _ in calls})
    stated = re.search(r"enters (\d+) functions in (\d+) modules", TEXT)
    assert stated is not None
    assert found[0] <= int(stated[1]) and found[1] <= int(stated[2])


def test_an_estimator_has_few_classes_above_it():
    above = [cls for cls in BNeuralTClassifier.__mro__[1:] if cls.__module__.startswith("bneuralt")]
    assert len(above) <= 5
