"""A small builder of ONNX graphs: operators are calls that return the name of their result."""

from __future__ import annotations

from typing import Any

import numpy as np

from bneuralt._typing import Array

__all__ = ["Graph"]


class Graph:
    """Nodes and constants of a graph.

    Parameters
    ----------
    dtype : dtype
        In which trees compute: float64 or float32.
    prefix : str
        Begins all names.
    """

    def __init__(self, dtype: Any = np.float64, prefix: str = "") -> None:
        self.dtype = np.dtype(dtype)
        #: operator, inputs, results, domain and attributes of each node
        self.nodes: list[tuple[str, list[str], list[str], str, dict[str, Any]]] = []
        self.constants: dict[str, Array] = {}
        self._prefix = prefix
        self._known: dict[tuple[str, tuple[int, ...], bytes], str] = {}

    def __call__(
        self, operator: str, *inputs: str, domain: str = "", n_results: int = 1, **attributes: Any
    ) -> str:
        """Add a node; return its first result."""
        name = f"{self._prefix}{operator.lower()}_{len(self.nodes)}"
        results = [name, *(f"{name}_{i}" for i in range(1, n_results))]
        self.nodes.append((operator, list(inputs), results, domain, attributes))
        return name

    def constant(self, values: Any, dtype: Any = None) -> str:
        """Return the name of a constant; equal ones are stored once."""
        array = np.ascontiguousarray(values, dtype=self.dtype if dtype is None else dtype)
        if np.ndim(values) == 0:
            array = array.reshape(())
        if array.dtype.kind in "OU":
            key = ("text", array.shape, repr(array.tolist()).encode())
        else:
            key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._known:
            self._known[key] = f"{self._prefix}constant_{len(self._known)}"
            self.constants[self._known[key]] = array
        return self._known[key]

    def integers(self, values: Any) -> str:
        """Return the name of a constant of whole numbers."""
        return self.constant(values, np.int64)

    def cast(self, name: str, dtype: Any) -> str:
        """Convert numbers."""
        from onnx.helper import np_dtype_to_tensor_dtype

        return self("Cast", name, to=int(np_dtype_to_tensor_dtype(np.dtype(dtype))))

    def name(self, result: str, name: str) -> None:
        """Give a result a name."""
        self.nodes.append(("Identity", [result], [name], "", {}))
