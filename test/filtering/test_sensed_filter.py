# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A filter with sensors beside the IMU: better with them, and the same without them."""

from dataclasses import replace

import numpy as np
import pytest

from two_manifold_ros.filtering.filter import Filter


@pytest.mark.parametrize('kind', ['no column', 'NaN', 'no topic'])
def test_without_its_sensors_a_model_filters_to_the_bit_as_one_that_never_had_any(
    kind, sensed_model, slot_car_model, sensed_laps
):
    recording = sensed_laps[1]
    found = []
    for model in (sensed_model, slot_car_model):
        live = Filter(model)
        if kind == 'no topic':
            samples = replace(recording, sensors=()).samples_with(model.further_names)
        elif kind == 'NaN' and model is sensed_model:
            samples = np.pad(recording.imu.samples, ((0, 0), (0, 4)), constant_values=np.nan)
        else:
            samples = recording.imu.samples
        for stamp, sample in zip(recording.imu.stamps.tolist(), samples, strict=True):
            found.append((model is sensed_model, live.push(stamp, sample)))
    one, other = ([e for own, es in found if own is which for e in es] for which in (True, False))
    assert len(one) == len(other) > 100
    for mine, alone in zip(one, other, strict=True):
        assert mine.status is alone.status
        np.testing.assert_array_equal(mine.positions, alone.positions)
        np.testing.assert_array_equal(mine.covariances, alone.covariances)
