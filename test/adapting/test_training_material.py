# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Laps chosen for a training: the newest."""

from dataclasses import replace

import numpy as np
import pytest

from two_manifold_ros.adapting.training_material import newest_part, without
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate


def test_newest_laps_reach_back_over_drives_and_holes() -> None:
    whole = run_to_recording(simulate(SlotCarSettings(seed=5, rate_hz=20.0), samples=1800))
    early, late = whole.between(None, 40.0), whole.between(50.0, 60.0)
    hole = (early.positions.stamps < early.imu.first_stamp + 25 * 10**9) | (
        early.positions.stamps > early.imu.first_stamp + 35 * 10**9
    )
    early = replace(early, positions=early.positions.select(hole))
    first, last = newest_part([early, late], 20.0, 10**9)
    assert last is late
    # Ten of the last drive, five after the hole, and five before it.
    since_s = (int(first.imu.stamps[0]) - early.imu.first_stamp) * 1e-9
    assert since_s == pytest.approx(20.0, abs=0.3)
    assert newest_part([early, late], 1000.0, 10**9) == [early, late]
    (only,) = newest_part([early, late], 3.0, 10**9)
    seconds = (only.imu.stamps[-1] - only.imu.stamps[0]) * 1e-9
    assert seconds == pytest.approx(3.0, abs=0.3)


def test_outliers_and_long_times_without_positions_are_left_out_and_positions_stay() -> None:
    whole = run_to_recording(simulate(SlotCarSettings(seed=5, rate_hz=20.0), samples=800))
    since_s = (whole.positions.stamps - whole.imu.first_stamp) * 1e-9
    holed = whole.positions.select((since_s < 10.0) | (since_s > 15.0))
    begin_ns = whole.imu.first_stamp + 20 * 10**9
    outliers = [(begin_ns, begin_ns + 3 * 10**9)]
    for longest_s, removed_s in ((4.0, 8.0), (6.0, 3.0)):
        (kept,) = without([replace(whole, positions=holed)], outliers, longest_s)
        assert len(whole.imu.stamps) - len(kept.imu.stamps) == pytest.approx(
            20.0 * removed_s, abs=2
        )
        assert kept.positions is holed
        inside = (kept.imu.stamps > begin_ns) & (kept.imu.stamps <= begin_ns + 3 * 10**9)
        assert not inside.any()


def test_a_sensor_that_repeats_itself_is_left_out_unless_it_is_soon_over() -> None:
    whole = run_to_recording(simulate(SlotCarSettings(seed=5, rate_hz=20.0), samples=800))
    samples = whole.imu.samples.copy()
    samples[:, 3] = np.nan
    samples[100:200] = samples[100]
    samples[400:440] = samples[400]
    stuck = replace(whole, imu=replace(whole.imu, samples=samples))
    (kept,) = without([stuck], [], 3.0)
    assert len(kept.imu.stamps) == pytest.approx(700, abs=1)
    assert not np.isin(whole.imu.stamps[102:200], kept.imu.stamps).any()
