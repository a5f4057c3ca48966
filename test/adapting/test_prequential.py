# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Use of reference positions, errors of estimates against them, and the contest of two filters."""

from collections.abc import Callable
import math
from types import SimpleNamespace
from typing import Any, TypeAlias

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest
from scipy.signal import lfilter

from two_manifold_ros.adapting import prequential
from two_manifold_ros.adapting.references import ReferenceMonitor
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.recordings.excursions import FARTHEST_M, usable_places

SECOND_NS = 10**9


def estimate(stamp_ns: int, x: float, y: float = 0.0, **said: Any) -> Any:  # noqa: ANN401
    said = {'valid': True, 'cause': '', 'status': Status.TRACKING} | said
    places, spreads = np.array([[x, y]]), 0.25 * np.eye(2)[None]
    return SimpleNamespace(stamp_ns=stamp_ns, positions=places, covariances=spreads, **said)


def known(until_ns: int, position_at: Callable[[int], Any]) -> Any:  # noqa: ANN401 - a stand-in
    return SimpleNamespace(known_until_ns=until_ns, position_at=position_at)


def naive_errors(rows: list[tuple[float, float, bool]], span: int) -> tuple[float, float, float]:
    """Return errors of the last ``span`` seconds, of the mean, and the published share."""
    squares, usual, shares = [], [], []
    for index, (place, guess, valid) in enumerate(rows):
        before = [each[0] for each in rows[:index]]
        mean = (place - np.mean(before)) ** 2 if before else 0.0
        usual.append(mean)
        squares.append((guess - place) ** 2 if valid else mean)
        shares.append(valid)
    newest = slice(max(0, len(rows) - span - 1), None)
    square, mean, share = (float(np.mean(each[newest])) for each in (squares, usual, shares))
    return math.sqrt(square), math.sqrt(mean), share


@given(
    st.lists(st.tuples(st.floats(-50.0, 50.0), st.floats(-50.0, 50.0), st.booleans()), min_size=1),
    st.integers(0, 12),
)
def test_it_sums_what_the_last_seconds_were_worth(rows, span):
    score = prequential.Prequential(float(span))
    for second, (_, guess, valid) in enumerate(rows):
        score.add(estimate(second * SECOND_NS, guess, valid=valid))
    places = {second * SECOND_NS: (row[0], 0.0) for second, row in enumerate(rows)}
    score.settle(known((len(rows) - 1) * SECOND_NS, places.get))
    assert score.errors()[:3] == pytest.approx(naive_errors(rows, span), abs=1e-5)
    assert len(score) == min(span + 1, len(rows))
    judged = [naive_errors(rows[: end + 1], 0)[0] for end in range(len(rows))]
    assert score.mean_error_m() == pytest.approx(np.mean(judged[-span - 1 :]), abs=1e-5)


def test_what_was_withheld_for_being_no_better_is_judged_as_reported_and_the_unknown_not():
    score = prequential.Prequential(100.0)
    for stamp_ns, cause in enumerate(('not_useful', 'diverged')):
        score.add(estimate(stamp_ns, 3.0, 4.0, valid=False, cause=cause))
    score.settle(known(2, lambda _: (0.0, 0.0)))
    # Of half of them it says itself that it is lost.
    assert score.errors() == pytest.approx((np.sqrt(12.5), 0.0, 0.5, 0.5, 0.0))
    # Only what is known counts, and only once.
    score.forget()
    assert np.isnan(score.errors()).all()
    for second in range(10):
        score.add(estimate(second * SECOND_NS, 3.0, 4.0))
    places = {second * SECOND_NS: (0.0, 0.0) for second in (1, 2, 7)}
    for until, count in ((5, 2), (5, 2), (9, 3)):
        score.settle(known(until * SECOND_NS, places.get))
        assert (len(score), *score.errors()[::2]) == (count, 5.0, 1.0, 0.0)
    # What lies apart is no time of which anything is known.
    assert score.seconds == 1.0
    # Estimates of before a clock was set back do not hold up those after it.
    score.forget()
    for second in (1000, 1001, 5, 6):
        score.add(estimate(second * SECOND_NS, 1.0))
    score.settle(known(6 * SECOND_NS, lambda _: (0.0, 0.0)))
    assert len(score) == 2


@given(st.integers(1, 30), st.integers(1, 30), st.floats(2.0, 50.0))
def test_it_finds_where_errors_rise(before, after, factor):
    score = prequential.Prequential(1000.0)
    assert score.rise_ns() == 0
    for second, error in enumerate([1.0] * before + [factor] * after):
        score.add(estimate(second * SECOND_NS, error))
    score.settle(known((before + after) * SECOND_NS, lambda _: (0.0, 0.0)))
    assert score.rise_ns() == before * SECOND_NS


RATE_HZ, LAP_S, BLOCK_TICKS = 20, 8.0, 40


def blocks_of(scales: tuple[float, float], blocks: int, seed: int) -> np.ndarray:
    """Return errors (n, 2) of two filters that last for a second or so and differ over the lap."""
    rng = np.random.default_rng(seed)
    same, ticks = math.exp(-1.0 / RATE_HZ), blocks * BLOCK_TICKS
    lap = np.arange(ticks) * 2.0 * math.pi / (LAP_S * RATE_HZ)
    found = []
    for scale in scales:
        noise = rng.normal(size=(ticks, 2)) * math.sqrt(1.0 - same**2)
        lasting = lfilter([1.0], [1.0, -same], noise, axis=0)
        away = scale * np.hypot(*lasting.T) * (1.0 + 0.5 * np.sin(lap + rng.uniform(0.0, 6.0)))
        found.append(np.sqrt(np.mean(away.reshape(blocks, -1) ** 2, axis=1)))
    return np.transpose(found)


def decided(blocks: np.ndarray, mean_m: float = 1.0) -> tuple[str, int]:
    contest = prequential.Contest(LAP_S)
    for count, (first_m, second_m) in enumerate(blocks.tolist()):
        contest.count(first_m, second_m, mean_m)
        assert not (contest.is_won and contest.is_lost)
        if contest.is_won or contest.is_lost:
            return 'won' if contest.is_won else 'lost', count + 1
    return 'open', len(blocks)


@pytest.mark.parametrize(
    ('error', 'outcome', 'laps'),
    [(0.2, 'lost', 99), (0.19, 'lost', 99), (0.08, 'won', 9), (0.05, 'won', 5)],
)
def test_equal_filters_do_not_take_turns_and_a_better_one_wins_soon(error, outcome, laps):
    found = [decided(blocks_of((0.2, error), prequential.MOST_BLOCKS, seed)) for seed in range(40)]
    assert {how for how, _ in found} == {outcome}
    assert max(count for _, count in found) <= laps * prequential.BLOCKS_PER_LAP


STEADY = np.tile([0.2, 0.1], (8, 1))
GREAT = [[9.0, 0.1], [0.1, 0.11], [0.1, 0.11], [0.1, 0.11]]


@pytest.mark.parametrize(
    ('blocks', 'mean_m', 'outcome'),
    [
        (STEADY, 1.0, ('won', prequential.BLOCKS_PER_LAP)),
        # Sure, but not worth it.
        (STEADY * [1.0, 1.9], 1.0, ('lost', prequential.BLOCKS_PER_LAP)),
        # Better than one that is silent, but near the mean position.
        (STEADY * [5.0, 8.0], 1.0, ('lost', prequential.BLOCKS_PER_LAP)),
        # One great success is worth nothing, however great.
        (np.tile(GREAT, (12, 1)), 9.0, ('lost', prequential.MOST_BLOCKS)),
        # It looks better, but is not surely better in all its time.
        (np.tile([[2.0, 0.8], [2.0, 2.36]], (24, 1)), 9.0, ('lost', prequential.MOST_BLOCKS)),
    ],
)
def test_outcomes(blocks, mean_m, outcome):
    assert decided(blocks, mean_m) == outcome


def test_gains_that_last_are_fewer_than_they_seem():
    lasting = np.repeat([0.2, 0.01, 0.19, 0.02], 8)
    alternating = lasting.reshape(2, 2, 8).transpose(2, 0, 1).ravel()
    old = np.full(32, 0.4)
    assert prequential.better_by_more_than_chance(old - alternating, old)
    assert not prequential.better_by_more_than_chance(old - lasting, old)


Says: TypeAlias = 'Callable[[int], dict[str, Any]] | float | None'
"""What a filter says at a tick, or by how much it errs at all of them; None if it has no ticks."""

LAP = round(LAP_S * RATE_HZ)


def follow(
    contest: prequential.Contest, first: Says, second: Says, ticks: range, *, stands: bool = False
) -> None:
    for tick in ticks:
        stamp = tick * SECOND_NS // RATE_HZ
        angle = 0.0 if stands else 2.0 * math.pi * tick / LAP
        x, y = 1e5 + math.cos(angle), math.sin(angle)
        estimates = []
        for says in (first, second):
            said = says(tick) if callable(says) else {'error': says}
            off = said.pop('error')
            estimates.append([] if off is None else [estimate(stamp, x + off, y, **said)])
        contest.take(*estimates, known(stamp, lambda _, x=x, y=y: (x, y)))


def test_from_estimates_to_the_outcome():
    """The first lap does not count, nor do blocks in which the vehicle stood."""
    contest = prequential.Contest(LAP_S)
    follow(contest, 0.2, 0.1, range(LAP))
    assert contest.blocks == 0
    follow(contest, 0.2, 0.1, range(LAP, 2 * LAP + 10))
    blocks = contest.blocks
    assert blocks == pytest.approx(prequential.BLOCKS_PER_LAP, abs=1)
    follow(contest, 0.1, 0.2, range(2 * LAP + 10, 10 * LAP), stands=True)
    assert contest.blocks <= blocks + 1
    follow(contest, 0.2, 0.1, range(10 * LAP, 11 * LAP))
    assert contest.is_won
    assert contest.errors_m == pytest.approx((0.2, 0.1), abs=0.02)
    # A filter without ticks knows no more than the mean position.
    contest = prequential.Contest(LAP_S)
    follow(contest, None, 0.1, range(3 * LAP))
    assert contest.is_won
    assert contest.errors_m == pytest.approx((1.0, 0.1), abs=0.1)


@pytest.mark.parametrize('doubt', [{'status': Status.UNSURE}, {'valid': False}], ids=str)
@pytest.mark.parametrize('side', [0, 1])
@pytest.mark.parametrize('every', [1, 4])
def test_a_tick_in_doubt_counts_as_the_mean_position(doubt, side, every):
    """Whichever filter it is of, and however small its error is."""
    contest = prequential.Contest(LAP_S)

    def doubted(tick: int) -> dict[str, Any]:
        return {'error': 0.01, **({} if tick % every else doubt)}

    sides: list[Says] = [0.2, 0.2]
    sides[side] = doubted
    follow(contest, *sides, range(3 * LAP))
    assert contest.errors_m[side] == pytest.approx(every**-0.5, abs=0.15)
    assert contest.is_won == (side == 0)


MS = 10**6


def test_it_knows_between_two_positions_and_the_old_is_forgotten_but_for_what_reaches_into_now():
    truth = ReferenceMonitor()
    for known_ms, x in ((1000, 1.0), (1100, 2.0), (1400, 5.0)):
        assert truth.add(known_ms * MS, x, -x)
    for stamp_ms, x in ((1000, 1), (1025, 1.25), (1100, 2), (1400, 5)):
        assert truth.position_at(stamp_ms * MS) == (x, -x)
    assert [truth.position_at(stamp_ms * MS) for stamp_ms in (999, 1250, 1401)] == [None] * 3
    truth, fast = ReferenceMonitor(), ReferenceMonitor()
    for step in range(1, 10_001):
        truth.add(step * 100 * MS, float(step), 0.0)
        fast.add(step, 0.0, 0.0)
    oldest = (1_000_000 - 2000) * MS
    assert truth.position_at(oldest + MS) == pytest.approx((9980.01, 0.0))
    assert truth.position_at(oldest - 200 * MS) is None
    # Memory is bounded at any rate.
    assert (fast.position_at(1), fast.position_at(9_000)) == (None, (0.0, 0.0))


START = 10**18
STEP = 20_000_000


def drive_along(
    gate: ReferenceMonitor, first: int, count: int, *, shift: float = 0.0
) -> list[bool]:
    """Drive along x at 1 m/s, a position every 20 ms."""
    return [
        gate.add(START + tick * STEP, 0.02 * tick + shift, shift)
        for tick in range(first, first + count)
    ]


def test_what_cannot_be_used_is_counted_under_its_cause():
    """What is on earth is one rule for updating and training."""
    for share in (0.99, 1.01):
        gate, x = ReferenceMonitor(), share * FARTHEST_M
        assert gate.add(START, x, 0.0) == usable_places(np.array([[x, 0.0]]))[0] == (share < 1.0)
        assert gate.counters['out_of_range'] == (share > 1.0)
    gate = ReferenceMonitor()
    assert all(drive_along(gate, 0, 30))
    for stamp, x, cause in (
        (START + 30 * STEP, math.nan, 'non_finite'),
        (START + 29 * STEP, 0.0, 'duplicate_stamp'),
        (START + 28 * STEP, 0.0, 'out_of_order'),
        (0, 0.0, 'zero_stamp'),
    ):
        assert not gate.add(stamp, x, 0.0)
        assert gate.counters.pop(cause) == 1
    assert gate.counters == {'used': 30}
    # A wild stamp costs nothing else.
    for wild, off_s in enumerate((-3600, -3, 3, 86400), 1):
        begin = 30 * wild
        assert not gate.add(START + begin * STEP + off_s * 10**9, 0.02 * begin, 0.0)
        assert all(drive_along(gate, begin + 1, 29))
        assert gate.counters == {'used': 30 + 29 * wild, 'wild_stamp': wild}


def test_a_jump_is_refused_unless_it_is_for_good():
    gate = ReferenceMonitor()
    drive_along(gate, 0, 60)
    assert drive_along(gate, 60, 5, shift=3.0) == [False] * 5
    assert all(drive_along(gate, 65, 10))
    assert gate.counters['jumped'] == 5
    assert gate.position_at(START + 62 * STEP) is not None  # from the positions before and after
    assert drive_along(gate, 75, 100, shift=3.0) == [False] * 50 + [True] * 50
    assert gate.counters['moved'] == 1
    assert gate.position_at(START + 95 * STEP) is None  # never between the old place and the new
    # Positions that do not agree are never followed.
    for tick in range(175, 300):
        assert not gate.add(START + tick * STEP, 9.0 + 2.0 * (tick % 2), 0.0)
    # A clock that goes back starts again; one position alone is wild, whatever it says.
    assert not gate.add(START - 10**10, 50.0, 50.0)
    assert gate.add(START - 10**10 + STEP, 50.0, 50.0)
    assert [fix.stamp_ns for fix in gate.taken] == [START - 10**10, START - 10**10 + STEP]
    assert gate.newest_ns == START - 10**10 + STEP
    assert gate.position_at(START) is None


class Receiver:
    """Positions of a vehicle on a circle, and which of them a monitor uses."""

    def __init__(self, noise_m: float = 0.0) -> None:
        self.monitor = ReferenceMonitor()
        self.used: list[int] = []
        self.noise_m = noise_m
        self._rng = np.random.default_rng(7)
        self._ns, self._driven_m = START, 0.0

    def drive(
        self,
        seconds: float,
        rate_hz: float,
        speed: float = 0.0,
        *,
        acceleration: float = 0.0,
        aside_m: Callable[[int], float] = lambda _: 0.0,
    ) -> list[int]:
        """Drive on from ``speed`` or up to it, and return the stamps of the positions."""
        stamps, now, step_s = [], 0.0 if acceleration else speed, 1.0 / rate_hz
        for index in range(round(seconds * rate_hz)):
            self._ns += round(1e9 * step_s)
            before, now = now, min(now + acceleration * step_s, speed)
            self._driven_m += 0.5 * (before + now) * step_s
            angle = self._driven_m / 20.0
            place = 20.0 * np.array([np.cos(angle), np.sin(angle)])
            place += self._rng.normal(0.0, self.noise_m, 2)
            place[1] += aside_m(index)
            if self.monitor.add(self._ns, *place.tolist()):
                self.used += [fix.stamp_ns for fix in self.monitor.taken]
            stamps.append(self._ns)
        return stamps

    def share(self, stamps: list[int]) -> float:
        return len({*stamps} & {*self.used}) / len(stamps)


@pytest.mark.parametrize('rate_hz', [1.0, 5.0, 10.0, 100.0])
@pytest.mark.parametrize('acceleration', [0.5, 3.0, 20.0])
@pytest.mark.parametrize('noise_m', [0.0, 0.003, 0.5])
def test_a_parked_vehicle_may_drive_off(rate_hz, acceleration, noise_m):
    receiver = Receiver(noise_m)
    for _ in range(2):
        receiver.drive(320.0 / rate_hz, rate_hz)
        off = receiver.drive(max(10.0, 40.0 / rate_hz), rate_hz, 8.0, acceleration=acceleration)
        # Of noise one in a while is large.
        assert receiver.share(off) >= 0.95
        assert receiver.monitor.counters['moved'] == 0
    assert receiver.used == sorted({*receiver.used})


@pytest.mark.parametrize('far_m', [100.0, 5000.0, 1e5])
@pytest.mark.parametrize('rate_hz', [1.0, 2.0, 50.0])
def test_a_glitch_is_refused_at_any_rate_and_no_other_position(far_m, rate_hz):
    receiver = Receiver(0.02)
    receiver.drive(40.0, rate_hz, 10.0)
    glitches = {5: 1, 6: 1, 20: -1, 30: 1}
    stamps = receiver.drive(40.0, rate_hz, 10.0, aside_m=lambda at: far_m * glitches.get(at, 0))
    wrong = {stamps[index] for index in glitches}
    assert {*stamps} - {*receiver.used} == wrong
    assert receiver.monitor.counters['jumped'] == len(wrong)
    # Nor is a later one useless if the first is wrong.
    receiver = Receiver(0.02)
    stamps = receiver.drive(30.0, 1.0, 10.0, aside_m=lambda at: 20.0 * far_m * (not at))
    assert receiver.share(stamps[1:]) == 1.0


def test_the_rate_is_followed_both_ways():
    receiver = Receiver()
    receiver.drive(20.0, 50.0, 5.0)
    assert receiver.monitor.gap_ns == 250_000_000
    stamps = receiver.drive(20.0, 1.0, 5.0)
    assert receiver.share(stamps) == 1.0
    assert receiver.monitor.position_at(stamps[-1] - 400_000_000) is not None
    assert receiver.share(receiver.drive(5.0, 100.0, 5.0)) == 1.0
    assert receiver.monitor.gap_ns == 250_000_000


@pytest.mark.parametrize('repeats', [5, 20])
def test_a_slow_receiver_that_is_repeated_fast_is_used(repeats):
    monitor, used = ReferenceMonitor(), 0
    for index in range(1500):
        angle = 0.05 * (index // repeats)
        used += monitor.add(START + index * STEP, 20.0 * math.cos(angle), 20.0 * math.sin(angle))
    assert used > 0.97 * 1500
    # And so is one that wanders.
    monitor = ReferenceMonitor()
    places = np.cumsum(np.random.default_rng(1).normal(0.0, 0.02, (3000, 2)), axis=0).tolist()
    used = [monitor.add(START + 5 * at * STEP, *place) for at, place in enumerate(places)]
    assert np.mean(used) > 0.99
    assert monitor.counters['moved'] == 0


@pytest.mark.parametrize('worse_m', [0.3, 3.0])
def test_a_receiver_that_becomes_worse_is_used_again(worse_m):
    receiver = Receiver(0.005)
    receiver.drive(60.0, 10.0, 3.0)
    receiver.noise_m = worse_m
    receiver.drive(60.0, 10.0, 3.0)
    assert receiver.share(receiver.drive(30.0, 10.0, 3.0)) > 0.9
