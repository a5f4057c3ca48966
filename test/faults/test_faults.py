# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The fault matrix: what the messages of a driver can bring about."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from driven_node import driven, play, Trial
from stream_faults import (
    ANY,
    FAULTS,
    LOST,
    Published,
    Sample,
    StreamFault,
    TRACKING,
    UNSURE,
    Word,
)

from two_manifold_ros.domains import free_domains
from two_manifold_ros.interface.assessment import REJECTIONS


@pytest.fixture(scope='module')
def domain() -> int:
    (free,) = free_domains(1)
    return free


@pytest.mark.parametrize('fault', FAULTS, ids=lambda fault: fault.name)
def test_fault(fault, trained, domain, monkeypatch):
    path, drive = trained
    with driven(fault, monkeypatch, domain, path) as node:
        assert complaints(play(fault, drive, node)) == []


def test_what_does_not_hold_is_complained_of(trained, domain, monkeypatch):
    """A drive without a fault is judged, and then each part of it as if it had been otherwise."""
    path, drive = trained
    none = StreamFault('none')
    with driven(none, monkeypatch, domain, path) as node:
        good = play(none, drive, node)
    assert complaints(good) == []
    lost = Word(good.begin + 1, LOST, 'diverged', 'lost', 0.0)
    middle = len(good.published) // 2
    one = good.published[middle]
    far = one._replace(place=one.place + 0.5, covariance=0.01 * np.eye(2))
    near = one._replace(place=one.place + 0.25, covariance=1e-4 * np.eye(2))
    last = good.looks[-1]
    off = [each._replace(place=each.place + 0.1) for each in good.published]
    missing = []
    for words, changes in {
        "before the fault it said 'lost'": {'words': [lost._replace(received=0)]},
        'not finite': {'not_finite': 1},
        'sure and wrong, not 0': {'published': [*good.published[:middle], far]},
        '1 positions are published as sure and wrong': {'published': [near]},
        "while it said 'lost'": {'words': [*good.words, lost]},
        "it said 'lost' because of 'diverged'": {'words': [*good.words, lost]},
        'it did not track again': {'words': [*good.words, lost]},
        'it never said': {'fault': replace(none, says=(LOST, 'diverged'), within_s=1.0)},
        'it did not say why': {
            'fault': replace(none, says=(LOST, '')),
            'words': [*good.words, lost._replace(cause='')],
        },
        'times that without the fault': {'published': off},
        'it published nothing afterwards': {'published': []},
        'do not add up': {
            'looks': [*good.looks, last._replace(numbers=last.numbers | {'used': 0.0})]
        },
        'resets was counted 0 times, not 2': {'fault': replace(none, counts={'resets': 2})},
        'the node died': {'survived': False},
    }.items():
        found = complaints(replace(good, **changes))
        missing += [] if any(words in each for each in found) else [(words, found)]
    assert missing == []


MOST_ERROR = 1.2
"""After a fault the error may be this many times what it would have been without."""

LEAST_ERROR_M = 0.03
"""Errors are compared as if they were at least this: below lies the noise of the IMU."""

FAR_M = 0.35
"""An error that the filter has now and then on a healthy drive; the track is 4.9 m long."""

SURE = 3.0
"""
Times the 95 % ellipse, and times the usual error, from which on a smaller error is wrong as well.
"""

CHI_SQUARE = 5.991
"""Of two dimensions at 95 %."""


def complaints(trial: Trial) -> list[str]:
    """Return what does not hold of what the node did."""
    parts = _soundness(trial), _naming(trial), _recovery(trial), _counts(trial)
    return [complaint for part in parts for complaint in part]


def _soundness(trial: Trial) -> Iterator[str]:
    """Complain where something else was wrong before, or of what may never be published."""
    before = [word.status for word in trial.words if word.received < trial.begin]
    if before[-1] != TRACKING:
        yield f'before the fault it said {before[-1]!r}'
    if trial.not_finite:
        yield f'{trial.not_finite} published messages hold a number that is not finite'
    unnoticed = _unnoticed(trial)
    if unnoticed > trial.fault.blind:
        yield f'{unnoticed} positions are published as sure and wrong, not {trial.fault.blind}'
    for each in trial.published:
        statuses = trial.statuses(each.after)
        if not statuses & {TRACKING, UNSURE}:
            yield f'an estimate was published while it said {" and ".join(map(repr, statuses))}'
            return


def _unnoticed(trial: Trial) -> int:
    """Count positions that were published as sure and are wrong."""
    sure = [each for each in trial.published if trial.statuses(each.after) == {TRACKING}]
    return sum(not _right(trial, each) for each in sure)


def _right(trial: Trial, published: Published) -> bool:
    taken = _taken(trial.sent, published)
    if taken is None:
        return False
    error = published.place - trial.drive.places(np.array([taken]))[0]
    error_m = np.linalg.norm(error)
    ellipses = np.sqrt(error @ np.linalg.solve(published.covariance, error) / CHI_SQUARE)
    if ellipses > SURE and error_m > SURE * trial.drive.usual_error:
        return False
    return bool(ellipses <= 1.0 or error_m < FAR_M)


def _taken(sent: list[Sample], published: Published) -> int | None:
    """Return the time on the drive of the newest sample that an estimate may have used."""
    for sample in reversed(sent[: published.after - 1]):
        if sample.refused or sample.stamp_ns > published.stamp_ns:
            continue
        if sample.taken_ns is None:
            return None
        return sample.taken_ns + min(published.stamp_ns - sample.stamp_ns, 20_000_000)
    return None


def _detected_s(trial: Trial) -> float | None:
    """Return how long it took until the fault was named or counted."""
    fault = trial.fault
    if fault.counter:
        before = trial.numbers_before.get(fault.counter, 0.0)
        for look in trial.looks:
            if look.numbers.get(fault.counter, 0.0) > before:
                return trial.seconds_after(look.received)
        return None
    status, cause = fault.says
    for word in trial.words:
        alike = status in {ANY, word.status} and cause in {ANY, word.cause}
        if not (alike and fault.words in word.why):
            continue
        if fault.silent_s and word.heard_s > trial.silence_s:
            return word.heard_s - trial.silence_s
        if not fault.silent_s and word.received > trial.begin:
            return trial.seconds_after(word.received)
    return None


def _naming(trial: Trial) -> Iterator[str]:
    fault, detected_s = trial.fault, _detected_s(trial)
    said = [word for word in trial.words if word.received > trial.begin]
    if fault.harmless:
        other = [word for word in said if word.status != TRACKING]
        if other:
            yield f'it said {other[0].status!r} because of {other[0].cause!r}: {other[0].why}'
        if not fault.within_s:
            return
    elif any(not word.cause or not word.why for word in said if word.status != TRACKING):
        yield 'it did not say why'
    if detected_s is None:
        causes = Counter((word.status, word.cause) for word in said)
        yield f'it never said {fault.says} {fault.words!r}, but {dict(causes)}'
    elif detected_s > fault.within_s:
        yield f'it said so after {detected_s:.2f} s, not within {fault.within_s:g} s'


def _recovered(trial: Trial) -> int | None:
    """Return after how many ticks it tracked and went on doing so."""
    since = None
    for word in trial.words:
        if word.received <= trial.end and word.status == TRACKING:
            since = trial.end
        elif word.status != TRACKING:
            since = None
        elif since is None:
            since = word.received
    return None if since is None else trial.ticks_between(trial.end, since)


def _recovery(trial: Trial) -> Iterator[str]:
    recovered = _recovered(trial)
    if recovered is None:
        yield f'it did not track again; its last word was {trial.words[-1].why!r}'
        return
    if recovered > trial.fault.recovers:
        yield f'it tracked again after {recovered} ticks, not within {trial.fault.recovers}'
    ratio = _error_ratio(trial)
    if ratio is None:
        yield 'it published nothing afterwards'
    elif ratio > MOST_ERROR:
        yield f'its error afterwards is {ratio:.2f} times that without the fault'


def _error_ratio(trial: Trial) -> float | None:
    """Compare errors once it has to be recovered, or from the fault on where it was harmless."""
    since = trial.begin if trial.fault.harmless else trial.end
    published = [
        each
        for each in trial.published
        if each.after > since
        and trial.ticks_between(since, each.after) >= trial.fault.recovers
        and _taken(trial.sent, each) is not None
    ]
    if not published:
        return None
    taken = np.array([_taken(trial.sent, each) for each in published])
    errors = np.array([each.place for each in published]) - trial.drive.places(taken)
    error = float(np.sqrt(np.mean(np.sum(np.square(errors), axis=1))))
    return max(error, LEAST_ERROR_M) / max(trial.drive.error(taken), LEAST_ERROR_M)


def _counts(trial: Trial) -> Iterator[str]:
    """Complain of counters that do not say what became of the messages."""
    first, last = trial.numbers_before, trial.looks[-1].numbers
    if not trial.survived:
        yield 'the node died, or survived an exception'
    if last['received'] != sum(last[key] for key in ('used', 'waiting', *REJECTIONS)):
        yield f'the counters do not add up: {last}'
    refused = Counter(each.refused for each in trial.sent if each.refused)
    expected = {**{cause: refused[cause] for cause in REJECTIONS}, **trial.fault.counts}
    for key, count in expected.items():
        fresh = last[key] - first.get(key, 0.0)
        if fresh != count and key not in trial.fault.may_count:
            yield f'{key} was counted {fresh:g} times, not {count}'
