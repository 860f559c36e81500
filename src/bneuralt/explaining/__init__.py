"""Explanations of models: contributions to predictions, effects, importances, proofs."""

from bneuralt.explaining.effect_display import EffectDisplay
from bneuralt.explaining.effects import Effect, Surface, effect, surface
from bneuralt.explaining.explain import explain
from bneuralt.explaining.explanation import Explanation
from bneuralt.explaining.global_views import (
    FeatureUse,
    Stability,
    feature_use,
    importance_stability,
)
from bneuralt.explaining.importances import mean_contributions
from bneuralt.explaining.interaction_proofs import InteractionProof, check_interactions
from bneuralt.explaining.proofs import MonotonicProof, check_monotonic

__all__ = [
    "Effect",
    "EffectDisplay",
    "Explanation",
    "FeatureUse",
    "InteractionProof",
    "MonotonicProof",
    "Stability",
    "Surface",
    "check_interactions",
    "check_monotonic",
    "effect",
    "explain",
    "feature_use",
    "importance_stability",
    "mean_contributions",
    "surface",
]
