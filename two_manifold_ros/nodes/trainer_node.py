# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The trainer node: a model from bags or from live topics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import cast, TYPE_CHECKING

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
    capitalised,
    Level,
    oddities,
    REJECTIONS,
)
from two_manifold_ros.interface.messages import Topics
from two_manifold_ros.interface.parameters import TrainerParameters
from two_manifold_ros.nodes.callbacks import GuardedNode, ImuTopic
from two_manifold_ros.nodes.health import diagnostics_publisher
from two_manifold_ros.nodes.live_input import LiveTopic
from two_manifold_ros.nodes.running import declare, read
from two_manifold_ros.recordings.decoding import ImuDecoder, position_decoder
from two_manifold_ros.recordings.reading import as_recording, MessageColumns, ReadingOptions
from two_manifold_ros.recordings.ros_messages import deserialise

if TYPE_CHECKING:
    from two_manifold_ros.recordings.recording import Recording


SILENCE_S = 2.0
"""Seconds without a message that are warned of while it records."""


class LiveRecording:
    """
    Record ``imu`` at once, and ``reference`` as soon as its type is known.

    ``ending`` says in words when the recording ends; ``counts`` are of messages.
    """

    def __init__(self, node: GuardedNode, reference_type: str, ending: str) -> None:
        self._node, self._ending = node, ending
        self._imu = ImuTopic(node)
        samples = MessageColumns('live', self._imu.name, Topics.IMU.msgtype, ImuDecoder())
        self._samples, self._positions = samples, cast('MessageColumns | None', None)
        self.counts = Counter(imu_messages=0, reference_messages=0, malformed=0)
        self._first_s: float | None = None
        self._reference_s = monotonic()
        self._imu.listen(lambda raw: self._add(samples, 'imu_messages', raw))
        self._reference = LiveTopic(
            node, 'reference', self._start_reference, wanted=reference_type
        )

    @property
    def assessment(self) -> Assessment:
        """State of the recording."""
        reference, health = self._reference.topic, self._imu.health(SILENCE_S)
        silence = assess_silence(health)
        # Topics of several types or publishers.
        mixed_up = oddities(health) | {'reference_type': self._reference.problem}
        for cause in ('reference_type', 'several_publishers'):
            if why := mixed_up.get(cause, ''):
                return Assessment(Level.WARN, None, cause, why)
        if not self.counts['imu_messages']:
            why = f'no message on {self._imu.name} could be decoded: {REJECTIONS["malformed"]}'
            return silence or Assessment(Level.ERROR, None, 'malformed', why)
        cause, why = '', f'recording {self._ending}'
        silent_s = monotonic() - self._reference_s
        if not self.counts['reference_messages']:
            cause, why = 'no_reference', f'recording, but no position came on {reference} yet'
        elif silence is not None:
            cause, why = silence.cause, f'{why}, but {silence.why}'
        elif silent_s > SILENCE_S:
            cause = 'reference_gone'
            why = f'{why}, but no position came on {reference} for {silent_s:.0f} s'
        return Assessment(Level.WARN if cause else Level.OK, None, cause, why)

    @property
    def values(self) -> dict[str, float | str]:
        """Numbers and words for the diagnostics."""
        return {**self.counts, 'reference_type': self._reference.msgtype or 'unknown'}

    @property
    def summary(self) -> str:
        """What is recorded, in words."""
        return (
            f'{self.counts["imu_messages"]} IMU messages on {self._imu.name}, '
            f'{self.counts["reference_messages"]} positions on {self._reference.topic}'
        )

    @property
    def seconds(self) -> float:
        """How long ago the first IMU message came."""
        return 0.0 if self._first_s is None else monotonic() - self._first_s

    def recording(self, *, use_receive_time: bool) -> Recording:
        """Return the recording until now; an `InputError` says what has not come yet."""
        imu, reference = self._samples, self._positions
        if not self.counts['imu_messages']:
            raise InputError(f'No IMU message came on {imu.name} yet: remap imu to the driver.')
        if reference is None or not self.counts['reference_messages']:
            msg = f'No position came on {self._reference.topic} yet: remap reference to its topic.'
            raise InputError(msg)
        options = ReadingOptions(use_receive_time=use_receive_time)
        return as_recording('live topics', imu, reference, options)

    def close(self) -> None:
        """Stop recording; the recording is freed with this object."""
        self._imu.close()
        self._reference.close()

    def find(self) -> None:
        """Subscribe the reference once its type is known."""
        self._reference.find()

    def _start_reference(self, msgtype: str) -> Callable[[bytes], object]:
        topic = self._node.resolve_topic_name('reference')
        decode = position_decoder(deserialise, msgtype)
        positions = self._positions = MessageColumns('live', topic, msgtype, decode)

        def take(raw: bytes) -> None:
            self._reference_s = monotonic()
            self._add(positions, 'reference_messages', raw)

        return take

    def _add(self, collected: MessageColumns, kind: str, raw: bytes) -> None:
        """Decode and count one serialised message."""
        if self._first_s is None and collected is self._samples:
            self._first_s = monotonic()
        try:
            collected.add(self._node.now_ns, raw)
        except InputError:
            kind = 'malformed'
        self.counts[kind] += 1


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
        # Of what cannot be trained or written nothing is recorded.
        check_target(chosen.model)
        training_settings(vars(chosen))
        seconds = chosen.record_seconds
        # Whether nobody can be expected to call ``finish`` again after a failure.
        self._unattended = bool(chosen.bags) or seconds > 0.0
        self._publish_diagnostics = diagnostics_publisher(self)
        self.serve(Trigger, 'finish', self._on_finish)
        if chosen.bags:
            self._start_training()
        else:
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
        """Train on the bags or the recording; raises `InputError` if that is too short."""
        chosen = read(self, TrainerParameters)
        check_target(chosen.model)
        settings, source = training_settings(vars(chosen)), ', '.join(chosen.bags)
        get = partial(read_bags, vars(chosen))
        if self._live is not None:
            recording = self._live.recording(use_receive_time=chosen.use_receive_time)
            source, get = (
                'what was recorded',
                partial(put_in_step, [recording], chosen.position_lag),
            )
        self.get_logger().info(f'Training from {source}')
        self._job = TrainingJob(get, settings, chosen.model, force=chosen.force)
        if self._unattended:
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
        live.find()
        found = live.assessment
        self._show(found.level, found.why, cause=found.cause, **live.values)
        self._say(f'recording {found.cause}', f'{capitalised(found.why)}: {live.summary}')
        limit_s = read(self, TrainerParameters).record_seconds
        if limit_s and live.seconds >= limit_s:
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
        elif job.model is None:
            if job.details and self._said != job.failure:
                self.get_logger().error(job.details)
            self._fail(job.failure, job.exit_status)
        elif self.exit_status is None:
            chosen = read(self, TrainerParameters)
            self._show(Level.OK, f'trained: the model is in {chosen.model}', model=chosen.model)
            if self._say(self._why, capitalised(self._why)):
                for note in job.model.summary.get('notes', ()):
                    self.get_logger().warning(note)
            self._stop_recording()
            if chosen.exit_when_done:
                self.exit_status = 0

    def _fail(self, reason: str, status: int = 1) -> None:
        """End, or go on recording if ``finish`` can be called again."""
        self._show(Level.ERROR, reason)
        self._say(reason, reason)
        if not self._unattended:
            self._job = None
        elif read(self, TrainerParameters).exit_when_done:
            self.exit_status = status

    def _show(self, level: Level, why: str, **values: float | str) -> None:
        self._level, self._why, self._values = level, why, values

    def _say(self, key: str, line: str) -> bool:
        """Log a line by the level that is shown unless the key is that of before; return if so."""
        if key == self._said:
            return False
        self._said, log = key, self.get_logger()
        # rclpy wants one severity for each place in a program.
        if self._level is Level.OK:
            log.info(line)
        elif self._level is Level.WARN:
            log.warning(line)
        else:
            log.error(line)
        return True
