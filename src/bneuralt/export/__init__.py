"""Fitted models as code for other places: C, ONNX, SQL, Python and PyTorch.

`plan` describes a fitted model as plain data, from which each module generates its code.
"""

from bneuralt.export.onnx_model import to_onnx
from bneuralt.export.plan import Plan, PlanColumn, make_plan
from bneuralt.export.python_code import to_python
from bneuralt.export.skl2onnx_converters import register_skl2onnx
from bneuralt.export.sql_code import to_sql
from bneuralt.export.torch_module import from_torch, to_torch

__all__ = [
    "Plan",
    "PlanColumn",
    "from_torch",
    "make_plan",
    "register_skl2onnx",
    "to_onnx",
    "to_python",
    "to_sql",
    "to_torch",
]
