"""ONNX models compute what the models compute, in onnxruntime."""

import numpy as np
import pandas as pd
import pytest
from exported import assert_same, random_model, random_target
from sklearn.exceptions import NotFittedError

import bneuralt
from bneuralt import BNeuralForestClassifier, BNeuralTClassifier, BNeuralTRegressor, to_onnx

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


def check(seed, n_rows=100):
    """Compare one model with its ONNX model."""
    drawn = random_model(seed, n_rows)
    decided, expected, plan = drawn.expected
    proto = to_onnx(drawn.model)
    found = session_of(proto).run(None, fed(proto, drawn.rows))
    assert_same(found[-1], expected, 1e-5, plan, largest=1e37)  # float32 has no larger numbers
    names = [output.name for output in proto.graph.output]
    if plan.task == "numbers":
        assert names == ["variable"]
        return
    assert names == ["label", "probabilities"]
    known = np.array(plan.classes)[decided] if plan.task == "classes" else decided
    assert np.array_equal(found[0][drawn.safe], known[drawn.safe])


@pytest.mark.parametrize("seed", range(32))
def test_onnx_equals_the_model(seed):
    check(seed)


def test_large_trees_and_forests_stay_compact():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 40)).astype(np.float32), np.arange(60) % 3
    forest = BNeuralForestClassifier(n_estimators=40, max_epochs=1, random_state=0).fit(X, y)
    proto = to_onnx(forest)
    n_numbers = sum(np.prod(tensor.dims) for tensor in proto.graph.initializer)
    assert n_numbers < 6 * forest.n_parameters_
    found = session_of(proto).run(None, {"X": X})[1]
    assert_same(found, forest.predict_proba(X), 1e-5)


def test_only_standard_operators_are_used():
    proto = to_onnx(random_model(26).model)
    assert {node.domain for node in proto.graph.node} <= {"", "ai.onnx.ml"}
    assert {entry.domain for entry in proto.opset_import} == {"", "ai.onnx.ml"}
    assert proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "n_rows"


def test_float_is_for_hardware_without_double():
    drawn = random_model(1)
    proto = to_onnx(drawn.model, dtype="float")
    kinds = {tensor.data_type for tensor in proto.graph.initializer}
    assert onnx.TensorProto.DOUBLE not in kinds
    X = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    found = session_of(proto).run(None, {"X": X})[1]
    assert_same(found, drawn.model.predict_proba(pd.DataFrame(X, columns=drawn.rows.columns)), 1e-4)


def test_texts_that_stand_for_missing_values():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"kind": np.array(["a", "b", "c"])[rng.integers(0, 3, 60)]})
    X.loc[::7, "kind"] = None
    model = BNeuralTRegressor(max_epochs=3, random_state=0).fit(X, rng.normal(size=60))
    session = session_of(to_onnx(model))
    texts = np.array([["NA"], ["null"], [""], ["NaN"], ["None"], ["never seen"]], dtype=object)
    (found,) = session.run(None, {"kind": texts})
    assert np.ptp(found[:5]) == 0 and found[5] != found[0]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [([False, True], [0, 1]), ([1.0, 2.0], [1, 2]), (["0.5", "x"], ["0.5", "x"])],
)
def test_labels_are_whole_numbers_or_texts(labels, expected):
    X = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)
    y = np.array(labels)[(X[:, 0] > 0).astype(int)]
    model = BNeuralTClassifier(max_epochs=20, random_state=0).fit(X, y)
    found = session_of(to_onnx(model)).run(None, {"X": X})[0]
    assert sorted(set(found.tolist())) == expected


def test_bad_arguments_are_refused():
    with pytest.raises(NotFittedError):
        to_onnx(BNeuralTClassifier())
    with pytest.raises(ValueError, match=r"dtype='half' must be 'double' or 'float'"):
        to_onnx(random_model(0).model, dtype="half")


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
    found = session_of(proto).run(None, {"X": X})
    expected = pipeline.predict_proba(X) if is_class else pipeline.predict(X)
    assert_same(found[-1].reshape(expected.shape), expected, 1e-5)
    if is_class:
        assert [output.name for output in proto.graph.output] == ["label", "probabilities"]
        assert np.mean(found[0] == pipeline.predict(X)) > 0.95


def test_a_pipeline_with_texts_is_refused():
    skl2onnx = pytest.importorskip("skl2onnx")
    from skl2onnx.common.data_types import StringTensorType

    X = np.array([["a"], ["b"], ["c"], ["a"]] * 10, dtype=object)
    model = BNeuralTRegressor(max_epochs=1, random_state=0).fit(X, np.arange(40.0))
    bneuralt.register_skl2onnx()
    with pytest.raises(ValueError, match=r"cannot be converted in a pipeline: encode them"):
        skl2onnx.convert_sklearn(model, initial_types=[("X", StringTensorType([None, 1]))])
