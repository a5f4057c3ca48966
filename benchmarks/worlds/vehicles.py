# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A fleet of vehicles on one route: each has its IMU mounted, scaled and biased in its own way.

Each also drives at a usual speed of its own. What is random about a vehicle is the same each day;
only the part of the bias that is drawn when an IMU is switched on, and the grip, are of the day.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.transform import Rotation

if TYPE_CHECKING:
    from worlds.table import World

FLEET = 20
"""Vehicles of a fleet."""


@dataclass(frozen=True)
class Differences:
    """How vehicles of a fleet differ, as standard deviations."""

    angle_deg: float = 5.0  # angle by which the IMU is turned in the vehicle, about any axis
    # Of the scale errors, of each axis of the accelerometer and of the gyroscope.
    scale: float = 0.05
    speed: float = 0.1  # of the usual speed over that of the world


DIFFERENCES = Differences()


def vehicle(world: World, number: int, differences: Differences = DIFFERENCES) -> World:
    """
    Return a world as one vehicle of its fleet drives in it.

    ``world``: its route, and what the vehicles share. ``number``: of the vehicle, from 0. Its
    random numbers are those of no other vehicle. ``differences``: larger ones move the same
    vehicle farther from the mean one.
    """
    own = replace(world, vehicle=f'{world.name}, vehicle {number}')
    random = own.generator('device', number)
    axis = random.standard_normal(3)
    angle = math.radians(differences.angle_deg) * float(random.standard_normal())
    turned = Rotation.from_rotvec(angle * axis / np.linalg.norm(axis))
    mounted = turned * Rotation.from_euler('xyz', world.mounting_deg, degrees=True)
    roll, pitch, yaw = mounted.as_euler('xyz', degrees=True).tolist()
    # No vehicle drives at less than half of the usual speed.
    speed = max(1.0 + differences.speed * float(random.standard_normal()), 0.5)
    grade = world.imu
    return replace(
        own,
        # Accelerations go with the square of the speed on the same line.
        top_speed=speed * world.top_speed,
        lateral=speed**2 * world.lateral,
        thrust=speed**2 * world.thrust,
        brake=speed**2 * world.brake,
        mounting_deg=(roll, pitch, yaw),
        # It is screwed on, and its axes are as square to each other as those of any such IMU.
        shift_deg=0.0,
        imu=replace(
            grade,
            scale=differences.scale,
            crossing=grade.crossing * grade.scale / max(differences.scale, grade.scale),
        ),
    )
