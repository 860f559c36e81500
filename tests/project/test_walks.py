"""The walks of docs/architecture.md: every function is called, in this order, by the one above."""

import re
import sys
from pathlib import Path

import pytest

import bneuralt
from bneuralt import BNeuralTClassifier
from bneuralt.cli.program import main
from tests.helpers.paths import DOCS
from tests.helpers.tables import IRIS, write_flowers

SOURCES = Path(bneuralt.__file__).parent
#: A heading of the page with the call that it describes.
CALLS = {
    "`fit`": lambda model, folder: BNeuralTClassifier(random_state=0).fit(*IRIS),
    "`predict_proba`": lambda model, folder: model.predict_proba(IRIS[0]),
    "`to_c`": lambda model, folder: model.to_c(folder / "model.h"),
    "`bneuralt train`": lambda model, folder: main(
        [
            "train",
            str(write_flowers(folder / "t.csv")),
            "--target",
            "kind",
            "--out",
            str(folder / "m.json"),
        ]
    ),
}


def walks():
    """Return the functions of each walk with their indentation."""
    text = (DOCS / "architecture.md").read_text("utf-8")
    chapter = text.partition("## Four walks")[2].partition("\n## ")[0]
    parts = re.findall(r"### (`[^`]+`)\n\n```text\n(.*?)```", chapter, re.DOTALL)
    return {
        heading: re.findall(r"^( *)([\w.]+: [\w.]+)(?:$|  )", walk, re.MULTILINE)
        for heading, walk in parts
    }


def calls_of(function):
    """Return the calls of functions of bneuralt: each as the names of the stack, ending with it."""
    stack, calls = [], []

    def note(frame, event, _):
        path = Path(frame.f_code.co_filename)
        if event in ("call", "return") and path.is_relative_to(SOURCES):
            if event == "return":
                stack.pop()
                return
            module = ".".join(path.relative_to(SOURCES).with_suffix("").parts)
            stack.append(f"{module}: {frame.f_code.co_qualname}")
            calls.append(tuple(stack))

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return calls


def test_the_page_has_the_walks():
    assert list(walks()) == list(CALLS)
    assert len(walks()["`fit`"]) <= 22  # 20 from the user to the kernel, and what comes after it


@pytest.mark.parametrize("heading", CALLS)
def test_a_walk_is_that_of_the_calls(heading, tmp_path, capsys):
    model = BNeuralTClassifier(random_state=0).fit(*IRIS)
    calls = calls_of(lambda: CALLS[heading](model, tmp_path))
    above: dict[int, str] = {}
    first = -1
    for indent, name in walks()[heading]:
        above[len(indent)] = name
        callers = {above[depth] for depth in range(0, len(indent), 2)}
        places = [
            i
            for i, stack in enumerate(calls)
            if i >= first and stack[-1] == name and callers <= set(stack[:-1])
        ]
        assert places, f"{name} is not called by {callers} after the functions before it"
        first = places[0]
