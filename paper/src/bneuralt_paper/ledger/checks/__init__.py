"""Functions that compute our value of a claim and decide whether it agrees with the paper.

Each takes the evidence and the arguments of ``claims.toml``, and returns a `Check`.
"""

from bneuralt_paper.ledger.checks import (
    algorithms,
    digits,
    learning,
    scores,
    significance,
    structure,
)
from bneuralt_paper.ledger.checks.registry import CHECKS

__all__ = ["CHECKS", "algorithms", "digits", "learning", "scores", "significance", "structure"]
