# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A filter fed with serialised messages, and when these came."""

from collections.abc import Iterable
import math
from pathlib import Path
from time import perf_counter_ns
from types import SimpleNamespace

from filter_runs import bits, stamps
import numpy as np
import pytest
from raw_imu import odd_stream, raw_imu, unaccounted

from two_manifold_ros.filtering.estimate import Estimate
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.interface.assessment import InputLimits, REJECTIONS
from two_manifold_ros.interface.session import Arrivals, Durations, Session
from two_manifold_ros.model.model import ModelHead
from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.simulation.slot_car_run import sensor_readings, SlotCarRun

Rows = list[tuple[int, np.ndarray]]


@pytest.fixture
def model(model_path: Path) -> ModelHead:
    return load_model(model_path)


@pytest.fixture
def rows(drive: SlotCarRun) -> Rows:
    return list(zip(drive.stamps_ns[:400].tolist(), drive.imu[:400], strict=True))


def test_the_newest_reading_of_a_sensor_is_a_channel_of_the_samples_after_it(sensed_path, drive):
    model = load_model(sensed_path)
    session, alone = Session(model), Filter(model)
    readings = sensor_readings(drive, 'magnetometer')
    wanted = []
    for index in range(400):
        stamp, sample = int(drive.stamps_ns[index]), drive.imu[index]
        reading = tuple(readings[index].tolist()) if index >= 20 else (math.nan,) * 3
        if index >= 20:
            session.hold(0, reading)
        wanted += alone.push(stamp, [*sample, *reading])
        session.take(raw_imu(stamp, sample))
    assert session.counts()['used'] == 400
    assert bits([session.latest]) == bits(wanted[-1:])


def feed(session: Session, rows: Iterable[tuple[int, np.ndarray]]) -> list[Estimate]:
    return [each for row in rows for each in session.take(raw_imu(*row)) or []]


def test_waiting_changes_no_estimate(rows, model):
    """With any samples waiting for a tick, the filter gets the same ones in the same order."""
    at = [stamp for stamp, _ in rows[:300]]
    # A copy, an old stamp, and a jump back in the middle of ticks.
    at[103], at[141], at[222:] = at[102], at[130], at[22:100]
    odd = [(stamp, sample) for stamp, (_, sample) in zip(at, rows, strict=False)]
    alone = Filter(model)
    wanted = [each for row in odd for each in alone.push(*row) if each.valid]
    session = Session(model)
    found = feed(session, odd)
    assert bits(found) == bits(wanted) != []
    assert stamps(found) == stamps(wanted)
    counts = session.counts()
    assert {cause: counts[cause] for cause in alone.counters} == dict(alone.counters)


def test_what_waits_is_counted_once_it_is_asked_for_or_overdue_and_no_more_than_may(
    rows, model, monkeypatch
):
    """A driver at 10 kHz is taken in portions, not a whole tick at once."""
    few = Session(model, most_waiting=30)
    for index in range(70):
        feed(few, [(rows[0][0] + 100_000 * index, rows[0][1])])
        assert few.counts(at_once=False)['received'] > index - 30
    # A jump waits for one message, and not for the end of the tick that it broke.
    jumped = Session(model)
    feed(jumped, rows[50:150])
    for row in rows[:2]:
        assert jumped.filter.counters['resets'] == 0
        feed(jumped, [row])
    assert jumped.filter.counters['resets'] == 1
    session = Session(model)
    fed = [session.take(raw_imu(*row)) is not None for row in rows[:150]]
    waiting = fed[::-1].index(True)
    assert 0 < waiting < 150
    assert session.counts(at_once=False)['received'] == 150 - waiting
    late = perf_counter_ns() + model.period_ns + 1
    monkeypatch.setattr('two_manifold_ros.interface.session.perf_counter_ns', lambda: late)
    assert session.counts(at_once=False)['received'] == 150


@pytest.mark.parametrize('reorder_ns', [0, 40_000_000])
def test_every_message_is_accounted_for_at_any_moment(drive, model, reorder_ns):
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


PERIOD = 20_000_000
LAST = 99 * PERIOD


def fed() -> Arrivals:
    arrivals = Arrivals()
    for at in range(0, LAST + 1, PERIOD):
        arrivals.take(10**12 + at, 'imu', at, used=True, broke=at == 0)
    return arrivals


@pytest.mark.parametrize(
    ('by_stamps_s', 'by_clock_s', 'cause', 'seconds'),
    [
        (5.0, 5.0, 'gap', 5.0),
        (30.0, 0.02, 'stepped_ahead', 29.98),
        (31.0, 1.0, 'stepped_ahead', 30.0),
        (-30.0, 5.0, 'stepped_back', 35.0),
    ],
)
def test_a_clock_that_was_set_is_reported_from_a_driver_that_was_silent(
    by_stamps_s, by_clock_s, cause, seconds
):
    arrivals = fed()
    assert arrivals.interruption is None
    stamp, arrived = 10**12 + LAST + round(by_stamps_s * 1e9), LAST + round(by_clock_s * 1e9)
    arrivals.take(stamp, 'imu', arrived, used=True, broke=True)
    assert arrivals.interruption.cause == cause
    assert f' {seconds:.2g} s' in arrivals.interruption.words
    arrivals.take(stamp + PERIOD, 'imu', arrived + PERIOD, used=True, broke=False)
    assert arrivals.interruption.cause == cause
    arrivals.reset()
    assert arrivals.interruption is None


def test_messages_that_are_not_used_are_counted_and_another_frame_is_seen():
    arrivals = fed()
    good_ns = arrivals.good_ns
    arrivals.refuse()
    arrivals.take(1, 'imu', good_ns + PERIOD, used=False, broke=False)
    assert (arrivals.unused, arrivals.good_ns, arrivals.newest_ns) == (2, good_ns, 1)
    for frame in ('base', ''):
        arrivals.take(10**13, frame, good_ns + 2 * PERIOD, used=True, broke=False)
    assert (arrivals.unused, arrivals.good_ns) == (0, good_ns + 2 * PERIOD)
    assert (arrivals.frame, arrivals.newest_frame) == ('imu', 'base')
    for count in range(1, InputLimits.most_in_a_row + 1):
        arrivals.refuse()
        assert arrivals.refused == (count == InputLimits.most_in_a_row)
    arrivals.reset()
    for frame in ('', 'base'):
        arrivals.take(10**13, frame, 0, used=True, broke=False)
    assert arrivals.frame == arrivals.newest_frame == 'base'


def test_quantiles_are_of_the_last_thousand_in_microseconds():
    durations = Durations()
    assert math.isnan(durations.microseconds()['p50'])
    for each in [10**9] * 100 + [5000] * 1000:
        durations.append(each)
    assert durations.microseconds() == {'p50': 5.0, 'p99': 5.0, 'max': 5.0}
    durations.append(9000)
    assert durations.microseconds()['max'] == 9.0
