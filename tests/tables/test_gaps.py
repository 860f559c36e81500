"""Gaps tell something about a target where their share differs between its values."""

import numpy as np
import pytest
from scipy.stats import chi2, chi2_contingency

from bneuralt.tables.gaps import SIGNIFICANCE, gaps_are_informative


def test_one_of_several_targets_is_enough():
    gaps = np.arange(200) % 4 == 0
    other = np.arange(200) // 100 * 1.0
    both = np.column_stack([gaps * 1.0, other])
    assert gaps_are_informative(gaps, both, np.ones(200))
    assert not gaps_are_informative(gaps, other[:, np.newaxis], np.ones(200))


def test_the_origin_and_sign_of_a_target_do_not_matter():
    rng = np.random.default_rng(0)
    gaps = rng.random(300) < 0.2
    for strength in (0.0, 1.0):
        target = rng.normal(size=300) + strength * gaps
        of_target = gaps_are_informative(gaps, target, np.ones(300))
        assert of_target == bool(strength)
        assert gaps_are_informative(gaps, 7.0 - target, np.ones(300)) == of_target


@pytest.mark.parametrize("is_gap", [False, True])
def test_a_column_without_gaps_or_without_values_says_nothing(is_gap):
    assert not gaps_are_informative(np.full(50, is_gap), np.arange(50) % 2, np.ones(50))


def test_weights_are_repetitions_and_more_rows_are_more_certain():
    gaps, target = np.arange(40) % 4 == 0, np.arange(40) % 2
    assert gaps_are_informative(gaps, target, np.ones(40)) == (SIGNIFICANCE > 1e-3)
    assert gaps_are_informative(gaps, target, np.full(40, 10.0))
    assert gaps_are_informative(np.tile(gaps, 10), np.tile(target, 10), np.ones(400))


def _p_value_of_classes(gaps, classes, weight):
    """Pearson's test of the table of gaps by classes, by SciPy."""
    table = [
        [weight[(classes == c) & (gaps == g)].sum() for c in np.unique(classes)] for g in (0, 1)
    ]
    return chi2_contingency(table, correction=False).pvalue


def _p_value_of_numbers(gaps, target, weight):
    """The test of a correlation, with repeated rows for weights."""
    repeats = weight.astype(int)
    r = np.corrcoef(np.repeat(gaps, repeats), np.repeat(target, repeats))[0, 1]
    return chi2.sf(repeats.sum() * r**2, 1)


@pytest.mark.parametrize("n_classes", [0, 2, 3, 6])
def test_gaps_are_informative_below_a_probability_of_one_percent(n_classes):
    rng = np.random.default_rng(n_classes)
    decisions = []
    for _ in range(200):
        strength = rng.uniform(0.0, 0.5)
        weight = rng.integers(1, 4, 120).astype(float)
        if n_classes:
            target = rng.integers(0, n_classes, 120)
            gaps = rng.random(120) < 0.25 + strength * (target == 0)
            p = _p_value_of_classes(gaps, target, weight)
        else:
            target = rng.normal(size=120)
            gaps = rng.random(120) < 0.25 + strength * (target > 1.0)
            p = _p_value_of_numbers(gaps, target, weight)
        assert gaps_are_informative(gaps, target, weight) == (p < 0.01), p
        decisions.append(0.002 < p < 0.05)
    assert sum(decisions) > 20  # cases that are close enough to tell levels apart


def test_with_several_targets_one_percent_holds_for_all_of_them_together():
    """Each of m targets is tested at 1 % / m."""
    rng = np.random.default_rng(0)
    decisions = []
    for _ in range(200):
        gaps = rng.random(120) < 0.3
        targets = rng.normal(size=(120, 5))
        targets[:, 2] += rng.uniform(0.0, 1.0) * gaps
        p = min(_p_value_of_numbers(gaps, column, np.ones(120)) for column in targets.T)
        assert gaps_are_informative(gaps, targets, np.ones(120)) == (5 * p < 0.01), p
        decisions.append(0.002 < p < 0.01)
    assert sum(decisions) > 5
