# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The places where the vehicle may be, as points with a weight."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.outputs.header import header

if TYPE_CHECKING:
    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.outputs.frames import Frames
    from two_manifold_ros.outputs.topics import Message
    from two_manifold_ros.typing import Floats

PARTICLES_HZ = 5.0
"""How often they are published by default: for people to look at."""

FIELDS = ('x', 'y', 'z', 'weight')
_FLOAT32, _BYTES = 7, 4
"""As in ``sensor_msgs/PointField``."""


def particles_message(estimate: Estimate, frames: Frames) -> Message:
    """Return ``sensor_msgs/PointCloud2``: the likeliest place first, the chance as weight."""
    places = np.zeros((0, 3)) if estimate.places is None else estimate.places
    rows: Floats = np.column_stack([places[:, :2], np.zeros(len(places)), places[:, 2]])
    step = _BYTES * len(FIELDS)
    return {
        'header': header(estimate.stamp_ns, frames.track),
        'height': 1,
        'width': len(places),
        'fields': [
            {'name': name, 'offset': _BYTES * index, 'datatype': _FLOAT32, 'count': 1}
            for index, name in enumerate(FIELDS)
        ],
        'is_bigendian': False,
        'point_step': step,
        'row_step': step * len(places),
        'data': list(rows.astype('<f4').tobytes()),
        'is_dense': True,
    }
