# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reports of a node about itself, their times and rates."""

from collections import Counter
from dataclasses import replace
import math
from socket import gethostname
from time import perf_counter_ns
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from filter_runs import estimate_with
from ros_talk import numbers_of

from two_manifold_ros.filtering.status import Status
from two_manifold_ros.interface.assessment import assess, CODES, Health, Level, NUMBERS, REJECTIONS
from two_manifold_ros.interface.session import Arrivals
from two_manifold_ros.nodes import health
from two_manifold_ros.nodes.health import StatusPublisher

TRACKS: dict[str, Any] = {'status': Status.TRACKING, 'cause': '', 'why': 'tracking'}
FILLS: dict[str, Any] = {'status': Status.FILLING, 'cause': 'filling', 'why': '1 of 20 ticks'}
LOST: dict[str, Any] = {'status': Status.LOST, 'cause': 'diverged', 'why': 'lost: too wide'}


class Bench:
    """What stands for a node in a given state, and the publisher of its status."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s, self.now_ns, self.simulated = 0.0, 5 * 10**9, False
        self.said: list[str] = []
        self.published: dict[str, list[Any]] = {'/diagnostics': [], 'adapting/status': []}
        self.listeners, self.errors = 1, 7
        self.known, self.counters = dict(TRACKS), Counter[str]()
        monkeypatch.setattr(health, 'monotonic', lambda: self.now_s)
        self.get_parameter = lambda _: SimpleNamespace(value=self.simulated)
        self.get_fully_qualified_name = lambda: '/robot/node'
        self.get_namespace = lambda: '/robot'
        self.count_publishers = lambda _: 1
        heard = SimpleNamespace(name='/imu', received_s=0.0, health=lambda _: Health(unused_s=9.0))
        self.topic: Any = heard
        node: Any = self
        self.status = StatusPublisher(node, self.topic, 'adapting/')

    def create_publisher(self, _: object, name: str, __: object) -> SimpleNamespace:
        return SimpleNamespace(
            publish=self.published[name].append,
            get_subscription_count=lambda: self.listeners,
            topic_name=f'/{name}',
        )

    def get_logger(self) -> SimpleNamespace:
        say = self.said.append
        return SimpleNamespace(warning=lambda a: say(f'W {a}'), info=lambda a: say(f'I {a}'))

    def look(self, events: dict[str, str] | None = None, **known: Any) -> None:  # noqa: ANN401
        """Publish, with changed fields of a snapshot."""
        self.known |= known
        known = {'rate_hz': 20.0, 'unused_s': 0.26, **self.known}
        durations = {'p50': 1.0, 'p99': 2.0, 'max': 3.0}
        health = Health(counts=self.counters.copy(), durations=durations, **known)
        self.status.publish(health, assess(health), {'model': 'm'}, {'checkpoint': 'c'}, events)

    def second(self, **events: str) -> Counter[str]:
        fresh, _ = self.status.count(self.counters.copy(), Arrivals(), ())
        self.look(events)
        return fresh

    def take(
        self, counts: dict[str, int], arrivals: Arrivals | None = None, now_ns: int = 0
    ) -> dict[str, str]:
        """Let a second pass; return what happened in it."""
        self.now_ns = now_ns
        self.now_s += 1.0
        return self.status.count(Counter(counts), arrivals or Arrivals(), ())[1]

    def health(self, arrivals: Arrivals | None = None, now_ns: int = 0, **counts: int) -> Health:
        self.now_ns = now_ns
        return self.status.input_health(1.0, Counter(counts), arrivals or Arrivals())

    @property
    def values(self) -> dict[str, str]:
        message = self.published['/diagnostics'][-1]
        return {each.key: each.value for each in message.status[0].values}

    @property
    def numbers(self) -> dict[str, float]:
        return numbers_of(self.published['adapting/status'][-1])


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(monkeypatch)


def test_numbers_come_with_every_look_and_words_when_they_change(bench):
    for _ in range(3):
        bench.look()
    assert len(bench.published['adapting/status']) == 3
    assert len(bench.published['/diagnostics']) == 1
    assert bench.numbers['status'] == CODES[Status.TRACKING]
    bench.look(**LOST)
    bench.look()
    assert bench.numbers['status'] == CODES[Status.LOST]
    assert len(bench.published['/diagnostics']) == 2
    assert (bench.values['status'], bench.values['cause']) == ('lost', 'diverged')
    bench.second()
    assert len(bench.published['/diagnostics']) == 3
    bench.listeners = 0
    bench.look()
    assert len(bench.published['adapting/status']) == 5
    for known in (TRACKS, LOST):
        bench.look(**known)
    times = {key: each for key, each in bench.values.items() if key.startswith('times_')}
    assert times == {'times_diverged': '2'}
    # Without configuration counts are not known.
    bench.listeners = 1
    bench.look(trouble='no model')
    assert (bench.numbers['status'], bench.numbers['level']) == (-1.0, 2.0)
    assert math.isnan(bench.numbers['received'])
    assert (bench.values['status'], 'received' in bench.values) == ('unconfigured', False)


def test_what_diagnostics_and_status_show(bench):
    bench.counters.update(received=30, used=28, malformed=2, ticks=5)
    bench.now_s += 2.0
    assert bench.second() == Counter(received=30, used=28, malformed=2, ticks=5)
    bench.look()
    values = bench.values
    message = bench.published['/diagnostics'][-1]
    (status,) = message.status
    assert (status.name, status.hardware_id) == ('robot/node', f'{gethostname()}/robot')
    assert (message.header.stamp.sec, status.level, status.message) == (5, b'\0', 'tracking')
    assert list(values)[:3] == ['model', 'status', 'cause']
    assert list(values)[-2:] == ['checkpoint', 'callback_errors']
    wanted = {'valid': 'false', 'evidence': 'unknown', 'callback_errors': '7', 'received': '30'}
    wanted |= {'input_rate_hz': '15', 'malformed': '2', 'zero_stamp': '0', 'ticks': '5'}
    assert wanted.items() <= values.items()
    numbers = bench.numbers
    assert list(numbers) == ['sec', 'nanosec', *NUMBERS]
    assert math.isnan(numbers['novelty'])
    known = {'sec': 5.0, 'input_rate_hz': 15.0, 'ticks_since_good_sample': 5.0, 'used': 28.0}
    known |= {'received': 30.0, 'out_of_order': 0.0, 'processing_p99_us': 2.0}
    assert known.items() <= numbers.items()
    bench.now_s += 1.0
    bench.counters = Counter(received=10)
    assert bench.second()['received'] == 10


def test_the_newest_estimate_is_reported_only_as_long_as_more_may_come(monkeypatch):
    for known, valid in (
        ({'usable_rate_hz': 1.0}, True),
        ({'silence_s': 9.0}, False),
        ({'rejected': {'malformed': 99}}, False),
    ):
        bench = Bench(monkeypatch)
        bench.look(latest=estimate_with(), **known)
        assert bench.numbers['valid'] == valid, known
        assert bench.values['valid'] == str(valid).lower(), known
        assert math.isnan(bench.numbers['ellipse_m']) != valid, known


def test_what_is_odd_while_it_tracks_hides_neither_the_state_nor_its_end(bench):
    bench.known |= {'shared_outputs': {'/position': ('another one',)}, **FILLS}
    for known in ({}, TRACKS, LOST, {'shared_outputs': {}}, TRACKS):
        bench.look(**known)
        bench.second()
        bench.now_s += 1.0
    shared = bench.said[0].removeprefix('W ')
    assert shared.startswith('/position is also published by another one')
    assert bench.said == [
        f'W {shared}', 'I State: 1 of 20 ticks', 'I State: tracking', 'W Lost: too wide',
        f'I Over after 3.0 s: {shared}', 'I Over after 2.0 s: Lost: too wide', 'I State: tracking',
    ]  # fmt: skip
    # Many messages of one cause are one warning.
    bench.said.clear()
    bench.known |= {'rejected_share': 0.5, 'rejected_most': 'zero_stamp'}
    bench.second(**{'rejected zero_stamp': 'three', 'rejected malformed': 'one'})
    assert [line[:30] for line in bench.said] == ['W one', 'W 50% of the IMU messages on /']


NAN = math.nan
SECOND = 1_000_000_000


def test_what_was_rejected_since_the_last_that_was_used(bench):
    names = 'received', 'used', 'malformed', 'zero_stamp'
    for counts, rejected in (
        ((5, 3, 2, 0), {}),
        ((9, 3, 5, 1), {'malformed': 3, 'zero_stamp': 1}),
        # Another session counts again.
        ((30, 0, 30, 0), {}),
        ((31, 0, 31, 0), {'malformed': 1}),
    ):
        assert bench.health(**dict(zip(names, counts, strict=True))).rejected == rejected


def test_what_happened_to_messages_in_the_last_second_is_reported_once(bench):
    arrivals = Arrivals()
    assert bench.health(arrivals).unused_s == 9.0
    arrivals.take(SECOND, 'imu', perf_counter_ns() - 2 * SECOND, used=True, broke=False)
    assert 2.0 <= bench.health(arrivals).unused_s < 9.0
    arrivals.take(31 * SECOND, 'base', SECOND // 10, used=True, broke=True)
    counts = {'received': 4, 'used': 1, **dict.fromkeys(REJECTIONS, 3)}
    events = bench.take(counts, arrivals, 31 * SECOND)
    assert list(events) == [*(f'rejected {cause}' for cause in REJECTIONS), 'stepped_ahead']
    # Sentences state the counts of the diagnostics, however many are of the last second.
    counts['malformed'] = 7
    assert 'malformed (7):' in bench.take(counts, arrivals)['rejected malformed']
    counts |= {'received': 8, 'malformed': 10}
    bench.take(counts, arrivals)
    found = bench.health(arrivals, 32 * SECOND, **counts)
    assert (found.rejected_share, found.rejected_most) == (0.75, 'malformed')
    assert list(found.complaints) == ['frame_changed']
    assert found.stamp_age_s == 1.0


@pytest.mark.parametrize('ahead_s', [-3e7, 0.99, 1.01, 3e8])
@pytest.mark.parametrize('simulated', [False, True])
@pytest.mark.parametrize('used', [False, True])
def test_stamps_ahead_of_the_clock_are_a_cause(used, simulated, ahead_s, bench):
    """What tf2 does not find at its own time, unless a bag is played with its clock."""
    now_ns, arrivals, bench.simulated = 10**18, Arrivals(), simulated
    arrivals.take(now_ns + round(ahead_s * 1e9), 'imu', 0, used=used, broke=False)
    bench.take({'used': 1}, arrivals, now_ns)
    heard = replace(bench.health(arrivals, now_ns, used=1), unused_s=0.0)
    found = assess(replace(heard, **TRACKS))
    is_warned = ahead_s > 1.0 and used and not simulated
    assert found.cause == ('stamps_ahead' if is_warned else '')
    assert found[:2] == (Level.WARN if is_warned else Level.OK, Status.TRACKING)


@pytest.mark.parametrize(
    'seconds',
    [
        # Whole intervals are counted.
        [(3, 0.9, 0.9, NAN), (4, 1.7, 1.7, 5.0)],
        # After silence the rate is unknown.
        [(5, 1, 1, NAN), (0, 1, 1, NAN), (5, 10, 10, NAN), (5, 11, 11, 5.0)],
        # Slow bags and jumping stamps do not make it slow.
        [(5, 1, 1, NAN), (5, 2, 1.1, 50.0)],
        [(5, 1, 1, NAN), (5, 2, 1e3, 5.0)],
        [(5, 1, 1, NAN), (5, 2, 1, 5.0)],
    ],
)
def test_the_rate_of_usable_messages(seconds, bench):
    """After each second of so many, the newest of which arrived and is stamped then."""
    count = 0
    for used, bench.topic.received_s, stamp_s, rate_hz in seconds:
        arrivals, count = Arrivals(), count + used
        arrivals.newest_ns = round(stamp_s * SECOND)
        bench.take({'used': count}, arrivals)
        found = bench.health(arrivals).usable_rate_hz
        assert found == pytest.approx(rate_hz, abs=0.0, nan_ok=True)


def test_trouble_of_the_ros_clock(bench):
    seconds = (0, True, 'no_clock'), (9, True, ''), (9, True, 'clock_stands'), (4, True, '')
    for now_s, bench.simulated, trouble in (*seconds, (4, False, '')):
        bench.take({}, now_ns=now_s * SECOND)
        assert bench.health().clock == trouble
