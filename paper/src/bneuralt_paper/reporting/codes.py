"""The paper's codes of experiments, in words."""

from __future__ import annotations

import re

from bneuralt_paper.experiments.definitions import (
    BNeuralTExperiment,
    MLPExperiment,
    parse_experiment,
)

__all__ = ["describe_code", "explain_codes"]

_CODE = re.compile(r"\b[BM]-[SR]-ES[yneu](?:-[A-Za-z]{1,2}\d?)*-[GMNARD]\b")
_OPTIMIZERS = {
    "gd": "GD",
    "momentum": "momentum",
    "nesterov": "Nesterov",
    "adagrad": "Adagrad",
    "rmsprop": "RMSprop",
    "adam": "Adam",
}
_STOPPING = {
    "patience": "early stopping",
    "never": "no early stopping",
    "epoch": "best weights of all epochs",
    "update": "best weights of all updates",
}
#: More codes than this are explained by their parts.
_MOST_CODES = 4
_PARTS = (
    "Codes of experiments, part by part: B BNeuralT, M multilayer perceptron; S sigmoid, R ReLU; "
    "ESy, ESn with or without early stopping, ESe, ESu best weights of all epochs or updates; p4, "
    "p5 leaf probability 0.4 or 0.5; Ry, Rn with or without L1 and L2 penalties; L the default "
    "learning rate of Keras instead of 0.1; Dr dropout 0.4; last letter: G GD, M momentum, N "
    "Nesterov, A Adagrad, R RMSprop, D Adam."
)


def describe_code(code: str) -> str:
    """Return what an experiment is, in words.

    Examples
    --------
    >>> describe_code("B-S-ESy-p4-R")
    'BNeuralT, sigmoid nodes, early stopping, leaf probability 0.4, RMSprop'
    """
    experiment = parse_experiment(code)
    if isinstance(experiment, BNeuralTExperiment):
        parts = ["BNeuralT", f"{_activation(experiment.activation)} nodes"]
        parts.append("early stopping" if experiment.early_stopping else "no early stopping")
        parts.append(f"leaf probability {experiment.leaf_probability:g}")
    elif isinstance(experiment, MLPExperiment):
        parts = ["MLP", f"{_activation(experiment.activation)} units"]
        parts.append(_STOPPING[experiment.stopping])
        parts += ["L1 and L2 penalties"] * experiment.regularised
        parts += ["dropout 0.4"] * experiment.dropout
    else:
        return experiment.name
    parts += ["default learning rate"] * experiment.default_rate
    return ", ".join([*parts, _OPTIMIZERS[experiment.optimizer]])


def _activation(name: str) -> str:
    return {"relu": "ReLU"}.get(name, name)


def explain_codes(text: str) -> str:
    """Return an explanation of the codes in a text; empty if it has none.

    Examples
    --------
    >>> explain_codes("the best is M-S-ESy-Rn-L-D")
    'M-S-ESy-Rn-L-D: MLP, sigmoid units, early stopping, default learning rate, Adam.'
    """
    codes = sorted(set(_CODE.findall(text)))
    if len(codes) > _MOST_CODES or (not codes and re.search(r"\b[BM]-[SR]-ES[yneu]\b", text)):
        return _PARTS
    return " ".join(f"{code}: {describe_code(code)}." for code in codes)
