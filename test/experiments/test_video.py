# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The scores of the experiment with the film, and the truth that it keeps."""

import numpy as np
import pytest

pytest.importorskip('matplotlib')

from two_manifold_ros.experiments.video import Diary, read
from two_manifold_ros.simulation.room_video import CameraPose, RoomFrame


def frame(angle: float, direction: int, grey: int) -> RoomFrame:
    pose = CameraPose(np.cos(angle), np.sin(angle), 1.5, 0.0, 0.0, 0.0)
    return RoomFrame(np.full((2, 2), grey, np.uint8), angle % (2 * np.pi), direction, pose)


def test_what_states_hold_is_read_from_them():
    random = np.random.default_rng(0)
    angles = np.cumsum(random.uniform(0.0, 0.1, 2_000)) % (2 * np.pi)
    directions = np.where(np.arange(2_000) // 300 % 2, -1, 1)
    truth = np.column_stack([np.cos(angles), np.sin(angles), directions])
    states = truth @ random.normal(size=(3, 5))
    reading = read(np.column_stack([states, np.zeros(2_000)]), angles, directions)
    assert (reading.first, len(reading.angles)) == (1_400, 600)
    assert reading.r2 > 0.999
    assert reading.right == 1.0
    np.testing.assert_allclose(np.exp(1j * reading.angles), np.exp(1j * angles[1_400:]), atol=0.02)
    blind = read(random.normal(size=(2_000, 5)), angles, directions)
    assert abs(blind.r2) < 0.05
    assert 0.3 < blind.right < 0.7


def test_the_diary_keeps_a_place_seen_both_ways():
    diary = Diary(window=3)
    for index, (angle, way) in enumerate([(0.1, 1), (0.2, 1), (0.3, 1), (0.4, 1), (0.3, 1)]):
        diary.note(frame(angle, way, index))
    for index, angle in enumerate([0.5, 0.4, 0.3, 0.2]):
        diary.note(frame(angle, -1, 10 + index))
    assert [int(picture[0, 0]) for picture in diary.pictures] == [2, 12]
    assert diary.angles[:2] == [0.1, 0.2]
    assert diary.directions[-1] == -1
    assert diary.places[0] == pytest.approx((np.cos(0.1), np.sin(0.1)))
