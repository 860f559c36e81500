"""The paper's codes of experiments, in words."""

from __future__ import annotations

__all__ = ["CODES"]

CODES = (
    "Codes of experiments, part by part: B BNeuralT, M multilayer perceptron; S sigmoid, R ReLU; "
    "ESy, ESn with or without early stopping, ESe, ESu best weights of all epochs or updates; p4, "
    "p5 leaf probability 0.4 or 0.5; Ry, Rn with or without L1 and L2 penalties; L the default "
    "learning rate of Keras instead of 0.1; Dr dropout 0.4; last letter: G GD, M momentum, N "
    "Nesterov, A Adagrad, R RMSprop, D Adam."
)
