# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Satellite fixes as positions in a plane."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.geodesy import east_north
from two_manifold_ros.recordings.recording import GeodeticOrigin, PositionStream

if TYPE_CHECKING:
    from two_manifold_ros.recordings.collecting import Collected
    from two_manifold_ros.typing import Ints

GEODETIC = 'sensor_msgs/msg/NavSatFix'
NO_FIX = -1
# The header names the antenna; the positions are in a plane fixed to the earth.
FRAME = 'map'


class NoFixError(InputError):
    """Not one message of a satellite receiver is a valid fix."""


def positions_of_fixes(
    collected: Collected,
    stamps: Ints,
    origin: GeodeticOrigin | None,
) -> tuple[PositionStream, list[str]]:
    """
    Project the valid fixes to the tangent plane at the origin, by default the first valid fix.

    A fix without altitude is taken at the height of the origin.

    Parameters
    ----------
    collected
        Latitude and longitude in degrees, altitude in metres and status of each fix, (M, 4).
    stamps : (M,) int64
        Nanoseconds.
    origin
        Origin of another recording of the same route.

    Raises
    ------
    NoFixError
        If no fix is valid.

    """
    latitude, longitude, altitude, status = collected.numbers.T
    valid = np.isfinite(latitude) & np.isfinite(longitude) & (status != NO_FIX)
    if not valid.any():
        msg = (
            f'{collected.topic.name} in {collected.path} holds {len(valid)} messages but no '
            f'valid fix: choose another recording or another topic with --position-topic.'
        )
        raise NoFixError(msg)
    if origin is None:
        first = int(np.argmax(valid))
        height = float(altitude[first]) if np.isfinite(altitude[first]) else 0.0
        origin = GeodeticOrigin(float(latitude[first]), float(longitude[first]), height)
    altitude = np.where(np.isfinite(altitude), altitude, origin.altitude_m)
    stream = PositionStream(
        topic=collected.topic.name,
        frame_id=FRAME,
        msgtype=collected.topic.msgtype,
        stamps=stamps[valid],
        positions=east_north(latitude[valid], longitude[valid], altitude[valid], origin),
        origin=origin,
    )
    dropped = int((~valid).sum())
    if not dropped:
        return stream, []
    note = (
        f'{dropped} of {len(valid)} messages on {collected.topic.name} are no valid fix and are '
        f'left out.'
    )
    return stream, [note]
