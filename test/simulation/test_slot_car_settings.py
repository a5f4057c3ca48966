# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Settings are checked, and each random stream is its own."""

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.simulation.slot_car import SlotCarSettings


@pytest.mark.parametrize(
    ('values', 'word'),
    [
        ({'seed': -1}, 'seed'),
        ({'rate_hz': 0.0}, 'rate_hz'),
        ({'rate_hz': 1001.0}, 'rate_hz'),
        ({'noise': -0.1}, 'noise'),
        ({'noise': float('nan')}, 'noise'),
        ({'speed_wander': float('inf')}, 'speed_wander'),
    ],
)
def test_bad_values_are_refused_by_name(values: dict[str, float], word: str) -> None:
    with pytest.raises(InputError, match=word):
        SlotCarSettings(**values)


def test_period() -> None:
    assert SlotCarSettings(rate_hz=30.0).period_ns == 33_333_333


def test_streams_differ_by_purpose_and_seed() -> None:
    draws = [
        SlotCarSettings(seed=seed).generator(purpose).standard_normal()
        for seed in (0, 1)
        for purpose in ('bias', 'throttle', 'imu', 'camera')
    ]
    assert len(np.unique(draws)) == 8
    assert SlotCarSettings().generator('imu').standard_normal() in draws
