# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The latent state as a labelled array, for plotting and for other learners."""

from __future__ import annotations

from typing import TYPE_CHECKING

from two_manifold_ros.outputs.labelled import labelled_array

if TYPE_CHECKING:
    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.outputs.topics import Message


def latent_state_message(estimate: Estimate) -> Message:
    """Return ``std_msgs/Float64MultiArray``, see `labelled_array`: the stamp, then the state."""
    state = {f'state_{index}': value for index, value in enumerate(estimate.state.tolist())}
    return labelled_array(estimate.stamp_ns, state)
