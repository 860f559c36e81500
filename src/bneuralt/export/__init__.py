"""Fitted models as code for other places: C for microcontrollers, and what the others add.

`plan` describes a fitted model as plain data, from which each module generates its code.
"""

from bneuralt.export.c_export import export_c
from bneuralt.export.plan import Plan, PlanColumn, make_plan
from bneuralt.export.quantized import QuantizedClassifier, QuantizedRegressor, quantize

__all__ = [
    "Plan",
    "PlanColumn",
    "QuantizedClassifier",
    "QuantizedRegressor",
    "export_c",
    "make_plan",
    "quantize",
]
