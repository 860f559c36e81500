"""Models that compute with whole numbers only, and a bound on the difference."""

from bneuralt.export.integer.formats import FORMATS, IntegerFormat
from bneuralt.export.integer.integer_model import IntegerModel, input_ranges, integer_model

__all__ = ["FORMATS", "IntegerFormat", "IntegerModel", "input_ranges", "integer_model"]
