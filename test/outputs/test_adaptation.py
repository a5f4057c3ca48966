# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is told about the learning."""

from __future__ import annotations

import math

import numpy as np
import pytest

from two_manifold_ros.outputs.adaptation import adaptation_message

STAMP_NS = 1_700_000_000_123_456_789


def test_every_entry_has_a_label() -> None:
    message = adaptation_message(
        STAMP_NS, {'basis_angle': 0.25, 'learned': 12}, np.array([3.0, 2.0])
    )
    assert message is not None
    assert message['data'] == [1_700_000_000.0, 123_456_789.0, 0.25, 12.0, 3.0, 2.0]
    (dimension,) = message['layout']['dim']
    assert dimension['label'] == 'sec,nanosec,basis_angle,learned,singular_0,singular_1'
    assert dimension['size'] == dimension['stride'] == 6


@pytest.mark.parametrize(('angle', 'value'), [(math.nan, 1.0), (0.0, math.inf)])
def test_what_is_not_finite_is_not_told(angle: float, value: float) -> None:
    assert adaptation_message(STAMP_NS, {'basis_angle': angle}, np.array([value])) is None
