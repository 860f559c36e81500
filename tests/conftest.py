"""Fixtures of the tests of the product."""

import pytest

from bneuralt import _core
from tests.helpers.strategies import INSTRUCTION_SETS


@pytest.fixture(params=INSTRUCTION_SETS)
def engine(request):
    """Use each instruction set of this processor in turn."""
    if request.param not in _core.engines():
        pytest.skip(f"this processor has no {request.param}")
    before = _core.engine()
    _core.use_engine(request.param)
    yield request.param
    _core.use_engine(before)
