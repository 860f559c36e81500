"""Automatic settings: size, decay, rate, epochs and batches as functions of rows and classes.

Larger tables get larger trees, less weight decay and fewer epochs. The experiments behind the
numbers are in `docs/lab/lab_book.md`.
"""

from __future__ import annotations

from dataclasses import dataclass

from bneuralt._typing import Array

__all__ = [
    "IN_FOREST",
    "MAX_ROWS_JOINED",
    "N_JOINED",
    "ROWS_PER_TREE",
    "SINGLE_TREE",
    "Capacity",
    "batch_size",
    "effective_share",
    "learning_rate",
    "n_epochs",
    "n_epochs_joined",
    "number_of_ramps",
]

#: Each output of a tree has at least this many weights.
MIN_WEIGHTS_PER_OUTPUT = 5

#: A tree has at most this many weights for each row with other numbers.
MAX_WEIGHTS_PER_ROW = 5

#: Small tables are trained for more epochs than large ones: limits of epochs times rows.
MIN_EXAMPLES = 30_000
MAX_EXAMPLES = 1_200_000
MIN_EPOCHS = {"classifier": 50, "regressor": 100}

#: Large tables are trained for at least so many epochs, or for fewer that give enough examples.
MIN_EPOCHS_OF_MANY, SUFFICIENT_EXAMPLES = 3, 100_000_000

#: Up to this number of rows, a single tree is the mean of this many trees that share its weights
#: and are trained separately. Averaging independent trees reduces variance at equal size.
MAX_ROWS_JOINED, N_JOINED = 10_000, 2
#: Their epochs, as a share of those of one tree: without a trial, and after one.
EPOCHS_JOINED, EPOCHS_AFTER_TRIAL = 0.8, 0.5

#: A tree of a forest is trained on at most about as many rows, drawn for each tree.
ROWS_PER_TREE = 10_000_000

#: The weight decay of large tables.
LEAST_DECAY = 0.005

#: With more than MANY_ROWS rows and MANY_CLASSES classes, the learning rate is halved and the
#: number of epochs doubled.
MANY_ROWS, MANY_CLASSES = 10_000, 4
LEARNING_RATE = 0.02

#: Ramps of a column of numbers: (rows, number from there on). Fewer rows cannot fill eight ramps,
#: and with many columns, inputs that no leaf needs cost most of the time of a fit.
N_RAMPS = ((0, 0), (50, 8))

#: Effective rows for each row that is not of the most frequent class.
ROWS_PER_RARE_ROW = 5

#: (rows, batch size from there on)
BATCH_SIZES = ((0, 16), (1_000, 32), (50_000, 64))


@dataclass(frozen=True)
class Capacity:
    """Size and weight decay of a tree as functions of the number of training rows.

    The number of weights is the largest of `fewest`, `per_class` times the number of classes, and
    `per_row` times the number of rows, but at most `most`; with more than `classes` classes, this
    limit is raised in proportion. From `decay_rows` on, the decay falls with the number of rows,
    down to `LEAST_DECAY`.

    Where only a share of the rows is effective (`effective_share`), the number of weights is
    multiplied by the root of the share, and the decay is that of the effective rows.
    """

    fewest: int
    per_class: int
    per_row: float
    most: int
    decay: float
    decay_rows: int
    decay_power: float
    classes: int | None = None
    small: tuple[int, int, int] | None = None  # (rows, most weights up to there, or per output)
    large: tuple[int, int] | None = None  # (rows, number to which `most` falls from there on)
    enlarged: int = 1  # largest factor on the number of weights for leaves of categories

    def n_weights(
        self, n_rows: int, n_outputs: int, weights_per_leaf: float = 1.0, share: float = 1.0
    ) -> int:
        """Return the number of weights of a tree.

        Parameters
        ----------
        n_rows, n_outputs : int
        weights_per_leaf : float
            Leaves of categories have several weights: then `per_class` and `per_row` count leaves,
            and the lower of the two numbers is used.
        share : float
            Share of the rows that are effective.

        Examples
        --------
        >>> [SINGLE_TREE.n_weights(n, 2) for n in (100, 1_000, 3_000, 100_000)]
        [300, 400, 1200, 2000]
        >>> [IN_FOREST.n_weights(n, 2) for n in (40_000, 80_000, 10_000_000)]
        [4000, 2639, 2000]
        >>> [IN_FOREST.n_weights(n, 18) for n in (1_000, 10_000, 40_000)]
        [1800, 8000, 18000]
        >>> [IN_FOREST.n_weights(2_000, n, weights_per_leaf=4.0) for n in (2, 10)]
        [1600, 4000]
        >>> SINGLE_TREE.n_weights(3_000, 2, share=0.25)
        600
        """
        plain = self._n_weights_of_numbers(n_rows, n_outputs)
        leaves = min(self.per_row * n_rows, self.per_class * n_outputs)
        n_weights = max(plain, int(min(self.enlarged * plain, weights_per_leaf * leaves)))
        return max(int(n_weights * share**0.5), MIN_WEIGHTS_PER_OUTPUT * n_outputs)

    def _n_weights_of_numbers(self, n_rows: int, n_outputs: int) -> int:
        n_weights = max(self.fewest, self.per_class * n_outputs, self.per_row * n_rows)
        most = float(self.most)
        if self.classes is not None:
            most *= max(1.0, n_outputs / self.classes)
        if self.small is not None and n_rows <= self.small[0]:
            most = max(self.small[1], self.small[2] * n_outputs)
        if self.large is not None and n_rows > self.large[0]:
            most = max(most * (self.large[0] / n_rows) ** 0.6, min(most, self.large[1]))
        return max(int(min(n_weights, most)), MIN_WEIGHTS_PER_OUTPUT * n_outputs)

    def weight_decay(self, n_rows: float) -> float:
        """Return the weight decay for a number of effective rows.

        Examples
        --------
        >>> [round(SINGLE_TREE.weight_decay(n), 3) for n in (100, 1_000, 10_000, 10_000_000)]
        [0.225, 0.109, 0.027, 0.005]
        """
        decay = self.decay * min(1.0, self.decay_rows / n_rows) ** self.decay_power
        return float(max(decay, LEAST_DECAY))


#: A single tree is meant to be small, and its errors are not averaged.
SINGLE_TREE = Capacity(
    fewest=300,
    per_class=100,
    per_row=0.4,
    most=2_000,
    decay=0.225,
    decay_rows=300,
    decay_power=0.6,
    small=(1_000, 400, 25),
)

#: The mean over the trees of a forest reduces the errors of each of them.
IN_FOREST = Capacity(
    fewest=400,
    per_class=100,
    per_row=0.8,
    most=4_000,
    decay=0.15,
    decay_rows=300,
    decay_power=0.7,
    classes=MANY_CLASSES,
    large=(40_000, SINGLE_TREE.most),
    enlarged=4,
)


def effective_share(counts: Array) -> float:
    """Return the share of the rows that the capacity of a tree depends on.

    All rows are effective, unless almost all of them are of one class: then the rows of the other
    classes determine how much can be learnt. If there are none, as in a part of a table, all count.

    Parameters
    ----------
    counts : array of shape (n_classes,)
        Number of rows of each class.

    Examples
    --------
    >>> import numpy as np
    >>> [effective_share(np.array(counts)) for counts in ([50, 50], [80, 20], [95, 5], [95, 3, 2])]
    [1.0, 1.0, 0.25, 0.25]
    """
    total = counts.sum()
    share = float(ROWS_PER_RARE_ROW * (total - counts.max()) / total)
    return share if 0.0 < share < 1.0 else 1.0


def number_of_ramps(n_rows: int) -> int:
    """Return the number of ramps of a column of numbers.

    Examples
    --------
    >>> [number_of_ramps(n) for n in (12, 100, 10_000)]
    [0, 8, 8]
    """
    return next(number for rows, number in reversed(N_RAMPS) if n_rows >= rows)


def n_epochs(n_rows: int, fewest: int, n_classes: int = 1) -> int:
    """Return the number of epochs; `fewest` for medium numbers of rows and classes.

    Examples
    --------
    >>> [n_epochs(n, fewest=50) for n in (100, 1_000, 24_000, 400_000, 100_000_000)]
    [300, 50, 50, 3, 1]
    >>> n_epochs(24_000, fewest=50, n_classes=18)
    100
    """
    factor = 2 if _takes_longer(n_rows, n_classes) else 1
    fewest_of_many = max(1, min(MIN_EPOCHS_OF_MANY, round(SUFFICIENT_EXAMPLES / n_rows)))
    usual = min(fewest, max(fewest_of_many, round(MAX_EXAMPLES / n_rows)))
    return max(round(MIN_EXAMPLES / n_rows), factor * usual)


def n_epochs_joined(n_epochs: int, has_trial: bool) -> int:
    """Return the number of epochs of each of several trees, from that of a tree alone.

    Examples
    --------
    >>> n_epochs_joined(50, has_trial=False), n_epochs_joined(50, has_trial=True)
    (40, 25)
    """
    return max(1, round((EPOCHS_AFTER_TRIAL if has_trial else EPOCHS_JOINED) * n_epochs))


def learning_rate(n_rows: int, n_classes: int = 1) -> float:
    """Return the initial learning rate.

    Examples
    --------
    >>> [learning_rate(24_000, n) for n in (2, 18)]
    [0.02, 0.01]
    """
    return LEARNING_RATE / (2 if _takes_longer(n_rows, n_classes) else 1)


def _takes_longer(n_rows: int, n_classes: int) -> bool:
    return n_rows > MANY_ROWS and n_classes > MANY_CLASSES


def batch_size(n_rows: int) -> int:
    """Return the number of rows per update.

    Examples
    --------
    >>> [batch_size(n) for n in (100, 1_000, 400_000)]
    [16, 32, 64]
    """
    return next(size for rows, size in reversed(BATCH_SIZES) if n_rows >= rows)
