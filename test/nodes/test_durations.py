# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Quantiles of durations."""

import math

from two_manifold_ros.interface.input_checks import Durations


def test_quantiles_are_of_the_last_thousand_in_microseconds() -> None:
    durations = Durations()
    assert math.isnan(durations.microseconds()['p50'])
    for _ in range(100):
        durations.add(10**9)
    for _ in range(1000):
        durations.add(5000)
    assert durations.microseconds() == {'p50': 5.0, 'p99': 5.0, 'max': 5.0}
    durations.add(9000)
    assert durations.microseconds()['max'] == 9.0
