"""Training: settings in, trained trees out."""

from bneuralt.training.results import (
    EpochState,
    OptimizerState,
    TrainingDiverged,
    TrainingInterrupted,
    TrainingResult,
)
from bneuralt.training.settings import TrainingSettings
from bneuralt.training.trainer import TrainingJob, epoch_order, gradient, train, train_many

__all__ = [
    "EpochState",
    "OptimizerState",
    "TrainingDiverged",
    "TrainingInterrupted",
    "TrainingJob",
    "TrainingResult",
    "TrainingSettings",
    "epoch_order",
    "gradient",
    "train",
    "train_many",
]
