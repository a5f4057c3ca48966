# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A filter fed with serialised messages, and when these came."""

from __future__ import annotations

import math
from time import perf_counter_ns
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

import numpy as np
from odd_stream import odd_stream, unaccounted
from rclpy.serialization import serialize_message

from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.interface.session import Arrivals, Durations, Session
from two_manifold_ros.interface.snapshot import REJECTIONS
from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.nodes.publishing import to_message
from two_manifold_ros.simulation.slot_car_run import imu_message

if TYPE_CHECKING:
    from pathlib import Path

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.simulation.slot_car_run import SlotCarRun


def raw(stamp_ns: int, sample: np.ndarray) -> bytes:
    fields = imu_message(stamp_ns, sample, np.zeros(6))
    return serialize_message(to_message('sensor_msgs/msg/Imu', fields))


def test_counts_what_it_takes_and_what_it_cannot(drive: SlotCarRun, model_path: Path) -> None:
    session = Session(load_model(model_path))
    published: list[Estimate] = []
    for stamp, sample in zip(drive.stamps_ns[:150].tolist(), drive.imu[:150], strict=True):
        published += session.take(raw(stamp, sample)) or []
    session.take(b'garbage')
    session.take(raw(0, drive.imu[0]))
    counts = session.counts()
    assert counts['received'] == 152
    assert counts['used'] == 150
    assert {cause: counts[cause] for cause in REJECTIONS if counts[cause]} == {
        'malformed': 1,
        'zero_stamp': 1,
    }
    assert len(published) == counts['published'] == 10
    assert session.latest is published[-1]


def test_reset_forgets_the_latest_estimate(drive: SlotCarRun, model_path: Path) -> None:
    session = Session(load_model(model_path))
    for stamp, sample in zip(drive.stamps_ns[:150].tolist(), drive.imu[:150], strict=True):
        session.take(raw(stamp, sample))
    session.reset('a test')
    assert session.latest is None
    assert session.filter.why == 'reset: a test'


def test_a_clock_gives_the_stamps_where_that_is_asked_for(
    drive: SlotCarRun, model_path: Path
) -> None:
    now = iter(range(10**9, 10**12, 20_000_000))
    session = Session(load_model(model_path), lambda: next(now))
    published: list[Estimate] = []
    for sample in drive.imu[:150]:
        published += session.take(raw(0, sample)) or []
    assert [each.stamp_ns for each in published[:2]] == [3_000_000_000, 3_100_000_000]


def test_waiting_changes_no_estimate(drive: SlotCarRun, model_path: Path) -> None:
    """Whatever waits for the end of a tick, the filter gets the same samples in the same order."""
    model = load_model(model_path)
    stamps, samples = drive.stamps_ns[:300].tolist(), drive.imu[:300]
    # A copy, an old stamp, and a jump back in the middle of ticks.
    stamps[103], stamps[141], stamps[222:] = stamps[102], stamps[130], stamps[22:100]
    alone = Filter(model)
    wanted = [
        estimate
        for stamp, sample in zip(stamps, samples, strict=True)
        for estimate in alone.push(stamp, sample)
        if estimate.valid
    ]
    session = Session(model)
    published: list[Estimate] = []
    for stamp, sample in zip(stamps, samples, strict=True):
        published += session.take(raw(stamp, sample)) or []
    assert [each.stamp_ns for each in published] == [each.stamp_ns for each in wanted]
    for ours, theirs in zip(published, wanted, strict=True):
        np.testing.assert_array_equal(ours.positions, theirs.positions)
        np.testing.assert_array_equal(ours.state, theirs.state)
    counts = session.counts()
    assert {cause: counts[cause] for cause in alone.counters} == dict(alone.counters)


def test_an_estimate_is_published_with_the_sample_that_ends_its_tick(
    drive: SlotCarRun, model_path: Path
) -> None:
    session = Session(load_model(model_path))
    late = []
    for stamp, sample in zip(drive.stamps_ns[:400].tolist(), drive.imu[:400], strict=True):
        late += [stamp - each.stamp_ns for each in session.take(raw(stamp, sample)) or []]
    period = int(drive.stamps_ns[1] - drive.stamps_ns[0])
    assert late
    assert all(0 <= each < period for each in late)


def test_a_jump_waits_for_one_message_only(drive: SlotCarRun, model_path: Path) -> None:
    """Not for the end of a tick that the stream from before it would have had."""
    session = Session(load_model(model_path))
    rows = list(zip(drive.stamps_ns[:150].tolist(), drive.imu[:150], strict=True))
    for stamp, sample in rows[50:]:
        session.take(raw(stamp, sample))
    for stamp, sample in rows[:2]:
        assert session.filter.counters['resets'] == 0
        session.take(raw(stamp, sample))
    assert session.filter.counters['resets'] == 1


def test_late_messages_are_sorted_where_that_is_asked_for(
    drive: SlotCarRun, model_path: Path
) -> None:
    model = load_model(model_path)
    stamps = drive.stamps_ns[:400].tolist()
    late = np.random.default_rng(0).integers(0, 50_000_000, 400)
    wanted: list[Estimate] = []
    found: list[Estimate] = []
    in_order = Session(model)
    mixed = Session(model, make=lambda model: Filter(model, reorder_ns=50_000_000))
    for row in range(400):
        wanted += in_order.take(raw(stamps[row], drive.imu[row])) or []
    for row in np.argsort(stamps + late).tolist():
        found += mixed.take(raw(stamps[row], drive.imu[row])) or []
    assert len(wanted) - 1 <= len(found)
    for ours, theirs in zip(found, wanted, strict=False):
        assert ours.stamp_ns == theirs.stamp_ns
        np.testing.assert_array_equal(ours.positions, theirs.positions)
    counts = mixed.counts()
    assert counts['received'] == 400 == counts['used'] + counts['waiting']
    assert counts['waiting'] > 0


def test_what_waits_is_counted_once_it_is_asked_for_or_overdue(
    drive: SlotCarRun, model_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session(load_model(model_path))
    fed = [
        session.take(raw(stamp, sample)) is not None
        for stamp, sample in zip(drive.stamps_ns[:150].tolist(), drive.imu[:150], strict=True)
    ]
    waiting = fed[::-1].index(True)
    assert 0 < waiting < 150
    assert session.counts(at_once=False)['received'] == 150 - waiting
    late = perf_counter_ns() + session.model.period_ns + 1
    monkeypatch.setattr('two_manifold_ros.interface.session.perf_counter_ns', lambda: late)
    assert session.counts(at_once=False)['received'] == 150


def test_no_more_wait_than_may(drive: SlotCarRun, model_path: Path) -> None:
    """A driver at 10 kHz is taken in portions, not a whole tick at once."""
    session = Session(load_model(model_path), most_waiting=30)
    begin = int(drive.stamps_ns[0])
    for index in range(70):
        session.take(raw(begin + 100_000 * index, drive.imu[0]))
        assert session.counts(at_once=False)['received'] > index - 30


def test_an_imu_that_slows_down_leaves_no_estimate(drive: SlotCarRun, model_path: Path) -> None:
    """Each of its samples comes after a gap, so that no tick ever ends."""
    model = load_model(model_path)
    session = Session(model)
    for stamp, sample in zip(drive.stamps_ns[:150].tolist(), drive.imu[:150], strict=True):
        session.take(raw(stamp, sample))
    assert session.latest is not None
    for step in range(1, model.window):
        slow = int(drive.stamps_ns[149]) + step * (model.max_gap_ns + 1)
        session.take(raw(slow, drive.imu[0]))
    assert session.counts()['resets'] > 0
    assert session.latest is None


@pytest.mark.parametrize('reorder_ns', [0, 40_000_000])
def test_every_message_is_accounted_for_at_any_moment(
    drive: SlotCarRun, model_path: Path, reorder_ns: int
) -> None:
    model = load_model(model_path)

    def make(model: ModelHead) -> Filter:
        return Filter(model, reorder_ns=reorder_ns)

    session = Session(model, make=make)
    for index, message in enumerate(odd_stream(drive, 1200)):
        session.take(message)
        assert unaccounted(session.counts()) == 0
        if index % 150 == 70:
            # Another filter, which has seen less than the one whose place it takes.
            live = make(model)
            session.successor = SimpleNamespace(
                model=model, filter=live, latest=None, take=live.push, reset=live.reset
            )
        if index % 150 == 71:
            session.hand_over()
            assert unaccounted(session.counts()) == 0
        if index % 150 == 140:
            session.reset('a test')
            assert unaccounted(session.counts()) == 0
    counts = session.counts()
    assert all(counts[cause] for cause in REJECTIONS)
    assert counts['gaps']


MS = 1_000_000
PERIOD = 20 * MS
COUNT = 100


def fed(pace: float = 1.0) -> Arrivals:
    """Return the arrivals of two seconds of stamps at a pace beside the clock."""
    arrivals = Arrivals()
    for step in range(COUNT):
        arrived = round(step * PERIOD / pace)
        arrivals.take(10**12 + step * PERIOD, 'imu', arrived, used=True, broke=step == 0)
    return arrivals


@pytest.mark.parametrize(
    ('pace', 'by_stamps_s', 'by_clock_s', 'cause', 'seconds'),
    [
        (1.0, 5.0, 5.0, 'gap', 5.0),
        (1.0, 30.0, 0.02, 'stepped_ahead', 29.98),
        (1.0, -30.0, 0.02, 'stepped_back', 30.02),
        (1.0, 31.0, 1.0, 'stepped_ahead', 30.0),
        (1.0, -30.0, 5.0, 'stepped_back', 35.0),
        (1.0, 0.02, 0.32, 'stepped_back', 0.3),
        (10.0, 5.0, 0.5, 'gap', 5.0),
        (0.1, 5.0, 50.0, 'gap', 5.0),
        (0.1, 5.0, 5.0, 'stepped_ahead', 4.5),
    ],
)
def test_a_clock_that_was_set_is_told_from_a_driver_that_was_silent(
    pace: float, by_stamps_s: float, by_clock_s: float, cause: str, seconds: float
) -> None:
    arrivals = fed(pace)
    assert arrivals.interruption is None
    last = COUNT - 1
    stamp = 10**12 + last * PERIOD + round(by_stamps_s * 1e9)
    arrived = round(last * PERIOD / pace + by_clock_s * 1e9)
    arrivals.take(stamp, 'imu', arrived, used=True, broke=True)
    assert arrivals.interruption is not None
    assert arrivals.interruption.cause == cause
    assert arrivals.interruption.seconds == pytest.approx(seconds, abs=0.021)
    arrivals.take(stamp + PERIOD, 'imu', arrived + PERIOD, used=True, broke=False)
    assert arrivals.interruption.cause == cause
    arrivals.reset()
    assert arrivals.interruption is None


def test_batches_do_not_disturb_the_pace() -> None:
    arrivals = Arrivals()
    for step in range(500):
        arrived = (step // 50 + 1) * 50 * PERIOD
        arrivals.take(10**12 + step * PERIOD, 'imu', arrived, used=True, broke=False)
    stamp = 10**12 + 500 * PERIOD + 4 * 10**9
    arrivals.take(stamp, 'imu', 10 * 50 * PERIOD + 4 * 10**9, used=True, broke=True)
    assert arrivals.interruption is not None
    assert arrivals.interruption.cause == 'gap'


def test_messages_in_a_row_that_are_not_used_are_counted() -> None:
    arrivals = fed()
    good_ns = arrivals.good_ns
    arrivals.refuse()
    arrivals.take(1, 'imu', good_ns + PERIOD, used=False, broke=False)
    assert (arrivals.unused, arrivals.good_ns, arrivals.newest_ns) == (2, good_ns, 1)
    arrivals.take(10**13, 'imu', good_ns + 2 * PERIOD, used=True, broke=False)
    assert (arrivals.unused, arrivals.good_ns) == (0, good_ns + 2 * PERIOD)


def test_another_frame_than_at_first_is_seen() -> None:
    arrivals = fed()
    arrivals.take(10**13, 'base', 0, used=True, broke=False)
    arrivals.take(10**13, '', 0, used=True, broke=False)
    assert (arrivals.frame, arrivals.newest_frame) == ('imu', 'base')
    arrivals.reset()
    for frame in ('', 'base'):
        arrivals.take(10**13, frame, 0, used=True, broke=False)
    assert arrivals.frame == arrivals.newest_frame == 'base'


def test_quantiles_are_of_the_last_thousand_in_microseconds() -> None:
    durations = Durations()
    assert math.isnan(durations.microseconds()['p50'])
    for _ in range(100):
        durations.add(10**9)
    for _ in range(1000):
        durations.add(5000)
    assert durations.microseconds() == {'p50': 5.0, 'p99': 5.0, 'max': 5.0}
    durations.add(9000)
    assert durations.microseconds()['max'] == 9.0
