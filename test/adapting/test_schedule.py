# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Trainings start as the drive grows, when positions end, and when errors rise."""

from __future__ import annotations

from itertools import pairwise
import json
import math

import pytest

from two_manifold_ros.adapting.schedule import Schedule, ScheduleSettings

STEP_NS = 100_000_000
HOLE_NS = 1_000_000_000
LAP_S = 8.0
USUAL = ScheduleSettings()


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
            schedule.begin_training(lap_s, schedule.known_s)
    return found


def test_what_is_not_given_positions_does_not_count() -> None:
    schedule = Schedule()
    newest_ns = driven(schedule, 5.0)
    schedule.count(newest_ns + 60 * 10**9, HOLE_NS)
    # Nor does a clock that is set back.
    schedule.count(newest_ns, HOLE_NS)
    driven(schedule, 2.0)
    assert schedule.known_s == pytest.approx(7.0)


def test_looks_follow_as_the_drive_grows_as_long_as_no_lap_is_known() -> None:
    found = trainings(Schedule(), 40.0)
    assert found[0] == pytest.approx(USUAL.first_s, abs=0.15)
    ratios = [late / early for early, late in pairwise(found)]
    assert ratios == pytest.approx([USUAL.growth] * len(ratios), abs=0.02)


@pytest.mark.parametrize('rest_s', [0.0, 5.0])
def test_models_are_trained_at_turns_and_later_more_rarely(rest_s: float) -> None:
    """Laps count from where the first one would have started without a rest."""
    schedule = Schedule()
    driven(schedule, 1.2 * LAP_S + rest_s)
    schedule.begin_training(math.nan, schedule.known_s)
    schedule.count_laps(1.2, LAP_S)
    found = trainings(schedule, 25.0 * LAP_S, LAP_S)
    laps = [(each - rest_s) / LAP_S for each in found]
    assert laps == pytest.approx([*USUAL.turns, 10.0, 20.0], abs=0.05)


def test_a_training_a_little_early_is_the_one_of_its_turn() -> None:
    schedule = Schedule()
    for driven_laps, turn in ((1.4, 2.0), (1.7, 2.0), (1.8, 3.0), (4.9, 9.8)):
        driven(schedule, driven_laps * LAP_S - schedule.known_s)
        schedule.begin_training(LAP_S, schedule.known_s)
        assert schedule.due_s == pytest.approx(turn * LAP_S, abs=0.3)


def test_what_is_not_kept_any_more_does_not_slow_learning_down() -> None:
    schedule = Schedule()
    schedule.known_s = 1e6
    schedule.begin_training(LAP_S, 70.0)
    assert schedule.due_s - schedule.known_s == pytest.approx(70.0)


def test_positions_end_once_and_what_was_learned_already_is_not_worth_another_training() -> None:
    schedule = Schedule()
    assert not schedule.has_stopped(10**18, HOLE_NS, math.nan)
    newest_ns = driven(schedule, USUAL.first_s - 1.0)
    # Too little.
    assert not schedule.has_grown
    newest_ns = driven(schedule, 2.0)
    for lap_s, silent_ns in ((math.nan, HOLE_NS), (LAP_S, round(1e9 * LAP_S))):
        assert not schedule.has_stopped(newest_ns + silent_ns, HOLE_NS, lap_s)
        assert schedule.has_stopped(newest_ns + silent_ns + 1, HOLE_NS, lap_s)
    assert schedule.has_grown
    schedule.begin_training(LAP_S, schedule.known_s)
    assert not schedule.has_grown
    schedule.ended = True
    assert not schedule.has_stopped(newest_ns + 10 * HOLE_NS, HOLE_NS, math.nan)
    driven(schedule, 0.01 * schedule.known_s)
    assert not schedule.ended
    assert not schedule.has_grown
    driven(schedule, 0.02 * schedule.known_s)
    assert schedule.has_grown


def risen(schedule: Schedule) -> int:
    """Let errors rise after some usual ones; return since when."""
    begin_ns = driven(schedule, 5 * LAP_S)
    schedule.begin_training(LAP_S, schedule.known_s)
    for _ in range(4):
        schedule.judge(0.1, 0, LAP_S)
    driven(schedule, LAP_S)
    schedule.judge(1.0, begin_ns, LAP_S)
    schedule.judge(1.0, begin_ns + 1, LAP_S)
    return begin_ns


def test_one_part_with_errors_restarts_nothing_and_two_in_a_row_do() -> None:
    schedule = Schedule()
    begin_ns = driven(schedule, 5 * LAP_S)
    found = [(0.1, 0)] * 4 + [(1.0, begin_ns), (0.1, 0), (1.0, begin_ns)]
    for error_m, rise_ns in found:
        schedule.judge(error_m, rise_ns, LAP_S)
    schedule.interrupt()
    schedule.judge(1.0, begin_ns, LAP_S)
    assert schedule.since_ns == 0
    schedule.judge(1.0, begin_ns, LAP_S)
    assert schedule.since_ns == begin_ns


def test_after_a_rise_laps_count_from_there() -> None:
    schedule = Schedule()
    begin_ns = risen(schedule)
    assert schedule.since_ns == begin_ns
    assert schedule.due_s == pytest.approx((5.0 + USUAL.turns[0]) * LAP_S, abs=0.2)
    # Not each other within seconds.
    driven(schedule, 0.5 * LAP_S)
    assert schedule.is_due
    assert not schedule.begin_training(LAP_S, schedule.known_s)
    assert schedule.due_s - schedule.known_s == pytest.approx(0.5 * LAP_S, abs=0.1)


def test_a_rise_that_is_over_by_itself_causes_no_training() -> None:
    schedule = Schedule()
    risen(schedule)
    for _ in range(2):
        driven(schedule, LAP_S / 2 - 0.3)
        assert not schedule.is_due
        schedule.judge(0.1, 0, LAP_S)
    # As planned after five laps.
    assert schedule.due_s == pytest.approx(10 * LAP_S, abs=0.2)
    assert schedule.since_ns == 0


def test_one_quiet_half_of_a_lap_only_puts_a_training_off() -> None:
    schedule = Schedule()
    begin_ns = risen(schedule)
    driven(schedule, LAP_S / 2)
    assert schedule.is_due
    schedule.judge(0.1, 0, LAP_S)
    assert not schedule.is_due
    driven(schedule, LAP_S / 2)
    schedule.judge(1.0, 0, LAP_S)
    assert schedule.is_due
    assert schedule.since_ns == begin_ns


def test_what_was_learned_alone_stays_alone_when_errors_are_as_usual_again() -> None:
    schedule = Schedule()
    begin_ns = risen(schedule)
    driven(schedule, LAP_S)
    assert schedule.begin_training(LAP_S, schedule.known_s)
    schedule.end_training(begin_ns, begin_ns)
    for _ in range(2):
        driven(schedule, LAP_S / 2)
        schedule.judge(0.1, 0, LAP_S)
    assert schedule.since_ns == schedule.epoch_ns == begin_ns
    # As far from that training as was planned before the rise.
    assert schedule.due_s == pytest.approx(7 * LAP_S + 5 * LAP_S, abs=0.2)


def test_what_came_since_a_rise_is_tried_alone_after_two_laps_and_until_it_is_learned() -> None:
    schedule = Schedule()
    begin_ns = risen(schedule)
    driven(schedule, 1.1 * LAP_S)
    assert schedule.begin_training(LAP_S, schedule.known_s)
    schedule.end_training(begin_ns, begin_ns)
    assert schedule.epoch_ns == begin_ns
    assert not schedule.begin_training(LAP_S, schedule.known_s)


def test_a_model_started_before_errors_rose_again_leaves_nothing_out() -> None:
    schedule = Schedule()
    begin_ns = risen(schedule)
    schedule.end_training(begin_ns - 1, begin_ns - 1)
    assert schedule.epoch_ns == 0


def test_it_goes_on_after_a_restart() -> None:
    schedule = Schedule()
    risen(schedule)
    for _ in range(2 * USUAL.most_parts):
        schedule.judge(0.1, 0, LAP_S)
    numbers = json.loads(json.dumps(schedule.saved()))
    again = Schedule.restored(numbers)
    assert again.saved() == numbers
    assert numbers['before'] is None
    assert len(numbers['parts']) == USUAL.most_parts
    assert trainings(again, 200.0, LAP_S) == trainings(schedule, 200.0, LAP_S)
    risen(schedule)
    numbers = json.loads(json.dumps(schedule.saved()))
    assert Schedule.restored(numbers).saved() == numbers
    for name in numbers:
        with pytest.raises(KeyError):
            Schedule.restored({key: numbers[key] for key in numbers if key != name})
