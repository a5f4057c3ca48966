# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The benchmark of learning on the robot: targets and laps."""

from adaptation_trials import (
    ERROR,
    feed,
    FILLED,
    joined,
    LAP,
    laps_until_back,
    longest_run,
    MEAN,
    VALID,
)
from changed_streams import poisoned
import numpy as np
import pytest
from worlds.drive import drive
from worlds.table import world_named

from two_manifold_ros.adapting.stream_learner import make_learner
from two_manifold_ros.names import LEARNERS


def test_laps_until_back_take_two_together():
    assert laps_until_back(np.array([0.5, 2.0, 0.9, 0.9]), 1.0) == 2
    assert laps_until_back(np.array([0.9, 0.9, 2.0, 2.0]), 1.0) == 0
    assert laps_until_back(np.full(4, 2.0), 1.0) is None
    assert longest_run([True, False, True, True]) == 2


@pytest.mark.parametrize('name', LEARNERS)
def test_what_is_reported_is_judged_before_positions_are_given(name):
    made = drive(world_named('slot_car'), seconds=8.0).recording
    stream = joined([made, made], 7.0)
    assert stream.laps[0] == pytest.approx(0.0, abs=0.1)
    assert (np.diff(stream.laps) > -0.01).all()
    learner = make_learner(name)
    ticks = feed(learner, stream, 0, len(made.imu.stamps))
    learner.close()
    # All but the first three of eight seconds.
    assert ticks[:, FILLED].mean() == pytest.approx(5 / 8, abs=0.02)
    # It knows nothing yet, so that the mean position stands for it.
    assert len(ticks) > 100
    assert not ticks[:, VALID].any()
    np.testing.assert_array_equal(ticks[:, ERROR], ticks[:, MEAN])
    assert ticks[-1, LAP] <= stream.laps[-1]
    assert learner.reference.counters['used'] > 100


def test_a_spoiled_lap_is_spoiled_alone():
    stream = joined([drive(world_named('slot_car'), seconds=8.0).recording], 7.0)
    for name, each in poisoned(stream, 100, 200, 0).items():
        same = (each.samples == stream.samples).all(axis=1)
        assert same[:100].all()
        assert same[200:].all()
        assert same[100:200].any() == (name in {'none', 'wrong positions'})
        moved = stream.fix_stamps[(each.fixes != stream.fixes).any(axis=1)]
        assert moved.any() == (name in {'lifted', 'other route', 'wrong positions'})
        assert ((moved >= stream.stamps[100]) & (moved < stream.stamps[200])).all()
