"""The paper's experiments: names as in its Tables A2 and A3, converted to settings and back.

A name consists of these parts, in this order:

======================  ====================================================================
``B`` or ``M``          BNeuralT or multilayer perceptron
``S`` or ``R``          sigmoid or ReLU activation of the inner nodes or hidden units
``ESy``, ``ESn``        with or without early stopping
``p4``, ``p5``          BNeuralT: leaf probability 0.4 or 0.5 (omitted in ``B-S-ESn-...``: 0.5)
``Rn``, ``Ry``          MLP: without or with L1 + L2 penalties of 0.01 on the hidden layer
``L``                   Keras' default learning rates; without it the rate is 0.1
``Dr``                  MLP: dropout 0.4
``G M N A R D``         GD, momentum, Nesterov, Adagrad, RMSprop, Adam
======================  ====================================================================

Two values are not in the paper: ``ESe`` and ``ESu`` select the weights of an MLP as the paper
selects those of BNeuralT, by the lowest error on the monitored rows, checked after every epoch
(``e``) or after every update (``u``).

The paper mentions 110 experiments. Its Tables A2 and A3 contain 109 of them; the remaining one,
``MONT3``, is in Table 2.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any, ClassVar

__all__ = [
    "ADDITIONS",
    "ALL_EXPERIMENTS",
    "GROUPS",
    "OPTIMIZERS",
    "BNeuralTExperiment",
    "BaselineExperiment",
    "EvolvedExperiment",
    "Experiment",
    "MLPExperiment",
    "parse_experiment",
    "select_experiments",
]

#: The paper's letter for each optimizer, and its name in `bneuralt.training.optimizers`.
OPTIMIZERS = {
    "G": "gd",
    "M": "momentum",
    "N": "nesterov",
    "A": "adagrad",
    "R": "rmsprop",
    "D": "adam",
}
_LETTERS = {name: letter for letter, name in OPTIMIZERS.items()}
_ACTIVATIONS = {"S": "sigmoid", "R": "relu"}
_STOPPING = {"y": "patience", "n": "never", "e": "epoch", "u": "update"}
_STOPPING_LETTERS = {name: letter for letter, name in _STOPPING.items()}
_PAPER_RATE = 0.1


@dataclass(frozen=True)
class Experiment:
    """The common interface: a name, a kind, and settings that can be written as JSON.

    `block` consecutive runs are computed by one worker and stored together.
    """

    kind: ClassVar[str]
    block: ClassVar[int] = 1

    @property
    def name(self) -> str:
        """The name in the paper's tables."""
        raise NotImplementedError

    def settings(self) -> dict[str, Any]:
        """Return everything that determines a run, except the protocol, the data and its number."""
        return {"kind": self.kind, **asdict(self)}


@dataclass(frozen=True)
class _GradientExperiment(Experiment):
    """A network that is trained by one of the six optimizers, one example at a time."""

    optimizer: str
    activation: str = "sigmoid"
    default_rate: bool = False
    max_epochs: int = 500

    @property
    def learning_rate(self) -> float:
        """The constant learning rate: the paper's, or what it calls Keras' default."""
        if not self.default_rate:
            return _PAPER_RATE
        return 0.001 if self.optimizer in ("adagrad", "rmsprop", "adam") else 0.01

    def settings(self) -> dict[str, Any]:
        """Return everything that determines a run, except the protocol, the data and its number."""
        return super().settings() | {"learning_rate": self.learning_rate}


@dataclass(frozen=True)
class BNeuralTExperiment(_GradientExperiment):
    """A random tree, trained one example at a time.

    Examples
    --------
    >>> BNeuralTExperiment("rmsprop", leaf_probability=0.4).name
    'B-S-ESy-p4-R'
    """

    kind: ClassVar[str] = "bneuralt"
    early_stopping: bool = True
    leaf_probability: float = 0.5
    max_depth: int = 5
    max_children: int = 5

    @property
    def name(self) -> str:
        """The name in the paper's tables."""
        parts = ["B", self.activation[0].upper(), "ESy" if self.early_stopping else "ESn"]
        if self.early_stopping or self.leaf_probability != 0.5:
            parts.append(f"p{round(10 * self.leaf_probability)}")
        if self.default_rate:
            parts.append("L")
        return "-".join([*parts, _LETTERS[self.optimizer]])


@dataclass(frozen=True)
class MLPExperiment(_GradientExperiment):
    """A multilayer perceptron with one hidden layer, trained one example at a time.

    `stopping` is one of

    - "patience": stop when the monitored loss has not improved for `patience` epochs, and restore
      the best weights;
    - "never": use the weights of the last epoch;
    - "epoch" and "update" (not in the paper): use the weights with the lowest monitored error,
      checked after every epoch or update.

    Examples
    --------
    >>> MLPExperiment("adam", default_rate=True).name
    'M-S-ESy-Rn-L-D'
    """

    kind: ClassVar[str] = "mlp"
    # A run takes a tenth of a second, and a transaction of the store a hundredth: one by one, the
    # runs of many workers would wait for the store.
    block: ClassVar[int] = 10
    stopping: str = "patience"
    regularised: bool = False
    dropout: bool = False
    hidden: int = 100
    patience: int = 50

    @property
    def penalty(self) -> float:
        """The factor of both the L1 and the L2 penalty on the hidden layer's weights."""
        return 0.01 if self.regularised else 0.0

    @property
    def dropout_rate(self) -> float:
        """The fraction of hidden units that are dropped in an update."""
        return 0.4 if self.dropout else 0.0

    @property
    def name(self) -> str:
        """The name in the paper's tables."""
        parts = ["M", self.activation[0].upper(), "ES" + _STOPPING_LETTERS[self.stopping]]
        parts.append("Ry" if self.regularised else "Rn")
        parts += ["L"] * self.default_rate + ["Dr"] * self.dropout
        return "-".join([*parts, _LETTERS[self.optimizer]])

    def settings(self) -> dict[str, Any]:
        """Return everything that determines a run, except the protocol, the data and its number."""
        return super().settings() | {
            "penalty": self.penalty,
            "dropout_rate": self.dropout_rate,
        }


@dataclass(frozen=True)
class _NamedAlgorithm(Experiment):
    """An algorithm without settings, whose experiment has its name."""

    algorithm: str

    @property
    def name(self) -> str:
        """The name in the paper's tables."""
        return self.algorithm


class BaselineExperiment(_NamedAlgorithm):
    """An estimator of scikit-learn, see `bneuralt_paper.experiments.baselines`."""

    kind: ClassVar[str] = "baseline"


@dataclass(frozen=True)
class EvolvedExperiment(_NamedAlgorithm):
    """HFNT with one objective (S) or several (M), or MONT; with the budgets of Table A1.

    The names with ``-q`` are the same with a small budget.

    Examples
    --------
    >>> parse_experiment("HFNT-M").objectives
    ('error', 'size', 'diversity')
    """

    kind: ClassVar[str] = "evolved"
    population_size: int = 50
    n_generations: int = 500
    tuning_size: int = 100
    n_tuning: int = 1000
    max_depth: int = 10
    max_children: int = 5

    @property
    def is_quick(self) -> bool:
        """Whether the budget is a small one."""
        return self.n_generations < 500

    @property
    def name(self) -> str:
        """The name in the paper's tables."""
        return self.algorithm + "-q" * self.is_quick

    @property
    def objectives(self) -> tuple[str, ...]:
        """Objectives that the search minimises."""
        return _OBJECTIVES[self.algorithm]

    def settings(self) -> dict[str, Any]:
        """Return everything that determines a run, except the protocol, the data and its number."""
        return super().settings() | {"objectives": list(self.objectives)}


def _six(pattern: str) -> list[str]:
    return [f"{pattern}-{letter}" for letter in OPTIMIZERS]


def _names(patterns: str) -> tuple[str, ...]:
    return tuple(name for pattern in patterns.split() for name in _six(pattern))


_BNEURALT = _names("B-S-ESy-p4 B-S-ESy-p5 B-S-ESy-p5-L B-R-ESy-p5 B-S-ESn")
_MLP = _names(
    "M-S-ESy-Rn M-S-ESy-Rn-L M-S-ESy-Rn-Dr M-S-ESy-Rn-L-Dr "
    "M-S-ESn-Rn M-S-ESn-Rn-L M-S-ESn-Rn-Dr M-S-ESn-Rn-L-Dr "
    "M-S-ESn-Ry M-S-ESn-Ry-L M-R-ESn-Rn M-R-ESn-Rn-L"
)
_TABLE2_MLP = (*_six("M-S-ESy-Rn-L"), "M-S-ESn-Rn-L-Dr-D")
_BASELINES = ("DT", "RF", "GP", "NBC", "SVM")
_OBJECTIVES: dict[str, tuple[str, ...]] = {
    "HFNT-S": ("error",),
    "HFNT-M": ("error", "size", "diversity"),
    "MONT3": ("error", "size"),
}
_EVOLVED = tuple(_OBJECTIVES)
_QUICK_EVOLVED = tuple(f"{name}-q" for name in _EVOLVED)
_QUICK_BUDGET = {"population_size": 20, "n_generations": 30, "tuning_size": 20, "n_tuning": 60}
_ORACLE = _names("M-S-ESe-Rn-L M-S-ESu-Rn-L")
_OTHERS = ("HGB", "SVC", "LIN")

#: The paper's 110 experiments.
ALL_EXPERIMENTS: tuple[str, ...] = (*_BNEURALT, *_MLP, *_BASELINES, *_EVOLVED)

#: Experiments that are not in the paper: other baselines (histogram gradient boosting, an RBF
#: support vector classifier, logistic or ridge regression), MLPs whose weights are selected as
#: those of BNeuralT, and searches with a small budget.
ADDITIONS: tuple[str, ...] = (*_OTHERS, *_ORACLE, *_QUICK_EVOLVED)

#: Names for groups of experiments.
GROUPS: dict[str, tuple[str, ...]] = {
    "all": ALL_EXPERIMENTS,
    "table2": (*_six("B-S-ESy-p4"), *_TABLE2_MLP, *_BASELINES, *_EVOLVED),
    "table2-mlp": _TABLE2_MLP,
    "best": tuple(_six("B-S-ESy-p4")),
    "bneuralt": _BNEURALT,
    "mlp": _MLP,
    "baselines": _BASELINES,
    "evolved": _EVOLVED,
    "evolved-quick": _QUICK_EVOLVED,
    "additions": _OTHERS,
    "equal-oracle": _ORACLE,
    "quick": ("B-S-ESy-p4-R", "M-S-ESy-Rn-L-M", "HFNT-S-q", *_BASELINES, *_OTHERS),
}

_TREE_NAME = re.compile(
    r"B-(?P<activation>[SR])-ES(?P<stopping>[yn])(-p(?P<p>[1-9]))?(?P<rate>-L)?-(?P<letter>[GMNARD])"
)
_MLP_NAME = re.compile(
    r"M-(?P<activation>[SR])-ES(?P<stopping>[yneu])-R(?P<penalty>[yn])(?P<rate>-L)?(?P<dropout>-Dr)?"
    r"-(?P<letter>[GMNARD])"
)


def parse_experiment(name: str) -> Experiment:
    """Return the experiment of a given name.

    Combinations that the paper did not run are accepted, too.

    Examples
    --------
    >>> parse_experiment("M-S-ESn-Rn-L-Dr-D").dropout_rate
    0.4
    >>> parse_experiment("B-S-ESn-R").leaf_probability
    0.5
    """
    if match := _TREE_NAME.fullmatch(name):
        return BNeuralTExperiment(
            OPTIMIZERS[match["letter"]],
            activation=_ACTIVATIONS[match["activation"]],
            early_stopping=match["stopping"] == "y",
            leaf_probability=int(match["p"] or 5) / 10,
            default_rate=match["rate"] is not None,
        )
    if match := _MLP_NAME.fullmatch(name):
        return MLPExperiment(
            OPTIMIZERS[match["letter"]],
            activation=_ACTIVATIONS[match["activation"]],
            stopping=_STOPPING[match["stopping"]],
            regularised=match["penalty"] == "y",
            default_rate=match["rate"] is not None,
            dropout=match["dropout"] is not None,
        )
    if name in _BASELINES + _OTHERS:
        return BaselineExperiment(name)
    if name in _EVOLVED:
        return EvolvedExperiment(name)
    if name in _QUICK_EVOLVED:
        return EvolvedExperiment(name.removesuffix("-q"), **_QUICK_BUDGET)
    raise ValueError(
        f"experiment {name!r} is unknown: give a name as in the paper's Tables A2 and A3 "
        f"(for example B-S-ESy-p4-R or M-S-ESy-Rn-L-D), one of "
        f"{', '.join(_BASELINES + _OTHERS + _EVOLVED)}, a pattern such as 'B-S-*', "
        f"or a group: {', '.join(GROUPS)}"
    )


def select_experiments(patterns: str | Iterable[str]) -> list[Experiment]:
    """Return the experiments that names, groups and patterns refer to, without repetitions.

    Parameters
    ----------
    patterns : str or iterable of str
        Names, names of `GROUPS`, and patterns as for file names (``*``, ``?``, ``[...]``), which
        are matched against the paper's experiments and the additions. In a string they are
        separated by commas.

    Examples
    --------
    >>> [e.name for e in select_experiments("B-S-ESy-p4-[RD],DT")]
    ['B-S-ESy-p4-R', 'B-S-ESy-p4-D', 'DT']
    """
    if isinstance(patterns, str):
        patterns = patterns.split(",")
    chosen: dict[str, Experiment] = {}
    for pattern in filter(None, (pattern.strip() for pattern in patterns)):
        for name in _expand(pattern):
            experiment = parse_experiment(name)
            chosen[experiment.name] = experiment
    if not chosen:
        raise ValueError(f"experiments: none selected; name a group: {', '.join(GROUPS)}")
    return list(chosen.values())


def _expand(pattern: str) -> Iterable[str]:
    if pattern in GROUPS:
        return GROUPS[pattern]
    if not set(pattern) & set("*?["):
        return (pattern,)
    names = ALL_EXPERIMENTS + ADDITIONS
    matching = [name for name in names if fnmatchcase(name, pattern)]
    if not matching:
        raise ValueError(f"experiments: no name matches the pattern {pattern!r}")
    return matching
