# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What of a drive is news, and how long laps are; the newest laps: `test_stream_learner`."""

import numpy as np
from other_recordings import with_imu, without_positions
import pytest

from two_manifold_ros.adapting.training_material import (
    check_one_route,
    lap_seconds,
    with_news,
)
from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate


@pytest.fixture(scope='module')
def whole() -> Recording:
    return run_to_recording(simulate(SlotCarSettings(seed=5, rate_hz=20.0), samples=1800))


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
