"""Conversion of pipelines: our estimators as steps that skl2onnx knows."""

from __future__ import annotations

from typing import Any

import numpy as np

from bneuralt.estimators import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
)
from bneuralt.export.onnx_graph import Graph
from bneuralt.export.onnx_model import add_plan, class_labels, is_table_of_numbers
from bneuralt.export.plan import make_plan

__all__ = ["register_skl2onnx"]


def register_skl2onnx() -> None:
    """Register the estimators with skl2onnx, so that it converts pipelines with them.

    Call it once before ``skl2onnx.to_onnx`` or ``skl2onnx.convert_sklearn``. Single models need
    neither: see `to_onnx`, which also converts columns of texts and dates.

    Raises
    ------
    ImportError
        The package skl2onnx is not installed.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from bneuralt import BNeuralTClassifier, register_skl2onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), BNeuralTClassifier(max_epochs=5)).fit(X, y)
    >>> register_skl2onnx()  # doctest: +SKIP
    >>> proto = skl2onnx.to_onnx(model, X[:1].astype("float32"))  # doctest: +SKIP
    """
    try:
        from skl2onnx import update_registered_converter
    except ImportError as error:
        raise ImportError(
            "register_skl2onnx needs the package skl2onnx: pip install bneuralt[onnx]"
        ) from error
    of_classifiers = {"zipmap": [True, False, "columns"], "nocl": [True, False]}
    kinds: list[tuple[type, dict[str, Any] | None]] = [
        (BNeuralTClassifier, of_classifiers),
        (BNeuralForestClassifier, of_classifiers),
        (BNeuralTRegressor, None),
        (BNeuralForestRegressor, None),
    ]
    for kind, options in kinds:
        update_registered_converter(kind, kind.__name__, _shapes, _convert, options=options)


def _shapes(operator: Any) -> None:
    """Declare the types of the results of a step."""
    from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType

    plan = make_plan(operator.raw_operator)
    n, k = operator.inputs[0].get_first_dimension(), plan.n_outputs
    operator.outputs[-1].type = FloatTensorType([n, k])
    if plan.task != "numbers":
        shape = [n] if plan.task == "classes" else [n, k]
        is_text = plan.task == "classes" and isinstance(class_labels(plan)[0], str)
        operator.outputs[0].type = (StringTensorType if is_text else Int64TensorType)(shape)


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of a step to the graph of a pipeline."""
    from onnx import TensorProto
    from onnx.helper import np_dtype_to_tensor_dtype

    plan = make_plan(operator.raw_operator)
    if len(operator.inputs) != 1 or not is_table_of_numbers(plan):
        raise ValueError(
            f"{type(operator.raw_operator).__name__} with columns of texts or dates cannot be "
            "converted in a pipeline: encode them in a step before it, or convert the model alone "
            "by bneuralt.to_onnx"
        )
    graph = Graph(np.float64, prefix=f"{scope.get_unique_operator_name('bneuralt')}_")
    table = graph.cast(operator.inputs[0].full_name, np.float32)
    for output, declared in zip(add_plan(graph, plan, table), operator.outputs, strict=True):
        graph.name(output.result, declared.full_name)
    for name, array in graph.constants.items():
        is_text = array.dtype.kind == "O"
        kind = TensorProto.STRING if is_text else np_dtype_to_tensor_dtype(array.dtype)
        content = [text.encode() for text in array.ravel()] if is_text else array.ravel()
        container.add_initializer(name, kind, array.shape, content)
    versions = {"": 13, "ai.onnx.ml": 2}
    for operator_name, inputs, results, domain, attributes in graph.nodes:
        container.add_node(
            operator_name,
            inputs,
            results,
            op_domain=domain,
            op_version=versions[domain],
            name=scope.get_unique_operator_name(operator_name),
            **attributes,
        )
