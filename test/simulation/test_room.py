# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rays in the room meet the surface that is in front."""

from __future__ import annotations

import math

import numpy as np
import pytest

from two_manifold_ros.simulation.room import Room

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


def test_a_ray_meets_what_walking_along_it_meets() -> None:
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


def test_the_surfaces_are_those_of_the_recorded_results() -> None:
    """The figures of the experiment ``video`` hold for these textures: mean and spread of each."""
    rays = np.random.default_rng(1).normal(size=(3, 20_000)).astype(np.float32)
    surfaces, _, _ = Room.meet(EYE.tolist(), rays)
    shades = Room(2).shades(EYE.tolist(), rays)
    found = [
        (shades[surfaces == each].mean(), shades[surfaces == each].std()) for each in range(8)
    ]
    # fmt: off
    expected = [
        (0.4385, 0.1994), (0.5004, 0.1867), (0.3247, 0.154), (0.6698, 0.1962),
        (0.2698, 0.0561), (0.6066, 0.1817), (0.3915, 0.1162), (0.2019, 0.0674),
    ]
    # fmt: on
    np.testing.assert_allclose(found, expected, atol=2e-4)
