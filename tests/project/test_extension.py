"""What it takes to add something: a few lines in a few files, and everything else follows.

The test makes additions to a copy of the sources: an activation, a loss with a link of its own, an
optimizer, a kind of column, a training setting and an export target. It counts the files that each
of them touches, documentation included, builds the copy for the baseline instruction set, runs the
tests of the registry on the additions, and trains, saves, loads, draws, explains and exports models
that use them.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.helpers.paths import ROOT

ACTIVATION = """
struct ExtraSoftSign {
    static constexpr const char* name = "extra_softsign";
    static constexpr const char* title = "ExtraSoftSign";
    static constexpr const char* about = "z / (1 + sharpness |z|)";
    static constexpr std::array<Parameter, 1> parameters{{{"sharpness", 1.0, Range::positive}}};
    static constexpr bool keeps_sum = true;
    template <class T>
    static BNT_INLINE Vec<T> value(Vec<T> z, Phi<T> phi) {
        return z / (T(1) + phi.a * maximum<T>(z, -z));
    }
    template <class T>
    static BNT_INLINE Vec<T> slope(Vec<T> z, Vec<T>, Phi<T> phi) {
        const Vec<T> r = reciprocal<T>(T(1) + phi.a * maximum<T>(z, -z));
        return r * r;
    }
    template <class T>
    static BNT_INLINE Phi<T> parameter_slopes(Vec<T> z, Vec<T> h, Phi<T>) {
        return {-h * maximum<T>(h, -h), Vec<T>{}};
    }
};
"""

LOSS = """
struct ExtraSoftplus {
    static constexpr const char* name = "extra_softplus";
    static constexpr const char* title = "ExtraSoftplus";
    static constexpr const char* about = "half the squared error of log(1 + exp(output))";
    static constexpr auto parameters = kNoParameters;
    static constexpr Compares compares = Compares::values;
    static constexpr bool needs_linear_outputs = true;

    template <class T>
    struct For : ElementwiseLoss<For<T>, T> {
        explicit For(const LossSettings&, int) {}
        static double mean(T o) { return std::log1p(std::exp(double(o))); }
        static double value(T o, T t, int) {
            const double d = mean(o) - double(t);
            return 0.5 * d * d;
        }
        static T slope(T o, T t, int) {
            return T((mean(o) - double(t)) / (1 + std::exp(-double(o))));
        }
        static double error(T o, T t, int) { return 2 * value(o, t, 0); }
    };
};
"""

OPTIMIZER = """
struct ExtraLion {
    static constexpr const char* name = "extra_lion";
    static constexpr const char* title = "ExtraLion";
    static constexpr const char* about = "theta -= eta sign(beta1 m + (1 - beta1) g)";
    static constexpr std::array<Parameter, 2> parameters{
        {{"beta1", 0.9, Range::fraction}, {"beta2", 0.99, Range::fraction}}};
    static constexpr int n_state = 1;
    static constexpr bool looks_ahead = false;

    template <class T>
    struct For {
        T rate, keep1, take1, keep2, take2;
        For(const double* p, Update u)
            : rate(T(u.rate)), keep1(T(p[0])), take1(T(1 - p[0])), keep2(T(p[1])),
              take2(T(1 - p[1])) {}
        BNT_INLINE Vec<T> operator()(Vec<T> theta, Vec<T> g, Vec<T>* m) const {
            const Vec<T> c = keep1 * m[0] + take1 * g;
            m[0] = keep2 * m[0] + take2 * g;
            const Vec<T> rise = c > T(0) ? broadcast<T>(1) : Vec<T>{};
            const Vec<T> fall = c < T(0) ? broadcast<T>(1) : Vec<T>{};
            return theta - rate * (rise - fall);
        }
    };
};
"""

LION = """
def _lion(theta, g, eta, memory, beta1, beta2):
    c = beta1 * memory.m + (1 - beta1) * g
    memory.m = beta2 * memory.m + (1 - beta2) * g
    return theta - eta * np.sign(c)


"""

ANGLE = '''"""Columns of angles: whole multiples of 15 degrees."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bneuralt.expressions import NUMBER, absolute, if_missing, maximum, minimum
from bneuralt.tables.features.feature import Feature, Input, checked_bool
from bneuralt.tables.features.number import NumberFeature


@dataclass(frozen=True)
class AngleFeature(Feature):
    """A column of angles, as the distances from south and from east."""

    kind: ClassVar[str] = "angle"
    has_gaps: bool = False

    @classmethod
    def learn(cls, column, weight, target=None):
        if column.kind != "number" or column.is_category or column.is_missing.any():
            return None
        values = column.values
        is_angle = (values % 15 == 0) & (values >= 0) & (values < 360)
        return cls() if is_angle.all() and values.max() > 270 else None

    def read(self, column):
        return NumberFeature(0.0).read(column)

    def inputs(self, name: str, limits: Any = None) -> list[Input]:
        angle = if_missing(NUMBER, 180.0)
        north = absolute(angle - 180.0) / 180.0
        east = maximum(0.0, 1.0 - minimum(absolute(angle - 90.0), 90.0) / 90.0)
        return [
            Input("north", f"{name} is north", north, 0.5, (0.0, 1.0)),
            Input("east", f"{name} is east", east, 0.25, (0.0, 1.0)),
        ]

    @classmethod
    def checked(cls, entries):
        return {"has_gaps": checked_bool(entries["has_gaps"], "has_gaps")}
'''

TARGET = '''"""Models as a Perl function."""

from bneuralt.export.printer import ARITHMETIC, Code, LinePrinter, checked_name
from bneuralt.export.program import Program

HELPERS = """use List::Util qw(min max);
sub number { my ($x) = @_; return defined $x && $x ne "" ? $x : undef; }
sub text { my ($x) = @_; return defined $x ? $x : ""; }
sub limited_exp { my ($z) = @_; return exp(max(min($z, 708), -708)); }
sub tanh { my ($z) = @_; my $e = limited_exp(-2 * abs($z));
    my $t = (1 - $e) / (1 + $e); return $z < 0 ? -$t : $t; }
"""


class _Perl(LinePrinter):
    language, helpers, vector, comment = "Perl", "", "({})", " # "
    cell = "$row->[{}]"
    templates = {
        **ARITHMETIC,
        "minimum": ("atom", "min({0}, {1})"),
        "maximum": ("atom", "max({0}, {1})"),
        "absolute": ("atom", "abs({0})"),
        "square": ("atom", "({0}) ** 2"),
        "sqrt": ("atom", "sqrt({0})"),
        "exp": ("atom", "limited_exp({0})"),
        "log": ("atom", "log({0})"),
        "tanh": ("atom", "tanh({0})"),
        "sigmoid": ("atom", "(1 / (1 + limited_exp(-({0}))))"),
        "is_missing": ("atom", "!defined({0})"),
        "if_missing": ("atom", "({0} // {1})"),
        "select": ("choice", "{0:comparison} ? {1} : {2}"),
        "largest": ("atom", "max({0})"),
    }

    def scalar(self, expression, variables=None):
        if expression.operation == "variable":
            return Code("$" + expression.value)
        return super().scalar(expression, variables)

    def member(self, text, texts):
        return "(" + " || ".join(f"{text} eq {self.text(each)}" for each in texts) + ")"

    def text(self, value):
        return "'" + str(value).replace("'", "") + "'"

    def assignment(self, name, value):
        return f"my ${name} = {value};"

    def requirement(self, name, message):
        return f'defined(${name}) or die "{message}";'

    def read(self, reading):
        return f"{reading.kind}({self.cell.format(reading.column)})"


def to_perl(model, *, name: str = "predict") -> str:
    checked_name(name, "", "Perl")
    printer, program = _Perl(), Program.of(model, has_functions=False)
    values = ", ".join(map(printer.scalar, program.predictions))
    head, end = [f"sub {name} {{", "    my ($row) = @_;"], [f"    return ({values});", "}", "1;"]
    return "\\n".join([HELPERS, *head, *printer.body(program), *end])
'''

USE = '''"""The additions in use."""

import json
import subprocess
import sys

import numpy as np
import onnxruntime
import pandas as pd
import pytest

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralTRegressor,
    Growth,
    NeuralTree,
    TrainingSettings,
    load_model,
    plot_tree,
    train,
)
from bneuralt.cli.program import main
from bneuralt.training.losses import ExtraSoftplus
from bneuralt.training.optimizers import ExtraLion
from bneuralt.tree.activations import NAMES, ExtraSoftSign
from tests import reference

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 3))
Y = np.stack([np.sin(X[:, 0]) + X[:, 1], X[:, 2]], axis=1)
ANGLES = pd.DataFrame({
    "wind": rng.choice(np.arange(0.0, 360.0, 15.0), 200),
    "place": rng.choice(["hill", "sea", "town"], 200),
    "speed": X[:, 0],
})


@pytest.mark.parametrize("trains", [False, True])
def test_a_tree_is_drawn_trained_and_kept(trains):
    tree = NeuralTree.random(
        3, 2, 3, activation={ExtraSoftSign(sharpness=0.7): 2, "tanh": 1},
        output_activation="linear", train_activations=trains, random_state=0,
    )
    drawn = (tree.activation == NAMES.index("extra_softsign")).sum()
    assert drawn > 3 and tree.activation_parameters.tolist() == [0.7] * drawn
    np.testing.assert_allclose(tree.forward(X[0]), reference.forward(tree, X[0]), rtol=1e-12)
    settings = TrainingSettings(
        loss="squared_error", optimizer=ExtraLion(beta1=0.8), learning_rate=0.005, max_epochs=60,
    )
    result = train(tree, X, Y, settings=settings)
    losses = result.history["train_loss"]
    assert losses[-1] < 0.2 * losses[0]
    twin = NeuralTree.from_json(result.tree.to_json())
    assert twin == result.tree and \'"extra_softsign"\' in twin.to_json()


def models():
    y = np.exp(np.cos(np.radians(ANGLES["wind"])) + 0.3 * X[:, 0])
    growth = Growth(activation=["extra_softsign", "tanh"])
    training = TrainingSettings(optimizer=ExtraLion(beta2=0.9), extra_floor=0.05)
    yield BNeuralTRegressor(
        loss="extra_softplus", learning_rate=0.005, max_epochs=60, random_state=0, growth=growth,
        training=training,
    ).fit(ANGLES, y), y
    y = np.where(np.cos(np.radians(ANGLES["wind"])) > 0, "north", "south")
    yield BNeuralForestClassifier(
        learning_rate=0.005, max_epochs=30, n_estimators=2, random_state=0, growth=growth,
        training=training,
    ).fit(ANGLES, y), y


@pytest.mark.parametrize(("model", "y"), list(models()), ids=["regressor", "forest"])
def test_a_model_does_all_that_models_do(model, y, tmp_path):
    assert model.score(ANGLES, y) > 0.8
    assert model.encoder_.input_names[:2] == ["wind is north", "wind is east"]
    path = str(tmp_path / "model.json")
    model.save(path)
    loaded = load_model(path)
    assert loaded.get_params() == model.get_params()
    assert loaded.predict(ANGLES).tolist() == model.predict(ANGLES).tolist()
    values = model.predict_proba(ANGLES) if hasattr(model, "classes_") else model.predict(ANGLES)
    values = values.reshape(200, -1)

    plot_tree(model)
    assert "wind" in model.to_html() and "wind" in model.to_formula(tree=0)
    output = "probability" if values.shape[1] > 1 else None
    explanation = model.explain(ANGLES, output=output)
    total = explanation.baseline + explanation.values.sum(axis=1)
    np.testing.assert_allclose(total, values[:, -1], rtol=1e-5, atol=1e-5)
    assert model.simplify().n_parameters_ <= model.n_parameters_

    rows = ANGLES.head(20).values.tolist()
    namespace = {}
    exec(model.to_python(), namespace)
    answers = [namespace["predict"](row) for row in rows]
    python = np.array([a[1] if isinstance(a, tuple) else [a] for a in answers])
    np.testing.assert_allclose(python, values[:20], rtol=1e-4, atol=1e-5)
    answers = f"console.log(JSON.stringify({json.dumps(rows)}.map(predict)))"
    script = f"{model.to_javascript()}\\n{answers}"
    if not isinstance(model, BNeuralTRegressor):
        script = script.replace(".map(predict)", ".map((row) => predict(row).probabilities)")
    node = subprocess.run(["node", "-e", script], capture_output=True, text=True)
    assert node.returncode == 0, node.stderr
    javascript = np.array(json.loads(node.stdout)).reshape(20, -1)
    np.testing.assert_allclose(javascript, values[:20], rtol=1e-4, atol=1e-5)
    assert "wind" in model.to_sql()
    session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString())
    feed = {
        name: ANGLES[[name]].to_numpy(dtype=object if name == "place" else np.float32)
        for name in ANGLES
    }
    onnx = np.asarray(session.run(None, feed)[-1]).reshape(200, -1)
    np.testing.assert_allclose(onnx, values, rtol=1e-4, atol=1e-5)
    for dtype in ("double", "int16"):
        model.to_c(tmp_path / f"{dtype}.h", dtype=dtype)
        program = f\'#include "{dtype}.h"\\nint main(void) {{ return 0; }}\\n\'
        (tmp_path / "main.c").write_text(program)
        subprocess.run(["gcc", "-std=c99", "-o", "main", "main.c", "-lm"], cwd=tmp_path, check=True)
    rounded = model.quantize("int16")
    quantized = rounded.predict_proba(ANGLES) if values.shape[1] > 1 else rounded.predict(ANGLES)
    assert np.abs(quantized.reshape(200, -1) - values).max() < 0.05 * max(1.0, values.max())

    target = str(tmp_path / "model.pl")
    assert main(["export", path, "--to", "perl", "--out", target, "--name", "risk"]) == 0
    cells = ", ".join("[" + ", ".join(repr(cell) for cell in row) + "]" for row in rows)
    script = f"require \'{target}\'; print join(\' \', risk($_)), qq(\\n) for ({cells});"
    perl = subprocess.run(["perl", "-e", script], capture_output=True, text=True)
    assert perl.returncode == 0, perl.stderr
    answers = np.array(perl.stdout.split(), dtype=float).reshape(20, -1)
    np.testing.assert_allclose(answers, values[:20], rtol=1e-4, atol=1e-5)


def test_the_setting_is_checked_and_described():
    assert "extra_floor : float" in TrainingSettings.__doc__
    with pytest.raises(ValueError, match="extra_floor is 2.0"):
        TrainingSettings(extra_floor=2.0)
    tree = NeuralTree.random(3, 1, 2, output_activation="linear", random_state=0)
    rates = train(
        tree, X, Y[:, 0],
        settings=TrainingSettings(
            loss="squared_error", learning_rate=0.1, extra_floor=0.5, max_epochs=9
        ),
    ).history["learning_rate"]
    assert rates.min() == pytest.approx(0.05) and rates.max() <= 0.1
'''


def before(marker, text):
    """Put text before the only place of a marker in a file."""

    def edit(content):
        assert content.count(marker) == 1, f"{marker!r} occurs {content.count(marker)} times"
        return content.replace(marker, text + marker)

    return edit


def listed(types, struct, name):
    """Add a struct to a header, and its name to the end of the list there."""

    def edit(content):
        match = re.search(rf"using {types} =\s*TypeList<([^;]*)>;", content)
        assert match, f"no list {types}"
        extended = f"using {types} = TypeList<{match[1]}, {name}>;"
        return content[: match.start()] + struct + extended + content[match.end() :]

    return edit


def both(*edits):
    """Make several edits of one file."""

    def edit(content):
        for change in edits:
            content = change(content)
        return content

    return edit


def new(text):
    """Write a new file."""
    return lambda content: text


#: What is added -> the most files that it may take, and the edit of each file.
ADDITIONS = {
    "activation": (
        3,
        {
            "cpp/kernels/mathematics/activations.hpp": listed(
                "Activations", ACTIVATION, "ExtraSoftSign"
            ),
            "src/bneuralt/tree/activations.py": before(
                '    "linear": _Z,\n',
                '    "extra_softsign": _Z / (1.0 + variable("sharpness") * absolute(_Z)),\n',
            ),
            "docs/format.md": before(
                "| `tanh` | tanh(z)", "| `extra_softsign` | z / (1 + sharpness abs(z)) | | |\n"
            ),
        },
    ),
    "loss": (
        4,
        {
            "cpp/kernels/mathematics/losses.hpp": listed("Losses", LOSS, "ExtraSoftplus"),
            "src/bneuralt/training/losses.py": both(
                before("    maximum,\n", "    log,\n"),
                before(
                    '    "absolute_error": Traits',
                    '    "extra_softplus": Traits(\n        ("numbers",),\n        '
                    "(log(1.0 + exp(OUTPUTS)) - TARGETS) * sigmoid(OUTPUTS),\n        "
                    "link=log(1.0 + exp(OUTPUTS)),\n        scaling=None,\n    ),\n",
                ),
            ),
            "tests/reference/losses.py": both(
                before(
                    '    "absolute_error": lambda o, t: sum',
                    '    "extra_softplus": lambda o, t: sum(\n        '
                    "0.5 * (math.log1p(math.exp(a)) - b) ** 2 for a, b in _pairs(o, t)\n    ),\n",
                ),
                before(
                    '    "absolute_error": lambda o, t: [_sign',
                    '    "extra_softplus": lambda o, t: [\n        '
                    "(math.log1p(math.exp(a)) - b) * logistic(a) for a, b in _pairs(o, t)\n"
                    "    ],\n",
                ),
            ),
            "docs/training.md": before("`poisson`: `Poisson()`", "`extra_softplus`: ...\n\n"),
        },
    ),
    "optimizer": (
        3,
        {
            "cpp/kernels/training/optimizers.hpp": listed("Optimizers", OPTIMIZER, "ExtraLion"),
            "tests/reference/optimizers.py": both(
                before("RULE: dict", LION), before('    "gd": ', '    "extra_lion": _lion,\n')
            ),
            "docs/training.md": before("`poisson`: `Poisson()`", "`extra_lion`: ...\n\n"),
        },
    ),
    "kind of column": (
        4,
        {
            "src/bneuralt/tables/features/angle.py": new(ANGLE),
            "src/bneuralt/tables/features/__init__.py": both(
                before(
                    "from bneuralt.tables.features.feature",
                    "from bneuralt.tables.features.angle import AngleFeature\n",
                ),
                lambda content: content.replace("] = (NumberF", "] = (AngleFeature, NumberF"),
            ),
            "docs/format.md": before('| `"category"` |', '| `"angle"` | `has_gaps` | ... |\n'),
        },
    ),
    "training setting": (
        3,
        {
            "cpp/settings.hpp": both(
                before("    int block_rows = 0;", "    double extra_floor = 0;\n"),
                before(
                    "        number<&S::block_rows>",
                    '        number<&S::extra_floor>("extra_floor", share, '
                    '"Share of the rate that it never falls below."),\n',
                ),
            ),
            "cpp/kernels/training/train.hpp": lambda content: content.replace(
                "return settings_.learning_rate * 0.5 *\n",
                "return settings_.learning_rate * std::fmax(settings_.extra_floor, 0.5 *\n",
            ).replace("double(total_updates_)));", "double(total_updates_))));"),
            "docs/training.md": before("`poisson`: `Poisson()`", "`extra_floor`: ...\n\n"),
        },
    ),
    "export target": (
        2,
        {
            "src/bneuralt/export/perl.py": new(TARGET),
            "src/bneuralt/export/targets.py": lambda content: content.replace(
                "_ALL = (\n",
                '_ALL = (\n    Target("perl", "perl:to_perl", "a function in Perl", ".pl", '
                "(_FUNCTION_NAME,)),\n",
            ),
        },
    ),
}


def run(*command, **options):
    """Run a command; what it printed is in the error if it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **options,
    )
    assert done.returncode == 0, f"{command[0]} failed:\n{done.stdout[-5000:]}"
    return done.stdout


@pytest.mark.parametrize("addition", ADDITIONS)
def test_few_files_are_enough(addition):
    most, edits = ADDITIONS[addition]
    assert len(edits) <= most


@pytest.fixture(scope="module")
def extended(tmp_path_factory):
    """A folder with the sources and the package, built with the additions."""
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
    if not compiler:
        pytest.skip("needs a C++ compiler: none of CXX, c++ and g++ was found")
    folder = tmp_path_factory.mktemp("extended")
    ignored = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__", "_build")
    for part in ("cpp", "src", "docs", "tests"):
        shutil.copytree(ROOT / part, folder / part, ignore=ignored)
    for _, edits in ADDITIONS.values():
        for name, edit in edits.items():
            path = folder / name
            path.write_text(edit(path.read_text() if path.exists() else ""))
    # without optimization: what takes time is the compiler
    text = (ROOT / "CMakeLists.txt").read_text()
    (folder / "CMakeLists.txt").write_text(re.sub(r"-O[23]\b", "-O0", text))
    build_rules = folder / "cpp/build.cmake"
    build_rules.write_text(re.sub(r"-O[23]\b", "-O0", build_rules.read_text()))
    scripts = sysconfig.get_path("scripts")  # CMake and Ninja come with the test requirements
    tools = {**os.environ, "PATH": os.pathsep.join([scripts, os.environ["PATH"]])}
    cmake, build = shutil.which("cmake", path=tools["PATH"]), folder / "build"
    assert cmake, "CMake is missing: install the requirements of the tests (pip install '.[test]')"
    run(cmake, "-S", folder, "-B", build, "-G", "Ninja", f"-DPython_EXECUTABLE={sys.executable}",
        f"-DCMAKE_CXX_COMPILER={compiler}", "-DCMAKE_BUILD_TYPE=None",
        "-DBNEURALT_SETS=baseline", env=tools)  # fmt: skip
    run(cmake, "--build", build, env=tools)
    (library,) = build.glob("_core*.so")
    shutil.copy(library, folder / "src" / "bneuralt")
    (folder / "test_use.py").write_text(USE)
    return folder


def test_everything_else_follows(extended):
    # without site, so that an editable installation does not take precedence over the folder
    others = [place for place in sys.path if Path(place or ".").resolve() != ROOT]
    places = os.pathsep.join([str(extended / "src"), str(extended), *others])
    environment = {**os.environ, "PYTHONPATH": places}
    code = (
        "import bneuralt._core as c; print(c.__file__, c.engines(), [e.name for e in c.losses()])"
    )
    where = run(sys.executable, "-S", "-c", code, env=environment, cwd=extended)
    assert str(extended) in where and "['baseline']" in where and "extra_softplus" in where
    shown = run(
        sys.executable, "-S", "-m", "pytest", "-v", "-p", "no:cacheprovider",
        "-c", ROOT / "pyproject.toml", "--rootdir", extended,
        extended / "tests/core/test_registry.py", extended / "test_use.py",
        "-k", "(extra_ or every_entry_has_a_twin or test_use) and not documented",
        env=environment, cwd=extended,
    )  # fmt: skip
    for name in (
        "test_compiled_gradient_of_a_tree_is_the_reference",
        "test_compiled_losses_are_those_of_the_twin",
        "test_two_hundred_updates_are_those_of_the_twin",
        "test_a_tree_is_drawn_trained_and_kept",
        "test_a_model_does_all_that_models_do",
        "test_the_setting_is_checked_and_described",
    ):
        assert re.search(rf"{name}.* PASSED", shown), shown
