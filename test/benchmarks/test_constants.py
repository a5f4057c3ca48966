# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A factor is chosen on all cases but the one that it is judged by."""

from __future__ import annotations

from bench_constants import FACTORS, left_out
import pytest


def test_each_case_is_judged_by_what_the_others_chose() -> None:
    losses = {'a': [0.0, 1.0, 2.0], 'b': [5.0, 1.0, 0.5], 'c': [1.2, 1.0, 1.1]}
    chosen, gained = left_out(losses)
    # Without a: 3.1, 1, .8; without b: .6, 1, 1.55; without c: 2.5, 1, 1.25.
    assert chosen == {'a': FACTORS[2], 'b': FACTORS[0], 'c': FACTORS[1]}
    assert gained == pytest.approx({'a': -1.0, 'b': -4.0, 'c': 0.0})
