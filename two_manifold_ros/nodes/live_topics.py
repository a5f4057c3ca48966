# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The trainer's two live topics."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from two_manifold_ros.nodes.live_recording import LiveRecording
from two_manifold_ros.nodes.live_reference import LiveReference, REFERENCE
from two_manifold_ros.nodes.notices import Notices
from two_manifold_ros.nodes.sensor_topic import SensorTopic
from two_manifold_ros.nodes.sentences import capitalised
from two_manifold_ros.outputs.diagnostics import Level
from two_manifold_ros.outputs.facts import Facts
from two_manifold_ros.outputs.judging import judge_silence, Judgement
from two_manifold_ros.outputs.rejections import REJECTIONS
from two_manifold_ros.outputs.topics import IMU

if TYPE_CHECKING:
    from rclpy.node import Node

    from two_manifold_ros.nodes.guarding import Guard
    from two_manifold_ros.outputs.facts import Publisher
    from two_manifold_ros.recordings.recording import Recording


SILENCE_S = 2.0
"""Without a message after which that is worth a word."""


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
        self._imu = SensorTopic(node, IMU, 'IMU', guard(self._on_imu))
        self._publishers: tuple[Publisher, ...] = ()
        self._recording = LiveRecording(self._imu.name, node.resolve_topic_name(REFERENCE))
        self._first_s: float | None = None
        self._reference_s = monotonic()
        self._notices = Notices(node.get_logger().warning, node.get_logger().info)
        self._imu.listen()
        self._reference = LiveReference(
            node, guard, reference_type, self._recording.begin_reference, self._on_reference
        )

    @property
    def judgement(self) -> Judgement:
        """How the recording goes; the same cause as long as it does."""
        recording, reference = self._recording, self._reference.topic
        silence = judge_silence(self._facts())
        if self._reference.problem:
            return Judgement(Level.WARN, None, 'reference_type', self._reference.problem)
        if not recording.imu_count:
            why = f'no message on {self._imu.name} could be decoded: {REJECTIONS["malformed"]}'
            return silence or Judgement(Level.ERROR, None, 'malformed', why)
        if not recording.reference_count:
            why = f'recording, but no position came on {reference} yet'
            return Judgement(Level.WARN, None, 'no_reference', why)
        why = f'recording {self._ending}'
        if silence is not None:
            return Judgement(Level.WARN, None, silence.cause, f'{why}, but {silence.why}')
        silent_s = monotonic() - self._reference_s
        if silent_s > SILENCE_S:
            why = f'{why}, but no position came on {reference} for {silent_s:.0f} s'
            return Judgement(Level.WARN, None, 'reference_gone', why)
        return Judgement(Level.OK, None, '', why)

    def _facts(self) -> Facts:
        imu = self._imu
        return Facts(
            topic=imu.name,
            silence_s=imu.silence_s,
            timeout_s=SILENCE_S,
            received=imu.received,
            publishers=self._publishers,
            incompatible=imu.incompatible,
        )

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
            f'{capitalised(self.judgement.why)}: {counts.imu_count} IMU messages on '
            f'{self._imu.name}, {counts.reference_count} positions on {self._reference.topic}'
        )

    def seconds(self, now_s: float) -> float:
        """Return how long ago the first IMU message came."""
        return 0.0 if self._first_s is None else now_s - self._first_s

    def recording(self, *, use_receive_time: bool) -> Recording:
        """Return what was recorded; raises `InputError` if a topic brought nothing."""
        return self._recording.recording(use_receive_time=use_receive_time)

    def close(self) -> None:
        """Stop recording; what was recorded is freed with this object."""
        self._imu.close()
        self._reference.close()

    def look(self, now_s: float) -> None:
        """Subscribe the reference once its type is known, and tell what is wrong."""
        self._reference.look()
        self._publishers = self._imu.publishers()
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
        self._reference_s = monotonic()
        self._recording.add_reference(self._node.get_clock().now().nanoseconds, raw)
