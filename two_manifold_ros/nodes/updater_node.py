# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The updater node: goes on learning while the robot drives."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
import math
from time import monotonic
from typing import Any, cast, TYPE_CHECKING

import numpy as np
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from rclpy.utilities import ok
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from two_manifold_ros.adapting.checkpoints import Checkpoints
from two_manifold_ros.adapting.resuming import Resuming
from two_manifold_ros.adapting.updater_session import (
    judge_keeping,
    judge_learning,
    learning_causes,
    UpdaterSession,
)
from two_manifold_ros.adapting.updater_settings import (
    checkpoint_identity,
    IDENTITY_WORDS,
    IMAGE_INPUT,
    learner_maker,
    learner_name,
    stream_head,
)
from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.assessment import judge, Judgement
from two_manifold_ros.interface.estimates import adaptation_message
from two_manifold_ros.interface.image_values import ImageValues
from two_manifold_ros.interface.log import Guard, input_causes
from two_manifold_ros.interface.parameters import UPDATER
from two_manifold_ros.interface.snapshot import Facts
from two_manifold_ros.interface.topics import ADAPTING, choose_frames, IMAGE, IMU, LEARNING, STATUS
from two_manifold_ros.nodes.declaring import declare, values
from two_manifold_ros.nodes.handing_over import HandingOver
from two_manifold_ros.nodes.health import (
    filter_facts,
    InputFacts,
    limited,
    published,
    Report,
    word_of,
)
from two_manifold_ros.nodes.publishing import EstimatePublishers, quality, to_message
from two_manifold_ros.nodes.subscriptions import LiveReference, LiveTopic, LiveTypes, SensorTopic
from two_manifold_ros.recordings.decoding import (
    decode_imu_cdr,
    east_north,
    fix_decoder,
    FRAME,
    GEODETIC,
    NO_FIX,
    position_decoder,
)
from two_manifold_ros.recordings.recording import GeodeticOrigin
from two_manifold_ros.stopping import Stopping
from two_manifold_ros.threads import one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.adapting.updater_session import Decode as DecodeImu
    from two_manifold_ros.recordings.bag import Bag, Topic
    from two_manifold_ros.recordings.decoding import Decode


class ReferenceInput:
    """
    Decodes positions; satellite fixes become positions in the plane of the session's origin.

    Where the session has no origin yet, the first valid fix is it.

    Parameters
    ----------
    session
        That takes them.
    clock
        Seconds, never going back.

    Attributes
    ----------
    received
        How many messages came.

    """

    def __init__(self, session: UpdaterSession, clock: Callable[[], float] = monotonic) -> None:
        self._session = session
        self._clock = clock
        self._used_s = math.nan
        self._decode: Decode | None = None
        self._geodetic = False
        self._refused: Counter[str] = Counter()
        self.received = 0

    def begin(self, msgtype: str) -> None:
        """Take messages of a type from now on."""
        # Importing the classes of bags needs rosbags, which a robot does not have.
        topic = cast('Topic', LiveTopic('reference', msgtype))
        self._geodetic = msgtype == GEODETIC
        decoder = fix_decoder if self._geodetic else position_decoder
        self._decode = decoder(cast('Bag', LiveTypes()), topic)

    @property
    def silence_s(self) -> float:
        """Seconds since a position was used; NaN if none ever was."""
        return self._clock() - self._used_s

    def take(self, raw: bytes) -> bool:
        """Take one serialised message; return whether its position is used."""
        used = self._take(raw)
        if used:
            self._used_s = self._clock()
        return used

    def counts(self) -> Counter[str]:
        """Return how many were used, and how many were not by cause."""
        return self._refused + self._session.learner.reference.counters

    def _take(self, raw: bytes) -> bool:
        if self._decode is None:
            return False
        self.received += 1
        try:
            stamp_ns, frame_id, numbers = self._decode(raw)
        # Bytes that are no message of this type make a decoder raise almost anything.
        except Exception:  # noqa: BLE001 - counted, and told in the diagnostics
            self._refused['malformed'] += 1
            return False
        if self._geodetic:
            return self._take_fix(stamp_ns, *numbers)
        return self._session.take_position(stamp_ns, frame_id, *numbers)

    def _take_fix(
        self, stamp_ns: int, latitude: float, longitude: float, altitude: float, status: float
    ) -> bool:
        session = self._session
        if status == NO_FIX or not (math.isfinite(latitude) and math.isfinite(longitude)):
            self._refused['no_fix'] += 1
            return False
        origin = session.head.origin
        if origin is None:
            height = altitude if math.isfinite(altitude) else 0.0
            origin = GeodeticOrigin(latitude, longitude, height)
            session.head = replace(session.head, origin=origin)
        if not math.isfinite(altitude):
            altitude = origin.altitude_m
        fix = np.array([latitude]), np.array([longitude]), np.array([altitude])
        ((east, north),) = east_north(*fix, origin).tolist()
        # The header names the antenna; the positions are in a plane fixed to the earth.
        return session.take_position(stamp_ns, FRAME, east, north)


class LearningPublisher:
    """
    The topic ``adapting/learning``.

    Parameters
    ----------
    node
        On which to advertise.

    """

    def __init__(self, node: Node) -> None:
        self._publisher = node.create_publisher(
            Float64MultiArray, f'{ADAPTING}{LEARNING.name}', quality(LEARNING)
        )
        self._told: object = None

    def look(self, session: UpdaterSession) -> None:
        """Publish if something was learned since the last look."""
        learner, latest = session.learner, session.latest
        news = learner.news
        if self._told is None:
            # What was learned before the start is no news.
            self._told = news
        if news == self._told or latest is None:
            return
        self._told = news
        if not self._publisher.get_subscription_count():
            return
        numbers = learner.progress()
        for name in ('evidence', 'familiarity'):
            if math.isfinite(number := getattr(latest, name)):
                numbers[name] = number
        message = adaptation_message(latest.stamp_ns, numbers)
        if message is not None:
            self._publisher.publish(to_message(LEARNING.msgtype, message))


REFERENCE_GONE_S = 5.0
"""Seconds without a position to use after which that is worth a word."""


class UpdaterDescriber:
    """
    The `Describer` of an updater node.

    Parameters
    ----------
    node
        The node told about.

    """

    def __init__(self, node: UpdaterNode) -> None:
        self._node = node
        self._input = InputFacts(node, node.input)
        self._reference_hz = 0.0

    @property
    def hardware(self) -> str:
        """The frame of the sensor."""
        return self._node.session.head.imu_frame_id

    @property
    def word(self) -> object:
        """Something else as soon as there is something new to tell."""
        return word_of(self._node.session)

    def counts(self) -> Counter[str]:
        """Return the counters of the session, of the positions and of the learning."""
        node = self._node
        positions = {f'reference_{key}': each for key, each in node.positions.counts().items()}
        learned = {f'samples_{key}': each for key, each in node.session.learned().items()}
        return Counter({**node.session.counts(), **positions, **learned})

    def durations(self) -> dict[str, float]:
        """Return how long callbacks took, learning included."""
        return self._node.session.durations.microseconds()

    def look(self, fresh: Counter[str]) -> None:
        """Take notice of the last second."""
        self._reference_hz = float(fresh['reference_used'])
        self._input.look(fresh, self._node.session.arrivals)

    def facts(self, counts: Counter[str]) -> Facts:
        """Return what the node knows now."""
        session = self._node.session
        return Facts(
            timeout_s=self._node.chosen['input_timeout_s'],
            model_rate_hz=session.learner.running.rate_hz,
            latest=session.latest,
            **filter_facts(session.filter),
            **self._input.gather(counts, session.arrivals),
        )

    def judge(self, facts: Facts) -> Judgement:
        """Return how it is."""
        node = self._node
        judgement = judge_learning(judge(facts), node.session, node.reference.topic)
        return judge_keeping(judgement, node.resuming.trouble if node.resuming else '')

    def events(self, fresh: Counter[str]) -> dict[str, str]:
        """Return what happened to messages, learning, positions, checkpoints and handovers."""
        node = self._node
        causes = input_causes(fresh, node.input.sensor, node.input.name)
        causes.update(self._input.events(node.session.arrivals))
        causes.update(learning_causes(fresh, node.session, node.reference.topic))
        if node.positions.silence_s > REFERENCE_GONE_S:
            causes['reference_gone'] = (
                f'No position to use comes on {node.reference.topic} any more: what was '
                'learned stays as it is'
            )
        if node.reference.problem:
            causes['reference_type'] = node.reference.problem
        if node.resuming is not None and node.resuming.trouble:
            causes['checkpoint'] = node.resuming.trouble
        if node.handing_over is not None:
            causes.update(node.handing_over.troubles())
        return causes

    def head(self) -> dict[str, float | str]:
        """Return how the learning goes."""
        return {
            'reference_type': self._node.reference.msgtype or 'unknown',
            'reference_rate_hz': self._reference_hz,
            'learner': learner_name(self._node.chosen),
            **self._node.session.learner.values(),
        }

    def tail(self) -> dict[str, float | str]:
        """Return how checkpoints and handovers stand."""
        node = self._node
        values: dict[str, float | str] = {}
        if node.resuming is not None:
            values.update(node.resuming.values)
        if node.handing_over is not None:
            values.update(node.handing_over.values())
        return values


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


def main(args: list[str] | None = None) -> int:
    """Learn until stopped, and return the exit status."""
    one_blas_thread()
    # Loading all of it takes a second, in which a signal may come.
    with Stopping() as stop:
        # NumPy reads the number of threads when it is imported, which these modules do.
        from two_manifold_ros.nodes.running import run  # noqa: PLC0415

        return run(UpdaterNode, stop, args)
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
