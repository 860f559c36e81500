"""Training of trees by backpropagation."""

from bneuralt.training.jobs import TrainingJob
from bneuralt.training.results import (
    EpochState,
    OptimizerState,
    TrainingDiverged,
    TrainingInterrupted,
    TrainingResult,
)
from bneuralt.training.settings import TrainingSettings
from bneuralt.training.trainer import epoch_order, gradient, train, train_many

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
