# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Each check of the fault matrix sees what it is there for."""

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from checks import judge
from fault import HealthyDrive, Look, LOST, Published, Sample, StreamFault, TRACKING, Word
import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from trial import Trial

from two_manifold_ros.interface.assessment import REJECTIONS

PERIOD_NS = 20_000_000
SAMPLES, BEGIN, END = 500, 100, 200
AHEAD = np.array([0.1, 0.0])


def drive() -> HealthyDrive:
    """Drive straight on at 1 m/s; the undisturbed filter errs by 10 cm."""
    stamps = 10**9 + PERIOD_NS * np.arange(SAMPLES)
    positions = np.stack([np.arange(SAMPLES) / 50.0, np.zeros(SAMPLES), np.zeros(SAMPLES)], axis=1)
    run = SimpleNamespace(stamps_ns=stamps, imu=np.zeros((SAMPLES, 6)), positions=positions)
    estimates = [
        SimpleNamespace(stamp_ns=stamp, positions=xyz[None, :2] + AHEAD, valid=True)
        for stamp, xyz in zip(stamps[::5].tolist(), positions[::5], strict=True)
    ]
    return HealthyDrive(run, estimates)


def numbers(received: int, **others: float) -> dict[str, float]:
    known = {'received': received, 'used': received, 'waiting': 0, **dict.fromkeys(REJECTIONS, 0)}
    return {**known, **others}


@pytest.fixture
def good() -> Trial:
    """Return a trial in which a fault is named after 0.4 s and over 20 ticks after its end."""
    driven = drive()
    sent = driven.between(0.0, SAMPLES / 50.0)
    fault = StreamFault(
        name='fault',
        says=(LOST, 'diverged'),
        within_s=0.5,
        recovers=25,
        words='drive on',
    )
    published = [
        Published(row + 1, sent[row].stamp_ns, place + AHEAD, np.eye(2) * 0.01)
        for row, place in enumerate(driven.run.positions[:, :2])
        if row and row % 5 == 0 and not 119 <= row < 300
    ]
    words = [
        Word(0, TRACKING, '', 'tracking', 0.0),
        Word(120, LOST, 'diverged', 'lost: drive on', 0.0),
        Word(301, TRACKING, '', 'tracking', 0.0),
    ]
    looks = [Look(count, numbers(count)) for count in (0, BEGIN, SAMPLES)]
    return Trial(
        fault, driven, sent, BEGIN, END, words, looks, published, 0.0, not_finite=0, survived=True
    )


def test_a_good_trial_has_no_complaints(good):
    outcome = judge(good)
    assert outcome.complaints == ()
    assert outcome.detected_s == pytest.approx(0.38)
    assert outcome.recovered == 20
    assert outcome.error_ratio == pytest.approx(1.0)
    assert outcome.unnoticed == 0


def spoilt(good: Trial) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what is to be complained of, and the fields of a trial in which that alone is so."""
    (first, named, back), published = good.words, good.published
    after = [each for each in published if each.after > END]
    before_it_lost = [Word(0, LOST, 'x', 'lost', 0.0), named, back]
    yield "before the fault it said 'lost'", {'published': after, 'words': before_it_lost}
    yield 'not finite', {'not_finite': 1}
    yield "while it said 'lost'", {'published': [*published, published[0]._replace(after=150)]}
    for away, spread in ((np.array([0.5, 0.5]), 0.01), (2.3 * AHEAD, 0.001)):
        one = published[3]._replace(place=published[3].place + away, covariance=spread * np.eye(2))
        moved = {'published': [*published[:3], one, *published[4:]]}
        yield '1 positions are published as sure and wrong, not 0', moved
    for changes in ({'cause': 'novelty'}, {'why': 'lost'}):
        yield 'it never said', {'words': [first, named._replace(**changes), back]}
    yield 'after 0.38 s, not within 0.3 s', {'fault': replace(good.fault, within_s=0.3)}
    yield 'it did not say why', {'words': [first, named, Word(130, LOST, '', 'lost', 0.0), back]}
    yield 'after 20 ticks, not within 15', {'fault': replace(good.fault, recovers=15)}
    never = [each for each in published if each.after < END]
    yield 'it did not track again', {'published': never, 'words': [first, named]}
    worse = [each._replace(place=each.place + 0.5 * AHEAD) for each in after]
    yield '1.50 times', {'published': [*never, *worse]}
    refused = good.sent[BEGIN]._replace(refused='non_finite')
    spoilt_one = [*good.sent[:BEGIN], refused, *good.sent[BEGIN + 1 :]]
    yield 'non_finite was counted 0 times, not 1', {'sent': spoilt_one}
    lacks = Look(SAMPLES, numbers(SAMPLES, used=SAMPLES - 1))
    yield 'do not add up', {'looks': [*good.looks[:-1], lacks]}
    looks = [look._replace(numbers={**look.numbers, 'resets': 0}) for look in good.looks]
    looks[-1].numbers['resets'] = 2
    one_reset = replace(good.fault, counts={'resets': 1})
    yield 'resets was counted 2 times, not 1', {'fault': one_reset, 'looks': looks}
    yield 'the node died', {'survived': False}


def test_every_check_complains(good):
    for complaint, changes in spoilt(good):
        (only,) = judge(replace(good, **changes)).complaints
        assert complaint in only


def test_a_harmless_fault_must_not_be_noticed(good):
    harmless = replace(good.fault, says=(TRACKING, ''), words='')
    complaints = judge(replace(good, fault=harmless)).complaints
    assert any("it said 'lost' because of 'diverged'" in each for each in complaints)


def test_the_wrong_place_is_known_from_the_samples(good):
    """A car that was put elsewhere is where its samples were taken, not where its stamps say."""
    ahead = [each._replace(taken_ns=each.taken_ns + 25 * PERIOD_NS) for each in good.sent[:400]]
    moved: list[Sample] = [*ahead, *good.sent[400:]]
    assert judge(replace(good, sent=moved)).unnoticed > 10
