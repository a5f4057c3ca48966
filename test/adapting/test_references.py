# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Use of reference positions, and positions between them."""

from collections.abc import Callable
import math

import numpy as np
import pytest

from two_manifold_ros.adapting.references import ReferenceMonitor
from two_manifold_ros.recordings.excursions import FARTHEST_M, usable_places

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


def follow(gate: ReferenceMonitor, first: int, count: int, *, shift: float = 0.0) -> list[bool]:
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
    assert all(follow(gate, 0, 30))
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
        assert all(follow(gate, begin + 1, 29))
        assert gate.counters == {'used': 30 + 29 * wild, 'wild_stamp': wild}


def test_a_jump_is_refused_unless_it_is_for_good():
    gate = ReferenceMonitor()
    follow(gate, 0, 60)
    assert follow(gate, 60, 5, shift=3.0) == [False] * 5
    assert all(follow(gate, 65, 10))
    assert gate.counters['jumped'] == 5
    assert gate.position_at(START + 62 * STEP) is not None  # from the positions before and after
    assert follow(gate, 75, 100, shift=3.0) == [False] * 50 + [True] * 50
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
        """Return which share of positions is used."""
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
