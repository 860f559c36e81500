"""Every operation, activation, kind of column and link runs through C code as NumPy computes it."""

import csv
import inspect
import io
import subprocess
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from bneuralt import BNeuralTRegressor, NeuralTree
from bneuralt.export.activation_forms import ActivationForm, activation_form
from bneuralt.export.c import c_files
from bneuralt.export.c.csv_program import DATE_PARTS as C_DATE_PARTS
from bneuralt.export.cell_reads import cell_reads
from bneuralt.export.integer import FORMATS, integer_model
from bneuralt.export.integer.curve_tables import fitted_curve
from bneuralt.expressions import (
    NUMBER,
    OPERATIONS,
    OUTPUTS,
    Expression,
    Lookup,
    absolute,
    constant,
    date_part,
    evaluate,
    exp,
    greater,
    if_missing,
    is_missing,
    largest,
    lookup,
    maximum,
    minimum,
    ordered,
    select,
    sigmoid,
    sqrt,
    square,
    tanh,
    total,
    variable,
)
from bneuralt.expressions.operations import CONDITIONS, DATE_PARTS, NUMERIC
from bneuralt.model import Model
from bneuralt.tables.columns import Column, Frame
from bneuralt.tables.encoder import TableEncoder
from bneuralt.tables.features import Feature, Input
from bneuralt.training.losses import LOSSES, TASKS, shares
from bneuralt.tree import activations
from tests.helpers.c_programs import COMPILERS, FLAGS, c_rows, run_models
from tests.tools.compare_c import ratios_of

pytestmark = pytest.mark.skipif("gcc" not in COMPILERS, reason="gcc is not installed")

Z = variable("z")
TOLERANCE = {"double": 1e-12, "float": 3e-5}
REALS = [("double", True), ("double", False), ("float", False)]
STYLES = ("tables", "code")


def of_operations(names, *arguments):
    """An expression with each of some operations, applied to the first of the arguments."""
    expressions = {}
    for name in names:
        n = len(inspect.signature(OPERATIONS[name].slopes).parameters)
        expressions[name] = Expression(name, arguments[:n])
    return expressions


def condition_cases(a, b):
    """An expression with each condition; none has a step, which would depend on rounding."""
    return {
        "greater": select(greater(a, b), a, b),
        "select": select(greater(b, a), 2 * b - a, b),
        "is_missing": select(is_missing(a), constant(1.0), a),
        "if_missing": if_missing(a, 2.0) + 1,
    }


# -- activations --------------------------------------------------------------------------

#: Positive and bounded functions of z, to which operations are applied.
_A, _B = 0.5 + 1 / (1 + square(Z)), 2 + Z / (1 + absolute(Z))

CURVES = {
    "softsign": Z / (1 + absolute(Z)),
    "steep": 3 * tanh(Z) * sigmoid(Z) - 1,
    "hinges": minimum(maximum(Z, -1.0), 1.0),
    "falling": 2 - maximum(Z, 0.5),
    **of_operations(NUMERIC, _A, _B),
}
CONDITION_CURVES = condition_cases(Z, _A)


@pytest.fixture
def curved(monkeypatch):
    """Give an activation other formulas than the core has, and compute trees by formulas."""

    def forward(tree, X, n_threads=1):
        X = np.asarray(X, dtype=np.float64)
        sums = np.tile(tree.bias, (len(X), 1)).astype(np.float64)
        leaves = zip(tree.leaf_parent, tree.leaf_input, tree.leaf_weight, strict=True)
        for parent, j, weight in leaves:
            sums[:, parent] += weight * X[:, j]
        for i, formula in reversed(list(enumerate(tree.node_expressions))):
            sums[:, i] = evaluate(formula, {"z": sums[:, i]})
            if i >= tree.n_outputs:
                sums[:, tree.parent[i]] += tree.edge[i - tree.n_outputs] * sums[:, i]
        return sums[:, : tree.n_outputs]

    def change(formulas):
        for name, formula in formulas.items():
            monkeypatch.setitem(activations.EXPRESSIONS, name, formula)
        monkeypatch.setattr(NeuralTree, "forward", forward)
        activations.expression_of.cache_clear()

    yield change
    activations.expression_of.cache_clear()


def tree_of(names, n_inputs=3, n_outputs=2, output="linear", seed=0):
    return NeuralTree.random(
        n_inputs,
        n_outputs,
        max_depth=3,
        max_children=3,
        activation=names,
        output_activation=output,
        random_state=seed,
    )


def numbers_model(trees, link=OUTPUTS, task="numbers", averages="outputs", columns=None):
    """A model of a table of numbers between -2 and 2, or of other columns."""
    n = trees[0].n_inputs
    columns = columns or [AnyFeature((if_missing(NUMBER, 0.25),)) for _ in range(n)]
    encoder = TableEncoder(tuple(columns), ranges=(None,) * len(columns))
    return Model("Test", encoder, tuple(trees), task, link, averages)


def numbers_frame(n_columns, n_rows=200, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.uniform(-2, 2, (n_rows, n_columns))
    return Frame([Column("number", np.float32(column).astype(float)) for column in values.T])


def compare_real(tmp_path, models, frame):
    """Compare C with floating-point numbers with the models, in both styles in turn."""
    for dtype, libm in REALS:
        jobs = [(m, dtype, STYLES[i % 2], c_rows(m, frame)) for i, m in enumerate(models)]
        results = run_models(tmp_path, jobs, flags=("-O0",), libm=libm)
        for (model, *_), (decided, probabilities) in zip(jobs, results, strict=True):
            inputs = model.encode(frame)
            expected, values = model.predictions(model.outputs(inputs)), probabilities
            if model.task == "numbers":
                values = decided
            error = np.abs(values - expected) / np.maximum(1.0, np.abs(expected))
            # large inputs cancel with biases; float32 rounds an input of 500 by 3e-5
            size = max(1.0, np.abs(inputs).max() / 250)
            assert error.max() < size * TOLERANCE[dtype], (dtype, libm, model.link)


def compare_integer(tmp_path, models, frame):
    """Compare integer C code with integer arithmetic in Python, and this with its bound."""
    for dtype in ("int16", "int8"):
        converted = [integer_model(model, dtype, model.input_ranges) for model in models]
        jobs = [
            (integers, dtype, STYLES[i % 2], c_rows(integers.model, frame, is_integer=True))
            for i, integers in enumerate(converted)
        ]
        results = run_models(tmp_path, jobs, flags=("-O0",))
        for integers, (decided, probabilities) in zip(converted, results, strict=True):
            inputs = integers.model.encode(frame).astype(np.float64)
            outputs = integers.outputs(integers.encode(inputs))
            assert np.array_equal(decided.squeeze(), integers.decisions(outputs).squeeze())
            if integers.model.task != "numbers":
                assert np.array_equal(probabilities / 32768, integers.predictions(outputs))
            low, high = integers.inputs.low, integers.inputs.high
            inside = ((inputs >= low) & (inputs <= high)).all(axis=1)
            assert inside.mean() > 0.3
            assert min(ratios_of(integers, inputs[inside])) >= 1


def batches(curves):
    """Formulas for as many activations as there are, until all formulas have been given."""
    names = [name for name in activations.NAMES if name != "linear"]
    for start in range(0, len(curves), len(names)):
        yield dict(zip(names, list(curves.values())[start:], strict=False))


def test_activations_of_every_operation(tmp_path, curved):
    for formulas in batches(CURVES | CONDITION_CURVES):
        curved(formulas)
        model = numbers_model([tree_of(list(formulas), seed=seed) for seed in range(2)])
        compare_real(tmp_path, [model, model], numbers_frame(3))


def test_integer_activations_of_every_operation(tmp_path, curved):
    for formulas in batches(CURVES):
        curved(formulas)
        models = [numbers_model([tree_of([name]), tree_of([name])]) for name in formulas]
        models += [numbers_model([tree_of(list(formulas))])] * 2
        compare_integer(tmp_path, models, numbers_frame(3))


def test_integer_tables_of_activations_are_accurate(curved):
    curved({"tanh": CURVES["softsign"]})
    model = numbers_model([tree_of(["tanh"], seed=s) for s in range(2)])
    errors = {}
    inputs = model.encode(numbers_frame(3)).astype(np.float64)
    for dtype in ("int16", "int8"):
        errors[dtype] = integer_model(model, dtype, model.input_ranges).errors(inputs).max()
    scale = model.outputs(inputs).std()
    assert errors["int8"] < 0.05 * scale and errors["int16"] < 0.001 * scale


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        (CONDITION_CURVES["greater"], "may have steps"),
        (1 / Z, "no finite bounds"),
        (sqrt(absolute(Z)), "infinitely steep"),
    ],
)
def test_activations_without_a_bound_are_refused(curved, formula, message):
    curved({"tanh": formula})
    model = numbers_model([tree_of(["tanh"])])
    with pytest.raises(ValueError, match=message):
        integer_model(model, "int8", model.input_ranges)


def test_forms_are_the_activations(curved):
    """Forms around tanh, bells and kinks are found however an activation is written."""
    z = np.linspace(-3, 3, 50)
    formulas = {
        "tanh": 2 * tanh(0.5 * Z - 1) / 3 + 1,
        "bell": 1 - 3 * exp(-2 * square(Z + 1) - 0.5),
        "pieces": absolute(2 * Z - 1) + maximum(2 * Z - 1, 0.0),
    }
    for kind, formula in formulas.items():
        form = activation_form(formula)
        t = form.gain * z + form.shift
        value = {
            "tanh": np.tanh(t),
            "bell": 2 * np.exp(-(t**2)) - 1,
            "pieces": np.where(t > 0, t, form.slope * t),
        }[kind]
        assert form.kind == kind
        assert np.allclose(form.offset + form.unit * value, evaluate(formula, {"z": z}))


def test_constants_of_activations_are_no_code(tmp_path, curved):
    """Nodes with other parameters share a function."""
    curved({"bipolar": Z / (variable("steepness") + absolute(Z))})
    steep = [activations.Bipolar(value) for value in (0.5, 1.0, 2.0)]
    model = numbers_model([tree_of(steep)])
    text, _ = c_files(model, style="tables")
    assert "model_curve0(z, w[0])" in text and "curve1" not in text
    compare_real(tmp_path, [model], numbers_frame(3))


@pytest.mark.parametrize("dtype", ["double", "float"])
def test_contributions_of_any_activation(tmp_path, curved, dtype):
    """The contributions of a row add up to the difference to the baseline."""
    curved({"tanh": CURVES["softsign"], "sigmoid": CURVES["log"]})
    model = numbers_model([tree_of(["tanh", "sigmoid", "gaussian", "relu"])])
    _, files = c_files(model, tmp_path / "m.h", dtype=dtype, contributions=True)
    (tmp_path / "m.h").write_text(next(iter(files.values())))
    (tmp_path / "program.c").write_text(
        '#include "m.h"\n#include <stdio.h>\nint main(void)\n{\n'
        f"    {dtype} x[M_N_FEATURES], out[M_N_FEATURES * 2];\n"
        '    FILE *in = fopen("rows", "rb"), *to = fopen("result", "wb");\n'
        "    while (fread(x, sizeof x, 1, in) == 1) {\n        m_contributions(x, out);\n"
        "        fwrite(out, sizeof out, 1, to);\n    }\n    return fclose(in) + fclose(to);\n}\n"
    )
    frame, real = numbers_frame(3), np.float64 if dtype == "double" else np.float32
    rows = c_rows(model, frame)
    rows[0] = 0.25 + 1e-9  # almost the baseline
    (tmp_path / "rows").write_bytes(rows.astype(real).tobytes())
    subprocess.run(["gcc", *FLAGS, "program.c", "-o", "program", "-lm"], cwd=tmp_path, check=True)
    subprocess.run(["./program"], cwd=tmp_path, check=True)
    contributions = np.frombuffer((tmp_path / "result").read_bytes(), dtype=real).reshape(
        len(rows), 2, 3
    )
    change = model.outputs(rows)[0] - model.outputs(np.full((1, 3), 0.25))[0]
    assert np.allclose(contributions.sum(axis=2), change, atol=1e-10 if dtype == "double" else 1e-4)


# -- links --------------------------------------------------------------------------------


def link_cases():
    """Task, link, and whether integer arithmetic has it."""
    for loss in LOSSES.values():
        instance = loss([0.9, 0.5, 0.1]) if loss.name == "pinball" else loss()
        for task in TASKS:
            if task in instance.traits.tasks:
                yield task, instance.link(task), True
    yield "classes", shares(1e-30), True
    yield "classes", square(OUTPUTS) / total(square(OUTPUTS)), True
    yield "classes", absolute(OUTPUTS) / total(square(OUTPUTS)), False
    yield "labels", minimum(maximum(OUTPUTS, 0.0), 1.0), True
    yield "labels", 0.5 + OUTPUTS / (2 + 2 * absolute(OUTPUTS)), True
    yield "numbers", square(OUTPUTS), True
    yield "numbers", OUTPUTS - largest(tanh(OUTPUTS)) / total(exp(OUTPUTS)), True
    yield "numbers", ordered(square(OUTPUTS), [2, 0, 1]) + total(OUTPUTS), True
    for link in of_operations(NUMERIC, 1 + square(OUTPUTS), 2 + absolute(OUTPUTS)).values():
        yield "numbers", link, True
    for link in condition_cases(OUTPUTS, tanh(OUTPUTS)).values():
        yield "numbers", link, True


def link_models(n_trees=2):
    for task, link, is_integer in link_cases():
        averages = "outputs" if task == "numbers" else "predictions"
        output = "sigmoid" if link in (shares(1e-30),) else "linear"
        trees = [tree_of(["tanh"], 3, 3, output, seed) for seed in range(n_trees)]
        yield numbers_model(trees, link, task, averages), is_integer


@pytest.mark.parametrize("n_trees", [1, 2])
def test_every_link(tmp_path, n_trees):
    compare_real(tmp_path, [model for model, _ in link_models(n_trees)], numbers_frame(3))


def test_every_integer_link(tmp_path):
    models = [model for model, is_integer in link_models() if is_integer]
    compare_integer(tmp_path, models, numbers_frame(3))
    for model, is_integer in link_models():
        if not is_integer:
            with pytest.raises(ValueError, match="no integer arithmetic"):
                integer_model(model, "int8", model.input_ranges)


@pytest.mark.parametrize("link", [exp(OUTPUTS), OUTPUTS / total(absolute(OUTPUTS))])
@pytest.mark.parametrize("dtype", ["double", "int16"])
@pytest.mark.parametrize("libm", [True, False])
def test_program_prints_predictions(tmp_path, link, dtype, libm):
    """Not the sums of which they are a function."""
    model = numbers_model([tree_of(["tanh"])], link)
    integers = integer_model(model, dtype, model.input_ranges) if dtype == "int16" else None
    _, files = c_files(
        model, tmp_path / "m.h", dtype=dtype, main=True, integers=integers, libm=libm
    )
    for path, text in files.items():
        path.write_text(text)
    subprocess.run(["gcc", *FLAGS, "m_main.c", "-o", "m", "-lm"], cwd=tmp_path, check=True)
    frame = numbers_frame(3)
    table = "\n".join(",".join(map(repr, row)) for row in c_rows(model, frame).tolist())
    run = subprocess.run(["./m"], cwd=tmp_path, input=table.encode(), capture_output=True)
    numbers = np.array(list(csv.reader(io.StringIO(run.stdout.decode())))[1:], dtype=float)
    inputs = model.encode(frame)
    if integers is None:
        expected = model.predictions(model.outputs(inputs))
    else:
        expected = integers.predictions(integers.outputs(integers.encode(inputs)))
    assert np.allclose(numbers, expected, rtol=1e-12)


def test_program_prints_counts_of_poisson_models(tmp_path):
    rng = np.random.default_rng(0)
    X = np.float32(rng.normal(size=(100, 2))).astype(float)
    model = BNeuralTRegressor(loss="poisson", max_epochs=3, random_state=0)
    model.fit(X, rng.poisson(np.exp(X[:, 0])))
    model.to_c(tmp_path / "m.h", dtype="int8", main=True)
    subprocess.run(["gcc", *FLAGS, "m_main.c", "-o", "m", "-lm"], cwd=tmp_path, check=True)
    table = "\n".join(f"{a!r},{b!r}" for a, b in X.tolist())
    run = subprocess.run(["./m"], cwd=tmp_path, input=table.encode(), capture_output=True)
    counts = np.array(run.stdout.split()[1:], dtype=float)  # below the name of the target
    assert np.allclose(counts, model.quantize("int8").predict(X))
    assert (counts > 0).all()


# -- inputs -------------------------------------------------------------------------------


@dataclass(frozen=True)
class AnyFeature(Feature):
    """A column whose inputs are any expressions of a cell."""

    expressions: tuple[Expression, ...]
    ends: tuple[float, float] = (-2.0, 2.0)
    kind: ClassVar[str] = "any"

    has_gaps: ClassVar[bool] = False

    def inputs(self, name: str, limits: Any = None) -> list[Input]:
        return [
            Input("", f"{name} {i}", expression, 0.25, self.ends)
            for i, expression in enumerate(self.expressions)
        ]

    def encode(self, column, out, report) -> None:
        with np.errstate(all="ignore"):
            for i, expression in enumerate(self.expressions):
                out[:, i] = evaluate(expression, {}, column)


_FILLED = if_missing(NUMBER, 0.5)
_POSITIVE = maximum(_FILLED, 0.0) + 0.5
CODES = Lookup(("red", "green", "blue"), (1.5, -0.5, 0.25), 0.75, 0.0)
FLAGS_OF_TEXT = Lookup(("green",), (1.0,), 0.0, 0.0)

#: Expressions of a cell that has a number, a text or a date.
INPUTS = {
    "number": {
        "root": sqrt(maximum(if_missing(NUMBER, 3), 0)),
        "gap": select(is_missing(NUMBER), 1.0, 0.0),
        "number": _FILLED,
        "outer": if_missing(maximum(NUMBER, 0.0), 1.25),
        **of_operations(NUMERIC, _POSITIVE, 1 + absolute(_FILLED)),
        **condition_cases(_FILLED, _POSITIVE),
    },
    "text": {
        "lookup": lookup(CODES),
        "of_lookup": square(lookup(CODES)) + lookup(FLAGS_OF_TEXT),
    },
    "date": {
        **{part: if_missing(date_part(part), 3.0) / 12 for part in DATE_PARTS},
        "gap": select(is_missing(date_part("hour")), 1.0, 0.0),
    },
}


def cells(kind, n_rows=150):
    """A column with missing and unknown values."""
    rng = np.random.default_rng(0)
    gaps = rng.random(n_rows) < 0.1
    if kind == "text":
        codes = np.where(gaps, -1, rng.integers(0, 4, n_rows))
        return Column("text", codes, ("red", "green", "blue", "unknown"))
    if kind == "date":
        days = rng.integers(0, 10_000, n_rows).astype("timedelta64[D]")
        hours = rng.integers(0, 24, n_rows).astype("timedelta64[h]")
        dates = (np.datetime64("1999-01-30T00:00:00") + days + hours).astype("datetime64[s]")
        return Column("date", np.where(gaps, np.datetime64("NaT", "s"), dates))
    values = np.float32(rng.uniform(-2, 2, n_rows)).astype(float)
    return Column("number", np.where(gaps, np.nan, values))


def input_models():
    """A model for each input, and one with all inputs of a column of each kind."""
    for kind, expressions in INPUTS.items():
        columns = [(expression,) for expression in expressions.values()]
        for inputs in [*columns, tuple(expressions.values())]:
            feature, cell = AnyFeature(inputs), cells(kind)
            values = TableEncoder((feature,)).encode(Frame([cell]))
            ends = (float(values.min()), float(values.max()))
            feature = AnyFeature(inputs, ends if ends[0] < ends[1] else (0.0, 1.0))
            tree = tree_of(["tanh"], len(inputs))
            yield numbers_model([tree], columns=[feature]), Frame([cell])


def test_every_cell_operation_is_tried():
    def operations(expression):
        return {expression.operation}.union(*map(operations, expression.arguments))

    used = {
        name
        for expressions in INPUTS.values()
        for expression in expressions.values()
        for name in operations(expression)
    }
    used |= {name for _, link, _ in link_cases() for name in operations(link)}
    assert used == set(OPERATIONS)
    assert set(C_DATE_PARTS) == set(DATE_PARTS)
    assert set(CONDITION_CURVES) == set(CONDITIONS)


def test_every_input(tmp_path):
    for kind in INPUTS:
        models = [m for m, frame in input_models() if frame.columns[0].kind == kind]
        compare_real(tmp_path, models, Frame([cells(kind)]))


def test_every_integer_input(tmp_path):
    for kind in INPUTS:
        models = [m for m, frame in input_models() if frame.columns[0].kind == kind]
        compare_integer(tmp_path, models, Frame([cells(kind)]))


def test_inputs_of_several_parts_of_a_date(tmp_path):
    years = if_missing(date_part("year") - 2000 + (date_part("month") - 1) / 12, 3)
    feature = AnyFeature((years,), (-1.0, 30.0))
    model = numbers_model([tree_of(["tanh"], 1)], columns=[feature])
    compare_real(tmp_path, [model], Frame([cells("date")]))
    with pytest.raises(ValueError, match="several parts of a date"):
        integers = integer_model(model, "int8", model.input_ranges)
        c_files(model, tmp_path / "m.h", dtype="int8", integers=integers)


@pytest.mark.parametrize("dtype", ["double", "int16"])
def test_program_reads_every_cell(tmp_path, dtype):
    """A table with a number, a text and a date, in a file."""
    columns = [AnyFeature(tuple(e.values()), (0.0, 200.0)) for e in INPUTS.values()]
    model = numbers_model([tree_of(["tanh"], sum(f.n_inputs for f in columns))], columns=columns)
    frame = Frame([cells(kind) for kind in INPUTS])
    inputs = model.encode(frame)
    integers = integer_model(model, dtype, model.input_ranges) if dtype == "int16" else None
    expected = model.predictions(model.outputs(inputs))
    if integers is not None:
        expected = integers.predictions(integers.outputs(integers.encode(inputs)))
    _, files = c_files(model, tmp_path / "m.h", dtype=dtype, main=True, integers=integers)
    for path, text in files.items():
        path.write_text(text)
    subprocess.run(["gcc", *FLAGS, "m_main.c", "-o", "m", "-lm"], cwd=tmp_path, check=True)
    number, text, date = frame.columns
    words = [*text.texts, ""]
    lines = [
        f"{'' if np.isnan(a) else repr(a)},{words[b]},{'' if np.isnat(c) else c}"
        for a, b, c in zip(number.values.tolist(), text.values, date.values, strict=True)
    ]
    run = subprocess.run(
        ["./m"], cwd=tmp_path, input="\n".join(lines).encode(), capture_output=True, check=True
    )
    numbers = np.array(list(csv.reader(io.StringIO(run.stdout.decode())))[1:], dtype=float)
    assert np.allclose(numbers, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("expression", "values", "gaps"),
    [
        (NUMBER, ("number",), ()),
        (date_part("year"), ("year",), ()),
        (is_missing(NUMBER), (), ("number",)),
        (if_missing(NUMBER, 1.0) + select(is_missing(date_part("day")), 1.0, 0.0), ("number",),
         ("day",)),
    ],
)  # fmt: skip
def test_parts_of_cells_that_are_read(expression, values, gaps):
    assert cell_reads(expression) == (values, gaps)


@pytest.mark.parametrize("ends", [(-np.inf, np.inf), (0.0, np.inf), (-np.inf, 0.0), (np.nan, 1.0)])
def test_curves_need_finite_sums(ends):
    form = ActivationForm("curve", curve=tanh(exp(variable("z"))))
    with pytest.raises(ValueError, match="have no finite bounds over the range of the inputs"):
        fitted_curve(form, ends, FORMATS["int8"], "curve")
