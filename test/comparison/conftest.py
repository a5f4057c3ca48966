# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Plans made from laps of an ellipse."""

from collections.abc import Callable

import pytest

from two_manifold_ros.comparison.protocol import Plan, plan_share
from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.training.settings import TrainingSettings


@pytest.fixture(scope='session')
def ellipse_plan(drive: Callable[..., Recording]) -> Plan:
    """Return 105.6 s to learn from and 14.4 s to follow at 10 Hz, horizons 0, 5 and 20."""
    settings = TrainingSettings(rate_hz=10.0, window=20, horizons=(0, 5, 20))
    return plan_share(drive(120.0), settings, 0.12)
