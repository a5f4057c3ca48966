# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rays in the room, the camera, the walk around the table and the film of it."""

from itertools import islice
import math

import numpy as np
import pytest

from two_manifold_ros.simulation.room_video import Room, room_video, RoomCamera, RoomWalk

EYE = np.array([2.3, -1.1, 1.5])


def place_met(ray: np.ndarray) -> tuple[int, np.ndarray]:
    """Walk along a ray in small steps until something is met."""
    places = EYE + np.arange(0.0, 11.0, 5e-4)[:, None] * ray
    half = np.array([Room.size[0] / 2, Room.size[1] / 2, 0.0])
    beyond = np.stack([-half - places, places - half - [0.0, 0.0, Room.size[2]]], axis=2)
    on_table = np.hypot(places[:, 0] / Room.table[0], places[:, 1] / Room.table[1]) < 1.0
    on_table &= places[:, 2] < Room.table[2]
    met = int(np.argmax(on_table | (beyond > 0.0).any(axis=(1, 2))))
    if on_table[met]:
        return (6 if places[met, 2] > Room.table[2] - 1e-3 else 7), places[met]
    return int(beyond[met].argmax()), places[met]


def test_a_ray_meets_what_walking_along_it_meets():
    rays = np.random.default_rng(0).normal(size=(3, 60))
    rays[:, :20] = 0.6 * rays[:, :20] - EYE[:, None]  # towards the table
    rays /= np.linalg.norm(rays, axis=0)
    surfaces, across, up = Room.meet(EYE.tolist(), rays.astype(np.float32))
    corner = np.array([Room.size[0] / 2, Room.size[1] / 2, 0.0])
    for index, ray in enumerate(rays.T):
        surface, place = place_met(ray)
        assert surfaces[index] == surface
        x, y, z = place + corner
        expected = {0: (y, z), 2: (x, z), 4: (x, y)}.get(surface - surface % 2)
        if surface == 6:
            expected = (place[0] + Room.table[0], place[1] + Room.table[1])
        elif surface == 7:
            angle = math.atan2(place[1] / Room.table[1], place[0] / Room.table[0])
            expected = (angle + math.pi, z)
        assert (across[index], up[index]) == pytest.approx(expected, abs=2e-3)
    assert set(surfaces) == set(range(8))


def test_the_camera_looks_across_the_table_and_stays_in_the_room():
    walk = RoomWalk(2, frames_per_circuit=100)
    steps = [walk.step() for _ in range(2_000)]
    poses = np.array([step.pose for step in steps])
    angles = np.array([step.angle for step in steps])
    radius = np.hypot(poses[:, 0], poses[:, 1])
    assert 2.0 < radius.min() < radius.max() < 3.2
    np.testing.assert_allclose(np.exp(1j * angles), (poses[:, 0] + 1j * poses[:, 1]) / radius)
    diverged = np.angle(np.exp(1j * (poses[:, 3] - angles - math.pi)))
    assert np.degrees(diverged.std()) == pytest.approx(3.0, abs=0.6)
    assert poses[:, 2].min() > Room.table[2]


def test_the_film_is_repeatable_and_noisy():
    first, again, other = (list(islice(room_video(seed, 40, 32, 100), 3)) for seed in (4, 4, 5))
    walk = RoomWalk(4, 100)
    for (picture, step), (same, twin), (different, _) in zip(first, again, other, strict=True):
        assert (picture.dtype, picture.shape) == (np.uint8, (32, 40))
        np.testing.assert_array_equal(picture, same)
        assert step == twin == walk.step()
        assert not np.array_equal(picture, different)
    room = Room(4)
    still = RoomCamera(room, 40, 32, seed=9)
    pictures = np.array([still.picture(first[0][1].pose) for _ in range(20)], dtype=float)
    assert np.median(pictures.std(axis=0)) == pytest.approx(4.0, abs=0.5)
