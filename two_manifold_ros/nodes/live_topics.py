# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The trainer's two live topics."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from sensor_msgs.msg import Imu

from two_manifold_ros.nodes.live_recording import LiveRecording
from two_manifold_ros.nodes.live_reference import LiveReference, REFERENCE
from two_manifold_ros.nodes.notices import Notices
from two_manifold_ros.nodes.quality import quality
from two_manifold_ros.nodes.sentences import capitalised
from two_manifold_ros.outputs.topics import IMU

if TYPE_CHECKING:
    from rclpy.node import Node

    from two_manifold_ros.nodes.guarding import Guard
    from two_manifold_ros.recordings.recording import Recording


class LiveTopics:
    """
    Subscribes ``imu`` at once and ``reference`` as soon as its type is known.

    Parameters
    ----------
    node
        That subscribes.
    guard
        Guards the callbacks.
    reference_type
        Type of the reference; empty means the one it is published with.
    ending
        When the recording ends, in words.

    """

    def __init__(self, node: Node, guard: Guard, reference_type: str, ending: str) -> None:
        self._node = node
        self._ending = ending
        self._imu_topic = node.resolve_topic_name(IMU.name)
        self._recording = LiveRecording(self._imu_topic, node.resolve_topic_name(REFERENCE))
        self._first_s: float | None = None
        self._notices = Notices(node.get_logger().warning, node.get_logger().info)
        self._imu = node.create_subscription(
            Imu, IMU.name, guard(self._on_imu), quality(IMU), raw=True
        )
        self._reference = LiveReference(
            node, guard, reference_type, self._recording.begin_reference, self._on_reference
        )

    @property
    def complete(self) -> bool:
        """Whether messages came on both topics."""
        return bool(self._recording.imu_count and self._recording.reference_count)

    @property
    def why(self) -> str:
        """What it is doing, the same words as long as it does."""
        if self._reference.problem:
            return self._reference.problem
        if not self._recording.imu_count:
            return f'waiting for the first IMU message on {self._imu_topic}'
        if not self._recording.reference_count:
            return f'recording, but no position came on {self._reference.topic} yet'
        return f'recording {self._ending}'

    @property
    def counts(self) -> dict[str, float | str]:
        """How much was recorded."""
        recording = self._recording
        return {
            'imu_messages': recording.imu_count,
            'reference_messages': recording.reference_count,
            'malformed': recording.malformed,
            'reference_type': self._reference.msgtype or 'unknown',
        }

    @property
    def summary(self) -> str:
        """One line for the log."""
        counts = self._recording
        return (
            f'{capitalised(self.why)}: {counts.imu_count} IMU messages on '
            f'{self._imu_topic}, {counts.reference_count} positions on {self._reference.topic}'
        )

    def seconds(self, now_s: float) -> float:
        """Return how long ago the first IMU message came."""
        return 0.0 if self._first_s is None else now_s - self._first_s

    def recording(self, *, use_receive_time: bool) -> Recording:
        """Return what was recorded; raises `InputError` if a topic brought nothing."""
        return self._recording.recording(use_receive_time=use_receive_time)

    def close(self) -> None:
        """Stop recording; what was recorded is freed with this object."""
        self._node.destroy_subscription(self._imu)
        self._reference.close()

    def look(self, now_s: float) -> None:
        """Subscribe the reference once its type is known, and tell what is wrong."""
        self._reference.look()
        problem = self._reference.problem
        causes = {'reference_type': problem} if problem else {}
        if self._recording.malformed:
            causes['malformed'] = f'{self._recording.malformed} messages could not be decoded'
        self._notices.update(causes, now_s)

    def _on_imu(self, raw: bytes) -> None:
        if self._first_s is None:
            self._first_s = monotonic()
        self._recording.add_imu(self._node.get_clock().now().nanoseconds, raw)

    def _on_reference(self, raw: bytes) -> None:
        self._recording.add_reference(self._node.get_clock().now().nanoseconds, raw)
