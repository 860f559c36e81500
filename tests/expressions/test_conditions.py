"""Conditions on the number in a cell."""

import numpy as np
import pytest

from bneuralt.expressions import NUMBER, differs, evaluate, greater, is_missing, select
from bneuralt.tables.columns import Column

CELLS = Column("number", np.array([-999.0, 999.0, 0.0, 1.0, np.nan]))


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (differs(NUMBER, -999.0), [0, 1, 1, 1, 0]),
        (differs(NUMBER, 999.0), [1, 0, 1, 1, 0]),
        (differs(NUMBER, 0.0), [1, 1, 0, 1, 0]),
        (greater(NUMBER, 0.0), [0, 1, 0, 1, 0]),
        (greater(0.0, NUMBER), [1, 0, 0, 0, 0]),
        (is_missing(NUMBER), [0, 0, 0, 0, 1]),
    ],
)
def test_cells_for_which_conditions_hold(condition, holds):
    assert evaluate(select(condition, 1.0, 0.0), {}, CELLS).tolist() == holds
