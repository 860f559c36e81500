"""The ledger: every item of the paper, what we found, and whether it agrees."""

from bneuralt_paper.ledger.claims import Claim, Entry, check_claims, read_claims
from bneuralt_paper.ledger.evidence import Evidence

__all__ = ["Claim", "Entry", "Evidence", "check_claims", "read_claims"]
