# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Laps while driving: the start line goes where marks come."""

from collections.abc import Callable
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
from oval import BEGIN_NS, COVARIANCE, driven, LAP_S, laps_at, oval, SECOND, Vehicle, vehicle
import pytest
from ring_map import LAP, ring

from two_manifold_ros.filtering.estimate import Estimate
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.laps.live import LAST_MOVE, LATE_S, LiveLaps
from two_manifold_ros.laps.timing import LapState, LapTimer
from two_manifold_ros.names import LAP_FRAME

PERIOD_NS = SECOND // 10


def live(frame: str = LAP_FRAME, clock_ns: Callable[[], int] | None = None) -> LiveLaps:
    radius = float(np.median(np.hypot(*oval().points.T)))
    model: Any = ring(radius, (0, 5), period_ns=PERIOD_NS, per_tick=LAP * 0.1 / LAP_S)
    model.frame_id = frame
    return LiveLaps(model, LapTimer(oval()), clock_ns)


def estimate_of(drive: Vehicle, tick: int, status: Status = Status.TRACKING) -> Estimate:
    covariances = np.stack([COVARIANCE, 4.0 * COVARIANCE])
    positions = drive.positions[[tick, min(tick + 5, len(drive.stamps) - 1)]]
    return Estimate(
        stamp_ns=int(drive.stamps[tick]),
        tick=tick,
        status=status,
        cause='',
        why='',
        state=np.zeros(1),
        positions=positions,
        covariances=covariances,
        velocity=drive.directions[tick],
        velocity_covariance=COVARIANCE,
        evidence=1.0,
        novelty=1.0,
        ellipse_m=0.2,
    )


def passages(drive: Vehicle, share: float) -> list[int]:
    """Return when a place is passed, ns."""
    numbers = np.arange(math.ceil(drive.shares[0] - share), drive.shares[-1] - share)
    elapsed = np.interp(numbers + share, drive.shares, drive.stamps - BEGIN_NS)
    return (BEGIN_NS + np.rint(elapsed).astype(np.int64)).tolist()


def follow(
    laps: LiveLaps, drive: Vehicle, marks: list[int], late_s: float = 0.0
) -> list[LapState | None]:
    """Push a drive; marks come so much after their stamps, or before the estimates of them."""
    states, waiting = [], sorted(marks)
    for tick, stamp in enumerate(drive.stamps.tolist()):
        while waiting and waiting[0] + late_s * SECOND <= stamp:
            laps.take_mark(waiting.pop(0))
        states.append(laps.push(estimate_of(drive, tick)))
    return states


@pytest.mark.parametrize('late_s', [-0.05, 0.0, 1.0, 0.9 * LATE_S])
def test_laps_are_timed_from_where_marks_come(late_s):
    drive = driven([LAP_S, 11.0, 13.0, LAP_S, LAP_S])
    laps = live('map')
    states = follow(laps, drive, passages(drive, 0.3), late_s)
    last = states[-1]
    assert last is not None
    assert last.phase == pytest.approx((drive.shares[-1] - 0.3) % 1.0, abs=2e-3)
    times = np.diff(passages(drive, 0.3)) / SECOND
    assert last.last.seconds == pytest.approx(times[-1], abs=0.03)
    # The mark was taken after the line was passed, and the lap that began there is timed.
    if late_s <= 1.0:
        assert last.lap == len(passages(drive, 0.3))


def test_the_line_is_where_most_marks_are():
    drive = driven([LAP_S] * 10)
    random = np.random.default_rng(3)
    marks = [each + round(0.2 * SECOND * random.normal()) for each in passages(drive, 0.6)]
    # A hand that presses twice.
    marks[4] += 3 * SECOND
    laps = live('map')
    follow(laps, drive, marks)
    assert laps.marks == len(marks)
    begin = math.atan2(*laps.timer.circuit.points[0, ::-1]) / (2.0 * math.pi)
    # A fifth of a second is .02 of this lap, where it is driven fast.
    assert begin % 1.0 == pytest.approx(0.6, abs=0.02)


def test_the_line_stays_after_many_marks():
    drive = driven([LAP_S] * (LAST_MOVE + 4))
    laps = live('map')
    follow(laps, drive, passages(drive, 0.5))
    assert laps.marks == LAST_MOVE


@pytest.mark.parametrize('away', [Status.LOST, Status.UNSURE])
@pytest.mark.parametrize('stamp_s', [-20.0, 7.0])
def test_a_mark_of_no_sure_estimate_moves_nothing(stamp_s, away):
    """It is older than what is remembered, or comes while the filter does not track."""
    drive = driven([LAP_S] * 2)
    laps = live('map')
    for tick in range(len(drive.stamps)):
        seconds = (drive.stamps[tick] - BEGIN_NS) / SECOND
        status = away if 5.0 < seconds < 9.0 else Status.TRACKING
        laps.push(estimate_of(drive, tick, status))
        if tick == 150:
            laps.take_mark(BEGIN_NS + round(stamp_s * SECOND))
    assert laps.marks == 0


def test_stamps_on_arrival_are_those_of_the_clock():
    drive = driven([LAP_S] * 2)
    now = [0]
    laps = live('map', clock_ns=lambda: now[0])
    mark = passages(drive, 0.4)[0]
    for tick, stamp in enumerate(drive.stamps.tolist()):
        if now[0] < mark <= stamp:
            now[0] = mark
            laps.take_mark(12345)
        now[0] = stamp
        laps.push(estimate_of(drive, tick))
    assert laps.marks == 1
    begin = math.atan2(*laps.timer.circuit.points[0, ::-1]) / (2.0 * math.pi)
    assert begin % 1.0 == pytest.approx(0.4, abs=5e-3)


def test_a_stamp_that_jumps_back_forgets_what_was_before():
    drive = driven([LAP_S] * 2)
    laps = live('map')
    for tick in range(100):
        laps.push(estimate_of(drive, tick))
    for tick in range(40, 60):
        laps.push(estimate_of(drive, tick))
    laps.take_mark(int(drive.stamps[45]) + 1)
    laps.take_mark(int(drive.stamps[80]))
    laps.push(estimate_of(drive, 60))
    assert laps.marks == 1


@pytest.mark.parametrize('share', [0.3, 0.45, 0.6, 0.9])
@pytest.mark.parametrize('begin', [-0.9, -0.2])
def test_each_passage_from_the_first_mark_on_counts_one_lap(share, begin):
    """Also where the usual line was passed longer ago than what is timed again, or not yet."""
    drive = driven([2.5 * LATE_S] * 5, begin)
    marks = passages(drive, share)
    laps = live('map')
    states = follow(laps, drive, marks, 0.5)
    numbers = np.array([each.lap for each in states if each is not None])
    steps = np.diff(numbers)
    assert (steps >= 0).all()
    after = numbers[drive.stamps > marks[0] + SECOND]
    assert after[0] in {1, 2}
    assert after[-1] == after[0] + len(marks) - 1
    # The lap that the first mark began is timed.
    second = states[int(np.flatnonzero(drive.stamps > marks[1] + SECOND)[0])]
    assert second is not None
    assert second.last.seconds == pytest.approx((marks[1] - marks[0]) / SECOND, abs=0.03)


def test_marks_at_a_standstill_are_where_the_vehicle_stands():
    """It has no direction then but that of its noise."""
    shares = driven([LAP_S] * 2).shares
    stands = 130
    drive = vehicle(np.concatenate([shares[:stands], np.full(200, shares[stands])]))
    noise = 0.02 * np.random.default_rng(1).standard_normal((200, 2))
    drive.directions[stands:] = noise
    laps = live('map')
    follow(laps, drive, (drive.stamps[[150, 230, 310]] + 1).tolist())
    assert laps.marks == 3
    begin = math.atan2(*laps.timer.circuit.points[0, ::-1]) / (2.0 * math.pi)
    assert begin % 1.0 == pytest.approx(shares[stands] % 1.0, abs=2e-3)


def test_a_button_that_is_pressed_again_at_once_marks_once():
    drive = driven([LAP_S] * 3)
    marks = passages(drive, 0.5)
    again = [each + round(late * SECOND) for each in marks for late in (0.0, 0.3, 3.0)]
    laps = live('map')
    follow(laps, drive, again)
    assert laps.marks == len(marks)


def test_a_mark_of_a_time_that_is_yet_to_come_moves_nothing():
    """Its clock is another one."""
    drive = driven([LAP_S] * 5)
    laps = live('map')
    for tick in range(len(drive.stamps)):
        laps.push(estimate_of(drive, tick))
        if tick == 10:
            laps.take_mark(int(drive.stamps[10]) + round(2.0 * LATE_S * SECOND))
    assert laps.marks == 0


def test_a_mark_that_waits_while_the_clock_is_set_back_moves_nothing():
    drive = driven([LAP_S] * 5)
    laps = live('map')
    for tick in range(100):
        laps.push(estimate_of(drive, tick))
    laps.take_mark(int(drive.stamps[101]))
    for tick in range(60, 200):
        laps.push(estimate_of(drive, tick))
    assert laps.marks == 0


def test_a_line_that_stays_where_it_is_forgets_no_lap():
    drive = driven([LAP_S] * 9)
    laps = live('map')
    states = follow(laps, drive, passages(drive, 0.3)[:8])
    timed = [each is not None and math.isfinite(each.best.seconds) for each in states]
    # From the end of the lap that the first mark began.
    assert all(timed[timed.index(True) :])
    assert timed.index(True) < 200


@pytest.mark.slow
def test_a_mark_holds_up_no_estimate_however_many_there_are():
    """A model of 1 kHz has ten thousand of them in the time that a mark may be late."""
    drive = driven([LAP_S] * 2, period_s=1e-3)
    model: Any = SimpleNamespace(period_ns=SECOND // 1000, frame_id='map')
    laps = LiveLaps(model, LapTimer(oval()))
    begun = drive.stamps[drive.shares >= 0.9][0]
    pushed = []
    for tick in range(15_000):
        laps.push(estimate_of(drive, tick))
    laps.take_mark(int(begun))
    followed = LapTimer.follow
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LapTimer, 'follow', lambda *a: pushed.append(0) or followed(*a))
        state = laps.push(estimate_of(drive, 15_000))
    assert len(pushed) < 500
    assert state is not None
    assert state.elapsed.seconds == pytest.approx(
        (drive.stamps[15_000] - begun) / SECOND, abs=5e-3
    )


@pytest.mark.parametrize('stamp_s', [-3600.0, 3600.0])
def test_marks_by_another_clock_are_said(stamp_s):
    drive = driven([LAP_S])
    laps = live()
    assert laps.mark_problem == ''
    for tick in range(50):
        laps.take_mark(int(drive.stamps[tick]) + round(stamp_s * SECOND))
        laps.push(estimate_of(drive, tick))
    assert 'of 50 marks none counts' in laps.mark_problem
    laps.take_mark(int(drive.stamps[50]))
    for tick in range(50, 53):
        laps.push(estimate_of(drive, tick))
    assert laps.mark_problem == ''


@pytest.mark.parametrize(
    ('lap_s', 'noise_s'), [(3.35, 0.02), (5.0, 0.0), (9.9, 0.02), (10.0, 0.0), (12.0, 0.0)]
)
def test_laps_are_counted_by_marks_however_the_line_moves(lap_s, noise_s):
    """The estimates that are timed again reach back over one lap or several."""
    drive = driven([lap_s] * 20, period_s=0.05)
    model: Any = SimpleNamespace(period_ns=PERIOD_NS // 2, frame_id='map')
    circuit = oval(seconds=lap_s * laps_at(np.arange(601) / 600))
    for seed in range(3 if noise_s else 1):
        laps = LiveLaps(model, LapTimer(circuit))
        random = np.random.default_rng(seed)
        marks = [
            each + round(noise_s * SECOND * random.normal()) for each in passages(drive, 0.37)
        ]
        numbers = [each.lap for each in follow(laps, drive, marks) if each is not None]
        assert (np.diff(numbers) >= 0).all()
        # From the first mark on each passage counts one.
        assert numbers[-1] in {len(marks), len(marks) + 1}
        assert laps.marks == len(marks)


def test_a_stuck_button_marks_one_passage():
    drive = driven([LAP_S] * 6)
    laps = live('map')
    true = passages(drive, 0.4)
    stuck = [true[0] + k * SECOND // 50 for k in range(75)]
    follow(laps, drive, [*stuck, *true[1:]])
    assert laps.marks == len(true)


def test_another_model_goes_on_with_the_count():
    drive = driven([LAP_S] * 4)
    before, after = live(), live()
    follow(before, drive, [])
    after.go_on(before)
    state = after.push(estimate_of(drive, len(drive.stamps) - 1))
    assert state is not None
    assert state.lap == before.timer.number > 2
