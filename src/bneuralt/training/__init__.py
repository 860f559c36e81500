"""Training: settings in, trained trees out."""

from bneuralt.training.trainer import (
    EpochState,
    OptimizerState,
    TrainingDiverged,
    TrainingInterrupted,
    TrainingResult,
    TrainingSettings,
    epoch_order,
    gradient,
    train,
)

__all__ = [
    "EpochState",
    "OptimizerState",
    "TrainingDiverged",
    "TrainingInterrupted",
    "TrainingResult",
    "TrainingSettings",
    "epoch_order",
    "gradient",
    "train",
]
