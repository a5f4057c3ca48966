# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The fault matrix: what the messages of a driver can bring about."""

from dataclasses import replace

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from checks import complaints
from driven_node import driven, play
from fault import LOST, StreamFault, TRACKING, Word
import numpy as np
from rows_stamps import DRIVER, STAMPS
from rows_values import VALUES, VEHICLE

from two_manifold_ros.domains import free_domains


@pytest.fixture(scope='module')
def domain() -> int:
    (free,) = free_domains(1)
    return free


FAULTS = [*STAMPS, *VALUES, *DRIVER, *VEHICLE]


@pytest.mark.parametrize('fault', FAULTS, ids=lambda fault: fault.name)
def test_fault(fault, trained, domain, monkeypatch):
    path, drive = trained
    with driven(fault, monkeypatch, domain, path) as node:
        assert complaints(play(fault, drive, node)) == []


def test_what_does_not_hold_is_complained_of(trained, domain, monkeypatch):
    """A drive without a fault is judged, and then each part of it as if it had been otherwise."""
    path, drive = trained
    none = StreamFault(name='none', says=(TRACKING, ''), within_s=0.0, recovers=1)
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
