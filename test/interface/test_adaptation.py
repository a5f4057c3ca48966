# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is told about the learning."""

from __future__ import annotations

import math

import pytest
from two_manifold_ros.interface.estimates import adaptation_message

STAMP_NS = 1_700_000_000_123_456_789


def test_every_entry_has_a_label() -> None:
    message = adaptation_message(STAMP_NS, {'learned_s': 12.5, 'models': 2})
    assert message is not None
    assert message['data'] == [1_700_000_000.0, 123_456_789.0, 12.5, 2.0]
    (dimension,) = message['layout']['dim']
    assert dimension['label'] == 'sec,nanosec,learned_s,models'
    assert dimension['size'] == dimension['stride'] == 4


@pytest.mark.parametrize('number', [math.nan, math.inf])
def test_what_is_not_finite_is_not_told(number: float) -> None:
    assert adaptation_message(STAMP_NS, {'error_m': number}) is None
