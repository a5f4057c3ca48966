# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which part is learned from and which is followed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from two_manifold_ros.comparison.protocol import plan_bags, plan_share, plan_slot_car
from two_manifold_ros.errors import InputError
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.training.settings import TrainingSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.recordings.recording import Recording

SETTINGS = TrainingSettings(rate_hz=10.0, window=20, horizons=(0, 5, 20))


def named(recording: Recording, name: str) -> Recording:
    return replace(recording, name=name)


@pytest.fixture(scope='session')
def slot_car() -> Recording:
    """Return 310 s at 10 Hz."""
    return run_to_recording(simulate(SlotCarSettings(seed=3, rate_hz=10.0), samples=3100))


def without(recording: Recording, start_s: float, end_s: float) -> Recording:
    """Leave out the IMU samples between two times."""
    elapsed = (recording.imu.stamps - recording.imu.stamps[0]) * 1e-9
    kept = (elapsed < start_s) | (elapsed > end_s)
    return replace(recording, imu=recording.imu.select(kept))


def test_the_last_share_is_followed(drive: Callable[..., Recording]) -> None:
    plan = plan_share(drive(48.0), SETTINGS, 0.25)
    (learned,) = plan.lesson.recordings
    (exam,) = plan.exams
    whole_ns = 48.0e9 - 1e7
    cut = drive(48.0).imu.stamps[0] + round(0.75 * whole_ns)
    assert learned.imu.stamps[-1] < cut <= exam.segment.stamps[0] - 100_000_000
    assert learned.positions is not None
    assert learned.positions.stamps[-1] < cut
    assert len(exam.segment) == round(0.25 * 480) - 1
    assert plan.protocol == 'share'


def test_the_default_share_is_thirty_per_cent(drive: Callable[..., Recording]) -> None:
    (exam,) = plan_share(drive(48.0), SETTINGS).exams
    assert len(exam.segment) == round(0.3 * 480) - 1


@pytest.mark.parametrize('share', [0.0, 1.0, -0.1, float('nan')])
def test_a_share_that_is_none(share: float, drive: Callable[..., Recording]) -> None:
    with pytest.raises(InputError, match='between 0 and 1'):
        plan_share(drive(48.0), SETTINGS, share)


def test_too_short_to_learn_or_to_follow(drive: Callable[..., Recording]) -> None:
    with pytest.raises(InputError, match=r'no stretch longer than a window of 2\.0 s'):
        plan_share(drive(48.0), SETTINGS, 0.03)
    with pytest.raises(InputError, match='training needs more than two windows'):
        plan_share(drive(48.0), SETTINGS, 0.95)
    with pytest.raises(InputError, match='no two IMU samples'):
        plan_share(drive(48.0).between(0, 0.01), SETTINGS)


def test_bags_are_followed_one_by_one(drive: Callable[..., Recording]) -> None:
    learned = [named(drive(20.0), 'a'), named(drive(24.0), 'b')]
    followed = [named(drive(16.0), 'c'), named(drive(12.0), 'd')]
    plan = plan_bags(learned, followed, SETTINGS)
    assert [each.name for each in plan.lesson.recordings] == ['a', 'b']
    assert [(exam.recording, len(exam.segment)) for exam in plan.exams] == [('c', 159), ('d', 119)]
    assert plan.protocol == 'bags'


def test_a_bag_is_not_both_learned_from_and_followed(drive: Callable[..., Recording]) -> None:
    with pytest.raises(InputError, match='ellipse: learned from and followed'):
        plan_bags([drive(48.0)], [drive(48.0)], SETTINGS)


def test_the_slot_car_is_cut_as_in_the_paper(slot_car: Recording) -> None:
    plan = plan_slot_car(slot_car)
    lesson, (exam,) = plan.lesson, plan.exams
    assert plan.protocol == 'slot-car'
    assert lesson.dataset.period_ns == 100_000_000
    assert sum(map(len, lesson.dataset.segments)) == 1_999  # between 2,000 samples
    assert len(exam.segment) == 499
    assert exam.segment.stamps[0] - slot_car.imu.stamps[0] == 250_100_000_000
    assert lesson.horizons == tuple(range(101))
    settings = lesson.settings
    assert (settings.window, settings.states, settings.neighbours) == (150, 20, 50)
    # Filtered: 100 ticks, 101, ... 350, and each predicts 1 to 100 ticks further.
    assert exam.scored.sum() == 251
    assert np.flatnonzero(exam.scored)[[0, -1]].tolist() == [99, 349]
    assert np.isfinite(exam.truth[exam.scored]).all()


@pytest.mark.parametrize(('start_s', 'end_s'), [(252.0, 290.0), (249.0, 320.0), (290.0, 320.0)])
def test_a_slot_car_with_a_gap_or_too_short(
    start_s: float, end_s: float, slot_car: Recording
) -> None:
    with pytest.raises(InputError, match='needs 300 s, 45 s without a gap among the last 50 s'):
        plan_slot_car(without(slot_car, start_s, end_s))


def test_a_slot_car_with_no_camera_at_the_end(slot_car: Recording) -> None:
    assert slot_car.positions is not None
    early = slot_car.positions.stamps < slot_car.imu.stamps[2000]
    blind = replace(slot_car, positions=slot_car.positions.select(early))
    with pytest.raises(InputError, match='no position is known'):
        plan_slot_car(blind)
