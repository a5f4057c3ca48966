# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Standstills are found in any window, and where a position is unknown none is."""

import numpy as np
import pytest

from two_manifold_ros.ticks.standing import SLOW_SHARE, standing, STANDS_S, stretches_of
from two_manifold_ros.typing import Bools, Floats


def naive(track: Floats, slow_mps: float, most_m: float, period_s: float) -> Bools:
    """Return the ticks of windows in which a vehicle gets nowhere, each window by itself."""
    still = np.zeros(len(track), dtype=np.bool_)
    for seconds in STANDS_S:
        width = max(round(seconds / period_s), 2) + 1
        for begin in range(len(track) - width + 1):
            window = track[begin : begin + width]
            extent = np.linalg.norm(np.ptp(window, axis=0))
            if extent < min(slow_mps * (width - 1) * period_s, most_m):
                still[begin : begin + width] = True
    return still


@pytest.mark.parametrize('rate_hz', [1.0, 3.0, 20.0, 80.0])
@pytest.mark.parametrize('seed', range(4))
def test_standstills_are_those_of_each_window_by_itself(rate_hz, seed):
    draws = np.random.default_rng(seed)
    speeds = np.repeat(draws.choice([0.0, 0.5, 2.0], 12), round(6.0 * rate_hz))
    headings = np.cumsum(draws.normal(0.0, 0.3 / np.sqrt(rate_hz), len(speeds)))
    steps = speeds[:, None] / rate_hz * np.column_stack([np.cos(headings), np.sin(headings)])
    track = np.cumsum(steps, axis=0) + draws.normal(0.0, 0.001, (len(speeds), 2))
    track[draws.random(len(track)) < 0.003] = np.nan
    known = track[np.isfinite(track).all(axis=1)]
    most_m = SLOW_SHARE * float(np.linalg.norm(np.ptp(known, axis=0)))
    (found,) = standing([track], 2.0, 1.0 / rate_hz)
    every = naive(track, SLOW_SHARE * 2.0, most_m, 1.0 / rate_hz)
    assert every.any()
    assert not every.all()
    # The last metres before a standstill, and the first after, are driven: the rest is the same.
    assert not (found & ~every).any()
    assert found.sum() > 0.5 * every.sum()
    nearby = round(2.0 * STANDS_S[-1] * rate_hz)
    for begin, end in stretches_of(every & ~found):
        edges = [edge for each in stretches_of(every) for edge in each]
        assert min(abs(begin - edge) for edge in edges) <= nearby
        assert min(abs(end - edge) for edge in edges) <= nearby
