# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Numbers with names, as an array that any plotting tool reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from two_manifold_ros.outputs.header import stamp_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from two_manifold_ros.outputs.topics import Message


def labelled_array(stamp_ns: int, numbers: Mapping[str, float]) -> Message:
    """
    Return ``std_msgs/Float64MultiArray``: seconds, nanoseconds, then the numbers.

    The message has no header, so the stamp leads the data as two numbers, each of which a float64
    holds exactly. The label of the only dimension names every entry, separated by commas.

    Parameters
    ----------
    stamp_ns
        Nanoseconds.
    numbers
        By name, in the order to tell them.

    """
    stamp = stamp_fields(stamp_ns)
    data = [float(stamp['sec']), float(stamp['nanosec']), *map(float, numbers.values())]
    label = ','.join(['sec', 'nanosec', *numbers])
    dimension = {'label': label, 'size': len(data), 'stride': len(data)}
    return {'layout': {'dim': [dimension], 'data_offset': 0}, 'data': data}
