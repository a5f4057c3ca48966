# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A change is kept if it is better by a margin, on most laps, and not by chance."""

from __future__ import annotations

import numpy as np
import pytest

from two_manifold_ros.training.tuning_trials import clearly_better, laps_won, Trial

NAN = float('nan')
BEFORE = Trial(1.0, ((1.0, 1.0, 1.0), (1.0, 1.0)))


@pytest.mark.parametrize(
    ('score_m', 'blocks', 'better'),
    [
        (0.9, ((0.9, 0.9, 0.92), (0.88, 0.9)), True),
        (0.981, ((0.9, 0.9, 0.92), (0.88, 0.9)), False),  # hardly better in total
        (0.9, ((0.9, 0.9, 0.92), (1.1, 1.1)), False),  # in one block of two
        (0.9, ((0.9, 0.9, 0.1), (0.9, 1.06)), False),  # one lap makes it, within the noise
        (0.9, ((0.9, 0.9, NAN), (0.88, NAN)), True),
        (0.9, ((0.9, 0.91, NAN), (NAN, NAN)), True),  # the only block
        (0.9, ((0.9, NAN, NAN), (NAN, NAN)), False),  # one lap says nothing
        (1.1, ((1.1, 1.1, 1.1), (1.1, 1.2)), False),
    ],
)
def test_clearly_better(score_m: float, blocks: tuple[tuple[float, ...]], better: bool) -> None:
    trial = Trial(score_m, blocks)
    assert clearly_better(trial, BEFORE) == better
    assert clearly_better(BEFORE, trial) == (score_m > 1.0)


def test_most_laps_have_to_be_won() -> None:
    """A mean gain of certain sign is not enough if most laps lose."""
    before = Trial(1.0, ((1.0,) * 4, (1.0,) * 4, (1.0,) * 12))
    laps = Trial(0.8, ((0.01,) * 4, (0.01,) * 4, (1.001,) * 12))
    assert laps_won(laps, before) == (8, 20)
    assert not clearly_better(laps, before)


def test_most_blocks_have_to_be_won() -> None:
    """Many laps of one block are of one time, and may be alike by one chance."""
    before = Trial(1.0, ((1.0,) * 10, (1.0,), (1.0,)))
    assert clearly_better(Trial(0.9, ((0.9,) * 10, (0.9,), (1.01,))), before)
    assert not clearly_better(Trial(0.9, ((0.9,) * 10, (1.01,), (1.01,))), before)


def test_chance_is_seldom_taken_for_a_gain() -> None:
    rng = np.random.default_rng(0)
    taken = 0
    for _ in range(2000):
        before, after = 1.0 + 0.2 * rng.normal(size=(2, 6))
        trials = [Trial(float(each.mean()), (tuple(each),)) for each in (before, after)]
        taken += clearly_better(trials[1], trials[0])
    assert 10 <= taken <= 60


def test_laps_won() -> None:
    assert laps_won(Trial(0.9, ((0.5, 1.0, 2.0), (NAN, 0.9))), BEFORE) == (2, 4)
