# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the updater reports about its learning."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from two_manifold_ros.adapting.learning_report import assess_checkpoints, learning_events
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.interface.assessment import Assessment, Level


def session(fault: str = '') -> Any:  # noqa: ANN401 - a stand-in
    learner = SimpleNamespace(failure='a bug')
    return SimpleNamespace(learner=learner, fault=fault)


@pytest.mark.parametrize(
    ('counter', 'words'),
    [
        ('samples_failures', 'No newer model was learned: a bug'),
        ('reference_jumped', 'Positions on /fix jumped'),
        ('reference_moved', 'stay where they jumped to'),
        ('reference_non_finite', 'Positions not used on /fix: non_finite (3)'),
        ('reference_no_fix', 'no_fix (3)'),
        ('reference_malformed', 'malformed (3)'),
    ],
)
def test_what_happened_lately_is_said_once(counter: str, words: str) -> None:
    (sentence,) = learning_events(Counter({counter: 3}), session(), '/fix').values()
    assert words in sentence


def test_faults_are_said_with_a_capital_and_only_once() -> None:
    found = session('images are jpeg')
    causes = learning_events(Counter(), found, '/fix')
    assert list(causes.values()) == ['Images are jpeg']
    assert 'fault' not in learning_events(Counter(), found, '/fix')


def test_a_checkpoint_that_cannot_be_written_is_a_warning_but_hides_no_other() -> None:
    well = Assessment(Level.OK, Status.TRACKING, '', 'tracking')
    lost = Assessment(Level.ERROR, Status.LOST, 'astray', 'lost')
    assert assess_checkpoints(well, '') == well
    assert assess_checkpoints(lost, 'disk full') == lost
    assert assess_checkpoints(well, 'disk full') == Assessment(
        Level.WARN, Status.TRACKING, 'checkpoint', 'tracking, but disk full'
    )
