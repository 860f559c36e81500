"""Models that compute with whole numbers only, and a bound on the difference."""

from bneuralt.export.whole.formats import FORMATS, IntegerFormat
from bneuralt.export.whole.integer_model import IntegerModel, input_ranges, integer_model

__all__ = ["FORMATS", "IntegerFormat", "IntegerModel", "input_ranges", "integer_model"]
