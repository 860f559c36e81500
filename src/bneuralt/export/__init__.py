"""Fitted models as code for other places: C, ONNX, SQL, Python and PyTorch.

`plan` describes a fitted model as plain data, from which each module generates its code.
"""

from bneuralt.export.c_export import export_c
from bneuralt.export.plan import Plan, PlanColumn, make_plan
from bneuralt.export.python_code import to_python
from bneuralt.export.quantized import QuantizedClassifier, QuantizedRegressor, quantize
from bneuralt.export.sql_code import to_sql

__all__ = [
    "Plan",
    "PlanColumn",
    "QuantizedClassifier",
    "QuantizedRegressor",
    "export_c",
    "make_plan",
    "quantize",
    "to_python",
    "to_sql",
]
