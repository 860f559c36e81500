"""What Python decides, as a script: translated functions, constants and patterns."""

import json
import subprocess
from inspect import isfunction
from types import ModuleType

import numpy as np
import pytest

from bneuralt.fitting import capacity
from bneuralt.tables import kinds, number_texts
from tests.helpers.playground import built


@pytest.fixture(scope="module", autouse=True)
def modules():
    built()


def in_javascript(expression):
    from playground.in_node import FOLDER

    script = f"""import * as recipe from "./recipe.js";
    console.log(JSON.stringify({expression}))"""
    done = subprocess.run(
        ["node", "--input-type=module", "-e", script],
        cwd=FOLDER, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def calls():
    """Return calls of all functions of `capacity` with numbers drawn at random."""
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(60):
        n = int(10 ** rng.uniform(0.5, 6))
        k, leaf, share = int(rng.integers(1, 40)), float(rng.uniform(1, 9)), float(rng.random())
        for name in ("SINGLE_TREE", "IN_FOREST"):
            drawn += [(f"{name}.n_weights", n, k, leaf, share), (f"{name}.weight_decay", n)]
        drawn += [
            ("n_epochs", n, 50, k),
            ("n_epochs_joined", n, bool(k % 2)),
            ("learning_rate", n, k),
            ("batch_size", n),
        ]
        drawn += [("number_of_ramps", n), ("effective_share", rng.integers(1, 900, k + 1).tolist())]
    return drawn


def test_automatic_settings_are_those_of_python():
    asked = calls()
    seen = in_javascript(
        "[" + ",".join(f"recipe.{name}({json.dumps(a)[1:-1]})" for name, *a in asked) + "]"
    )
    expected = []
    for name, *arguments in asked:
        function = capacity
        for part in name.split("."):
            function = getattr(function, part)
        expected.append(function(*(np.array(a) if isinstance(a, list) else a for a in arguments)))
    np.testing.assert_allclose(seen, expected, rtol=1e-14)
    asked_for = {name.split(".")[-1] for name, *_ in asked}
    public = {name for name in capacity.__all__ if isfunction(getattr(capacity, name))}
    assert public <= asked_for  # a new function is compared, too


PATTERNS = {
    "PARTS": (number_texts._PARTS, ["$1,161", "-3.5 kg", "EUR 7", "12 m²", "A12", "1e3", "5%"]),
    "CLOCK": (number_texts._CLOCK, ["12:30", "7:05:59", "24", "12:75", "1:02:03.5"]),
    "ID_NAME": (kinds._ID_NAME, ["id", "customerID", "Order-No.", "paid", "key"]),
}  # fmt: skip


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_match_the_same_texts(name):
    pattern, texts = PATTERNS[name]
    seen = in_javascript(f"{json.dumps(texts)}.map((text) => recipe.{name}.test(text))")
    assert seen == [pattern.fullmatch(text) is not None for text in texts]


def test_syntax_without_a_translation_is_refused(tmp_path):
    from playground.translate import UntranslatableError, module_to_javascript

    path = tmp_path / "odd.py"
    path.write_text("def f(x):\n    return [*x]\n")
    odd = ModuleType("odd")
    odd.__file__ = str(path)
    exec(compile(path.read_text(), str(path), "exec"), odd.__dict__)
    with pytest.raises(UntranslatableError, match="has no translation"):
        module_to_javascript(odd)
