"""A builder of ONNX graphs: operators are calls that return the name of their result."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bneuralt import __version__
from bneuralt._typing import Array

__all__ = ["Graph", "Result"]

#: Versions of the operators, by domain; understood by runtimes since 2022.
OPSETS = {"": 17, "ai.onnx.ml": 3}
IR_VERSION = 8


class Result(NamedTuple):
    """An input or output of a graph.

    Attributes
    ----------
    name : str
    dtype : type
        `numpy.float32`, `numpy.float64`, `numpy.int64` or str.
    shape : list of int or str
    """

    name: str
    dtype: Any
    shape: list[int | str]


class Graph:
    """Nodes and constants of a graph.

    Parameters
    ----------
    dtype : dtype
        Type of the numbers of trees: float64 or float32.
    prefix : str
        Prefix of all names.
    """

    def __init__(self, dtype: Any = np.float64, prefix: str = "") -> None:
        self.dtype = np.dtype(dtype)
        #: operator, inputs, results, domain and attributes of each node
        self.nodes: list[tuple[str, list[str], list[str], str, dict[str, Any]]] = []
        self.constants: dict[str, Array] = {}
        self._prefix = prefix
        self._names: dict[Any, str] = {}  # names of constants and results, by their content

    def __call__(
        self, operator: str, *inputs: Any, domain: str = "", n_results: int = 1, **attributes: Any
    ) -> str:
        """Add a node; return its first result. Equal nodes are added once.

        Inputs are names of results, or constants: real if they are a float, otherwise whole.
        """
        names = tuple(i if isinstance(i, str) else self._constant_input(i) for i in inputs)
        key = operator, names, repr(attributes)
        if key not in self._names:
            name = f"{self._prefix}{operator.lower()}_{len(self.nodes)}"
            results = [name, *(f"{name}_{i}" for i in range(1, n_results))]
            self.nodes.append((operator, list(names), results, domain, attributes))
            self._names[key] = name
        return self._names[key]

    def constant(self, values: Any, dtype: Any = None) -> str:
        """Return the name of a constant; equal ones are stored once."""
        array = np.ascontiguousarray(values, dtype=self.dtype if dtype is None else dtype)
        array = array.reshape(np.shape(values))
        content = repr(array.tolist()) if array.dtype.kind == "O" else array.tobytes()
        key = array.dtype.str, array.shape, content
        if key not in self._names:
            self._names[key] = f"{self._prefix}constant_{len(self.constants)}"
            self.constants[self._names[key]] = array
        return self._names[key]

    def _constant_input(self, values: Any) -> str:
        return self.constant(values, None if isinstance(values, float) else np.int64)

    def limited(self, name: str, limit: float) -> str:
        """Limit the magnitude of numbers."""
        return self("Clip", name, -limit, limit)

    def side_by_side(self, parts: list[str]) -> str:
        """Join the columns of several results."""
        return parts[0] if len(parts) == 1 else self("Concat", *parts, axis=1)

    def cast(self, name: str, dtype: Any) -> str:
        """Convert numbers."""
        from onnx.helper import np_dtype_to_tensor_dtype

        return self("Cast", name, to=int(np_dtype_to_tensor_dtype(np.dtype(dtype))))

    def name(self, result: str, name: str) -> None:
        """Give a result a name."""
        self.nodes.append(("Identity", [result], [name], "", {}))

    def to_proto(self, inputs: list[Result], outputs: list[Result]) -> Any:
        """Return the graph as a model of ONNX with these inputs and outputs."""
        from onnx import checker, helper, numpy_helper

        # Nodes have names, of which ONNX Runtime 1.21 makes others that must not be the same.
        nodes = [
            helper.make_node(operator, arguments, results, results[0], domain=domain, **attributes)
            for operator, arguments, results, domain, attributes in self.nodes
        ]
        constants = [numpy_helper.from_array(array, name) for name, array in self.constants.items()]
        first, last = ([_declared(*result) for result in results] for results in (inputs, outputs))
        proto = helper.make_model(
            helper.make_graph(nodes, "bneuralt", first, last, constants),
            opset_imports=[helper.make_opsetid(*opset) for opset in OPSETS.items()],
            ir_version=IR_VERSION,
            producer_name="bneuralt",
            producer_version=__version__,
        )
        checker.check_model(proto, full_check=True)
        return proto


def _declared(name: str, dtype: Any, shape: list[int | str]) -> Any:
    from onnx import TensorProto, helper

    is_text = dtype is str
    kind = TensorProto.STRING if is_text else helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return helper.make_tensor_value_info(name, kind, shape)
