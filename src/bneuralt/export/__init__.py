"""Models as code for other places: C, ONNX, SQL, Python, JavaScript and PyTorch.

`targets` has the table of all of them. `translation` turns expressions into code by a table of
templates for each language. Modules load at first use.
"""

import importlib
from typing import Any

# Name -> module that defines it.
_WHERE = {
    "Plan": "plan",
    "PlanColumn": "plan",
    "QuantizedClassifier": "quantized",
    "QuantizedRegressor": "quantized",
    "export_c": "c_export",
    "from_torch": "torch_module",
    "make_plan": "plan",
    "quantize": "quantized",
    "register_skl2onnx": "skl2onnx_converters",
    "to_onnx": "onnx_model",
    "to_torch": "torch_module",
}

__all__ = list(_WHERE)


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        value = getattr(importlib.import_module(f"bneuralt.export.{_WHERE[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'bneuralt.export' has no attribute {name!r}")
