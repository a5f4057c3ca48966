# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Too few laps are told of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from two_manifold_ros.comparison.protocol import plan_share
from two_manifold_ros.training.settings import TrainingSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.recordings.recording import Recording

SETTINGS = TrainingSettings(rate_hz=10.0, window=20, horizons=(0, 5))


@pytest.mark.parametrize(
    ('seconds', 'share', 'doubts'),
    [
        (80.0, 0.3, []),
        (70.0, 0.1, ['what is followed holds 0.6 laps']),
        (42.0, 0.5, ['what is learned from holds 2.6 laps, 0.4 of them to choose settings on']),
        (36.0, 0.25, ['what is learned from holds 3.4 laps, 0.6', 'what is followed holds 0.9']),
        (14.0, 0.5, ['what is learned from never closes a lap']),
    ],
)
def test_laps_are_counted(
    seconds: float, share: float, doubts: list[str], drive: Callable[..., Recording]
) -> None:
    """A lap takes 8 s."""
    plan = plan_share(drive(seconds), SETTINGS, share)
    assert len(plan.notes) == len(doubts)
    for note, beginning in zip(plan.notes, doubts, strict=True):
        assert note.startswith(beginning)
