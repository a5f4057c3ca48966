# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Laps while driving: the start line goes where marks come, and fixes place the laps."""

from collections.abc import Callable
import itertools
import math
from typing import Any

from filter_runs import estimate_with
import numpy as np
from oval import BEGIN_NS, COVARIANCE, driven, LAP_S, oval, SECOND, Vehicle, vehicle
import pytest
from ring_map import LAP, ring

from two_manifold_ros.filtering.estimate import Estimate
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.laps.live import LATE_S, LiveLaps
from two_manifold_ros.laps.timing import LapTimer
from two_manifold_ros.names import LAP_FRAME
from two_manifold_ros.typing import Floats

PERIOD_NS = SECOND // 10


def live(frame: str = LAP_FRAME, clock_ns: Callable[[], int] | None = None) -> LiveLaps:
    radius = float(np.median(np.hypot(*oval().points.T)))
    model: Any = ring(radius, (0, 5), period_ns=PERIOD_NS, per_tick=LAP * 0.1 / LAP_S)
    model.frame_id = frame
    return LiveLaps(model, LapTimer(oval()), clock_ns)


def estimate_of(drive: Vehicle, tick: int, status: Status = Status.TRACKING) -> Estimate:
    return estimate_with(
        stamp_ns=int(drive.stamps[tick]), tick=tick, status=status,
        positions=drive.positions[[tick, min(tick + 5, len(drive.stamps) - 1)]],
        covariances=np.stack([COVARIANCE, 4.0 * COVARIANCE]), velocity=drive.directions[tick],
        velocity_covariance=COVARIANCE, ellipse_m=0.2,
    )  # fmt: skip


def start_of(laps: LiveLaps) -> float:
    """Return where the start line is, laps."""
    return math.atan2(*laps.timer.circuit.points[0, ::-1]) / (2.0 * math.pi) % 1.0


def passages(drive: Vehicle, share: float) -> list[int]:
    """Return when a place is passed, ns."""
    numbers = np.arange(math.ceil(drive.shares[0] - share), drive.shares[-1] - share)
    elapsed = np.interp(numbers + share, drive.shares, drive.stamps - BEGIN_NS)
    return (BEGIN_NS + np.rint(elapsed).astype(np.int64)).tolist()


def follow(laps: LiveLaps, drive: Vehicle, marks: list[int], late_s: float = 0.0) -> list[Any]:
    """Push a drive; marks come so much after their stamps, or before the estimates of them."""
    states, waiting = [], sorted(marks)
    for tick, stamp in enumerate(drive.stamps.tolist()):
        while waiting and waiting[0] + late_s * SECOND <= stamp:
            laps.take_mark(waiting.pop(0))
        states.append(laps.push(estimate_of(drive, tick)))
    return states


def plane(shares: Floats) -> Floats:
    """Return where the places of the oval really are: an ellipse that is longer."""
    angles = 2.0 * np.pi * np.asarray(shares)
    return np.stack([120.0 * np.cos(angles) + 7.0, 40.0 * np.sin(angles) - 300.0], axis=-1)


def placed_drive(laps: LiveLaps, drive: Vehicle, ticks: range) -> None:
    """Push a drive with fixes at some of its ticks."""
    for tick in range(len(drive.stamps)):
        laps.push(estimate_of(drive, tick))
        if tick in ticks:
            assert laps.take_position(int(drive.stamps[tick]), 'map', *plane(drive.shares[tick]))


def placed_at(laps: LiveLaps, drive: Vehicle, tick: int) -> Estimate:
    placed = laps.line.placed(estimate_of(drive, tick))
    assert placed is not None
    return placed


def test_fixes_place_the_laps():
    drive = driven([LAP_S] * 4)
    laps = live()
    assert laps.problem
    assert laps.line.placed(estimate_of(drive, 0)) is None
    placed_drive(laps, drive, range(1, 420))
    assert laps.problem == ''
    assert (laps.frame, laps.line.fixes) == ('map', 419)
    for tick in range(430, len(drive.stamps) - 5, 3):
        placed = placed_at(laps, drive, tick)
        truth = plane(drive.shares[[tick, tick + 5]])
        assert placed.positions == pytest.approx(truth, abs=0.5)
        step = (plane(drive.shares[tick + 1]) - plane(drive.shares[tick - 1])) / 0.2
        assert placed.velocity == pytest.approx(step, abs=2.0)
        for covariance in (*placed.covariances, placed.velocity_covariance):
            assert np.linalg.eigvalsh(covariance)[0] > 0.0
        # A tenth of a metre of 100 on the ring is so much of the ellipse.
        slope = plane(drive.shares[tick] + 1e-4) - plane(drive.shares[tick] - 1e-4)
        along = np.hypot(*slope) / 2e-4 * 0.1 / 100.0
        spread = math.sqrt(np.linalg.eigvalsh(placed.covariances[0])[1])
        assert spread == pytest.approx(along, rel=0.2)
        assert placed.ellipse_m == pytest.approx(2.4477 * spread, rel=1e-3)
        # The path ahead is along the fixes, and as near to them between the horizons.
        ahead = placed.ahead()
        assert np.array_equal(ahead.positions[[0, -1]], placed.positions)
        x, y = (ahead.positions - plane([0.0, 0.5]).mean(axis=0)).T
        assert np.hypot(x / 120.0, y / 40.0) == pytest.approx(1.0, abs=0.02)
        assert np.hypot(*np.diff(ahead.positions, axis=0).T).max() <= 1.0 + 1e-4
        assert np.diff(ahead.ticks).max() <= 2.5 + 1e-6


def test_stamps_on_arrival_are_those_of_the_clock():
    drive, now = driven([LAP_S] * 2), [0]
    laps = live('map', clock_ns=lambda: now[0])
    assert laps.stamps_on_arrival
    mark = passages(drive, 0.4)[0]
    for tick, stamp in enumerate(drive.stamps.tolist()):
        if now[0] < mark <= stamp:
            now[0] = mark
            laps.take_mark(12345)
        now[0] = stamp
        laps.push(estimate_of(drive, tick))
    assert laps.marks == 1
    assert start_of(laps) == pytest.approx(0.4, abs=5e-3)


@pytest.mark.parametrize(
    ('lap_s', 'late_s'),
    [*itertools.product([0.5 * LATE_S, LATE_S, 2.5 * LATE_S], [0.5]), (12.0, -0.05), (12.0, 0.0)],
)
@pytest.mark.parametrize('share', [0.3, 0.45, 0.9])
@pytest.mark.parametrize('begin', [-0.9, -0.2])
def test_each_passage_from_the_first_mark_on_counts_one_lap(share, begin, lap_s, late_s):
    """Also where the usual line was passed longer ago than what is timed again, or not yet."""
    drive = driven([lap_s] * 5, begin)
    marks = passages(drive, share)
    states = follow(live('map'), drive, marks, late_s)
    assert states[-1].phase == pytest.approx((drive.shares[-1] - share) % 1.0, abs=2e-3)
    numbers = np.array([each.lap for each in states if each is not None])
    assert (np.diff(numbers) >= 0).all()
    after = numbers[drive.stamps > marks[0] + SECOND]
    assert after[0] in {1, 2}
    assert after[-1] == after[0] + len(marks) - 1
    # The lap that the first mark began is timed.
    second = states[int(np.flatnonzero(drive.stamps > marks[1] + SECOND)[0])]
    assert second.last.seconds == pytest.approx((marks[1] - marks[0]) / SECOND, abs=0.03)


def test_marks_at_a_standstill_are_where_the_vehicle_stands():
    """It has no direction then but that of its noise."""
    shares = driven([LAP_S] * 2).shares
    stands = 130
    drive = vehicle(np.concatenate([shares[:stands], np.full(200, shares[stands])]))
    drive.directions[stands:] = 0.02 * np.random.default_rng(1).standard_normal((200, 2))
    laps = live('map')
    follow(laps, drive, (drive.stamps[[150, 230, 310]] + 1).tolist())
    assert laps.marks == 3
    assert start_of(laps) == pytest.approx(shares[stands] % 1.0, abs=2e-3)


@pytest.mark.parametrize('off_ns', [-3600 * SECOND, 3600 * SECOND])
def test_marks_and_fixes_by_another_clock_are_said(off_ns):
    drive, laps = driven([LAP_S]), live()
    assert laps.mark_problem == ''
    for tick, stamp in enumerate(drive.stamps[:50].tolist()):
        laps.take_position(stamp + off_ns, 'map', 1.0, 2.0)
        laps.take_mark(stamp + off_ns)
        laps.push(estimate_of(drive, tick))
    assert 'of 50 fixes none counts' in laps.problem
    assert 'of 50 marks none counts' in laps.mark_problem
    laps.take_mark(int(drive.stamps[50]))
    for tick in range(50, 53):
        laps.push(estimate_of(drive, tick))
    assert laps.mark_problem == ''


@pytest.mark.slow
def test_fixes_of_a_vehicle_that_stands_do_not_outweigh_those_of_its_way():
    """Hours at one place, with the noise of a receiver."""
    shares = driven([LAP_S] * 2).shares
    drive, laps = vehicle(np.concatenate([np.full(20_000, shares[0]), shares])), live()
    random, end = np.random.default_rng(0), len(drive.stamps) - 60
    for tick in range(end):
        laps.push(estimate_of(drive, tick))
        x, y = plane(drive.shares[tick]) + random.standard_normal(2)
        if tick < 20_000 or tick % 5 == 0:
            laps.take_position(int(drive.stamps[tick]), 'map', x, y)
    assert laps.line.fixes < 100
    scores = []
    for tick in range(20_000, end):
        placed = placed_at(laps, drive, tick)
        apart = placed.positions[0] - plane(drive.shares[tick])
        scores.append(apart @ np.linalg.solve(placed.covariances[0], apart))
    assert np.mean(np.array(scores) < 5.991) > 0.9


@pytest.mark.parametrize(
    ('stamp_s', 'away', 'back'),
    [
        (-20.0, Status.TRACKING, 0),
        (2.0 * LATE_S, Status.TRACKING, 0),
        (-3.0, Status.LOST, 0),
        (-3.0, Status.UNSURE, 0),
        # It waits for an estimate when the clock is set back.
        (0.1, Status.TRACKING, 40),
    ],
    ids=['old', 'ahead', 'lost', 'unsure', 'set back'],
)
def test_a_mark_of_no_sure_estimate_moves_nothing(stamp_s, away, back):
    drive = driven([LAP_S] * 5)
    laps = live('map')
    for index, tick in enumerate([*range(101), *range(101 - back, 400)]):
        laps.push(estimate_of(drive, tick, away if 50 < tick < 90 else Status.TRACKING))
        if index == 100:
            laps.take_mark(int(drive.stamps[100]) + round(stamp_s * SECOND))
    assert laps.marks == 0
    laps.take_mark(int(drive.stamps[400]))
    for tick in (400, 401):
        laps.push(estimate_of(drive, tick))
    assert laps.marks == 1


WRONG = {
    'three wild fixes': (lambda tick: 1e5 * (tick in {150, 151, 300}), 0.0, 3),
    'a stretch without a view of the sky': (lambda tick: 60.0 * (300 <= tick < 320), 0.0, 20),
    # A line of few fixes may be wrong and sure; and the receiver has another origin in the end.
    'the first lap': (lambda tick: 30.0 * (tick < 140), 0.0, None),
    'from a lap on': (lambda tick: 900.0 * (tick > 410), 900.0, None),
    'a part of two laps': (lambda tick: 20.0 * (tick < 240 and 30 <= tick % 120 < 48), 0.0, None),
}


@pytest.mark.parametrize(('off', 'in_the_end', 'far'), WRONG.values(), ids=WRONG)
def test_few_wrong_fixes_spoil_no_line_and_many_are_believed(off, in_the_end, far):
    drive = driven([LAP_S] * 20)
    laps = live()
    count = 600 if far else len(drive.stamps) - 10
    for tick in range(count):
        laps.push(estimate_of(drive, tick))
        x, y = plane(drive.shares[tick])
        laps.take_position(int(drive.stamps[tick]), 'map', x + off(tick), y)
        assert tick < 150 or laps.problem == ''
    placed = placed_at(laps, drive, count)
    truth = plane(drive.shares[count]) + np.array([in_the_end, 0.0])
    assert placed.positions[0] == pytest.approx(truth, abs=0.5 if far else 3.0)
    if far:
        assert laps.position_counts['far_off'] == far
        assert placed.ellipse_m < 3.0


def test_a_fix_that_cannot_be_used_is_counted():
    drive = driven([LAP_S])
    laps = live()
    placed_drive(laps, drive, range(0, 40, 5))
    for frame, x in (('odom', 1.0), ('map', math.nan), ('map', 1e300), ('map', 0.0)):
        assert not laps.take_position(int(drive.stamps[-1]), frame, x, x)
    assert laps.position_counts == {'used': 8, 'other_frame': 1, 'no_fix': 3}
    assert laps.fits_origin(geodetic=False)
    assert not laps.fits_origin(geodetic=True)


@pytest.mark.parametrize('kind', ['without a stamp', 'far ahead before', 'thousands a second'])
def test_many_fixes_are_used_whatever_their_stamps(kind):
    drive, laps = driven([LAP_S] * 4), live()
    laps.push(estimate_of(drive, 0))
    if kind == 'far ahead before':
        for k in range(1200):
            laps.take_position(int(drive.stamps[0]) + (1_000_000 + k) * SECOND, 'map', 1.0, 2.0)
    for tick in range(1, 350):
        laps.push(estimate_of(drive, tick))
        stamps, place = [int(drive.stamps[tick])], plane(drive.shares[tick])
        if kind == 'thousands a second':
            # They come before the estimates of their time.
            stamps = range(stamps[0] + 3 * PERIOD_NS, stamps[0] + 4 * PERIOD_NS, PERIOD_NS // 300)
        for stamp in stamps:
            laps.take_position(0 if kind == 'without a stamp' else stamp, 'map', *place)
    assert laps.line.fixes > 300
