# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the updater says about its learning."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any, TYPE_CHECKING

import numpy as np
import pytest
from raw_imu import raw_imu
from updater_feed import LEARNED

from two_manifold_ros.filtering.status import Status
from two_manifold_ros.nodes.updater_words import judge_keeping, learning_causes
from two_manifold_ros.outputs.diagnostics import Level
from two_manifold_ros.outputs.judging import Judgement
from two_manifold_ros.tpsr.saving import learner_arrays

if TYPE_CHECKING:
    from two_manifold_ros.nodes.updater_session import UpdaterSession
    from two_manifold_ros.simulation.slot_car_run import SlotCarRun


def session(trouble: str = '', fault: str = '') -> Any:  # noqa: ANN401 - a stand-in
    learner = SimpleNamespace(values=lambda: {'learning_trouble': 'a bug', 'turned': 'a.x'})
    return SimpleNamespace(learner=learner, budget=SimpleNamespace(trouble=trouble), fault=fault)


@pytest.mark.parametrize(
    ('counter', 'words'),
    [
        ('samples_failures', 'No newer map was learned: a bug'),
        ('samples_turns', 'taken as reversed: a.x;'),
        ('samples_quarantined', 'not learned'),
        ('samples_changes', 'learned as the new usual'),
        ('reference_jumped', 'Positions on /fix jumped'),
        ('reference_moved', 'stay where they jumped to'),
        ('reference_non_finite', 'Positions not used on /fix: non_finite (3)'),
        ('reference_no_fix', 'no_fix (3)'),
        ('reference_malformed', 'malformed (3)'),
    ],
)
def test_what_happened_lately_is_said_once(counter: str, words: str) -> None:
    (sentence,) = learning_causes(Counter({counter: 3}), session(), '/fix').values()
    assert words in sentence


def test_troubles_are_said_with_a_capital_and_faults_only_once() -> None:
    found = session('learning takes too long', 'images are jpeg')
    causes = learning_causes(Counter(), found, '/fix')
    assert list(causes.values()) == ['Learning takes too long', 'Images are jpeg']
    assert 'fault' not in learning_causes(Counter(), found, '/fix')


def test_a_checkpoint_that_cannot_be_written_is_a_warning_but_hides_no_other() -> None:
    well = Judgement(Level.OK, Status.TRACKING, '', 'tracking')
    lost = Judgement(Level.ERROR, Status.LOST, 'astray', 'lost')
    assert judge_keeping(well, '') == well
    assert judge_keeping(lost, 'disk full') == lost
    assert judge_keeping(well, 'disk full') == Judgement(
        Level.WARN, Status.TRACKING, 'checkpoint', 'tracking, but disk full'
    )


def test_a_stuck_sensor_teaches_nothing_and_is_told(
    drive: SlotCarRun, learned: UpdaterSession
) -> None:

    def stuck(seconds: range) -> UpdaterSession:
        for step in range(50 * seconds.start, 50 * seconds.stop):
            stamp = int(drive.stamps_ns[LEARNED]) + 20_000_000 * step
            learned.take(raw_imu(stamp, drive.imu[LEARNED]))
            if step % 5 == 0:
                learned.take_position(stamp, 'map', *drive.positions[LEARNED + step, :2].tolist())
        return learned

    # It takes a moment to see that a sensor is stuck, but what it says meanwhile has to wait.
    numbers, arrays = learner_arrays(stuck(range(2)).learner.tracker.learning.learner)
    before = learned.learned()
    again, later = learner_arrays(stuck(range(2, 12)).learner.tracker.learning.learner)
    assert again == numbers
    assert all(later[name].tobytes() == arrays[name].tobytes() for name in arrays)
    fresh = Counter({f'samples_{key}': each for key, each in (learned.learned() - before).items()})
    causes = learning_causes(fresh, learned, '/reference')
    assert causes == {'quarantined': 'Faulty or unfamiliar input was dropped and not learned'}
    assert not learned.latest.valid
    assert np.isfinite(learned.latest.positions).all()
