"""Conversion of pipelines: estimators as steps that skl2onnx converts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from bneuralt.export.onnx.cell_readers import cell_types
from bneuralt.export.onnx.graph import Graph
from bneuralt.export.onnx.whole_model import add_model, class_labels
from bneuralt.model import Model

__all__ = ["register_converters"]

#: Oldest versions of the operators with their present definition, by domain.
VERSIONS = {"": 13, "ai.onnx.ml": 2}


def register_converters(kinds: Iterable[type]) -> None:
    """Register classes of estimators with skl2onnx; fitted ones have a `model_`."""
    try:
        from skl2onnx import update_registered_converter
    except ImportError as error:
        raise ImportError(
            "register_skl2onnx needs the package skl2onnx: pip install bneuralt[onnx]"
        ) from error
    of_classifiers = {"zipmap": [True, False, "columns"], "nocl": [True, False]}
    for kind in kinds:
        options = of_classifiers if hasattr(kind, "predict_proba") else None
        update_registered_converter(kind, kind.__name__, _shapes, _convert, options=options)


def _shapes(operator: Any) -> None:
    """Declare the types of the results of a step."""
    from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType

    model: Model = operator.raw_operator.model_.in_raw_units()
    n, k = operator.inputs[0].get_first_dimension(), model.n_outputs
    operator.outputs[-1].type = FloatTensorType([n, k])
    if model.task != "numbers":
        shape = [n] if model.task == "classes" else [n, k]
        is_text = model.task == "classes" and isinstance(class_labels(model)[0], str)
        operator.outputs[0].type = (StringTensorType if is_text else Int64TensorType)(shape)


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of a step to the graph of a pipeline."""
    from onnx import TensorProto
    from onnx.helper import np_dtype_to_tensor_dtype

    model: Model = operator.raw_operator.model_.in_raw_units()
    if len(operator.inputs) != 1 or not {np.float32, None}.issuperset(cell_types(model)):
        raise ValueError(
            f"{model.kind} with columns of texts or dates cannot be converted in a pipeline: "
            "encode them in a step before it, or convert the model alone by its method to_onnx"
        )
    graph = Graph(np.float64, prefix=f"{scope.get_unique_operator_name('bneuralt')}_")
    table = graph.cast(operator.inputs[0].full_name, np.float32)
    results = add_model(graph, model, table)
    for (_, result), declared in zip(results, operator.outputs, strict=True):
        graph.name(result, declared.full_name)
    for name, array in graph.constants.items():
        is_text = array.dtype.kind == "O"
        kind = TensorProto.STRING if is_text else np_dtype_to_tensor_dtype(array.dtype)
        content = [text.encode() for text in array.ravel()] if is_text else array.ravel()
        container.add_initializer(name, kind, array.shape, content)
    for operator_name, inputs, names, domain, attributes in graph.nodes:
        container.add_node(
            operator_name,
            inputs,
            names,
            op_domain=domain,
            op_version=VERSIONS[domain],
            name=scope.get_unique_operator_name(operator_name),
            **attributes,
        )
