"""To add an activation, a loss or an optimizer is one struct in C++ and one twin in Python.

The test does that in a copy of the sources: it adds one struct of each kind to the headers and
its name to the list there, and nothing else. A training setting is a member, a line of a table and
its use in a kernel. It builds the copy for the baseline instruction set,
adds the twins to the reference, and runs the tests of the registry on the additions.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

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
struct ExtraLogCosh {
    static constexpr const char* name = "extra_log_cosh";
    static constexpr const char* title = "ExtraLogCosh";
    static constexpr const char* about = "width^2 log cosh of the difference / width";
    static constexpr std::array<Parameter, 1> parameters{{{"width", 1.0, Range::positive}}};
    static constexpr Compares compares = Compares::values;
    static constexpr bool needs_linear_outputs = false;

    template <class T>
    struct For : ElementwiseLoss<For<T>, T> {
        double width;
        explicit For(const LossSettings& s, int) : width(s.parameters[0]) {}
        double value(T o, T t, int) const {
            const double d = std::fabs(double(o) - double(t)) / width;
            return width * width * (d + std::log1p(std::exp(-2 * d)) - std::log(2.0));
        }
        T slope(T o, T t, int) const {
            return T(width * std::tanh((double(o) - double(t)) / width));
        }
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

#: header -> the list that its structs stand in, the struct to add, its name.
ADDITIONS = {
    "activations.hpp": ("Activations", ACTIVATION, "ExtraSoftSign"),
    "losses.hpp": ("Losses", LOSS, "ExtraLogCosh"),
    "optimizers.hpp": ("Optimizers", OPTIMIZER, "ExtraLion"),
}

#: file -> lines of it, and what they become: a setting is a member, a line of the table, its use.
SETTING = {
    "settings.hpp": {
        "    bool repeat_first_row = false;\n": (
            "    bool repeat_first_row = false;\n    double extra_factor = 1;\n"
        ),
        "    static const std::vector<Setting> table{\n": (
            "    static const std::vector<Setting> table{\n"
            '        number<&S::extra_factor>("extra_factor", {0.5, 2}, "Factor of the rate."),\n'
        ),
    },
    "kernels/train.hpp": {"return settings_.learning_rate;": (
        "return settings_.extra_factor * settings_.learning_rate;"
    )},
}  # fmt: skip

TWINS = '''
"""The twins of the additions, as they would be written in bneuralt.reference."""

import math

import numpy as np

from bneuralt import reference


def lion(theta, g, eta, memory, beta1, beta2):
    c = beta1 * memory.m + (1 - beta1) * g
    memory.m = beta2 * memory.m + (1 - beta2) * g
    return theta - eta * np.sign(c)


reference.VALUE["extra_softsign"] = lambda z, s: z / (1 + s * abs(z))
reference.SLOPE["extra_softsign"] = lambda z, s: 1 / (1 + s * abs(z)) ** 2
reference.PARAMETER_SLOPES["extra_softsign"] = lambda z, s: [-z * abs(z) / (1 + s * abs(z)) ** 2]
reference.LOSS["extra_log_cosh"] = lambda o, t, w: sum(
    w * w * math.log(math.cosh((a - b) / w)) for a, b in zip(o, t, strict=True)
)
reference.LOSS_GRADIENT["extra_log_cosh"] = lambda o, t, w: [
    w * math.tanh((a - b) / w) for a, b in zip(o, t, strict=True)
]
reference.RULE["extra_lion"] = lion
'''

USE = '''
"""The additions in use: trees, training, estimators, files."""

import numpy as np
import pytest

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralTRegressor,
    Growth,
    NeuralTree,
    TrainingSettings,
    load_model,
    reference,
    train,
)
from bneuralt.training.losses import ExtraLogCosh
from bneuralt.training.optimizers import ExtraLion
from bneuralt.tree.activations import NAMES, ExtraSoftSign

X = np.random.default_rng(0).normal(size=(200, 3))
Y = np.stack([np.sin(X[:, 0]) + X[:, 1], X[:, 2]], axis=1)


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
        loss=ExtraLogCosh(width=0.5), optimizer=ExtraLion(beta1=0.8), learning_rate=0.005,
        max_epochs=60,
    )
    result = train(tree, X, Y, settings=settings)
    losses = result.history["train_loss"]
    assert losses[-1] < 0.2 * losses[0]
    assert (result.tree.activation_parameters != 0.7).all() == trains
    twin = NeuralTree.from_json(result.tree.to_json())
    assert twin == result.tree and '"extra_softsign"' in twin.to_json()
    assert twin.forward(X).tobytes() == result.tree.forward(X).tobytes()


def test_a_setting_is_declared_checked_and_used():
    tree = NeuralTree.random(3, 2, 3, output_activation="linear", random_state=0)
    common = {"loss": "squared_error", "schedule": "constant", "max_epochs": 3}
    twice, plain = (
        train(tree, X, Y, settings=TrainingSettings(**common, **more)).tree
        for more in ({"learning_rate": 0.01, "extra_factor": 2}, {"learning_rate": 0.02})
    )
    assert twice == plain
    assert "extra_factor : float, default='auto'" in TrainingSettings.__doc__
    with pytest.raises(ValueError, match="extra_factor is 3, it must be a number from 0.5 to 2"):
        TrainingSettings(extra_factor=3)


@pytest.mark.parametrize("model", [
    BNeuralTRegressor(
        growth=Growth(activation=[ExtraSoftSign(0.5), "tanh"], train_activations=True),
        training=TrainingSettings(optimizer=ExtraLion(beta2=0.9), extra_factor=1.5),
        learning_rate=0.005, max_epochs=40, random_state=0,
    ),
    BNeuralForestClassifier(
        growth=Growth(activation="extra_softsign"),
        training=TrainingSettings(optimizer="extra_lion"), learning_rate=0.005, max_epochs=20,
        n_estimators=3, random_state=0,
    ),
], ids=lambda model: type(model).__name__)
def test_an_estimator_is_trained_and_kept(model, tmp_path):
    y = Y[:, 0] if isinstance(model, BNeuralTRegressor) else Y[:, 0] > 0
    model.fit(X, y).save(tmp_path / "model.json")
    assert model.score(X, y) > 0.9
    loaded = load_model(tmp_path / "model.json")
    assert loaded.get_params() == model.get_params()
    assert loaded.predict(X).tobytes() == model.predict(X).tobytes()
'''


def add(header: Path, types: str, struct: str, name: str) -> None:
    """Add a struct to a header, and its name to the end of the list there."""
    text = header.read_text()
    found = re.search(rf"using {types} =\s*TypeList<([^;]*)>;", text)
    assert found, f"no list {types} in {header.name}"
    extended = f"using {types} = TypeList<{found[1]}, {name}>;"
    header.write_text(text[: found.start()] + struct + extended + text[found.end() :])


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


@pytest.fixture(scope="module")
def extended(tmp_path_factory):
    """A folder with the package, built with the additions."""
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
    if not compiler:
        pytest.skip("needs a C++ compiler: none of CXX, c++ and g++ was found")
    folder = tmp_path_factory.mktemp("extended")
    shutil.copytree(ROOT / "cpp", folder / "cpp")
    package = shutil.copytree(
        ROOT / "src" / "bneuralt",
        folder / "bneuralt",
        ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"),
    )
    # without optimization: what takes time is the compiler
    for file in ("CMakeLists.txt", "cpp/build.cmake"):
        text = (ROOT / file).read_text()
        (folder / file).write_text(re.sub(r"-O[23]\b", "-O0", text))
    for header, addition in ADDITIONS.items():
        add(folder / "cpp" / "kernels" / header, *addition)
    for name, changes in SETTING.items():
        text = (folder / "cpp" / name).read_text()
        for before, after in changes.items():
            assert text.count(before) == 1, f"{before!r} is not in {name}"
            text = text.replace(before, after)
        (folder / "cpp" / name).write_text(text)
    scripts = sysconfig.get_path("scripts")  # CMake and Ninja come with the test requirements
    tools = {**os.environ, "PATH": os.pathsep.join([scripts, os.environ["PATH"]])}
    cmake, build = shutil.which("cmake", path=tools["PATH"]), folder / "build"
    assert cmake, "CMake is missing: install the requirements of the tests (pip install '.[test]')"
    run(cmake, "-S", folder, "-B", build, "-G", "Ninja", f"-DPython_EXECUTABLE={sys.executable}",
        f"-DCMAKE_CXX_COMPILER={compiler}", "-DCMAKE_BUILD_TYPE=None",
        "-DBNEURALT_SETS=baseline", env=tools)  # fmt: skip
    run(cmake, "--build", build, env=tools)
    (library,) = build.glob("_core*.so")
    shutil.copy(library, package)
    (folder / "twins.py").write_text(TWINS)
    (folder / "test_use.py").write_text(USE)
    return folder


def test_one_struct_and_one_twin_are_enough(extended):
    # without site, so that an editable installation does not take precedence over the folder
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(extended), *sys.path])}
    code = (
        "import bneuralt._core as c; print(c.__file__, c.engines(), [e.name for e in c.losses()])"
    )
    where = run(sys.executable, "-S", "-c", code, env=environment, cwd=extended)
    assert str(extended) in where and "['baseline']" in where and "extra_log_cosh" in where
    told = run(
        sys.executable, "-S", "-m", "pytest", "-v", "-p", "twins", "-p", "no:cacheprovider",
        "--rootdir", ROOT, Path(__file__).parent / "test_registry.py", extended / "test_use.py",
        "-k", "(extra_ or every_entry_has_a_twin or test_use) and not documented",
        env=environment, cwd=extended,
    )  # fmt: skip
    for name in (
        "test_compiled_gradient_of_a_tree_is_the_reference",
        "test_compiled_losses_are_those_of_the_twin",
        "test_two_hundred_updates_are_those_of_the_twin",
        "test_a_tree_is_drawn_trained_and_kept",
        "test_a_setting_is_declared_checked_and_used",
        "test_an_estimator_is_trained_and_kept",
    ):
        assert re.search(rf"{name}.* PASSED", told), told
