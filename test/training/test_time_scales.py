# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A vehicle that does the same for long gets longer ticks and windows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.time_scales import with_time_scales

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.recordings.recording import Recording


def slowed(recording: Recording, factor: int) -> Recording:
    """Return the same drive so many times as slow, with all samples that there were between."""
    imu = recording.imu
    start = int(imu.stamps[0])
    stamps = start + 10_000_000 * np.arange(factor * (len(imu.stamps) - 1) + 1)
    between = (stamps - start) / factor
    elapsed = (imu.stamps - start).astype(float)
    samples = np.stack([np.interp(between, elapsed, each) for each in imu.samples.T], axis=1)
    assert recording.positions is not None
    places = recording.positions
    return replace(
        recording,
        imu=replace(imu, stamps=stamps, samples=samples, receive_stamps=stamps),
        positions=replace(places, stamps=start + factor * (places.stamps - start)),
    )


def test_a_slow_vehicle(drive: Callable[..., Recording]) -> None:
    usual = with_time_scales([drive(90.0)], TrainingSettings())
    slow = with_time_scales([slowed(drive(90.0), 6)], TrainingSettings())
    assert usual.rate_hz is not None
    assert slow.rate_hz is not None
    assert slow.window is not None
    assert usual.window is not None
    assert 5.0 <= slow.rate_hz < usual.rate_hz <= 20.0
    assert slow.window / slow.rate_hz > 1.5 * usual.window / usual.rate_hz


def test_what_is_given_stays(drive: Callable[..., Recording]) -> None:
    slow = [slowed(drive(90.0), 6)]
    given = TrainingSettings(rate_hz=17.0, window=33)
    assert with_time_scales(slow, given) == given
    assert with_time_scales(slow, TrainingSettings(rate_hz=17.0)).rate_hz == 17.0
    assert with_time_scales(slow, TrainingSettings(window=33)).window == 33
