# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Clocks, horizons, channels and windows that no filter can take are refused."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

import numpy as np
import pytest

from two_manifold_ros.model.model_file import model_from

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Content, Refusal


@pytest.mark.parametrize(
    ('name', 'value', 'words'),
    [
        ('rate_hz', 0.0, 'rate_hz holds 0, which is not within'),
        ('rate_hz', 20.0, 'its rate and the length of its tick disagree'),
        ('period_ns', 10**13, 'period_ns holds 1e+13, which is not within'),
        ('max_gap_ns', -1, 'max_gap_ns holds -1, which is not within'),
        ('max_gap_ns', 10**17, 'max_gap_ns would take'),
        ('window', 0, 'window holds 0, which is not within'),
        ('window', 10**6, 'starts holds'),
        ('window', 10**9, 'window would take'),
        ('horizons', [], 'its horizons do not begin with 0 and increase'),
        ('horizons', [0, 9, 5], 'its horizons do not begin with 0 and increase'),
        ('horizons', [5, 9], 'its horizons do not begin with 0 and increase'),
        ('horizons', [0, 5, 10**9], 'its last horizon is more than a day ahead'),
        ('horizons', [0, 5], 'readout.targets has the shape'),
        ('channels.names', ['x'] * 5, 'channel'),
        ('channels.scale', np.zeros_like, 'channels.scale holds 0'),
        ('channels.scale', lambda array: 1e-200 * array, 'channels.scale holds'),
        ('channels.limit', lambda array: array[1:], 'channels.limit has the shape'),
        ('mean_position', lambda array: array[1:], 'mean_position has the shape'),
        ('track', lambda array: array[:, :1], 'track has the shape'),
        ('series', lambda array: array[1:], 'series has the shape'),
        ('series', lambda array: 1e200 * array, 'series holds numbers beyond 1e+100'),
        ('starts', lambda array: array[:0], 'it has no windows'),
        ('starts', lambda array: array - 1, 'starts holds -1, which is not within'),
        ('starts', lambda array: array + 10**6, 'starts holds'),
    ],
)
def test_what_no_filter_can_take(name: str, value: Any, words: str, refusal: Refusal) -> None:  # noqa: ANN401
    assert words in refusal('spectral', name, value)


def test_a_channel_that_is_left_out_may_have_any_limit(changed: Callable[..., Content]) -> None:
    model_from('m.npz', *changed('route', 'channels.limit', 1e300))
