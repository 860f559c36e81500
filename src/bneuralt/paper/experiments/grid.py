"""The paper's experiments by the names of its tables A2 and A3, as settings and back.

A name is read from left to right:

======================  ====================================================================
``B`` or ``M``          BNeuralT or multilayer perceptron
``S`` or ``R``          sigmoid or ReLU inside
``ESy``, ``ESn``        with or without early stopping
``p4``, ``p5``          BNeuralT: leaf probability 0.4 or 0.5 (``B-S-ESn-...`` leaves out its p5)
``Rn``, ``Ry``          MLP: without or with L1 + L2 penalties of 0.01 on the hidden layer
``L``                   Keras' default learning rates; without it the rate is 0.1
``Dr``                  MLP: dropout 0.4
``G M N A R D``         GD, momentum, Nesterov, Adagrad, RMSprop, Adam
======================  ====================================================================

Added here, and not in the paper: ``ESe`` and ``ESu`` give the MLP what the paper gave to BNeuralT,
the weights with the least error on the monitored rows, looked at after every epoch (``e``) or after
every single update (``u``).

The paper speaks of 110 experiments. Its two tables print 109; the one that is missing there and
present in Table 2 is ``MONT3``.
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
    "MLP",
    "BNeuralT",
    "Baseline",
    "Experiment",
    "Quoted",
    "parse",
    "select",
]

#: The paper's letter for each optimizer, with the name it has in `bneuralt.training.optimizers`.
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


def _default_rate(optimizer: str) -> float:
    """Return the rate that the paper calls Keras' default."""
    return 0.001 if optimizer in ("adagrad", "rmsprop", "adam") else 0.01


@dataclass(frozen=True)
class Experiment:
    """What all experiments share: a name, a kind, and settings that fit into JSON.

    Runs are computed in blocks: 0 to `block - 1`, and so on.
    """

    kind: ClassVar[str]
    block: ClassVar[int] = 1

    @property
    def name(self) -> str:
        """The name in the paper's tables."""
        raise NotImplementedError

    @property
    def is_addition(self) -> bool:
        """Whether the paper has no such experiment."""
        return self.name not in ALL_EXPERIMENTS

    def settings(self) -> dict[str, Any]:
        """Return everything that decides a run, besides the protocol, the data and its number."""
        return {"kind": self.kind, **asdict(self)}


@dataclass(frozen=True)
class BNeuralT(Experiment):
    """A random tree, trained one example at a time.

    Examples
    --------
    >>> BNeuralT("rmsprop", leaf_probability=0.4).name
    'B-S-ESy-p4-R'
    """

    kind: ClassVar[str] = "bneuralt"
    optimizer: str
    activation: str = "sigmoid"
    early_stopping: bool = True
    leaf_probability: float = 0.5
    default_rate: bool = False
    max_depth: int = 5
    max_children: int = 5
    max_epochs: int = 500

    @property
    def learning_rate(self) -> float:
        """The rate, one for the whole run."""
        return _default_rate(self.optimizer) if self.default_rate else _PAPER_RATE

    @property
    def name(self) -> str:
        """The name in the paper's tables."""
        parts = ["B", self.activation[0].upper(), "ESy" if self.early_stopping else "ESn"]
        if self.early_stopping or self.leaf_probability != 0.5:
            parts.append(f"p{round(10 * self.leaf_probability)}")
        if self.default_rate:
            parts.append("L")
        return "-".join([*parts, _LETTERS[self.optimizer]])

    def settings(self) -> dict[str, Any]:
        """Return everything that decides a run, besides the protocol, the data and its number."""
        return super().settings() | {"learning_rate": self.learning_rate}


@dataclass(frozen=True)
class MLP(Experiment):
    """A perceptron with one hidden layer, trained one example at a time.

    `stopping` is "patience" (stop when the monitored loss has not improved for `patience` epochs,
    keep the best), "never", or, as additions, "epoch" and "update" (keep the weights with the least
    monitored error, looked at that often).

    Examples
    --------
    >>> MLP("adam", default_rate=True).name
    'M-S-ESy-Rn-L-D'
    """

    kind: ClassVar[str] = "mlp"
    # With more at once their weights outgrow the cache, and more runs wait for the one that stops
    # last; with fewer the cost of the loop around the tiny updates shows.
    block: ClassVar[int] = 5
    optimizer: str
    activation: str = "sigmoid"
    stopping: str = "patience"
    regularised: bool = False
    default_rate: bool = False
    dropout: bool = False
    hidden: int = 100
    max_epochs: int = 500
    patience: int = 50

    @property
    def learning_rate(self) -> float:
        """The rate, one for the whole run."""
        return _default_rate(self.optimizer) if self.default_rate else _PAPER_RATE

    @property
    def penalty(self) -> float:
        """The factor of both the L1 and the L2 penalty on the hidden layer's weights."""
        return 0.01 if self.regularised else 0.0

    @property
    def dropout_rate(self) -> float:
        """The share of hidden nodes that an update leaves out."""
        return 0.4 if self.dropout else 0.0

    @property
    def name(self) -> str:
        """The name in the paper's tables."""
        parts = ["M", self.activation[0].upper(), "ES" + _STOPPING_LETTERS[self.stopping]]
        parts.append("Ry" if self.regularised else "Rn")
        parts += ["L"] * self.default_rate + ["Dr"] * self.dropout
        return "-".join([*parts, _LETTERS[self.optimizer]])

    def settings(self) -> dict[str, Any]:
        """Return everything that decides a run, besides the protocol, the data and its number."""
        return super().settings() | {
            "learning_rate": self.learning_rate,
            "penalty": self.penalty,
            "dropout_rate": self.dropout_rate,
        }


@dataclass(frozen=True)
class Baseline(Experiment):
    """An estimator with the defaults of its library, see `bneuralt.paper.experiments.baselines`."""

    kind: ClassVar[str] = "baseline"
    algorithm: str

    @property
    def name(self) -> str:
        """The name in the paper's tables."""
        return self.algorithm


@dataclass(frozen=True)
class Quoted(Experiment):
    """An algorithm that is known by name only: reports show the paper's figures for it."""

    kind: ClassVar[str] = "quoted"
    algorithm: str

    @property
    def name(self) -> str:
        """The name in the paper's tables."""
        return self.algorithm


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
_QUOTED = ("HFNT-S", "HFNT-M", "MONT3")
_ORACLE = _names("M-S-ESe-Rn-L M-S-ESu-Rn-L")
_OTHERS = ("HGB", "SVC", "LIN")

#: The paper's 110 experiments.
ALL_EXPERIMENTS: tuple[str, ...] = (*_BNEURALT, *_MLP, *_BASELINES, *_QUOTED)

#: What the paper does not have: other baselines (histogram gradient boosting; an RBF support vector
#: machine for classes too; logistic or ridge regression) and MLPs chosen as BNeuralT was.
ADDITIONS: tuple[str, ...] = (*_OTHERS, *_ORACLE)

#: Names for several experiments at once.
GROUPS: dict[str, tuple[str, ...]] = {
    "all": ALL_EXPERIMENTS,
    "table2": (*_six("B-S-ESy-p4"), *_TABLE2_MLP, *_BASELINES, *_QUOTED),
    "table2-mlp": _TABLE2_MLP,
    "best": tuple(_six("B-S-ESy-p4")),
    "bneuralt": _BNEURALT,
    "mlp": _MLP,
    "baselines": _BASELINES,
    "quoted": _QUOTED,
    "additions": _OTHERS,
    "equal-oracle": _ORACLE,
    "quick": ("B-S-ESy-p4-R", "M-S-ESy-Rn-L-M", *_BASELINES, *_OTHERS),
}

_TREE_NAME = re.compile(
    r"B-(?P<activation>[SR])-ES(?P<stopping>[yn])(-p(?P<p>[1-9]))?(?P<rate>-L)?-(?P<letter>[GMNARD])"
)
_MLP_NAME = re.compile(
    r"M-(?P<activation>[SR])-ES(?P<stopping>[yneu])-R(?P<penalty>[yn])(?P<rate>-L)?(?P<dropout>-Dr)?"
    r"-(?P<letter>[GMNARD])"
)


def parse(name: str) -> Experiment:
    """Read a name of the paper's tables.

    Any name that follows the scheme is understood, also combinations that the paper did not run.

    Examples
    --------
    >>> parse("M-S-ESn-Rn-L-Dr-D").dropout_rate
    0.4
    >>> parse("B-S-ESn-R").leaf_probability
    0.5
    """
    if match := _TREE_NAME.fullmatch(name):
        return BNeuralT(
            OPTIMIZERS[match["letter"]],
            activation=_ACTIVATIONS[match["activation"]],
            early_stopping=match["stopping"] == "y",
            leaf_probability=int(match["p"] or 5) / 10,
            default_rate=match["rate"] is not None,
        )
    if match := _MLP_NAME.fullmatch(name):
        return MLP(
            OPTIMIZERS[match["letter"]],
            activation=_ACTIVATIONS[match["activation"]],
            stopping=_STOPPING[match["stopping"]],
            regularised=match["penalty"] == "y",
            default_rate=match["rate"] is not None,
            dropout=match["dropout"] is not None,
        )
    if name in _BASELINES + _OTHERS:
        return Baseline(name)
    if name in _QUOTED:
        return Quoted(name)
    raise ValueError(
        f"experiment {name!r} is not known: give a name as in the paper's tables A2 and A3 "
        f"(for example B-S-ESy-p4-R or M-S-ESy-Rn-L-D), one of "
        f"{', '.join(_BASELINES + _OTHERS + _QUOTED)}, a pattern such as 'B-S-*', "
        f"or a group: {', '.join(GROUPS)}"
    )


def select(patterns: str | Iterable[str]) -> list[Experiment]:
    """Return the experiments that names, groups and patterns stand for, each once, in their order.

    Patterns are those of file names (``*``, ``?``, ``[...]``) and are looked up among the paper's
    experiments and the additions.

    Parameters
    ----------
    patterns : str or iterable of str
        A string may hold several, separated by commas.

    Examples
    --------
    >>> [e.name for e in select("B-S-ESy-p4-[RD],DT")]
    ['B-S-ESy-p4-R', 'B-S-ESy-p4-D', 'DT']
    """
    if isinstance(patterns, str):
        patterns = patterns.split(",")
    chosen: dict[str, Experiment] = {}
    for pattern in filter(None, (pattern.strip() for pattern in patterns)):
        for name in _expand(pattern):
            experiment = parse(name)
            chosen[experiment.name] = experiment
    if not chosen:
        raise ValueError(f"experiments: nothing chosen; name a group: {', '.join(GROUPS)}")
    return list(chosen.values())


def _expand(pattern: str) -> Iterable[str]:
    if pattern in GROUPS:
        return GROUPS[pattern]
    if not set(pattern) & set("*?["):
        return (pattern,)
    known = ALL_EXPERIMENTS + ADDITIONS
    matching = [name for name in known if fnmatchcase(name, pattern)]
    if not matching:
        raise ValueError(f"experiments: no known name matches the pattern {pattern!r}")
    return matching
