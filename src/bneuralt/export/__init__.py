"""Fitted models as code for other places: C, ONNX, SQL, Python and PyTorch.

`plan` describes a fitted model as plain data, from which each module generates its code.
"""

from bneuralt.export.plan import Plan, PlanColumn, make_plan
from bneuralt.export.python_code import to_python
from bneuralt.export.sql_code import to_sql

__all__ = [
    "Plan",
    "PlanColumn",
    "make_plan",
    "to_python",
    "to_sql",
]
