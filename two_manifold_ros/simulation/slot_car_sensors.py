# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Further sensors of the slot car: magnetometer in a disturbed field, wheel."""

from __future__ import annotations

from typing import Any, NamedTuple, TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.spatial.transform import Rotation

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.simulation.slot_car import SlotCarSettings
    from two_manifold_ros.typing import Floats

EARTH_FIELD = np.array([0.0, 20e-6, -44e-6])
"""Magnetic field of the earth, tesla: y north, z up, as in Central Europe."""


def room_field(positions: Floats) -> Floats:
    """
    Return the (n, 3) magnetic field at (n, 3) positions in metres, tesla.

    Steel in the room disturbs that of the earth: here the gradient of a smooth potential, the
    same in every run, of waves of a metre and more and some 6 microtesla.
    """
    random = np.random.default_rng(7)
    lengths = random.uniform(1.0, 4.0, 12)  # metres
    axes = random.standard_normal((12, 3))
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    phases = random.uniform(0.0, 2.0 * np.pi, 12)
    angles = 2.0 * np.pi * (positions @ axes.T) / lengths + phases
    # The sum of the squares of twelve waves is that of their spread in three axes.
    amplitude = 6e-6 * np.sqrt(2.0 * 3.0 / 12.0)
    field: Floats = EARTH_FIELD + amplitude * np.cos(angles) @ axes
    return field


Read: TypeAlias = 'Callable[[Floats, Floats, Floats], Floats]'
"""
From positions (n, 3), quaternions (n, 4) and speeds (n,) to readings (n, m).

One call or many give the same.
"""


def _magnetometer(random: np.random.Generator) -> Read:
    """Return the field in the axes of the car, that of what is near the sensor and noise."""
    bias = 1e-6 * random.standard_normal(3)

    def read(positions: Floats, quaternions: Floats, speeds: Floats) -> Floats:
        del speeds
        body = Rotation.from_quat(quaternions).inv().apply(room_field(positions))
        return np.asarray(body + bias + 0.5e-6 * random.standard_normal(body.shape))

    return read


def _wheel(random: np.random.Generator) -> Read:
    """Return the speed that a wheel measures, m/s: its radius is known to 2 %, and it slips."""
    factor = 1.0 + 0.02 * random.standard_normal()

    def read(positions: Floats, quaternions: Floats, speeds: Floats) -> Floats:
        del positions, quaternions
        slip = 0.02 * random.standard_normal(len(speeds))
        return np.asarray(factor * speeds * (1.0 + slip))[:, None]

    return read


class FurtherSensor(NamedTuple):
    """A kind of sensor."""

    topic: str  # of its messages
    msgtype: str
    fields: tuple[str, ...]
    # Returns what reads it in one run, from a random generator.
    begin: Callable[[np.random.Generator], Read]

    def reader(self, settings: SlotCarSettings) -> Read:
        """Return what reads it in a run; the same settings give the same readings."""
        return self.begin(settings.generator(self.topic))

    def message(self, header: dict[str, Any], values: Floats) -> dict[str, Any]:
        """Return a message with a reading (m,)."""
        message: dict[str, Any] = {'header': header}
        for field, value in zip(self.fields, values.tolist(), strict=True):
            inner = message
            *path, last = field.split('.')
            for name in path:
                inner = inner.setdefault(name, {})
            inner[last] = value
        return message


SENSORS = {
    'magnetometer': FurtherSensor(
        '/magnetometer',
        'sensor_msgs/msg/MagneticField',
        ('magnetic_field.x', 'magnetic_field.y', 'magnetic_field.z'),
        _magnetometer,
    ),
    'wheel': FurtherSensor(
        '/wheel', 'geometry_msgs/msg/TwistStamped', ('twist.linear.x',), _wheel
    ),
}
"""Sensors beside the IMU by name."""
