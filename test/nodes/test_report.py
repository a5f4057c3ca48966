# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a node says about itself, when and how often."""

from __future__ import annotations

from collections import Counter
import math
from types import SimpleNamespace
from typing import Any, TYPE_CHECKING

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from two_manifold_ros.filtering.status import Status
from two_manifold_ros.interface.assessment import judge
from two_manifold_ros.interface.log import Guard
from two_manifold_ros.interface.snapshot import Facts
from two_manifold_ros.interface.status import CODES, NUMBERS
from two_manifold_ros.nodes import health
from two_manifold_ros.nodes.health import Report

if TYPE_CHECKING:
    from collections.abc import Mapping

TRACKS: dict[str, Any] = {'status': Status.TRACKING, 'cause': '', 'why': 'tracking'}
LOST: dict[str, Any] = {'status': Status.LOST, 'cause': 'astray', 'why': 'lost: too wide'}


class StandIn:
    """The `Describer` of a node that is as it is told to be."""

    hardware = 'imu_link'

    def __init__(self) -> None:
        self.known: dict[str, Any] = dict(TRACKS)
        self.happened: dict[str, str] = {}
        self.looked: list[Counter[str]] = []
        self.counters: Counter[str] = Counter()

    @property
    def word(self) -> object:
        return self.known.get('cause')

    def counts(self) -> Counter[str]:
        return self.counters.copy()

    def durations(self) -> Mapping[str, float]:
        return {'p50': 1.0, 'p99': 2.0, 'max': 3.0}

    def look(self, fresh: Counter[str]) -> None:
        self.looked.append(fresh)

    def facts(self, _: Counter[str]) -> Facts:
        return Facts(**self.known, model_rate_hz=20.0, barren_s=0.26)

    judge = staticmethod(judge)

    def events(self, _: Counter[str]) -> dict[str, str]:
        return self.happened

    def head(self) -> dict[str, float | str]:
        return {'model': 'm.npz'}

    def tail(self) -> dict[str, float | str]:
        return {'checkpoint': 'c.npz'}


def guard() -> Guard:
    """Return a guard that has survived some errors."""
    passing = Guard(lambda _: None)
    passing.count = 7
    return passing


class Bench:
    """A report without ROS around it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 0.0
        self.said: list[str] = []
        self.told: dict[str, list[Any]] = {'diagnostics': [], 'adapting/status': []}
        self.listeners = 1
        self.describer = StandIn()
        monkeypatch.setattr(health, 'monotonic', lambda: self.now_s)
        self.report = Report(self._node(), self.describer, guard(), 10.0, 'adapting/')

    def _node(self) -> Any:  # noqa: ANN401 - a stand-in
        logger = SimpleNamespace(
            warning=lambda line: self.said.append(f'W {line}'),
            info=lambda line: self.said.append(f'I {line}'),
        )
        clock = SimpleNamespace(now=lambda: SimpleNamespace(nanoseconds=5 * 10**9))
        return SimpleNamespace(
            create_publisher=lambda _, name, __: SimpleNamespace(
                publish=self.told[name].append,
                get_subscription_count=lambda: self.listeners,
                topic_name=f'/{name}',
            ),
            create_timer=lambda *_, **__: None,
            get_logger=lambda: logger,
            get_clock=lambda: clock,
            get_fully_qualified_name=lambda: '/robot/node',
        )

    @property
    def values(self) -> dict[str, str]:
        message = self.told['diagnostics'][-1]
        return {each.key: each.value for each in message.status[0].values}

    @property
    def numbers(self) -> dict[str, float]:
        message = self.told['adapting/status'][-1]
        names = message.layout.dim[0].label.split(',')
        return dict(zip(names, message.data, strict=True))


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(monkeypatch)


def test_numbers_come_with_every_look_and_words_when_they_change(bench: Bench) -> None:
    for _ in range(3):
        bench.report.look()
    assert len(bench.told['adapting/status']) == 3
    assert len(bench.told['diagnostics']) == 1
    assert bench.numbers['status'] == CODES[Status.TRACKING]
    bench.describer.known = dict(LOST)
    bench.report.heed()
    bench.report.heed()
    assert bench.numbers['status'] == CODES[Status.LOST]
    assert len(bench.told['diagnostics']) == 2
    assert (bench.values['status'], bench.values['cause']) == ('lost', 'astray')
    bench.report.second()
    assert len(bench.told['diagnostics']) == 3


def test_nobody_listens_and_nothing_is_made(bench: Bench) -> None:
    bench.listeners = 0
    bench.report.look()
    assert bench.told['adapting/status'] == []
    assert len(bench.told['diagnostics']) == 1


def test_what_diagnostics_and_status_show(bench: Bench) -> None:
    bench.describer.counters.update(received=30, used=28, malformed=2, ticks=5)
    bench.now_s += 2.0
    bench.report.second()
    bench.report.look()
    assert bench.describer.looked == [Counter(received=30, used=28, malformed=2, ticks=5)]
    values = bench.values
    assert list(values)[:3] == ['model', 'status', 'cause']
    assert list(values)[-2:] == ['checkpoint', 'callback_errors']
    assert (values['valid'], values['evidence'], values['callback_errors']) == (
        'false',
        'unknown',
        '7',
    )
    assert (values['received'], values['malformed'], values['zero_stamp'], values['ticks']) == (
        '30',
        '2',
        '0',
        '5',
    )
    numbers = bench.numbers
    assert list(numbers)[2:] == list(NUMBERS)
    assert numbers['sec'] == 5.0
    assert numbers['input_rate_hz'] == 15.0
    assert numbers['ticks_since_good_sample'] == 5.0
    assert (numbers['received'], numbers['used'], numbers['out_of_order']) == (30.0, 28.0, 0.0)
    assert numbers['processing_p99_us'] == 2.0


@pytest.mark.parametrize(
    ('known', 'valid'),
    [
        ({}, True),
        ({'usable_rate_hz': 1.0}, True),
        ({'received': False}, False),
        ({'silence_s': 9.0}, False),
        ({'enabled': False}, False),
        ({'rejected': {'malformed': 99}}, False),
    ],
    ids=str,
)
def test_the_newest_estimate_is_told_only_as_long_as_more_may_come(
    bench: Bench, known: dict[str, Any], *, valid: bool
) -> None:
    estimate = SimpleNamespace(
        valid=True, evidence=0.5, familiarity=1.0, off_route=0.0, ellipse_m=0.1
    )
    bench.describer.known |= {'latest': estimate, **known}
    bench.report.look()
    assert bench.numbers['valid'] == valid
    assert bench.values['valid'] == str(valid).lower()
    assert math.isnan(bench.numbers['ellipse_m']) != valid


def test_without_configuration_counts_are_not_known(bench: Bench) -> None:
    bench.describer.known |= {'trouble': 'no model'}
    bench.report.look()
    assert bench.numbers['status'] == -1.0
    assert bench.numbers['level'] == 2.0
    assert math.isnan(bench.numbers['received'])
    assert (bench.values['status'], 'received' in bench.values) == ('unconfigured', False)


def test_a_trouble_is_warned_of_once_and_its_end_told_with_how_long_it_lasted(
    bench: Bench,
) -> None:
    bench.report.look()
    bench.describer.known = dict(LOST)
    for _ in range(5):
        bench.report.heed()
        bench.report.second()
        bench.now_s += 1.0
    bench.describer.known = dict(TRACKS)
    bench.report.heed()
    bench.report.second()
    assert bench.said == [
        'I State: tracking',
        'W Lost: too wide',
        'I Over after 5.0 s: Lost: too wide',
    ]


def test_a_state_says_what_was_before_it_if_that_came_back_too_soon_to_be_warned_of(
    bench: Bench,
) -> None:
    for known in (LOST, TRACKS, LOST, TRACKS):
        bench.describer.known = dict(known)
        bench.report.look()
        bench.now_s += 2.0
    assert bench.said == [
        'W Lost: too wide',
        'I Over after 2.0 s: Lost: too wide',
        'I State: tracking (before, for 2.0 s: Lost: too wide)',
    ]


def test_what_the_node_logged_itself_is_not_warned_of(bench: Bench) -> None:
    bench.describer.known |= {'trouble': 'no model'}
    bench.report.logged('unconfigured', 'no model')
    bench.report.look()
    bench.describer.known = dict(TRACKS)
    bench.report.look()
    assert bench.said == ['I Over after 0.0 s: no model']


def test_what_happened_is_not_over_before_a_second_is(bench: Bench) -> None:
    bench.report.look()
    bench.describer.happened = {'rejected zero_stamp': '3 messages'}
    bench.report.second()
    bench.describer.known = dict(LOST)
    bench.report.heed()
    bench.describer.happened = {}
    bench.now_s += 1.0
    bench.report.second()
    assert bench.said[1:] == ['W 3 messages', 'W Lost: too wide', 'I Over after 1.0 s: 3 messages']


def test_many_messages_of_one_cause_are_one_warning(bench: Bench) -> None:
    bench.describer.known |= {'share_rejected': 0.5, 'mostly': 'zero_stamp'}
    bench.describer.happened = {'rejected zero_stamp': 'three', 'rejected malformed': 'one'}
    bench.report.second()
    one, many = bench.said
    assert one == 'W one'
    assert many.startswith('W Tracking, but 50% of the IMU messages')


def test_how_often_each_cause_began_is_counted(bench: Bench) -> None:
    for known in (TRACKS, LOST, TRACKS, LOST, LOST):
        bench.describer.known = dict(known)
        bench.report.look()
    assert {key: each for key, each in bench.values.items() if key.startswith('times_')} == {
        'times_astray': '2'
    }


def test_what_is_part_of_a_start_is_no_warning(bench: Bench) -> None:
    bench.describer.known = {'received': False}
    bench.report.look()
    bench.describer.known = {'status': Status.FILLING, 'cause': 'filling', 'why': '1 of 20 ticks'}
    bench.report.look()
    bench.describer.known['why'] = '2 of 20 ticks'
    bench.report.second()
    assert bench.said == [
        'I State: waiting for the first IMU message on /imu',
        'I State: 1 of 20 ticks',
    ]


def test_counts_that_begin_anew_are_all_new(bench: Bench) -> None:
    for counts in (Counter(received=100), Counter(received=10)):
        bench.now_s += 1.0
        bench.describer.counters = counts
        bench.report.second()
    assert [fresh['received'] for fresh in bench.describer.looked] == [100, 10]
