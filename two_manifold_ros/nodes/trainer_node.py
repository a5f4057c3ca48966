# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The trainer node: a model from bags or from live topics."""

from __future__ import annotations

from time import monotonic
from typing import Any, TYPE_CHECKING

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from rclpy.utilities import ok
from std_srvs.srv import Trigger

from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.lag import put_in_step
from two_manifold_ros.interface.assessment import judge_silence, Judgement
from two_manifold_ros.interface.log import capitalised, Guard, Notices
from two_manifold_ros.interface.parameters import TRAINER
from two_manifold_ros.interface.snapshot import Facts, REJECTIONS
from two_manifold_ros.interface.status import diagnostics_message, Health, Level
from two_manifold_ros.interface.topics import DIAGNOSTICS, IMU
from two_manifold_ros.nodes.declaring import declare, values
from two_manifold_ros.nodes.publishing import quality, to_message
from two_manifold_ros.nodes.subscriptions import (
    LiveRecording,
    LiveReference,
    REFERENCE,
    SensorTopic,
)
from two_manifold_ros.stopping import Stopping
from two_manifold_ros.threads import one_blas_thread
from two_manifold_ros.training.job import (
    check_target,
    read_bags,
    training_settings,
    TrainingJob,
)

if TYPE_CHECKING:
    from two_manifold_ros.interface.snapshot import Publisher
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


class TrainerNode(Node):
    """Records if it has no bags, trains, writes the model, and exits if so wanted."""

    def __init__(self) -> None:
        super().__init__('trainer_node')
        self.exit_status: int | None = None
        self._health = Health(Level.OK, 'starting')
        self._job: TrainingJob | None = None
        self._live: LiveTopics | None = None
        self._said = ''
        self._guard = Guard(self.get_logger().error, ok)
        declare(self, TRAINER, locked=self._locked)
        chosen = self._chosen()
        check_target(chosen['model'])
        training_settings(chosen)
        self._diagnostics = self.create_publisher(
            DiagnosticArray, DIAGNOSTICS.name, quality(DIAGNOSTICS)
        )
        self.create_service(Trigger, 'finish', self._guard(self._on_finish))
        if chosen['bags']:
            self.get_logger().info(f'Training from {", ".join(chosen["bags"])}')
            self._job = TrainingJob(
                lambda: read_bags(chosen), training_settings(chosen), chosen['model']
            )
        else:
            seconds = chosen['record_seconds']
            ending = f'for {seconds:g} s' if seconds else 'until the service finish is called'
            self._live = LiveTopics(self, self._guard, chosen['reference_type'], ending)
        # Not the ROS clock: without /clock progress must still be told.
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(0.5, self._guard(self._look), clock=steady)

    def destroy_node(self) -> None:
        """End, but not in the middle of the model's file."""
        if self._job is not None:
            self._job.close()
        super().destroy_node()

    def _chosen(self) -> dict[str, Any]:
        return values(self, TRAINER)

    def _locked(self) -> str:
        return 'the training has begun' if self._job is not None else ''

    def _begin(self) -> None:
        """Train on what was recorded; raises `InputError` if that is not enough."""
        chosen = self._chosen()
        check_target(chosen['model'])
        settings = training_settings(chosen)
        if self._live is None:
            msg = 'the training from bags has begun by itself'
            raise InputError(msg)
        recording = self._live.recording(use_receive_time=chosen['use_receive_time'])
        self.get_logger().info('Training from what was recorded')
        self._job = TrainingJob(
            lambda: put_in_step([recording], chosen['position_lag']), settings, chosen['model']
        )
        if self._unattended(chosen):
            self._stop_recording()

    def _stop_recording(self) -> None:
        if self._live is not None:
            self._live.close()
            self._live = None

    @staticmethod
    def _unattended(chosen: dict[str, Any]) -> bool:
        """Return whether nobody is there to call finish again after a failure."""
        return bool(chosen['bags']) or chosen['record_seconds'] > 0

    def _on_finish(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if self._job is not None and self._job.done:
            # What it brought may not have been looked at yet.
            self._look_at_training(self._job)
        if self._job is not None:
            response.message = self._refusal(self._job)
            return response
        try:
            self._begin()
        except InputError as error:
            response.message = str(error)
            return response
        response.success = True
        response.message = f'{self._health.why}; the training has begun'
        return response

    def _refusal(self, job: TrainingJob) -> str:
        if not job.done:
            return 'the training has begun already'
        return f'{self._health.why}; start the node anew for another training'

    def _look(self) -> None:
        if self._job is not None:
            self._look_at_training(self._job)
        elif self._live is not None:
            self._look_at_recording(self._live)
        stamp_ns = self.get_clock().now().nanoseconds
        name = self.get_fully_qualified_name().lstrip('/')
        message = diagnostics_message(stamp_ns, name, '', self._health)
        self._diagnostics.publish(to_message(DIAGNOSTICS.msgtype, message))

    def _look_at_recording(self, live: LiveTopics) -> None:
        live.look(monotonic())
        level, _, cause, why = live.judgement
        self._health = Health(level, why, {'cause': cause, **live.counts})
        self._say(f'recording {cause}', live.summary)
        limit_s = self._chosen()['record_seconds']
        if limit_s and live.seconds(monotonic()) >= limit_s:
            try:
                self._begin()
            except InputError as error:
                self._fail(str(error))

    def _look_at_training(self, job: TrainingJob) -> None:
        done = job.done
        while job.warnings:
            self.get_logger().warning(job.warnings.popleft())
        if not done:
            self._health = Health(Level.OK, f'training: {job.stage}', {'share': job.share})
            self._say(f'{job.stage} {job.share:.1f}', f'Training: {job.stage}, {job.share:.0%}')
        elif job.failure:
            if job.details and self._said != job.failure:
                self.get_logger().error(job.details)
            self._fail(job.failure)
        elif self.exit_status is None:
            self._succeed(job)

    def _succeed(self, job: TrainingJob) -> None:
        chosen = self._chosen()
        why = f'trained: the model is in {chosen["model"]}'
        self._health = Health(Level.OK, why, {'model': chosen['model']})
        if job.model is not None and self._said != why:
            for note in job.model.summary.get('notes', ()):
                self.get_logger().warning(note)
        self._say(why, f'Trained: the model is in {chosen["model"]}')
        self._stop_recording()
        if chosen['exit_when_done']:
            self.exit_status = 0

    def _fail(self, reason: str) -> None:
        """End, or go on recording if somebody is there to call finish again."""
        chosen = self._chosen()
        self._health = Health(Level.ERROR, reason)
        if self._said != reason:
            self._said = reason
            self.get_logger().error(reason)
        if not self._unattended(chosen):
            self._job = None
        elif chosen['exit_when_done']:
            self.exit_status = 1

    def _say(self, key: str, line: str) -> None:
        if key != self._said:
            self._said = key
            self.get_logger().info(line)


def main(args: list[str] | None = None) -> int:
    """Train once, and return the exit status."""
    one_blas_thread()
    # Loading all of it takes a second, in which a signal may come.
    with Stopping() as stop:
        # NumPy reads the number of threads when it is imported, which these modules do.
        from two_manifold_ros.nodes.running import run  # noqa: PLC0415

        return run(TrainerNode, stop, args)
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
