# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which windows are paired with which tick."""

from __future__ import annotations

import numpy as np

from two_manifold_ros.adapting.window_delay import WindowDelay

WIDTH = 3


def push_ticks(delay: WindowDelay, first: int, count: int, *, seen: int) -> list[tuple]:
    """Push ticks whose features are their numbers; a window is named after its last tick."""
    samples = []
    for tick in range(first, first + count):
        window = np.array([tick]) if tick - seen >= WIDTH - 1 else None
        sample = delay.push(np.array([tick]), window)
        if sample is not None:
            samples.append(tuple(int(each[0]) for each in sample))
    return samples


def test_a_sample_has_the_windows_before_from_and_after_its_tick() -> None:
    samples = push_ticks(WindowDelay(WIDTH), 0, 9, seen=0)
    # Of tick 3: the test is ticks 3 to 5, the next one 4 to 6, the history 0 to 2.
    assert samples == [(5, 6, 2, 3), (6, 7, 3, 4), (7, 8, 4, 5)]


def test_no_sample_reaches_across_a_seam() -> None:
    delay = WindowDelay(WIDTH)
    push_ticks(delay, 0, 9, seen=0)
    delay.clear()
    samples = push_ticks(delay, 20, 8, seen=20)
    assert samples[0] == (25, 26, 22, 23)
    assert len(samples) == 2
