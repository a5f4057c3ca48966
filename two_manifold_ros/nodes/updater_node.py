# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The updater node: learns while the robot drives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

from two_manifold_ros.adapting.checkpoints import Checkpoints, name_of_files, NumberedFiles
from two_manifold_ros.adapting.handover import HandOver
from two_manifold_ros.adapting.updater_session import (
    assess_learning,
    describe_learning,
    learner_of,
    learning_events,
    learning_values,
    UpdaterSession,
)
from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.filter import is_compiled
from two_manifold_ros.interface.assessment import assess
from two_manifold_ros.interface.messages import ADAPTING, choose_scene, Topics
from two_manifold_ros.interface.parameters import UpdaterParameters
from two_manifold_ros.nodes.callbacks import (
    check_transform,
    EstimatePublishers,
    GuardedNode,
    ImuTopic,
    qos,
)
from two_manifold_ros.nodes.health import limits_line, StatusPublisher, topics_line
from two_manifold_ros.nodes.live_input import LiveTopic, ReferenceInput
from two_manifold_ros.nodes.running import declare

if TYPE_CHECKING:
    from rclpy.task import Future


class UpdaterNode(GuardedNode):
    """Subscribe an IMU and a reference; filter and learn in their callbacks."""

    def __init__(self) -> None:
        super().__init__('updater_node')
        chosen = declare(self, UpdaterParameters)
        if chosen.publish_tf:
            check_transform()
        name = name_of_files(chosen, self.get_namespace())
        chosen = self._chosen = replace(chosen, checkpoint_name=name)
        self._input = ImuTopic(self)
        if not is_compiled():
            self.get_logger().info('Getting ready: compiling takes a while')
        learner = learner_of(chosen, self._input.name)
        self._session = UpdaterSession(
            learner, (lambda: self.now_ns) if chosen.use_receive_time else None
        )
        self._checkpointing: Checkpoints | None = None
        self._handover: HandOver | None = None
        if chosen.checkpoint_folder:
            self._checkpointing = Checkpoints(chosen, learner)
            for sentence in self._checkpointing.skipped:
                self.get_logger().warning(sentence)
        if chosen.filter_node:
            self._start_handover(chosen)
        head = self._followed = learner.filter.running
        scene = choose_scene(head, chosen.track_frame, chosen.child_frame)
        self._estimates = EstimatePublishers(
            self, scene, transform=chosen.publish_tf, prefix=ADAPTING
        )
        self._reference_hz = 0.0
        # Of learning, what the log has last.
        self._verdict, self._laps = '', 0
        self._serve('forget', learner.forget, 'Learning restarts; newer checkpoints replace it.')
        self._serve(
            'reset',
            lambda: self._session.reset('reset service'),
            'The filter restarts with what was learned.',
        )
        # Its outcome is in the diagnostics, because no callback may wait.
        saving = self._checkpointing
        self._serve(
            'save',
            saving.save if saving else lambda: 'no checkpoint_folder is given',
            'Checkpoint started; see diagnostics.',
        )
        self._input.wait()
        self._positions = ReferenceInput(self._session)
        self._reference = LiveTopic(
            self, 'reference', self._positions.start, wanted=chosen.reference_type
        )
        self._input.listen(self._on_message)
        self._status = StatusPublisher(self, self._input, ADAPTING)
        self._state: object = None
        self.every(1.0 / chosen.status_rate_hz, self._on_status)
        self.every(1.0, self._on_second)
        self._log_settings()

    def destroy_node(self) -> None:
        """Write the last checkpoint, then end."""
        logger = self.get_logger()
        checkpointing = self._checkpointing
        try:
            if self._handover is not None:
                self._handover.close()
            if checkpointing is not None:
                checkpointing.end()
        finally:
            self._session.learner.close()
            super().destroy_node()
        # Not before: a node whose middleware is down already complains of each line it logs.
        if checkpointing is not None:
            if checkpointing.trouble:
                logger.error(checkpointing.trouble)
            stop_message = f'Stopped; {checkpointing.kept}'
            logger.info(stop_message)

    def _serve(self, name: str, work: Callable[[], str | None], done: str) -> None:
        """Offer a service that does some work, which may be refused."""

        def answer(_: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            refusal = work()
            response.success, response.message = not refusal, refusal or done
            return response

        self.serve(Trigger, name, answer)

    def _start_handover(self, chosen: UpdaterParameters) -> None:
        if not chosen.checkpoint_folder:
            raise InputError(
                f'models are to be handed over to {chosen.filter_node}, but there is no folder '
                'for them: set the parameter checkpoint_folder'
            )
        # An absolute path, because the filter node opens it too.
        folder, name = Path(chosen.checkpoint_folder).absolute(), f'{chosen.checkpoint_name}.model'
        client = FilterClient(self, chosen.filter_node)
        log = self.get_logger()
        handover = self._handover = HandOver(
            client.hand_over,
            NumberedFiles(folder, name, 'model'),
            self._session.learner,
            lambda text, is_warning: log.warning(text) if is_warning else log.info(text),
        )
        client.listen(lambda values: handover.hear(values, monotonic()))
        # Guarded, so that no bug in here keeps the session from learning.
        self._session.on_sample = self.guard(handover.take)
        # A hand-over takes a few steps, and between two of them nothing may be waited for.
        self.every(0.2, lambda: handover.look(monotonic()))

    def _log_settings(self) -> None:
        chosen, checkpointing, scene = self._chosen, self._checkpointing, self._estimates.scene
        topics = {**self._estimates.topics, f'{ADAPTING}{Topics.STATUS.name}': self._status.topic}
        kept, hand_over = 'No checkpoints', f'hands models over to {chosen.filter_node or "none"}'
        if checkpointing is not None:
            kept = f'A checkpoint in {chosen.checkpoint_folder} every {chosen.checkpoint_s:g} s'
            kept += f', {checkpointing.begun}'
        what = {'map': 'the map of the route', 'tpsr': 'a TPSR', 'hse_hmm': 'an HSE-HMM'}[
            chosen.learner
        ]
        if chosen.model:
            what += f'; {chosen.model} runs until a better one is learned'
        source = f'{self._input.name} with positions from {self._reference.topic}'
        for line in (
            f'Learns from {source}: {what}',
            topics_line(topics),
            f'Frames: positions in {scene.track}, velocities in {scene.child}',
            limits_line(self._session.learner.filter.limits, chosen.input_timeout_s),
            f'{kept}; {hand_over}',
        ):
            self.get_logger().info(line)

    def _on_message(self, raw: bytes) -> None:
        session = self._session
        estimates = session.take(raw)
        live = session.learner.filter
        if live.running is not self._followed:
            self._followed, before = live.running, self._estimates.scene
            self._estimates.go_on_with(choose_scene(live.running, before.track, before.child), {})
        for estimate in estimates:
            self._estimates.publish(estimate)
        state = live.said.status, live.said.cause, session.arrivals.refused
        if state != self._state:
            self._state = state
            self._on_status()

    def _counts(self) -> Counter[str]:
        """Return the counters of the session, of the positions and of the learning."""
        positions = {f'reference_{key}': each for key, each in self._positions.counts().items()}
        return Counter({**self._session.counts(), **positions, **self._session.learner.counters})

    def _on_status(self) -> None:
        self._publish_health(self._counts())
        self._estimates.publish_chances(self._session.learner.filter.latest)

    def _on_second(self) -> None:
        self._reference.find()
        learner, topic = self._session.learner, self._reference.topic
        # How a training ended, and once a lap what was learned and which model runs.
        laps = int(learner.schedule.known_s / learner.lap_s) if learner.lap_s > 0.0 else 0
        if learner.verdict and learner.verdict != self._verdict:
            self.get_logger().info(learner.verdict)
        if laps > self._laps:
            self.get_logger().info(f'Lap {laps}: {describe_learning(learner)}')
        self._verdict, self._laps = learner.verdict, laps
        trouble = ''
        if self._checkpointing is not None:
            self._checkpointing.look()
            trouble = self._checkpointing.trouble
        counts, published = self._counts(), self._estimates.topics.values()
        fresh, events = self._status.count(counts, self._session.arrivals, published)
        self._reference_hz = float(fresh['reference_used'])
        events |= learning_events(fresh, self._session, topic)
        gone = f'No usable position comes on {topic} any more: the learned model stays as it is'
        present = {
            'reference_gone': gone if self._positions.silence_s > 5.0 else '',
            'reference_type': self._reference.problem,
            'checkpoint': trouble,
        }
        events |= {cause: words for cause, words in present.items() if words}
        self._publish_health(counts, events)

    def _publish_health(self, counts: Counter[str], events: dict[str, str] | None = None) -> None:
        session, checkpointing = self._session, self._checkpointing
        learner, timeout_s = session.learner, self._chosen.input_timeout_s
        health = replace(
            self._status.input_health(timeout_s, counts, session.arrivals),
            durations=session.durations.microseconds(),
        ).with_filter(learner.filter, learner.filter.running.rate_hz)
        trouble = checkpointing.trouble if checkpointing is not None else ''
        assessment = assess_learning(assess(health), learner, self._reference.topic, trouble)
        leading = {
            'reference_type': self._reference.msgtype or 'unknown',
            'reference_rate_hz': self._reference_hz,
            'learner': self._chosen.learner,
            'imu_frame': learner.head.imu_frame_id,
            **learning_values(learner),
        }
        trailing = {
            **({} if checkpointing is None else checkpointing.values),
            **({'checkpoint_trouble': trouble} if trouble else {}),
            **({} if self._handover is None else self._handover.values()),
        }
        self._status.publish(health, assessment, leading, trailing, events)


class FilterClient:
    """
    Requests to a filter node, over services that answer later.

    A name that does not start with a slash is of the same namespace as the node that asks.
    """

    def __init__(self, node: GuardedNode, name: str) -> None:
        self.name = name if name.startswith('/') else f'{node.get_namespace().rstrip("/")}/{name}'
        self._guard = node.guard
        self._node = node
        self._set = node.create_client(SetParameters, f'{self.name}/set_parameters')
        self._swap = node.create_client(Trigger, f'{self.name}/swap_model')

    def listen(self, hear: Callable[[Mapping[str, str]], object]) -> None:
        """Call back with the values by key of each of the filter node's diagnostics."""

        def on_diagnostics(message: DiagnosticArray) -> None:
            for status in message.status:
                if status.name == self.name.lstrip('/'):
                    hear({each.key: each.value for each in status.values})

        self._node.create_subscription(
            DiagnosticArray,
            Topics.DIAGNOSTICS.address,
            self._guard(on_diagnostics),
            qos(Topics.DIAGNOSTICS),
        )

    def hand_over(self, path: str) -> None:
        """Set ``next_model``, then call ``swap_model``: its diagnostics say what becomes of it."""
        if not (self._set.service_is_ready() and self._swap.service_is_ready()):
            return

        def swap(done: Future) -> None:
            if done.result().results[0].successful:
                self._swap.call_async(Trigger.Request())

        parameters = [Parameter('next_model', value=path).to_parameter_msg()]
        # Waiting for the answer here would keep the executor from ever bringing it.
        future = self._set.call_async(SetParameters.Request(parameters=parameters))
        future.add_done_callback(self._guard(swap))
