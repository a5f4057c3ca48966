# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Laps chosen for a training: the newest."""

from dataclasses import replace

import numpy as np
from other_recordings import with_imu, without_positions
import pytest

from two_manifold_ros.adapting.training_material import (
    lap_seconds,
    newest_part,
    with_route,
    without,
)
from two_manifold_ros.model.atlas import atlas_of
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


def test_outliers_and_long_times_without_positions_are_left_out_and_positions_stay(whole):
    holed = without_positions(whole.between(None, 40.0), 10.0, 15.0)
    begin_ns = holed.imu.first_stamp + 20 * 10**9
    outliers = [(begin_ns, begin_ns + 3 * 10**9)]
    for longest_s, removed_s in ((4.0, 8.0), (6.0, 3.0)):
        (kept,) = without([holed], outliers, longest_s)
        removed = len(holed.imu.stamps) - len(kept.imu.stamps)
        assert removed == pytest.approx(20.0 * removed_s, abs=2)
        assert kept.positions is holed.positions
        inside = (kept.imu.stamps > begin_ns) & (kept.imu.stamps <= begin_ns + 3 * 10**9)
        assert not inside.any()


def test_a_sensor_that_repeats_itself_is_left_out_unless_it_is_soon_over(whole):
    part = whole.between(None, 40.0)
    samples = part.imu.samples.copy()
    samples[:, 3] = np.nan
    samples[100:200] = samples[100]
    samples[400:440] = samples[400]
    (kept,) = without([with_imu(part, samples=samples)], [], 3.0)
    assert len(kept.imu.stamps) == pytest.approx(700, abs=1)
    assert not np.isin(whole.imu.stamps[102:200], kept.imu.stamps).any()


def test_a_lap_of_several_routes_is_the_longest(kart_atlas):
    laps_s = [lap_seconds(each) for each in kart_atlas.routes.values()]
    # Compared in quarters of no known length, one of two filters would win by chance.
    assert lap_seconds(kart_atlas) == max(laps_s) > 40.0


def test_a_route_is_replaced_by_its_newer_map_or_where_it_is_followed_else_there_is_one_more(
    kart_atlas,
):
    hall, ring, paddock = (kart_atlas.routes[name] for name in ('hall', 'ring', 'paddock'))
    known = atlas_of({'hall': hall, 'ring': ring})
    newer = with_route(known, replace(ring, kernel='newer'), 'hall')
    # Of the positions rather than of what is followed by the IMU.
    assert newer.routes['hall'] is hall
    assert newer.routes['ring'].kernel == 'newer'
    few = replace(ring, summary={**ring.summary, 'laps': 0.5})
    assert with_route(known, few, None) is known
    moved = with_route(known, paddock, 'hall')
    assert list(moved.routes) == ['hall', 'ring']
    assert moved.routes['hall'] is paddock
    assert list(with_route(known, paddock, None).routes) == ['hall', 'ring', 'route 3']
    assert list(with_route(hall, paddock, None).routes) == ['route 1', 'route 2']
    assert with_route(hall, paddock, '') is paddock
    # The only route of an atlas keeps its name.
    assert with_route(atlas_of({'hall': hall}), hall, 'hall').names == ('hall',)


@pytest.mark.slow
def test_a_newer_map_of_a_network_keeps_its_lines(forked_model):
    bare = replace(forked_model, lines=None)
    newer = with_route(forked_model, bare, '')
    assert np.array_equal(newer.lines.passes, forked_model.lines.passes)
    again = with_route(atlas_of({'fork': forked_model}), bare, None)
    assert again.route_names == ('left', 'right')
