# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Laps chosen for a training: followed ones, and the newest."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from two_manifold_ros.adapting.training_material import FollowedLaps, newest_part
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate

if TYPE_CHECKING:
    from collections.abc import Iterable

STEP_NS = 100_000_000
LAP_S = 2.0
TRACKING, UNSURE = Status.TRACKING, Status.UNSURE


def published(tick: int, status: Status = TRACKING, speed: float = 2.0) -> Any:  # noqa: ANN401 - a part
    return SimpleNamespace(
        stamp_ns=tick * STEP_NS,
        status=status,
        positions=np.array([[float(tick), -float(tick)], [0.0, 0.0]]),
        velocity=np.array([0.0, -speed]),
        velocity_covariance=np.diag([0.25, 0.25]),
    )


def taken(laps: FollowedLaps, ticks: Iterable[int]) -> list[tuple[int, float, float]]:
    return [tuple(each) for tick in ticks for each in laps.take(published(tick), LAP_S)]


def test_nothing_counts_before_a_whole_lap_and_then_all_of_it() -> None:
    laps = FollowedLaps()
    assert taken(laps, range(20)) == []
    assert not laps.is_due(LAP_S)
    assert taken(laps, [20]) == [(each * STEP_NS, each, -each) for each in range(21)]
    assert taken(laps, [21]) == [(21 * STEP_NS, 21, -21)]
    assert laps.seconds == pytest.approx(2.1)
    assert laps.is_due(LAP_S)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=6))
def test_only_runs_of_a_lap_count(lengths: list[int]) -> None:
    laps, tick, wanted, seconds = FollowedLaps(), 0, [], 0.0
    found = []
    for length in lengths:
        run = list(range(tick, tick + length))
        found += [each[0] // STEP_NS for each in taken(laps, run)]
        assert laps.take(published(tick + length, UNSURE), LAP_S) == []
        tick += length + 1
        if length > 20:
            wanted += run
            seconds += 0.1 * (length - 1)
    assert found == wanted
    assert laps.seconds == pytest.approx(seconds)


def test_a_training_is_due_after_one_lap_two_four() -> None:
    laps, due = FollowedLaps(), []
    for tick in range(200):
        laps.take(published(tick), LAP_S)
        if laps.is_due(LAP_S):
            due.append(tick)
            laps.begin_training()
    assert due == [20, 40, 80, 160]


def test_a_reset_ends_a_run() -> None:
    laps = FollowedLaps()
    taken(laps, range(15))
    laps.stop()
    assert taken(laps, range(15, 35)) == []
    assert taken(laps, [35])


def test_a_standing_vehicle_is_not_learned_and_continues_where_it_was() -> None:
    laps = FollowedLaps()
    taken(laps, range(15))
    for tick in range(15, 5000):
        assert laps.take(published(tick, speed=0.5), LAP_S) == []
    assert laps.seconds == 0.0
    found = taken(laps, range(5000, 5006))
    assert [each[0] // STEP_NS for each in found] == [*range(15), *range(5000, 5006)]
    assert laps.seconds == pytest.approx(2.0)


def test_of_a_creeping_vehicle_no_more_than_a_lap_waits() -> None:
    laps, waiting = FollowedLaps(), 0
    for tick in range(1000):
        drives = tick % 2
        waiting += drives - len(laps.take(published(tick, speed=2.0 * drives), LAP_S))
        assert waiting <= 20
    assert laps.seconds == pytest.approx(50.0, abs=0.1)


def test_without_a_lap_nothing_counts() -> None:
    laps = FollowedLaps()
    for tick in range(50):
        assert laps.take(published(tick), np.nan) == []


def test_newest_laps_reach_back_over_drives_and_holes() -> None:
    whole = run_to_recording(simulate(SlotCarSettings(seed=5, rate_hz=20.0), samples=1800))
    early, late = whole.between(None, 40.0), whole.between(50.0, 60.0)
    assert early.positions is not None
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
