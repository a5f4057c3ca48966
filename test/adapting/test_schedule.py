# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""When a training starts; what of a drive is news; newest laps: `test_stream_learner`."""

import math

import numpy as np
from other_recordings import with_imu, without_positions
import pytest

from two_manifold_ros.adapting.prequential import BLOCKS_PER_LAP
from two_manifold_ros.adapting.stream_learner import FIRST_S, GROWTH, Schedule, USUAL_PARTS
from two_manifold_ros.adapting.training_material import check_one_route, lap_seconds, with_news
from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate

STEP_NS = 100_000_000
HOLE_NS = 1_000_000_000
LAP_S = 8.0


def driven(schedule: Schedule, seconds: float) -> int:
    """Drive on with positions; return the stamp of the newest."""
    if schedule.newest_ns is None:
        schedule.count(10**18, HOLE_NS)
    for _ in range(round(seconds * 1e9 / STEP_NS)):
        schedule.count(schedule.newest_ns + STEP_NS, HOLE_NS)
    return schedule.newest_ns


def trainings(schedule: Schedule, until_s: float, lap_s: float = math.nan) -> list[float]:
    """Return of how many seconds the models are that are trained until then."""
    found = []
    while schedule.known_s < until_s:
        driven(schedule, 0.1)
        if schedule.is_due:
            found.append(round(schedule.known_s, 1))
            schedule.begin_training(lap_s, schedule.known_s)
    return found


@pytest.fixture
def schedule() -> Schedule:
    return Schedule()


@pytest.mark.parametrize('rest_s', [0.0, 5.0])
def test_attempts_and_trainings_follow_as_the_drive_grows(rest_s):
    """Laps count from where the first one would have started without a rest."""
    attempts = trainings(Schedule(), 40.0)
    assert attempts == pytest.approx([FIRST_S * GROWTH**each for each in range(6)], rel=0.03)
    schedule = Schedule()
    driven(schedule, 1.2 * LAP_S + rest_s)
    schedule.begin_training(math.nan, schedule.known_s)
    schedule.count_laps(1.2, LAP_S)
    found = trainings(schedule, 40.0 * LAP_S, LAP_S)
    laps = [(each - rest_s) / LAP_S for each in found]
    assert laps == pytest.approx([2.0, 3.0, 5.0, 8.0, 13.0, 21.0, 34.0], abs=0.05)


def test_a_training_a_little_early_is_the_one_of_its_lap(schedule):
    newest_ns = driven(schedule, 5.0)
    # What is not given positions does not count, nor does a clock that is set back.
    schedule.count(newest_ns + 60 * 10**9, HOLE_NS)
    schedule.count(newest_ns, HOLE_NS)
    driven(schedule, 2.0)
    assert schedule.known_s == pytest.approx(7.0)
    for driven_laps, next_laps in ((1.4, 2.0), (1.8, 3.0), (3.3, 5.0), (4.9, 8.0)):
        driven(schedule, driven_laps * LAP_S - schedule.known_s)
        schedule.begin_training(LAP_S, schedule.known_s)
        assert schedule.due_s == pytest.approx(next_laps * LAP_S, abs=0.3)
    # What is not kept any more does not slow learning down.
    schedule.known_s = 1e6
    schedule.begin_training(LAP_S, 8 * LAP_S)
    assert schedule.due_s - schedule.known_s == pytest.approx(5 * LAP_S)


@pytest.mark.parametrize('lap_s', [math.nan, LAP_S])
def test_positions_end_once_and_what_is_not_learned_is_due_then(schedule, lap_s):
    schedule.look_for_end(10**18, HOLE_NS, lap_s)
    silent_ns = max(HOLE_NS, round(1e9 * lap_s) if lap_s > 0.0 else 0)
    least_s = lap_s / BLOCKS_PER_LAP if lap_s > 0.0 else FIRST_S
    for seconds, is_due in ((0.9 * least_s, False), (0.2 * least_s, True)):
        newest_ns = driven(schedule, seconds)
        schedule.due_s = 1e3
        schedule.look_for_end(newest_ns + silent_ns, HOLE_NS, lap_s)
        assert not schedule.ended
        schedule.look_for_end(newest_ns + silent_ns + 1, HOLE_NS, lap_s)
        assert (schedule.ended, schedule.is_due) == (True, is_due)
        schedule.due_s = 1e3
        schedule.look_for_end(newest_ns + 10 * silent_ns, HOLE_NS, lap_s)
        assert not schedule.is_due


def judged(schedule: Schedule, *errors: float) -> list[bool]:
    """Judge quarters of a lap, each risen from its start; return which are usual."""
    usual = []
    for error_m in errors:
        begin_ns = schedule.newest_ns or 10**18
        end_ns = driven(schedule, LAP_S / BLOCKS_PER_LAP)
        usual.append(schedule.judge(error_m, begin_ns, end_ns, LAP_S))
    return usual


def test_what_is_unlike_the_parts_before_for_less_than_two_laps_is_no_change(schedule):
    # Errors may differ in the parts of a lap.
    assert all(judged(schedule, 0.5, *[0.1] * (USUAL_PARTS - 1), 0.2))
    assert not any(judged(schedule, *[1.0] * (USUAL_PARTS - 1)))
    assert all(judged(schedule, *[0.25, 0.1, 0.1, 0.1]))
    assert judged(schedule, 1.0) == [False]
    schedule.interrupt()
    judged(schedule, *[1.0] * (USUAL_PARTS - 1))
    assert schedule.since_ns == 0


UNLIKE = [1.0] * USUAL_PARTS
ONCE_A_LAP = [1.0, *[0.1] * (BLOCKS_PER_LAP - 1)]


@pytest.mark.parametrize('errors', [UNLIKE, [*ONCE_A_LAP, *ONCE_A_LAP, 1.0]])
def test_what_lasts_for_two_laps_is_a_change_and_due_at_once(schedule, errors):
    """As where a stretch was rebuilt."""
    judged(schedule, *[0.1] * USUAL_PARTS)
    begin_ns = schedule.newest_ns or 0
    judged(schedule, *errors[:-1])
    assert schedule.since_ns == 0
    schedule.begin_training(LAP_S, schedule.known_s)
    judged(schedule, errors[-1])
    assert schedule.since_ns == begin_ns
    assert schedule.is_due
    schedule.begin_training(LAP_S, schedule.known_s)
    assert schedule.due_s == pytest.approx(schedule.known_s + LAP_S, abs=0.3 * LAP_S)
    schedule.set_back()
    assert schedule.since_ns == 0


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
