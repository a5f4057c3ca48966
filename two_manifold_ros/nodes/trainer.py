# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Trains from bags, or records live topics until told to stop and then trains."""

from __future__ import annotations

from time import monotonic
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from rclpy.utilities import ok
from std_srvs.srv import Trigger

from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.lag_correction import put_in_step
from two_manifold_ros.nodes.declaring import declare, values
from two_manifold_ros.nodes.guarding import Guard
from two_manifold_ros.nodes.live_topics import LiveTopics
from two_manifold_ros.nodes.quality import quality
from two_manifold_ros.nodes.trainer_parameters import TRAINER
from two_manifold_ros.nodes.trainer_settings import (
    check_position_lag,
    check_target,
    read_bags,
    training_settings,
)
from two_manifold_ros.nodes.training_job import TrainingJob
from two_manifold_ros.nodes.translating import to_message
from two_manifold_ros.outputs.diagnostics import diagnostics_message, Health, Level
from two_manifold_ros.outputs.topics import DIAGNOSTICS


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
        check_position_lag(chosen['position_lag'])
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
        check_position_lag(chosen['position_lag'])
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
