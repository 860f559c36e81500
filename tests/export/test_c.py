"""C code does what the model does, whatever the names and values are."""

import csv
import io
import os
import subprocess

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    Growth,
    NeuralTree,
)
from bneuralt.cli.program import main
from bneuralt.export.c.features import CRow
from bneuralt.export.c.literals import c_string, comment
from bneuralt.tables.columns import as_frame
from tests.helpers.c_programs import COMPILERS, FLAGS, SANITIZE, c_rows, run_models
from tests.tools.compare_c import complaints

pytestmark = pytest.mark.skipif("gcc" not in COMPILERS, reason="gcc is not installed")

needs_clang = pytest.mark.skipif("clang" not in COMPILERS, reason="clang is not installed")


@pytest.fixture(scope="module")
def iris():
    data = load_iris(as_frame=True)
    names = np.array(["setosa", "versi,color", 'virgin"ica'])[data.target]
    return BNeuralTClassifier(max_epochs=20, random_state=0).fit(data.data, names), data.data


# -- equal to Python ----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["double", "float", "int16", "int8"])
def test_code_of_random_models_equals_python(tmp_path, dtype):
    assert complaints(tmp_path, range(1000, 1016), 200, dtype, "gcc") == []


@needs_clang
@pytest.mark.parametrize("dtype", ["double", "int8"])
def test_clang_agrees(tmp_path, dtype):
    assert complaints(tmp_path, range(1016, 1022), 100, dtype, "clang", libm=False) == []


@pytest.mark.parametrize("dtype", ["double", "int16", "int8"])
def test_sanitizers_find_nothing(tmp_path, dtype):
    flags = (*SANITIZE, "-O1")
    assert complaints(tmp_path, range(1022, 1027), 60, dtype, "gcc", flags) == []


def test_wide_nodes_and_many_inputs(tmp_path):
    """Nodes with more leaves, and tables with more columns, than a byte can count."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 300))
    clf = BNeuralTClassifier(max_epochs=2, random_state=0, scale="standard").fit(X, X[:, 0] > 0)
    leaves = [0] * 20 + [1] * 280 + [2] * 3 + [3] * 2
    parent = [-1, -1, 0, *[1] * 9]
    leaves += [i for i in range(4, 12) for _ in range(2)]
    tree = NeuralTree(
        300,
        2,
        parent,
        [0, 0, *[2] * 10],
        np.array(leaves),
        rng.permutation(np.arange(len(leaves)) % 300),
        rng.normal(size=2 * 12 - 2 + len(leaves)) / 10,
    )
    clf.model_ = clf.model_.in_raw_units().with_trees([tree])
    jobs = [(clf, dtype, "tables", X) for dtype in ("int8", "int16", "double")]
    results = run_models(tmp_path, jobs)
    for (_, dtype, *_), (decided, shares) in zip(jobs[:2], results[:2], strict=True):
        rounded = clf.quantize(dtype)
        assert np.array_equal(shares / 32768, rounded.predict_proba(X))
        assert np.array_equal(clf.classes_[decided[:, 0].astype(int)], rounded.predict(X))
    assert np.allclose(results[2][1], clf.predict_proba(X), atol=1e-6)


def test_categories_beyond_a_byte(tmp_path):
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(200), 3)
    frame = pd.DataFrame({"code": [f"c{c:03}" for c in codes], "x": rng.normal(size=600)})
    clf = BNeuralTClassifier(max_epochs=2, ramps=0, random_state=0).fit(frame, codes % 2)
    rounded = clf.quantize("int8")
    rows = np.c_[codes, frame["x"]]
    ((_, shares),) = run_models(tmp_path, [(clf, "int8", "tables", rows)])
    assert np.array_equal(shares / 32768, rounded.predict_proba(frame))


@pytest.mark.filterwarnings("ignore:no values at all", "ignore:all values")
def test_columns_of_which_only_gaps_matter(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "nothing": np.full(60, np.nan),
            "when": np.where(np.arange(60) % 3, pd.Timestamp("2020-01-01"), pd.NaT),
            "x": rng.normal(size=60),
            "colour": rng.choice(["red", "green"], 60),
            "name": [None if i % 4 else f"name {i}" for i in range(60)],
        }
    )
    frame["when"] = pd.to_datetime(frame["when"])
    y = np.arange(60) % 3 > 0
    clf = BNeuralTClassifier(max_epochs=5, random_state=0).fit(frame, y)
    plain = BNeuralTClassifier(max_epochs=5, ramps=0, random_state=0).fit(frame, y)
    missing = np.where(frame["when"].isna(), np.nan, 0.0)
    codes = (frame["colour"] == "red").to_numpy().astype(float)
    codes[:3] = [1e30, -1e30, 200.0]  # none of them is a category
    later = frame.assign(colour=np.where(np.arange(60) < 3, "blue", frame["colour"]))
    names = np.where(frame["name"].isna(), np.nan, -1.0)  # all of them are rare
    rows = np.c_[missing, frame["x"], codes, names]  # "nothing" is not read
    jobs = [(clf, "double", "tables", rows), (plain, "int8", "tables", rows)]
    (_, real), (_, rounded) = run_models(tmp_path, jobs, flags=SANITIZE)
    with pytest.warns(UserWarning, match="not seen in training"):
        assert np.allclose(real, clf.predict_proba(later), atol=1e-6)
        assert np.array_equal(rounded / 32768, plain.quantize("int8").predict_proba(later))
    clf.to_c(tmp_path / "m.h", main=True)
    command = ["gcc", *FLAGS, *SANITIZE, "m_main.c", "-o", "m", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    run = subprocess.run(
        ["./m"],
        cwd=tmp_path,
        input=frame.to_csv(index=False).encode(),
        capture_output=True,
        check=True,
    )
    shares = [row[1:] for row in list(csv.reader(io.StringIO(run.stdout.decode())))[1:]]
    assert np.allclose(np.array(shares, dtype=float), clf.predict_proba(frame), atol=1e-6)


@pytest.mark.parametrize("task", ["classes", "labels", "scores", "numbers", "counts", "forest"])
def test_contributions_are_those_of_explain(tmp_path, task):
    rng = np.random.default_rng(0)
    n = 90
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "colour": rng.choice(["red", "blue", "green"], n),
            "when": pd.Timestamp("2020-01-30") + pd.to_timedelta(rng.integers(0, 30000, n), "h"),
        }
    )
    frame.loc[::9, "size"] = np.nan
    options = {"max_epochs": 5, "random_state": 0, "dtype": "float64"}
    if task == "classes":
        y = np.arange(n) % 3
        model = BNeuralTClassifier(
            **options, growth=Growth(activation=["tanh", "gaussian", "leaky_relu"])
        )
    elif task == "labels":
        y, model = rng.integers(0, 2, (n, 2)), BNeuralTClassifier(**options)
    elif task == "scores":
        y = np.arange(n) % 3
        model = BNeuralForestClassifier(**options, n_estimators=3, interaction_cst="pairwise")
    elif task == "numbers":
        y, model = (
            rng.normal(size=(n, 2)),
            BNeuralTRegressor(**options, growth=Growth(activation="sigmoid")),
        )
    elif task == "counts":  # predictions are exp of a sum
        y, model = rng.poisson(3.0, n), BNeuralTRegressor(**options, loss="poisson")
    else:
        y, model = rng.normal(size=n), BNeuralForestRegressor(**options, n_estimators=3)
    model.fit(frame, y)
    model.to_c(tmp_path / "m.h", contributions=True)
    k = model.model_.n_outputs
    rows = c_rows(model.model_, as_frame(frame))
    parts = rows.shape[1] - 2  # of the date
    (tmp_path / "rows").write_bytes(rows.tobytes())
    (tmp_path / "program.c").write_text(
        '#include "m.h"\n#include <stdio.h>\nint main(void)\n{\n'
        f"    double x[M_N_FEATURES], out[M_N_FEATURES * {k}];\n"
        '    FILE *in = fopen("rows", "rb"), *to = fopen("result", "wb");\n'
        "    while (fread(x, sizeof x, 1, in) == 1) {\n        m_contributions(x, out);\n"
        "        fwrite(out, sizeof out, 1, to);\n    }\n    return fclose(in) + fclose(to);\n}\n"
    )
    command = ["gcc", *FLAGS, *SANITIZE, "program.c", "-o", "program", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    subprocess.run(["./program"], cwd=tmp_path, check=True)
    parts_in_c = np.frombuffer((tmp_path / "result").read_bytes()).reshape(n, k, 2 + parts)
    parts_in_c = np.concatenate(
        [parts_in_c[..., :2], parts_in_c[..., 2:].sum(axis=2, keepdims=True)], axis=2
    )
    expected = model.explain(frame).values.reshape(n, 3, k)
    assert np.allclose(parts_in_c.transpose(0, 2, 1), expected, atol=1e-8)


def test_contributions_only_of_sums(tmp_path, iris):
    with pytest.raises(ValueError, match="contributions are for dtype='double'"):
        iris[0].to_c(tmp_path / "m.h", dtype="int8", contributions=True)
    forest = BNeuralForestClassifier(n_estimators=2, max_epochs=1, random_state=0)
    forest.fit(iris[1], iris[0].predict(iris[1]))
    with pytest.raises(ValueError, match="scores of single trees or of forests"):
        forest.to_c(tmp_path / "m.h", contributions=True)
    assert list(tmp_path.iterdir()) == []


# -- files --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["double", "int8"])
def test_header_and_source_compile_as_c_and_cplusplus(tmp_path, iris, dtype):
    source = iris[0].to_c(tmp_path / "iris.c", dtype=dtype, main=True)
    assert {path.name for path in tmp_path.iterdir()} == {"iris.h", "iris.c", "iris_main.c"}
    assert (tmp_path / "iris.c").read_text() == source
    command = ["gcc", *FLAGS, "iris.c", "iris_main.c", "-o", "iris", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    (tmp_path / "sketch.cpp").write_text(
        '#include "iris.h"\nint f(const iris_input *x) { return iris_predict(x); }\n'
    )
    command = ["g++", "-Wall", "-Wextra", "-Werror", "-c", "sketch.cpp"]
    subprocess.run(command, cwd=tmp_path, check=True)
    iris[0].to_c(tmp_path / "iris.h", dtype=dtype)
    subprocess.run(command, cwd=tmp_path, check=True)


@pytest.mark.parametrize("dtype", ["double", "int16"])
def test_program_predicts_csv_rows(tmp_path, dtype):
    rng = np.random.default_rng(0)
    n = 120
    frame = pd.DataFrame(
        {
            "size (cm)": rng.normal(size=n),
            'colour, "main"': rng.choice(["red", "blue", "gr\u00fcn", "4"], n),
            "when": pd.Timestamp("2020-01-30") + pd.to_timedelta(rng.integers(0, 30000, n), "h"),
        }
    )
    frame.loc[::9, "size (cm)"] = np.nan
    frame.loc[::7, 'colour, "main"'] = None
    y = np.where(frame["when"].dt.month > 6, "late", "early, or so")
    clf = BNeuralForestClassifier(n_estimators=2, max_epochs=3, random_state=0).fit(frame, y)
    clf.to_c(tmp_path / "m.h", dtype=dtype, main=True)
    command = ["gcc", *FLAGS, "-O1", "m_main.c", "-o", "m", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    shuffled = frame[frame.columns[::-1]]
    text = "\ufeff" + shuffled.to_csv(index=False)  # spreadsheets begin with this mark
    run = subprocess.run(
        ["./m"], cwd=tmp_path, input=text.encode(), capture_output=True, check=True
    )
    other = subprocess.run(["./m"], cwd=tmp_path, input=b"size (cm),when\n", capture_output=True)
    assert other.returncode == 1 and b"names of all columns" in other.stderr
    rows = list(csv.reader(io.StringIO(run.stdout.decode())))[1:]
    model = clf if dtype == "double" else clf.quantize(dtype)
    assert [row[0] for row in rows] == model.predict(frame).tolist()
    shares = np.array([row[1:] for row in rows], dtype=float)
    assert np.allclose(shares, model.predict_proba(frame), atol=1e-5 if dtype == "double" else 0)


@pytest.mark.parametrize("dtype", ["double", "int16"])
def test_program_predicts_labels_of_csv_rows(tmp_path, dtype):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=["a", "b", "c"])
    clf = BNeuralTClassifier(max_epochs=30, random_state=0).fit(X, (X > 0).to_numpy().astype(int))
    clf.to_c(tmp_path / "m.h", dtype=dtype, main=True)
    subprocess.run(["gcc", *FLAGS, "m_main.c", "-o", "m", "-lm"], cwd=tmp_path, check=True)
    run = subprocess.run(
        ["./m"], cwd=tmp_path, input=X.to_csv(index=False).encode(), capture_output=True, check=True
    )
    rows = list(csv.reader(io.StringIO(run.stdout.decode())))[1:]
    model = clf if dtype == "double" else clf.quantize(dtype)
    assert [[int(label) for label in row[0].split()] for row in rows] == model.predict(X).tolist()
    shares = np.array([row[1:] for row in rows], dtype=float)
    np.testing.assert_allclose(shares, model.predict_proba(X), atol=1e-5)


def test_categories_need_one_loop_and_no_table_for_each_input(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"word": rng.choice(list("abcdefgh"), 200), "x": rng.normal(size=200)})
    clf = BNeuralTClassifier(max_epochs=5, random_state=0).fit(frame, frame["word"] > "d")
    clf.to_c(tmp_path / "m.h")
    code = (tmp_path / "m.h").read_text()
    assert code.count("? shares[i]") == 1 and "values0" not in code


@pytest.mark.parametrize("dtype", ["double", "int16"])
def test_columns_of_many_values_need_one_table(tmp_path, dtype):
    rng = np.random.default_rng(0)
    codes = (rng.zipf(1.2, 4000) % 700).astype(int)
    frame = pd.DataFrame({"shop": [f"{c:03} \u00e9\u4e2d" for c in codes], "x": rng.random(4000)})
    y = rng.normal(size=700)[codes] + frame["x"]
    model = BNeuralTRegressor(
        max_epochs=3, random_state=0, categorical_features={"shop": "means"}
    ).fit(frame, y)
    model.to_c(tmp_path / "m.h", dtype=dtype, main=True)
    assert (tmp_path / "m.h").read_text().count("[entry]") == 1
    subprocess.run(["gcc", *FLAGS, "m_main.c", "-o", "m", "-lm"], cwd=tmp_path, check=True)
    rows = frame.iloc[:500].copy()
    rows.loc[:9, "shop"] = [
        "",
        None,
        "zzz",
        "000",
        "~",
        "001 \u00e9\u4e2d?",
        "\u00ff",
        "-",
        "0",
        "A",
    ]
    run = subprocess.run(
        ["./m"], cwd=tmp_path, input=rows.to_csv(index=False).encode(), capture_output=True
    )
    printed = np.array(run.stdout.decode().split()[1:], dtype=float)
    expected = (model if dtype == "double" else model.quantize(dtype)).predict(rows)
    np.testing.assert_allclose(printed, expected, atol=1e-6)


@pytest.mark.parametrize("is_integer", [False, True])
def test_features_have_the_names_of_columns_with_ramps_too(is_integer):
    days = pd.date_range("2020-01-01", periods=300)
    frame = pd.DataFrame({"day": days, "x": np.random.default_rng(0).normal(size=300)})
    model = BNeuralTRegressor(ramps=0, max_epochs=2, random_state=0)
    names = ["month of day", "day of day", "weekday of day", "elapsed of day", "x"]
    row = CRow(model.fit(frame, frame["x"]).model_, is_integer)
    assert [feature.name for feature in row.features] == names
    ramps = model.set_params(ramps=2).fit(frame, frame["x"]).model_
    row = CRow(ramps, is_integer)
    assert [feature.name for feature in row.features] == names


def test_values_are_computed_only_where_they_are_not_the_cell(tmp_path):
    X = np.random.default_rng(0).normal(size=(80, 2))
    X[::5, 0] = np.nan
    plain = BNeuralTRegressor(ramps=0, scale="standard", max_epochs=5, random_state=0)
    plain.fit(X, np.nan_to_num(X[:, 0])).to_c(tmp_path / "plain.h", dtype="int16")
    assert "switch (feature)" not in (tmp_path / "plain.h").read_text()
    limited = BNeuralTRegressor(ramps=0, scale="robust", max_epochs=5, random_state=0)
    limited.fit(X, np.nan_to_num(X[:, 0])).to_c(tmp_path / "limited.h", dtype="int16")
    assert "switch (feature)" in (tmp_path / "limited.h").read_text()


def test_comment_states_bound_loss_and_size(tmp_path, iris):
    clf, X = iris
    path = tmp_path / "iris.h"
    clf.to_c(path, dtype="int8", X=X, y=clf.predict(X))
    about = path.read_text().split("*/")[0]
    rounded = clf.quantize("int8")
    assert f"differs by more than {rounded.error_bound_:.3g}" in " ".join(
        about.replace("\n *", " ").split()
    )
    assert "bytes of tables" in about and "Seen on 1,000 random rows" in about
    assert "Accuracy on 150 rows: 1.0000 with real weights" in about.replace("\n * ", " ")


def test_style_is_chosen_by_size_and_selectable(iris):
    texts = {}
    for style in ("auto", "tables", "code"):
        texts[style] = iris[0].to_c(style=style)
    assert texts["auto"] == texts["code"] != texts["tables"]
    forest = BNeuralForestClassifier(n_estimators=20, max_epochs=1, random_state=0)
    forest.fit(iris[1], iris[0].predict(iris[1]))
    assert "iris_weights" in forest.to_c(name="iris")


def test_without_library(iris):
    assert "#include" not in iris[0].to_c(libm=False)


# -- bad input ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["", "2x", "a b", "int", "class", "a__b", "_X", "a;b", "x" * 41, "\u00e4", 'a"', 3]
)
def test_names_that_c_does_not_allow_are_refused(tmp_path, iris, name):
    with pytest.raises((ValueError, TypeError), match="name="):
        iris[0].to_c(tmp_path / "iris.h", name=name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("stem", ["while", "my model", "7", "\u00e4\u00f6", "a-b__c"])
def test_names_of_files_become_names_in_c(tmp_path, iris, stem):
    path = tmp_path / f"{stem}.h"
    iris[0].to_c(path, dtype="int8")
    subprocess.run(["gcc", *FLAGS, "-x", "c", "-fsyntax-only", path], check=True)


EVIL = [
    'quote " and \\ backslash',
    "line\nbreak\r\ttab",
    "end */ of comment /* begin",
    "trigraph ??/ ??=",
    "%s %n percent",
    "\u65e5\u672c\u8a9e \U0001f600",
    '"; int main(void) { system("rm"); } //',
    "\\",
    "\x00\x7f",
    "a",
    "A",
]


def test_evil_names_are_escaped(tmp_path):
    rng = np.random.default_rng(0)
    names = [name.replace("\x00", "") for name in EVIL]
    frame = pd.DataFrame(rng.normal(size=(len(EVIL) * 6, len(EVIL))), columns=names)
    frame["category */"] = np.tile(names, 6)
    clf = BNeuralTClassifier(max_epochs=1, random_state=0).fit(frame, np.tile(names, 6))
    for dtype in ("double", "int8"):
        clf.to_c(tmp_path / "evil.h", dtype=dtype, main=True)
        (tmp_path / "names.c").write_text(
            '#include "evil.h"\n#include <stdio.h>\nint main(void) {\n    int k;\n'
            "    for (k = 0; k < EVIL_N_OUTPUTS; k++)\n"
            '        printf("%s%c", evil_output_names[k], 1);\n    return 0;\n}\n'
        )
        for source in ("names.c", "evil_main.c"):
            command = ["gcc", *FLAGS, source, "-o", "names", "-lm"]
            subprocess.run(command, cwd=tmp_path, check=True)
            if source == "names.c":
                shown = subprocess.run(["./names"], cwd=tmp_path, capture_output=True, check=True)
                assert shown.stdout.decode().split("\x01")[:-1] == clf.classes_.tolist()


def test_strings_and_comments():
    assert c_string("\x011") == '"\\0011"'  # three digits: the 1 is not part of the escape
    assert "*/" not in comment("a */ b **/ c")[2:-2]
    assert "\\\n" not in comment("ends in a backslash \\\nnext")


def test_models_that_cannot_be_exported(tmp_path, iris):
    path = tmp_path / "m.h"
    with pytest.raises(NotFittedError):
        BNeuralTClassifier().to_c(path)
    with pytest.raises(ValueError, match="must end in"):
        iris[0].to_c(tmp_path / "m.txt")
    with pytest.raises(ValueError, match="no C header may have"):
        iris[0].to_c(tmp_path / 'm".c')
    with pytest.raises(ValueError, match="dtype='int4' must be one of"):
        iris[0].to_c(path, dtype="int4")
    with pytest.raises(ValueError, match="style='fast' must be one of"):
        iris[0].to_c(path, style="fast")
    with pytest.raises(ValueError, match="only one of X and y"):
        iris[0].to_c(path, X=iris[1])
    assert list(tmp_path.iterdir()) == []


def test_too_large_for_statements(tmp_path, iris):
    model = BNeuralTClassifier(max_epochs=1, ramps=0, random_state=0)
    model.fit(iris[1], iris[0].predict(iris[1]))
    n = 21_000
    tree = NeuralTree(
        4, 3, [-1] * 3 + [0] * n, [0] * 3 + [2] * n, [1, 2, *range(3, n + 3)], [0] * (n + 2),
        np.ones(2 * (n + 3) - 3 + n + 2),
    )  # fmt: skip
    model.model_ = model.model_.in_raw_units().with_trees([tree])
    with pytest.raises(ValueError, match="use style='tables'"):
        model.to_c(tmp_path / "m.h", style="code")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_half_written(tmp_path, iris):
    (tmp_path / "m.c").mkdir()  # the second file cannot be written
    with pytest.raises(IsADirectoryError):
        iris[0].to_c(tmp_path / "m.c")
    assert os.listdir(tmp_path) == ["m.c"]
    with pytest.raises(FileNotFoundError, match="absent"):
        iris[0].to_c(tmp_path / "absent" / "m.c")


# -- the program --------------------------------------------------------------------------


def test_command(tmp_path, capsys):
    data = load_diabetes(as_frame=True, scaled=False)
    reg = BNeuralTRegressor(max_epochs=5, random_state=0).fit(data.data, data.target)
    model, table, out = (str(tmp_path / name) for name in ("m.json", "t.csv", "out.c"))
    reg.save(model)
    data.frame.to_csv(table, index=False)
    command = ["export", model, "--to", "c", "--out", out]
    assert main([*command, "--dtype", "int16", "--main", "--data", table]) == 0
    assert "out_main.c" in capsys.readouterr().out
    assert "points)" in (tmp_path / "out.h").read_text()
    assert main(command) == 0  # replaces what export wrote
    (tmp_path / "out.h").write_text("/* mine */")
    assert main(command) == 5
    assert "--force" in capsys.readouterr().err
    assert main([*command, "--force"]) == 0
    assert main([*command, "--name", "a b"]) == 2
    assert "--name 'a b'" in capsys.readouterr().err
    assert main(["export", model, "--to", "c", "--out", str(tmp_path / "no" / "m.c")]) == 5
