# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The latent state as a labelled array, for plotting and for other learners."""

from __future__ import annotations

from typing import TYPE_CHECKING

from two_manifold_ros.outputs.header import stamp_fields

if TYPE_CHECKING:
    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.outputs.topics import Message


def latent_state_message(estimate: Estimate) -> Message:
    """
    Return ``std_msgs/Float64MultiArray``: seconds, nanoseconds, then the state.

    The message has no header, so the stamp leads the data as two numbers, each of which a float64
    holds exactly. The label of the only dimension names every entry, separated by commas.
    """
    stamp = stamp_fields(estimate.stamp_ns)
    data = [float(stamp['sec']), float(stamp['nanosec']), *estimate.state.tolist()]
    labels = ['sec', 'nanosec', *(f'state_{index}' for index in range(len(estimate.state)))]
    dimension = {'label': ','.join(labels), 'size': len(data), 'stride': len(data)}
    return {'layout': {'dim': [dimension], 'data_offset': 0}, 'data': data}
