# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Trainings start as the drive grows, when positions end, and when errors rise."""

import json
import math

import pytest

from two_manifold_ros.adapting.prequential import BLOCKS_PER_LAP
from two_manifold_ros.adapting.schedule import FIRST_S, GROWTH, Schedule, USUAL_PARTS

STEP_NS = 100_000_000
HOLE_NS = 1_000_000_000
LAP_S = 8.0


def driven(schedule: Schedule, seconds: float) -> int:
    """Drive on with positions; return the stamp of the newest."""
    newest_ns = schedule.newest_ns or 10**18
    if schedule.newest_ns is None:
        schedule.count(newest_ns, HOLE_NS)
    for _ in range(round(seconds * 1e9 / STEP_NS)):
        newest_ns += STEP_NS
        schedule.count(newest_ns, HOLE_NS)
    return newest_ns


def trainings(schedule: Schedule, until_s: float, lap_s: float = math.nan) -> list[float]:
    """Return of how many seconds the models are that are trained until then."""
    found = []
    while schedule.known_s < until_s:
        driven(schedule, 0.1)
        if schedule.is_due:
            found.append(round(schedule.known_s, 1))
            schedule.begin_training(lap_s, schedule.known_s, 0)
    return found


@pytest.fixture
def schedule() -> Schedule:
    return Schedule()


def test_what_is_not_given_positions_does_not_count(schedule):
    newest_ns = driven(schedule, 5.0)
    schedule.count(newest_ns + 60 * 10**9, HOLE_NS)
    # Nor does a clock that is set back.
    schedule.count(newest_ns, HOLE_NS)
    driven(schedule, 2.0)
    assert schedule.known_s == pytest.approx(7.0)


@pytest.mark.parametrize('rest_s', [0.0, 5.0])
def test_attempts_and_trainings_follow_as_the_drive_grows(rest_s):
    """Laps count from where the first one would have started without a rest."""
    attempts = trainings(Schedule(), 40.0)
    assert attempts == pytest.approx([FIRST_S * GROWTH**each for each in range(6)], rel=0.03)
    schedule = Schedule()
    driven(schedule, 1.2 * LAP_S + rest_s)
    schedule.begin_training(math.nan, schedule.known_s, 0)
    schedule.count_laps(1.2, LAP_S)
    found = trainings(schedule, 25.0 * LAP_S, LAP_S)
    laps = [(each - rest_s) / LAP_S for each in found]
    assert laps == pytest.approx([2.0, 3.0, 4.0, 5.0, 10.0, 20.0], abs=0.05)


def test_a_training_a_little_early_is_the_one_of_its_lap(schedule):
    for driven_laps, next_laps in ((1.4, 2.0), (1.8, 3.0), (3.3, 4.0), (4.9, 10.0)):
        driven(schedule, driven_laps * LAP_S - schedule.known_s)
        schedule.begin_training(LAP_S, schedule.known_s, 0)
        assert schedule.due_s == pytest.approx(next_laps * LAP_S, abs=0.3)
    # What is not kept any more does not slow learning down.
    schedule.known_s = 1e6
    schedule.begin_training(LAP_S, 8 * LAP_S, 0)
    assert schedule.due_s - schedule.known_s == pytest.approx(8 * LAP_S)


def test_positions_end_once_and_another_training_is_worth_a_part_of_a_lap(schedule):
    assert not schedule.has_stopped(10**18, HOLE_NS, math.nan)
    newest_ns = driven(schedule, FIRST_S - 1.0)
    # Too little.
    assert not schedule.has_grown(math.nan)
    newest_ns = driven(schedule, 2.0)
    for lap_s, silent_ns in ((math.nan, HOLE_NS), (LAP_S, round(1e9 * LAP_S))):
        assert not schedule.has_stopped(newest_ns + silent_ns, HOLE_NS, lap_s)
        assert schedule.has_stopped(newest_ns + silent_ns + 1, HOLE_NS, lap_s)
        assert schedule.has_grown(lap_s)
    schedule.begin_training(LAP_S, schedule.known_s, 0)
    schedule.ended = True
    assert not schedule.has_stopped(newest_ns + 10 * HOLE_NS, HOLE_NS, math.nan)
    driven(schedule, 0.2 * LAP_S)
    assert not schedule.ended
    assert not schedule.has_grown(LAP_S)
    driven(schedule, 0.2 * LAP_S)
    assert schedule.has_grown(LAP_S)


def judged(schedule: Schedule, *errors: float, spread_m: float = 0.1) -> None:
    """Judge parts of a quarter of a lap, each risen from its start, of a filter that sure."""
    for error_m in errors:
        begin_ns = schedule.newest_ns or 10**18
        contradiction = (error_m / spread_m) ** 2
        end_ns = driven(schedule, LAP_S / BLOCKS_PER_LAP)
        schedule.judge(error_m, contradiction, begin_ns, end_ns, LAP_S)


def risen(schedule: Schedule) -> int:
    """Let errors rise for two laps after some usual ones; return since when."""
    judged(schedule, *[0.1] * USUAL_PARTS)
    schedule.begin_training(LAP_S, schedule.known_s, 0)
    begin_ns = schedule.newest_ns or 0
    judged(schedule, *[1.0] * USUAL_PARTS)
    return begin_ns


def test_what_is_unlike_the_parts_before_for_less_than_two_laps_is_left_out(schedule):
    judged(schedule, 0.5, *[0.1] * (USUAL_PARTS - 1), 0.2)
    begin_ns = schedule.newest_ns
    judged(schedule, *[1.0] * (USUAL_PARTS - 1))
    end_ns = schedule.newest_ns
    # Errors may differ in the parts of a lap.
    judged(schedule, *[0.25, 0.1, 0.1, 0.1])
    assert schedule.outliers == [(begin_ns, end_ns)]
    assert schedule.since_ns == 0
    again_ns = schedule.newest_ns
    judged(schedule, 1.0)
    schedule.interrupt()
    assert schedule.outliers == [(begin_ns, end_ns), (again_ns, schedule.newest_ns)]
    schedule.begin_training(LAP_S, schedule.known_s, (end_ns or 0) + 1)
    assert schedule.outliers == [(again_ns, schedule.newest_ns)]
    schedule.set_back()
    assert schedule.outliers == []


def test_what_contradicts_a_filter_that_was_lost_just_before_is_left_out(schedule):
    """Errors of a model that did not know the route yet hide no wrong position."""
    judged(schedule, *[5.0] * BLOCKS_PER_LAP, spread_m=5.0)
    judged(schedule, *[0.1] * BLOCKS_PER_LAP)
    begin_ns = schedule.newest_ns
    judged(schedule, 3.0, math.inf, 3.0)
    assert schedule.outliers == [(begin_ns, schedule.newest_ns)]


def test_a_filter_that_knows_that_it_is_lost_has_something_to_learn(schedule):
    judged(schedule, *[0.1] * USUAL_PARTS)
    begin_ns = schedule.newest_ns
    judged(schedule, *[2.0] * (USUAL_PARTS - 1), spread_m=2.0)
    assert (schedule.since_ns, schedule.outliers) == (0, [])
    # But for so long it is a change.
    judged(schedule, 2.0, spread_m=2.0)
    assert (schedule.since_ns, schedule.outliers) == (begin_ns, [])


def test_a_filter_that_is_always_too_sure_contradicts_itself_by_no_more_than_usual(schedule):
    judged(schedule, *[0.1] * USUAL_PARTS, *[0.14] * BLOCKS_PER_LAP, spread_m=0.01)
    assert schedule.outliers == []
    judged(schedule, 0.3, spread_m=0.01)
    assert len(schedule.outliers) == 1


def test_what_is_unlike_once_in_each_lap_is_a_change(schedule):
    """As a stretch that was rebuilt."""
    lap = [1.0, *[0.1] * (BLOCKS_PER_LAP - 1)]
    judged(schedule, *[0.1] * USUAL_PARTS)
    begin_ns = schedule.newest_ns
    judged(schedule, *lap, *lap)
    assert schedule.since_ns == 0
    judged(schedule, 1.0)
    assert (schedule.since_ns, schedule.outliers) == (begin_ns, [])


def test_of_a_change_whose_start_is_forgotten_all_that_is_kept_is_new(schedule):
    judged(schedule, *[0.1] * USUAL_PARTS)
    begin_ns = schedule.newest_ns
    judged(schedule, *[1.0] * (USUAL_PARTS - 1))
    schedule.begin_training(LAP_S, schedule.known_s, (schedule.newest_ns or 0) + 1)
    judged(schedule, 1.0)
    assert (schedule.since_ns, schedule.outliers) == (begin_ns, [])


def test_what_lasts_for_two_laps_is_a_change_and_due_at_once(schedule):
    """It is tried alone until it is learned."""
    begin_ns = risen(schedule)
    assert (schedule.since_ns, schedule.outliers) == (begin_ns, [])
    assert schedule.is_due
    assert schedule.begin_training(LAP_S, schedule.known_s, 0)
    assert schedule.due_s == pytest.approx(schedule.known_s + LAP_S, abs=0.2)
    # A model that was started before errors rose leaves nothing out.
    schedule.end_training(begin_ns - 1, begin_ns - 1)
    assert schedule.epoch_ns == 0
    schedule.end_training(begin_ns, begin_ns)
    assert schedule.epoch_ns == begin_ns
    assert not schedule.begin_training(LAP_S, schedule.known_s, 0)


def test_a_part_that_contradicts_without_bound_is_kept(schedule):
    schedule.judge(0.1, math.inf, 0, 1, LAP_S)
    numbers = json.loads(json.dumps(schedule.saved(), allow_nan=False))
    again = Schedule.restored(numbers)
    assert again.saved() == schedule.saved()
    judged(again, *[0.1] * USUAL_PARTS)
    judged(schedule, *[0.1] * USUAL_PARTS)
    assert again.saved() == schedule.saved()


def test_it_goes_on_after_a_restart(schedule):
    risen(schedule)
    judged(schedule, *[0.1] * USUAL_PARTS, 1.0, 1.0)
    numbers = json.loads(json.dumps(schedule.saved()))
    again = Schedule.restored(numbers)
    assert json.loads(json.dumps(again.saved())) == numbers
    assert trainings(again, 200.0, LAP_S) == trainings(schedule, 200.0, LAP_S)
    for name in numbers:
        with pytest.raises(KeyError):
            Schedule.restored({key: numbers[key] for key in numbers if key != name})
