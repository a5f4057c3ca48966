# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""In how many ticks a position was measured."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from two_manifold_ros.training.dataset import share_seen

if TYPE_CHECKING:
    from two_manifold_ros.recordings.recording import Recording


def test_ticks_with_a_position_are_counted(slot_car_laps: tuple[Recording, Recording]) -> None:
    whole = slot_car_laps[0].between(None, 20.0)
    assert whole.positions is not None
    assert share_seen([whole], 5.0) == pytest.approx(1.0, abs=0.03)
    second = np.unique(whole.positions.stamps // 1_000_000_000, return_index=True)[1]
    rare = replace(
        whole,
        positions=whole.positions.select(np.isin(np.arange(len(whole.positions.stamps)), second)),
    )
    assert share_seen([rare], 5.0) == pytest.approx(0.2, abs=0.03)
    assert share_seen([whole, replace(whole, positions=None)], 5.0) == pytest.approx(0.5, abs=0.03)
