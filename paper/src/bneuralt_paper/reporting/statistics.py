"""Statistical tests for differences between algorithms.

The paper compares one algorithm with each other algorithm on each data set, over runs
(`compare_with_reference`, for its Tables 3, A4 and A5). Many algorithms are compared over many data
sets by mean ranks with a Friedman test (`friedman`), Nemenyi's critical difference, and Wilcoxon
tests with Holm's correction.

All tests treat special cases in the same way:

- values that are not finite (of runs that diverged) are omitted; in paired tests the whole pair;
- with fewer than two values (or pairs), the statistic and the p-value are nan;
- for equal samples p = 1;
- for two different constant samples the t statistic is infinite, and p = 0.

The computations use SciPy.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from bneuralt_paper._typing import FloatArray

__all__ = [
    "TESTS",
    "Comparison",
    "FriedmanResult",
    "TwoSampleTest",
    "bonferroni",
    "cliques",
    "compare_with_reference",
    "friedman",
    "holm",
    "independent_t",
    "kolmogorov_smirnov",
    "nemenyi_critical_difference",
    "wilcoxon_signed_rank",
]


# The largest numbers of pairs for the exact test, as in current releases of SciPy.
_EXACT, _EXACT_WITHOUT_TIES = 13, 50


class TwoSampleTest(NamedTuple):
    """A statistic, its two-sided p-value, and the number of values (or pairs)."""

    statistic: float
    p_value: float
    n: int


class Comparison(NamedTuple):
    """The result of one of several tests, with a p-value after Bonferroni's correction."""

    statistic: float
    p_value: float
    corrected: float
    n: int


def kolmogorov_smirnov(a: ArrayLike, b: ArrayLike) -> TwoSampleTest:
    """Test whether two samples have the same distribution.

    Examples
    --------
    >>> from bneuralt_paper.reporting.statistics import kolmogorov_smirnov
    >>> kolmogorov_smirnov([1, 2, 3, 4], [1, 2, 3, 4])
    TwoSampleTest(statistic=0.0, p_value=1.0, n=4)
    """
    x, y = _finite(a), _finite(b)
    n = min(len(x), len(y))
    if n < 2:
        return TwoSampleTest(math.nan, math.nan, n)
    if np.array_equal(np.sort(x), np.sort(y)):  # SciPy's exact method fails on constant samples
        return TwoSampleTest(0.0, 1.0, n)
    with warnings.catch_warnings():
        # where the exact method fails, SciPy uses the asymptotic one, and says so
        warnings.simplefilter("ignore", RuntimeWarning)
        result = stats.ks_2samp(x, y)
    return TwoSampleTest(float(result.statistic), float(result.pvalue), n)


def wilcoxon_signed_rank(a: ArrayLike, b: ArrayLike) -> TwoSampleTest:
    """Test whether paired samples differ, where ``a[i]`` and ``b[i]`` belong to the same run.

    The statistic is the smaller of the two rank sums. Pairs without a difference are dropped, as in
    Wilcoxon's original test. Differences are rounded to 12 digits, so that 27/30 - 25/30 and
    25/30 - 23/30 are tied.

    Examples
    --------
    >>> from bneuralt_paper.reporting.statistics import wilcoxon_signed_rank
    >>> wilcoxon_signed_rank([1, 2, 3], [1, 2, 3])
    TwoSampleTest(statistic=0.0, p_value=1.0, n=3)
    """
    x, y = _finite_pairs(a, b)
    if len(x) < 2:
        return TwoSampleTest(math.nan, math.nan, len(x))
    differences = np.round(x - y, 12)
    if not differences.any():
        return TwoSampleTest(0.0, 1.0, len(x))
    if len(x) <= _EXACT:
        return _exact_wilcoxon(differences)
    # Releases of SciPy differ in the method that they choose, and older ones ignore ties.
    has_ties = len(np.unique(np.abs(differences))) < len(x) or not differences.all()
    method = "approx" if has_ties or len(x) > _EXACT_WITHOUT_TIES else "exact"
    result = stats.wilcoxon(differences, method=method)
    return TwoSampleTest(float(result.statistic), float(result.pvalue), len(x))


def _exact_wilcoxon(differences: FloatArray) -> TwoSampleTest:
    """Perform the exact test for differences, with or without ties.

    SciPy enumerates all 2^n signs where there are ties. Here the distribution of the rank sum is
    computed rank by rank, which gives the same p-value a thousand times faster. Ranks are doubled,
    because tied ranks may be multiples of 1/2.
    """
    nonzero = differences[differences != 0]
    ranks = np.rint(2 * stats.rankdata(np.abs(nonzero))).astype(int)
    ways = np.zeros(ranks.sum() + 1)
    ways[0] = 1
    for rank in ranks:
        ways[rank:] = ways[rank:] + ways[: len(ways) - rank]
    plus = int(ranks[nonzero > 0].sum())
    smaller = min(plus, len(ways) - 1 - plus)  # the distribution is symmetric
    p_value = min(1.0, 2 * ways[: smaller + 1].sum() / ways.sum())
    return TwoSampleTest(smaller / 2, float(p_value), len(differences))


def independent_t(a: ArrayLike, b: ArrayLike) -> TwoSampleTest:
    """Perform Student's t-test on two independent samples.

    The statistic is positive if the first mean is larger.

    Examples
    --------
    >>> from bneuralt_paper.reporting.statistics import independent_t
    >>> independent_t([2, 2], [1, 1])
    TwoSampleTest(statistic=inf, p_value=0.0, n=2)
    """
    x, y = _finite(a), _finite(b)
    n = min(len(x), len(y))
    if n < 2:
        return TwoSampleTest(math.nan, math.nan, n)
    if np.ptp(x) == np.ptp(y) == 0:
        difference = float(x[0] - y[0])
        if difference == 0:
            return TwoSampleTest(0.0, 1.0, n)
        return TwoSampleTest(math.copysign(math.inf, difference), 0.0, n)
    with warnings.catch_warnings():
        # A constant sample (all runs with the same accuracy) is not an error here.
        warnings.filterwarnings("ignore", "Precision loss", RuntimeWarning)
        result = stats.ttest_ind(x, y)
    return TwoSampleTest(float(result.statistic), float(result.pvalue), n)


#: The tests of Tables 3, A4 and A5.
TESTS: dict[str, Callable[[ArrayLike, ArrayLike], TwoSampleTest]] = {
    "ks": kolmogorov_smirnov,
    "wilcoxon": wilcoxon_signed_rank,
    "t": independent_t,
}


def bonferroni(p_values: ArrayLike, n_comparisons: int | None = None) -> FloatArray:
    """Multiply p-values by the number of comparisons, limited to 1; nan values are not counted.

    Parameters
    ----------
    p_values : array-like
    n_comparisons : int, optional
        By default the number of p-values that are not nan.

    Examples
    --------
    >>> from bneuralt_paper.reporting.statistics import bonferroni
    >>> bonferroni([0.01, 0.04, 0.03, 0.005]).tolist()
    [0.04, 0.16, 0.12, 0.02]
    """
    p = np.asarray(p_values, dtype=float)
    count = int(np.sum(~np.isnan(p))) if n_comparisons is None else n_comparisons
    if count < np.sum(~np.isnan(p)):
        raise ValueError(f"n_comparisons={count} is less than the number of p-values in {p}")
    corrected: FloatArray = np.minimum(p * count, 1.0)
    return corrected


def holm(p_values: ArrayLike) -> FloatArray:
    """Apply Holm's step-down correction to p-values; nan values are not counted.

    Examples
    --------
    >>> from bneuralt_paper.reporting.statistics import holm
    >>> holm([0.01, 0.04, 0.03, 0.005]).round(3).tolist()
    [0.03, 0.06, 0.06, 0.02]
    """
    p = np.asarray(p_values, dtype=float)
    corrected = np.full(p.shape, math.nan)
    order = np.argsort(p)[: int(np.sum(~np.isnan(p)))]
    factors = np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1.0)
    return corrected


def compare_with_reference(
    reference: ArrayLike,
    others: Mapping[str, ArrayLike],
    test: str = "ks",
    n_comparisons: int | None = None,
) -> dict[str, Comparison]:
    """Test one sample against each of several others, with Bonferroni's correction.

    Parameters
    ----------
    reference : array-like of shape (n_runs,)
    others : mapping of str to array-like
        For ``test="wilcoxon"`` each must have the same runs as the reference, in the same order
        (nan for missing runs).
    test : {"ks", "wilcoxon", "t"}
    n_comparisons : int, optional
        The factor for p-values; by default the number of tests that were possible.

    Returns
    -------
    dict of str to Comparison

    Examples
    --------
    >>> from bneuralt_paper.reporting.statistics import compare_with_reference
    >>> good, other = [0.9, 0.91, 0.92, 0.93], [0.1, 0.11, 0.12, 0.14]
    >>> result = compare_with_reference(good, {"A": other, "B": good}, "ks")
    >>> round(result["A"].p_value, 3), round(result["A"].corrected, 3), result["B"].corrected
    (0.029, 0.057, 1.0)
    """
    if test not in TESTS:
        raise ValueError(f"test={test!r} is unknown: choose one of {', '.join(TESTS)}")
    results = {name: TESTS[test](reference, sample) for name, sample in others.items()}
    corrected = bonferroni([r.p_value for r in results.values()], n_comparisons)
    return {
        name: Comparison(result.statistic, result.p_value, float(p), result.n)
        for (name, result), p in zip(results.items(), corrected, strict=True)
    }


@dataclass(frozen=True)
class FriedmanResult:
    """Mean ranks of algorithms (1 is the best) and the result of the Friedman test.

    Attributes
    ----------
    names : tuple of str
        Algorithms, best mean rank first.
    mean_ranks : tuple of float
        In the same order.
    statistic, p_value : float
        Friedman's chi-square.
    n_datasets : int
    """

    names: tuple[str, ...]
    mean_ranks: tuple[float, ...]
    statistic: float
    p_value: float
    n_datasets: int


def friedman(scores: Mapping[str, ArrayLike]) -> FriedmanResult:
    """Rank algorithms on each data set by score (the highest is best), and test for differences.

    Parameters
    ----------
    scores : mapping of str to array-like of shape (n_datasets,)
        At least three algorithms. Data sets with a score that is not finite are omitted.

    Examples
    --------
    >>> from bneuralt_paper.reporting.statistics import friedman
    >>> result = friedman({"a": [0.9, 0.8, 0.7], "b": [0.8, 0.7, 0.6], "c": [0.7, 0.6, 0.6]})
    >>> result.names, result.mean_ranks
    (('a', 'b', 'c'), (1.0, 2.1666666666666665, 2.8333333333333335))
    """
    if len(scores) < 3:
        raise ValueError(f"a Friedman test requires at least three algorithms, got {list(scores)}")
    table = np.array([np.asarray(values, dtype=float) for values in scores.values()])
    table = table[:, np.isfinite(table).all(axis=0)]
    n = table.shape[1]
    if n < 2:
        raise ValueError(
            f"a Friedman test requires at least two data sets with all scores, got {n}"
        )
    ranks = stats.rankdata(-table, axis=0).mean(axis=1)
    if (table == table[0]).all():
        statistic, p_value = 0.0, 1.0
    else:
        statistic, p_value = (float(v) for v in stats.friedmanchisquare(*table))
    order = np.argsort(ranks, kind="stable")
    names = list(scores)
    return FriedmanResult(
        tuple(names[i] for i in order), tuple(float(ranks[i]) for i in order), statistic, p_value, n
    )


def nemenyi_critical_difference(n_algorithms: int, n_datasets: int, alpha: float = 0.05) -> float:
    """Return the smallest significant difference of two mean ranks (Demsar 2006).

    Examples
    --------
    >>> from bneuralt_paper.reporting.statistics import nemenyi_critical_difference
    >>> round(nemenyi_critical_difference(4, 14), 2)
    1.25
    """
    if n_algorithms < 2 or n_datasets < 1 or not 0 < alpha < 1:
        raise ValueError(
            "n_algorithms must be at least 2, n_datasets at least 1 and alpha between 0 and 1, "
            f"got {n_algorithms}, {n_datasets} and {alpha}"
        )
    q = stats.studentized_range.ppf(1 - alpha, n_algorithms, np.inf) / math.sqrt(2)
    return float(q * math.sqrt(n_algorithms * (n_algorithms + 1) / (6 * n_datasets)))


def cliques(mean_ranks: Sequence[float], critical_difference: float) -> list[tuple[int, int]]:
    """Return the first and last position of each maximal group of similar mean ranks.

    Examples
    --------
    >>> from bneuralt_paper.reporting.statistics import cliques
    >>> cliques([1.0, 1.5, 2.4, 4.0], 1.0)
    [(0, 1), (1, 2)]
    """
    ranks = sorted(mean_ranks)
    groups: list[tuple[int, int]] = []
    for first, rank in enumerate(ranks):
        last = max(i for i, other in enumerate(ranks) if other - rank <= critical_difference)
        if last > first and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    return groups


def _finite(values: ArrayLike) -> FloatArray:
    array: FloatArray = np.asarray(values, dtype=float).ravel()
    return array[np.isfinite(array)]


def _finite_pairs(a: ArrayLike, b: ArrayLike) -> tuple[FloatArray, FloatArray]:
    x, y = np.asarray(a, dtype=float).ravel(), np.asarray(b, dtype=float).ravel()
    if x.shape != y.shape:
        raise ValueError(f"paired samples must have the same length, got {len(x)} and {len(y)}")
    keep = np.isfinite(x) & np.isfinite(y)
    return x[keep], y[keep]
