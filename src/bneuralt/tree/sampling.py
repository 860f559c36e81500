"""Samplers of the inputs of leaves, for the parameter `feature_sampling`.

By default every input is equally likely, as in the paper. A sampler prefers inputs that vary more,
or, for images, draws the leaves of a subtree from one region. Samplers are values (equal settings
make equal samplers), so they can be copied, pickled and written to model files.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from bneuralt import _core
from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.tree.growth import LeafSampler, TreeGrower, seed_of

__all__ = [
    "FeatureSampler",
    "ReceptiveFields",
    "VarianceSampling",
    "chances_of_varying",
    "sampler_from_dict",
]


@dataclass(frozen=True)
class FeatureSampler:
    """A `LeafSampler` that may learn from training rows before it is used.

    Estimators call `learn` with their training rows. For `NeuralTree.random`, which gets no rows,
    call it first.
    """

    name: ClassVar[str]

    def learn(self, X: Array, sample_weight: Array | None = None) -> Any:
        """Return a `feature_sampling` for `NeuralTree.random`: probabilities, or a callable.

        Parameters
        ----------
        X : array of shape (n_rows, n_inputs)
            Training rows.
        sample_weight : array of shape (n_rows,), optional
            How much each row counts.
        """
        raise NotImplementedError

    def __call__(
        self,
        rng: np.random.Generator,
        leaf_parent: Array,
        parent: Array,
        n_inputs: int,
    ) -> Array:
        """Choose the input of each leaf without training rows; see `LeafSampler`."""
        raise ValueError(
            f"{self} needs training rows: use feature_sampling={self}.learn(X) instead"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the sampler as a dict of JSON values; `sampler_from_dict` reads it."""
        return {"name": self.name, **asdict(self)}


@dataclass(frozen=True)
class VarianceSampling(FeatureSampler):
    """Draw inputs in proportion to a power of their variance over the training rows.

    For inputs in the same unit, such as pixels: those that hardly change have little information.

    Parameters
    ----------
    power : float
        1 is the variance itself, 0.5 the standard deviation; with 0, all inputs that vary are
        equally likely.

    Examples
    --------
    >>> import numpy as np
    >>> from bneuralt.tree.sampling import VarianceSampling
    >>> VarianceSampling().learn(np.array([[0, 5, 1], [0, 1, 2]], dtype=np.uint8)).tolist()
    [0.0, 4.0, 0.25]
    """

    name: ClassVar[str] = "variance"
    power: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.power < math.inf:
            raise ValueError(f"power={self.power!r} must be 0 or more, and finite")

    def learn(self, X: Array, sample_weight: Array | None = None) -> Array:
        """Return a weight for each input, 0 for those that do not vary."""
        variance = _variances(X, sample_weight)
        if not variance.any():
            raise ValueError("no input varies over the training rows: no input can be drawn")
        return np.where(variance > 0, variance**self.power, 0.0)


@dataclass(frozen=True)
class ReceptiveFields(FeatureSampler):
    """Draw the leaves of a subtree from one region of an image.

    Each subtree that starts at depth `depth` has a centre, which is a pixel drawn at random, and
    its leaves are drawn around it: the probability of a pixel falls with its distance from the
    centre as a normal density. Only pixels that vary over the training rows are drawn. Leaves above
    `depth` are drawn from the whole image.

    Parameters
    ----------
    shape : tuple of int
        Size of the image along each of its axes, such as (28, 28); one, three or more axes are fine
        as well. If there are n times as many inputs as pixels, then each pixel has n neighbouring
        inputs, its channels, and leaves draw from all of them.
    spread : float or (low, high)
        Standard deviation of the distance along each axis, in pixels. With two numbers every
        subtree has its own spread, drawn between them on a logarithmic scale.
    depth : int
        Where subtrees start: 1 is a class node, 2 a child of one.

    Examples
    --------
    >>> import numpy as np
    >>> from bneuralt import NeuralTree
    >>> from bneuralt.tree.sampling import ReceptiveFields
    >>> tree = NeuralTree.random(64, 10, feature_sampling=ReceptiveFields((8, 8), spread=1.0))
    >>> tree.n_inputs
    64

    As a parameter of an estimator:

    >>> from bneuralt import BNeuralTClassifier, Growth
    >>> fields = ReceptiveFields((28, 28), spread=2.0)
    >>> clf = BNeuralTClassifier(growth=Growth(feature_sampling=fields))
    """

    name: ClassVar[str] = "receptive_fields"
    shape: tuple[int, ...]
    spread: float | tuple[float, float] = 2.0
    depth: int = 2

    def __post_init__(self) -> None:
        shape = tuple(int(n) for n in self.shape)
        if not shape or min(shape) < 1:
            raise ValueError(f"shape={self.shape!r} must be sizes of 1 or more, such as (28, 28)")
        object.__setattr__(self, "shape", shape)
        if not isinstance(self.spread, (int, float)):
            object.__setattr__(self, "spread", tuple(float(end) for end in self.spread))
        ends = np.atleast_1d(self.spread)
        if not 1 <= ends.size <= 2 or not 0 < ends[0] <= ends[-1] < np.inf:
            raise ValueError(
                f"spread={self.spread!r} must be a number of pixels above 0, or two of them, the "
                "smaller one first"
            )
        if self.depth < 1:
            raise ValueError(f"depth={self.depth!r} must be 1 or more")

    def learn(self, X: Array, sample_weight: Array | None = None) -> LeafSampler:
        """Return a sampler that draws only inputs that vary over the rows."""
        self._n_channels(X.shape[1])
        varies = X.max(axis=0) > X.min(axis=0)
        return _FieldsOfVarying(self.shape, self.spread, self.depth, varies)

    def core_fields(self, n_features: int) -> dict[str, Any]:
        """Return the fields of a rule of the core by which it samples features."""
        self._n_channels(n_features)
        low, high = np.atleast_1d(self.spread)[[0, -1]]
        return {
            "image": np.array(self.shape, dtype=np.int32),
            "min_spread": float(low),
            "max_spread": float(high),
            "field_depth": self.depth,
        }

    def __call__(
        self,
        rng: np.random.Generator,
        leaf_parent: Array,
        parent: Array,
        n_inputs: int,
    ) -> Array:
        """Choose the input of each leaf; see `LeafSampler`."""
        n_outputs = int(np.count_nonzero(parent < 0))
        grower = TreeGrower(n_inputs, n_outputs, feature_sampling=self)
        return _core.sample_features(
            grower.rule,
            seed_of(rng),
            np.ascontiguousarray(parent, dtype=np.int32),
            np.ascontiguousarray(leaf_parent, dtype=np.int32),
        )

    def _n_channels(self, n_inputs: int) -> int:
        n_channels, rest = divmod(n_inputs, math.prod(self.shape))
        if rest or not n_channels:
            raise ValueError(
                f"images of shape={self.shape} have {math.prod(self.shape)} pixels, and the "
                f"{n_inputs} inputs are not a multiple of that"
            )
        return n_channels


@dataclass(frozen=True, eq=False)
class _FieldsOfVarying(ReceptiveFields):
    """Receptive fields of the inputs that vary; of all, if none does."""

    varies: Array | None = None

    def core_fields(self, n_features: int) -> dict[str, Any]:
        """Return the fields of a rule of the core by which it samples features."""
        assert self.varies is not None
        chances = self.varies if self.varies.any() else np.ones(self.varies.size)
        return super().core_fields(n_features) | {"chances": chances.astype(np.float64)}


_SAMPLERS = {cls.name: cls for cls in (VarianceSampling, ReceptiveFields)}


def sampler_from_dict(data: Mapping[str, Any]) -> FeatureSampler:
    """Return the sampler that `FeatureSampler.to_dict` described.

    Examples
    --------
    >>> from bneuralt.tree.sampling import ReceptiveFields, sampler_from_dict
    >>> fields = ReceptiveFields((28, 28), spread=(1, 3))
    >>> sampler_from_dict(fields.to_dict()) == fields
    True
    """
    settings = dict(data)
    name = settings.pop("name", None)
    if name not in _SAMPLERS:
        raise ValueError(f"sampler {name!r} is unknown: choose one of {', '.join(_SAMPLERS)}")
    return _SAMPLERS[name](**settings)


def chances_of_varying(
    chances: ArrayLike, groups: IntArray, varies: Array, n_features: int
) -> FloatArray:
    """Return the chances of features, with 0 for those that do not vary.

    Parameters
    ----------
    chances : array-like of shape (n_features,)
        Of any other shape it is returned unchanged, and checked later.
    groups : int array of shape (n_inputs,)
        The feature of each input. Features after the last one of these are left out.
    varies : bool array of shape (n_inputs,)
        A feature varies if one of its inputs does. If no feature with a chance varies, all keep
        their chances.
    n_features : int

    Examples
    --------
    >>> chances_of_varying([1, 2], np.array([0, 1, 1]), np.array([False, False, True]), 2)
    array([0., 2.])
    """
    weights = np.asarray(chances, dtype=np.float64)
    if weights.shape != (n_features,):
        return weights
    has_spread = np.bincount(groups, varies) > 0
    weights = weights[: has_spread.size]
    varying: FloatArray = weights * has_spread
    return varying if varying.any() else weights


def _variances(X: Array, sample_weight: Array | None) -> Array:
    weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight)
    origin = X[0].astype(np.float64)  # differences from a row cancel less than sums
    total, square = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    n_rows = max(1, 1_000_000 // X.shape[1])  # never a float64 copy of the whole table
    for start in range(0, len(X), n_rows):
        block = slice(start, start + n_rows)
        centred = X[block] - origin
        total += weight[block] @ centred
        square += weight[block] @ np.square(centred)
    variance: FloatArray = np.maximum(square / weight.sum() - np.square(total / weight.sum()), 0.0)
    return variance
