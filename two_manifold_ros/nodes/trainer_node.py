# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The trainer node: a model from bags or from live topics."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from std_srvs.srv import Trigger

from two_manifold_ros.adapting.training_job import (
    check_target,
    read_bags,
    training_settings,
    TrainingJob,
)
from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.lag import put_in_step
from two_manifold_ros.interface.assessment import (
    assess_silence,
    Assessment,
    Level,
    oddities,
    REJECTIONS,
)
from two_manifold_ros.interface.messages import Topics
from two_manifold_ros.interface.parameters import TrainerParameters
from two_manifold_ros.interface.status import capitalised, ThrottledLog
from two_manifold_ros.nodes.callbacks import GuardedNode, SensorTopic
from two_manifold_ros.nodes.health import diagnostics_publisher
from two_manifold_ros.nodes.live_input import deserialise, LiveTopic
from two_manifold_ros.nodes.running import declare, read
from two_manifold_ros.recordings.decoding import ImuDecoder, position_decoder
from two_manifold_ros.recordings.reading import as_recording, MessageColumns, ReadingOptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.recordings.recording import Recording


SILENCE_S = 2.0
"""Seconds without a message that are warned of while it records."""


class LiveRecording:
    """
    Record ``imu`` at once, and ``reference`` as soon as its type is known.

    ``ending`` says in words when the recording ends.
    """

    def __init__(self, node: GuardedNode, reference_type: str, ending: str) -> None:
        self._node, self._ending = node, ending
        self._imu = SensorTopic(node, Topics.IMU, 'IMU')
        self._samples = MessageColumns('live', self._imu.name, Topics.IMU.msgtype, ImuDecoder())
        self._positions: MessageColumns | None = None
        self.imu_count = self.reference_count = self.malformed = 0
        self._first_s: float | None = None
        self._reference_s = monotonic()
        self._log = ThrottledLog(node.get_logger().warning, node.get_logger().info)
        self._imu.listen(self._on_imu)
        self._reference = LiveTopic(
            node, 'reference', self._start_reference, wanted=reference_type
        )

    @property
    def assessment(self) -> Assessment:
        """State of the recording."""
        reference = self._reference.topic
        silence = assess_silence(self._imu.health(SILENCE_S))
        for cause, why in self._mixed_up().items():
            return Assessment(Level.WARN, None, cause, why)
        if not self.imu_count:
            why = f'no message on {self._imu.name} could be decoded: {REJECTIONS["malformed"]}'
            return silence or Assessment(Level.ERROR, None, 'malformed', why)
        if not self.reference_count:
            why = f'recording, but no position came on {reference} yet'
            return Assessment(Level.WARN, None, 'no_reference', why)
        why = f'recording {self._ending}'
        if silence is not None:
            return Assessment(Level.WARN, None, silence.cause, f'{why}, but {silence.why}')
        silent_s = monotonic() - self._reference_s
        if silent_s > SILENCE_S:
            why = f'{why}, but no position came on {reference} for {silent_s:.0f} s'
            return Assessment(Level.WARN, None, 'reference_gone', why)
        return Assessment(Level.OK, None, '', why)

    @property
    def counts(self) -> dict[str, float | str]:
        """Messages recorded until now."""
        return {
            'imu_messages': self.imu_count,
            'reference_messages': self.reference_count,
            'malformed': self.malformed,
            'reference_type': self._reference.msgtype or 'unknown',
        }

    @property
    def summary(self) -> str:
        """What is recorded, in words."""
        return (
            f'{self.imu_count} IMU messages on {self._imu.name}, '
            f'{self.reference_count} positions on {self._reference.topic}'
        )

    @property
    def seconds(self) -> float:
        """How long ago the first IMU message came."""
        return 0.0 if self._first_s is None else monotonic() - self._first_s

    def recording(self, *, use_receive_time: bool) -> Recording:
        """Return the recording until now; an `InputError` says what has not come yet."""
        imu, reference = self._samples, self._positions
        if not self.imu_count:
            msg = f'No IMU message came on {imu.name} yet: remap imu to the driver.'
            raise InputError(msg)
        if reference is None or not self.reference_count:
            msg = f'No position came on {self._reference.topic} yet: remap reference to its topic.'
            raise InputError(msg)
        options = ReadingOptions(use_receive_time=use_receive_time)
        return as_recording('live topics', imu, reference, options)

    def close(self) -> None:
        """Stop recording; the recording is freed with this object."""
        self._imu.close()
        self._reference.close()

    def update(self) -> None:
        """Subscribe the reference once its type is known, and log what is wrong."""
        self._reference.find()
        causes = {cause: capitalised(why) for cause, why in self._mixed_up().items()}
        if self.malformed:
            causes['malformed'] = f'{self.malformed} messages could not be decoded'
        self._log.update(causes, monotonic())

    def _mixed_up(self) -> dict[str, str]:
        """Return sentences by cause on topics of several types or publishers."""
        found = oddities(self._imu.health(SILENCE_S)) | {'reference_type': self._reference.problem}
        causes = 'reference_type', 'several_publishers'
        return {cause: found[cause] for cause in causes if found.get(cause)}

    def _start_reference(self, msgtype: str) -> Callable[[bytes], object]:
        topic = self._node.resolve_topic_name('reference')
        decode = position_decoder(deserialise, msgtype)
        positions = self._positions = MessageColumns('live', topic, msgtype, decode)

        def take(raw: bytes) -> None:
            self._reference_s = monotonic()
            self.reference_count += self._add(positions, raw)

        return take

    def _on_imu(self, raw: bytes) -> None:
        if self._first_s is None:
            self._first_s = monotonic()
        self.imu_count += self._add(self._samples, raw)

    def _add(self, collected: MessageColumns, raw: bytes) -> int:
        """Decode one serialised message; return how many were."""
        try:
            collected.add(self._node.now_ns, raw)
        except InputError:
            self.malformed += 1
            return 0
        return 1


class TrainerNode(GuardedNode):
    """Record if there are no bags, train, write the model, and exit if so wanted."""

    def __init__(self) -> None:
        super().__init__('trainer_node')
        self._show(Level.OK, 'starting')
        self._job: TrainingJob | None = None
        self._live: LiveRecording | None = None
        self._said = ''
        chosen = declare(
            self,
            TrainerParameters,
            locked=lambda: 'the training has started' if self._job is not None else '',
        )
        check_target(chosen.model)
        settings = training_settings(vars(chosen))
        self._publish_diagnostics = diagnostics_publisher(self)
        self.serve(Trigger, 'finish', self._on_finish)
        if chosen.bags:
            self.get_logger().info(f'Training from {", ".join(chosen.bags)}')
            self._job = TrainingJob(
                lambda: read_bags(vars(chosen)), settings, chosen.model, force=chosen.force
            )
        else:
            seconds = chosen.record_seconds
            ending = f'for {seconds:g} s' if seconds else 'until the service finish is called'
            self._live = LiveRecording(self, chosen.reference_type, ending)
        self.every(0.5, self._on_timer)

    @property
    def finished(self) -> bool:
        """True if the model is written."""
        return self._job is not None and self._job.model is not None

    def destroy_node(self) -> None:
        """End, but not in the middle of the model's file."""
        if self._job is not None:
            self._job.close()
        super().destroy_node()

    def _start_training(self) -> None:
        """Train on the recording; raises `InputError` if that is too short."""
        chosen = read(self, TrainerParameters)
        check_target(chosen.model)
        settings = training_settings(vars(chosen))
        if self._live is None:
            msg = 'the training from bags has started by itself'
            raise InputError(msg)
        recording = self._live.recording(use_receive_time=chosen.use_receive_time)
        self.get_logger().info('Training from what was recorded')
        self._job = TrainingJob(
            lambda: put_in_step([recording], chosen.position_lag),
            settings,
            chosen.model,
            force=chosen.force,
        )
        if _is_unattended(chosen):
            self._stop_recording()

    def _stop_recording(self) -> None:
        if self._live is not None:
            self._live.close()
            self._live = None

    def _on_finish(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if self._job is not None and self._job.done:
            # Its result may not have been handled yet.
            self._follow_training(self._job)
        if self._job is not None:
            response.message = f'{self._why}; restart the node for another training'
            if not self._job.done:
                response.message = 'the training has started already'
            return response
        try:
            self._start_training()
        except InputError as error:
            response.message = str(error)
            return response
        response.success = True
        response.message = f'{self._why}; the training has started'
        return response

    def _on_timer(self) -> None:
        if self._job is not None:
            self._follow_training(self._job)
        elif self._live is not None:
            self._follow_recording(self._live)
        self._publish_diagnostics(self._level, self._why, self._values)

    def _follow_recording(self, live: LiveRecording) -> None:
        live.update()
        assessment = live.assessment
        self._show(assessment.level, assessment.why, cause=assessment.cause, **live.counts)
        limit_s, seconds = read(self, TrainerParameters).record_seconds, live.seconds
        # Whoever waits for the end sees four times that it comes nearer.
        quarter = min(int(4.0 * seconds / limit_s), 4) if limit_s else 0
        so_far = f', {seconds:.0f} of {limit_s:g} s' if quarter else ''
        line = f'{capitalised(assessment.why)}: {live.summary}{so_far}'
        self._say(f'recording {assessment.cause} {quarter}', line)
        if limit_s and seconds >= limit_s:
            try:
                self._start_training()
            except InputError as error:
                self._fail(str(error))

    def _follow_training(self, job: TrainingJob) -> None:
        done = job.done
        while job.warnings:
            self.get_logger().warning(job.warnings.popleft())
        if not done:
            self._show(Level.OK, f'training: {job.stage}', share=job.share)
            self._say(f'{job.stage} {job.share:.1f}', f'Training: {job.stage}, {job.share:.0%}')
        elif job.failure:
            if job.details and self._said != job.failure:
                self.get_logger().error(job.details)
            self._fail(job.failure, job.exit_status)
        elif self.exit_status is None:
            self._succeed(job)

    def _succeed(self, job: TrainingJob) -> None:
        chosen = read(self, TrainerParameters)
        self._show(Level.OK, f'trained: the model is in {chosen.model}', model=chosen.model)
        if job.model is not None and self._said != self._why:
            for note in job.model.summary.get('notes', ()):
                self.get_logger().warning(note)
        self._say(self._why, capitalised(self._why))
        self._stop_recording()
        if chosen.exit_when_done:
            self.exit_status = 0

    def _fail(self, reason: str, status: int = 1) -> None:
        """End, or go on recording if ``finish`` can be called again."""
        chosen = read(self, TrainerParameters)
        self._show(Level.ERROR, reason)
        if self._said != reason:
            self._said = reason
            self.get_logger().error(reason)
        if not _is_unattended(chosen):
            self._job = None
        elif chosen.exit_when_done:
            self.exit_status = status

    def _show(self, level: Level, why: str, **values: float | str) -> None:
        self._level, self._why, self._values = level, why, values

    def _say(self, key: str, line: str) -> None:
        if key != self._said:
            self._said = key
            self.get_logger().info(line)


def _is_unattended(chosen: TrainerParameters) -> bool:
    """Return whether ``finish`` cannot be expected to be called again after a failure."""
    return bool(chosen.bags) or chosen.record_seconds > 0
