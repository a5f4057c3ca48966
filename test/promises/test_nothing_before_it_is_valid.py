# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Promise 2: nothing is published before the state is valid, and validity itself is published.

Nor after it has ceased to be valid: a gap, a jump or a reset is such a start too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st
import pytest
from raw_imu import raw_imu

from two_manifold_ros.filtering.status import Status
from two_manifold_ros.interface.session import Session
from two_manifold_ros.interface.status import CODES

if TYPE_CHECKING:
    from conftest import Played

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.model.model import RouteModel
    from two_manifold_ros.recordings.recording import Recording

SHOWN = (Status.TRACKING, Status.UNSURE)
SECOND = 10**9


@settings(max_examples=12)
@given(
    st.lists(
        st.tuples(
            st.integers(1, 60),
            st.sampled_from([SECOND // 2, 9 * SECOND, -SECOND, -9 * SECOND, 0]),
            st.sampled_from([1.0, 1.0, 1.0, 9.81]),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_whatever_comes_only_what_is_valid_is_published(
    slot_car_model: RouteModel,
    slot_car_laps: tuple[Recording, Recording],
    parts: list[tuple[int, int, float]],
) -> None:
    """Parts of a drive, some in wrong units, with gaps and jumps before them; 0 is a reset."""
    imu = slot_car_laps[1].imu
    session = Session(slot_car_model)
    published: list[Estimate] = []
    row, moved = 0, 0
    for samples, jump, factor in parts:
        if not jump:
            session.reset('a test')
        moved += jump
        for _ in range(samples):
            raw = raw_imu(int(imu.stamps[row]) + moved, factor * imu.samples[row])
            published += session.take(raw) or []
            row += 1
    assert all(each.status in SHOWN and each.valid for each in published)
    # Ticks count from the last reset, and a window has to be seen first.
    assert all(each.tick >= slot_car_model.window - 1 for each in published)
    assert session.counts()['published'] == len(published)


@pytest.mark.parametrize('node', ['one', 'two'])
def test_validity_is_published_over_dds(played: Played, node: str) -> None:
    first = played.first_words[node]
    assert (first['valid'], first['status']) == (0.0, CODES[Status.WAITING])
    valid = len(played.replayed['position'])
    for each in played.passes:
        after = each[node].after
        assert (after['valid'], after['status']) == (1.0, CODES[Status.TRACKING])
        assert len(each[node].heard['position']) == valid
        assert after['published'] - each[node].before['published'] == valid
