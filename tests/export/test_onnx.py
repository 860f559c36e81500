"""ONNX models compute what the models compute, in onnxruntime."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import bneuralt
from bneuralt import BNeuralForestClassifier, BNeuralTClassifier, BNeuralTRegressor, NeuralTree
from bneuralt.export.onnx import to_onnx
from bneuralt.export.onnx.graph import Graph, Result
from bneuralt.export.onnx.operation_nodes import EXACT_OPERATORS, OPERATORS, translate
from bneuralt.expressions import NUMBER, OUTPUTS, evaluate, tanh, variable
from bneuralt.model import Model
from bneuralt.tables.encoder import TableEncoder
from bneuralt.tables.features import NumberFeature
from bneuralt.training.losses import LINKS
from bneuralt.tree.activations import NAMES
from tests.helpers.comparison import assert_same
from tests.helpers.expression_samples import CELL_EXPRESSIONS, NUMBERS, VECTORS, number_values
from tests.helpers.fitted_models import random_model, random_table, random_target
from tests.helpers.runners import columns_first, compare_contributions
from tests.helpers.sample_models import (
    ALL_LINKS,
    TASKS,
    SampleFeature,
    model_with_activation,
    model_with_all_columns,
    model_with_cells,
    model_with_link,
    rows_of_cells,
)

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


def session_of(proto):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(
        proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def fed(proto, rows):
    """The inputs of an ONNX model for a data frame."""
    (first, *more) = proto.graph.input
    if not more and first.name == "X":
        return {"X": rows.to_numpy(dtype=np.float32)}
    feed = {}
    for declared in proto.graph.input:
        values = rows[declared.name]
        kind = declared.type.tensor_type.elem_type
        if kind == onnx.TensorProto.STRING:
            column = values.fillna("").to_numpy(dtype=object).astype(str).astype(object)
        elif kind == onnx.TensorProto.INT64:
            column = values.to_numpy(dtype="datetime64[s]").astype(np.int64)
        else:
            column = values.to_numpy(dtype=np.float32)
        feed[declared.name] = column[:, np.newaxis]
    return feed


def cells_fed(proto, rows):
    """The inputs of an ONNX model for a `Frame`."""
    (first, *more) = proto.graph.input
    if not more and first.name == "X":
        return {"X": np.stack([c.values for c in rows.columns], axis=1).astype(np.float32)}
    feed = {}
    for declared in proto.graph.input:
        column = rows.columns[rows.names.index(declared.name)]
        values = column.values.astype(np.float32 if column.kind == "number" else np.int64)
        if column.kind == "text":
            values = np.array([*column.texts, ""], dtype=object)[values]
        feed[declared.name] = values[:, np.newaxis]
    return feed


def check(seed, n_rows=100):
    """Compare one model with its ONNX model."""
    drawn = random_model(seed, n_rows)
    decided, expected, model = drawn.expected
    proto = drawn.model.to_onnx()
    results = session_of(proto).run(None, fed(proto, drawn.rows))
    assert_same(results[-1], expected, 1e-5, model, largest=1e37)  # float32 has no larger numbers
    names = [output.name for output in proto.graph.output]
    if model.task == "numbers":
        assert names == ["variable"]
        return
    assert names == ["label", "probabilities"]
    labels = np.array(model.classes)[decided] if model.task == "classes" else decided
    assert np.array_equal(results[0][drawn.safe], labels[drawn.safe])


def check_contributions(seed, n_rows=100):
    """Compare the contributions of one model with those of its ONNX model."""

    def contributions(model, rows):
        proto = to_onnx(model, contributions=True)
        (values,) = session_of(proto).run(["contributions"], fed(proto, rows))
        return columns_first(values)

    return compare_contributions(contributions, random_model(seed, n_rows), 1e-5, 1e37)


@pytest.mark.parametrize("seed", range(32))
def test_onnx_equals_the_model(seed):
    check(seed)


@pytest.mark.parametrize("seed", range(32))
def test_contributions_are_those_of_explain(seed):
    check_contributions(seed)


def test_contributions_in_float32():
    drawn = random_model(4)  # a tree of numbers
    proto = drawn.model.to_onnx(dtype="float", contributions=True)
    has_shops = "shop" in drawn.rows
    rows = random_table(np.random.default_rng(0), drawn.table, 50, has_shops=has_shops)
    values = session_of(proto).run(None, fed(proto, rows))[-1]
    expected = drawn.model.explain(rows).values
    np.testing.assert_allclose(values, expected, atol=1e-2 * np.abs(expected).max())


def test_contributions_of_large_trees_stay_compact():
    tree = NeuralTree.random(2000, 3, n_weights=4000, output_activation="linear", random_state=0)
    encoder = TableEncoder((NumberFeature(0.0),) * 2000)
    model = replace(Model.of_tree(tree), encoder=encoder, link=LINKS["classes"], task="classes")
    proto = to_onnx(model, contributions=True)
    n_numbers = sum(np.prod(tensor.dims) for tensor in proto.graph.initializer)
    assert n_numbers < 20 * tree.n_parameters
    X = np.random.default_rng(0).normal(size=(3, 2000)).astype(np.float32)
    (values,) = session_of(proto).run(["contributions"], {"X": X})
    difference = model.outputs(X.astype(float))[0] - model.outputs(np.zeros((1, 2000)))[0]
    assert_same(values.sum(axis=2), difference, 1e-4)


def test_large_trees_and_forests_stay_compact():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 40)).astype(np.float32), np.arange(60) % 3
    forest = BNeuralForestClassifier(n_estimators=40, max_epochs=1, random_state=0).fit(X, y)
    proto = forest.to_onnx()
    n_numbers = sum(np.prod(tensor.dims) for tensor in proto.graph.initializer)
    assert n_numbers < 6 * forest.n_parameters_
    probabilities = session_of(proto).run(None, {"X": X})[1]
    assert_same(probabilities, forest.predict_proba(X), 1e-5)


def test_only_standard_operators_are_used():
    proto = random_model(26).model.to_onnx()
    assert {node.domain for node in proto.graph.node} <= {"", "ai.onnx.ml"}
    assert {entry.domain for entry in proto.opset_import} == {"", "ai.onnx.ml"}
    assert proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "n_rows"


def test_float_is_for_hardware_without_double():
    drawn = random_model(1)
    proto = drawn.model.to_onnx(dtype="float")
    kinds = {tensor.data_type for tensor in proto.graph.initializer}
    assert onnx.TensorProto.DOUBLE not in kinds
    X = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    probabilities = session_of(proto).run(None, {"X": X})[1]
    assert_same(
        probabilities, drawn.model.predict_proba(pd.DataFrame(X, columns=drawn.rows.columns)), 1e-4
    )


def test_texts_that_stand_for_missing_values():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"kind": np.array(["a", "b", "c"])[rng.integers(0, 3, 60)]})
    X.loc[::7, "kind"] = None
    model = BNeuralTRegressor(max_epochs=3, random_state=0).fit(X, rng.normal(size=60))
    session = session_of(model.to_onnx())
    texts = np.array([["NA"], ["null"], [""], ["NaN"], ["None"], ["never seen"]], dtype=object)
    (results,) = session.run(None, {"kind": texts})
    assert np.ptp(results[:5]) == 0 and results[5] != results[0]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [([False, True], [0, 1]), ([1.0, 2.0], [1, 2]), (["0.5", "x"], ["0.5", "x"])],
)
def test_labels_are_whole_numbers_or_texts(labels, expected):
    X = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)
    y = np.array(labels)[(X[:, 0] > 0).astype(int)]
    model = BNeuralTClassifier(max_epochs=20, random_state=0).fit(X, y)
    results = session_of(model.to_onnx()).run(None, {"X": X})[0]
    assert sorted(set(results.tolist())) == expected


def test_bad_arguments_are_refused():
    with pytest.raises(NotFittedError):
        BNeuralTClassifier().to_onnx()
    with pytest.raises(ValueError, match=r"dtype='half' must be 'double' or 'float'"):
        random_model(0).model.to_onnx(dtype="half")


# -- every operation, activation, kind of column and link --------------------------------


def translated(expressions, values, dtype=np.float64, operators=OPERATORS):
    """Evaluate expressions of one form in onnxruntime."""
    graph = Graph(dtype)
    result = translate(graph, expressions, {name: name for name in values}, operators=operators)
    graph.name(result, "result")
    inputs = [Result(name, dtype, ["n_rows", "n"]) for name in values]
    proto = graph.to_proto(inputs, [Result("result", dtype, ["n_rows", "m"])])
    return session_of(proto).run(None, {n: v.astype(dtype) for n, v in values.items()})[0]


@pytest.mark.parametrize("operators", [OPERATORS, EXACT_OPERATORS], ids=["fast", "exact"])
@pytest.mark.parametrize("name", NUMBERS)
def test_operations_equal_the_evaluator(name, operators):
    values = number_values(np.random.default_rng(0), 200)
    expression = NUMBERS[name]
    feed = {n: values[n][:, np.newaxis] for n in sorted(expression.variables)}
    with np.errstate(all="ignore"):
        expected = evaluate(expression, feed)
    np.testing.assert_allclose(
        translated([expression], feed, operators=operators), expected, rtol=1e-6, atol=1e-7
    )


@pytest.mark.parametrize("name", VECTORS)
def test_operations_on_vectors_equal_the_evaluator(name):
    vectors = {"outputs": np.random.default_rng(0).normal(size=(50, 3))}
    results = translated([VECTORS[name]], vectors)
    np.testing.assert_allclose(results, evaluate(VECTORS[name], vectors), rtol=1e-12)


def test_expressions_of_one_form_are_one_operator():
    z = variable("z")
    expressions = [2.0 * tanh(z) + 1.0, -0.5 * tanh(z) + 3.0]
    values = np.random.default_rng(0).normal(size=(20, 2))
    columns = [evaluate(e, {"z": values[:, i]}) for i, e in enumerate(expressions)]
    np.testing.assert_allclose(
        translated(expressions, {"z": values}), np.stack(columns, axis=1), rtol=1e-6
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_activation(name):
    rng = np.random.default_rng(0)
    model = model_with_activation(rng, name)
    X = rng.normal(size=(100, 4)).astype(np.float32) * 5
    outputs = session_of(to_onnx(model)).run(None, {"X": X})[0]
    assert_same(outputs, model.outputs(X.astype(float))[0], 1e-5)


@pytest.mark.parametrize(
    ("n_trees", "averages"), [(1, "outputs"), (3, "outputs"), (3, "predictions")]
)
@pytest.mark.parametrize("name", ALL_LINKS)
def test_every_link_and_task(name, n_trees, averages):
    rng = np.random.default_rng(0)
    for task in TASKS:
        model = model_with_link(rng, ALL_LINKS[name], task, averages, n_trees)
        X = rng.normal(size=(40, 4)).astype(np.float32)
        outputs = model.outputs(X.astype(float))
        results = session_of(to_onnx(model)).run(None, {"X": X})
        assert_same(results[-1], model.predictions(outputs), 1e-5)
        if task != "numbers":
            assert np.mean(results[0] == model.decisions(outputs)) > 0.95


@pytest.mark.parametrize("name", CELL_EXPRESSIONS)
def test_every_operation_on_cells(name):
    rng = np.random.default_rng(0)
    model, rows = model_with_cells(rng, name), rows_of_cells(rng, name, 200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inputs = model.encode(rows)
    proto = to_onnx(model)
    predictions = session_of(proto).run(None, cells_fed(proto, rows))[0]
    usable = np.isfinite(inputs).all(axis=1)
    assert usable.mean() > 0.8
    assert_same(predictions[usable], model.outputs(inputs[usable])[0], 1e-5)


@pytest.mark.parametrize("dtype", ["double", "float"])
def test_every_kind_of_column(dtype):
    model, rows = model_with_all_columns(np.random.default_rng(0), 300)
    proto = to_onnx(model, dtype=dtype)
    predictions = session_of(proto).run(None, cells_fed(proto, rows))[0]
    expected = model.outputs(model.encode(rows))[0]
    assert_same(predictions, expected, 1e-5 if dtype == "double" else 1e-2)


def test_a_column_that_is_read_in_two_ways_is_refused():
    feature = SampleFeature("mixed", (NUMBER, CELL_EXPRESSIONS["lookup"][1]))
    tree = bneuralt.NeuralTree.random(2, 1, random_state=0)
    model = Model("sample", TableEncoder((feature,)), (tree,), "numbers", OUTPUTS)
    with pytest.raises(
        ValueError, match=r"column 'x0' is read as .* an input of ONNX has one type"
    ):
        to_onnx(model)


def test_a_column_that_is_not_read_is_no_input():
    X = pd.DataFrame({"a": np.arange(40.0), "currency": "EUR", "kind": ["x", "y"] * 20})
    model = BNeuralTRegressor(max_epochs=1, random_state=0).fit(X, np.arange(40.0))
    proto = model.to_onnx()
    assert [declared.name for declared in proto.graph.input] == ["a", "kind"]
    assert_same(session_of(proto).run(None, fed(proto, X))[0][:, 0], model.predict(X), 1e-5)


@pytest.mark.parametrize("dtype", ["double", "float"])
@pytest.mark.parametrize("name", NAMES)
def test_no_number_makes_a_probability_nan(name, dtype):
    """Sums of opposite infinities are no numbers: numbers are limited where sums could overflow."""
    rng = np.random.default_rng(0)
    largest = np.finfo(np.float32).max
    X = rng.choice([-np.inf, -largest, -1e30, 0.0, 1.0, 1e30, largest, np.inf], (500, 4))
    for link in (LINKS["classes"], LINKS["labels"], ALL_LINKS["shares"], ALL_LINKS["clipped"]):
        model = replace(model_with_activation(rng, name), task="classes", link=link)
        results = session_of(to_onnx(model, dtype=dtype)).run(None, {"X": X.astype(np.float32)})
        assert np.isfinite(results[1]).all()


def test_overflowing_numbers_saturate():
    """Where a model is bounded, limits make no difference."""
    model = model_with_link(np.random.default_rng(0), LINKS["classes"], "classes", "predictions")
    X = np.array([[1e38, -1e38, 1e38, -1e38]], dtype=np.float32)
    expected = model.predictions(model.outputs(X.astype(float)))
    for dtype in ("double", "float"):
        assert_same(session_of(to_onnx(model, dtype=dtype)).run(None, {"X": X})[1], expected, 1e-4)


# -- pipelines ---------------------------------------------------------------------------


@pytest.mark.parametrize("task", ["classes", "texts", "labels", "number", "numbers"])
@pytest.mark.parametrize("kind", ["tree", "forest"])
def test_pipelines_convert(task, kind):
    skl2onnx = pytest.importorskip("skl2onnx")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)).astype(np.float32)
    y = random_target(rng, task, 60)
    is_class = task in ("classes", "texts", "labels")
    name = "BNeuralT" if kind == "tree" else "BNeuralForest"
    options = {} if kind == "tree" else {"n_estimators": 3}
    model = getattr(bneuralt, name + ("Classifier" if is_class else "Regressor"))(
        max_epochs=3, random_state=0, **options
    )
    pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
    bneuralt.register_skl2onnx()
    chosen = {id(model): {"zipmap": False}} if is_class else None
    proto = skl2onnx.to_onnx(pipeline, X[:1], options=chosen)
    results = session_of(proto).run(None, {"X": X})
    expected = pipeline.predict_proba(X) if is_class else pipeline.predict(X)
    assert_same(results[-1].reshape(expected.shape), expected, 1e-5)
    if is_class:
        assert [output.name for output in proto.graph.output] == ["label", "probabilities"]
        assert np.mean(results[0] == pipeline.predict(X)) > 0.95


def test_a_pipeline_with_texts_is_refused():
    skl2onnx = pytest.importorskip("skl2onnx")
    from skl2onnx.common.data_types import StringTensorType

    X = np.array([["a"], ["b"], ["c"], ["a"]] * 10, dtype=object)
    model = BNeuralTRegressor(max_epochs=1, random_state=0).fit(X, np.arange(40.0))
    bneuralt.register_skl2onnx()
    with pytest.raises(ValueError, match=r"cannot be converted in a pipeline: encode them"):
        skl2onnx.convert_sklearn(model, initial_types=[("X", StringTensorType([None, 1]))])
