# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A node that learns from the live stream, publishes what it makes of it, and remembers it."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from rclpy.utilities import ok
from std_srvs.srv import Trigger

from two_manifold_ros.adapting.checkpoints import Checkpoints
from two_manifold_ros.errors import InputError
from two_manifold_ros.nodes.declaring import declare, values
from two_manifold_ros.nodes.estimate_publishers import EstimatePublishers
from two_manifold_ros.nodes.guarding import Guard
from two_manifold_ros.nodes.handing_over import HandingOver
from two_manifold_ros.nodes.image_values import ImageValues
from two_manifold_ros.nodes.learning_publisher import LearningPublisher
from two_manifold_ros.nodes.live_reference import LiveReference
from two_manifold_ros.nodes.reference_input import ReferenceInput
from two_manifold_ros.nodes.report import Report
from two_manifold_ros.nodes.resuming import Resuming
from two_manifold_ros.nodes.sensor_topic import SensorTopic
from two_manifold_ros.nodes.updater_describer import UpdaterDescriber
from two_manifold_ros.nodes.updater_parameters import UPDATER
from two_manifold_ros.nodes.updater_session import UpdaterSession
from two_manifold_ros.nodes.updater_settings import (
    checkpoint_identity,
    IDENTITY_WORDS,
    IMAGE_INPUT,
    learner_maker,
    learner_name,
    stream_head,
)
from two_manifold_ros.nodes.wiring import limited, published
from two_manifold_ros.outputs.frames import choose_frames
from two_manifold_ros.outputs.topics import ADAPTING, IMAGE, IMU, STATUS
from two_manifold_ros.recordings.decoding import decode_imu_cdr

if TYPE_CHECKING:
    from two_manifold_ros.nodes.updater_session import Decode as DecodeImu


class UpdaterNode(Node):
    """Subscribes a sensor and a reference; all filtering and learning is in its callbacks."""

    def __init__(self) -> None:
        super().__init__('updater_node')
        self.exit_status: int | None = None
        self.guard = Guard(self.get_logger().error, ok)
        declare(self, UPDATER)
        self.chosen: dict[str, Any] = values(self, UPDATER)
        seeing = self.chosen['input'] == IMAGE_INPUT
        sensor, topic = ('image', IMAGE) if seeing else ('IMU', IMU)
        self.input = SensorTopic(self, topic, sensor, self.guard(self._on_message))
        self.get_logger().info('Getting ready: compiling takes a while')
        self.session = self._make_session()
        self.resuming = self._resume()
        self.handing_over = self._find_heir()
        self._estimates = self._advertise()
        self._learning = LearningPublisher(self)
        for name, answer in (
            ('save', self._on_save),
            ('reset', self._on_reset),
            ('forget', self._on_forget),
        ):
            self.create_service(Trigger, f'{ADAPTING}{name}', self.guard(answer))
        self.input.wait()
        self._listen()
        self._report = Report(
            self, UpdaterDescriber(self), self.guard, self.chosen['status_rate_hz'], ADAPTING
        )
        # Not the ROS clock: without /clock the reason for the silence must still be told.
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(1.0, self.guard(self._on_second), clock=steady)
        for line in self._wiring():
            self.get_logger().info(line)

    def destroy_node(self) -> None:
        """Write the last checkpoint, then end."""
        logger = self.get_logger()
        try:
            if self.handing_over is not None:
                self.handing_over.close()
            if self.resuming is not None:
                self.resuming.end()
        finally:
            self.session.learner.close()
            super().destroy_node()
        # Not before: a node whose middleware is down already complains of each line it logs.
        if self.resuming is not None:
            if self.resuming.trouble:
                logger.error(self.resuming.trouble)
            farewell = f'Stopped; {self.resuming.kept}'
            logger.info(farewell)

    def _make_session(self) -> UpdaterSession:
        chosen = self.chosen
        decode: DecodeImu = decode_imu_cdr
        if chosen['input'] == IMAGE_INPUT:
            decode = ImageValues(chosen['image_width'], chosen['image_height']).decode
        clock = self.get_clock()
        head = stream_head(chosen, self.input.name)
        return UpdaterSession(
            head,
            learner_maker(chosen, head),
            decode,
            (lambda: clock.now().nanoseconds) if chosen['use_receive_time'] else None,
        )

    def _resume(self) -> Resuming | None:
        """Return what writes checkpoints, after going on from the newest one."""
        chosen = self.chosen
        if not chosen['checkpoint_folder']:
            return None
        checkpoints = Checkpoints(
            chosen['checkpoint_folder'],
            chosen['checkpoint_name'],
            checkpoint_identity(chosen, self.session.head),
            chosen['checkpoints_kept'],
            IDENTITY_WORDS,
        )
        resuming = Resuming(self.session, checkpoints, chosen['checkpoint_s'])
        for sentence in resuming.resume():
            self.get_logger().warning(sentence)
        return resuming

    def _find_heir(self) -> HandingOver | None:
        heir = self.chosen['filter_node']
        if not heir:
            return None
        if self.chosen['input'] == IMAGE_INPUT:
            msg = f'{heir} runs models of an IMU: leave filter_node empty where images are learned'
            raise InputError(msg)
        return HandingOver(self, self.session, self.chosen, self.guard)

    def _advertise(self) -> EstimatePublishers:
        chosen = self.chosen
        head = self._followed = self.session.learner.running
        self._frames = choose_frames(head, chosen['track_frame'], chosen['child_frame'])
        return EstimatePublishers(
            self, head, self._frames, transform=chosen['publish_tf'], prefix=ADAPTING
        )

    def _listen(self) -> None:
        self.positions = ReferenceInput(self.session)
        self.reference = LiveReference(
            self,
            self.guard,
            self.chosen['reference_type'],
            self.positions.begin,
            self.positions.take,
        )
        self.input.listen()

    def _wiring(self) -> list[str]:
        chosen = self.chosen
        topics = {**self._estimates.topics, f'{ADAPTING}{STATUS.name}': self._report.topic}
        kept, heir = 'No checkpoints', 'hands over to nobody'
        if self.resuming is not None:
            kept = f'A checkpoint in {chosen["checkpoint_folder"]} every '
            kept += f'{chosen["checkpoint_s"]:g} s'
            if self.resuming.trouble:
                kept = 'No checkpoint can be written'
            kept += f', {self.resuming.begun}'
        if self.handing_over is not None:
            heir = f'hands better models over to {chosen["filter_node"]}'
        what = {'map': 'the map of the route', 'tpsr': 'a TPSR'}[learner_name(chosen)]
        if chosen['model']:
            what += f'; {chosen["model"]} runs until a better one is learned'
        learns = (
            f'Learns from {self.input.name} ({self.input.msgtype}, best effort) with positions '
            f'from {self.reference.topic}: {what}'
        )
        return [
            learns,
            published(topics),
            f'Frames: positions in {self._frames.track}, velocities in {self._frames.child}',
            limited(self.session.filter.limits, chosen['input_timeout_s']),
            f'{kept}; {heir}',
        ]

    def _on_message(self, raw: bytes) -> None:
        estimates = self.session.take(raw)
        learner = self.session.learner
        running = learner.running
        if running is not self._followed:
            self._followed = running
            self._estimates.follow(running)
            if learner.model() is running:
                told = learner.values()['learning']
                self.get_logger().info(f'A newer model runs: {told}')
        for estimate in estimates:
            self._estimates.publish(estimate)
        self._learning.look(self.session)
        self._report.heed()

    def _on_second(self) -> None:
        self.reference.look()
        if self.resuming is not None:
            self.resuming.look()
        self._report.second()

    def _on_save(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Begin a checkpoint; its outcome is in the diagnostics, because no callback may wait."""
        refusal = 'no checkpoint_folder is given'
        if self.resuming is not None:
            refusal = self.resuming.save()
        response.success = not refusal
        response.message = refusal or 'It is being written; diagnostics say when it is there.'
        return response

    def _on_reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self.session.reset('reset service')
        response.success = True
        response.message = 'The filter starts anew with what was learned.'
        return response

    def _on_forget(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self.session.forget()
        response.success = True
        response.message = 'Learning starts anew; checkpoints stay until newer ones replace them.'
        return response
