# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A grid on the globe, and a temperature on it that is made up but looks like one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import lpmv

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

HIGHLANDS = (
    (-84.0, 70.0, 12.0, 16.0),  # ice of the south
    (72.0, -41.0, 6.0, 18.0),  # an island of ice
    (34.0, 88.0, 6.0, 16.0),  # a plateau
    (-18.0, -68.0, 4.0, 10.0),  # a chain
    (-33.0, -70.0, 4.0, 10.0),
    (42.0, -110.0, 7.0, 6.0),
)
"""Latitude, longitude and radius in degrees, and by how many degrees Celsius it is colder."""

DEGREES = (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
"""Of the spherical harmonics of the waves."""

WAVES = 3.5
"""Their standard deviation in degrees Celsius, all together."""

WEATHER = 1.0
"""Standard deviation of what is independent from point to point, in degrees Celsius."""


@dataclass(frozen=True)
class Globe:
    """
    The points of a grid of latitudes and longitudes.

    Parameters
    ----------
    latitudes : (rows,)
        In degrees, south to north.
    longitudes : (columns,)
        In degrees, west to east.

    """

    latitudes: Floats
    longitudes: Floats

    @classmethod
    def of(cls, rows: int, columns: int) -> Globe:
        """Return a grid from 82.5 degrees south to as far north, as satellites see the Earth."""
        half = 180.0 / columns
        longitudes = np.linspace(half - 180.0, 180.0 - half, columns)
        return cls(np.linspace(-82.5, 82.5, rows), longitudes)

    @property
    def points(self) -> Floats:
        """Points of the unit sphere, row by row: (rows * columns, 3)."""
        latitude, longitude = np.meshgrid(
            np.radians(self.latitudes), np.radians(self.longitudes), indexing='ij'
        )
        return _on_sphere(latitude.ravel(), longitude.ravel())


def temperatures_on(globe: Globe, seed: int) -> Floats:
    """
    Return a temperature at every point in degrees Celsius, row by row: (rows * columns,).

    Bands of latitude, colder in the north; waves, with phases and sizes drawn from the seed; cold
    highlands, which are the same for all seeds; weather.
    """
    rng = np.random.default_rng(seed)
    points = globe.points
    bands = -4.0 - 24.0 * points[:, 2] ** 2 - 5.0 * points[:, 2]
    weather = WEATHER * rng.standard_normal(len(points))
    return bands + _waves(points, rng) + _highlands(points) + weather


def _waves(points: Floats, rng: np.random.Generator) -> Floats:
    longitude = np.arctan2(points[:, 1], points[:, 0])
    total = np.zeros(len(points))
    for degree in DEGREES:
        for order in range(1, degree + 1):
            phase, size = rng.uniform(0.0, 2.0 * np.pi), rng.standard_normal() / degree
            wave = lpmv(order, degree, points[:, 2]) * np.cos(order * longitude + phase)
            total += size * wave / wave.std()
    waves: Floats = WAVES * total / total.std()
    return waves


def _highlands(points: Floats) -> Floats:
    total = np.zeros(len(points))
    for latitude, longitude, radius, colder in HIGHLANDS:
        centre = _on_sphere(np.radians([latitude]), np.radians([longitude]))[0]
        angle = np.degrees(np.arccos(np.clip(points @ centre, -1.0, 1.0)))
        total -= colder * np.exp(-0.5 * np.square(angle / radius))
    return total


def _on_sphere(latitude: Floats, longitude: Floats) -> Floats:
    flat = np.cos(latitude)
    return np.stack([flat * np.cos(longitude), flat * np.sin(longitude), np.sin(latitude)], axis=1)
