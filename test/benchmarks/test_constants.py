# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A factor is chosen on other cases than those that it is judged by."""

from bench_constants import CHOOSING, CONSTANTS, FACTORS, gained_on, left_out, scaled, SHARES
from gauntlet_drives import case_names
import pytest


def test_each_case_is_judged_by_what_the_others_chose():
    losses = {'a': [0.0, 1.0, 2.0], 'b': [5.0, 1.0, 0.5], 'c': [1.2, 1.0, 1.1]}
    chosen, gained = left_out(losses)
    # Without a: 3.1, 1, .8; without b: .6, 1, 1.55; without c: 2.5, 1, 1.25.
    assert chosen == {'a': FACTORS[2], 'b': FACTORS[0], 'c': FACTORS[1]}
    assert gained == pytest.approx({'a': -1.0, 'b': -4.0, 'c': 0.0})


def test_one_half_is_judged_by_what_the_other_chose():
    losses = {'a': [0.0, 1.0, 2.0], 'b': [5.0, 1.0, 0.5], 'c': [1.2, 1.0, 1.1]}
    assert gained_on(losses, {'a'}) == (FACTORS[2], pytest.approx(-1.0))
    assert gained_on(losses, {'b', 'c'}) == (FACTORS[0], pytest.approx((-4.0 - 0.2) / 2))
    assert set(CHOOSING) < set(case_names())


def test_shares_stay_shares():
    assert all(0.0 < scaled(each, factor) < 1.0 for each in SHARES for factor in FACTORS)
    assert scaled('starts_on', 2.0) == pytest.approx(0.75)
    assert scaled('leave', 2.0) == 2.0 * CONSTANTS['leave']
    assert {each for each, value in CONSTANTS.items() if value < 1.0} - set(SHARES) == {
        'sharpness',
        'free_variance',
    }
