# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Messages written over a serialised example say what rclpy's own would."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from rclpy.serialization import deserialize_message
from two_manifold_ros.interface.estimates import odometry_message, position_message

from two_manifold_ros.filtering.estimate import Estimate
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.interface.topics import Frames, ODOMETRY, POSITION, Topic
from two_manifold_ros.nodes.publishing import FixedLayout, message_class, to_message

BUILDERS = {POSITION: position_message, ODOMETRY: odometry_message}


def estimate(seed: int) -> Estimate:
    generator = np.random.default_rng(seed)
    return Estimate(
        stamp_ns=int(generator.integers(1, 2**31)) * 10**9 + int(generator.integers(10**9)),
        tick=seed,
        status=Status.TRACKING,
        cause='',
        why='tracking',
        state=np.ones(1),
        positions=generator.normal(size=(1, 2)),
        covariances=np.array([[[2.0, 0.3], [0.3, 1.0]]]) * generator.random(),
        velocity=generator.normal(size=2),
        velocity_covariance=np.array([[0.5, 0.1], [0.1, 0.2]]) * generator.random(),
        evidence=1.0,
        familiarity=1.0,
        ellipse_m=0.1,
    )


@pytest.mark.parametrize('topic', BUILDERS, ids=lambda topic: topic.name)
@pytest.mark.parametrize('name', ['', 'm', 'map', 'a_frame', 'robot_1/track'])
def test_every_field_arrives(topic: Topic, name: str) -> None:
    """Names of every length, because they decide where the numbers are aligned."""
    frames = Frames(track=name, child=f'{name}child')
    layout = FixedLayout(topic.msgtype, BUILDERS[topic](estimate(0), frames))
    for seed in range(5):
        fields = BUILDERS[topic](estimate(seed), frames)
        # Messages and not bytes are compared: the padding before the numbers holds anything.
        heard = deserialize_message(layout.serialise(fields), message_class(topic.msgtype))
        assert heard == to_message(topic.msgtype, fields)


def test_an_example_without_all_numbers_is_refused() -> None:
    fields = position_message(estimate(0), Frames(track='map', child='base_link'))
    del fields['pose']['covariance']
    with pytest.raises(ValueError, match='does not end in the numbers'):
        FixedLayout(POSITION.msgtype, fields)
