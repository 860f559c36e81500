"""Statistical tests compared with SciPy and statsmodels, and special cases."""

import itertools
import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bneuralt_paper.reporting import statistics as s

scores = st.lists(st.integers(0, 40).map(lambda k: k / 40), min_size=2, max_size=30)
p_values = st.lists(st.floats(0, 1), min_size=1, max_size=20)


def corrected(p, method):
    from statsmodels.stats.multitest import multipletests  # which takes seconds to import

    return multipletests(p, method=method)[1]


@settings(max_examples=50, deadline=None)
@given(scores, scores)
def test_two_samples_against_scipy(a, b):
    ks = s.kolmogorov_smirnov(a, b)
    assert ks[:2] == ((0, 1) if sorted(a) == sorted(b) else tuple(stats.ks_2samp(a, b)))
    t = s.independent_t(a, b)
    if np.ptp(a) or np.ptp(b):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = stats.ttest_ind(a, b)
        assert t.statistic == expected.statistic and t.p_value == expected.pvalue
    else:
        assert t.p_value == (1.0 if a[0] == b[0] else 0.0)


def all_signs(differences):
    """The p-value of the signed-rank test by going through all signs."""
    nonzero = differences[differences != 0]
    ranks = stats.rankdata(np.abs(nonzero))
    signs = np.array(list(itertools.product([0, 1], repeat=len(ranks))))
    half = ranks.sum() / 2
    distance = abs(ranks[nonzero > 0].sum() - half)
    return np.mean(np.abs(signs @ ranks - half) >= distance - 1e-9)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 9) | st.integers(13, 15) | st.integers(49, 52),
    st.sampled_from([1, 9]),
)
def test_paired_samples_against_scipy(seed, n, n_digits):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n)).round(n_digits)
    result = s.wilcoxon_signed_rank(a, b)
    assert result.n == n
    if (a == b).all():
        assert result == (0, 1, n)
        return
    # the methods are named, because SciPy's own choice depends on its release
    differences = np.round(a - b, 12)
    has_ties = len(np.unique(np.abs(differences))) < n or not differences.all()
    method = "approx" if n > 50 or (has_ties and n > 13) else "exact"
    expected = stats.wilcoxon(differences, method="approx" if has_ties else method)
    assert result.statistic == expected.statistic
    if method == "exact" and has_ties:
        assert result.p_value == pytest.approx(all_signs(differences))
    else:
        assert result.p_value == pytest.approx(expected.pvalue, rel=1e-9)
    assert s.wilcoxon_signed_rank(b, a).p_value == pytest.approx(result.p_value)


@settings(max_examples=30, deadline=None)
@given(p_values)
def test_corrections_against_statsmodels(p):
    np.testing.assert_allclose(s.bonferroni(p), corrected(p, "bonferroni"))
    np.testing.assert_allclose(s.holm(p), corrected(p, "holm"))


def test_a_known_bonferroni_example():
    # Five tests at level 0.05: each must pass 0.01; only the first does.
    corrected = s.bonferroni([0.005, 0.011, 0.02, 0.04, 0.13])
    np.testing.assert_allclose(corrected, [0.025, 0.055, 0.1, 0.2, 0.65])
    assert (corrected < 0.05).tolist() == [True, False, False, False, False]
    assert s.bonferroni([0.3, 0.4, 0.5, 0.9]).tolist() == [1.0] * 4
    # The paper's Table 3: two samples of 30 runs with D = .3333 have p = .0709, and ten times
    # that is the .71 it prints.
    a = np.arange(30.0)
    ks = s.kolmogorov_smirnov(a, a + 10)
    assert round(ks.statistic, 2) == 0.33 and round(ks.p_value, 2) == 0.07
    assert round(float(s.bonferroni([ks.p_value], 10)[0]), 2) == 0.71


def test_nan_p_values_are_not_counted():
    np.testing.assert_allclose(s.bonferroni([0.01, math.nan, 0.2]), [0.02, math.nan, 0.4])
    np.testing.assert_allclose(s.holm([0.01, math.nan, 0.2]), [0.02, math.nan, 0.2])
    with pytest.raises(ValueError, match="n_comparisons=1"):
        s.bonferroni([0.1, 0.2], 1)


@pytest.mark.parametrize("test", s.TESTS)
def test_edges(test):
    run = s.TESTS[test]
    assert run([0.5] * 5, [0.5] * 5)[:2] == (0.0, 1.0)
    for short in ([], [0.5], [0.5, math.nan, -math.inf]):
        result = run(short, short)
        assert math.isnan(result.statistic) and math.isnan(result.p_value)
    a, b = [0.1, 0.2, 0.3, 0.9, 0.5], [0.3, 0.1, 0.5, 0.6, 0.4]
    assert run([*a, math.nan], [*b, 0.7] if test == "wilcoxon" else b) == run(a, b)
    assert run(a, b).n == 5


def test_ties_survive_rounding():
    a, b = np.array([27, 25, 22, 20, 29]) / 30, np.array([25, 23, 24, 22, 26]) / 30
    assert s.wilcoxon_signed_rank(a, b)[:2] == s.wilcoxon_signed_rank(30 * a, 30 * b)[:2]


def test_pairs_must_match():
    with pytest.raises(ValueError, match="got 2 and 3"):
        s.wilcoxon_signed_rank([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="'anova'"):
        s.compare_with_reference([1, 2], {}, "anova")


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.sampled_from(sorted(s.TESTS)))
def test_a_family_of_comparisons(seed, test):
    rng = np.random.default_rng(seed)
    reference = rng.normal(0.5, 1, 20)
    others = {name: rng.normal(size=20) for name in "abcd"} | {"missing": np.full(20, math.nan)}
    result = s.compare_with_reference(reference, others, test)
    p = [result[name].p_value for name in "abcd"]
    expected = corrected(p, "bonferroni")
    np.testing.assert_allclose([result[name].corrected for name in "abcd"], expected)
    assert math.isnan(result["missing"].corrected)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.integers(3, 8), st.integers(3, 14))
def test_friedman_against_scipy(seed, k, n):
    table = np.random.default_rng(seed).normal(size=(k, n)).round(1)
    names = [f"a{i}" for i in range(k)]
    result = s.friedman(dict(zip(names, table, strict=True)))
    expected = stats.friedmanchisquare(*table)
    assert result.statistic == pytest.approx(expected.statistic)
    assert result.p_value == pytest.approx(expected.pvalue)
    assert sum(result.mean_ranks) == pytest.approx(k * (k + 1) / 2)
    assert list(result.mean_ranks) == sorted(result.mean_ranks) and set(result.names) == set(names)


def test_friedman_edges():
    same = {"a": [1, 2, 3], "b": [1, 2, 3], "c": [1, 2, 3]}
    assert s.friedman(same).p_value == 1.0 and s.friedman(same).mean_ranks == (2.0, 2.0, 2.0)
    with_gap = {"a": [3, 3, math.nan], "b": [2, 2, 9], "c": [1, 1, 9]}
    assert s.friedman(with_gap).n_datasets == 2
    with pytest.raises(ValueError, match="three algorithms"):
        s.friedman({"a": [1, 2], "b": [1, 2]})
    with pytest.raises(ValueError, match="two data sets"):
        s.friedman({"a": [1, math.nan], "b": [1, 2], "c": [1, 2]})


def test_nemenyi_against_demsars_table():
    # q at 0.05 and 0.10 in Demsar (2006), Table 5, for 2, 5 and 10 algorithms.
    for k, q05, q10 in ((2, 1.960, 1.645), (5, 2.728, 2.459), (10, 3.164, 2.920)):
        for alpha, q in ((0.05, q05), (0.10, q10)):
            expected = q * math.sqrt(k * (k + 1) / (6 * 14))
            assert s.nemenyi_critical_difference(k, 14, alpha) == pytest.approx(expected, abs=6e-4)
    with pytest.raises(ValueError, match="n_algorithms"):
        s.nemenyi_critical_difference(1, 14)


@given(st.lists(st.floats(1, 9), min_size=2, max_size=9), st.floats(0, 5))
def test_cliques_are_maximal(ranks, cd):
    ordered = sorted(ranks)
    groups = s.cliques(ranks, cd)
    for first, last in groups:
        assert ordered[last] - ordered[first] <= cd
        assert last + 1 == len(ordered) or ordered[last + 1] - ordered[first] > cd
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in itertools.pairwise(groups))
    for i in range(len(ordered) - 1):
        close = ordered[i + 1] - ordered[i] <= cd
        assert close == any(first <= i < last for first, last in groups)


def test_critical_differences_are_those_of_the_tables():
    # Demsar (2006), Table 5: q = 1.960 and 2.569 at 0.05, 1.645 at 0.10
    for k, alpha, q in ((2, 0.05, 1.960), (4, 0.05, 2.569), (2, 0.10, 1.645)):
        for n in (1, 14):
            expected = q * math.sqrt(k * (k + 1) / (6 * n))
            difference = s.nemenyi_critical_difference(k, n, alpha)
            assert difference == pytest.approx(expected, rel=1e-3)
    for k, n, alpha in ((1, 5, 0.05), (3, 0, 0.05), (3, 5, 0.0), (3, 5, 1.0)):
        with pytest.raises(ValueError, match="must be at least 2"):
            s.nemenyi_critical_difference(k, n, alpha)


def test_algorithms_exactly_a_critical_difference_apart_are_connected():
    assert s.cliques([1.0, 2.0, 3.5], 1.0) == [(0, 1)]
    assert s.cliques([1.0, 2.0, 3.0], 2.0) == [(0, 2)]
    assert s.cliques([1.0, 3.0, 5.0], 1.0) == []
    assert s.cliques([3.0, 1.0, 2.0], 1.0) == [(0, 1), (1, 2)]


def test_samples_of_two_are_enough():
    for run in s.TESTS.values():
        assert not math.isnan(run([1.0, 2.0], [3.0, 5.0]).p_value)
        assert run([1.0, 2.0], [3.0, 5.0]).n == 2
    assert s.independent_t([1, 1], [2, 2])[:2] == (-math.inf, 0.0)
    assert s.independent_t([1, 1, 1], [2, 2]).n == 2
    assert s.friedman({"a": [3, 3], "b": [2, 2], "c": [1, 1]}).names == ("a", "b", "c")


def test_the_number_of_comparisons_may_be_larger_or_the_same():
    assert s.bonferroni([0.1, 0.2], 2).tolist() == [0.2, 0.4]
    assert s.bonferroni([0.1, 0.2], 4).tolist() == [0.4, 0.8]
    compared = s.compare_with_reference([1, 2, 3, 4], {"a": [5, 6, 7, 8]}, "ks", n_comparisons=3)
    assert compared["a"].corrected == pytest.approx(3 * compared["a"].p_value)
    assert compared["a"].n == 4
