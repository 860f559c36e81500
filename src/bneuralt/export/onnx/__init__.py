"""Models in ONNX: standard operators, the encoding of the table included."""

from bneuralt.export.onnx.pipelines import register_converters
from bneuralt.export.onnx.whole_model import to_onnx

__all__ = ["register_converters", "to_onnx"]
