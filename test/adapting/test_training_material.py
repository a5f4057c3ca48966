# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Laps chosen for a training: the newest."""

import numpy as np
from other_recordings import with_imu, without_positions
import pytest

from two_manifold_ros.adapting.training_material import (
    check_one_route,
    lap_seconds,
    newest_part,
    with_news,
)
from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate


@pytest.fixture(scope='module')
def whole() -> Recording:
    return run_to_recording(simulate(SlotCarSettings(seed=5, rate_hz=20.0), samples=1800))


def test_newest_laps_reach_back_over_drives_and_holes(whole):
    early = without_positions(whole.between(None, 40.0), 25.0, 35.0)
    late = whole.between(50.0, 60.0)
    first, last = newest_part([early, late], 20.0, 10**9)
    assert last is late
    # Ten of the last drive, five after the hole, and five before it.
    since_s = (int(first.imu.stamps[0]) - early.imu.first_stamp) * 1e-9
    assert since_s == pytest.approx(20.0, abs=0.3)
    assert newest_part([early, late], 1000.0, 10**9) == [early, late]
    (only,) = newest_part([early, late], 3.0, 10**9)
    seconds = (only.imu.stamps[-1] - only.imu.stamps[0]) * 1e-9
    assert seconds == pytest.approx(3.0, abs=0.3)


def test_long_times_without_news_are_left_out_and_positions_stay(whole):
    """Without positions, or with a sensor that repeats itself."""
    holed = without_positions(whole.between(None, 40.0), 10.0, 15.0)
    for longest_s, removed_s in ((4.0, 5.0), (6.0, 0.0)):
        (kept,) = with_news([holed], longest_s)
        removed = len(holed.imu.stamps) - len(kept.imu.stamps)
        assert removed == pytest.approx(20.0 * removed_s, abs=2)
        assert kept.positions is holed.positions
    part = whole.between(None, 40.0)
    samples = part.imu.samples.copy()
    samples[:, 3] = np.nan
    samples[100:200] = samples[100]
    samples[400:440] = samples[400]
    (kept,) = with_news([with_imu(part, samples=samples)], 3.0)
    assert len(kept.imu.stamps) == pytest.approx(700, abs=1)
    assert not np.isin(whole.imu.stamps[102:200], kept.imu.stamps).any()


def test_a_lap_of_several_routes_is_the_longest(kart_atlas):
    laps_s = [lap_seconds(each) for each in kart_atlas.routes.values()]
    # Compared in quarters of no known length, one of two filters would win by chance.
    assert lap_seconds(kart_atlas) == max(laps_s) > 40.0
    # One route is learned, and would take the place of all.
    with pytest.raises(InputError, match='holds several routes'):
        check_one_route(kart_atlas, 'karts.npz')
    check_one_route(kart_atlas.routes['hall'], 'hall.npz')
