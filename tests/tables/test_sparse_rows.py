"""Tables that are sparse matrices."""

import numpy as np
import pytest

from bneuralt.tables.sparse_rows import smallest_dtype


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(np.uint8(255), "uint8"), (255.0, "float32"), (256.0, "float32"), (-1.0, "float32"),
     (0.5, "float32"), (0.1, "float64"), (1e300, "float64"), (np.nan, "float64")],
)  # fmt: skip
def test_sparse_numbers_have_the_smallest_type_that_is_exact(value, dtype):
    with np.errstate(all="raise"):
        assert (
            np.dtype(smallest_dtype(np.array([1, value], dtype=np.asarray(value).dtype))) == dtype
        )
